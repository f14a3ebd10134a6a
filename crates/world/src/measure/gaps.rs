//! Jitter as the receiving program sees it.
//!
//! Of a virtual interface that has negotiated one message in `I`, the program expects messages "to be separated by at most the
//! negotiated inter-arrival time at the receiver end. Else, it incurs a jitter for that message, with a *jitter duration* equal to
//! the difference between the inter-receipt time of the messages and the negotiated inter-arrival time. *Jitter fraction* (θ) is a
//! normalized version of this metric, where the mean jitter duration (over all the messages) is divided by the negotiated
//! inter-arrival time" (Nagar et al., section 4).

use laxity_units::{Span, Time};

/// What one channel's receiver has seen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gaps {
    negotiated: Option<Span>,
    last: Option<Time>,
    counted: u64,
    jittered: u64,
    sum: u128,
}

impl Gaps {
    /// Of a channel with that inter-arrival time; `None` for one that has negotiated nothing.
    pub(crate) fn new(negotiated: Option<Span>) -> Self {
        Self { negotiated, ..Self::default() }
    }

    /// A message is received; `counted` if within the window.
    pub(crate) fn receive(&mut self, now: Time, counted: bool) {
        let (last, negotiated) = (self.last.replace(now), self.negotiated);
        let (Some(last), Some(negotiated)) = (last, negotiated) else { return };
        if !counted {
            return;
        }
        let duration = now.since(last).saturating_sub(negotiated);
        self.counted += 1;
        self.jittered += u64::from(!duration.is_zero());
        self.sum += u128::from(duration.as_ps());
    }

    /// Mean jitter duration over all messages with one before, seconds.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.counted > 0).then(|| self.sum as f64 / self.counted as f64 / 1e12)
    }

    /// θ.
    pub(crate) fn fraction(&self) -> Option<f64> {
        Some(self.mean()? / self.negotiated?.as_secs_f64())
    }

    /// The share of messages that incurred a jitter.
    pub(crate) fn share(&self) -> Option<f64> {
        (self.counted > 0).then(|| self.jittered as f64 / self.counted as f64)
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
            gaps.receive(at(us), counted);
        }
        let near = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 1e-15;
        assert!(near(gaps.mean(), 40e-6 / 3.0));
        assert!(near(gaps.fraction(), 0.4 / 3.0));
        assert!(near(gaps.share(), 2.0 / 3.0));
        let mut none = Gaps::new(None);
        none.receive(at(0), true);
        none.receive(at(1), true);
        assert_eq!((none.mean(), none.fraction(), none.share()), (None, None, None));
    }
}
