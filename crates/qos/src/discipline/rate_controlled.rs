//! Rate-controlled static priority: first everybody is made to keep his rate, then the more urgent go first.
//!
//! ```text
//! item ─▶ regulator of its flow ─▶ queue of its level ─▶ link
//!         (held until it is due)   (first in, first out)
//! ```
//!
//! Zhang and Ferrari ("Rate-controlled static-priority queueing", INFOCOM 1993) take apart what fair queueing has in one number, a flow's rate and its delay: a regulator
//! holds each item until the ones before it would be done at its flow's rate,
//!
//! ```text
//! E ← max(t, E of the flow's last + L / r of that)
//! ```
//!
//! (the rate-jitter controlling one), and of those that it let go the first of the most urgent level is sent. So who needs little and soon can have it.
//!
//! **Guarantee**, whatever others send, since they are regulated too: of flows in levels up to that of flow `i` no more than an item each and then one in each `X = L / r`
//! come to the queues, and if
//!
//! ```text
//! Σ_{levels up to m} ⌈d / X_j⌉ L_j / C  +  L_max / C  ≤  d
//! ```
//!
//! (ibid., Theorem 1; `L_max` of a less urgent one that was just begun) no item of level `m` is in its queue for longer than `d`: the link is not busy with these levels for longer at once. The
//! regulator adds what the bucket exceeds an item by,
//!
//! ```text
//! D ≤ (σ − L) / r + d
//! ```
//!
//! For items of different sizes `⌈d / X⌉ L` is short of what may come, an item that is due at once after the last of a series of small ones; there it is `d r + L`. The least such `d` is found by
//! going on from `L_max / C`.
//!
//! What has no rate goes when nothing else may. Not work-conserving. `O(log n)` an item, for the regulators' calendar; in print that is one of hardware's slots.

use laxity_units::{Span, Time};

use super::Request;
use super::held::{Held, Holds};
use super::sharing::{Latency, Sharing};
use super::virtual_time::Virtual;
use crate::by_channel::ByChannel;

/// Regulators, and queues of what they let go.
pub type RateControlled<T> = Held<Regulators, T>;

/// When each flow's next item may be due at the earliest.
#[derive(Debug, Clone, Default)]
pub struct Regulators(ByChannel<Virtual>);

impl Holds for Regulators {
    fn hold(&mut self, now: Time, request: &Request) -> (Time, u8) {
        let Request { flow, size, tag, .. } = *request;
        let place = self.0.place(flow);
        let next = &mut self.0.all_mut()[place];
        let due = (*next).max(Virtual::at(now));
        *next = due + Virtual::tick(tag.tick, size);
        (due.time_ceil(), tag.level)
    }
}

/// `d`; nothing if the levels up to a flow's are never done.
pub(super) fn latencies(sharing: &Sharing) -> Vec<Option<Latency>> {
    sharing
        .by_level(|flow| sharing.flows[flow].level, |level| busy(sharing, level).map(Latency::behind_begin))
}

/// `d` of a level.
fn busy(sharing: &Sharing, level: u8) -> Option<Span> {
    let all = 0..sharing.flows.len();
    let (urgent, others): (Vec<usize>, Vec<usize>) =
        all.partition(|flow| sharing.flows[*flow].level <= level);
    let begun = others.into_iter().map(|flow| sharing.item(flow)).fold(sharing.without(), Span::max);
    let comes = |time: Span| {
        let of_flow = |flow: &usize| {
            let share = sharing.flows[*flow];
            match share.smallest == share.largest {
                true => sharing.item(*flow).saturating_mul(time.div_ceil(share.largest_tick())),
                false => sharing.share_of(*flow, time).saturating_add(sharing.item(*flow)),
            }
        };
        urgent.iter().map(of_flow).fold(begun, Span::saturating_add)
    };
    let mut busy = comes(Span::from_ps(1));
    // It grows by an item at least with each step, and not beyond where rates alone would take all of the time.
    for _ in 0..STEPS {
        let next = comes(busy);
        if next <= busy {
            return Some(busy);
        }
        busy = next;
    }
    None
}

/// After so many steps a busy period counts as endless.
const STEPS: usize = 100_000;
