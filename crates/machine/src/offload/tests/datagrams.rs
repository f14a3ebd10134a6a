//! Separately sent datagrams joined, against the kernel's segmentation of the result.

use super::*;

/// Fields in which two datagrams may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sent {
    v6: bool,
    port: u16,
    hops: u8,
    class: u8,
    never_cut: bool,
    identification: u16,
    /// Incomplete, complete, or none.
    sum: u8,
    payload: usize,
}

const PLAIN: Sent =
    Sent { v6: false, port: 7, hops: 64, class: 0, never_cut: true, identification: 9, sum: 0, payload: 5 };

const V6: Sent = Sent { v6: true, ..PLAIN };

/// Recalculates the checksums of a frame: IP's, and UDP's incomplete one.
fn refresh(frame: &mut [u8]) {
    let (at, length) = (if frame[12] == 8 { 34 } else { 54 }, frame.len());
    let mut addresses = 22..54;
    if at == 34 {
        addresses = 26..34;
        frame[24..26].fill(0);
        let sum = !folded(sum(&frame[14..34]));
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
    }
    let open = folded(sum(&frame[addresses]) + 17 + (length - at) as u32);
    frame[at + 6..at + 8].copy_from_slice(&open.to_be_bytes());
}

/// Datagram as the sender's kernel passes it to an adapter, with bytes counting from `filled`.
fn frame(sent: Sent, filled: u8) -> (Vec<u8>, Offload) {
    let mut frame = vec![2; 12];
    let all = (sent.payload + 8) as u16;
    if sent.v6 {
        frame.extend([0x86, 0xdd, 0x60 | sent.class >> 4, sent.class << 4, 0, 3]);
        frame.extend(all.to_be_bytes());
        frame.extend([17, sent.hops]);
        frame.extend((0..32).map(|n| n * 5));
    } else {
        frame.extend([8, 0, 0x45, sent.class]);
        frame.extend((all + 20).to_be_bytes());
        frame.extend(sent.identification.to_be_bytes());
        frame.extend([if sent.never_cut { 0x40 } else { 0 }, 0, sent.hops, 17, 0, 0]);
        frame.extend([10, 77, 0, 1, 10, 77, 0, 2]);
    }
    let at = frame.len();
    frame.extend([0x10, 0x20]);
    frame.extend(sent.port.to_be_bytes());
    frame.extend(all.to_be_bytes());
    frame.extend([0, 0]);
    frame.extend((0..sent.payload).map(|n| filled.wrapping_add(n as u8)));
    refresh(&mut frame);
    let mut offload = Offload::of_datagram(at as u16);
    if sent.sum != 0 {
        let complete = if sent.sum == 1 { !folded(u32::from(folded(sum(&frame[at..])))) } else { 0 };
        frame[at + 6..at + 8].copy_from_slice(&complete.to_be_bytes());
        offload = Offload::NONE;
    }
    (frame, offload)
}

/// The kernel's segmentation of a bulk of datagrams, by the formulas of `__udp_gso_segment` and
/// `inet_gso_segment`: each checksum from that of the bulk, and identifications from the first.
fn cut_by_kernel(bulk: &[u8], offload: Offload) -> Vec<(Vec<u8>, Offload)> {
    if !offload.is_bulk() {
        return vec![(bulk.to_vec(), offload)];
    }
    let word = |at: usize| u32::from(u16::from_be_bytes([bulk[at], bulk[at + 1]]));
    let (at, v4) = (usize::from(offload.sum_from), bulk[12] == 8);
    assert_eq!((offload.flags, offload.kind, offload.sum_at, offload.headers), (1, 5, 6, at as u16 + 8));
    let (payload, each) = (&bulk[at + 8..], usize::from(offload.payload));
    assert!(payload.len() > each && payload.len() <= each * 64, "{} by {each}", payload.len());
    let (whole, said) = if v4 { (word(16), word(38)) } else { (word(18) + 40, word(58)) };
    assert_eq!((whole as usize, said as usize), (bulk.len() - 14, bulk.len() - at));
    assert!(!v4 || folded(sum(&bulk[14..34])) == 0xffff);
    let mut frames = Vec::new();
    for (number, payload) in payload.chunks(each).enumerate() {
        let mut frame = [&bulk[..at + 8], payload].concat();
        let length = payload.len() as u16 + 8;
        frame[at + 4..at + 6].copy_from_slice(&length.to_be_bytes());
        let open = folded(word(at + 6) + u32::from(!(said as u16)) + u32::from(length));
        frame[at + 6..at + 8].copy_from_slice(&open.to_be_bytes());
        if v4 {
            frame[16..18].copy_from_slice(&(length + 20).to_be_bytes());
            let identification = (word(18) as u16).wrapping_add(number as u16);
            frame[18..20].copy_from_slice(&identification.to_be_bytes());
            frame[24..26].fill(0);
            let sum = !folded(sum(&frame[14..34]));
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
        } else {
            frame[18..20].copy_from_slice(&length.to_be_bytes());
        }
        frames.push((frame, Offload::of_datagram(at as u16)));
    }
    frames
}

/// Writes `frames` back to back, and returns the frames that a kernel receives.
fn written(frames: &[(Vec<u8>, Offload)]) -> Vec<(Vec<u8>, Offload)> {
    let (mut joined, mut out) = (Joined::default(), Vec::new());
    for (frame, offload) in frames {
        let piece = Piece::of_datagram(frame, *offload);
        if piece.is_some_and(|piece| joined.add(frame, piece)) {
            continue;
        }
        out.extend(joined.take().map(|(bulk, left)| (bulk.to_vec(), left)));
        match piece {
            Some(piece) => joined.begin(frame, *offload, piece),
            None => out.push((frame.clone(), *offload)),
        }
    }
    out.extend(joined.take().map(|(bulk, left)| (bulk.to_vec(), left)));
    out
}

/// Clears fields without meaning: the identification of packets that must not be fragmented.
fn said(mut frames: Vec<(Vec<u8>, Offload)>) -> Vec<(Vec<u8>, Offload)> {
    for (frame, _) in &mut frames {
        if frame[12] == 8 && frame[20] & 0x40 != 0 {
            frame[18..20].fill(0);
            frame[24..26].fill(0);
        }
    }
    frames
}

fn datagram() -> impl Strategy<Value = Sent> {
    // Variations are rare, so that runs of joinable datagrams occur.
    let rarely = |odds| prop::bool::weighted(odds);
    let plain = (rarely(0.2), rarely(0.1), rarely(0.05), rarely(0.05), rarely(0.8));
    let payload =
        prop_oneof![12 => Just(5_usize), 2 => Just(4), 1 => Just(6), 1 => Just(0), 1 => Just(30_000)];
    (plain, 0..3_u16, prop_oneof![12 => Just(0_u8), 1 => Just(1), 1 => Just(2)], payload).prop_map(
        |((v6, other, hops, class, never_cut), step, sum, payload)| Sent {
            v6,
            port: 7 + u16::from(other),
            hops: 64 - u8::from(hops),
            class: u8::from(class),
            never_cut,
            identification: step,
            sum,
            payload,
        },
    )
}

proptest! {
    #[test]
    fn what_a_kernel_cuts_is_what_was_sent_in_its_order(
        v6 in any::<bool>(),
        mixed in any::<bool>(),
        sent in prop::collection::vec(datagram(), 0..150),
    ) {
        let mut identification = 0xfff0_u16;
        let frames: Vec<_> = sent.iter().enumerate().map(|(n, sent)| {
            // Mostly consecutive, sometimes repeated or with a gap.
            identification = identification.wrapping_add(if mixed { sent.identification } else { 1 });
            frame(Sent { v6: v6 ^ (mixed && sent.v6), identification, ..*sent }, n as u8)
        }).collect();
        let written = written(&frames);
        let cut: Vec<_> = written.iter().flat_map(|(bulk, offload)| cut_by_kernel(bulk, *offload)).collect();
        prop_assert_eq!(said(cut), said(frames));
    }

    #[test]
    fn what_differs_in_any_field_is_not_joined(
        v6 in any::<bool>(),
        never_cut in any::<bool>(),
        at in 0..62_usize,
        change in 1..=255_u8,
        refreshed in any::<bool>(),
        is_first in any::<bool>(),
    ) {
        let first = Sent { v6, never_cut, ..PLAIN };
        let mut frames = vec![frame(first, 0), frame(Sent { identification: 10, ..first }, 1)];
        prop_assert_eq!(written(&frames).len(), 1);
        let changed = &mut frames[usize::from(!is_first)].0;
        let (at, before) = (at % if v6 { 62 } else { 42 }, changed.clone());
        changed[at] ^= change;
        // Recalculated checksums, so that they do not reveal the change.
        if refreshed && changed[12..14] == before[12..14] {
            refresh(changed);
        }
        let is_same = *changed == before;
        let says_nothing = !v6 && never_cut && matches!(at, 18 | 19) && refreshed;
        prop_assert_eq!(written(&frames).len() == 1, is_same || says_nothing, "{}", at);
    }

    #[test]
    fn no_bytes_are_too_odd(
        mut bytes in prop::collection::vec(any::<u8>(), 0..120),
        v6 in any::<bool>(),
        // The IP version contradicts the EtherType.
        other in any::<bool>(),
        from in prop_oneof![Just(34_u16), Just(54), any::<u16>()],
    ) {
        if let Some(start) = bytes.get_mut(12..15) {
            start.copy_from_slice(match (v6, other) {
                (true, false) => &[0x86, 0xdd, 0x60],
                (false, false) => &[8, 0, 0x45],
                (true, true) => &[0x86, 0xdd, 0x45],
                (false, true) => &[8, 0, 0x65],
            });
        }
        prop_assert_eq!(Piece::of_datagram(&bytes, Offload::of_datagram(from)), None);
    }

    #[test]
    fn a_bulk_of_datagrams_is_cut_as_a_kernel_cuts_it(
        v6 in any::<bool>(),
        each in 1..1400_u16,
        count in 2..64_usize,
        last in 1..1400_usize,
        from in any::<u16>(),
    ) {
        let payload = usize::from(each) * (count - 1) + last.min(each.into());
        prop_assume!(payload < 65_000);
        let (bulk, left) = frame(Sent { v6, payload, identification: from, ..PLAIN }, 0);
        let offload = Offload { kind: 5, headers: left.sum_from + 8, payload: each, ..left };
        let mut cut = CutBulk::new(0);
        cut.room()[..bulk.len()].copy_from_slice(&bulk);
        for (at, says) in [(14, 0x50), (if v6 { 12 } else { 23 }, 6)] {
            let said = std::mem::replace(&mut cut.room()[at], says);
            prop_assert!(!cut.begin(bulk.len(), offload), "another version or protocol");
            cut.room()[at] = said;
        }
        prop_assert!(cut.begin(bulk.len(), offload));
        let (mut joined, mut frames, mut buffer) = (Joined::default(), Vec::new(), [0; 2048]);
        while let Some((length, left, piece)) = cut.next(&mut buffer) {
            let frame = &buffer[..length];
            frames.push((frame.to_vec(), left));
            prop_assert_eq!(piece.is_last(), frames.len() == count);
            prop_assert!(Piece::of_datagram(frame, left).is_some(), "each is a whole datagram");
            match frames.len() {
                1 => joined.begin(frame, left, piece),
                _ => prop_assert!(joined.add(frame, piece)),
            }
        }
        prop_assert_eq!(&frames, &cut_by_kernel(&bulk, offload));
        prop_assert_eq!(joined.take(), Some((&bulk[..], offload)));
    }
}

#[test]
fn a_sum_that_somebody_made_and_none_at_all_go_alone() {
    for plain in [PLAIN, V6] {
        for sum in [1, 2] {
            let frames = [plain, Sent { sum, ..plain }, plain].map(|sent| frame(sent, 0));
            assert_eq!(written(&frames).len(), 3, "{sum}");
            assert_eq!(Piece::of_datagram(&frames[1].0, Offload::of_datagram(34)), None);
        }
    }
}

#[test]
fn a_shorter_one_is_the_last_and_no_longer_one_follows() {
    let lengths = |sent: &[usize]| -> Vec<usize> {
        let frames: Vec<_> =
            sent.iter().map(|payload| frame(Sent { payload: *payload, ..PLAIN }, 0)).collect();
        written(&frames).iter().map(|(bulk, _)| bulk.len() - 42).collect()
    };
    assert_eq!(lengths(&[9, 9, 3, 9, 9]), [21, 18]);
    assert_eq!(lengths(&[9, 3, 3]), [12, 3]);
    assert_eq!(lengths(&[3, 9, 9]), [3, 18]);
    assert_eq!(lengths(&[0, 0, 5]), [0, 0, 5], "nothing to cut by");
    assert_eq!(lengths(&[1; 130]), [64, 64, 2], "a kernel cuts no more than 64 from one");
    let most = (65_535 - 28) / 3000;
    assert_eq!(
        lengths(&[3000; 30]),
        [most * 3000, (30 - most) * 3000],
        "an IP packet is no longer than 64 KiB"
    );
}

#[test]
fn what_can_be_cut_on_its_way_keeps_its_identification() {
    let written = |never_cut, numbers: [u16; 3]| {
        let numbered = |identification| frame(Sent { never_cut, identification, ..PLAIN }, 0);
        written(&numbers.map(numbered)).len()
    };
    assert_eq!((written(false, [7, 8, 9]), written(false, [0xffff, 0, 1])), (1, 1));
    assert_eq!((written(false, [7, 7, 8]), written(false, [7, 9, 10]), written(false, [7, 8, 8])), (2, 2, 2));
    assert_eq!((written(true, [7, 7, 7]), written(true, [7, 300, 2])), (1, 1));
}

#[test]
fn what_goes_to_a_group_or_has_more_headers_goes_alone() {
    let twice = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frames = [(); 2].map(|()| frame(PLAIN, 0));
        frames.iter_mut().for_each(|(frame, _)| change(frame));
        written(&frames).len()
    };
    assert_eq!(twice(&|_| ()), 1);
    assert_eq!(twice(&|frame| frame[0] |= 1), 2, "to a group");
    let header = |change: &'static dyn Fn(&mut [u8])| {
        twice(&move |frame| {
            change(frame);
            refresh(frame);
        })
    };
    assert_eq!(header(&|frame| frame[20] = 0x20), 2, "a fragment, with more to come");
    assert_eq!(header(&|frame| frame[21] = 1), 2, "a later fragment");
    assert_eq!(header(&|frame| frame[23] = 6), 2, "not UDP");
    assert_eq!(header(&|frame| frame[14] = 0x46), 2, "with an option, by what it says");
    assert_eq!(twice(&|frame| frame.push(0)), 2, "longer than it says");
    assert_eq!(twice(&|frame| frame[24] ^= 1), 2, "a wrong sum of IP");
    assert_eq!(twice(&|frame| frame[40] ^= 1), 2, "a wrong sum");
}
