//! The instants of a run at which something begins or ends.
//!
//! A worst case is a matter of picoseconds: a release just after a block has begun waits for all of
//! it, a release just before does not wait. Random shifts of phases never find these instants; the
//! trace of a run lists them.

use laxity_engine::trace::{Arguments, TraceSink, Track};
use laxity_units::Time;

/// A sink that keeps instants.
#[derive(Debug, Default)]
pub(super) struct Sight {
    tracks: Vec<String>,
    /// The channel that is attacked, as the trace calls it.
    target: String,
    /// When CPU work and transmissions began or ended; in order once [`sort`](Self::sort)ed.
    pub(super) instants: Vec<Time>,
    /// When transmissions ended.
    pub(super) completions: Vec<Time>,
    /// When packets had been processed, and taken by programs.
    taken_on: Vec<Time>,
    /// Messages of the target by number, and when they left.
    pub(super) left: Vec<(u64, Time)>,
}

impl Sight {
    /// For an attack on the channel of that name.
    pub(super) fn of(target: &str) -> Self {
        Self { target: format!("channel {target}"), ..Self::default() }
    }

    /// Puts what was seen in order.
    pub(super) fn sort(&mut self) {
        self.instants.sort_unstable();
        self.instants.dedup();
        if self.completions.is_empty() {
            // A host that only receives has no transmissions; these events advance its packets
            // instead.
            self.completions = std::mem::take(&mut self.taken_on);
        }
        self.completions.sort_unstable();
    }

    /// Those of `times`, in order, that lie in `from ..= to`.
    pub(super) fn within(times: &[Time], from: Time, to: Time) -> &[Time] {
        let first = times.partition_point(|at| *at < from);
        let end = times.partition_point(|at| *at <= to);
        &times[first..end.max(first)]
    }
}

impl TraceSink for Sight {
    fn track(&mut self, name: &str) -> Track {
        let known = self.tracks.iter().position(|track| track == name);
        let number = known.unwrap_or_else(|| {
            self.tracks.push(name.to_string());
            self.tracks.len() - 1
        });
        Track::new(number as u32)
    }

    fn span(&mut self, _: Track, name: &str, begin: Time, end: Time, _: Arguments<'_>) {
        self.instants.extend([begin, end]);
        match name {
            "transmit" => self.completions.push(end),
            "protocol" | "program" | "data down" | "data up" => self.taken_on.push(end),
            _ => {}
        }
    }

    fn instant(&mut self, track: Track, name: &str, at: Time, arguments: Arguments<'_>) {
        // When it was due is no instant at which anything happened.
        if name == "deadline" {
            return;
        }
        let of_target = self.tracks.iter().position(|name| *name == self.target);
        let message = arguments.iter().find(|(key, _)| *key == "message");
        if let Some((_, message)) = message
            && of_target.is_some_and(|number| Track::new(number as u32) == track)
        {
            self.left.push((*message, at));
        }
    }

    fn level(&mut self, _: Track, _: Time, _: i64) {}
}

#[cfg(test)]
mod tests {
    use laxity_units::Span;

    use super::*;

    #[test]
    fn it_keeps_instants_in_order_and_the_targets_messages() {
        let at = |us| Time::ZERO + Span::from_us(us);
        let mut sight = Sight::of("a");
        let (cpu, a, b) = (sight.track("cpu"), sight.track("channel a"), sight.track("channel b"));
        assert_eq!(sight.track("channel a"), a);
        sight.span(cpu, "transmit", at(5), at(9), &[]);
        sight.span(cpu, "protocol", at(2), at(5), &[]);
        sight.instant(a, "message complete", at(9), &[("message", 3)]);
        sight.instant(b, "message complete", at(9), &[("message", 4)]);
        sight.instant(a, "deadline", at(8), &[("message", 3)]);
        sight.sort();
        assert_eq!(sight.instants, [at(2), at(5), at(9)]);
        assert_eq!((sight.completions.clone(), sight.left.clone()), (vec![at(9)], vec![(3, at(9))]));
        assert_eq!(Sight::within(&sight.instants, at(3), at(9)), [at(5), at(9)]);
        assert!(Sight::within(&sight.instants, at(6), at(4)).is_empty());
    }
}
