//! Frames that are interrupted, by hand and over random arrivals. A byte takes a microsecond.

use laxity_qos::discipline::{GateList, Hold, Window};

use super::*;
use crate::switch::preemption::LONGEST_WAIT;

/// The parts of frames on the link in microseconds, `true` for the last part of one.
type Parts = Vec<(u64, u64, u64, bool)>;

fn preempting(from: u8, windows: &[(u64, u32)]) -> Bench {
    let port = port(Order::StrictPriority, 1 << 30);
    let link = LinkCosts { around: Bytes::new(38), shortest: Bytes::new(46), ..port.link };
    let windows: Vec<Window> =
        windows.iter().map(|(us, open)| Window { length: Span::from_us(*us), open: *open }).collect();
    let gates = (!windows.is_empty())
        .then(|| GateList::new(Span::ZERO, windows).holding(Hold { from, least: LONGEST_WAIT }));
    let selection = gates.map(|gates| Arc::new(Selection { gates: Some(gates), ..Selection::NONE }));
    let config = PortConfig { link, preemptable_from: Some(from), selection, ..port };
    let mut switch = Bench::new([config], Bytes::ZERO);
    for level in 0..4 {
        switch.open(0, ChannelId(level), PortFlow { level: level as u8, ..flow(RealTime, 10, 1000) });
    }
    switch
}

/// The parts of the frames `(at, level, size)`, which are numbered in their order.
fn parts(from: u8, frames: &[(u64, u32, u64)]) -> Parts {
    parts_of(preempting(from, &[]), frames)
}

fn parts_of(mut switch: Bench, frames: &[(u64, u32, u64)]) -> Parts {
    let mut parts = Parts::new();
    let us = |time: Time| time.since(at(0)).as_ps() / 1_000_000;
    let mut begun = 0;
    let mut hear = |now: Time, output: SwitchOutput<&Packet>| match output {
        SwitchOutput::Begun(..) | SwitchOutput::Resumed(_) => begun = us(now),
        SwitchOutput::Interrupted(packet) => parts.push((packet.message, begun, us(now), false)),
        SwitchOutput::Departed(packet) => parts.push((packet.message, begun, us(now), true)),
        SwitchOutput::Discarded(_) => panic!("there is room for all"),
    };
    let mut frames = frames.iter().zip(0..).peekable();
    loop {
        let due = switch.next_deadline(0);
        match frames.next_if(|((time, ..), _)| due.is_none_or(|due| at(*time) < due)) {
            Some(((time, level, size), message)) => {
                let packet = packet(*level, message, *size, RealTime, *time);
                switch.receive(at(*time), 0, &packet, &mut |output| hear(at(*time), output));
            }
            None => match due {
                Some(due) => switch.timer(due, 0, &mut |output| hear(due, output)),
                None => break,
            },
        }
    }
    let busy = parts.iter().map(|(_, begun, ended, _)| ended - begun).sum();
    assert_eq!(switch.report(0, at(1 << 40)).busy, Span::from_us(busy));
    assert_eq!(switch.packets.len(), 0);
    parts
}

/// A frame of 1500 B has 1518 with header and check sequence, and takes 1538 on the link. At 500 us
/// 492 bytes have left, and with 4 of a check sequence and 12 of a gap the link is free at 516. The
/// other frame takes 138. Then 8 of a preamble, 1026 and 12 follow: 24 more than both frames take.
#[test]
fn an_express_frame_interrupts_another() {
    let found = parts(1, &[(0, 1, 1500), (500, 0, 100)]);
    assert_eq!(found, [(0, 0, 516, false), (1, 516, 654, true), (0, 654, 1700, true)]);
}

/// In the preamble, 60 bytes have to leave first. The rest is interrupted again at its 60th byte. Two
/// express frames follow each other.
#[test]
fn a_part_has_sixty_bytes_at_least() {
    let found = parts(1, &[(0, 1, 1500), (3, 0, 100), (230, 0, 100), (231, 0, 46)]);
    let rest = (0, 84 + 138 + 84 + 138 + 84, 1538 + 2 * 138 + 84 + 48, true);
    let second = 84 + 138 + 84;
    let expected = [
        (0, 0, 84, false),
        (1, 84, 222, true),
        (0, 222, second, false),
        (2, second, second + 138, true),
        (3, second + 138, second + 138 + 84, true),
        rest,
    ];
    assert_eq!(found, expected);
}

/// Of 123 bytes with header and check sequence none can be cut off: the other frame waits for 143.
/// Of 124 it can.
#[test]
fn sixty_four_bytes_have_to_remain() {
    let whole = [(0, 0, 143, true), (1, 143, 281, true)];
    assert_eq!(parts(1, &[(0, 1, 105), (1, 0, 100)]), whole);
    let cut = [(0, 0, 84, false), (1, 84, 222, true), (0, 222, 222 + 84, true)];
    assert_eq!(parts(1, &[(0, 1, 106), (1, 0, 100)]), cut);
    // At 80 us 72 of 136 bytes have left, and of 135 no more than 63 would remain.
    let late = |size| parts(1, &[(0, 1, size), (80, 0, 100)])[0];
    assert_eq!((late(118), late(117)), ((0, 0, 96, false), (0, 0, 155, true)));
}

/// Frames of preemptable levels do not interrupt each other, and the interrupted one goes on before a
/// more urgent one of them. Neither do express frames.
#[test]
fn only_express_frames_interrupt_and_only_others() {
    let found = parts(1, &[(0, 2, 1000), (100, 1, 100), (200, 0, 100)]);
    let order: Vec<_> = found.iter().map(|part| (part.0, part.3)).collect();
    assert_eq!(order, [(0, false), (2, true), (0, true), (1, true)]);
    assert_eq!(parts(2, &[(0, 1, 1000), (100, 0, 100)]), [(0, 0, 1038, true), (1, 1038, 1176, true)]);
}

/// Level 0 is open from 0 to 200 us of each 1000 us, and all others for the rest.
const HELD: [(u64, u32); 2] = [(200, 1), (800, u32::MAX << 1)];

/// A frame of 1500 B would take 1538. At 300 us 700 are left, so it is cut behind 676 bytes: with 24 of
/// preamble, check sequence and gap it ends when its gate closes. The express frame has its window to
/// itself. The rest, 842 bytes, goes on at 1200 us with a preamble and a gap, until 1200 + 862,
/// before a frame of a more urgent level, which would not fit until 2000 and is cut as well.
#[test]
fn a_closing_gate_cuts_a_frame() {
    let found = parts_of(preempting(1, &HELD), &[(300, 2, 1500), (999, 0, 100), (1100, 1, 100)]);
    assert_eq!(
        found,
        [
            (0, 300, 1000, false),
            (1, 1000, 1138, true),
            (0, 1200, 2000, false),
            (0, 2200, 2286, true),
            (2, 2286, 2424, true)
        ]
    );
}

/// With 143 bytes left a frame begins and is cut behind 119 bytes. With 142 it waits, and one that fits
/// does not.
#[test]
fn a_part_has_to_fit_before_the_gate_closes() {
    let first = |at, size| parts_of(preempting(1, &HELD), &[(at, 1, size)])[0];
    assert_eq!((first(857, 1500), first(858, 1500)), ((0, 857, 1000, false), (0, 1200, 2000, false)));
    assert_eq!((first(862, 100), first(863, 100)), ((0, 862, 1000, true), (0, 1200, 1338, true)));
    // Of a frame of 124 bytes with header and check sequence 64 have to remain, so 60 are sent.
    assert_eq!(first(857, 106), (0, 857, 857 + 84, false));
}

/// Level 0 is open from 500 us on, and interrupts what is on the link then. With 99 bytes left of the
/// window an interrupted frame waits for the next one, and a frame of 84 that would fit waits behind
/// it.
#[test]
fn a_gate_that_opens_interrupts_a_frame() {
    let windows = [(200, 0), (300, u32::MAX << 1), (500, u32::MAX)];
    let found = parts_of(preempting(1, &windows), &[(300, 2, 1500), (400, 0, 100)]);
    // At 500 us 192 bytes have left. The rest, 1326 bytes, is cut behind 322 bytes, 654 + 346.
    let rest = (0, 1200, 2000, false);
    assert_eq!(found[..4], [(0, 300, 516, false), (1, 516, 654, true), (0, 654, 1000, false), rest]);
    let found = parts_of(preempting(1, &windows), &[(700, 2, 1500), (801, 0, 46), (802, 1, 46)]);
    assert_eq!(found[..3], [(0, 700, 817, false), (1, 817, 901, true), (0, 1200, 2000, false)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// For any arrivals and windows: no part of a preemptable frame is on the link while its gate is
    /// closed, each frame takes its time and 24 bytes for each interruption, and frames of a level
    /// leave in order.
    #[test]
    fn no_part_is_on_the_link_while_its_gate_is_closed(
        windows in prop::collection::vec((1u64..800, any::<bool>(), 0u32..4), 0..4),
        frames in prop::collection::vec((0u64..3000, 0u32..4, 1u64..1500), 1..40),
    ) {
        let mut frames = frames;
        frames.sort();
        // One long window for all, so that each frame leaves.
        let windows: Vec<(u64, u32)> = windows
            .into_iter()
            .map(|(us, lower, express)| (us, express | if lower { u32::MAX << 2 } else { 0 }))
            .chain([(1700, u32::MAX)])
            .collect();
        let parts = parts_of(preempting(2, &windows), &frames);
        prop_assert!(parts.windows(2).all(|pair| pair[0].2 <= pair[1].1));
        let cycle: u64 = windows.iter().map(|window| window.0).sum();
        let open = |level: u32, us: u64| {
            let mut left = us % cycle;
            let window = windows.iter().find(|(length, _)| match left.checked_sub(*length) {
                Some(after) => {
                    left = after;
                    false
                }
                None => true,
            });
            window.expect("a window").1 >> level & 1 == 1
        };
        let mut left = [0u64; 4];
        for (message, (came, level, size)) in (0..).zip(&frames) {
            let own: Vec<_> = parts.iter().filter(|part| part.0 == message).collect();
            let took: u64 = own.iter().map(|(_, begun, ended, _)| ended - begun).sum();
            prop_assert_eq!(took, (*size).max(46) + 38 + 24 * (own.len() as u64 - 1));
            prop_assert!(own.iter().all(|(_, begun, ended, _)| (*begun..*ended).all(|us| open(*level, us))));
            let ended = own[own.len() - 1].2;
            prop_assert!(ended > left[*level as usize] && own[0].1 >= *came);
            left[*level as usize] = ended;
        }
    }


    /// For any arrivals: parts do not overlap, each frame takes its time and 24 bytes for each
    /// interruption, the frames of a level leave in order, and no express frame waits for those below
    /// longer than [`LONGEST_WAIT`].
    #[test]
    fn express_frames_hardly_wait(
        from in 1u8..4, frames in prop::collection::vec((0u64..3000, 0u32..4, 1u64..1500), 1..60),
    ) {
        let mut frames = frames;
        frames.sort();
        let parts = parts(from, &frames);
        prop_assert!(parts.windows(2).all(|pair| pair[0].2 <= pair[1].1));
        let express = |message: u64| frames[message as usize].1 < u32::from(from);
        let mut left = [0u64; 4];
        for (message, (came, level, size)) in (0..).zip(&frames) {
            let own: Vec<_> = parts.iter().filter(|part| part.0 == message).collect();
            let took: u64 = own.iter().map(|(_, begun, ended, _)| ended - begun).sum();
            let frame = (*size).max(46) + 38;
            prop_assert_eq!(took, frame + 24 * (own.len() as u64 - 1));
            prop_assert!(own.len() == 1 || !express(message));
            let (begun, ended) = (own[0].1, own[own.len() - 1].2);
            prop_assert!(ended > left[*level as usize]);
            left[*level as usize] = ended;
            if express(message) {
                let lower = |part: &&(u64, u64, u64, bool)| !express(part.0);
                let waits = |part: &(u64, u64, u64, bool)| part.2.min(begun).saturating_sub(part.1.max(*came));
                let waited: u64 = parts.iter().filter(lower).map(waits).sum();
                prop_assert!(waited <= LONGEST_WAIT.get());
            }
        }
        let interruptions = parts.iter().filter(|part| !part.3).count();
        prop_assert!(interruptions <= (0..frames.len() as u64).filter(|message| express(*message)).count());
    }
}
