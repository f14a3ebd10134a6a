//! Which stages of a row are one server to [`super::window`].

use std::ops::Range;

use super::{FrameMedium, Station};

/// Neighbours that can hold up each other, put together; and the stages that select for the medium
/// with it, for the token stays for those.
pub(super) fn clusters(station: &Station, depth: u32) -> Vec<Range<usize>> {
    let stages = &station.stages;
    // Whether a stage and the one before it are one.
    let mut joined: Vec<bool> =
        stages.iter().map(|stage| stage.places.is_some_and(|places| places < depth)).collect();
    joined[0] = false;
    let resources = stages.iter().flat_map(|stage| &stage.phases).flat_map(|phase| &phase.holds);
    for &r in resources {
        let first = stages.iter().position(|stage| stage.wants(r));
        let last = stages.iter().rposition(|stage| stage.wants(r));
        if let (Some(first), Some(last)) = (first, last) {
            joined[first + 1..=last].fill(true);
        }
    }
    if let FrameMedium::Ring(_) = station.medium
        && let Some(selecting) = selecting(station)
    {
        joined[selecting.start + 1..selecting.end].fill(true);
    }
    let mut clusters: Vec<Range<usize>> = Vec::new();
    for (i, joined) in joined.into_iter().enumerate() {
        match clusters.last_mut() {
            Some(last) if joined => last.end = i + 1,
            _ => clusters.push(i..i + 1),
        }
    }
    clusters
}

/// The stages for which the token stays: the last, if its last phase is on the medium, and those
/// before it that do only a processor's work.
pub(super) fn selecting(station: &Station) -> Option<Range<usize>> {
    let (last, before) = station.stages.split_last()?;
    if !last.phases.last().is_some_and(|phase| phase.medium) {
        return None;
    }
    let selects = before.iter().rev().take_while(|stage| stage.selects).count();
    Some(before.len() - selects..station.stages.len())
}
