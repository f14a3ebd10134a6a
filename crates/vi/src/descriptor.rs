//! Descriptors: the words that a program writes into a slot, and how the provider reads them.
//!
//! As in VIA, a descriptor has a control segment (operation, immediate data, length, and later the
//! status), an address segment for RDMA, and data segments that a message is gathered from or
//! scattered to. A segment names registered memory by its handle, and an address in the program
//! that registered it.
//!
//! [`ReadDescriptor::read`] is the only conversion from words to a descriptor. It loads each word once, so
//! the checked value is the used value.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::layout::{MOST_SEGMENTS, SLOT_WORDS, slot};

/// Maximum size of the data of a descriptor in bytes.
pub const MOST_BYTES: u64 = 1 << 20;

const OPERATION: u64 = 0xff;
const COUNT_SHIFT: u32 = 8;
const IMMEDIATE: u64 = 1 << 16;
const KNOWN: u64 = OPERATION | 0xff << COUNT_SHIFT | IMMEDIATE | 0xffff_ffff << 32;

/// Part of registered memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// First address, in the program that registered the memory.
    pub address: u64,
    /// Handle of the registration.
    pub handle: u32,
    /// Length in bytes.
    pub length: u32,
}

/// Memory of the peer, for RDMA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Remote {
    /// First address, in the peer.
    pub address: u64,
    /// Handle of its registration at the peer.
    pub handle: u32,
}

/// Operation of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Message, which goes to the peer's next receive descriptor; also the operation of receive
    /// descriptors.
    Message,
    /// Write to the given memory of the peer.
    RdmaWrite(Remote),
    /// Read from the given memory of the peer.
    RdmaRead(Remote),
}

/// Descriptor to post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor<'a> {
    /// Operation.
    pub operation: Operation,
    /// Segments to gather data from or to scatter it to; at most [`MOST_SEGMENTS`].
    pub segments: &'a [Segment],
    /// Four bytes for the peer's completion; an RDMA write with immediate data consumes a receive
    /// descriptor of the peer.
    pub immediate: Option<u32>,
}

impl<'a> Descriptor<'a> {
    /// Message that is gathered from `segments`.
    pub fn send(segments: &'a [Segment]) -> Self {
        Self { operation: Operation::Message, segments, immediate: None }
    }

    /// Receive buffer: a message is scattered to `segments`.
    pub fn receive(segments: &'a [Segment]) -> Self {
        Self::send(segments)
    }

    /// RDMA write from `segments` to memory of the peer.
    pub fn rdma_write(segments: &'a [Segment], to: Remote) -> Self {
        Self { operation: Operation::RdmaWrite(to), ..Self::send(segments) }
    }

    /// RDMA read into `segments` from memory of the peer.
    pub fn rdma_read(segments: &'a [Segment], from: Remote) -> Self {
        Self { operation: Operation::RdmaRead(from), ..Self::send(segments) }
    }

    /// Adds immediate data.
    #[must_use]
    pub fn with_immediate(self, immediate: u32) -> Self {
        Self { immediate: Some(immediate), ..self }
    }

    /// Total bytes of all segments.
    pub fn len(&self) -> u64 {
        self.segments.iter().map(|segment| u64::from(segment.length)).sum()
    }

    /// Whether there are no bytes to move.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn write(&self, words: &[AtomicU64; SLOT_WORDS]) {
        self.write_with_length(words, self.len());
    }

    /// Writes the descriptor with a length that may be false.
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

/// Descriptor as read by the provider. One with a single segment, the common case, fits a cache
/// line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadDescriptor {
    /// Operation.
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

impl ReadDescriptor {
    /// Descriptor without data.
    pub const EMPTY: Self = Self { operation: Operation::Message, immediate: None, segments: Segments::None };

    /// Descriptor of these segments; `None` if they exceed the maximum number or size.
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

    /// Descriptor of one segment.
    pub fn of(segment: &Segment) -> Self {
        Self { segments: Segments::One(*segment), ..Self::EMPTY }
    }

    /// Reads the words of a slot, each once; the error is the completion status of an invalid
    /// descriptor.
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
        // The sum of thirteen 32-bit lengths does not overflow.
        if posted.len() != length || length > MOST_BYTES {
            return Err(Status::LENGTH_ERROR);
        }
        Ok(posted)
    }

    /// Data segments.
    pub fn segments(&self) -> &[Segment] {
        match &self.segments {
            Segments::None => &[],
            Segments::One(segment) => std::slice::from_ref(segment),
            Segments::More(segments) => segments,
        }
    }

    /// Total bytes of all segments.
    pub fn len(&self) -> u64 {
        self.segments().iter().map(|segment| u64::from(segment.length)).sum()
    }

    /// Whether there are no bytes to move.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Completion status of a descriptor: VIA's bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Status(pub u32);

impl Status {
    /// The descriptor is complete.
    pub const DONE: Self = Self(0x1);
    /// The descriptor's words are invalid.
    pub const FORMAT_ERROR: Self = Self(0x2);
    /// The descriptor names memory that is not registered, has another tag, or is too short.
    pub const PROTECTION_ERROR: Self = Self(0x4);
    /// The length differs from that of the segments, or the message does not fit them.
    pub const LENGTH_ERROR: Self = Self(0x8);
    /// The virtual interface was disconnected or broken before the descriptor was processed.
    pub const FLUSHED: Self = Self(0x20);
    /// There is no peer, or the message was lost.
    pub const TRANSPORT_ERROR: Self = Self(0x40);
    /// RDMA to memory of the peer that is not registered for it.
    pub const RDMA_PROTECTION_ERROR: Self = Self(0x80);
    /// The peer had no descriptor for the message, or an invalid one.
    pub const REMOTE_DESCRIPTOR_ERROR: Self = Self(0x100);
    const ERRORS: u32 = 0x1fe;
    /// Receive descriptor.
    pub const RECEIVE: Self = Self(0x1_0000);
    /// RDMA write.
    pub const RDMA_WRITE: Self = Self(0x2_0000);
    /// Receive descriptor that an RDMA write with immediate data consumed.
    pub const REMOTE_RDMA_WRITE: Self = Self(0x3_0000);
    /// RDMA read.
    pub const RDMA_READ: Self = Self(0x4_0000);
    /// The completion has immediate data.
    pub const IMMEDIATE: Self = Self(0x8_0000);

    /// Union with `other`.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all bits of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the descriptor completed without error.
    pub const fn is_done(self) -> bool {
        self.0 & 1 == 1 && !self.is_error()
    }

    /// Whether an error bit is set.
    pub const fn is_error(self) -> bool {
        self.0 & Self::ERRORS != 0
    }
}

/// Completion of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Status.
    pub status: Status,
    /// Message size in bytes.
    pub length: u32,
    /// Immediate data of the peer.
    pub immediate: Option<u32>,
}

impl Completion {
    pub(crate) fn write(&self, words: &[AtomicU64; SLOT_WORDS]) {
        let bits = if self.immediate.is_some() { self.status.and(Status::IMMEDIATE) } else { self.status };
        let status = u64::from(bits.0) | u64::from(self.immediate.unwrap_or(0)) << 32;
        words[slot::STATUS].store(status, Ordering::Relaxed);
        words[slot::STATUS + 1].store(u64::from(self.length), Ordering::Relaxed);
    }

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
            let found = ReadDescriptor::read(&words).unwrap();
            prop_assert_eq!((found.operation, found.immediate), (operation, immediate));
            prop_assert_eq!(found.segments(), &segments[..]);
            descriptor.write_with_length(&words, descriptor.len() + 1);
            prop_assert_eq!(ReadDescriptor::read(&words), Err(Status::LENGTH_ERROR));
        }

        #[test]
        fn any_words_are_a_descriptor_or_an_error(values in prop::collection::vec(any::<u64>(), SLOT_WORDS), small in any::<bool>()) {
            let words = slot();
            values.iter().zip(&words).for_each(|(value, word)| word.store(*value, Ordering::Relaxed));
            if small {
                // Makes descriptors likely that are valid except for their length.
                words[slot::CONTROL].store(values[0] & 0x0103, Ordering::Relaxed);
            }
            if let Ok(found) = ReadDescriptor::read(&words) {
                prop_assert!(found.segments().len() <= MOST_SEGMENTS && found.len() <= MOST_BYTES);
                let again = slot();
                Descriptor { operation: found.operation, segments: found.segments(), immediate: found.immediate }
                    .write(&again);
                prop_assert_eq!(ReadDescriptor::read(&again), Ok(found));
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
            ReadDescriptor::read(&words).map(|_| ())
        };
        assert_eq!(control(0x0100), Ok(()));
        assert_eq!(control(0x0103), Err(Status::FORMAT_ERROR), "there is no operation 3");
        assert_eq!(control(0x0e00), Err(Status::FORMAT_ERROR), "fourteen segments have no room");
        assert_eq!(control(0x2_0100), Err(Status::FORMAT_ERROR), "a flag that means nothing");
        assert_eq!(control(0x1_0000_0100), Err(Status::FORMAT_ERROR), "immediate data that is not announced");
        assert_eq!(control(0x0000), Err(Status::LENGTH_ERROR), "no segments have no bytes");
        let long = [Segment { length: 1 << 20, ..segment }, Segment { length: 1, ..segment }];
        Descriptor::send(&long).write(&words);
        assert_eq!(ReadDescriptor::read(&words), Err(Status::LENGTH_ERROR), "more than can be moved");
        Descriptor::rdma_write(&[segment], Remote { address: 1, handle: 2 }).write(&words);
        words[slot::REMOTE + 1].store(1 << 32, Ordering::Relaxed);
        assert_eq!(ReadDescriptor::read(&words), Err(Status::FORMAT_ERROR), "a handle has 32 bits");
    }
}
