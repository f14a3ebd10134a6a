//! Packets with authentication: AES-128-GCM with a counter, and a window against replays.
//!
//! ```text
//! 0  key number (u8) and counter (56 bits), big-endian    8  sealed frame    end − 16  tag
//! ```
//!
//! Each direction of a session has a key and a salt of its own from the exporter of TLS (RFC 5705).
//! The nonce is the salt and the first 8 bytes, which are authenticated too. A counter is never used
//! twice under a key: a session that has used all counters stops.

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

/// Bytes around a sealed frame.
pub(crate) const AROUND: usize = FRONT + TAG;
/// Bytes of key material for one direction.
pub(crate) const MATERIAL: usize = 16 + 4;
const FRONT: usize = 8;
const TAG: usize = 16;
/// Packets that may overtake each other.
const WINDOW: u64 = 1024;
/// One word more than the window has: the word of the newest counter is never that of the oldest (RFC
/// 6479).
const WORDS: usize = WINDOW as usize / 64 + 1;
const MOST: u64 = 1 << 56;

struct Key {
    number: u8,
    key: LessSafeKey,
    salt: [u8; 4],
}

impl Key {
    fn new(number: u8, material: &[u8; MATERIAL]) -> Self {
        let (key, salt) = material.split_first_chunk::<16>().expect("16 of 20 bytes");
        let key = UnboundKey::new(&AES_128_GCM, key).expect("a key of 16 bytes");
        Self { number, key: LessSafeKey::new(key), salt: salt.try_into().expect("4 of 20 bytes") }
    }

    fn nonce(&self, front: [u8; FRONT]) -> Nonce {
        let mut nonce = [0; 12];
        nonce[..4].copy_from_slice(&self.salt);
        nonce[4..].copy_from_slice(&front);
        Nonce::assume_unique_for_key(nonce)
    }
}

/// The sending direction of a session.
pub(crate) struct Sealer {
    key: Key,
    counter: u64,
}

impl Sealer {
    /// The direction with this key material.
    pub(crate) fn new(number: u8, material: &[u8; MATERIAL]) -> Self {
        Self { key: Key::new(number, material), counter: 0 }
    }

    /// Whether the counters are used up.
    pub(crate) fn is_used_up(&self) -> bool {
        self.counter == MOST
    }

    /// Writes the sealed `frame` to `out`, which has [`AROUND`] bytes more. The counters are not
    /// used up.
    pub(crate) fn seal(&mut self, frame: &[u8], out: &mut [u8]) {
        assert!(!self.is_used_up(), "a counter is never used twice");
        let front = (u64::from(self.key.number) << 56 | self.counter).to_be_bytes();
        self.counter += 1;
        let (head, rest) = out.split_at_mut(FRONT);
        let (sealed, end) = rest.split_at_mut(frame.len());
        head.copy_from_slice(&front);
        sealed.copy_from_slice(frame);
        let (nonce, aad) = (self.key.nonce(front), Aad::from(front));
        let tag = self.key.key.seal_in_place_separate_tag(nonce, aad, sealed);
        end.copy_from_slice(tag.expect("a frame is below the limit of the cipher").as_ref());
    }
}

/// Why a packet is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unsealed {
    /// Shorter than an empty packet, or with the number of another key.
    Foreign,
    /// Its bytes were changed, or its sender lacks the key.
    Forged,
    /// Its counter was seen, or is too old to know.
    Replayed,
}

/// The receiving direction of a session.
pub(crate) struct Opener {
    key: Key,
    /// One more than the largest counter.
    next: u64,
    seen: [u64; WORDS],
}

impl Opener {
    /// The direction with this key material.
    pub(crate) fn new(number: u8, material: &[u8; MATERIAL]) -> Self {
        Self { key: Key::new(number, material), next: 0, seen: [0; WORDS] }
    }

    /// The number of the key.
    pub(crate) fn number(&self) -> u8 {
        self.key.number
    }

    /// The frame of a sealed packet, opened in place.
    ///
    /// # Errors
    /// The packet is foreign, forged or replayed; then the window is as before.
    pub(crate) fn open<'a>(&mut self, packet: &'a mut [u8]) -> Result<&'a mut [u8], Unsealed> {
        if packet.len() < AROUND {
            return Err(Unsealed::Foreign);
        }
        let (front, sealed) = packet.split_first_chunk_mut::<FRONT>().expect("longer than its front");
        let word = u64::from_be_bytes(*front);
        if (word >> 56) as u8 != self.key.number {
            return Err(Unsealed::Foreign);
        }
        let counter = word & (MOST - 1);
        if self.is_seen(counter) {
            return Err(Unsealed::Replayed);
        }
        let (nonce, aad) = (self.key.nonce(*front), Aad::from(*front));
        let frame = self.key.key.open_in_place(nonce, aad, sealed).map_err(|_| Unsealed::Forged)?;
        self.see(counter);
        Ok(frame)
    }

    fn is_seen(&self, counter: u64) -> bool {
        if counter >= self.next {
            return false;
        }
        self.next - counter > WINDOW || self.seen[Self::word(counter)] >> (counter % 64) & 1 == 1
    }

    fn see(&mut self, counter: u64) {
        if counter >= self.next {
            // Words of counters that leave the window are used again.
            let (last, first) = (counter / 64, self.next.div_ceil(64));
            for word in first..=last.min(first + WORDS as u64) {
                self.seen[word as usize % WORDS] = 0;
            }
            self.next = counter + 1;
        }
        self.seen[Self::word(counter)] |= 1 << (counter % 64);
    }

    const fn word(counter: u64) -> usize {
        (counter / 64) as usize % WORDS
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const MATERIALS: [[u8; MATERIAL]; 2] = [[7; MATERIAL], [8; MATERIAL]];

    fn sealed(sealer: &mut Sealer, frame: &[u8]) -> Vec<u8> {
        let mut out = vec![0; frame.len() + AROUND];
        sealer.seal(frame, &mut out);
        out
    }

    #[test]
    fn a_packet_opens_once_and_only_with_its_key() {
        let (mut sealer, mut opener) = (Sealer::new(3, &MATERIALS[0]), Opener::new(3, &MATERIALS[0]));
        let packet = sealed(&mut sealer, b"frame");
        assert_eq!(packet.len(), 5 + AROUND);
        let mut other = Opener::new(3, &MATERIALS[1]);
        assert_eq!(other.open(&mut packet.clone()), Err(Unsealed::Forged));
        assert_eq!(Opener::new(4, &MATERIALS[0]).open(&mut packet.clone()), Err(Unsealed::Foreign));
        assert_eq!(opener.open(&mut packet.clone()).unwrap(), b"frame");
        assert_eq!(opener.open(&mut packet.clone()), Err(Unsealed::Replayed));
    }

    #[test]
    fn used_up_counters_end_a_session() {
        let mut sealer = Sealer::new(0, &MATERIALS[0]);
        assert!(!sealer.is_used_up());
        sealer.counter = MOST;
        assert!(sealer.is_used_up());
    }

    proptest! {
        /// No change of a byte is accepted, and no bytes make the opener panic.
        #[test]
        fn a_changed_packet_is_refused(frame in prop::collection::vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>(), flip in 1..=255_u8) {
            let mut packet = sealed(&mut Sealer::new(1, &MATERIALS[0]), &frame);
            let at = at.index(packet.len());
            packet[at] ^= flip;
            let mut opener = Opener::new(1, &MATERIALS[0]);
            prop_assert!(opener.open(&mut packet).is_err());
            prop_assert_eq!(opener.next, 0, "a refused packet moves no window");
        }

        /// Each counter is accepted once, and each one that is not older than the window is.
        #[test]
        fn the_window_is_that_of_a_set(order in prop::collection::vec(0..5000_u64, 1..400)) {
            let mut opener = Opener::new(1, &MATERIALS[0]);
            let (mut model, mut largest) = (BTreeSet::new(), 0);
            for counter in order {
                let old = largest > counter && largest - counter >= WINDOW;
                prop_assert_eq!(opener.is_seen(counter), old || model.contains(&counter), "{}", counter);
                if !old {
                    opener.see(counter);
                    model.insert(counter);
                    largest = largest.max(counter);
                }
            }
        }
    }
}
