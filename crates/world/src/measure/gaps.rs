//! Jitter as the receiving program sees it.
//!
//! Of a virtual interface that has negotiated one message in `I`, the program expects messages "to
//! be separated by at most the negotiated inter-arrival time at the receiver end. Else, it incurs a
//! jitter for that message, with a *jitter duration* equal to the difference between the
//! inter-receipt time of the messages and the negotiated inter-arrival time. *Jitter fraction* (θ)
//! is a normalized version of this metric, where the mean jitter duration (over all the messages)
//! is divided by the negotiated inter-arrival time" (Nagar et al., section 4).

use laxity_units::{Span, Time};

/// The observations of one channel's receiver.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gaps {
    /// Negotiations in their order; empty for a channel without any.
    negotiated: Vec<Negotiated>,
    /// When the last came, its logical arrival, and under which negotiation it was sent.
    last: Option<(Time, Time, usize)>,
    /// Messages were sent closer together or further apart than was negotiated.
    uneven: bool,
}

/// Sources of which the interval is no whole number of picoseconds round each instant.
const ROUNDING: Span = Span::from_ps(1);

/// The observations of messages of one negotiation.
#[derive(Debug, Clone, Copy)]
struct Negotiated {
    interval: Span,
    counted: u64,
    jittered: u64,
    sum: u128,
}

impl Negotiated {
    fn mean(&self) -> f64 {
        self.sum as f64 / self.counted as f64 / 1e12
    }
}

impl Gaps {
    /// For a channel with that inter-arrival time; `None` for one without a negotiation.
    pub(crate) fn new(negotiated: Option<Span>) -> Self {
        let mut gaps = Self::default();
        negotiated.into_iter().for_each(|interval| gaps.renegotiate(interval));
        gaps
    }

    /// From now on messages are sent under another.
    pub(crate) fn renegotiate(&mut self, interval: Span) {
        self.negotiated.push(Negotiated { interval, counted: 0, jittered: 0, sum: 0 });
    }

    /// Under which negotiation, counted from 0, messages are sent now.
    pub(crate) fn current(&self) -> usize {
        self.negotiated.len().saturating_sub(1)
    }

    /// Whether the logical arrivals of all counted messages were one inter-arrival time apart, as
    /// was negotiated. A bound on θ is for such sources: by as much as a message is sent late, the
    /// message is received late as well.
    pub(crate) fn is_even(&self) -> bool {
        !self.uneven
    }

    /// A message is received of which the logical arrival was at `sent`, under negotiation `of`;
    /// `counted` if within the window. The gap between two negotiations is not negotiated.
    pub(crate) fn receive(&mut self, now: Time, sent: Time, of: usize, counted: bool) {
        let last = self.last.replace((now, sent, of));
        let Some((last, before, _)) = last.filter(|(.., before)| counted && *before == of) else { return };
        let Some(negotiated) = self.negotiated.get_mut(of) else { return };
        let (apart, interval) = (sent.saturating_since(before), negotiated.interval);
        self.uneven |= apart.max(interval) - apart.min(interval) > ROUNDING;
        let duration = now.since(last).saturating_sub(negotiated.interval);
        negotiated.counted += 1;
        negotiated.jittered += u64::from(!duration.is_zero());
        negotiated.sum += u128::from(duration.as_ps());
    }

    /// Each negotiation with messages, and its share of all.
    fn shares(&self) -> Option<impl Iterator<Item = (&Negotiated, f64)>> {
        let all: u64 = self.negotiated.iter().map(|negotiated| negotiated.counted).sum();
        let some = self.negotiated.iter().filter(|negotiated| negotiated.counted > 0);
        (all > 0).then(|| some.map(move |negotiated| (negotiated, negotiated.counted as f64 / all as f64)))
    }

    /// Mean jitter duration over all messages with one before, seconds.
    pub(crate) fn mean(&self) -> Option<f64> {
        Some(self.shares()?.map(|(negotiated, share)| share * negotiated.mean()).sum())
    }

    /// θ.
    pub(crate) fn fraction(&self) -> Option<f64> {
        let of = |(one, share): (&Negotiated, f64)| share * (one.mean() / one.interval.as_secs_f64());
        Some(self.shares()?.map(of).sum())
    }

    /// The share of messages that incurred a jitter.
    pub(crate) fn share(&self) -> Option<f64> {
        let of = |(one, share): (&Negotiated, f64)| share * (one.jittered as f64 / one.counted as f64);
        Some(self.shares()?.map(of).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_paper_defines_them() {
        let mut gaps = Gaps::new(Some(Span::from_us(100)));
        let at = |us: u64| Time::ZERO + Span::from_us(us);
        // Apart by 100, 130, 70 and 110; the first two are before the window.
        for (us, counted) in [(0, false), (100, false), (230, true), (300, true), (410, true)] {
            gaps.receive(at(us), at(us), 0, counted);
        }
        let near = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 1e-15;
        assert!(near(gaps.mean(), 40e-6 / 3.0));
        assert!(near(gaps.fraction(), 0.4 / 3.0));
        assert!(near(gaps.share(), 2.0 / 3.0));
        let mut none = Gaps::new(None);
        none.receive(at(0), at(0), 0, true);
        none.receive(at(1), at(1), 0, true);
        assert_eq!((none.mean(), none.fraction(), none.share()), (None, None, None));
    }

    /// Messages 100 us apart are even, but for a picosecond of rounding, however they are received.
    /// A new negotiation begins anew, whenever its first message is sent, and what is outside the
    /// window is not judged.
    #[test]
    fn a_source_is_even_that_sends_at_the_negotiated_rate() {
        let (us, ps) = (Span::from_us, Span::from_ps);
        let even = |sent: &[Span], counted| {
            let mut gaps = Gaps::new(Some(us(100)));
            let at = |span: Span| Time::ZERO + span;
            sent.iter().for_each(|sent| gaps.receive(at(us(3000)), at(*sent), 0, counted));
            gaps.renegotiate(us(50));
            for sent in [us(1000), us(1050)] {
                gaps.receive(at(us(4000)), at(sent), 1, true);
            }
            gaps.is_even()
        };
        assert!(even(&[us(7), us(107), us(207) + ps(1), us(307)], true));
        assert!(!even(&[us(7), us(107) + ps(2)], true));
        assert!(!even(&[us(7), us(107) - ps(2)], true));
        assert!(even(&[us(7), us(500)], false));
    }

    #[test]
    fn each_message_is_held_to_what_was_negotiated_when_it_was_sent() {
        let mut gaps = Gaps::new(Some(Span::from_us(100)));
        let at = |us: u64| Time::ZERO + Span::from_us(us);
        gaps.receive(at(0), at(0), 0, true);
        gaps.renegotiate(Span::from_us(50));
        // One that was on its way, 20 late of 100; then a gap without a negotiation; then 5 and 0
        // late of 50.
        for (us, of) in [(120, 0), (500, 1), (555, 1), (600, 1)] {
            gaps.receive(at(us), at(us), of, true);
        }
        let near = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 1e-12;
        assert!(near(gaps.mean(), 25e-6 / 3.0));
        assert!(near(gaps.fraction(), (0.2 + 0.1) / 3.0));
        assert!(near(gaps.share(), 2.0 / 3.0));
    }
}
