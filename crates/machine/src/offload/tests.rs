//! Cutting makes complete frames, and joining restores the bulk that they were cut from.

mod datagrams;

use proptest::prelude::*;

use super::*;

/// Sum of all words; the last may be half.
fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum()
}

/// Bulk as a kernel passes it to an adapter.
fn bulk(v6: bool, tags: usize, options: usize, flags: u8, each: u16, payload: &[u8]) -> (Vec<u8>, Offload) {
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
    set_lengths(&mut frame, network, transport, Transport::Tcp, |old| old);
    let kind = if v6 { 4 } else { 1 };
    let headers = (transport + 20 + options * 4) as u16;
    let sum_from = transport as u16;
    (frame, Offload { flags: NEEDS_SUM, kind, headers, payload: each, sum_from, sum_at: 16 })
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
        let mut cut = CutBulk::new(0);
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
            // After the receiver completes the checksum, both it and that of IP are valid.
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
        let mut cut = CutBulk::new(0);
        cut.room()[..whole.len()].copy_from_slice(&whole);
        // Whatever the description, cutting terminates and makes no more bytes than there are.
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
        let mut cut = CutBulk::new(source);
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
