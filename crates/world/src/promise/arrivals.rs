//! The number of frames that arrive at a host in an interval: each is an interrupt, and may keep
//! the adapter from outgoing packets.
//!
//! *By the link* from which they arrive, frames are as far apart as the shortest takes, and *by the
//! host* at its other end they have to be made (`traffic/departures.rs`). At 25 Gbit/s the first
//! leaves no CPU time, and for a port the second does not apply. There, and wherever that is less,
//! frames are counted by their senders (`traffic/senders.rs`, of which (1) and (2) are here).
//!
//! Frames that waited in ports still do not arrive at once: the last link transmits them one after
//! the other. Where they are longer than guaranteed frames, the link may give the lower count. So
//! (1) is combined with (2), or with the link for frames of the sizes without a guarantee.
//!
//! Each way is valid. The way that leaves the maximum CPU time depends on the other work of the
//! host, so a station has a table for each way (`analyses.rs`).

use laxity_qos::channel::LinkId;
use laxity_units::{Bytes, Span};

use crate::coverage::{Uncovered, frames_apart, sources};
use crate::experiment::{ChannelSpec, Experiment};
use crate::traffic::departures::{Departures, comes_by};
use crate::traffic::senders::{BySender, by_sender};

/// The maximum number of ways to count the arrivals from a source.
const WAYS: usize = 4;

/// The maximum number of combinations of ways for the sources.
const MOST_CHOICES: usize = 16;

/// Which way of counting is taken of each source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// The way by which frames alone are expected to take the least.
    #[default]
    Expected,
    /// The ways of this choice, a number with a digit for each source that says the place of its
    /// way.
    Number(usize),
    /// The way of this place wherever there is one, else as expected.
    Alike(usize),
}

/// A source, by each valid way to count: by the link, by the host at its other end, by sender, and
/// by both.
type Source = [Option<Vec<Departures>>; WAYS];

/// The arrivals at `node`, by the adapter of that link or by any. Each frame costs `cost`, and may
/// be delayed towards others by up to `notice` in the adapter.
pub(super) fn arrivals(
    experiment: &Experiment,
    at: (usize, Option<LinkId>),
    (cost, notice): (Span, Span),
    choice: Choice,
) -> Result<Vec<Departures>, Uncovered> {
    let mut all = Vec::new();
    let mut digits = if let Choice::Number(number) = choice { number } else { 0 };
    for source in by_source(experiment, at, notice)? {
        let valid = || source.iter().flatten();
        let expected = || valid().min_by_key(|way| busy(way, cost));
        let way = match choice {
            Choice::Expected => expected(),
            Choice::Alike(place) => source[place].as_ref().or_else(expected),
            Choice::Number(_) => {
                let way = valid().nth(digits % valid().count());
                digits /= valid().count();
                way
            }
        };
        all.extend(way.into_iter().flatten());
    }
    Ok(all)
}

/// The choices that together have every way of every source, and as far as there are few also every
/// combination.
pub(super) fn choices(experiment: &Experiment, at: (usize, Option<LinkId>), notice: Span) -> Vec<Choice> {
    let Ok(sources) = by_source(experiment, at, notice) else { return vec![Choice::Expected] };
    let ways = sources.iter().map(|source| source.iter().flatten().count());
    let all = ways.fold(1, usize::saturating_mul);
    match all {
        ..=MOST_CHOICES => (0..all).map(Choice::Number).collect(),
        _ => std::iter::once(Choice::Expected).chain((0..WAYS).map(Choice::Alike)).collect(),
    }
}

/// Each source of arrivals at `node`, by the adapter of a link or by any, by each valid way to
/// count.
fn by_source(
    experiment: &Experiment,
    (node, link): (usize, Option<LinkId>),
    notice: Span,
) -> Result<Vec<Source>, Uncovered> {
    let comes = |way: usize| link.is_none_or(|link| experiment.link_to(node, way) == link);
    let mut all = Vec::new();
    for ((before, way), sizes) in sources(experiment, node).into_iter().filter(|((_, way), _)| comes(*way)) {
        let from = (before, way);
        let pushed = experiment.networks[way].impairments.jitter.saturating_add(notice);
        let [by_link, by_host] =
            together(experiment, (from, node), sizes).map(|way| way.map(|way| vec![way]));
        let [by_sender, by_both] = match by_sender(experiment, node, from) {
            Some(senders) => ways(senders, experiment, from),
            None => [None, None],
        };
        let mut source: Source = [by_link, by_host, by_sender, by_both];
        if source.iter().all(Option::is_none) {
            return Err(Uncovered::FreePackets);
        }
        for way in source.iter_mut().flatten().flatten() {
            *way = way.pushed(pushed);
        }
        let valid = source.clone();
        for (place, way) in source.iter_mut().enumerate() {
            let more = |other: usize| match (&valid[place], &valid[other]) {
                (Some(way), Some(less)) => other != place && is_more(way, less, other < place),
                _ => false,
            };
            if (0..WAYS).any(more) {
                *way = None;
            }
        }
        all.push(source);
    }
    Ok(all)
}

/// Whether in any time `way` counts as many as `less`, or more; of two that are alike one of them,
/// if it is `later`.
fn is_more(way: &[Departures], less: &[Departures], later: bool) -> bool {
    match (way, less) {
        ([way], [less]) => {
            let alike = way == less;
            way.burst >= less.burst && way.interval <= less.interval && (!alike || later)
        }
        // No arrivals at all are the least.
        (_, []) => !way.is_empty() || later,
        _ => false,
    }
}

/// The busy time of a CPU with all of these alone, at `cost` each, in picoseconds.
fn busy(all: &[Departures], cost: Span) -> u128 {
    const PARTS: u128 = 1 << 40;
    let cost = u128::from(cost.as_ps());
    let rate: u128 =
        all.iter().map(|one| (cost * PARTS).div_ceil(u128::from(one.interval.as_ps()).max(1))).sum();
    let once: u128 = all.iter().map(|one| cost.saturating_mul(u128::from(one.burst))).sum();
    match PARTS.checked_sub(rate) {
        Some(free) if free > 0 => once.saturating_mul(PARTS) / free,
        _ => u128::MAX,
    }
}

/// Of a station over a network, to a node, where frames have sizes from the one to the other: by
/// the link, and by the host.
fn together(
    experiment: &Experiment,
    (from, node): ((usize, usize), usize),
    sizes: (Bytes, Bytes),
) -> [Option<Departures>; 2] {
    let by_link = Departures { burst: 1, interval: frames_apart(experiment, from, sizes) };
    let comes = |channel: &ChannelSpec| comes_by(channel, node, from).next().is_some();
    let by_host = Departures::by_host(experiment, from.0, comes);
    [Some(by_link), by_host].map(|way| way.filter(|way| !way.interval.is_zero()))
}

/// (1) with (2), and with the link if there are others.
fn ways(senders: BySender, experiment: &Experiment, from: (usize, usize)) -> [Option<Vec<Departures>>; 2] {
    let BySender { guaranteed, others, sizes } = senders;
    let by_link = (!others.is_empty())
        .then(|| Departures { burst: 1, interval: frames_apart(experiment, from, sizes) })
        .filter(|link| !link.interval.is_zero())
        .map(|link| guaranteed.iter().copied().chain([link]).collect());
    [Some(guaranteed.into_iter().chain(others).collect()), by_link]
}
