//! Distant events: a radix heap (Ahuja et al. 1990), which sorts as late and as little as possible.
//!
//! A heap of a million events accesses many cache lines for each event. But no event is scheduled
//! into the past, so distant events need no mutual order. They lie in buckets, by the highest 4-bit
//! digit in which their time differs from `base`, a lower bound on all of them. Level `l` has a
//! bucket for each value of digit `l`:
//!
//! ```text
//! base   0 3 7 2            level 3: 1… 2… 3…         what differs in digit 3, by that digit
//! time   0 3 9 5   ──▶      level 2: 04… 05… …
//!            ^              level 1: 038… 039… 03A…   one of these holds 0395
//! ```
//!
//! All entries of a lower level precede all of a higher one, and within a level the digit is the
//! order. When the heap is empty, the first bucket either moves into it, if short, or is
//! distributed over the levels below. Each move takes an entry down by at least one level, so it
//! moves at most sixteen times; of a million evenly spread events, about four times. Each move is
//! sequential in memory.

use laxity_units::Time;

use super::Entry;

const BITS: u32 = 4;
/// Buckets per level.
const DIGITS: usize = 1 << BITS;
/// Digits of a time.
const LEVELS: usize = (u64::BITS / BITS) as usize;
/// Maximum size of a bucket that moves into the heap rather than being distributed.
const FEW: usize = 64;

#[derive(Debug, Clone)]
pub(super) struct Far<E> {
    /// Lower bound on all entries.
    base: u64,
    len: usize,
    /// By level; allocated on first use, since most calendars are short.
    buckets: Vec<Vec<Entry<E>>>,
    /// Bit mask of non-empty buckets, by level.
    occupied: [u16; LEVELS],
    /// Bit mask of non-empty levels.
    levels: u16,
}

impl<E: Copy> Far<E> {
    pub(super) fn new() -> Self {
        Self { base: 0, len: 0, buckets: Vec::new(), occupied: [0; LEVELS], levels: 0 }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn base(&self) -> Time {
        Time::from_ps(self.base)
    }

    /// Sets the base; there must be no entries.
    pub(super) fn begin(&mut self, base: Time) {
        assert!(self.is_empty(), "the buckets are where their base says");
        self.base = base.as_ps();
        self.buckets.resize_with(LEVELS * DIGITS, Vec::new);
    }

    /// Adds an entry that is not before the base.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry<E>) {
        let time = entry.time.as_ps();
        debug_assert!(time >= self.base);
        let level = ((time ^ self.base) | 1).ilog2() / BITS;
        let digit = (time >> (level * BITS)) as usize % DIGITS;
        self.buckets[level as usize * DIGITS + digit].push(entry);
        self.occupied[level as usize] |= 1 << digit;
        self.levels |= 1 << level;
        self.len += 1;
    }

    pub(super) fn first_time(&self) -> Option<Time> {
        let (level, digit) = self.first_bucket()?;
        self.buckets[level * DIGITS + digit].iter().map(|entry| entry.time).min()
    }

    /// Moves the first entries to the end of `near`, unordered. Returns the time up to which,
    /// inclusively, `near` then has all entries; `Time::MAX` if none are left.
    pub(super) fn take_first(&mut self, near: &mut Vec<Entry<E>>) -> Time {
        while let Some((level, digit)) = self.first_bucket() {
            let below = below(level);
            self.base =
                self.base & !(below << BITS | (DIGITS as u64 - 1)) | (digit as u64) << (level as u32 * BITS);
            self.occupied[level] &= !(1 << digit);
            if self.occupied[level] == 0 {
                self.levels &= !(1 << level);
            }
            let place = level * DIGITS + digit;
            self.len -= self.buckets[place].len();
            if level == 0 || self.buckets[place].len() <= FEW {
                near.append(&mut self.buckets[place]);
                return if self.is_empty() { Time::MAX } else { Time::from_ps(self.base | below) };
            }
            let mut bucket = std::mem::take(&mut self.buckets[place]);
            bucket.drain(..).for_each(|entry| self.push(entry));
            // Keeps the bucket's allocation.
            self.buckets[place] = bucket;
        }
        Time::MAX
    }

    /// Level and digit of the first non-empty bucket.
    #[inline]
    fn first_bucket(&self) -> Option<(usize, usize)> {
        let level = self.levels.trailing_zeros() as usize;
        (level < LEVELS).then(|| (level, self.occupied[level].trailing_zeros() as usize))
    }
}

/// Mask of the digits below `level`.
fn below(level: usize) -> u64 {
    (1 << (level as u32 * BITS)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(time: u64) -> Entry<()> {
        Entry { time: Time::from_ps(time), sequence: 0, event: () }
    }

    fn far(base: u64, times: &[u64]) -> Far<()> {
        let mut far = Far::new();
        far.begin(Time::from_ps(base));
        times.iter().for_each(|time| far.push(entry(*time)));
        far
    }

    fn take(far: &mut Far<()>) -> (Vec<u64>, u64) {
        let mut near = Vec::new();
        let until = far.take_first(&mut near);
        (near.iter().map(|entry| entry.time.as_ps()).collect(), until.as_ps())
    }

    /// The example of the module's header: each bucket once, in order, with its end.
    #[test]
    fn buckets_come_in_the_order_of_their_times() {
        let mut far = far(0x0372, &[0x0395, 0x1000, 0x0372, 0x0391, 0x0410, 0x037F, 0x1FFF, 0x2000]);
        assert_eq!((far.len(), far.first_time()), (8, Some(Time::from_ps(0x0372))));
        assert_eq!(take(&mut far), (vec![0x0372], 0x0372));
        assert_eq!(take(&mut far), (vec![0x037F], 0x037F));
        assert_eq!(far.base(), Time::from_ps(0x037F));
        assert_eq!(
            far.first_time(),
            Some(Time::from_ps(0x0391)),
            "the least of its bucket, not the first put in"
        );
        assert_eq!(take(&mut far), (vec![0x0395, 0x0391], 0x039F));
        assert_eq!(take(&mut far), (vec![0x0410], 0x04FF));
        assert_eq!(take(&mut far), (vec![0x1000, 0x1FFF], 0x1FFF));
        assert_eq!(take(&mut far), (vec![0x2000], u64::MAX), "nothing is left: all that comes is near");
        assert_eq!((take(&mut far), far.len()), ((vec![], u64::MAX), 0));
    }

    /// 65 entries of two digits: 32 for 2, 33 for 3.
    #[test]
    fn a_long_bucket_is_dealt_out() {
        let times: Vec<u64> = (0x20..0x40).flat_map(|time| [time, time]).chain([0x100, 0x3F]).collect();
        let mut whole = far(0, &times[..64]);
        whole.push(entry(0x4000));
        assert_eq!(take(&mut whole), ((0x20..0x30).flat_map(|time| [time, time]).collect(), 0x2F));
        let mut long = far(0, &[]);
        times.iter().for_each(|time| long.push(entry(*time + 0x5000)));
        let first = take(&mut long);
        assert_eq!(first.1, 0x502F, "66 in the bucket of digit 3 are too many; those of digit 1 are not");
        assert_eq!(first.0.len(), 32);
        assert_eq!(take(&mut long).0.len(), 33);
        assert_eq!(take(&mut long), (vec![0x5100], u64::MAX));
    }

    #[test]
    fn an_instant_is_never_dealt_out_and_the_last_one_can_be_named() {
        let mut far = far(7, &[7; 100]);
        far.push(entry(u64::MAX));
        assert_eq!(take(&mut far), (vec![7; 100], 7));
        assert_eq!(far.first_time(), Some(Time::MAX));
        assert_eq!(take(&mut far), (vec![u64::MAX], u64::MAX));
    }
}
