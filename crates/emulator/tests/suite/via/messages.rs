//! Programs in separate processes that exchange messages through virtual interfaces of emulated
//! adapters. Order and accounting are asserted, no times.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::raw::{BELLS, QUEUES, Raw, write_send};
use super::support::{Role, Site, adapter, zero};
use laxity_model::via::Firmware;
use laxity_vi::provider::{Answer, ControlRequest, Memory};
use laxity_vi::{Address, Bandwidth, Descriptor, Nic, Reliability, Status, Vi, ViAttributes};

const PATIENCE: Option<Duration> = Some(Duration::from_secs(60));

/// Bytes of message `number`, all of which depend on it.
fn pattern(number: u64, length: usize) -> Vec<u8> {
    (0..length).map(|i| (number as usize * 31 + i * 7) as u8).collect()
}

/// Connects virtual interfaces of two processes by `discriminator`: the caller calls adapter 1.
fn connected(nic: &Nic, calls: bool, discriminator: u64, vi: &mut Vi) {
    if calls {
        vi.connect(Address { host: 1, discriminator }, PATIENCE).expect("the other side accepts");
    } else {
        let arrived = nic.wait_connection(discriminator, PATIENCE).expect("the other side calls");
        nic.accept(arrived, vi).expect("this side is idle");
    }
}

/// Sends `rounds` messages of every size and receives the responses, or responds.
fn ping_pong(socket: &std::path::Path, calls: bool, bandwidth: Bandwidth, rounds: u64) {
    const SIZES: [usize; 5] = [4, 64, 1024, 4096, 16384];
    let nic = Nic::open(socket).unwrap();
    let tag = nic.create_tag().unwrap();
    let memory = nic.register(2 << 14, tag, Default::default()).unwrap();
    let mut vi = nic.create_vi(&ViAttributes { bandwidth, ..ViAttributes::new(tag) }).unwrap();
    let room = [memory.segment(0..1 << 14)];
    vi.post_receive(&Descriptor::receive(&room)).unwrap();
    connected(&nic, calls, 7, &mut vi);
    let mut bytes = vec![0; 1 << 14];
    for number in 0..rounds {
        let size = SIZES[number as usize % SIZES.len()];
        let send = |vi: &mut Vi| {
            memory.write(1 << 14, &pattern(number, size));
            let segment = [memory.segment(1 << 14..(1 << 14) + size)];
            vi.post_send(&Descriptor::send(&segment).with_immediate(number as u32)).unwrap();
            let sent = vi.wait_send(PATIENCE).unwrap();
            assert!(sent.status.is_done() && sent.length == size as u32, "{sent:?}");
        };
        if calls {
            send(&mut vi);
        }
        let came = vi.wait_receive(PATIENCE).unwrap();
        assert!(came.status.is_done(), "{came:?}");
        assert_eq!((came.length, came.immediate), (size as u32, Some(number as u32)));
        memory.read(0, &mut bytes[..size]);
        assert_eq!(bytes[..size], pattern(number, size));
        vi.post_receive(&Descriptor::receive(&room)).unwrap();
        if !calls {
            send(&mut vi);
        }
    }
    println!("{rounds} rounds");
}

#[test]
fn two_processes_play_ping_pong_through_an_adapter_that_keeps_bandwidths() {
    let rate = Bandwidth::Constant { bytes_per_second: 10_000_000, message: 4096 };
    Role::new("ping").play(|socket| ping_pong(socket, true, rate, 500));
    Role::new("pong").play(|socket| ping_pong(socket, false, Bandwidth::None, 500));
    let site = Site::new(
        "via::messages::two_processes_play_ping_pong_through_an_adapter_that_keeps_bandwidths",
        adapter(Firmware::QualityOfService),
    );
    let players = [site.start("pong", 1), site.start("ping", 0)];
    players.into_iter().for_each(|player| assert!(player.ended_well().contains("500 rounds")));
    let served = site.end();
    assert_eq!(
        (served.tally.sent, served.tally.received, served.tally.lost, served.tally.errors),
        (1000, 1000, 0, 0)
    );
    assert_eq!(served.violations, Default::default());
}

#[test]
fn it_is_the_same_under_every_firmware_and_without_stage_times() {
    Role::new("ping").play(|socket| ping_pong(socket, true, Bandwidth::None, 100));
    Role::new("pong").play(|socket| ping_pong(socket, false, Bandwidth::None, 100));
    let firmwares =
        [Firmware::Sequential { overlap: false }, Firmware::Sequential { overlap: true }, Firmware::Parallel];
    for config in firmwares.map(adapter).into_iter().chain([zero(Firmware::QualityOfService)]) {
        let site =
            Site::new("via::messages::it_is_the_same_under_every_firmware_and_without_stage_times", config);
        let players = [site.start("pong", 1), site.start("ping", 0)];
        players.into_iter().for_each(|player| assert!(player.ended_well().contains("100 rounds")));
        assert_eq!(site.end().tally.received, 200, "{config:?}");
    }
}

/// A held message has no effect on later ones: its connection ends at once, and later messages
/// arrive on time and alone.
#[allow(clippy::disallowed_methods, reason = "how long it takes here is asked by no clock of an adapter")]
fn hold(socket: &std::path::Path) {
    let nics = [0, 1].map(|node: u32| Nic::open(socket.with_file_name(node.to_string())).unwrap());
    let tags = [0, 1].map(|node: usize| nics[node].create_tag().unwrap());
    let memory = [0, 1].map(|node: usize| nics[node].register(8192, tags[node], Default::default()).unwrap());
    let make = |node: usize, playout| {
        nics[node].create_vi(&ViAttributes { playout, ..ViAttributes::new(tags[node]) }).unwrap()
    };
    let post = |vi: &mut Vi| {
        (0..3).for_each(|_| vi.post_receive(&Descriptor::receive(&[memory[1].segment(0..4096)])).unwrap());
    };
    let meet = |from: &mut Vi, to: &Vi, discriminator: u64| {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                nics[1].accept(nics[1].wait_connection(discriminator, PATIENCE).unwrap(), to).unwrap();
            });
            from.connect(Address { host: 1, discriminator }, PATIENCE).unwrap();
        });
    };
    let send = |vi: &mut Vi, number: u64| {
        memory[0].write(0, &pattern(number, 64));
        vi.post_send(&Descriptor::send(&[memory[0].segment(0..64)])).unwrap();
        assert!(vi.wait_send(PATIENCE).unwrap().status.is_done());
    };
    // Held for an hour after its arrival.
    let (mut from, mut to) = (make(0, Duration::ZERO), make(1, Duration::from_secs(3600)));
    post(&mut to);
    meet(&mut from, &to, 1);
    send(&mut from, 1);
    let mut bytes = [0; 64];
    while bytes[..] != pattern(1, 64) {
        memory[1].read(0, &mut bytes);
    }
    assert!(to.poll_receive().is_none());
    to.disconnect().unwrap();
    for _ in 0..3 {
        assert!(to.wait_receive(PATIENCE).unwrap().status.has(Status::FLUSHED));
    }
    // The same virtual interface for other connections, with no playout delay and with another.
    for (discriminator, playout) in [(2, Duration::ZERO), (3, Duration::from_millis(40))] {
        let (mut from, attributes) =
            (make(0, Duration::ZERO), ViAttributes { playout, ..ViAttributes::new(tags[1]) });
        to.set(&attributes).unwrap();
        post(&mut to);
        meet(&mut from, &to, discriminator);
        let begun = Instant::now();
        send(&mut from, discriminator);
        assert_eq!(to.wait_receive(PATIENCE).unwrap().length, 64);
        // A tolerance for the difference of the clocks.
        assert!(begun.elapsed() >= playout * 9 / 10);
        // One message is still held at the end.
        send(&mut from, 9);
        if playout.is_zero() {
            assert_eq!(to.wait_receive(PATIENCE).unwrap().length, 64);
        }
        to.disconnect().unwrap();
        while to.poll_receive().is_some() {}
    }
    // A new virtual interface whose message has the number of the held one has its own playout
    // time.
    drop(to);
    let (mut from, mut to) = (make(0, Duration::ZERO), make(1, Duration::from_millis(300)));
    post(&mut to);
    meet(&mut from, &to, 4);
    let begun = Instant::now();
    (0..3).for_each(|number| send(&mut from, number));
    for _ in 0..3 {
        assert!(to.wait_receive(PATIENCE).unwrap().status.is_done());
        assert!(begun.elapsed() >= Duration::from_millis(270));
    }
    println!("goes on");
}

#[test]
fn what_is_held_ends_with_its_connection() {
    Role::new("hold").play(hold);
    for config in [adapter(Firmware::QualityOfService), zero(Firmware::Parallel)] {
        let site = Site::new("via::messages::what_is_held_ends_with_its_connection", config);
        assert!(site.start("hold", 0).ended_well().contains("goes on"));
        assert_eq!(site.end().violations, Default::default());
    }
}

/// Writes random words to all memory shared with the adapter at full speed until it is ended, and
/// restarts as another process after a number of actions: doorbells and their count, random or
/// nearly valid descriptors, the state, payloads; and sends random requests.
fn rage(socket: &std::path::Path, seed: u64) -> ! {
    let mut state = seed;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    };
    let mut began = false;
    loop {
        let mut raw = Raw::open(socket);
        let (tag, _) = raw.make(ControlRequest::CreateTag);
        let (memory, file) = Memory::create("rage", 1 << 16).unwrap();
        let register = ControlRequest::Register { base: 0, length: 1 << 16, tag, write: true, read: true };
        let (Answer::Made(handle), _) = raw.ask(register, Some(&file)) else {
            panic!("it is asked for rightly")
        };
        // The adapter may first have to finish those of the previous process.
        let vis: Vec<_> = (0..4).map_while(|_| raw.try_vi(tag, Reliability::Unreliable)).collect();
        if vis.len() < 4 {
            continue;
        }
        // Two of them are connected to each other, so that some messages have a destination.
        let host = (socket.ends_with("1")).into();
        let discriminator = seed << 32;
        raw.ask(ControlRequest::Connect { vi: vis[0].0, to: Address { host, discriminator }, from: 0 }, None);
        if let (Answer::Called { call, .. }, _) = raw.ask(ControlRequest::Await(discriminator), None) {
            raw.ask(ControlRequest::Accept { call, vi: vis[1].0 }, None);
        }
        if !std::mem::replace(&mut began, true) {
            println!("rages");
        }
        for _ in 0..20_000 {
            let (vi, queues) = &vis[random() as usize % vis.len()];
            match random() % 16 {
                0 => raw.bells.word32(0).store(random() as u32, Ordering::Release),
                1 => {
                    raw.bells
                        .word64(8 * (random() as usize % (BELLS / 8)))
                        .store(random(), Ordering::Relaxed);
                }
                2..=4 => {
                    queues.word64(8 * (random() as usize % (QUEUES / 8))).store(random(), Ordering::Relaxed);
                }
                5..=9 => {
                    let bytes = random() as u32 % 5000;
                    let control = [0x100, 0x100, 0x100, 0x101, 0x102, random()][random() as usize % 6];
                    let segment = (
                        random() % (1 << 16),
                        [handle, random() as u32][usize::from(random() % 8 == 0)],
                        bytes,
                    );
                    write_send(queues, random() as usize, control, u64::from(bytes), segment);
                }
                10..=12 => raw.ring(u64::from(*vi) | ((1 + random() % 8) << 32) | ((random() % 2) << 48)),
                13 => raw.ring((random() % 64) | ((random() % 300) << 32) | ((random() % 3) << 48)),
                14 => memory.word64(8 * (random() as usize % (1 << 13))).store(random(), Ordering::Relaxed),
                _ if random() % 64 == 0 => {
                    // All requests but taking calls for which other programs wait.
                    let mut words = [0; 16];
                    words
                        .iter_mut()
                        .for_each(|word| *word = [random() % 16, random()][usize::from(random() % 4 == 0)]);
                    words[0] = [random() % 11, 14, 15, 99][random() as usize % 4];
                    if raw.say(&words, (random() % 8 == 0).then_some(&file)).is_none() {
                        break;
                    }
                }
                _ => {}
            }
        }
    }
}

#[test]
fn what_a_hostile_process_does_others_do_not_notice() {
    let rate = Bandwidth::Constant { bytes_per_second: 1_000_000, message: 4096 };
    Role::new("ping").play(|socket| ping_pong(socket, true, rate, 2000));
    Role::new("pong").play(|socket| ping_pong(socket, false, rate, 2000));
    Role::new("slow ping").play(|socket| ping_pong(socket, true, rate, 30));
    Role::new("slow pong").play(|socket| ping_pong(socket, false, rate, 30));
    Role::new("rage").play(|socket| rage(socket, 0x9e37_79b9));
    Role::new("more rage").play(|socket| rage(socket, 0x1234_5677));
    let test = "via::messages::what_a_hostile_process_does_others_do_not_notice";
    for (config, rounds, parts) in [
        (zero(Firmware::QualityOfService), 2000, ["pong", "ping"]),
        (zero(Firmware::Parallel), 2000, ["pong", "ping"]),
        (adapter(Firmware::QualityOfService), 30, ["slow pong", "slow ping"]),
    ] {
        let site = Site::new(test, config);
        let raging = [site.start("rage", 0), site.start("more rage", 1)].map(|mut hostile| {
            hostile.waits_for("rages");
            hostile
        });
        let players = [site.start(parts[0], 1), site.start(parts[1], 0)];
        let all = format!("{rounds} rounds");
        players.into_iter().for_each(|player| assert!(player.ended_well().contains(&all)));
        drop(raging);
        let served = site.end();
        let (done, tally) = (served.violations, served.tally);
        println!("{done:?} {tally:?}");
        assert!(tally.received >= 2 * rounds);
        // Where stages take time, a run may end before all kinds have occurred.
        let all = done.garbled_doorbells > 0 && done.overruns > 0 && tally.errors > 0;
        assert!(done.foreign_doorbells > 0 && (all || rounds < 2000), "it was hostile: {done:?} {tally:?}");
    }
}
