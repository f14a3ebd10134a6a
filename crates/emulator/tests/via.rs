//! Programs that exchange messages through virtual interfaces of emulated adapters, each a process of its own. What is asserted is order
//! and account, never milliseconds.

#![cfg(target_os = "linux")]

#[path = "via/support.rs"]
mod support;

use std::time::Duration;

use laxity_model::via::Firmware;
use laxity_vi::{Address, Bandwidth, Descriptor, Nic, Vi, ViAttributes};
use support::{Role, Site, adapter, zero};

const PATIENCE: Option<Duration> = Some(Duration::from_secs(60));

/// The bytes of message `number`, which say so in every one.
fn pattern(number: u64, length: usize) -> Vec<u8> {
    (0..length).map(|i| (number as usize * 31 + i * 7) as u8).collect()
}

/// Two virtual interfaces of this process, connected to each other's process by `discriminator`: the caller calls adapter 1.
fn connected(nic: &Nic, calls: bool, discriminator: u64, vi: &mut Vi) {
    if calls {
        vi.connect(Address { host: 1, discriminator }, PATIENCE).expect("the other side accepts");
    } else {
        let arrived = nic.wait_connection(discriminator, PATIENCE).expect("the other side calls");
        nic.accept(arrived, vi).expect("this side is idle");
    }
}

/// Sends and gets back `rounds` messages of every size, or answers them.
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
        "two_processes_play_ping_pong_through_an_adapter_that_keeps_bandwidths",
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
        let site = Site::new("it_is_the_same_under_every_firmware_and_without_stage_times", config);
        let players = [site.start("pong", 1), site.start("ping", 0)];
        players.into_iter().for_each(|player| assert!(player.ended_well().contains("100 rounds")));
        assert_eq!(site.end().tally.received, 200, "{config:?}");
    }
}
