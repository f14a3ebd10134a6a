//! The first scenario of a pair: all of its channels are admitted.

use laxity_admission::Formula;
use laxity_world::experiment::Task;
use laxity_world::promise::{Promise, promises};

use super::file::File;
use crate::property::experiment_of;

/// The scenario `text` without the channels that admission refuses; `None` if no channel with a
/// bound is left, or no law applies to the scenario.
pub fn settled(text: &str) -> Option<String> {
    let mut text = text.to_string();
    loop {
        let experiment = experiment_of(&text).ok()?;
        if experiment.admission.formula != Some(Formula::Corrected)
            || matches!(experiment.task, Task::Fill(_))
        {
            return None;
        }
        let promises = promises(&experiment, Formula::Corrected).ok()?;
        let file = File::new(&text);
        let refused = |place: &usize| {
            let channels = file.at(*place).channels_of(&experiment);
            channels.iter().any(|i| promises.channels[*i].is_refused())
        };
        let refused: Vec<usize> = file.channels().into_iter().filter(refused).collect();
        if refused.is_empty() {
            let has = promises.channels.iter().any(Promise::is_bound);
            return has.then_some(text);
        }
        if refused.len() == file.channels().len() {
            return None;
        }
        text = file.without(&refused[..1]);
    }
}
