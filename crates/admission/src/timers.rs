//! CPU time of a host's timers, where they have a cost: as interrupts above the handlers.
//!
//! # When one fires
//!
//! A core requests timers for packets that turn current, or get within the horizon of
//! [`EarlyPolicy`], and for budgets of applications that compute. So a timer has an *instant*, and
//! each of these is one of
//!
//! * `ℓ` of a message, which is that of all its packets, on the CPU and at the link alike;
//! * `ℓ − h` for each finite horizon `h`, of the CPU's queue and of the link's;
//! * the beginning of a period of an application.
//!
//! An instant has one timer. When its interrupt has been served at `t`, all that is current by then
//! has been moved, at either queue, and what joins later with that instant behind it is current at
//! once. So no further timer is requested at the same instant. Other packets that turn current
//! while one is pending or served go with that one.
//!
//! # How many there are
//!
//! The logical arrivals of a channel are `I_min` apart wherever it passes, a piece of a large
//! message being like a message; a host that hands on to this one adds the same to all. So in `[s,
//! x)` there are at most `⌈(x − s)/I_min⌉` instants of each kind, and of each application `⌈(x −
//! s)/period⌉`: what [`Interference`] says with no burst. One more is charged once: applications
//! without a budget are begun by a timer when the host is, and where a link is shared by rates its
//! backlog may begin with one pending ([`super::rated_host`]).
//!
//! # Why that is all
//!
//! *No timer is pending at `s`.* Let `s` of [`super::trajectory`] be where its argument has it, and
//! interrupts, of whatever kind, be served or pending just before it. Go back to `s'`, when that
//! began. Level messages that had arrived by `s'` were through, for only interrupts had the CPU
//! until `s`. So the argument holds with `s'` for `s`, and interrupts pending there arrived while
//! interrupts were masked, which is "link scheduling in progress". This holds for whatever else
//! interrupts, too.
//!
//! *A timer starts* a packet that waits, and the start is charged for as such. Under O1 the start
//! is one of the bursts of [`super::o1`], which are equally far apart whatever makes them, and in
//! the second phase one of a level packet. The delay of the start by the timer's cost is the
//! adapter's idling "while work above the handlers keeps" it from being started, which is counted
//! once over the window.
//!
//! *A completion behind a timer* is served in its turn, and waits for one timer at most, counted
//! likewise.

use std::collections::BTreeSet;

use laxity_units::Span;

use super::environment::{Above, Interference};
use laxity_qos::discipline::EarlyPolicy;

/// The timers of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timers {
    cost: Span,
    /// By how much the instants of a message are before its logical arrival.
    before: BTreeSet<Span>,
}

impl Timers {
    /// Of timers that take `cost` each, at a host with these policies for its queues of early work.
    pub fn new(cost: Span, queues: &[EarlyPolicy]) -> Self {
        let before = |queue: &EarlyPolicy| Some(queue.horizon).filter(|ahead| *ahead < Span::MAX);
        let before = queues.iter().filter_map(before).chain([Span::ZERO]).collect();
        Self { cost, before }
    }

    /// Load of the timers for channels with messages at these intervals, and for applications with
    /// these periods. No span may be zero.
    pub fn interference(
        &self,
        channels: impl IntoIterator<Item = Span>,
        periods: impl IntoIterator<Item = Span>,
    ) -> Vec<Interference> {
        let every = |interval| Interference {
            above: Above::Interrupt,
            cost: self.cost,
            adapter: Span::ZERO,
            burst: 0,
            interval,
        };
        let of_channel = |interval| self.before.iter().map(move |_| every(interval));
        let of_all = channels.into_iter().flat_map(of_channel);
        of_all.chain(periods.into_iter().map(every)).chain([every(Span::MAX)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Span = Span::from_us;

    fn ahead(horizon: Span) -> EarlyPolicy {
        EarlyPolicy { horizon, above_best_effort: false }
    }

    fn intervals(queues: &[EarlyPolicy]) -> Vec<Span> {
        let timers = Timers::new(US(3), queues);
        let all = timers.interference([US(100), US(200)], [US(50)]);
        assert!(all.iter().all(|work| (work.cost, work.burst, work.above) == (US(3), 0, Above::Interrupt)));
        all.iter().map(|work| work.interval).collect()
    }

    /// A packet held to its time, or one that may go at any, turns current once; with two horizons
    /// it is looked at three times, with the same one for both queues, twice.
    #[test]
    fn a_message_has_a_timer_for_its_arrival_and_for_each_horizon() {
        let once = [US(100), US(200), US(50), Span::MAX];
        assert_eq!(intervals(&[EarlyPolicy::HOLD, EarlyPolicy::HOLD]), once);
        assert_eq!(intervals(&[EarlyPolicy::HOLD, EarlyPolicy::CONSERVE]), once);
        let twice = [US(100), US(100), US(200), US(200), US(50), Span::MAX];
        assert_eq!(intervals(&[ahead(US(10)), ahead(US(10))]), twice);
        assert_eq!(intervals(&[ahead(US(10)), ahead(US(20))])[..3], [US(100); 3]);
    }
}
