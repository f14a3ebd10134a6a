//! What a kernel leaves to a network adapter: checksums, and cutting bulk TCP into frames.
//!
//! An adapter that sums and cuts is offered tens of kilobytes of TCP at once, as one frame with a description beside it
//! (`struct virtio_net_hdr`). A device that takes them is read once where it would be read forty times, and the sender's kernel
//! goes its own way once. What comes of it is still frames as a link carries them: [`Cut`] makes one after the other of a
//! bulk, each whole, so that each can be delayed, lost and delivered by itself. Sums are left as they are, to the
//! kernel that the frame comes to: it has seen no wire on which bits could have changed, and does not look.
//!
//! Nothing in a frame is believed that it does not have: a bulk whose headers say anything else than TCP is not cut.

/// What is left to be done with a frame, as the kernel says it and wants it said.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offload {
    flags: u8,
    kind: u8,
    /// Not to be relied on: some say the length of all headers, and some that of what lies together.
    headers: u16,
    /// Bytes of payload in each frame.
    payload: u16,
    /// From where on the sum is to be made, and how far behind that it goes.
    sum_from: u16,
    sum_at: u16,
}

/// Which frame of which bulk one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The source and its bulk.
    bulk: (u16, u32),
    number: u16,
    is_last: bool,
    network: u16,
    payload: u16,
}

impl Piece {
    /// Whether none of its bulk comes before it.
    #[inline]
    pub fn is_first(&self) -> bool {
        self.number == 0
    }

    /// Whether none of its bulk comes behind it.
    #[inline]
    pub fn is_last(&self) -> bool {
        self.is_last
    }
}

/// The sum has yet to be made.
const NEEDS_SUM: u8 = 1;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
/// Says that the connection marks congestion, and changes nothing here but the first segment's flags.
const MARKS_CONGESTION: u8 = 0x80;
/// Where the sum lies in TCP's header.
const TCP_SUM: u16 = 16;

const FIN_AND_PUSH: u8 = 0x09;
const WINDOW_REDUCED: u8 = 0x80;

/// The longest bulk, with the headers of Ethernet and tags.
pub const LONGEST_BULK: usize = (1 << 16) + 64;

impl Offload {
    /// Nothing is left to do.
    pub const NONE: Offload = Offload { flags: 0, kind: 0, headers: 0, payload: 0, sum_from: 0, sum_at: 0 };

    /// Of a bulk of TCP over IP of version 6 or 4, whose header is at `transport`, with `payload` bytes for each frame.
    pub const fn of_bulk(is_v6: bool, transport: u16, payload: u16) -> Offload {
        let kind = if is_v6 { TCP_V6 } else { TCP_V4 };
        Offload { flags: NEEDS_SUM, kind, headers: transport, payload, sum_from: transport, sum_at: TCP_SUM }
    }

    /// Whether the frame has to be cut.
    #[inline]
    pub fn is_bulk(&self) -> bool {
        self.kind != 0
    }
}

/// A bulk that is being cut, one frame after the other.
#[derive(Debug)]
pub struct Cut {
    bytes: Box<[u8]>,
    source: u16,
    /// How long it is.
    length: usize,
    /// Where the headers of IP and TCP begin, and the payload.
    network: usize,
    transport: usize,
    payload: usize,
    /// Payload of each frame.
    each: usize,
    /// The payload that is next; all is done when it is at the length.
    next: usize,
    frames: u16,
    bulks: u32,
}

impl Cut {
    /// For the bulks of a source, which has another number than other sources have.
    pub fn new(source: u16) -> Self {
        let bytes = vec![0; LONGEST_BULK].into();
        Self {
            bytes,
            source,
            length: 0,
            network: 0,
            transport: 0,
            payload: 0,
            each: 0,
            next: 0,
            frames: 0,
            bulks: 0,
        }
    }

    /// Room for a bulk; what lies there is lost.
    #[inline]
    pub fn room(&mut self) -> &mut [u8] {
        (self.length, self.next) = (0, 0);
        &mut self.bytes
    }

    /// Whether there is more to come.
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.next < self.length
    }

    /// Begins with the `length` bytes that lie in its room; `false` if they are nothing that can be cut.
    #[must_use]
    pub fn begin(&mut self, length: usize, offload: Offload) -> bool {
        (self.length, self.next) = (0, 0);
        self.parse(length, offload).is_some()
    }

    fn parse(&mut self, length: usize, offload: Offload) -> Option<()> {
        let frame = self.bytes.get(..length)?;
        let word = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
        let mut network = 14;
        while matches!(word(network - 2)?, 0x8100 | 0x88a8) {
            network += 4;
        }
        let (is_v6, headers, protocol) = match (word(network - 2)?, offload.kind & !MARKS_CONGESTION) {
            (0x0800, TCP_V4) => (false, usize::from(frame.get(network)? & 15) * 4, *frame.get(network + 9)?),
            // Behind extension headers TCP is where the sum begins, and they say that it is TCP.
            (0x86dd, TCP_V6) => (true, 40, 6),
            _ => return None,
        };
        let is_version = *frame.get(network)? >> 4 == if is_v6 { 6 } else { 4 };
        let transport = usize::from(offload.sum_from);
        let sums = offload.flags & NEEDS_SUM != 0 && offload.sum_at == TCP_SUM && protocol == 6;
        let in_place = if is_v6 { transport >= network + headers } else { transport == network + headers };
        let payload = transport + usize::from(*frame.get(transport + 12)? >> 4) * 4;
        let each = usize::from(offload.payload);
        if !is_version
            || headers < 20
            || !sums
            || !in_place
            || payload < transport + 20
            || payload >= length
            || each == 0
        {
            return None;
        }
        (self.network, self.transport, self.payload) = (network, transport, payload);
        (self.length, self.each, self.next, self.frames) = (length, each, payload, 0);
        self.bulks = self.bulks.wrapping_add(1);
        Some(())
    }

    /// Puts the next frame into `into`, and says how long it is, what is left to be done with it and which it is. A frame that has no room
    /// there is cut off, and as long as it would have been.
    pub fn next(&mut self, into: &mut [u8]) -> Option<(usize, Offload, Piece)> {
        if !self.is_pending() {
            return None;
        }
        let (begin, end) = (self.next, self.length.min(self.next + self.each));
        let (first, last) = (begin == self.payload, end == self.length);
        let length = self.payload + end - begin;
        self.next = end;
        let number = self.frames;
        self.frames = number.wrapping_add(1);
        let offload =
            Offload { flags: NEEDS_SUM, sum_from: self.transport as u16, sum_at: TCP_SUM, ..Offload::NONE };
        let piece = Piece {
            bulk: (self.source, self.bulks),
            number,
            is_last: last,
            network: self.network as u16,
            payload: self.payload as u16,
        };
        let Some(frame) = into.get_mut(..length) else { return Some((length, offload, piece)) };
        frame[..self.payload].copy_from_slice(&self.bytes[..self.payload]);
        frame[self.payload..].copy_from_slice(&self.bytes[begin..end]);
        let identification = |old: u16| old.wrapping_add(number);
        set_lengths(frame, self.network, self.transport, identification);
        let segment = &mut frame[self.transport..];
        let sequence = u32::from_be_bytes([segment[4], segment[5], segment[6], segment[7]]);
        let sequence = sequence.wrapping_add((begin - self.payload) as u32);
        segment[4..8].copy_from_slice(&sequence.to_be_bytes());
        if !last {
            segment[13] &= !FIN_AND_PUSH;
        }
        if !first {
            segment[13] &= !WINDOW_REDUCED;
        }
        Some((length, offload, piece))
    }
}

/// Frames of a bulk that go to a kernel together, as what is left of the bulk.
#[derive(Debug)]
pub struct Joined {
    bytes: Box<[u8]>,
    length: usize,
    /// The first of them, and the last so far.
    first: Option<Piece>,
    last: Option<Piece>,
    offload: Offload,
    /// Payload of the first.
    each: usize,
}

impl Default for Joined {
    fn default() -> Self {
        let bytes = vec![0; LONGEST_BULK].into();
        Self { bytes, length: 0, first: None, last: None, offload: Offload::NONE, each: 0 }
    }
}

impl Joined {
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Begins with `frame`.
    pub fn begin(&mut self, frame: &[u8], offload: Offload, piece: Piece) {
        self.bytes[..frame.len()].copy_from_slice(frame);
        (self.length, self.first, self.last) = (frame.len(), Some(piece), Some(piece));
        (self.offload, self.each) = (offload, frame.len() - usize::from(piece.payload));
    }

    /// Adds `frame` if it comes right behind the last.
    #[must_use]
    pub fn add(&mut self, frame: &[u8], piece: Piece) -> bool {
        let Some(last) = self.last else { return false };
        let payload = &frame[usize::from(piece.payload)..];
        let follows = last.bulk == piece.bulk && last.number.checked_add(1) == Some(piece.number);
        // As much as a packet can be, whatever IP's version.
        let fits = self.length + payload.len() - usize::from(piece.network) <= usize::from(u16::MAX);
        if !follows || !fits || last.is_last || payload.len() > self.each {
            return false;
        }
        self.bytes[self.length..self.length + payload.len()].copy_from_slice(payload);
        self.length += payload.len();
        // What the last says of the end of what is sent, all say together.
        let flags = usize::from(self.offload.sum_from) + 13;
        self.bytes[flags] |= frame[flags] & FIN_AND_PUSH;
        self.last = Some(piece);
        true
    }

    /// All of them as one frame, with what is left to be done with it; there is none after that.
    pub fn take(&mut self) -> Option<(&[u8], Offload)> {
        let (first, last) = (self.first.take()?, self.last.take()?);
        let (transport, network) = (usize::from(self.offload.sum_from), usize::from(first.network));
        let frame = &mut self.bytes[..self.length];
        if first == last {
            return Some((frame, self.offload));
        }
        set_lengths(frame, network, transport, |old| old);
        let bulk = Offload::of_bulk(frame[network] >> 4 == 6, transport as u16, self.each as u16);
        Some((frame, Offload { headers: first.payload, ..bulk }))
    }
}

/// Puts into the headers of a frame of TCP what depends on its length: IP's length and sum, with the identification as
/// `identify` says, and TCP's sum as it is left to others, over addresses, protocol and length.
fn set_lengths(frame: &mut [u8], network: usize, transport: usize, identify: impl Fn(u16) -> u16) {
    let (headers, segment) = frame.split_at_mut(transport);
    let packet = &mut headers[network..];
    let all = (packet.len() + segment.len()) as u16;
    let addresses = if packet[0] >> 4 == 6 {
        packet[4..6].copy_from_slice(&all.wrapping_sub(40).to_be_bytes());
        8..40
    } else {
        packet[2..4].copy_from_slice(&all.to_be_bytes());
        let identification = identify(u16::from_be_bytes([packet[4], packet[5]]));
        packet[4..6].copy_from_slice(&identification.to_be_bytes());
        packet[10..12].fill(0);
        let sum = !folded(words(packet));
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        12..20
    };
    let begun = folded(words(&packet[addresses]) + 6 + segment.len() as u32);
    segment[16..18].copy_from_slice(&begun.to_be_bytes());
}

/// The sum of words of two bytes, as long as there are no more than a header has.
fn words(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum()
}

/// In 16 bits, by RFC 1071.
fn folded(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The sum of all words, the last of which may be half.
    fn sum(bytes: &[u8]) -> u32 {
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum()
    }

    /// A bulk as a kernel offers it.
    fn bulk(
        v6: bool,
        tags: usize,
        options: usize,
        flags: u8,
        each: u16,
        payload: &[u8],
    ) -> (Vec<u8>, Offload) {
        let mut frame = vec![2; 12];
        for _ in 0..tags {
            frame.extend([0x81, 0, 0, 7]);
        }
        frame.extend(if v6 { [0x86, 0xdd] } else { [8, 0] });
        let network = frame.len();
        let mut header = vec![0; if v6 { 40 } else { 20 }];
        if v6 {
            (header[0], header[6], header[8], header[39]) = (0x60, 6, 0xfd, 9);
        } else {
            (header[0], header[8], header[9]) = (0x45, 64, 6);
            header[4..6].copy_from_slice(&[0xff, 0xfe]);
            header[12..20].copy_from_slice(&[10, 77, 0, 1, 10, 77, 0, 2]);
        }
        frame.extend(header);
        let transport = frame.len();
        let mut header = vec![1; 20 + options * 4];
        header[4..8].copy_from_slice(&[0xff, 0xff, 0xff, 0]);
        (header[12], header[13]) = (((5 + options) as u8) << 4, flags);
        frame.extend(header);
        frame.extend(payload);
        set_lengths(&mut frame, network, transport, |old| old);
        let kind = if v6 { TCP_V6 } else { TCP_V4 };
        let headers = (transport + 20 + options * 4) as u16;
        let sum_from = transport as u16;
        (frame, Offload { flags: NEEDS_SUM, kind, headers, payload: each, sum_from, sum_at: TCP_SUM })
    }

    proptest! {
        #[test]
        fn a_bulk_is_cut_into_whole_frames_and_joined_to_what_it_was(
            v6 in any::<bool>(),
            tags in 0..3_usize,
            options in 0..11_usize,
            flags in any::<u8>(),
            each in 1..1500_u16,
            payload in prop::collection::vec(any::<u8>(), 1..5000),
        ) {
            let (whole, offload) = bulk(v6, tags, options, flags, each, &payload);
            let mut cut = Cut::new(0);
            cut.room()[..whole.len()].copy_from_slice(&whole);
            prop_assert!(cut.begin(whole.len(), offload));
            let (mut joined, mut buffer, mut all, mut count) = (Joined::default(), [0; 4096], Vec::new(), 0);
            let network = 14 + 4 * tags;
            let transport = usize::from(offload.sum_from);
            let headers = transport + 20 + options * 4;
            while let Some((length, left, piece)) = cut.next(&mut buffer) {
                let frame = &mut buffer[..length];
                prop_assert!(!left.is_bulk() && length <= headers + usize::from(each));
                prop_assert_eq!(frame[transport + 13] & !(FIN_AND_PUSH | WINDOW_REDUCED), flags & !(FIN_AND_PUSH | WINDOW_REDUCED));
                prop_assert_eq!(frame[transport + 13] & FIN_AND_PUSH, if piece.is_last() { flags & FIN_AND_PUSH } else { 0 });
                let sequence = u32::from_be_bytes(frame[transport + 4..transport + 8].try_into().unwrap());
                prop_assert_eq!(sequence, 0xffff_ff00_u32.wrapping_add(all.len() as u32));
                if count == 0 {
                    joined.begin(frame, left, piece);
                } else {
                    prop_assert!(joined.add(frame, piece));
                    prop_assert!(!joined.add(frame, piece), "none comes twice");
                }
                all.extend_from_slice(&frame[headers..]);
                // What the sum lacks is done by whoever is to do it; then it is right, and so is that of IP.
                let segment = frame.len() - transport;
                let done = !folded(u32::from(folded(sum(&frame[transport..]))));
                frame[transport + 16..transport + 18].copy_from_slice(&done.to_be_bytes());
                let addresses = if v6 { network + 8..network + 40 } else { network + 12..network + 20 };
                let checked = sum(&frame[addresses]) + 6 + segment as u32 + u32::from(folded(sum(&frame[transport..])));
                prop_assert_eq!(folded(checked), 0xffff);
                let said = usize::from(u16::from_be_bytes([frame[network + 2], frame[network + 3]]));
                if !v6 {
                    prop_assert_eq!(folded(sum(&frame[network..network + 20])), 0xffff);
                    prop_assert_eq!(said, frame.len() - network);
                    let identification = u16::from_be_bytes([frame[network + 4], frame[network + 5]]);
                    prop_assert_eq!(identification, 0xfffe_u16.wrapping_add(count));
                }
                count += 1;
            }
            prop_assert_eq!(&all, &payload);
            prop_assert_eq!(usize::from(count), payload.len().div_ceil(usize::from(each)));
            let (again, left) = joined.take().unwrap();
            prop_assert_eq!(again, &whole[..]);
            prop_assert_eq!(left.is_bulk(), count > 1);
            if count > 1 {
                prop_assert_eq!(left, offload);
            }
            prop_assert!(joined.is_empty() && joined.take().is_none());
        }

        #[test]
        fn what_is_no_bulk_of_tcp_is_not_cut(
            v6 in any::<bool>(),
            at in 12..60_usize,
            byte in any::<u8>(),
            length in 0..200_usize,
            bytes in any::<[u8; 10]>(),
            strange in any::<bool>(),
        ) {
            let (mut whole, offload) = bulk(v6, 0, 0, 0, 50, &[7; 150]);
            whole[at] = byte;
            let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
            let odd = Offload {
                flags: bytes[0], kind: bytes[1], headers: word(2), payload: word(4), sum_from: word(6) % 90, sum_at: word(8),
            };
            let mut cut = Cut::new(0);
            cut.room()[..whole.len()].copy_from_slice(&whole);
            // Whatever it answers, it makes no more than there is, and comes to an end.
            let mut buffer = [0; 300];
            if cut.begin(length, if strange { odd } else { offload }) {
                let mut payload = 0;
                while let Some((frame, _, piece)) = cut.next(&mut buffer) {
                    payload += frame - usize::from(piece.payload);
                }
                prop_assert!(payload <= length);
            }
            prop_assert!(!cut.is_pending());
        }
    }

    #[test]
    fn frames_that_do_not_follow_each_other_are_not_joined() {
        let (whole, offload) = bulk(false, 0, 0, 0, 100, &[7; 400]);
        let mut frames = Vec::new();
        let mut cut = |source| {
            let mut cut = Cut::new(source);
            cut.room()[..whole.len()].copy_from_slice(&whole);
            assert!(cut.begin(whole.len(), offload));
            let mut buffer = [0; 300];
            while let Some((length, left, piece)) = cut.next(&mut buffer) {
                frames.push((buffer[..length].to_vec(), left, piece));
            }
        };
        cut(0);
        cut(1);
        let mut joined = Joined::default();
        joined.begin(&frames[0].0, frames[0].1, frames[0].2);
        for other in [2, 5] {
            assert!(!joined.add(&frames[other].0, frames[other].2), "{other} does not follow 0");
        }
        assert!(joined.add(&frames[1].0, frames[1].2));
        assert_eq!(joined.take().unwrap().0.len(), frames[0].0.len() + 100);
        assert!(!joined.add(&frames[2].0, frames[2].2), "there is none to add to");
    }
}
