//! The answer of nodes with signalling: what they admit when it is asked for.

use laxity_world::experiment::Experiment;
use laxity_world::results::{NodeAnswer as Told, Run};
use laxity_world::text::clean;
use serde_json::json;

use super::{Answer, View};
use crate::{Exit, columns};

/// The answers that `view` shows.
fn shown<'a>(run: &'a Run, view: &'a View<'_>) -> impl Iterator<Item = &'a Told> {
    run.answers.iter().filter(|answer| answer.channel.is_empty() || view.shows(&answer.channel))
}

/// Each answer in the order of time: what was promised, or what a refusal lacks.
pub(super) fn answer(experiment: &Experiment, view: &View<'_>) -> Option<Answer> {
    let run = laxity_world::answered(experiment)?;
    let heading = ["at", "channel", "answer", ""].map(String::from);
    let rows = shown(&run, view).map(|Told { at, channel, answer, detail, .. }| {
        [format!("{at:.6} s"), clean(channel), answer.clone(), clean(detail)]
    });
    let rows: Vec<_> = std::iter::once(heading).chain(rows).collect();
    let lines = columns::lines(&rows, [true, false, false, false]);
    let mut text: String = lines.map(|line| line + "\n").collect();
    text += "\nby the nodes on each route, when it was asked for\n";
    let unexpected = |channel: &laxity_world::results::Channel| channel.unexpected.unwrap_or(0);
    let refused: u64 = run.channels.iter().filter(|channel| view.shows(&channel.name)).map(unexpected).sum();
    if refused > 0 {
        text += &format!("{refused} refused or lost and not expected\n");
    }
    let exit = if refused > 0 { Exit::Fails } else { Exit::Holds };
    let of_nodes = Some(json!(shown(&run, view).collect::<Vec<_>>()));
    Some(Answer { text, exit, of_nodes })
}
