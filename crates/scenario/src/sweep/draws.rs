//! Draws: every point again with other seeds, as a last axis.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use laxity_world::results::{Axis, AxisPoint, SEED};
use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Plan, Setting, Step, conflict};
use crate::context::{Context, Reported};
use crate::leaf::Whole;
use crate::raw::MOST_DRAWS;

/// The seeds as a file would have them.
static SEEDS: LazyLock<Vec<String>> = LazyLock::new(|| (1..=MOST_DRAWS).map(|n| n.to_string()).collect());

impl<'i> Plan<'i> {
    /// Adds the axis of `draws` seeds, from 1 on, behind all others.
    pub(super) fn draw(
        &mut self,
        cx: &mut Context<'_>,
        draws: &Spanned<Whole<2, MOST_DRAWS>>,
        document: &DeTable<'i>,
        taken: &mut BTreeMap<Vec<Step<'i>>, (usize, Spanned<String>)>,
    ) -> Result<(), Reported> {
        if document.contains_key(SEED) {
            let help = "leave `seed` out: draws have the seeds from 1 on";
            return Err(cx.fault(&draws.span(), "the seed is given twice", help));
        }
        let key = Spanned::new(draws.span(), SEED.to_string());
        let seeds = SEEDS.iter().take(draws.get_ref().small() as usize);
        let mut settings = Vec::new();
        for seed in seeds.clone() {
            let value = DeValue::parse(seed).expect("a number is a value").into_inner();
            let value = Spanned::new(draws.span(), value);
            let setting = Setting { path: vec![Step::Key(SEED.into())], key: key.clone(), value };
            conflict(cx, self.axes.len(), &setting, taken)?;
            settings.push(vec![setting]);
        }
        let points = seeds.map(|seed| AxisPoint { text: seed.clone(), value: seed.parse().ok() });
        self.axes.push(Axis { name: SEED.into(), label: SEED.into(), points: points.collect() });
        self.settings.push(settings);
        self.draws = true;
        Ok(())
    }
}
