//! Service curves: how much a server does for a level in any period in which the level is backlogged.

use laxity_units::{Bytes, Rate, Span};

use crate::arrival::{Arrival, picobits};

/// `rate · t − debt`, in picobits: a rate-latency curve of latency `debt / rate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) rate: u128,
    pub(crate) debt: u128,
}

impl Piece {
    /// Time, rounded up, until `amount` is served.
    const fn serves(self, amount: u128) -> u128 {
        amount.saturating_add(self.debt).div_ceil(self.rate)
    }
}

/// A convex service curve: the maximum of zero and its pieces, which have rising rates and debts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Service {
    pieces: Vec<Piece>,
}

impl Service {
    /// The service that a link of `rate` leaves to a level, or `None` if it leaves no rate.
    ///
    /// `above` is the traffic of more urgent levels, `blocking` the longest frame that can be under
    /// way below, and `latency` passes before a frame can be sent:
    /// `[C (t − T) − α_above(t) − l_below]⁺` (Le Boudec and Thiran 2001, proposition 1.3.4, and
    /// section 1.7 for the frame below).
    pub(crate) fn left(rate: Rate, latency: Span, above: &Arrival, blocking: Bytes) -> Option<Self> {
        let rate = u128::from(rate.bits_per_sec());
        Self::less(rate, rate * u128::from(latency.as_ps()) + picobits(blocking), above)
    }

    /// `[rate · t − debt − above]⁺`, or `None` if that has no rate.
    pub(crate) fn less(rate: u128, debt: u128, above: &Arrival) -> Option<Self> {
        let pieces = above.lines().iter().filter(|line| line.rate < rate);
        let pieces =
            pieces.map(|line| Piece { rate: rate - line.rate, debt: line.burst.saturating_add(debt) });
        let pieces: Vec<Piece> = pieces.collect();
        (!pieces.is_empty()).then_some(Self { pieces })
    }

    /// A rate-latency curve; `rate` is not zero.
    pub(crate) fn rate_latency(rate: u128, latency: u128) -> Self {
        Self { pieces: vec![Piece { rate, debt: rate.saturating_mul(latency) }] }
    }

    /// The curve of one piece; `rate` is not zero.
    pub(crate) fn one(rate: u128, debt: u128) -> Self {
        Self { pieces: vec![Piece { rate, debt }] }
    }

    /// The maximum of `pieces`, of which there is one at least, with rising rates and debts.
    pub(crate) fn of(pieces: Vec<Piece>) -> Self {
        debug_assert!(
            pieces.windows(2).all(|pair| pair[0].rate < pair[1].rate && pair[0].debt < pair[1].debt)
        );
        Self { pieces }
    }

    /// The pieces: rising rates and debts.
    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Time, rounded up, until `amount` is served.
    fn serves(&self, amount: u128) -> u128 {
        self.pieces.iter().map(|piece| piece.serves(amount)).min().expect("a service has a piece")
    }

    /// Longest time until a frame of `own` at least begins to be sent: the horizontal deviation of
    /// `arrival`, less the frame itself, from the service; `None` if there is no end.
    ///
    /// A frame that has begun is not preempted, so the caller adds its transmission at the rate of
    /// the link (Mohammadpour, Stai and Le Boudec 2019, theorem 1). The deviation of a concave from
    /// a convex curve is concave in time, so its supremum is at a turn of either.
    pub(crate) fn start(&self, arrival: &Arrival, own: Bytes) -> Option<Span> {
        let last = self.pieces.last().expect("a service has a piece");
        if arrival.last().rate > last.rate {
            return None;
        }
        let own = picobits(own);
        let wait = |at: u128, before: u128| self.serves(before.saturating_sub(own)).saturating_sub(at);
        let mut longest = wait(0, arrival.at(0));
        for (early, late) in arrival.turns() {
            longest = longest.max(wait(early, arrival.at(late)));
        }
        for pair in self.pieces.windows(2) {
            let (debt, rate) = (pair[1].debt - pair[0].debt, pair[1].rate - pair[0].rate);
            let (early, late) = (debt / rate, debt.div_ceil(rate));
            let served = (pair[0].rate.saturating_mul(early)).saturating_sub(pair[0].debt);
            if let Some(at) = arrival.reaches(served.saturating_add(own)) {
                longest = longest.max(late.saturating_sub(at));
            }
        }
        u64::try_from(longest).ok().map(Span::from_ps)
    }

    /// Longest period in which traffic of `arrival` keeps the server busy, rounded up, or `None` if
    /// there is no end (Le Boudec and Thiran 2001, proposition 1.3.1).
    pub(crate) fn busy(&self, arrival: &Arrival) -> Option<u128> {
        let pairs =
            self.pieces.iter().flat_map(|piece| arrival.lines().iter().map(move |line| (piece, line)));
        let faster = pairs.filter(|(piece, line)| piece.rate > line.rate);
        faster
            .map(|(piece, line)| line.burst.saturating_add(piece.debt).div_ceil(piece.rate - line.rate))
            .min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrival::Bucket;

    const LINK: Rate = Rate::from_bits_per_sec(100_000_000);

    fn frames(size: u64, burst: u64, interval: u64) -> Arrival {
        let interval = Span::from_us(interval);
        Arrival::of(&[Bucket::Frames { size: Bytes::new(size), burst, interval }], Span::ZERO)
    }

    /// Three frames of 500 B take 40 us each: the last begins after 80 us, beside 120 us of a frame
    /// below, 10 us of latency, and 80 us of a frame above.
    #[test]
    fn the_last_frame_of_a_burst_begins_when_the_others_have_left() {
        let alone = Service::left(LINK, Span::ZERO, &Arrival::none(), Bytes::ZERO).expect("a rate");
        let own = Bytes::new(500);
        assert_eq!(alone.start(&frames(500, 3, 4000), own), Some(Span::from_us(80)));
        assert_eq!(alone.start(&frames(500, 1, 40), own), Some(Span::ZERO), "as fast as the link");
        assert_eq!(alone.start(&frames(500, 1, 39), own), None, "faster than the link");
        let late =
            Service::left(LINK, Span::from_us(10), &Arrival::none(), Bytes::new(1500)).expect("a rate");
        assert_eq!(late.start(&frames(500, 3, 4000), own), Some(Span::from_us(80 + 120 + 10)));
        let above = frames(1000, 1, 1_000_000);
        let least = Service::left(LINK, Span::ZERO, &above, Bytes::ZERO).expect("a rate");
        let start = least.start(&frames(500, 1, 4000), own).expect("a bound").as_ps();
        assert!((80_000_000..80_010_000).contains(&start), "{start}");
        assert!(
            Service::left(LINK, Span::ZERO, &frames(500, 1, 40), Bytes::ZERO).is_none(),
            "no rate is left"
        );
    }

    /// The arrivals turn at 111 ps, and the service begins at 100 ps and turns at 500 ps.
    #[test]
    fn the_deviation_is_at_a_turn_of_either_curve() {
        let arrival = Arrival::least(vec![
            crate::arrival::Line { burst: 0, rate: 10 },
            crate::arrival::Line { burst: 1000, rate: 1 },
        ]);
        let service =
            Service { pieces: vec![Piece { rate: 2, debt: 200 }, Piece { rate: 5, debt: 200 + 1500 }] };
        let start = service.start(&arrival, Bytes::ZERO).expect("a bound").as_ps();
        // By each instant: the first at which the service has caught up.
        let served =
            |at: u128| service.pieces.iter().map(|p| (p.rate * at).saturating_sub(p.debt)).max().unwrap_or(0);
        let wait = |at: u128| (at..).find(|&end| served(end) >= arrival.at(at)).expect("it ends") - at;
        let exact = (0..2000).map(wait).max().expect("an instant") as u64;
        assert!(start >= exact && start <= exact + 2, "{start} for {exact}");
        let busy = service.busy(&arrival).expect("it ends");
        assert!(served(busy) >= arrival.at(busy) && served(busy - 1) < arrival.at(busy - 1));
    }
}
