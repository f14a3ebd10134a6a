//! Descriptors: what a program writes into a slot, and what the provider makes of the words that it finds there.
//!
//! A descriptor has, as VIA's has, a control segment (operation, immediate data, length, and later the status), an address segment if
//! it is RDMA, and data segments from which a message is gathered or into which it is scattered. A segment names registered memory by
//! its handle, and an address as the program that registered it has it.
//!
//! [`Posted::read`] is the only way from words to a descriptor. It loads each word once, so that what was checked is what is used.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::layout::{MOST_SEGMENTS, SLOT_WORDS, slot};

/// Bytes that a descriptor can move.
pub const MOST_BYTES: u64 = 1 << 20;

const OPERATION: u64 = 0xff;
const COUNT_SHIFT: u32 = 8;
const IMMEDIATE: u64 = 1 << 16;
const KNOWN: u64 = OPERATION | 0xff << COUNT_SHIFT | IMMEDIATE | 0xffff_ffff << 32;

/// A piece of registered memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Where it begins, as the program that registered it has it.
    pub address: u64,
    /// The handle of the registration.
    pub handle: u32,
    /// Its bytes.
    pub length: u32,
}

/// Memory of the other side, for RDMA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Remote {
    /// Where it begins, as the program there has it.
    pub address: u64,
    /// The handle of its registration there.
    pub handle: u32,
}

/// What a descriptor is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A message: the other side's next receive descriptor says where it goes. Also what a receive descriptor has.
    Message,
    /// Data that goes where it is said.
    RdmaWrite(Remote),
    /// Data that comes from where it is said.
    RdmaRead(Remote),
}

/// A descriptor to post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor<'a> {
    /// What it is for.
    pub operation: Operation,
    /// From where data is gathered, or to where it is scattered; at most [`MOST_SEGMENTS`].
    pub segments: &'a [Segment],
    /// Four bytes that the other side's completion has; an RDMA write with them takes a receive descriptor there.
    pub immediate: Option<u32>,
}

impl<'a> Descriptor<'a> {
    /// Of a message that is gathered from `segments`.
    pub fn send(segments: &'a [Segment]) -> Self {
        Self { operation: Operation::Message, segments, immediate: None }
    }

    /// Of room for a message, which is scattered to `segments`.
    pub fn receive(segments: &'a [Segment]) -> Self {
        Self::send(segments)
    }

    /// Of data that goes from `segments` to memory of the other side.
    pub fn rdma_write(segments: &'a [Segment], to: Remote) -> Self {
        Self { operation: Operation::RdmaWrite(to), ..Self::send(segments) }
    }

    /// Of data that comes to `segments` from memory of the other side.
    pub fn rdma_read(segments: &'a [Segment], from: Remote) -> Self {
        Self { operation: Operation::RdmaRead(from), ..Self::send(segments) }
    }

    /// The same with immediate data.
    #[must_use]
    pub fn with_immediate(self, immediate: u32) -> Self {
        Self { immediate: Some(immediate), ..self }
    }

    /// Bytes of all segments.
    pub fn len(&self) -> u64 {
        self.segments.iter().map(|segment| u64::from(segment.length)).sum()
    }

    /// Whether there are no bytes to move.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes it into the words of a slot.
    pub(crate) fn write(&self, words: &[AtomicU64; SLOT_WORDS]) {
        self.write_with_length(words, self.len());
    }

    /// The same with a length that may be a lie.
    pub(crate) fn write_with_length(&self, words: &[AtomicU64; SLOT_WORDS], length: u64) {
        let put = |word: usize, value: u64| words[word].store(value, Ordering::Relaxed);
        let (operation, remote) = match self.operation {
            Operation::Message => (0, None),
            Operation::RdmaWrite(remote) => (1, Some(remote)),
            Operation::RdmaRead(remote) => (2, Some(remote)),
        };
        let immediate = self.immediate.map_or(0, |data| IMMEDIATE | u64::from(data) << 32);
        put(slot::CONTROL, operation | (self.segments.len() as u64) << COUNT_SHIFT | immediate);
        put(slot::LENGTH, length);
        if let Some(remote) = remote {
            put(slot::REMOTE, remote.address);
            put(slot::REMOTE + 1, u64::from(remote.handle));
        }
        for (i, segment) in self.segments.iter().take(MOST_SEGMENTS).enumerate() {
            put(slot::SEGMENTS + 2 * i, segment.address);
            put(slot::SEGMENTS + 2 * i + 1, u64::from(segment.handle) | u64::from(segment.length) << 32);
        }
    }
}

/// A descriptor as the provider found it. One of a single segment, as nearly all are, is a line of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// What it is for.
    pub operation: Operation,
    /// Immediate data.
    pub immediate: Option<u32>,
    segments: Segments,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segments {
    None,
    One(Segment),
    More(Box<[Segment]>),
}

impl Posted {
    /// A descriptor of nothing.
    pub const EMPTY: Self = Self { operation: Operation::Message, immediate: None, segments: Segments::None };

    /// Of these segments; `None` if they are more, or have more bytes, than a descriptor may.
    pub fn new(operation: Operation, immediate: Option<u32>, segments: &[Segment]) -> Option<Self> {
        let segments = match segments {
            [] => Segments::None,
            [segment] => Segments::One(*segment),
            all if all.len() <= MOST_SEGMENTS => Segments::More(all.into()),
            _ => return None,
        };
        let posted = Self { operation, immediate, segments };
        (posted.len() <= MOST_BYTES).then_some(posted)
    }

    /// Of one segment.
    pub fn of(segment: &Segment) -> Self {
        Self { segments: Segments::One(*segment), ..Self::EMPTY }
    }

    /// What the words of a slot say, each loaded once; the error is what such a descriptor completes with.
    pub fn read(words: &[AtomicU64; SLOT_WORDS]) -> Result<Self, Status> {
        let word = |word: usize| words[word].load(Ordering::Relaxed);
        let (control, length) = (word(slot::CONTROL), word(slot::LENGTH));
        let remote = || {
            let (address, handle) = (word(slot::REMOTE), word(slot::REMOTE + 1));
            let handle = u32::try_from(handle).map_err(|_| Status::FORMAT_ERROR)?;
            Ok(Remote { address, handle })
        };
        let operation = match control & OPERATION {
            0 => Operation::Message,
            1 => Operation::RdmaWrite(remote()?),
            2 => Operation::RdmaRead(remote()?),
            _ => return Err(Status::FORMAT_ERROR),
        };
        let count = (control >> COUNT_SHIFT) as u8;
        let immediate = (control & IMMEDIATE != 0).then_some((control >> 32) as u32);
        let immediate_unasked = immediate.is_none() && control >> 32 != 0;
        if control & !KNOWN != 0 || usize::from(count) > MOST_SEGMENTS || immediate_unasked {
            return Err(Status::FORMAT_ERROR);
        }
        let segment = |i: usize| {
            let (address, rest) = (word(slot::SEGMENTS + 2 * i), word(slot::SEGMENTS + 2 * i + 1));
            Segment { address, handle: rest as u32, length: (rest >> 32) as u32 }
        };
        let segments = match usize::from(count) {
            0 => Segments::None,
            1 => Segments::One(segment(0)),
            count => Segments::More((0..count).map(segment).collect()),
        };
        let posted = Self { operation, immediate, segments };
        // Thirteen lengths of 32 bits do not overflow.
        if posted.len() != length || length > MOST_BYTES {
            return Err(Status::LENGTH_ERROR);
        }
        Ok(posted)
    }

    /// Its data segments.
    pub fn segments(&self) -> &[Segment] {
        match &self.segments {
            Segments::None => &[],
            Segments::One(segment) => std::slice::from_ref(segment),
            Segments::More(segments) => segments,
        }
    }

    /// Bytes of all segments.
    pub fn len(&self) -> u64 {
        self.segments().iter().map(|segment| u64::from(segment.length)).sum()
    }

    /// Whether there are no bytes to move.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What came of a descriptor: VIA's bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Status(pub u32);

impl Status {
    /// It is complete.
    pub const DONE: Self = Self(0x1);
    /// Its words say nothing that a descriptor says.
    pub const FORMAT_ERROR: Self = Self(0x2);
    /// It names memory that is not registered, or with another tag, or not all of what it says.
    pub const PROTECTION_ERROR: Self = Self(0x4);
    /// Its length is not that of its segments, or the message has no room in them.
    pub const LENGTH_ERROR: Self = Self(0x8);
    /// The virtual interface was disconnected or broken before its turn came.
    pub const FLUSHED: Self = Self(0x20);
    /// There is nobody at the other side, or the message was lost.
    pub const TRANSPORT_ERROR: Self = Self(0x40);
    /// RDMA to memory of the other side that is not registered for it.
    pub const RDMA_PROTECTION_ERROR: Self = Self(0x80);
    /// The other side had no descriptor for it, or a bad one.
    pub const REMOTE_DESCRIPTOR_ERROR: Self = Self(0x100);
    const ERRORS: u32 = 0x1fe;
    /// Of a receive descriptor.
    pub const RECEIVE: Self = Self(0x1_0000);
    /// Of an RDMA write.
    pub const RDMA_WRITE: Self = Self(0x2_0000);
    /// Of a receive descriptor: taken by an RDMA write with immediate data.
    pub const REMOTE_RDMA_WRITE: Self = Self(0x3_0000);
    /// Of an RDMA read.
    pub const RDMA_READ: Self = Self(0x4_0000);
    /// It has immediate data.
    pub const IMMEDIATE: Self = Self(0x8_0000);

    /// This and `other`.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` is said.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether it was done as it should be.
    pub const fn is_done(self) -> bool {
        self.0 & 1 == 1 && !self.is_error()
    }

    /// Whether anything went wrong.
    pub const fn is_error(self) -> bool {
        self.0 & Self::ERRORS != 0
    }
}

/// A descriptor that is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// What came of it.
    pub status: Status,
    /// Bytes of the message.
    pub length: u32,
    /// Immediate data of the other side.
    pub immediate: Option<u32>,
}

impl Completion {
    /// Writes it into a slot.
    pub(crate) fn write(&self, words: &[AtomicU64; SLOT_WORDS]) {
        let bits = if self.immediate.is_some() { self.status.and(Status::IMMEDIATE) } else { self.status };
        let status = u64::from(bits.0) | u64::from(self.immediate.unwrap_or(0)) << 32;
        words[slot::STATUS].store(status, Ordering::Relaxed);
        words[slot::STATUS + 1].store(u64::from(self.length), Ordering::Relaxed);
    }

    /// What a slot says.
    pub(crate) fn read(words: &[AtomicU64; SLOT_WORDS]) -> Self {
        let word = words[slot::STATUS].load(Ordering::Relaxed);
        let status = Status(word as u32);
        let immediate = status.has(Status::IMMEDIATE).then_some((word >> 32) as u32);
        Self { status, length: words[slot::STATUS + 1].load(Ordering::Relaxed) as u32, immediate }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slot() -> [AtomicU64; SLOT_WORDS] {
        [const { AtomicU64::new(0) }; SLOT_WORDS]
    }

    fn operation() -> impl Strategy<Value = Operation> {
        let remote = || (any::<u64>(), any::<u32>()).prop_map(|(address, handle)| Remote { address, handle });
        prop_oneof![
            Just(Operation::Message),
            remote().prop_map(Operation::RdmaWrite),
            remote().prop_map(Operation::RdmaRead),
        ]
    }

    fn segments() -> impl Strategy<Value = Vec<Segment>> {
        let segment = (any::<u64>(), any::<u32>(), 0..5000_u32);
        let segment = segment.prop_map(|(address, handle, length)| Segment { address, handle, length });
        prop::collection::vec(segment, 0..=MOST_SEGMENTS)
    }

    proptest! {
        #[test]
        fn what_is_posted_is_found(
            operation in operation(),
            segments in segments(),
            immediate in any::<Option<u32>>(),
            before in prop::collection::vec(any::<u64>(), SLOT_WORDS),
        ) {
            let words = slot();
            before.iter().zip(&words).for_each(|(value, word)| word.store(*value, Ordering::Relaxed));
            let descriptor = Descriptor { operation, segments: &segments, immediate };
            descriptor.write(&words);
            let found = Posted::read(&words).unwrap();
            prop_assert_eq!((found.operation, found.immediate), (operation, immediate));
            prop_assert_eq!(found.segments(), &segments[..]);
            descriptor.write_with_length(&words, descriptor.len() + 1);
            prop_assert_eq!(Posted::read(&words), Err(Status::LENGTH_ERROR));
        }

        #[test]
        fn any_words_are_a_descriptor_or_an_error(values in prop::collection::vec(any::<u64>(), SLOT_WORDS), small in any::<bool>()) {
            let words = slot();
            values.iter().zip(&words).for_each(|(value, word)| word.store(*value, Ordering::Relaxed));
            if small {
                // Often enough one that has everything but the right length.
                words[slot::CONTROL].store(values[0] & 0x0103, Ordering::Relaxed);
            }
            if let Ok(found) = Posted::read(&words) {
                prop_assert!(found.segments().len() <= MOST_SEGMENTS && found.len() <= MOST_BYTES);
                let again = slot();
                Descriptor { operation: found.operation, segments: found.segments(), immediate: found.immediate }
                    .write(&again);
                prop_assert_eq!(Posted::read(&again), Ok(found));
            }
        }

        #[test]
        fn a_completion_is_read_as_it_was_written(status in any::<u32>(), length in any::<u32>(), immediate in any::<Option<u32>>()) {
            let words = slot();
            let status = Status(status & !Status::IMMEDIATE.0);
            Completion { status, length, immediate }.write(&words);
            let expected = if immediate.is_some() { status.and(Status::IMMEDIATE) } else { status };
            prop_assert_eq!(Completion::read(&words), Completion { status: expected, length, immediate });
        }
    }

    #[test]
    fn each_lie_has_its_error() {
        let words = slot();
        let segment = Segment { address: 64, handle: 1, length: 1000 };
        let control = |value: u64| {
            Descriptor::send(&[segment]).write(&words);
            words[slot::CONTROL].store(value, Ordering::Relaxed);
            Posted::read(&words).map(|_| ())
        };
        assert_eq!(control(0x0100), Ok(()));
        assert_eq!(control(0x0103), Err(Status::FORMAT_ERROR), "there is no operation 3");
        assert_eq!(control(0x0e00), Err(Status::FORMAT_ERROR), "fourteen segments have no room");
        assert_eq!(control(0x2_0100), Err(Status::FORMAT_ERROR), "a flag that means nothing");
        assert_eq!(control(0x1_0000_0100), Err(Status::FORMAT_ERROR), "immediate data that is not announced");
        assert_eq!(control(0x0000), Err(Status::LENGTH_ERROR), "no segments have no bytes");
        let long = [Segment { length: 1 << 20, ..segment }, Segment { length: 1, ..segment }];
        Descriptor::send(&long).write(&words);
        assert_eq!(Posted::read(&words), Err(Status::LENGTH_ERROR), "more than can be moved");
        Descriptor::rdma_write(&[segment], Remote { address: 1, handle: 2 }).write(&words);
        words[slot::REMOTE + 1].store(1 << 32, Ordering::Relaxed);
        assert_eq!(Posted::read(&words), Err(Status::FORMAT_ERROR), "a handle has 32 bits");
    }
}
