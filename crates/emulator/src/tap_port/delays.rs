//! Delays of frames in real time, and their errors.
//!
//! A frame is read from a port at one time of the run and written at another; in between, the world
//! delayed it from the time at which it took the frame to the time at which it delivered it. The
//! difference of the two spans is the error of the delay: a frame may be late, because the world
//! was behind at delivery, and must never be early. The times of reading and writing are measured
//! here, independently of the world, so that its errors show.
//!
//! A frame waits in the device for an unknown time before it is read; an upper bound is the time
//! since the device was last seen empty.

use laxity_engine::Lateness;
use laxity_units::{Span, Time};
use laxity_world::results::{Delays, FrameResults};

/// Times of a frame in a slot.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stamp {
    /// Time of reading.
    pub(super) read: Time,
    /// Time at which the world took it.
    pub(super) taken: Time,
}

#[derive(Debug, Default)]
pub(super) struct Errors {
    late: Lateness,
    early: u64,
    earliest: Span,
}

impl Errors {
    /// Adds a frame with delay `wanted`; its writing began at delay `began` and ended at `ended`.
    pub(super) fn add(&mut self, wanted: Span, began: Span, ended: Span) {
        if began < wanted {
            self.early += 1;
            self.earliest = self.earliest.max(wanted - began);
        }
        self.late.record(ended.saturating_sub(wanted));
    }

    pub(super) fn summary(&self) -> Option<Delays> {
        let frames = self.late.count();
        let [p50, p99] = [0.5, 0.99].map(|q| self.late.quantile(q).as_secs_f64());
        (frames > 0).then(|| Delays {
            frames,
            p50,
            p99,
            max: self.late.max().as_secs_f64(),
            early: self.early,
            earliest: self.earliest.as_secs_f64(),
        })
    }
}

#[derive(Debug, Default)]
pub(super) struct Times {
    took: Lateness,
    waited: Lateness,
    arrivals: u64,
    first: Time,
    last: Time,
}

impl Times {
    /// Adds a frame read at `read`, which was not there at `empty`.
    pub(super) fn arrive(&mut self, read: Time, empty: Time) {
        if self.arrivals == 0 {
            self.first = read;
        }
        self.arrivals += 1;
        self.last = read;
        self.waited.record(read.saturating_since(empty));
    }

    /// Adds a frame written `took` after it was read.
    pub(super) fn leave(&mut self, took: Span) {
        self.took.record(took);
    }

    /// Summary for the channel `name`, with the minimum `interval` of its contract, if any.
    pub(super) fn summary(&self, name: &str, interval: Option<Span>) -> FrameResults {
        let of = |times: &Lateness, q| times.quantile(q).as_secs_f64();
        let took = self.last.saturating_since(self.first);
        let rate = (self.arrivals > 1 && !took.is_zero()).then(|| {
            let intervals = (self.arrivals - 1) as f64;
            interval.map(|interval| intervals * interval.as_secs_f64() / took.as_secs_f64())
        });
        FrameResults {
            channel: name.into(),
            read: self.arrivals,
            written: self.took.count(),
            p50: of(&self.took, 0.5),
            p99: of(&self.took, 0.99),
            max: self.took.max().as_secs_f64(),
            waited_p50: of(&self.waited, 0.5),
            waited_p99: of(&self.waited, 0.99),
            waited_max: self.waited.max().as_secs_f64(),
            of_contract: rate.flatten(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_early_frame_is_counted_and_a_late_one_measured() {
        let us = Span::from_us;
        let mut errors = Errors::default();
        assert_eq!(errors.summary(), None);
        errors.add(us(100), us(100), us(101));
        errors.add(us(100), us(93), us(95));
        errors.add(us(100), us(150), us(152));
        let summary = errors.summary().unwrap();
        assert_eq!((summary.frames, summary.early), (3, 1));
        assert!((summary.earliest - 7e-6).abs() < 1e-12 && (summary.max - 52e-6).abs() < 1e-12);
    }

    #[test]
    fn the_rate_of_a_source_is_a_share_of_its_contract() {
        let mut times = Times::default();
        for n in 0..=1000_u64 {
            let read = Time::ZERO + Span::from_us(10_000) * n;
            times.arrive(read, read);
        }
        let at = |interval| times.summary("a", Some(interval)).of_contract.unwrap();
        assert!((at(Span::from_ms(10)) - 1.0).abs() < 1e-9 && (at(Span::from_ms(8)) - 0.8).abs() < 1e-9);
        assert_eq!(times.summary("a", None).of_contract, None);
    }
}
