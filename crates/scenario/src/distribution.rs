//! Distributions of intervals: measured elsewhere, written down as points, each file with its source.
//!
//! ```toml
//! title = "…"
//! source = "who measured it, where"
//! [[point]]
//! interval = "2 us"
//! share = 0.05          # of intervals that are no longer
//! ```

use std::sync::Arc;

use laxity_model::reception::Intervals;
use laxity_scenario_keys::keys;
use laxity_units::Span;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::{Context, Reported, WHOLE};
use crate::diagnostic::{Diagnostics, SourceText};
use crate::document;
use crate::leaf::{Bounded, Interval, Share};
use crate::written::{List, Part, Written};

/// The built-in distributions, by name.
pub(crate) const BUILT_IN: [(&str, &str); 1] =
    [("st-apache", include_str!("../../../distributions/st-apache.toml"))];

/// A distribution of intervals.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Distribution {
    points: Vec<(Span, f64)>,
}

/// A distribution of intervals, as points of its cumulative function with straight lines between them.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Laxity distribution")]
pub(crate) struct RawDistribution {
    /// Description in one line.
    #[schemars(required)]
    title: Option<Written<String>>,
    /// Origin of the points.
    about: Option<Written<String>>,
    /// Author and place of the measurement.
    #[schemars(required)]
    source: Option<Written<String>>,
    /// The points, in the order of their intervals; the last has the share 1.
    #[schemars(required)]
    point: Option<List<Part<RawPoint>>>,
}

/// A point.
#[keys]
#[schemars(rename = "DistributionPoint")]
pub(crate) struct RawPoint {
    /// The interval.
    #[key(required)]
    interval: Option<Written<Bounded<Interval>>>,
    /// The share of intervals that are no longer.
    #[key(required)]
    share: Option<Written<Share>>,
}

impl Distribution {
    /// The intervals, what is longer than `bound` made as long as that.
    pub(crate) fn bounded(&self, bound: Option<Span>) -> Intervals {
        Intervals::new(&self.points, bound).expect("a distribution is checked when it is read")
    }

    /// The distribution that `source` is.
    pub(crate) fn parse(source: &Arc<SourceText>) -> Result<Distribution, Diagnostics> {
        let document = document::parse(source)?;
        let mut diagnostics = Diagnostics::default();
        let cx = &mut Context::new(source, &mut diagnostics);
        let distribution = document::read(cx, document).and_then(|raw| Distribution::convert(cx, raw));
        match distribution {
            Ok(distribution) if diagnostics.is_empty() => Ok(distribution),
            _ => Err(diagnostics),
        }
    }

    fn convert(cx: &mut Context<'_>, raw: RawDistribution) -> Result<Distribution, Reported> {
        let RawDistribution { title, about, source, point } = raw;
        let title = cx.required(title, "title", &WHOLE, "the distribution");
        let about = cx.optional(about);
        let source = cx.required(source, "source", &WHOLE, "the distribution");
        let mut points = Vec::new();
        let mut outcome = Ok(());
        for part in cx.items(point)? {
            match self::point(cx, part) {
                Ok(point) => points.push(point),
                Err(reported) => outcome = Err(reported),
            }
        }
        title?;
        about?;
        source?;
        outcome?;
        Intervals::new(&points, None).map_err(|flaw| {
            let reason = format!("the points of {} are no distribution: {flaw}", cx.source.name());
            cx.fault(
                &WHOLE,
                reason,
                "give two or more `[[point]]` whose `interval` and `share` rise, the last with `share = 1.0`",
            )
        })?;
        Ok(Distribution { points })
    }
}

fn point(cx: &mut Context<'_>, part: Part<RawPoint>) -> Result<(Span, f64), Reported> {
    let (_, keys) = cx.keys(part, "this point")?;
    Ok((keys.interval.value?, keys.share.value?))
}
