//! How many frames may come in at a host in a time: each is an interrupt, and may keep the adapter from what goes out.
//!
//! *By the link* they come from, they are as far apart as the shortest takes, and *by the host* at its other end they have to be made (`traffic/departures.rs`). At 25 Gbit/s
//! the first leaves nothing of a CPU, and of a port the second says nothing. There, and wherever it comes to less, they are told apart by who sent them (`traffic/senders.rs`, of which (1) and (2) are here).
//!
//! What waited in ports does not come at once all the same: the last link lets it through one after the other, and where none of it is as short as what is guaranteed that may say more. So (1) is taken together
//! with (2), or with the link for frames of the sizes that it has of those without a guarantee, whichever comes to less.

use laxity_qos::channel::LinkId;
use laxity_units::{Bytes, Span};

use crate::coverage::{Uncovered, frames_apart, sources};
use crate::experiment::{ChannelSpec, Experiment};
use crate::traffic::departures::{Departures, comes_by};
use crate::traffic::senders::{BySender, by_sender};

/// What comes in at `node`, by the adapter of that link or by any, where each frame costs `cost`, and is pushed together with others by up to `notice` on its way through the adapter.
pub(super) fn arrivals(
    experiment: &Experiment,
    (node, link): (usize, Option<LinkId>),
    cost: Span,
    notice: Span,
) -> Result<Vec<Departures>, Uncovered> {
    let mut all = Vec::new();
    let comes = |way: usize| link.is_none_or(|link| experiment.link_to(node, way) == link);
    for ((before, way), sizes) in sources(experiment, node).into_iter().filter(|((_, way), _)| comes(*way)) {
        let from = (before, way);
        let pushed = experiment.networks[way].impairments.jitter.saturating_add(notice);
        let together = together(experiment, (from, node), sizes, cost).map(|departures| vec![departures]);
        let ways = match by_sender(experiment, node, from) {
            Some(senders) => together.into_iter().chain(ways(senders, experiment, from)).collect(),
            None => vec![together?],
        };
        let less = ways.into_iter().min_by_key(|way| busy(way, cost)).unwrap_or_default();
        all.extend(less.into_iter().map(|departures| departures.pushed(pushed)));
    }
    Ok(all)
}

/// How long somebody is busy with all of these alone, where each takes him `cost`, in picoseconds.
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

/// Of a station over a network, to a node, where frames have sizes from the one to the other and each costs `cost`: by the way by which that comes
/// to less.
fn together(
    experiment: &Experiment,
    (from, node): ((usize, usize), usize),
    sizes: (Bytes, Bytes),
    cost: Span,
) -> Result<Departures, Uncovered> {
    let by_link = Departures { burst: 1, interval: frames_apart(experiment, from, sizes) };
    let comes = |channel: &ChannelSpec| comes_by(channel, node, from).next().is_some();
    let by_host = Departures::by_host(experiment, from.0, comes);
    let ways = [Some(by_link), by_host];
    let best =
        ways.into_iter().flatten().filter(|way| !way.interval.is_zero()).min_by_key(|way| way.busy(cost));
    best.ok_or(Uncovered("packets that take no time to send come in any number at once"))
}

/// (1) with (2), and with the link.
fn ways(
    senders: BySender,
    experiment: &Experiment,
    from: (usize, usize),
) -> impl Iterator<Item = Vec<Departures>> {
    let BySender { guaranteed, others, sizes } = senders;
    let by_link = (!others.is_empty())
        .then(|| Departures { burst: 1, interval: frames_apart(experiment, from, sizes) })
        .filter(|link| !link.interval.is_zero())
        .map(|link| guaranteed.iter().copied().chain([link]).collect());
    [guaranteed.into_iter().chain(others).collect()].into_iter().chain(by_link)
}
