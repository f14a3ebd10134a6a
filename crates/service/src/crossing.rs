//! The time of packets on a link, by the clocks of both ends.
//!
//! The age of a packet counts the time in each node and the stated propagation of each link. It leaves
//! out what neither has: a queue of the interface or of a switch, a sender that was stopped with the
//! packet in its hands, a link that is longer than stated. A packet that carries when it left has
//! crossed the link by the receiver's clock, up to the error of the comparison of clocks
//! ([`pulse`](crate::pulse)). The part beyond the stated propagation and that error is proved, and is
//! added to the age. So a message that counts as late is late, whatever the error is.

use laxity_clock::{Drift, Tolerance};
use laxity_units::{Span, Time};

use crate::config::DRIFT;
use crate::pulse::Reading;

/// A comparison with the clock of a neighbour counts for so long; there are ten in a second.
const FRESH: Span = Span::from_secs(1);

/// The clock of the neighbour of a link, as it was compared last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Crossing {
    /// When it was, by the own clock.
    at: Time,
    /// The neighbour's clock less the own one, in picoseconds.
    offset: i128,
    error: Span,
}

impl Crossing {
    /// A comparison at `at`; `None` without a bound of its error.
    pub(crate) fn new(at: Time, reading: Reading) -> Option<Self> {
        // The offset is rounded to whole nanoseconds.
        let error = reading.error?.saturating_add(Span::from_ns(1));
        Some(Self { at, offset: i128::from(reading.offset_ns) * 1000, error })
    }

    /// The time beyond `stated` for which a packet was certainly on the link: it left at `departure` by
    /// the neighbour's clock, and arrived at `arrival` by the own one.
    pub(crate) fn hidden(&self, departure: Time, arrival: Time, stated: Span) -> Span {
        let age = arrival.saturating_since(self.at).max(self.at.saturating_since(arrival));
        if age > FRESH {
            return Span::ZERO;
        }
        let rate = Tolerance::of(Drift::from_ppb(2 * DRIFT).expect("far below 10 %"));
        let error = self.error.saturating_add(rate.share(age)).saturating_add(stated);
        let took = i128::from(arrival.as_ps()) + self.offset - i128::from(departure.as_ps());
        let hidden = took.saturating_sub(i128::from(error.as_ps())).max(0);
        Span::from_ps(u64::try_from(hidden).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The neighbour's clock is 7 s behind, known to 100 us. Of 3 ms on a link of 10 us, 2.89 ms are
    /// proved at once, and half a second later 600 us of clocks that may drift apart are not.
    #[test]
    fn only_what_clocks_prove_is_hidden_time() {
        let at = |us| Time::ZERO + Span::from_secs(10) + Span::from_us(us);
        let theirs = |us| at(us).saturating_sub(Span::from_secs(7));
        let reading = |error| Reading { offset_ns: -7_000_000_000, error };
        assert_eq!(Crossing::new(at(0), reading(None)), None);
        let crossing = Crossing::new(at(0), reading(Some(Span::from_ns(99_999)))).unwrap();
        let hidden = |left, arrived| crossing.hidden(theirs(left), at(arrived), Span::from_us(10));
        assert_eq!(hidden(0, 110), Span::ZERO, "all of it may be the error");
        assert_eq!(hidden(0, 111).as_ps() / 1_000_000, 0);
        assert!(hidden(0, 3000) <= Span::from_us(2890) && hidden(0, 3000) > Span::from_us(2885));
        let later = hidden(500_000, 503_000);
        assert!(later < Span::from_us(2300) && later > Span::from_us(2280), "{later}");
        assert_eq!(hidden(1_100_000, 1_200_000), Span::ZERO, "the comparison is old");
        // A time from the future, or any other of a hostile neighbour.
        for departure in [at(0), Time::MAX] {
            assert_eq!(crossing.hidden(departure, at(500), Span::ZERO), Span::ZERO);
        }
        let least = crossing.hidden(Time::ZERO, at(0), Span::ZERO);
        assert!(least <= Span::from_secs(3));
    }
}
