//! Datagrams to one receiver share a packet: each stands behind its length, two bytes, big-endian.

/// Bytes before each datagram.
pub const FRONT: usize = 2;

/// Adds a datagram, if there is room for it in `most` bytes.
pub(crate) fn add(bytes: &mut Vec<u8>, datagram: &[u8], most: usize) -> bool {
    let Ok(length) = u16::try_from(datagram.len()) else { return false };
    let fits = bytes.len() + FRONT + datagram.len() <= most;
    if fits {
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(datagram);
    }
    fits
}

/// The datagrams of a packet, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    bytes: Vec<u8>,
    at: usize,
}

impl Packed {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, at: 0 }
    }

    /// Whether no datagram is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }
}

impl Iterator for Packed {
    type Item = Vec<u8>;

    /// A length beyond the packet ends it: its sender made it up.
    fn next(&mut self) -> Option<Vec<u8>> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let found = rest.split_first_chunk::<FRONT>().and_then(|(length, behind)| {
            let length = usize::from(u16::from_be_bytes(*length));
            Some((length, behind.get(..length)?.to_vec()))
        });
        let Some((length, datagram)) = found else {
            self.at = self.bytes.len();
            return None;
        };
        self.at += FRONT + length;
        Some(datagram)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..12)) {
            let (mut bytes, mut packed) = (Vec::new(), Vec::new());
            for datagram in datagrams {
                let before = bytes.len();
                let fits = add(&mut bytes, &datagram, 1000);
                prop_assert_eq!(fits, before + FRONT + datagram.len() <= 1000);
                if fits {
                    packed.push(datagram);
                }
            }
            let unpacked = Packed::new(bytes);
            prop_assert_eq!(unpacked.is_empty(), packed.is_empty());
            prop_assert_eq!(unpacked.collect::<Vec<_>>(), packed);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let length = bytes.len();
            let mut packed = Packed::new(bytes);
            let all: usize = packed.by_ref().map(|datagram| datagram.len() + FRONT).sum();
            prop_assert!(all <= length && packed.is_empty());
        }
    }

    #[test]
    fn a_datagram_longer_than_a_length_is_refused() {
        assert!(!add(&mut Vec::new(), &[0; 65_536], 1 << 20));
    }
}
