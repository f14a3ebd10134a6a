//! By when all that has a rate is through, in whatever order.
//!
//! The term of a channel's own rate is large where rates are small, and it holds whatever others
//! send; but others keep contracts, too. A server that serves traffic with a rate as long as any of
//! it waits, and only then traffic without one
//! ([`Order::serves_rates_first`](laxity_qos::discipline::Order::serves_rates_first)), is done with
//! all of it in the end. Let the last packet of a message leave at `f`, and `t0` be the last
//! instant before at which no packet with a rate waited. That is not after the packet's arrival,
//! and so not after the message's logical arrival. At `t0` there are up to `D` packets with the
//! adapter, of any flow, and from then on only packets begin that have a rate and arrived since. So
//! for every `x` in `(t0, f)`
//!
//! ```text
//! x − t0 < lower + Σ_j (⌈(x − t0 + E_j)/I_j⌉ + a_j) S_j                                    (1)
//! ```
//!
//! where `lower` are those packets, and `S_j` is the time of a message of `j`. (At a port there is
//! one without a rate: it has no others then if `t0` is when no packet with a rate was there at
//! all.) Messages arrive no more than `E_j` before their logical arrivals, which are `I_j` apart,
//! but for `a_j` that went ahead. With `b` the least that is no less than the right side at itself,
//! `f ≤ t0 + b`: otherwise (1) at `x = t0 + b` says `b < b`. (Cruz, "A calculus for network delay,
//! part I", IEEE Trans. Information Theory 37(1), 1991, has it for work-conserving servers and
//! fluid bursts.)
//!
//! # A channel's own messages
//!
//! Packets of a channel keep their order, so none of its later messages goes before message `k`. Those
//! of `[t0, f)` up to `k` have logical arrivals in `[t0, ℓ_k]`, for none arrives after its own. They are
//! `n + 1` at most with `n = ⌊(ℓ_k − t0)/I⌋`, however early they are. So in (1) the channel counts as
//! `(n + 1) S`, and `f − ℓ_k ≤ b(n) − n I`. The bound is the most of that over all `n`. Straight lines above
//! the others' demand show from which `n` on it falls.

use laxity_units::Span;

use super::super::environment::{Interference, Request};
use super::super::terms::ps;

/// Steps after which no end is looked for: it would be far beyond what a rate is worth.
const MOST_STEPS: u32 = 400;
/// Channels up to which the own messages of each are counted apart.
const MOST_APART: usize = 64;
/// Own messages that are counted one by one.
const MOST_BEFORE: u64 = 100;
/// One, in the unit of shares.
const PARTS: u32 = 40;

/// Arrivals of a channel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coming {
    /// `S`: what its largest message takes.
    pub(crate) service: Span,
    /// `I`: between two of them.
    pub(crate) interval: Span,
    /// `E`: how early they arrive.
    pub(crate) early: Span,
    /// `a`: but for this number.
    pub(crate) ahead: u64,
}

impl Coming {
    /// Messages of `asked`, each of which takes `service` and is made by `made` after its logical
    /// arrival.
    pub(crate) fn of(asked: &Request, service: Span, made: Span) -> Self {
        Self { service, interval: asked.spec().min_interval, early: made, ahead: 0 }
    }

    /// Activations of `work`, each of which takes so long.
    pub(crate) fn above(work: &Interference, service: Span) -> Self {
        Self { service, interval: work.interval, early: Span::ZERO, ahead: u64::from(work.burst) }
    }

    /// Its demand in `time`.
    fn demand(&self, time: u128) -> u128 {
        let messages = (time + ps(self.early)).div_ceil(ps(self.interval)) + u128::from(self.ahead);
        messages.saturating_mul(ps(self.service))
    }
}

/// A straight line above the demand of channels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// At zero.
    once: u128,
    /// Its slope, in 2⁻⁴⁰.
    parts: u128,
}

impl Line {
    /// The same with the demand of `one`.
    pub(crate) fn and(self, one: &Coming) -> Self {
        let early = (ps(one.early) * part(one)).div_ceil(1 << PARTS);
        let own = early.saturating_add((u128::from(one.ahead) + 1).saturating_mul(ps(one.service)));
        Self { once: self.once.saturating_add(own), parts: self.parts.saturating_add(part(one)) }
    }

    /// By when all are through after `lower`, at the latest; `None` where the line has no end.
    pub(crate) fn through(self, lower: Span) -> Option<Span> {
        let free = (1u128 << PARTS).checked_sub(self.parts).filter(|free| *free > 0)?;
        let end = ps(lower).saturating_add(self.once).checked_mul(1 << PARTS)?.div_ceil(free);
        u64::try_from(end).ok().map(Span::from_ps)
    }
}

/// By when one of channels is through, after what was under way.
pub(crate) struct Together {
    lower: Span,
    all: Vec<Coming>,
    /// `b` of (1).
    end: Option<Span>,
}

impl Together {
    pub(crate) fn new(lower: Span, all: Vec<Coming>) -> Self {
        let end = through(lower, &all);
        Self { lower, all, end }
    }

    /// The bound of the channel at `place` from its logical arrival.
    pub(crate) fn of(&self, place: usize) -> Option<Span> {
        let all = self.end?;
        if self.all.len() > MOST_APART {
            return Some(all);
        }
        Some(self.apart(place).map_or(all, |own| own.min(all)))
    }

    /// The same by the number of its own messages; `None` if it needs too many of them.
    fn apart(&self, place: usize) -> Option<Span> {
        let own = self.all[place];
        let others: Vec<Coming> =
            self.all.iter().enumerate().filter(|(i, _)| *i != place).map(|(_, one)| *one).collect();
        let line = others.iter().fold(Line::default(), Line::and);
        let free = (1u128 << PARTS).checked_sub(line.parts).filter(|free| *free > 0)?;
        if ps(own.service).checked_shl(PARTS)? > ps(own.interval).checked_mul(free)? {
            return None;
        }
        let mut worst = Span::ZERO;
        for before in 0..MOST_BEFORE {
            let since = own.interval.saturating_mul(before);
            let work = self.lower.saturating_add(own.service.saturating_mul(before + 1));
            if before > 0 && line.through(work)? <= since.saturating_add(worst) {
                return Some(worst);
            }
            worst = worst.max(through(work, &others)?.saturating_sub(since));
        }
        None
    }
}

/// The share of a channel in all time, rounded up.
fn part(one: &Coming) -> u128 {
    (ps(one.service) << PARTS).div_ceil(ps(one.interval))
}

/// `b` of (1) after `lower`; `None` where there is no end, or none is found.
pub(crate) fn through(lower: Span, all: &[Coming]) -> Option<Span> {
    let demand = |time: u128| all.iter().map(|one| one.demand(time)).fold(ps(lower), u128::saturating_add);
    // From below: were the steps a line, it would end there, and that is no later. All rounded
    // down.
    let part = |one: &Coming| (ps(one.service) << PARTS) / ps(one.interval);
    let free = (1u128 << PARTS).checked_sub(all.iter().map(part).sum()).filter(|free| *free > 0)?;
    let once =
        |one: &Coming| ((ps(one.early) * part(one)) >> PARTS) + u128::from(one.ahead) * ps(one.service);
    let line = all.iter().map(once).fold(ps(lower), u128::saturating_add);
    let mut time = demand(1).max(line.checked_mul(1 << PARTS)? / free);
    for _ in 0..MOST_STEPS {
        let next = demand(time);
        if next <= time {
            return u64::try_from(time).ok().map(Span::from_ps);
        }
        time = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn us(us: u64) -> Span {
        Span::from_us(us)
    }

    fn coming(service: u64, interval: u64, early: u64, ahead: u64) -> Coming {
        Coming { service: us(service), interval: us(interval), early: us(early), ahead }
    }

    /// One of 3 each 10 and one of 2 each 7, after 1: 6, and with no other released by then that is
    /// all. A message that arrives 5 early may have the next behind it: ⌈(6 + 5)/10⌉ = 2 of the
    /// first, so 9, by when a second of the second has arrived: 11, and that is ⌈(11 + 5)/10⌉ = 2
    /// and ⌈11/7⌉ = 2.
    #[test]
    fn all_are_through_when_nothing_new_has_come() {
        assert_eq!(through(us(1), &[coming(3, 10, 0, 0), coming(2, 7, 0, 0)]), Some(us(6)));
        assert_eq!(through(us(1), &[coming(3, 10, 5, 0), coming(2, 7, 0, 0)]), Some(us(11)));
        // One ahead of its time: 9 again, and 11.
        assert_eq!(through(us(1), &[coming(3, 10, 0, 1), coming(2, 7, 0, 0)]), Some(us(14)));
        assert_eq!(through(us(1), &[coming(3, 10, 0, 0), coming(7, 10, 0, 0)]), None, "they take all of it");
        assert_eq!(through(us(1), &[]), Some(us(1)));
    }

    /// Another channel takes 3 each 10, and this one 4 each 20. Its first message waits for one of the
    /// other, 7, and its second arrives after both.
    #[test]
    fn a_channel_waits_for_its_messages_before() {
        let other = coming(3, 10, 0, 0);
        let own = |lower, own| Together::new(us(lower), vec![other, own]).of(1);
        assert_eq!(own(0, coming(4, 20, 1000, 90)), Some(us(7)), "however early");
        assert_eq!(own(2, coming(4, 20, 0, 0)), Some(us(2 + 4 + 3)));
        assert_eq!(own(2, coming(7, 12, 0, 0)), Some(us(2 + 7 + 6)));
        assert_eq!(own(0, coming(8, 11, 0, 0)), None, "103 % of the time");
        // The first is through at 25, and the second at 50, behind two of the other: 26 after its arrival.
        let second = Together::new(us(0), vec![coming(12, 36, 0, 0), coming(13, 24, 0, 0)]).of(1);
        assert_eq!(second, Some(us(26)));
        // All are through after the first two, which take two of the other: the own part is no longer.
        assert_eq!(Together::new(us(0), vec![other, coming(4, 20, 0, 0)]).of(0), Some(us(7)));
    }

    proptest! {
        /// Others arrive as soon as they may and go first. The messages of the channel arrive ahead of their
        /// time, in order, and none is later than the bound.
        #[test]
        fn no_message_is_later_than_that(
            lower in 0u64..20,
            others in prop::collection::vec((1u64..10, 20u64..200, 0u64..100, 0u64..3), 0..4),
            (service, interval, first) in (1u64..15, 16u64..60, 0u64..100),
            early in prop::collection::vec(0u64..200, 12),
        ) {
            let others: Vec<Coming> = others.iter().map(|&(s, i, e, a)| coming(s, i, e, a)).collect();
            let all: Vec<Coming> = others.iter().copied().chain([coming(service, interval, 300, 9)]).collect();
            let Some(bound) = Together::new(us(lower), all).of(others.len()) else { return Ok(()) };
            let logical = (0..12).map(|k| first + k * interval);
            let mut come: Vec<u64> = logical.zip(&early).map(|(at, early)| at.saturating_sub(*early)).collect();
            (1..12).rev().for_each(|k| come[k - 1] = come[k - 1].min(come[k]));
            let demand = |until: u64| others.iter().map(|one| one.demand(ps(us(until)))).sum::<u128>() / ps(us(1));
            let (mut before, mut own) = (0, 0);
            for now in 0..5000 {
                let arrived = come.iter().filter(|at| **at <= now).count() as u64;
                if before < u128::from(lower) + demand(now + 1) {
                    before += 1;
                } else if own < arrived * service {
                    own += 1;
                    let (k, rest) = ((own - 1) / service, own % service);
                    let late = (now + 1).saturating_sub(first + k * interval);
                    prop_assert!(rest > 0 || us(late) <= bound, "message {k} at {}: {bound}", now + 1);
                }
            }
        }

        /// It is an end, and the first: at no time before is everything through.
        #[test]
        fn it_is_the_least(
            lower in 1u64..50,
            all in prop::collection::vec((1u64..20, 20u64..400, 0u64..300, 0u64..3), 1..6),
        ) {
            let all: Vec<Coming> = all.iter().map(|&(s, i, e, a)| coming(s, i, e, a)).collect();
            let demand = |time: u64| all.iter().map(|one| one.demand(ps(us(time)))).sum::<u128>() + ps(us(lower));
            // Where nearly all is asked for the end can be later than any search looks: then none
            // is before.
            let searched = 100_000;
            let first = (1..searched).find(|time| demand(*time) <= ps(us(*time)));
            match through(us(lower), &all) {
                Some(found) if found >= us(searched) => prop_assert_eq!(first, None),
                Some(found) => prop_assert_eq!(Some(found), first.map(us)),
                None => prop_assert!(first.is_none_or(|first| first > 2000), "{:?}", first),
            }
        }
    }
}
