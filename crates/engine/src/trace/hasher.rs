//! Hash of a trace, in 64 bits.
//!
//! Two runs are equal if all their records are, which may be gigabytes. The hash of all records in
//! order replaces that comparison: it depends on every name, time and number, so different runs
//! have the same hash only with probability 2^-64. The hash is part of golden results, so its
//! definition is fixed: every 64-bit word is added to the state by exclusive or, followed by
//! splitmix64's step; a text is its length in bytes, then its bytes in words of eight, the last
//! padded with zeros.

use laxity_units::Time;

use super::{Arguments, TraceFlow, TraceSink, Track, Tracks};
use crate::random::splitmix64;

/// Hashes every record, in order.
#[derive(Debug, Clone, Default)]
pub struct TraceHasher {
    state: u64,
    records: u64,
    tracks: Tracks,
}

impl TraceHasher {
    /// Hasher without records.
    pub fn new() -> Self {
        Self::default()
    }

    /// Hash of all records.
    pub fn hash(&self) -> u64 {
        self.state
    }

    /// Number of records; the hash of none proves no equality.
    pub fn records(&self) -> u64 {
        self.records
    }

    fn word(&mut self, word: u64) {
        self.state = splitmix64(self.state ^ word);
    }

    fn text(&mut self, text: &str) {
        self.word(text.len() as u64);
        for chunk in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
    }

    /// Starts a record of `kind`; different kinds hash differently.
    fn record(&mut self, kind: u8, track: Track) {
        self.records += 1;
        self.word(u64::from(kind) << 32 | u64::from(track.0));
    }

    fn arguments(&mut self, arguments: Arguments<'_>) {
        self.word(arguments.len() as u64);
        for (name, value) in arguments {
            self.text(name);
            self.word(*value);
        }
    }
}

impl TraceSink for TraceHasher {
    fn track(&mut self, name: &str) -> Track {
        let (track, new) = self.tracks.name(name);
        if new {
            self.word(u64::from(track.0));
            self.text(name);
        }
        track
    }

    fn span(&mut self, track: Track, name: &str, begin: Time, end: Time, arguments: Arguments<'_>) {
        self.record(1, track);
        self.text(name);
        self.word(begin.as_ps());
        self.word(end.since(begin).as_ps());
        self.arguments(arguments);
    }

    fn instant(&mut self, track: Track, name: &str, at: Time, arguments: Arguments<'_>) {
        self.record(2, track);
        self.text(name);
        self.word(at.as_ps());
        self.arguments(arguments);
    }

    fn level(&mut self, track: Track, at: Time, value: i64) {
        self.record(3, track);
        self.word(at.as_ps());
        self.word(value as u64);
    }

    fn flow(&mut self, track: Track, at: Time, id: u64, flow: TraceFlow) {
        self.record(4, track);
        self.word(at.as_ps());
        self.word(id);
        self.word(flow as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_record_counts() {
        let at = Time::from_ns;
        let hash = |tell: &dyn Fn(&mut TraceHasher, Track)| {
            let mut hasher = TraceHasher::new();
            let track = hasher.track("t");
            tell(&mut hasher, track);
            hasher.hash()
        };
        let hashes = [
            hash(&|_, _| {}),
            hash(&|h, t| h.span(t, "a", at(1), at(2), &[])),
            hash(&|h, t| h.span(t, "b", at(1), at(2), &[])),
            hash(&|h, t| h.span(t, "a", at(1), at(3), &[])),
            hash(&|h, t| h.span(t, "a", at(0), at(1), &[])),
            hash(&|h, t| h.span(t, "a", at(1), at(2), &[("x", 1)])),
            hash(&|h, t| h.span(t, "a", at(1), at(2), &[("x", 2)])),
            hash(&|h, t| h.instant(t, "a", at(1), &[])),
            hash(&|h, t| h.level(t, at(1), 1)),
            hash(&|h, t| h.level(t, at(1), -1)),
            hash(&|h, t| h.flow(t, at(1), 7, TraceFlow::Begins)),
            hash(&|h, t| h.flow(t, at(1), 7, TraceFlow::Ends)),
            hash(&|h, t| h.flow(t, at(1), 8, TraceFlow::Ends)),
            hash(&|h, _| {
                let other = h.track("u");
                h.level(other, at(1), 1);
            }),
        ];
        for (i, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..i].contains(hash), "record {i} hashes like an earlier one");
        }
        assert_eq!(hashes[5], 7_982_033_589_037_591_917, "the hash is fixed for ever");
    }
}
