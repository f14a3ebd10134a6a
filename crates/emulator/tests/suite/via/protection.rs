//! Violations affect only their own program: invalid descriptors, false lengths, foreign virtual
//! interfaces, deregistered memory.

use std::io::Cursor;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::raw::{Raw, sent, write_send};
use super::support::{Role, Site, adapter, results, zero};
use laxity_emulator::log::Log;
use laxity_emulator::via::replay;
use laxity_model::via::{Engine, Engines, Firmware, ViaConfig};
use laxity_units::Span;
use laxity_vi::provider::{ControlRequest, Memory};
use laxity_vi::{
    Access, Address, Bandwidth, Descriptor, Nic, Region, RegionTag, Reliability, Segment, State, Status, Vi,
    ViAttributes, ViFault, ViRefusal,
};

const PATIENCE: Option<Duration> = Some(Duration::from_secs(60));

/// Program at an adapter, with one virtual interface.
struct Program {
    nic: Nic,
    tag: RegionTag,
    memory: Region,
    vi: Vi,
}

impl Program {
    fn new(socket: &Path, reliability: Reliability) -> Self {
        let nic = Nic::open(socket).unwrap();
        let tag = nic.create_tag().unwrap();
        let access = Access { rdma_write: true, rdma_read: true };
        let memory = nic.register(1 << 16, tag, access).unwrap();
        let attributes = ViAttributes { reliability, access, ..ViAttributes::new(tag) };
        let vi = nic.create_vi(&attributes).unwrap();
        Self { nic, tag, memory, vi }
    }

    fn receive(&mut self, bytes: std::ops::Range<usize>) {
        self.vi.post_receive(&Descriptor::receive(&[self.memory.segment(bytes)])).unwrap();
    }

    fn send(&mut self, segments: &[Segment]) -> Status {
        self.vi.post_send(&Descriptor::send(segments)).unwrap();
        self.vi.wait_send(PATIENCE).unwrap().status
    }
}

/// Programs at both adapters of `site`, connected.
fn pair(site: &Site, reliability: Reliability) -> (Program, Program) {
    pair_at(site, reliability, 3)
}

fn pair_at(site: &Site, reliability: Reliability, discriminator: u64) -> (Program, Program) {
    let [mut here, there] = [0, 1].map(|node| Program::new(&site.socket(node), reliability));
    std::thread::scope(|threads| {
        let accepts = threads.spawn(|| {
            let arrived = there.nic.wait_connection(discriminator, PATIENCE).unwrap();
            there.nic.accept(arrived, &there.vi).unwrap();
        });
        here.vi.connect(Address { host: 1, discriminator }, PATIENCE).unwrap();
        accepts.join().unwrap();
    });
    (here, there)
}

fn site(test: &'static str) -> Site {
    Site::new(test, zero(Firmware::QualityOfService))
}

#[test]
fn a_segment_that_is_not_all_ones_own_is_a_protection_error() {
    let site = site("via::protection::a_segment_that_is_not_all_ones_own_is_a_protection_error");
    let (mut here, mut there) = pair(&site, Reliability::Unreliable);
    there.receive(0..100);
    let good = here.memory.segment(0..10);
    let other_tag = here.nic.create_tag().unwrap();
    let tagged = here.nic.register(100, other_tag, Access::default()).unwrap();
    let gone = here.nic.register(100, here.tag, Access::default()).unwrap().segment(0..10);
    for bad in [
        Segment { handle: good.handle + 1, ..good },
        Segment { address: good.address - 1, ..good },
        Segment { address: good.address + (1 << 16) - 9, ..good },
        Segment { address: u64::MAX - 3, ..good },
        tagged.segment(0..10),
        there.memory.segment(0..10),
        gone,
    ] {
        let status = here.send(&[good, bad]);
        assert!(status.has(Status::PROTECTION_ERROR.and(Status::DONE)), "{bad:?}: {status:?}");
    }
    assert_eq!(here.vi.state(), State::Connected, "unreliable, it goes on");
    here.memory.write(0, b"after all");
    assert!(here.send(&[good]).is_done());
    let came = there.vi.wait_receive(PATIENCE).unwrap();
    assert_eq!((came.length, came.status.is_done()), (10, true), "and nothing came of the others");
    assert_eq!(site.end().tally.errors, 7);
}

#[test]
fn a_message_that_has_no_room_is_a_length_error_and_breaks_what_is_reliable() {
    let site =
        site("via::protection::a_message_that_has_no_room_is_a_length_error_and_breaks_what_is_reliable");
    for reliability in [Reliability::Unreliable, Reliability::Reliable] {
        let (mut here, mut there) = pair(&site, reliability);
        there.receive(0..8);
        there.receive(8..32);
        let nine = [here.memory.segment(0..9)];
        assert!(here.send(&nine).is_done());
        assert!(there.vi.wait_receive(PATIENCE).unwrap().status.has(Status::LENGTH_ERROR));
        match reliability {
            Reliability::Unreliable => {
                assert!(here.send(&nine).is_done());
                assert!(there.vi.wait_receive(PATIENCE).unwrap().status.is_done());
            }
            Reliability::Reliable => {
                assert!(there.vi.wait_receive(PATIENCE).unwrap().status.has(Status::FLUSHED));
                assert_eq!(there.vi.state(), State::Error);
                while here.vi.state() != State::Error {
                    std::thread::yield_now();
                }
                assert!(here.send(&nine).has(Status::FLUSHED), "nobody is there any more");
                here.vi.disconnect().unwrap();
                assert_eq!(here.vi.state(), State::Idle);
            }
        }
    }
    site.end();
}

#[test]
fn a_message_without_a_descriptor_is_lost_or_breaks_what_is_reliable() {
    let site = site("via::protection::a_message_without_a_descriptor_is_lost_or_breaks_what_is_reliable");
    let (mut here, mut there) = pair(&site, Reliability::Unreliable);
    let segment = [here.memory.segment(0..4)];
    for _ in 0..3 {
        assert!(here.send(&segment).is_done());
    }
    there.receive(0..4);
    assert!(there.vi.wait_receive(Some(Duration::ZERO)).is_err_and(|error| error.is(ViRefusal::Timeout)));
    drop((here, there));
    let (mut here, there) = pair(&site, Reliability::Reliable);
    let segment = [here.memory.segment(0..4)];
    assert!(here.send(&segment).is_done());
    while (here.vi.state(), there.vi.state()) != (State::Error, State::Error) {
        std::thread::yield_now();
    }
    let faults = (here.vi.fault(), there.vi.fault());
    assert_eq!(faults, (Some(ViFault::ConnectionLost), Some(ViFault::ReceiveQueueEmpty)));
    assert_eq!(site.end().tally.lost, 4);
}

#[test]
fn rdma_touches_what_is_registered_for_it_and_nothing_else() {
    let site = site("via::protection::rdma_touches_what_is_registered_for_it_and_nothing_else");
    let (mut here, mut there) = pair(&site, Reliability::Unreliable);
    here.memory.write(0, b"written there");
    there.memory.write(500, b"and this is read");
    let segments = [here.memory.segment(0..8), here.memory.segment(8..13)];
    here.vi.post_send(&Descriptor::rdma_write(&segments, there.memory.remote(100))).unwrap();
    there.receive(0..0);
    let announced = Descriptor::rdma_write(&segments, there.memory.remote(200)).with_immediate(9);
    here.vi.post_send(&announced).unwrap();
    let into = [here.memory.segment(1000..1016)];
    here.vi.post_send(&Descriptor::rdma_read(&into, there.memory.remote(500))).unwrap();
    here.vi.post_send(&Descriptor::send(&segments)).unwrap();
    let statuses: Vec<Status> = (0..4).map(|_| here.vi.wait_send(PATIENCE).unwrap().status).collect();
    let kinds = [Status::RDMA_WRITE, Status::RDMA_WRITE, Status::RDMA_READ, Status::default()];
    assert_eq!(statuses, kinds.map(|kind| Status::DONE.and(kind)), "in the order in which they were posted");
    let came = there.vi.wait_receive(PATIENCE).unwrap();
    assert_eq!((came.length, came.immediate), (13, Some(9)));
    assert!(came.status.has(Status::REMOTE_RDMA_WRITE));
    let at = |memory: &Region, offset: usize, length: usize| {
        let mut bytes = vec![0; length];
        memory.read(offset, &mut bytes);
        String::from_utf8(bytes).unwrap()
    };
    assert_eq!(at(&there.memory, 100, 14), "written there\0");
    assert_eq!(at(&there.memory, 200, 13), "written there");
    assert_eq!(at(&here.memory, 1000, 16), "and this is read");
    // Memory that is not registered for RDMA is not written, and bytes outside of it are not read.
    let closed = there.nic.register(100, there.tag, Access::default()).unwrap();
    for to in [closed.remote(0), there.memory.remote((1 << 16) - 12)] {
        here.vi.post_send(&Descriptor::rdma_write(&segments, to)).unwrap();
        assert!(here.vi.wait_send(PATIENCE).unwrap().status.is_done(), "unreliable, nobody is told");
        here.vi.post_send(&Descriptor::rdma_read(&into, to)).unwrap();
        let status = here.vi.wait_send(PATIENCE).unwrap().status;
        assert!(status.has(Status::RDMA_PROTECTION_ERROR.and(Status::RDMA_READ)), "{status:?}");
    }
    assert_eq!(at(&closed, 0, 13), "\0".repeat(13));
    assert_eq!(at(&here.memory, 1000, 16), "and this is read");
    let served = site.end();
    assert_eq!((served.violations.rdma, served.tally.lost), (4, 1));
}

#[test]
fn memory_that_is_given_back_in_mid_transfer_is_not_touched() {
    // A transfer of a tenth of a second leaves time to deregister memory.
    let slow = Engine { startup: Span::from_ms(100), per_byte: Span::ZERO };
    let engines = Engines { down: slow, ..zero(Firmware::QualityOfService).engines };
    let config = ViaConfig { engines, ..zero(Firmware::QualityOfService) };
    let site = Site::new("via::protection::memory_that_is_given_back_in_mid_transfer_is_not_touched", config);
    let (mut here, mut there) = pair(&site, Reliability::Unreliable);
    there.receive(0..16);
    there.receive(16..32);
    let given_back = here.nic.register(16, here.tag, Access::default()).unwrap();
    let segment = [given_back.segment(0..16)];
    here.vi.post_send(&Descriptor::send(&segment)).unwrap();
    drop(given_back);
    let early = here.vi.wait_send(PATIENCE).unwrap().status;
    // Overwritten in mid-transfer: the sent bytes are a whole copy from the time of the transfer.
    here.memory.write(0, &[1; 16]);
    let segment = [here.memory.segment(0..16)];
    here.vi.post_send(&Descriptor::send(&segment)).unwrap();
    here.memory.write(0, &[2; 16]);
    assert!(here.vi.wait_send(PATIENCE).unwrap().status.is_done());
    here.memory.write(0, &[3; 16]);
    if early.is_done() {
        println!("this process stood still for longer than the transfer took");
        there.vi.wait_receive(PATIENCE).unwrap();
    } else {
        assert!(early.has(Status::PROTECTION_ERROR));
    }
    assert!(there.vi.wait_receive(PATIENCE).unwrap().status.is_done());
    let mut came = [0; 16];
    there.memory.read(if early.is_done() { 16 } else { 0 }, &mut came);
    assert!(came == [1; 16] || came == [2; 16], "{came:?}");
    site.end();
}

#[test]
fn descriptors_and_doorbells_that_lie_complete_in_error_or_break_their_own() {
    let site =
        site("via::protection::descriptors_and_doorbells_that_lie_complete_in_error_or_break_their_own");
    let (mut here, mut there) = pair(&site, Reliability::Unreliable);
    let mut raw = Raw::open(&site.socket(0));
    let (tag, _) = raw.make(ControlRequest::CreateTag);
    let (vi, queues) = raw.try_vi(tag, Reliability::Unreliable).unwrap();
    let (_own, file) = Memory::create("raw", 4096).unwrap();
    let register = |tag, length| ControlRequest::Register { base: 0, length, tag, write: false, read: false };
    let handle = match raw.ask(register(tag, 4096), Some(&file)) {
        (laxity_vi::provider::Answer::Made(handle), _) => handle,
        (answer, _) => panic!("{answer:?}"),
    };
    let connected = Program::new(&site.socket(1), Reliability::Unreliable);
    raw.ask(ControlRequest::Connect { vi, to: Address { host: 1, discriminator: 8 }, from: 0 }, None);
    let arrived = connected.nic.wait_connection(8, PATIENCE).unwrap();
    connected.nic.accept(arrived, &connected.vi).unwrap();
    let lies = [
        (0x0103, 10, (0, handle, 10), Status::FORMAT_ERROR),
        (0xff00, 10, (0, handle, 10), Status::FORMAT_ERROR),
        (0x4_0100, 10, (0, handle, 10), Status::FORMAT_ERROR),
        (0x0100, 11, (0, handle, 10), Status::LENGTH_ERROR),
        (0x0100, u64::MAX, (0, handle, u32::MAX), Status::LENGTH_ERROR),
        (0x0100, 10, (4087, handle, 10), Status::PROTECTION_ERROR),
        (0x0100, 10, (0, here.memory.handle() + 256, 10), Status::PROTECTION_ERROR),
        (0x0100, 10, (0, handle, 10), Status::DONE),
    ];
    for (number, (control, length, segment, error)) in lies.into_iter().enumerate() {
        write_send(&queues, number, control, length, segment);
        raw.ring(u64::from(vi) | 1 << 32);
        let status = Status(sent(&queues, number));
        assert!(status.has(error) && status.has(Status::DONE), "{number}: {status:?}");
    }
    // For foreign virtual interfaces, and for none at all.
    for other in [here.vi.id(), there.vi.id(), u32::MAX] {
        raw.ring(u64::from(other) | 1 << 32);
        raw.ring(u64::from(other) | 1 << 32 | 1 << 48);
    }
    raw.ring(7 << 48 | u64::from(vi));
    // More descriptors than the queue holds break this virtual interface only.
    raw.ring(u64::from(vi) | 257 << 32);
    let broken = State::Error as u32 | (ViFault::Overrun as u32) << 8;
    while queues.word32(0).load(Ordering::Acquire) != broken {
        std::thread::yield_now();
    }
    while connected.vi.fault() != Some(ViFault::ConnectionLost) {
        std::thread::yield_now();
    }
    there.receive(0..4);
    let segment = [here.memory.segment(0..4)];
    assert!(here.send(&segment).is_done() && there.vi.wait_receive(PATIENCE).unwrap().status.is_done());
    // An invalid count of doorbells loses them, and the next is read again.
    raw.bells.word32(0).store(0x8000_0000, Ordering::Release);
    raw.ask(ControlRequest::CreateTag, None);
    drop((raw, connected));
    let violations = site.end().violations;
    assert_eq!((violations.foreign_doorbells, violations.overruns, violations.garbled_doorbells), (6, 1, 2));
}

#[test]
fn what_is_asked_for_wrongly_is_refused() {
    let site = Site::new(
        "via::protection::what_is_asked_for_wrongly_is_refused",
        adapter(Firmware::QualityOfService),
    );
    let raw = Raw::open(&site.socket(0));
    let (tag, _) = raw.make(ControlRequest::CreateTag);
    let (_memory, file) = Memory::create("raw", 4096).unwrap();
    let register =
        |tag, base, length| ControlRequest::Register { base, length, tag, write: true, read: true };
    // Temporary file, which could shrink under the adapter and is writable by others.
    let path = std::env::temp_dir().join(format!("laxity-vi-unsealed-{}", std::process::id()));
    let unsealed = std::fs::File::create_new(&path).unwrap();
    unsealed.set_len(4096).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(raw.refused(register(tag, 0, 4096), Some(&unsealed.into())), ViRefusal::InvalidParameter);
    assert_eq!(raw.refused(register(tag, 0, 4097), Some(&file)), ViRefusal::InvalidParameter, "shorter");
    assert_eq!(raw.refused(register(tag, 0, 1 << 40), Some(&file)), ViRefusal::Resource);
    assert_eq!(raw.refused(register(tag, u64::MAX - 9, 4096), Some(&file)), ViRefusal::InvalidTag);
    assert_eq!(raw.refused(register(tag + 1, 0, 4096), Some(&file)), ViRefusal::InvalidTag);
    assert_eq!(raw.refused(register(tag, 0, 4096), None), ViRefusal::InvalidParameter);
    assert_eq!(raw.refused(ControlRequest::CreateTag, Some(&file)), ViRefusal::InvalidParameter);
    assert_eq!(raw.refused(ControlRequest::Open, None), ViRefusal::InvalidParameter, "it is open");
    assert_eq!(raw.refused(ControlRequest::DestroyVi(0), None), ViRefusal::InvalidParameter);
    assert_eq!(raw.refused(ControlRequest::CreateQueue(0), None), ViRefusal::InvalidParameter);
    let create = |tag, bandwidth, queues| ControlRequest::CreateVi {
        tag,
        reliability: Reliability::Unreliable,
        write: false,
        read: false,
        bandwidth,
        queues,
        playout: 0,
    };
    assert_eq!(raw.refused(create(9, Bandwidth::None, [None; 2]), None), ViRefusal::InvalidTag);
    assert_eq!(raw.refused(create(tag, Bandwidth::None, [Some(0), None]), None), ViRefusal::InvalidParameter);
    let rate = |bytes_per_second| Bandwidth::Constant { bytes_per_second, message: 4096 };
    assert_eq!(raw.refused(create(tag, rate(110_000_000), [None; 2]), None), ViRefusal::InvalidQos);
    let (vi, _) = raw.make(create(tag, rate(60_000_000), [None; 2]));
    assert_eq!(
        raw.refused(create(tag, rate(50_000_000), [None; 2]), None),
        ViRefusal::InvalidQos,
        "what is left is 49"
    );
    assert_eq!(raw.refused(ControlRequest::Renegotiate(vi, rate(110_000_000)), None), ViRefusal::InvalidQos);
    raw.ask(ControlRequest::Renegotiate(vi, rate(10_000_000)), None);
    raw.make(create(tag, rate(50_000_000), [None; 2]));
    let nowhere = ControlRequest::Connect { vi, to: Address { host: 2, discriminator: 0 }, from: 0 };
    assert_eq!(raw.refused(nowhere, None), ViRefusal::NotReachable);
    assert_eq!(raw.refused(ControlRequest::Accept { call: 1, vi }, None), ViRefusal::NoMatch);
    assert_eq!(raw.refused(ControlRequest::DestroyTag(tag), None), ViRefusal::Resource, "it is in use");
    let other = Raw::open(&site.socket(0));
    for theirs in [
        ControlRequest::DestroyVi(vi),
        ControlRequest::Disconnect(vi),
        ControlRequest::Renegotiate(vi, Bandwidth::None),
    ] {
        assert_eq!(other.refused(theirs, None), ViRefusal::InvalidParameter, "it is another process's");
    }
    for _ in 2..64 {
        raw.make(create(tag, Bandwidth::None, [None; 2]));
    }
    assert_eq!(raw.refused(create(tag, Bandwidth::None, [None; 2]), None), ViRefusal::Resource);
    assert_eq!(
        raw.say(&[99; 16], None),
        Some(laxity_vi::provider::Answer::Refused(ViRefusal::InvalidParameter))
    );
    site.end();
}

#[test]
fn a_process_that_dies_leaves_nothing_and_its_partner_knows() {
    Role::new("dies").play(|socket| {
        let mut program = Program::new(socket, Reliability::Unreliable);
        program.vi.connect(Address { host: 1, discriminator: 3 }, PATIENCE).unwrap();
        let segment = [program.memory.segment(0..4)];
        program.memory.write(0, b"last");
        program.vi.post_send(&Descriptor::send(&segment)).unwrap();
        program.vi.wait_send(PATIENCE).unwrap();
        std::process::abort();
    });
    let test = "via::protection::a_process_that_dies_leaves_nothing_and_its_partner_knows";
    let site = Site::new(test, adapter(Firmware::QualityOfService));
    let mut there = Program::new(&site.socket(1), Reliability::Unreliable);
    there.receive(0..4);
    there.receive(4..8);
    for _ in 0..3 {
        let dying = site.start("dies", 0);
        let arrived = there.nic.wait_connection(3, PATIENCE).unwrap();
        there.nic.accept(arrived, &there.vi).unwrap();
        let came = there.vi.wait_receive(PATIENCE).unwrap();
        assert!(came.status.is_done(), "what was sent before comes: {came:?}");
        let flushed = there.vi.wait_receive(PATIENCE).unwrap();
        assert!(flushed.status.has(Status::FLUSHED), "{flushed:?}");
        dying.ended_badly();
        assert_eq!(there.vi.state(), State::Error);
        there.vi.disconnect().unwrap();
        there.receive(0..4);
        there.receive(4..8);
    }
    drop(there);
    let served = site.end();
    assert_eq!((served.tally.sent, served.tally.received, served.tally.lost), (3, 3, 0));
}

#[test]
fn what_was_on_its_way_when_a_connection_ended_comes_to_nothing() {
    let slow = Engine { startup: Span::from_ms(100), per_byte: Span::ZERO };
    let engines = Engines { up: slow, ..zero(Firmware::QualityOfService).engines };
    let config = ViaConfig { engines, ..zero(Firmware::QualityOfService) };
    let site =
        Site::new("via::protection::what_was_on_its_way_when_a_connection_ended_comes_to_nothing", config);
    let (mut here, mut there) = pair(&site, Reliability::Unreliable);
    there.receive(0..4);
    assert!(here.send(&[here.memory.segment(0..4)]).is_done());
    there.vi.disconnect().unwrap();
    if there.vi.wait_receive(PATIENCE).unwrap().status.is_done() {
        println!("this process stood still for longer than the transfer took");
    } else {
        // A receive buffer of a new connection does not receive messages of the last one.
        there.receive(0..4);
        let came = there.vi.wait_receive(Some(Duration::from_millis(300)));
        assert!(came.as_ref().is_err_and(|error| error.is(ViRefusal::Timeout)), "{came:?}");
        assert_eq!(site.end().tally.received, 0);
    }
}

/// A log truncated anywhere is replayed up to there; a modified one is refused, or is another run,
/// and never ends the program.
#[test]
fn a_log_that_is_cut_off_or_damaged_is_known_for_that() {
    let mut site = site("via::protection::a_log_that_is_cut_off_or_damaged_is_known_for_that");
    let (mut here, mut there) = pair(&site, Reliability::Unreliable);
    for number in 0..40 {
        there.receive(0..100);
        let segment = here.memory.segment(number..number + 50);
        assert!(here.send(&[segment]).is_done());
        there.vi.wait_receive(PATIENCE).unwrap();
    }
    drop((here, there));
    let served = site.end_once();
    let (log, setup) = (site.log(), site.setup());
    let replayed =
        |bytes: &[u8]| replay(Log::open(Cursor::new(bytes.to_vec())).ok()?, setup, Vec::new()).ok();
    let whole = replayed(&log).unwrap();
    assert_eq!(whole.served.departures, served.departures);
    // The length of the first block, which has the header, is its first number.
    let magic = log.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let length = u32::from_le_bytes(log[magic..magic + 4].try_into().unwrap()) as usize;
    let entries = magic + 8 + length;
    for cut in (entries..log.len()).step_by(97) {
        let part = replayed(&log[..cut]).unwrap_or_else(|| panic!("cut off at {cut}"));
        assert!(part.cut.is_some() && part.served.end <= served.end);
    }
    for place in (entries..log.len()).step_by(31) {
        let mut damaged = log.clone();
        damaged[place] ^= 0x55;
        if let Some(other) = replayed(&damaged) {
            assert!(other.cut.is_some(), "at {place}");
        }
    }
}

/// A call at discriminator 1 is assigned to the first channel of the file, and its responses to the
/// responding channel; calls at others are not assigned.
#[test]
fn a_program_is_the_channel_at_whose_place_it_calls() {
    for (discriminator, is) in [(1, true), (2, false), (0, false), (u64::MAX, false)] {
        let site = site("via::protection::a_program_is_the_channel_at_whose_place_it_calls");
        let (mut here, mut there) = pair_at(&site, Reliability::Unreliable, discriminator);
        (0..3).for_each(|_| there.receive(0..100));
        here.receive(0..100);
        let of = |program: &Program, bytes| [program.memory.segment(0..bytes)];
        for bytes in [10, 20, 30] {
            assert!(here.send(&of(&here, bytes)).is_done());
            there.vi.wait_receive(PATIENCE).unwrap();
        }
        assert!(there.send(&of(&there, 40)).is_done());
        here.vi.wait_receive(PATIENCE).unwrap();
        // It is lost without a descriptor; unreadable memory is not sent.
        assert!(here.send(&of(&here, 50)).is_done());
        assert!(here.send(&[Segment { handle: 0, ..of(&here, 60)[0] }]).is_error());
        // A read is no message of a channel.
        let remote = there.memory.remote(0);
        here.vi.post_send(&Descriptor::rdma_read(&of(&here, 8), remote)).unwrap();
        assert!(here.vi.wait_send(PATIENCE).unwrap().status.is_done());
        drop((here, there));
        let run = results(&site.end());
        if !is {
            assert!(run.channels.is_empty(), "{:?}", run.channels);
            continue;
        }
        let [ping, pong] = &run.channels[..] else { panic!("{:?}", run.channels) };
        assert_eq!((&ping.name[..], ping.messages, ping.delivered), ("ping", 5, Some(3)));
        assert_eq!((ping.completed, ping.drops["no_descriptor"]), (4, 1));
        assert_eq!((&pong.name[..], pong.messages, pong.delivered, pong.completed), ("pong", 1, Some(1), 1));
        assert_eq!(ping.delivery.as_ref().unwrap().count, 3);
        assert!(ping.throughput > 0.0 && ping.delivery_bound.is_none());
    }
}
