//! Ports over wires in memory: every lost frame is counted, and every slot is recovered.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex};

use laxity_machine::offload::Offload;
use laxity_qos::channel::Dropped;
use laxity_scenario::Scenario;
use laxity_units::Time;
use laxity_world::experiment::Experiment;
use laxity_world::{Input, Notice, Outside};
use proptest::prelude::*;

use super::{BATCH, Ports, Wire};

#[derive(Default)]
struct Memory {
    in_frames: Mutex<VecDeque<Vec<u8>>>,
    /// Frames in the second queue.
    first_class: Mutex<VecDeque<Vec<u8>>>,
    /// Remaining work of all frames.
    offload: Mutex<Offload>,
    out: Mutex<Vec<Vec<u8>>>,
    /// Whether bulks are refused, and how many were.
    refuses: Mutex<(bool, usize)>,
    /// Whether the interface is deleted.
    deleted: Mutex<bool>,
}

impl Wire for Memory {
    fn queues(&self) -> usize {
        2
    }

    fn receive(
        &self,
        queue: usize,
        buffer: &mut [u8],
        beyond: &mut [u8],
    ) -> io::Result<Option<(usize, Offload)>> {
        if *self.deleted.lock().unwrap() {
            return Err(io::Error::from_raw_os_error(libc::EBADFD));
        }
        let frame = [&self.in_frames, &self.first_class][queue].lock().unwrap().pop_front();
        Ok(frame.map(|frame| {
            let (here, there) = frame.split_at(frame.len().min(buffer.len()));
            buffer[..here.len()].copy_from_slice(here);
            beyond[..there.len()].copy_from_slice(there);
            (frame.len(), *self.offload.lock().unwrap())
        }))
    }

    fn send(&self, frame: &[u8], offload: Offload) -> io::Result<bool> {
        let mut refuses = self.refuses.lock().unwrap();
        if refuses.0 && offload.is_bulk() {
            refuses.1 += 1;
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.out.lock().unwrap().push(frame.to_vec());
        Ok(true)
    }
}

/// Two nodes with a port each; from the first a channel for UDP and, with `rest`, one for all.
fn experiment(rest: bool, network: &str) -> Experiment {
    let rest = if rest {
        r#"[[channel]]
        name = "rest"
        class = "best_effort"
        max_message = "1600 B"
        burst = 4
        message_slots = 4
        packet_slots = 4
        carries = "all"
        source = { kind = "none" }"#
    } else {
        ""
    };
    let text = format!(
        r#"
        title = "a test"
        [host]
        profile = "mc68040"
        [adapter]
        kind = "null"
        per_byte = "1 ns"
        [admission]
        formula = "off"
        [network]
        kind = "point_to_point"
        stations = 2
        {network}
        [run]
        time = "1 s"
        [[port]]
        node = 0
        interface = "a"
        [[port]]
        node = 1
        interface = "b"
        [[channel]]
        name = "udp"
        class = "best_effort"
        max_message = "1600 B"
        burst = 4
        message_slots = 4
        packet_slots = 4
        carries = "udp"
        source = {{ kind = "none" }}
        {rest}
        "#
    );
    let scenario = Scenario::from_text("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}"));
    scenario.first()
}

fn ports(experiment: &Experiment) -> (Ports<Memory>, Arc<Memory>, Arc<Memory>) {
    let (a, b) = (Arc::<Memory>::default(), Arc::<Memory>::default());
    let wires = BTreeMap::from([(0, a.clone()), (1, b.clone())]);
    (Ports::new(experiment, wires).unwrap(), a, b)
}

/// Frame with a number: UDP over IPv4, or an unknown protocol.
fn frame(udp: bool, number: u32) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend(if udp { [8, 0] } else { [8, 6] });
    frame.extend([0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend(number.to_be_bytes());
    frame
}

fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[34..38].try_into().unwrap())
}

/// The header is that of the frame in which a link with framing sends it.
#[test]
fn the_header_of_a_frame_is_no_payload_where_it_is_framed() {
    let size = |framed: bool, tagged: bool| {
        let mut experiment = experiment(true, "");
        experiment.networks[0].framed = framed;
        let (mut ports, a, _) = ports(&experiment);
        let mut frame = frame(true, 1);
        if tagged {
            frame.splice(12..12, [0x81, 0, 0, 7]);
        }
        a.in_frames.lock().unwrap().push_back(frame);
        let Some(Input::Message { size, .. }) = ports.next_input(Time::ZERO) else { panic!("it is carried") };
        size.get()
    };
    assert_eq!([size(false, false), size(false, true)], [38, 42]);
    assert_eq!([size(true, false), size(true, true)], [24, 24]);
}

#[test]
fn a_frame_goes_to_the_first_channel_that_carries_it() {
    let (mut ports, a, b) = ports(&experiment(true, ""));
    a.in_frames.lock().unwrap().extend([frame(false, 0), frame(true, 1)]);
    b.in_frames.lock().unwrap().push_back(frame(true, 2));
    let mut seen = Vec::new();
    while let Some(Input::Message { channel, size, handle }) = ports.next_input(Time::ZERO) {
        seen.push((channel, size.get()));
        ports.notice(Time::ZERO, Notice::Refused { channel, handle, cause: Some(Dropped::MessageQueue) });
    }
    assert_eq!(seen, [(1, 38), (0, 38)]);
    let counts = ports.counts();
    assert_eq!((counts.read, counts.unmatched, counts.refused, ports.held()), (3, 1, 2, 0));
}

#[test]
fn a_wake_reads_a_batch_and_says_that_there_is_more() {
    let (mut ports, a, _) = ports(&experiment(true, ""));
    a.in_frames.lock().unwrap().extend((0..2 * BATCH as u32 + 1).map(|n| frame(true, n)));
    let mut wakes = Vec::new();
    loop {
        let mut read = 0;
        while let Some(Input::Message { channel, handle, .. }) = ports.next_input(Time::ZERO) {
            read += 1;
            ports.notice(Time::ZERO, Notice::Refused { channel, handle, cause: Some(Dropped::MessageQueue) });
        }
        wakes.push(read);
        if !ports.more.load(std::sync::atomic::Ordering::Relaxed) {
            break;
        }
    }
    assert_eq!(wakes, [BATCH, BATCH, 1]);
}

#[test]
fn what_is_guaranteed_is_read_first_and_the_rest_does_not_starve() {
    let (mut ports, a, _) = ports(&experiment(true, ""));
    a.in_frames.lock().unwrap().extend((100..200).map(|n| frame(true, n)));
    a.first_class.lock().unwrap().extend((0..12).map(|n| frame(true, n)));
    let mut order = Vec::new();
    while order.len() < 16 {
        while let Some(Input::Message { channel, handle, .. }) = ports.next_input(Time::ZERO) {
            order.push(number(ports.store.frame(handle)));
            ports.notice(Time::ZERO, Notice::Refused { channel, handle, cause: Some(Dropped::MessageQueue) });
        }
    }
    assert_eq!(order, [0, 1, 2, 3, 100, 4, 5, 6, 7, 101, 8, 9, 10, 11, 102, 103]);
}

#[test]
fn a_bulk_is_frames_to_the_world_and_what_comes_late_is_written_together() {
    let spec = experiment(true, "");
    let (ports, a, b) = ports(&spec);
    let clock = Arc::new(Mutex::new(Time::ZERO));
    let hand = clock.clone();
    let mut ports = ports.timed_by(move || *hand.lock().unwrap());
    let mut bulk = frame(true, 0);
    bulk.truncate(34);
    bulk[23] = 6;
    bulk.extend([&[0; 12][..], &[0x50, 0x18], &[0; 6], &[9; 4500]].concat());
    a.in_frames.lock().unwrap().push_back(bulk);
    *a.offload.lock().unwrap() = Offload::of_bulk(false, 34, 1000);
    let mut taken = Vec::new();
    while let Some(Input::Message { channel, size, handle }) = ports.next_input(Time::ZERO) {
        ports.notice(Time::ZERO, Notice::Taken { channel, handle, message: taken.len() as u64 });
        taken.push(size.get());
    }
    assert_eq!(taken, [1054, 1054, 1054, 1054, 554]);
    let written = || b.out.lock().unwrap().iter().map(Vec::len).collect::<Vec<_>>();
    let us = |us| Time::ZERO + laxity_units::Span::from_us(us);
    // On time: written at once.
    *clock.lock().unwrap() = us(10);
    ports.notice(us(10), Notice::Delivered { channel: 1, message: 0 });
    assert_eq!(written(), [1054]);
    // Late: written with its successors, or when the world has caught up.
    *clock.lock().unwrap() = us(100);
    ports.notice(us(20), Notice::Delivered { channel: 1, message: 1 });
    ports.notice(us(30), Notice::Delivered { channel: 1, message: 2 });
    assert_eq!((written(), ports.counts().written), (vec![1054], 3));
    assert!(ports.more.load(std::sync::atomic::Ordering::Relaxed), "it asks to be asked");
    assert!(ports.next_input(us(100)).is_none());
    assert_eq!(written(), [1054, 2054]);
    // The last frame of a bulk ends the waiting, and so does a frame of another bulk.
    ports.notice(us(40), Notice::Delivered { channel: 1, message: 3 });
    ports.notice(us(50), Notice::Delivered { channel: 1, message: 4 });
    assert_eq!(written(), [1054, 2054, 1554]);
    let delays = ports.delays().unwrap();
    assert_eq!((delays.frames, delays.early, ports.counts().written), (5, 0, 5));
}

/// Datagram of 58 bytes with a number and an incomplete checksum.
fn datagram(port: u8, number: u32) -> Vec<u8> {
    let mut frame = frame(true, 0);
    frame[16..18].copy_from_slice(&[0, 44]);
    frame[20] = 0x40;
    let sum = |bytes: &[u8]| -> u32 {
        bytes.chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]]))).sum()
    };
    let folded = |sum: u32| ((sum & 0xffff) + (sum >> 16)) as u16;
    let ip = !folded(sum(&frame[14..34]));
    frame[24..26].copy_from_slice(&ip.to_be_bytes());
    let open = folded(sum(&frame[26..34]) + 17 + 24);
    frame.truncate(34);
    frame.extend([0, 7, 0, port, 0, 24]);
    frame.extend(open.to_be_bytes());
    frame.extend(number.to_be_bytes());
    frame.extend([5; 12]);
    frame
}

/// Ports that have taken datagrams of these flows, and their settable clock.
fn late(flows: &[u8]) -> (Ports<Memory>, Arc<Memory>, Arc<Memory>, Arc<Mutex<Time>>) {
    let (ports, a, b) = ports(&experiment(true, ""));
    let clock = Arc::new(Mutex::new(Time::ZERO));
    let hand = clock.clone();
    let mut ports = ports.timed_by(move || *hand.lock().unwrap());
    *a.offload.lock().unwrap() = Offload::of_datagram(34);
    a.in_frames.lock().unwrap().extend(flows.iter().zip(0..).map(|(flow, n)| datagram(*flow, n)));
    let mut message = 0;
    while message < flows.len() as u64 {
        while let Some(Input::Message { channel, handle, .. }) = ports.next_input(Time::ZERO) {
            ports.notice(Time::ZERO, Notice::Taken { channel, handle, message });
            message += 1;
        }
    }
    (ports, a, b, clock)
}

fn lengths(wire: &Memory) -> Vec<usize> {
    wire.out.lock().unwrap().iter().map(Vec::len).collect()
}

#[test]
fn datagrams_of_one_flow_that_come_late_are_written_together() {
    let us = |us| Time::ZERO + laxity_units::Span::from_us(us);
    let (mut ports, _, b, clock) = late(&[1, 1, 1, 1, 2, 2, 1, 1]);
    let deliver = |ports: &mut Ports<Memory>, at, message| {
        ports.notice(us(at), Notice::Delivered { channel: 0, message });
    };
    *clock.lock().unwrap() = us(10);
    deliver(&mut ports, 10, 0);
    assert_eq!(lengths(&b), [58], "in time: at once");
    *clock.lock().unwrap() = us(100);
    for message in 1..4 {
        deliver(&mut ports, 20, message);
    }
    assert_eq!((lengths(&b), ports.counts().written), (vec![58], 4));
    assert_eq!(ports.held(), 4, "of those that are on their way");
    deliver(&mut ports, 30, 4);
    assert_eq!(lengths(&b), [58, 90], "another flow lets go of them");
    assert!(ports.next_input(us(100)).is_none());
    assert_eq!(lengths(&b), [58, 90, 58], "and so does a world that has caught up");
    deliver(&mut ports, 40, 5);
    deliver(&mut ports, 50, 6);
    deliver(&mut ports, 60, 7);
    assert_eq!(lengths(&b), [58, 90, 58, 58, 74], "behind the last of a channel nothing is waited for");
    let delays = ports.delays().unwrap();
    assert_eq!((delays.frames, delays.early, ports.counts().written), (8, 0, 8));
    assert_eq!((ports.held(), ports.store.free()), (0, ports.store.slots()));
}

/// Sizes written at each wake if frames are delivered as they are read, `behind` us later.
fn as_read(behind: u64, frames: &[u32]) -> Vec<Vec<usize>> {
    let (mut ports, a, b, clock) = late(&[]);
    *clock.lock().unwrap() = Time::ZERO + laxity_units::Span::from_us(behind);
    let mut message = 0;
    let mut wakes = Vec::new();
    for come in frames {
        a.in_frames.lock().unwrap().extend((0..*come).map(|n| datagram(1, n)));
        while let Some(Input::Message { channel, handle, .. }) = ports.next_input(Time::ZERO) {
            ports.notice(Time::ZERO, Notice::Taken { channel, handle, message });
            ports.notice(Time::ZERO, Notice::Delivered { channel, message });
            message += 1;
        }
        wakes.push(std::mem::take(&mut *b.out.lock().unwrap()).iter().map(Vec::len).collect());
    }
    wakes
}

#[test]
fn what_is_delivered_as_it_is_read_waits_for_the_last_that_is_if_there_are_too_many() {
    let [all, three] = [BATCH, 3].map(|count| vec![42 + 16 * count]);
    let alone = |count| vec![58; count];
    let most = BATCH as u32;
    assert_eq!(as_read(5, &[2 * most + 3, 0, 0, 0]), [all.clone(), all.clone(), three.clone(), vec![]]);
    // On time: joined only while there are too many frames.
    assert_eq!(as_read(0, &[2 * most + 3, 0, 0, 3]), [alone(BATCH), all, three, alone(3)]);
    assert_eq!(as_read(0, &[1, 3, 1]), [alone(1), alone(3), alone(1)]);
}

#[test]
fn a_kernel_that_does_not_know_bulks_of_datagrams_is_asked_once_and_gets_every_frame() {
    let us = |us| Time::ZERO + laxity_units::Span::from_us(us);
    let (mut ports, _, b, clock) = late(&[1; 9]);
    b.refuses.lock().unwrap().0 = true;
    *clock.lock().unwrap() = us(100);
    for message in 0..4 {
        ports.notice(us(20), Notice::Delivered { channel: 0, message });
    }
    assert!(ports.next_input(us(100)).is_none());
    for message in 4..9 {
        ports.notice(us(30), Notice::Delivered { channel: 0, message });
    }
    let out = b.out.lock().unwrap().clone();
    assert_eq!(out, (0..9).map(|n| datagram(1, n)).collect::<Vec<_>>());
    assert_eq!(b.refuses.lock().unwrap().1, 1);
    let counts = ports.counts();
    assert_eq!((counts.written, counts.undeliverable, ports.held()), (9, 0, 0));
    assert_eq!((ports.errors().len(), ports.store.free()), (0, ports.store.slots()));
}

#[test]
fn a_deleted_interface_ends_the_run_once() {
    let (mut ports, a, _) = ports(&experiment(true, ""));
    a.in_frames.lock().unwrap().push_back(frame(false, 1));
    let at = Time::ZERO + laxity_units::Span::from_ms(5);
    assert!(ports.next_input(at).is_some() && ports.next_input(at).is_none());
    assert!(ports.gone().is_empty());
    *a.deleted.lock().unwrap() = true;
    ports.inlets.iter().for_each(super::Inlet::may_have);
    assert_eq!((ports.next_input(at), ports.next_input(at)), (Some(Input::Stop), None));
    assert!(matches!(&ports.gone()[..], [line] if line.contains("was deleted")), "{:?}", ports.gone());
    assert!(ports.errors().is_empty());
}

#[test]
fn without_a_free_slot_nothing_is_read() {
    let (mut ports, a, _) = ports(&experiment(false, ""));
    let (slots, kept) = (ports.store.slots() - ports.kept, ports.kept);
    a.in_frames.lock().unwrap().extend((0..slots as u32 + 50).map(|n| frame(true, n)));
    let mut handles = Vec::new();
    for _ in 0..slots {
        while let Some(Input::Message { handle, .. }) = ports.next_input(Time::ZERO) {
            handles.push(handle);
        }
    }
    assert_eq!((handles.len(), a.in_frames.lock().unwrap().len()), (slots, 50));
    // The last slots are for frames of real-time channels.
    a.first_class.lock().unwrap().extend((0..kept as u32 + 7).map(|n| frame(true, n)));
    for _ in 0..kept {
        while ports.next_input(Time::ZERO).is_some() {}
    }
    assert_eq!((ports.store.free(), a.first_class.lock().unwrap().len()), (0, 7));
    a.first_class.lock().unwrap().clear();
    for handle in handles.drain(..=kept) {
        ports.notice(Time::ZERO, Notice::Refused { channel: 0, handle, cause: None });
    }
    while let Some(Input::Message { handle, .. }) = ports.next_input(Time::ZERO) {
        handles.push(handle);
    }
    assert_eq!(ports.store.free(), kept);
    ports.notice(Time::ZERO, Notice::Refused { channel: 0, handle: handles[7], cause: None });
    assert!(ports.next_input(Time::ZERO).is_some(), "a freed slot is used again");
    assert!(ports.next_input(Time::ZERO).is_none());
}

#[test]
fn carrying_frames_takes_a_port() {
    let spec = Experiment { ports: Vec::new(), ..experiment(true, "") };
    let error = Ports::<Memory>::new(&spec, BTreeMap::new()).err().unwrap();
    assert!(error.contains("channel `udp`") && error.contains("node = 0"), "{error}");
}

proptest! {
    /// The world takes, refuses, loses and delivers arbitrarily; a message is delivered once, in
    /// order.
    #[test]
    fn what_is_delivered_is_what_was_sent_and_no_slot_is_lost(
        fates in proptest::collection::vec((0..4_u8, any::<bool>(), 0..3_usize), 1..2000),
    ) {
        let (mut ports, a, b) = ports(&experiment(true, ""));
        let mut world: [VecDeque<(u64, u32, bool)>; 2] = Default::default();
        let (mut taken, mut delivered) = ([0_u64; 2], Vec::new());
        for (n, (fate, udp, pending)) in fates.iter().enumerate() {
            a.in_frames.lock().unwrap().push_back(frame(*udp, n as u32));
            while let Some(Input::Message { channel, handle, .. }) = ports.next_input(Time::ZERO) {
                prop_assert_eq!(channel, usize::from(!udp));
                if *fate == 0 {
                    ports.notice(Time::ZERO, Notice::Refused { channel, handle, cause: Some(Dropped::MessageQueue) });
                    continue;
                }
                let message = taken[channel];
                taken[channel] += 1;
                ports.notice(Time::ZERO, Notice::Taken { channel, handle, message });
                world[channel].push_back((message, n as u32, *fate != 1));
            }
            for (channel, queue) in world.iter_mut().enumerate() {
                while queue.len() > *pending {
                    let (message, number, arrives) = queue.pop_front().unwrap();
                    if arrives {
                        ports.notice(Time::ZERO, Notice::Delivered { channel, message });
                        delivered.push(number);
                    }
                }
            }
        }
        let out: Vec<u32> = b.out.lock().unwrap().iter().map(|frame| number(frame)).collect();
        prop_assert_eq!(&out, &delivered);
        let counts = ports.counts();
        prop_assert_eq!((counts.strays, counts.written, counts.undeliverable), (0, out.len() as u64, 0));
        let gone = counts.refused + counts.written + counts.lost;
        prop_assert_eq!(counts.read, fates.len() as u64);
        prop_assert_eq!(counts.read - gone, ports.held() as u64);
    }

    #[test]
    fn where_frames_overtake_each_other_the_later_does_not_take_the_earlier_for_lost(
        order in Just((0..40_u64).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let network = "impairments = { reordering = 0.5, reorder_by = \"1 ms\" }";
        let (mut ports, a, b) = ports(&experiment(true, network));
        a.in_frames.lock().unwrap().extend((0..40).map(|n| frame(true, n)));
        let mut taken = 0;
        while taken < 40 {
            while let Some(Input::Message { channel, handle, .. }) = ports.next_input(Time::ZERO) {
                ports.notice(Time::ZERO, Notice::Taken { channel, handle, message: taken });
                taken += 1;
            }
        }
        for message in &order {
            ports.notice(Time::ZERO, Notice::Delivered { channel: 0, message: *message });
        }
        let out: Vec<u64> = b.out.lock().unwrap().iter().map(|frame| number(frame).into()).collect();
        prop_assert_eq!(out, order);
        prop_assert_eq!((ports.held(), ports.counts().strays), (0, 0));
    }
}
