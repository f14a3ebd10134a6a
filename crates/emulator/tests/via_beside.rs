//! How much longer a round of two programs takes beside a process that posts all it can: in the time of the adapters, which here goes where
//! events take it, so that the figures are the same from run to run. `-- --nocapture` prints them.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use laxity_emulator::via::{Setup, Stepped};
use laxity_model::via::{Doorbells, Firmware, Limits, ViaConfig};
use laxity_scenario::Scenario;
use laxity_scenario::claim::Unread;
use laxity_units::{Rate, Span, Time};
use laxity_vi::{Access, Address, Bandwidth, Descriptor, Nic, Region, Remote, Segment, Vi, ViAttributes};

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
/// The same of who keeps it: no two rounds begin within [`INTERVAL`].
const KEPT: u64 = 500_000;
const INTERVAL: Span = Span::from_us(2048);

/// Connections so far, for a discriminator of each.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// A virtual interface, and the memory that it sends from and receives to.
struct End {
    vi: Vi,
    memory: Region,
}

impl End {
    fn of(nic: &Nic, bandwidth: Bandwidth, playout: Duration) -> Self {
        let tag = nic.create_tag().unwrap();
        let access = Access { rdma_write: false, rdma_read: true };
        let memory = nic.register(FLOOD, tag, access).unwrap();
        let wanted = ViAttributes { bandwidth, access, playout, ..ViAttributes::new(tag) };
        let vi = nic.create_vi(&wanted).unwrap();
        Self { vi, memory }
    }

    fn send(&mut self, size: usize) {
        self.vi.post_send(&Descriptor::send(&[self.memory.segment(0..size)])).unwrap();
    }

    /// Posts as much as there is to be posted, to send and of room, with a doorbell each.
    fn fill(&mut self, posts: Posts, there: Remote) {
        let (sends, receives) = self.vi.outstanding();
        let own = self.memory.segment(0..FLOOD);
        let segments = match posts {
            Posts::Flawed => vec![Segment { handle: own.handle + 1, ..own }],
            Posts::Huge => vec![own; 13],
            Posts::There | Posts::BothWays | Posts::Reads => vec![own],
        };
        let descriptor = match posts {
            Posts::Reads => Descriptor::rdma_read(&segments, there),
            _ => Descriptor::send(&segments),
        };
        let chain = [descriptor; POSTED as usize];
        self.vi.post_sends(&chain[(sends as usize).min(chain.len())..]).unwrap();
        let room = [own];
        let room = [Descriptor::receive(&room); POSTED as usize];
        self.vi.post_receives(&room[(receives as usize).min(room.len())..]).unwrap();
    }

    fn fill_room(&mut self) {
        let (_, receives) = self.vi.outstanding();
        let segments = [self.memory.segment(0..FLOOD)];
        let chain = [Descriptor::receive(&segments); POSTED as usize];
        self.vi.post_receives(&chain[receives as usize..]).unwrap();
    }

    /// Where the other side's RDMA finds its memory.
    fn remote(&self) -> Remote {
        let Segment { address, handle, .. } = self.memory.segment(0..FLOOD);
        Remote { address, handle }
    }

    fn make_room(&mut self) {
        self.vi.post_receive(&Descriptor::receive(&[self.memory.segment(0..FLOOD)])).unwrap();
    }
}

/// Two virtual interfaces of `bandwidth` each, at adapters 0 and 1, connected.
fn connected(nics: &[Nic; 2], bandwidth: Bandwidth, playout: Duration) -> [End; 2] {
    let [mut here, there] = [0, 1].map(|node| End::of(&nics[node], bandwidth, playout));
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

/// The process that posts all it can: so many virtual interfaces, with so many bytes a second each or none, and what it posts.
#[derive(Clone, Copy)]
struct Hostile {
    vis: usize,
    bandwidth: Option<u64>,
    posts: Posts,
}

/// What a hostile process posts.
#[derive(Clone, Copy, PartialEq)]
enum Posts {
    /// Messages from adapter 0 to 1.
    There,
    /// Messages both ways.
    BothWays,
    /// Reads of the other side's memory, both ways: each is a message of 4 KiB that the other side's adapter sends.
    Reads,
    /// Descriptors of memory that is not its own, both ways.
    Flawed,
    /// Messages of half a megabyte, both ways.
    Huge,
}

/// Whether a round's virtual interfaces have a bandwidth, and keep it.
#[derive(Clone, Copy, PartialEq)]
enum Mine {
    Nothing,
    Exceeded,
    Kept,
    /// Kept, and what comes is seen when so long has passed since it was rung for.
    Played(Duration),
}

impl Mine {
    fn is_kept(self) -> bool {
        matches!(self, Mine::Kept | Mine::Played(_))
    }
}

/// Rounds beside somebody: the mean, and the longest.
#[derive(Clone, Copy, Debug)]
struct Rounds {
    mean: Span,
    worst: Span,
}

/// Rounds of virtual interfaces with a bandwidth, as `mine` has it, beside `hostile`; `None` if they are not done in time.
fn round(adapter: ViaConfig, mine: Mine, hostile: Hostile) -> Option<Rounds> {
    let directory: PathBuf = std::env::temp_dir().join(format!(
        "laxity-vi-beside-{}-{}",
        std::process::id(),
        CALLS.fetch_add(1, Ordering::Relaxed)
    ));
    std::fs::create_dir_all(&directory).unwrap();
    let taken = round_in(&directory, adapter, mine, hostile);
    std::fs::remove_dir_all(&directory).unwrap();
    taken
}

fn round_in(directory: &Path, adapter: ViaConfig, mine: Mine, hostile: Hostile) -> Option<Rounds> {
    let longest = match adapter.limits.doorbells {
        Doorbells::Merged => Setup::LONGEST,
        Doorbells::Apart { .. } => FLOOD as u64,
    };
    let setup = Setup { adapter, nodes: 2, latency: Span::from_ns(500), longest, recorded: false };
    let mut adapters = Stepped::open(setup, directory).unwrap();
    let sockets = [0, 1].map(|node| adapters.socket(node));
    let of = |rate: Option<u64>, size: usize| {
        rate.map_or(Bandwidth::None, |bytes_per_second| Bandwidth::Constant {
            bytes_per_second,
            message: size as u64,
        })
    };
    let rate = match mine {
        Mine::Nothing => None,
        Mine::Exceeded => Some(RATE),
        Mine::Kept | Mine::Played(_) => Some(KEPT),
    };
    let playout = if let Mine::Played(playout) = mine { playout } else { Duration::ZERO };
    let (own, its) = (of(rate, ROUND), of(hostile.bandwidth, FLOOD));
    let (ends, mut floods) = while_stepping(&mut adapters, || {
        // Each is a process of its own to the adapters.
        let nics = || [0, 1].map(|node| Nic::open(&sockets[node]).unwrap());
        let (good, bad) = (nics(), nics());
        assert!(good.iter().all(|nic| nic.attributes().longest == longest));
        let floods: Vec<[End; 2]> = (0..hostile.vis).map(|_| connected(&bad, its, Duration::ZERO)).collect();
        (connected(&good, own, playout), floods)
    });
    let [mut ping, mut pong] = ends;
    let (mut rounds, mut sum, mut worst) = (0, Span::ZERO, Span::ZERO);
    ping.make_room();
    pong.make_room();
    let warm = ROUNDS / 4;
    // When the one under way was begun, if one is, and from when on the next may be.
    let (mut begun, mut next) = (None, Time::ZERO);
    let patience = if mine.is_kept() { INTERVAL * (ROUNDS + warm + 5) } else { PATIENCE };
    let start = adapters.now();
    while rounds < ROUNDS + warm && adapters.now() < start + patience {
        for [from, to] in &mut floods {
            for end in [&mut *from, &mut *to] {
                while end.vi.poll_send().is_some() {}
                while end.vi.poll_receive().is_some() {}
            }
            let places = [to.remote(), from.remote()];
            from.fill(hostile.posts, places[0]);
            if hostile.posts == Posts::There {
                to.fill_room();
            } else {
                to.fill(hostile.posts, places[1]);
            }
        }
        // Alone time goes on with what is sent.
        if begun.is_none() && (adapters.now() >= next || hostile.vis == 0) {
            ping.send(ROUND);
            begun = Some(adapters.now());
            next = adapters.now() + if mine.is_kept() { INTERVAL } else { Span::ZERO };
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
            let taken = adapters.now().since(begun.take().expect("a round is under way"));
            rounds += 1;
            if rounds > warm {
                (sum, worst) = (sum + taken, worst.max(taken));
            }
            ping.make_room();
        }
        while ping.vi.poll_send().is_some() || pong.vi.poll_send().is_some() {}
    }
    let taken = (rounds == ROUNDS + warm).then(|| Rounds { mean: sum / ROUNDS, worst });
    while_stepping(&mut adapters, move || drop((ping, pong, floods)));
    adapters.stop().unwrap();
    taken
}

const NOBODY: Hostile = Hostile { vis: 0, bandwidth: None, posts: Posts::BothWays };
const ONE: Hostile = Hostile { vis: 1, ..NOBODY };
const MANY: Hostile = Hostile { vis: 16, ..NOBODY };
/// What it reserves is what it may, and it posts more.
const RESERVING: Hostile = Hostile { vis: 4, bandwidth: Some(1_000_000), ..NOBODY };

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
    for (name, adapter, mine) in [
        ("PVIA", ViaConfig::table_1(Firmware::Parallel), Mine::Nothing),
        ("QoSVIA, best effort", qos, Mine::Nothing),
        ("QoSVIA, 1 MB/s", qos, Mine::Exceeded),
        ("QoSVIA, 1 MB/s, 10 MB/s for best effort", set_aside(qos), Mine::Exceeded),
    ] {
        let one_way = |hostile| Hostile { posts: Posts::There, ..hostile };
        let taken = [NOBODY, ONE, MANY, RESERVING].map(|hostile| round(adapter, mine, one_way(hostile)));
        let taken = taken.map(|taken| taken.expect("nobody is starved").mean);
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

/// Of two programs that send each other 1 KiB every 2.048 ms beside a process of best effort, at adapters of Table 1 that tell them apart and programs that take no time.
const PROMISED: &str = r#"
title = "a round beside others"
[via]
firmware = "qosvia"
doorbells = "apart"
nodes = 4
post = "0 us"
reap = "0 us"
[run]
time = "10 ms"
[[channel]]
name = "ping"
class = "real_time"
from = 0
to = 1
max_message = "1 KiB"
burst = 1
min_interval = "2.048 ms"
source = { kind = "rounds", after = "pong" }
[[channel]]
name = "pong"
class = "real_time"
from = 1
to = 0
max_message = "1 KiB"
burst = 1
min_interval = "2.048 ms"
source = { kind = "rounds", after = "ping" }
"#;

/// How long after a message was rung for it is seen by who wants all rounds alike: as long as it is promised to take at most.
const PLAYOUT: Duration = Duration::from_micros(615);

/// Others of 4 KiB, both ways.
const OTHERS: &str = r#"
[[channel]]
name = "there"
class = "CLASS"
count = COUNT
from = 0
to = 1
max_message = "4 KiB"
burst = 1
source = { kind = "closed" }
[[channel]]
name = "back"
class = "CLASS"
count = COUNT
from = 1
to = 0
max_message = "4 KiB"
burst = 1
source = { kind = "closed" }
"#;

/// What admission promises a round beside `others`, if it admits all of them.
fn promised(others: &str) -> Option<Span> {
    promised_by(PROMISED, others)
}

/// The same, of the round that `file` has.
fn promised_by(file: &str, others: &str) -> Option<Span> {
    let path = PathBuf::from("beside.toml");
    let files = BTreeMap::from([(path.clone(), format!("{file}{others}").into_bytes())]);
    let scenario = Scenario::read(&path, &files, &Unread).unwrap_or_else(|errors| panic!("{errors}"));
    let run = laxity_world::run(&scenario.experiment(&scenario.points().next().unwrap()));
    let admitted = run.channels.iter().all(|channel| channel.refused.is_none());
    let both: Option<f64> = run.channels[..2].iter().map(|channel| channel.delivery_bound).sum();
    both.filter(|_| admitted).map(|seconds| Span::from_ps((seconds * 1e12) as u64))
}

/// Where processes are told apart a round of who keeps its bandwidth is within what admission promises, whatever a hostile process does; and one without a bandwidth has its turn.
#[test]
fn told_apart_whoever_keeps_a_bandwidth_has_what_it_is_promised() {
    let qos = ViaConfig::table_1(Firmware::QualityOfService);
    let apart =
        ViaConfig { limits: Limits { doorbells: Doorbells::Apart { ahead: 4 }, ..qos.limits }, ..qos };
    let both = |vis, bandwidth, posts| Hostile { vis, bandwidth, posts };
    let others =
        |class: &str, count: usize| OTHERS.replace("CLASS", class).replace("COUNT", &count.to_string());
    let best_effort = promised(&others("best_effort", 1));
    // A bandwidth may be used an interval early, so to the analysis each is two, and where messages come what exceeds it is one more (`world/src/coverage/via.rs`), which here others send there; of a KiB more,
    // as to program that takes the processor longer than to give a stamp.
    let with_rates = |count: usize, interval: &str| {
        let contract = format!("burst = 1\nrefusal = \"expected\"\nmin_interval = \"{interval}\"");
        let own = others("real_time", 2 * count);
        let more = others("real_time", count).replace("from = 0", "from = 2").replace("from = 1", "from = 3");
        let more = more.replace("\"there\"", "\"there-too\"").replace("\"back\"", "\"back-too\"");
        let all = format!("{own}{more}").replace("4 KiB", "5 KiB");
        promised(&all.replace("burst = 1", &contract))
    };
    let alone = round(apart, Mine::Kept, NOBODY).unwrap();
    println!(
        "{:<44}{:>12}{:>9}{:>9}{:>9}",
        "a round of 1 KiB told apart, us", "no rate", "mean", "worst", "bound"
    );
    for (name, hostile, bound) in [
        ("alone", NOBODY, promised("")),
        ("1 VI", ONE, best_effort),
        ("16 VIs", MANY, best_effort),
        ("16 VIs, one way", both(16, None, Posts::There), best_effort),
        ("16 VIs that read", both(16, None, Posts::Reads), best_effort),
        ("16 VIs, bad descriptors", both(16, None, Posts::Flawed), best_effort),
        ("16 VIs, 52 KiB", both(16, None, Posts::Huge), best_effort),
        ("4 VIs of 1 MB/s", RESERVING, with_rates(4, "4.096 ms")),
        ("16 VIs of 100 kB/s", both(16, Some(100_000), Posts::BothWays), with_rates(16, "40.96 ms")),
    ] {
        let kept = round(apart, Mine::Kept, hostile).expect("nobody is starved");
        let without = round(apart, Mine::Nothing, hostile).expect("nobody is starved");
        let bound = bound.expect("all of it is admitted");
        let us = [without.mean, kept.mean, kept.worst, bound].map(|span| span.as_secs_f64() * 1e6);
        println!("{name:<44}{:>12.1}{:>9.1}{:>9.1}{:>9.1}", us[0], us[1], us[2], us[3]);
        assert!(kept.worst <= bound, "{name}: {us:?}");
        assert!(kept.mean <= alone.mean * 3, "{name}: {us:?}");
    }
}

/// What comes is played out as late as it is promised to come at most: then a hostile process changes nothing at all, neither the mean nor the longest, of no round.
#[test]
fn played_out_rounds_are_the_same_whatever_a_hostile_process_does() {
    let qos = ViaConfig::table_1(Firmware::QualityOfService);
    let apart =
        ViaConfig { limits: Limits { doorbells: Doorbells::Apart { ahead: 4 }, ..qos.limits }, ..qos };
    let best_effort = OTHERS.replace("CLASS", "best_effort").replace("COUNT", "1");
    let alone = format!("playout = \"{} us\"\nmin_interval", PLAYOUT.as_micros());
    let promised =
        promised_by(&PROMISED.replace("min_interval", &alone), &best_effort).expect("it is admitted");
    let played = Span::from_ns(PLAYOUT.as_nanos() as u64) * 2;
    assert_eq!(promised, played, "nothing takes longer on its way, and programs take no time");
    println!("{:<44}{:>9}{:>9}", "a round of 1 KiB played out after 615 us, us", "mean", "worst");
    for (name, hostile) in [
        ("alone", NOBODY),
        ("1 VI", ONE),
        ("16 VIs", MANY),
        ("16 VIs, one way", Hostile { posts: Posts::There, ..MANY }),
        ("16 VIs that read", Hostile { posts: Posts::Reads, ..MANY }),
        ("16 VIs, bad descriptors", Hostile { posts: Posts::Flawed, ..MANY }),
        ("16 VIs, 52 KiB", Hostile { posts: Posts::Huge, ..MANY }),
        ("4 VIs of 1 MB/s", RESERVING),
    ] {
        let Rounds { mean, worst } = round(apart, Mine::Played(PLAYOUT), hostile).expect("nobody is starved");
        println!("{name:<44}{:>9.1}{:>9.1}", mean.as_secs_f64() * 1e6, worst.as_secs_f64() * 1e6);
        assert_eq!((mean, worst), (played, played), "{name}");
    }
}
