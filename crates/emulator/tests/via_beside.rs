//! How much longer a round of two programs takes beside a process that posts all it can: in the time of the adapters, which here goes where
//! events take it, so that the figures are the same from run to run. `-- --nocapture` prints them.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use laxity_emulator::via::{Setup, Stepped};
use laxity_model::via::{Firmware, Limits, ViaConfig};
use laxity_units::{Rate, Span, Time};
use laxity_vi::{Address, Bandwidth, Descriptor, Nic, Region, Vi, ViAttributes};

/// Bytes of a message of a round, and of those that are posted without end.
const ROUND: usize = 1024;
const FLOOD: usize = 4096;
/// Rounds that are counted.
const ROUNDS: u64 = 40;
/// How long is waited for them, in the adapters' time.
const PATIENCE: Span = Span::from_ms(300);
/// Descriptors that the hostile process has posted at any time.
const POSTED: u32 = 200;
/// Bytes a second that a round's virtual interfaces have, if they have a bandwidth.
const RATE: u64 = 1_000_000;

/// Connections so far, for a discriminator of each.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// A virtual interface, and the memory that it sends from and receives to.
struct End {
    vi: Vi,
    memory: Region,
}

impl End {
    fn of(nic: &Nic, bandwidth: Bandwidth) -> Self {
        let tag = nic.create_tag().unwrap();
        let memory = nic.register(FLOOD, tag, Default::default()).unwrap();
        let vi = nic.create_vi(&ViAttributes { bandwidth, ..ViAttributes::new(tag) }).unwrap();
        Self { vi, memory }
    }

    fn send(&mut self, size: usize) {
        self.vi.post_send(&Descriptor::send(&[self.memory.segment(0..size)])).unwrap();
    }

    /// Posts as much as there is to be posted, to send and of room, with a doorbell each.
    fn fill(&mut self) {
        let (sends, receives) = self.vi.outstanding();
        let segments = [self.memory.segment(0..FLOOD)];
        let chain = [Descriptor::send(&segments); POSTED as usize];
        self.vi.post_sends(&chain[sends as usize..]).unwrap();
        self.vi.post_receives(&chain[receives as usize..]).unwrap();
    }

    fn make_room(&mut self) {
        self.vi.post_receive(&Descriptor::receive(&[self.memory.segment(0..FLOOD)])).unwrap();
    }
}

/// Two virtual interfaces of `bandwidth` each, at adapters 0 and 1, connected.
fn connected(nics: &[Nic; 2], bandwidth: Bandwidth) -> [End; 2] {
    let [mut here, there] = [0, 1].map(|node| End::of(&nics[node], bandwidth));
    let discriminator = CALLS.fetch_add(1, Ordering::Relaxed);
    let patience = Some(Duration::from_secs(60));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let arrived = nics[1].wait_connection(discriminator, patience).unwrap();
            nics[1].accept(arrived, &there.vi).unwrap();
        });
        here.vi.connect(Address { host: 1, discriminator }, patience).unwrap();
    });
    [here, there]
}

/// Does what programs do that ask for something while adapters answer.
fn while_stepping<T: Send>(adapters: &mut Stepped, ask: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let asking = scope.spawn(ask);
        while !asking.is_finished() {
            adapters.step();
            std::thread::yield_now();
        }
        asking.join().unwrap()
    })
}

/// The process that posts all it can from adapter 0: so many virtual interfaces, with so many bytes a second each or none.
#[derive(Clone, Copy)]
struct Hostile {
    vis: usize,
    bandwidth: Option<u64>,
}

/// The mean time of a round, of virtual interfaces with a bandwidth if `reserved`, beside `hostile`; `None` if they are not done in time.
fn round(adapter: ViaConfig, reserved: bool, hostile: Hostile) -> Option<Span> {
    let directory: PathBuf = std::env::temp_dir().join(format!(
        "laxity-vi-beside-{}-{}",
        std::process::id(),
        CALLS.fetch_add(1, Ordering::Relaxed)
    ));
    std::fs::create_dir_all(&directory).unwrap();
    let taken = round_in(&directory, adapter, reserved, hostile);
    std::fs::remove_dir_all(&directory).unwrap();
    taken
}

fn round_in(directory: &Path, adapter: ViaConfig, reserved: bool, hostile: Hostile) -> Option<Span> {
    let setup = Setup { adapter, nodes: 2, latency: Span::from_ns(500), recorded: false };
    let mut adapters = Stepped::open(setup, directory).unwrap();
    let sockets = [0, 1].map(|node| adapters.socket(node));
    let of = |rate: Option<u64>, size: usize| {
        rate.map_or(Bandwidth::None, |bytes_per_second| Bandwidth::Constant {
            bytes_per_second,
            message: size as u64,
        })
    };
    let (mine, its) = (of(reserved.then_some(RATE), ROUND), of(hostile.bandwidth, FLOOD));
    let (ends, mut floods) = while_stepping(&mut adapters, || {
        // Each is a process of its own to the adapters.
        let nics = || [0, 1].map(|node| Nic::open(&sockets[node]).unwrap());
        let (good, bad) = (nics(), nics());
        let floods: Vec<[End; 2]> = (0..hostile.vis).map(|_| connected(&bad, its)).collect();
        (connected(&good, mine), floods)
    });
    let [mut ping, mut pong] = ends;
    let (mut rounds, mut begun) = (0, Time::ZERO);
    ping.make_room();
    pong.make_room();
    let warm = ROUNDS / 4;
    ping.send(ROUND);
    while rounds < ROUNDS + warm && adapters.now() < Time::ZERO + PATIENCE {
        for [from, to] in &mut floods {
            while from.vi.poll_send().is_some() {}
            while to.vi.poll_receive().is_some() {}
            from.fill();
            to.fill();
        }
        assert!(
            adapters.step_events(1) || hostile.vis > 0 || rounds > 0,
            "somebody always has something to do"
        );
        if pong.vi.poll_receive().is_some() {
            pong.make_room();
            pong.send(ROUND);
        }
        if ping.vi.poll_receive().is_some() {
            rounds += 1;
            if rounds == warm {
                begun = adapters.now();
            }
            ping.make_room();
            ping.send(ROUND);
        }
        while ping.vi.poll_send().is_some() || pong.vi.poll_send().is_some() {}
    }
    let taken = (rounds == ROUNDS + warm).then(|| adapters.now().since(begun) / ROUNDS);
    while_stepping(&mut adapters, move || drop((ping, pong, floods)));
    adapters.stop().unwrap();
    taken
}

const NOBODY: Hostile = Hostile { vis: 0, bandwidth: None };
const ONE: Hostile = Hostile { vis: 1, bandwidth: None };
const MANY: Hostile = Hostile { vis: 16, bandwidth: None };
/// What it reserves is what it may, and it posts more.
const RESERVING: Hostile = Hostile { vis: 4, bandwidth: Some(1_000_000) };

/// What a message of 4 KiB takes an adapter's processor and HDMA at most, on either side.
const MESSAGE: Span = Span::from_us(80);

#[test]
fn a_round_is_as_much_longer_as_eight_doorbells_of_a_share_take() {
    let set_aside = |adapter: ViaConfig| ViaConfig {
        limits: Limits { best_effort: Some(Rate::from_bytes_per_sec(10_000_000)), ..adapter.limits },
        ..adapter
    };
    let qos = ViaConfig::table_1(Firmware::QualityOfService);
    println!("{:<44}{:>9}{:>9}{:>9}{:>9}", "a round of 1 KiB, us", "alone", "1 VI", "16 VIs", "4 rates");
    let mut beside_one = Vec::new();
    for (name, adapter, reserved) in [
        ("PVIA", ViaConfig::table_1(Firmware::Parallel), false),
        ("QoSVIA, best effort", qos, false),
        ("QoSVIA, 1 MB/s", qos, true),
        ("QoSVIA, 1 MB/s, 10 MB/s for best effort", set_aside(qos), true),
    ] {
        let taken = [NOBODY, ONE, MANY, RESERVING].map(|hostile| round(adapter, reserved, hostile));
        let taken = taken.map(|taken| taken.expect("nobody is starved"));
        let us = taken.map(|taken| taken.as_secs_f64() * 1e6);
        println!("{name:<44}{:>9.1}{:>9.1}{:>9.1}{:>9.1}", us[0], us[1], us[2], us[3]);
        // Of each share eight doorbells are ahead at either adapter: all without a bandwidth are one, each with one is its own.
        let alone = taken[0];
        for (taken, shares) in [(taken[1], 1), (taken[2], 1), (taken[3], 4)] {
            assert!(alone < taken && taken <= alone + MESSAGE * (16 * shares), "{name}: {us:?}");
        }
        beside_one.push(taken[1]);
    }
    // A bandwidth helps, and so does a rate set aside for others.
    assert!(beside_one[1] > beside_one[2] && beside_one[2] > beside_one[3], "{beside_one:?}");
}
