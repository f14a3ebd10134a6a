//! Rate-controlled static priority: regulators hold each flow to its rate, then higher levels go
//! first.
//!
//! ```text
//! item ─▶ regulator of its flow ─▶ queue of its level ─▶ link
//!         (held until it is due)   (first in, first out)
//! ```
//!
//! Zhang and Ferrari ("Rate-controlled static-priority queueing", INFOCOM 1993) separate a flow's
//! rate from its delay, which fair queueing couples. A regulator holds each item until the earlier
//! ones would be done at the flow's rate,
//!
//! ```text
//! E ← max(t, E of the flow's last + L / r of that)
//! ```
//!
//! (the rate-jitter controlling regulator). Of the released items the first of the highest level is
//! sent. So a flow of low rate can have a low delay.
//!
//! **Guarantee**, whatever other flows send, because they are regulated too. Of the flows in levels
//! up to that of flow `i` at most an item each and then one in each `X = L / r` enter the queues.
//! If
//!
//! ```text
//! Σ_{levels up to m} ⌈d / X_j⌉ L_j / C  +  L_max / C  ≤  d
//! ```
//!
//! (ibid., Theorem 1; `L_max` of a lower level, just begun) no item of level `m` is in its queue
//! for longer than `d`, because the link is not busy with these levels for longer without a break.
//! The regulator adds the part of the bucket beyond an item,
//!
//! ```text
//! D ≤ (σ − L) / r + d
//! ```
//!
//! For items of different sizes `⌈d / X⌉ L` is too small: an item may be due at once after the last
//! of a series of small ones. There the term is `d r + L`. The least such `d` is found by iteration
//! from `L_max / C`.
//!
//! Items without a rate are served when no other item may be. Not work-conserving. `O(log n)` an
//! item, for the regulators' calendar; the published calendar is one of hardware slots.

use laxity_units::{Span, Time};

use super::ItemRequest;
use super::held::{Held, Holds};
use super::sharing::{Latency, Sharing};
use super::virtual_time::Virtual;
use crate::by_channel::ByChannel;

/// Regulators, and queues of released items.
pub type RateControlled<T> = Held<Regulators, T>;

/// The earliest time of each flow's next item.
#[derive(Debug, Clone, Default)]
pub struct Regulators(ByChannel<Virtual>);

impl Holds for Regulators {
    fn hold(&mut self, now: Time, request: &ItemRequest) -> (Time, u8) {
        let ItemRequest { flow, size, tag, .. } = *request;
        let place = self.0.place(flow);
        let next = &mut self.0.all_mut()[place];
        let due = (*next).max(Virtual::at(now));
        *next = due + Virtual::tick(tag.tick, size);
        (due.time_ceil(), tag.level)
    }
}

/// `d`; `None` if the levels up to the flow's have no end of their busy period.
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
                false => sharing.served_in(*flow, time).saturating_add(sharing.item(*flow)),
            }
        };
        urgent.iter().map(of_flow).fold(begun, Span::saturating_add)
    };
    let mut busy = comes(Span::from_ps(1));
    // The busy period grows by at least an item with each step, and has a limit unless the rates
    // alone take all of the time.
    for _ in 0..STEPS {
        let next = comes(busy);
        if next <= busy {
            return Some(busy);
        }
        busy = next;
    }
    None
}

/// Number of steps after which a busy period counts as endless.
const STEPS: usize = 100_000;
