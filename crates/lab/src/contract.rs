//! The contracts that a recording keeps: the least rate for each wait.
//!
//! A message counts from its logical arrival ([`laxity_qos::traffic`]): unrolled, `ℓ_i = max_{j ≤ i}
//! (t_j + (i − j) I)`. So no message waits for its logical arrival longer than `W` if and only if, for
//! all `j ≤ i`,
//!
//! ```text
//! (i − j) I ≤ t_i − t_j + W                                                                           (1)
//! ```
//!
//! The left side grows with `I`, so the longest such interval, which reserves the least, is found by
//! halves, to the picosecond, with the clock that polices a channel. A message above `M` counts as
//! several there, of which the last counts. The least burst is `B = ⌈max_i (ℓ_i − t_i) / I⌉ + 1`.
//!
//! A recording ends, so a burst would also pay for a rate below the mean of the recording: a source
//! that goes on would exceed that contract. No contract reserves less than the mean.
//!
//! A contract counts messages, whatever their size. Where sizes differ, a smaller `M` therefore
//! reserves less, down to the curve of the bytes.

use laxity_model::source::trace::{Frame, Trace};
use laxity_qos::traffic::{LogicalClock, TrafficSpec};
use laxity_units::{Bytes, Rate, Span, Time};

/// Largest messages that are tried: each is half of the one before, rounded up.
const HALVES: u32 = 6;

/// The messages of a recording; at least two, not all of one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    messages: Vec<(Time, Bytes)>,
}

/// A contract that a recording keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContractRow {
    /// `M`.
    pub largest: Bytes,
    /// `B`, the least.
    pub burst: u32,
    /// `I`, the longest.
    pub interval: Span,
    /// The rate that a channel of it reserves.
    pub rate: Rate,
    /// The longest wait of a message for its logical arrival.
    pub waits: Span,
}

/// Why there is no contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoContract {
    /// The file has no times, and no interval was given.
    NoTimes,
    /// All messages are of one instant.
    OneInstant,
}

impl Recording {
    /// The frames of `trace`, `interval` apart in place of the times of the file.
    pub fn of(trace: &Trace, interval: Option<Span>) -> Result<Self, NoContract> {
        let apart = |i: usize, apart: Span| Time::ZERO.saturating_add(apart.saturating_mul(i as u64));
        let at = |i: usize, frame: &Frame| match interval {
            Some(interval) => Some(apart(i, interval)),
            None => frame.at.or_else(|| Some(apart(i, trace.frame_interval()?))),
        };
        let messages = trace.frames().iter().enumerate();
        let timed = messages.map(|(i, frame)| Some((at(i, frame)?, frame.size)));
        let recording = Self { messages: timed.collect::<Option<_>>().ok_or(NoContract::NoTimes)? };
        if recording.lasts().is_zero() { Err(NoContract::OneInstant) } else { Ok(recording) }
    }

    /// The number of messages.
    pub fn messages(&self) -> usize {
        self.messages.len()
    }

    /// The largest message.
    pub fn largest(&self) -> Bytes {
        self.messages.iter().map(|(_, size)| *size).max().unwrap_or(Bytes::ZERO)
    }

    /// From the first message to the last.
    pub fn lasts(&self) -> Span {
        let ends = self.messages.first().zip(self.messages.last());
        ends.map_or(Span::ZERO, |((first, _), (last, _))| last.saturating_since(*first))
    }

    /// The mean spacing of messages.
    pub fn spacing(&self) -> Span {
        self.lasts() / (self.messages.len() as u64 - 1)
    }

    /// The mean rate from the first message to the last, of which the larger is not counted.
    pub fn mean(&self) -> Rate {
        Rate::of(Bytes::new(self.counted()), self.lasts())
    }

    /// The bytes of all messages but the larger of the first and the last, at least one.
    fn counted(&self) -> u64 {
        let size = |(_, size): &(Time, Bytes)| size.get();
        let larger = self.messages.first().map(size).max(self.messages.last().map(size));
        self.messages.iter().map(size).sum::<u64>().saturating_sub(larger.unwrap_or(0)).max(1)
    }

    /// The contract of messages up to `largest` bytes with the least rate from the mean on, if no
    /// message may wait longer than `wait`. `None` if no interval of 1 ps or more keeps that wait.
    pub fn contract(&self, largest: Bytes, wait: Span) -> Option<ContractRow> {
        let keeps = |ps: u64| self.waits(largest, Span::from_ps(ps), wait);
        let (mut kept, mut waits) = (1, keeps(1)?);
        // With this interval `largest` bytes each are the mean.
        let mean = u128::from(self.lasts().as_ps()) * u128::from(largest.get()) / u128::from(self.counted());
        let mut broken = u64::try_from(mean).unwrap_or(u64::MAX).saturating_add(1).max(2);
        while broken - kept > 1 {
            let middle = kept + (broken - kept) / 2;
            match keeps(middle) {
                Some(longest) => (kept, waits) = (middle, longest),
                None => broken = middle,
            }
        }
        let interval = Span::from_ps(kept);
        let burst = waits.as_ps().div_ceil(kept) + 1;
        let burst = u32::try_from(burst).unwrap_or(u32::MAX);
        Some(ContractRow { largest, burst, interval, rate: Rate::of(largest, interval), waits })
    }

    /// The contracts of a largest message as recorded, of half of that, and so on.
    pub fn contracts(&self, wait: Span) -> Vec<ContractRow> {
        let mut sizes: Vec<u64> =
            (0..=HALVES).map(|halves| self.largest().get().div_ceil(1 << halves)).collect();
        sizes.dedup();
        sizes.into_iter().filter_map(|size| self.contract(Bytes::new(size), wait)).collect()
    }

    /// The least distance of two messages, if it is a limit beside the contract `row`: longer than zero, shorter
    /// than the interval, and of messages that are each one of the contract.
    pub fn distance(&self, row: &ContractRow) -> Option<Span> {
        let gaps = self.messages.windows(2).map(|pair| pair[1].0.saturating_since(pair[0].0));
        let least = gaps.min()?;
        let further = !least.is_zero() && least < row.interval && row.burst > 1;
        (further && self.largest() <= row.largest).then_some(least)
    }

    /// The longest wait of a message, if it is at most `most`.
    fn waits(&self, largest: Bytes, interval: Span, most: Span) -> Option<Span> {
        let (min_message, burst) = (Bytes::ZERO, 1);
        let spec = TrafficSpec { max_message: largest, min_message, burst, min_interval: interval };
        let mut clock = LogicalClock::new(spec);
        let mut longest = Span::ZERO;
        for (at, size) in &self.messages {
            let logical = clock.arrive(*at, *size);
            longest = longest.max(logical.at.saturating_since(*at).saturating_add(logical.stretch));
            if longest > most {
                return None;
            }
        }
        Some(longest)
    }
}

/// The row of the largest messages that reserves at most a twentieth more than the least.
pub fn choice(rows: &[ContractRow]) -> Option<&ContractRow> {
    let least = rows.iter().map(|row| row.rate.bytes_per_sec_f64()).fold(f64::INFINITY, f64::min);
    rows.iter().find(|row| row.rate.bytes_per_sec_f64() <= 1.05 * least)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn recording(messages: &[(u64, u64)]) -> Recording {
        let at = |us: u64| Time::ZERO + Span::from_us(us);
        Recording { messages: messages.iter().map(|(us, size)| (at(*us), Bytes::new(*size))).collect() }
    }

    /// Three at once each 30 ms: the third waits for two intervals. With 10 ms that is 5 ms each; with
    /// 20 ms it would be 10, and the mean of the 29 messages in 270 ms is less; without a wait no
    /// interval is short enough.
    #[test]
    fn groups_of_three() {
        let groups: Vec<(u64, u64)> = (0..10).flat_map(|g| [(30_000 * g, 100); 3]).collect();
        let of = |wait| recording(&groups).contract(Bytes::new(100), Span::from_ms(wait));
        let row = of(20).unwrap();
        let mean = Span::from_ms(270) / 29;
        assert_eq!((row.burst, row.interval, row.waits), (3, mean, mean.saturating_mul(2)));
        assert_eq!(of(10).map(|row| (row.burst, row.interval)), Some((3, Span::from_ms(5))));
        assert_eq!(of(0), None);
    }

    /// A message every 10 ms, of which one is 4 ms late: the next follows after 6 ms.
    #[test]
    fn jitter() {
        let times: Vec<(u64, u64)> =
            (0..100).map(|i| (10_000 * i + if i == 50 { 4_000 } else { 0 }, 100)).collect();
        let of = |wait| recording(&times).contract(Bytes::new(100), Span::from_ms(wait)).unwrap();
        assert_eq!((of(0).burst, of(0).interval), (1, Span::from_ms(6)));
        assert_eq!((of(4).burst, of(4).interval), (2, Span::from_ms(10)));
    }

    /// A contract of one message has no shorter distance, and pieces of a message have none.
    #[test]
    fn the_distance_is_a_limit_beside_a_burst() {
        let train: Vec<(u64, u64)> =
            (0..8).flat_map(|g| [0, 125, 260].map(|us| (10_000 * g + us, 100))).collect();
        let of = |messages: &[(u64, u64)], largest, wait| {
            let recording = recording(messages);
            let row = recording.contract(Bytes::new(largest), Span::from_us(wait)).unwrap();
            (row.burst, recording.distance(&row))
        };
        assert_eq!(of(&train, 100, 8000), (3, Some(Span::from_us(125))));
        assert_eq!(of(&train, 50, 8000).1, None);
        assert_eq!(of(&train, 100, 0), (1, None));
        let together: Vec<(u64, u64)> = train.iter().map(|(us, size)| (us / 1000 * 1000, *size)).collect();
        assert_eq!(of(&together, 100, 8000), (3, None));
    }

    /// One hundred messages 40 ms apart: a burst of two would let 40.4 ms be the interval.
    #[test]
    fn a_periodic_source_reserves_its_period() {
        let times: Vec<(u64, u64)> = (0..100).map(|i| (40_000 * i, 100)).collect();
        let row = recording(&times).contract(Bytes::new(100), Span::from_ms(40)).unwrap();
        assert_eq!((row.burst, row.interval, row.waits), (1, Span::from_ms(40), Span::ZERO));
    }

    /// Of sizes 300 and 100 in turn each 10 ms, pieces of 100: three and one in each 20 ms.
    #[test]
    fn smaller_messages_reserve_less_where_sizes_differ() {
        let sizes: Vec<(u64, u64)> =
            (0..40).map(|i| (10_000 * i, if i % 2 == 0 { 300 } else { 100 })).collect();
        let whole = recording(&sizes).contract(Bytes::new(300), Span::from_ms(10)).unwrap();
        let pieces = recording(&sizes).contract(Bytes::new(100), Span::from_ms(10)).unwrap();
        // The last piece of a large one waits for two intervals.
        assert_eq!((pieces.interval, pieces.burst), (Span::from_ms(5), 3));
        assert!(whole.rate > pieces.rate, "{whole:?} {pieces:?}");
    }

    /// Half of an odd size is rounded up: two pieces, and not three.
    #[test]
    fn halves_of_odd_sizes_are_two_pieces() {
        let odd = recording(&[(0, 1473), (10_000, 1473), (20_000, 1473)]);
        let rows = odd.contracts(Span::from_ms(5));
        assert_eq!((rows[1].largest, rows[1].interval), (Bytes::new(737), Span::from_ms(5)));
        assert_eq!(recording(&[(0, 1), (10, 1)]).contracts(Span::ZERO).len(), 1);
    }

    /// The least by (1), over all pairs.
    fn by_definition(recording: &Recording, wait: u64) -> u64 {
        let t: Vec<u64> = recording.messages.iter().map(|(at, _)| at.as_ps()).collect();
        let pairs = (0..t.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        pairs.map(|(i, j)| (t[i] - t[j] + wait) / (i - j) as u64).min().unwrap()
    }

    proptest! {
        #[test]
        fn the_interval_is_the_longest_by_the_definition(
            gaps in prop::collection::vec(0_u64..5_000, 2..40),
            wait in 0_u64..20_000,
        ) {
            let mut at = 0;
            let messages: Vec<(u64, u64)> = gaps.iter().map(|gap| { at += gap; (at, 100) }).collect();
            let (recording, wait) = (recording(&messages), Span::from_us(wait));
            let limit = by_definition(&recording, wait.as_ps()).min(recording.spacing().as_ps());
            let found = recording.contract(Bytes::new(100), wait);
            prop_assert_eq!(found.map_or(0, |row| row.interval.as_ps()), limit);
            if let Some(ContractRow { burst, interval, .. }) = found {
                let spec = TrafficSpec {
                    max_message: Bytes::new(100),
                    min_message: Bytes::ZERO,
                    burst,
                    min_interval: interval,
                };
                let mut clock = LogicalClock::new(spec);
                for (at, size) in &recording.messages {
                    prop_assert!(clock.conforms(*at, *size));
                    clock.arrive(*at, *size);
                }
            }
        }
    }
}
