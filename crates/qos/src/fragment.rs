//! FRAG: fragmentation of messages into packets, and reassembly.
//!
//! The fragmentation protocol is unreliable (structuring §4.1). Fragments carry a sequence number
//! and a length, and a receiver that misses a fragment discards the message. There is no
//! retransmission, because a repeated fragment would be late.

use std::collections::VecDeque;

use laxity_units::Bytes;

use crate::ahead::fetch_back;

/// The division of a message into packets of at most `S` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragmentation {
    message: Bytes,
    packet: Bytes,
    /// `N_pkts`, stored because it is read several times a packet and costs a division.
    packets: u64,
}

impl Fragmentation {
    /// `message` bytes in packets of at most `packet` bytes; panics if `packet` is zero.
    ///
    /// An empty message is one empty packet, because its arrival is still an event.
    pub fn new(message: Bytes, packet: Bytes) -> Self {
        assert!(!packet.is_zero(), "a packet carries at least one byte");
        Self { message, packet, packets: message.div_ceil(packet).max(1) }
    }

    /// `N_pkts = ⌈M / S⌉`, at least one.
    #[inline]
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Size of packet `index`, counted from zero; panics past the last.
    #[inline]
    pub fn size(&self, index: u64) -> Bytes {
        assert!(index < self.packets(), "packet index within its message");
        let sent = self.packet * index;
        (self.message - sent).min(self.packet)
    }

    /// `S^last`: size of the last packet, `M mod S` or `S`.
    pub fn last(&self) -> Bytes {
        self.size(self.packets() - 1)
    }

    /// Sizes of all packets, in order.
    pub fn sizes(self) -> impl Iterator<Item = Bytes> {
        (0..self.packets()).map(move |i| self.size(i))
    }
}

/// The division of a message into packets if no part may exceed its contract's largest message.
///
/// A message of more than `M_max` is carried like messages of the contract: in *pieces* of `M_max`,
/// each divided into packets by itself, and a last piece of the rest. Divided as a whole, the
/// message would have packets that no message of the contract has (a contract of 1 KiB messages has
/// no packet of 4 KiB). It would also have more of them in an interval than were reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    piece: Fragmentation,
    rest: Fragmentation,
    /// Pieces before the last.
    whole: u64,
}

impl Cut {
    /// `message` bytes in pieces of at most `largest` and packets of at most `packet`; panics if
    /// `packet` is zero.
    pub fn new(message: Bytes, largest: Bytes, packet: Bytes) -> Self {
        let largest = largest.max(Bytes::new(1));
        let whole = message.div_ceil(largest).max(1) - 1;
        let piece = Fragmentation::new(largest, packet);
        Self { piece, rest: Fragmentation::new(message - largest * whole, packet), whole }
    }

    /// Pieces, at least one.
    pub fn pieces(&self) -> u64 {
        self.whole + 1
    }

    /// Packets in all.
    #[inline]
    pub fn packets(&self) -> u64 {
        self.piece.packets() * self.whole + self.rest.packets()
    }

    /// Size of packet `index`, counted from zero; panics past the last.
    #[inline]
    pub fn size(&self, index: u64) -> Bytes {
        let whole = self.piece.packets() * self.whole;
        if index < whole {
            self.piece.size(index % self.piece.packets())
        } else {
            self.rest.size(index - whole)
        }
    }

    /// Whether packet `index` begins a piece that is not the first.
    #[inline]
    pub fn begins_piece(&self, index: u64) -> bool {
        self.whole > 0
            && index > 0
            && index <= self.piece.packets() * self.whole
            && index.is_multiple_of(self.piece.packets())
    }

    /// Whether packet `index`, the first of its piece, is also the last.
    #[inline]
    pub fn is_single(&self, index: u64) -> bool {
        let before_last = index < self.piece.packets() * self.whole;
        (if before_last { self.piece } else { self.rest }).packets() == 1
    }

    /// Size of the message's last packet.
    pub fn last(&self) -> Bytes {
        self.rest.last()
    }

    /// Size of the last piece.
    pub fn last_piece(&self) -> Bytes {
        self.rest.size(0) * (self.rest.packets() - 1) + self.rest.last()
    }
}

/// The result of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reassembled {
    /// The fragment completed its message.
    pub complete: bool,
    /// Messages given up for the fragment, including those of which no fragment arrived.
    pub discarded: u64,
}

/// Reassembles the messages of one channel.
///
/// Fragments of a message may arrive in any order, and twice. A channel delivers in sequence, so
/// once a message is complete every older incomplete one is useless and is discarded. At most
/// [`Reassembler::OPEN`] messages are open at a time, so that a sender of first fragments cannot
/// exhaust the receiver's memory.
#[derive(Debug, Clone, Default)]
pub struct Reassembler {
    open: VecDeque<Partial>,
    /// Messages with lower numbers are delivered or given up.
    next: u64,
}

#[derive(Debug, Clone)]
struct Partial {
    message: u64,
    count: u32,
    missing: u32,
    /// Bits of the fragments received: the first 64, which is all of most messages, and the further
    /// ones in words of 64.
    first: u64,
    others: Vec<u64>,
}

impl Reassembler {
    /// Messages kept open at a time.
    pub const OPEN: usize = 16;
    /// Maximum number of fragments in a message; a fragment that claims more is ignored.
    pub const MAX_FRAGMENTS: u32 = 1 << 20;

    /// Messages with some fragments received, but not all.
    pub fn incomplete(&self) -> u64 {
        self.open.len() as u64
    }

    /// Prefetches the place of the next message.
    #[inline]
    pub fn fetch(&self) {
        fetch_back(&self.open);
    }

    /// Accepts fragment `index` of the `count` fragments of `message`.
    ///
    /// Contradictory fragments, duplicates, and fragments of messages already delivered or given up
    /// change no state.
    pub fn accept(&mut self, message: u64, index: u32, count: u32) -> Reassembled {
        let mut outcome = Reassembled::default();
        if index >= count || count > Self::MAX_FRAGMENTS || message < self.next || message == u64::MAX {
            return outcome;
        }
        let at = match self.open.binary_search_by_key(&message, |partial| partial.message) {
            Ok(at) => at,
            Err(at) => {
                let others = vec![0; count.div_ceil(64) as usize - 1];
                let partial = Partial { message, count, missing: count, first: 0, others };
                // Inserted at the front of an empty queue, it would lie at the far end of the
                // queue's memory.
                match at == self.open.len() {
                    true => self.open.push_back(partial),
                    false => self.open.insert(at, partial),
                }
                at
            }
        };
        let partial = &mut self.open[at];
        // `index` may contradict the earlier number of fragments.
        let word = match (index / 64).min(partial.count.div_ceil(64) - 1) {
            0 => &mut partial.first,
            further => &mut partial.others[further as usize - 1],
        };
        let bit = 1u64 << (index % 64);
        if partial.count != count || *word & bit != 0 {
            return outcome;
        }
        *word |= bit;
        partial.missing -= 1;
        if partial.missing == 0 {
            outcome.complete = true;
            outcome.discarded = message - self.next;
            self.next = message + 1;
            self.open.drain(..=at);
        } else if self.open.len() > Self::OPEN {
            let oldest = self.open.pop_front().expect("more than one is open");
            outcome.discarded = oldest.message + 1 - self.next;
            self.next = oldest.message + 1;
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_lost_fragment_costs_its_message_only() {
        let mut r = Reassembler::default();
        assert_eq!(r.accept(0, 0, 2), Reassembled::default());
        assert_eq!(r.accept(1, 0, 2), Reassembled::default());
        assert_eq!(r.accept(1, 1, 2), Reassembled { complete: true, discarded: 1 });
        assert_eq!(r.accept(0, 1, 2), Reassembled::default());
        assert!(r.accept(2, 0, 1).complete);
    }

    #[test]
    fn nonsense_is_ignored() {
        let mut r = Reassembler::default();
        r.accept(5, 0, 3);
        for (index, count) in [(3, 3), (0, 0), (1, 4), (70, 99), (0, u32::MAX), (0, 3)] {
            assert_eq!(r.accept(5, index, count), Reassembled::default());
        }
        r.accept(5, 2, 3);
        assert!(r.accept(5, 1, 3).complete);
    }

    /// 130 fragments are marked in three words; the last to arrive completes them, once.
    #[test]
    fn long_messages_complete_once() {
        let mut r = Reassembler::default();
        for index in (1..130).rev() {
            assert_eq!(r.accept(0, index, 130), Reassembled::default());
            assert_eq!(r.accept(0, index, 130), Reassembled::default(), "twice is once");
        }
        assert_eq!(r.accept(0, 0, 130), Reassembled { complete: true, discarded: 0 });
        assert_eq!(r.accept(0, 0, 130), Reassembled::default());
    }

    /// Sixteen messages are open; the seventeenth evicts the oldest, and with it the earlier ones
    /// of which no fragment arrived.
    #[test]
    fn so_many_are_kept_open() {
        let mut r = Reassembler::default();
        for message in 3..19 {
            assert_eq!(r.accept(message, 0, 2), Reassembled::default());
        }
        assert_eq!(r.accept(19, 0, 2), Reassembled { complete: false, discarded: 4 });
        assert_eq!(r.accept(3, 1, 2), Reassembled::default(), "it is given up");
        assert_eq!(r.accept(20, 0, 2), Reassembled { complete: false, discarded: 1 });
        // 5 completes; no message before it is open any more. Then 9 does, and 6, 7 and 8 are given
        // up.
        assert_eq!(r.accept(5, 1, 2), Reassembled { complete: true, discarded: 0 });
        assert_eq!(r.accept(9, 1, 2), Reassembled { complete: true, discarded: 3 });
    }

    #[test]
    fn limits_are_inclusive() {
        let mut r = Reassembler::default();
        assert_eq!(Reassembler::MAX_FRAGMENTS, 1_048_576);
        // A message with the maximum number of fragments is open, so that another count contradicts
        // it; a message with one more is not.
        r.accept(0, 0, Reassembler::MAX_FRAGMENTS);
        assert_eq!(r.accept(0, 0, 1), Reassembled::default());
        r.accept(1, 0, Reassembler::MAX_FRAGMENTS + 1);
        assert_eq!(r.accept(1, 0, 1), Reassembled { complete: true, discarded: 1 });
        assert_eq!(r.accept(u64::MAX, 0, 1), Reassembled::default(), "no number comes after it");
    }

    /// 9 KiB in pieces of 4 KiB and packets of 3 KiB: 3 + 1, 3 + 1, 1.
    #[test]
    fn a_message_is_cut_in_pieces() {
        let kib = Bytes::from_kib;
        let cut = Cut::new(kib(9), kib(4), kib(3));
        assert_eq!((cut.pieces(), cut.packets(), cut.last()), (3, 5, kib(1)));
        let sizes: Vec<_> = (0..5).map(|index| cut.size(index)).collect();
        assert_eq!(sizes, [3, 1, 3, 1, 1].map(kib));
        let begins: Vec<_> = (0..7).map(|index| cut.begins_piece(index)).collect();
        assert_eq!(begins, [false, false, true, false, true, false, false]);
        // Two whole pieces are two, and the last of them is as long as any.
        let cut = Cut::new(kib(8), kib(4), kib(2));
        assert_eq!((cut.pieces(), cut.packets(), cut.last(), cut.size(3)), (2, 4, kib(2), kib(2)));
        let one = Cut::new(kib(4), kib(4), kib(2));
        assert_eq!((one.pieces(), one.packets(), one.begins_piece(2)), (1, 2, false));
        let last = |message| Cut::new(kib(message), kib(4), kib(3)).last_piece();
        assert_eq!([1, 4, 5, 8].map(last), [1, 4, 1, 4].map(kib));
    }

    proptest! {
        /// Any order, any duplicates: each message of a window completes exactly once.
        #[test]
        fn fragments_in_any_order(order in Just((0..5u64).flat_map(|m| (0..7u32).map(move |i| (m, i))).collect::<Vec<_>>()).prop_shuffle(),
                                  twice in any::<bool>()) {
            let mut r = Reassembler::default();
            let (mut complete, mut discarded) = (0, 0);
            for (message, index) in order {
                for _ in 0..=u8::from(twice) {
                    let outcome = r.accept(message, index, 7);
                    complete += u64::from(outcome.complete);
                    discarded += outcome.discarded;
                }
            }
            prop_assert_eq!(complete + discarded, 5);
        }
    }

    #[test]
    fn a_large_message_is_cut_like_those_of_its_contract() {
        // 10 KiB under a contract of 4.5 KiB in packets of 4 KiB: 4 + 0.5, 4 + 0.5, 1.
        let cut = Cut::new(Bytes::new(10_240), Bytes::new(4_608), Bytes::from_kib(4));
        assert_eq!((cut.pieces(), cut.packets(), cut.last()), (3, 5, Bytes::from_kib(1)));
        let sizes: Vec<u64> = (0..cut.packets()).map(|i| cut.size(i).get()).collect();
        assert_eq!(sizes, [4096, 512, 4096, 512, 1024]);
        let begins: Vec<u64> = (0..cut.packets()).filter(|&i| cut.begins_piece(i)).collect();
        assert_eq!(begins, [2, 4]);
        // Twice the contract is two pieces, without an empty third.
        let twice = Cut::new(Bytes::new(9_216), Bytes::new(4_608), Bytes::from_kib(4));
        assert_eq!((twice.pieces(), twice.packets(), twice.last()), (2, 4, Bytes::new(512)));
        let empty = Cut::new(Bytes::ZERO, Bytes::new(4_608), Bytes::from_kib(4));
        assert_eq!((empty.pieces(), empty.packets(), empty.size(0)), (1, 1, Bytes::ZERO));
    }

    #[test]
    fn packets_conserve_bytes() {
        for (message, packets, last) in
            [(0, 1, 0), (1, 1, 1), (4096, 1, 4096), (4097, 2, 1), (61440, 15, 4096)]
        {
            let f = Fragmentation::new(Bytes::new(message), Bytes::from_kib(4));
            assert_eq!(f.packets(), packets);
            assert_eq!(f.last(), Bytes::new(last));
            assert_eq!(f.sizes().sum::<Bytes>(), Bytes::new(message));
        }
    }
}
