//! Increase of a round-trip time of two programs beside a process that posts at the maximum rate.
//! Times are those of the adapters, which here advance with events, so the figures are
//! reproducible. `-- --nocapture` prints them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::common::together;
use laxity_emulator::via::{Setup, Stepped};
use laxity_model::via::{Doorbells, Firmware, ViLimits, ViaConfig};
use laxity_scenario::Scenario;
use laxity_scenario::claim::Unread;
use laxity_units::{Rate, Span, Time};
use laxity_vi::{Access, Address, Bandwidth, Descriptor, Nic, Region, Remote, Segment, Vi, ViAttributes};

/// Bytes of a message of a round, and of the flood's messages.
const ROUND: usize = 1024;
const FLOOD: usize = 4096;
/// Rounds that are measured.
const ROUNDS: u64 = 40;
/// Timeout for the rounds, in the adapters' time.
const PATIENCE: Span = Span::from_ms(300);
/// Descriptors that the hostile process keeps posted.
const POSTED: u32 = 200;
/// Bandwidth of a round's virtual interfaces, in bytes per second, if they have one.
const RATE: u64 = 1_000_000;
/// Bandwidth if the rounds conform to it: no two rounds begin within [`INTERVAL`].
const KEPT: u64 = 500_000;
const INTERVAL: Span = Span::from_us(2048);

/// Number of connections so far, used as discriminators.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// Virtual interface, and the memory for its messages.
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

    /// Fills both queues, with a doorbell each.
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

    fn remote(&self) -> Remote {
        let Segment { address, handle, .. } = self.memory.segment(0..FLOOD);
        Remote { address, handle }
    }

    fn make_room(&mut self) {
        self.vi.post_receive(&Descriptor::receive(&[self.memory.segment(0..FLOOD)])).unwrap();
    }
}

/// Two connected virtual interfaces of `bandwidth` each, at adapters 0 and 1.
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

/// Runs `ask`, a program's requests, while the adapters are advanced.
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

/// Hostile process, which posts at the maximum rate: number of its virtual interfaces, bandwidth of
/// each, and kind of its messages.
#[derive(Clone, Copy)]
struct Hostile {
    vis: usize,
    bandwidth: Option<u64>,
    posts: Posts,
}

#[derive(Clone, Copy, PartialEq)]
enum Posts {
    /// From adapter 0 to 1.
    There,
    /// In both directions.
    BothWays,
    /// Reads of the peer's memory, in both directions: each is a message of 4 KiB that the peer's
    /// adapter sends.
    Reads,
    /// Descriptors of foreign memory, in both directions.
    Flawed,
    /// Messages of half a megabyte, in both directions.
    Huge,
}

/// Whether a round's virtual interfaces have a bandwidth, and conform to it.
#[derive(Clone, Copy, PartialEq)]
enum Mine {
    Nothing,
    Exceeded,
    Kept,
    /// Conforming, with this playout delay.
    Played(Duration),
}

impl Mine {
    fn is_kept(self) -> bool {
        matches!(self, Mine::Kept | Mine::Played(_))
    }
}

#[derive(Clone, Copy, Debug)]
struct Rounds {
    mean: Span,
    worst: Span,
}

/// Rounds of virtual interfaces with a bandwidth by `mine`, beside `hostile`; `None` if they are
/// not completed in time.
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
        // Each pair is a separate process to the adapters.
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
    // Start of the current round, if any, and the earliest start of the next.
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
        // Without a flood, time only advances with messages.
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
/// It reserves the permitted bandwidth, and posts more.
const RESERVING: Hostile = Hostile { vis: 4, bandwidth: Some(1_000_000), ..NOBODY };

/// Maximum time of a message of 4 KiB on an adapter's processor and HDMA, on either side.
const MESSAGE: Span = Span::from_us(80);

#[test]
fn a_round_is_as_much_longer_as_eight_doorbells_of_a_share_take() {
    let _turn = together();
    let set_aside = |adapter: ViaConfig| ViaConfig {
        limits: ViLimits { best_effort: Some(Rate::from_bytes_per_sec(10_000_000)), ..adapter.limits },
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
        // Of each share eight doorbells are ahead at either adapter: all virtual interfaces without
        // a bandwidth are one share, each with one is its own.
        let alone = taken[0];
        for (taken, shares) in [(taken[1], 1), (taken[2], 1), (taken[3], 4)] {
            assert!(alone < taken && taken <= alone + MESSAGE * (16 * shares), "{name}: {us:?}");
        }
        beside_one.push(taken[1]);
    }
    // A bandwidth shortens the round, and so does a rate reserved for best effort.
    assert!(beside_one[1] > beside_one[2] && beside_one[2] > beside_one[3], "{beside_one:?}");
}

/// Two programs that send each other 1 KiB every 2.048 ms beside a process of best effort, at
/// adapters of Table 1 that separate their doorbells, and programs without costs.
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

/// Playout delay equal to the delay bound of a message, so that all rounds are equal.
const PLAYOUT: Duration = Duration::from_micros(615);

/// Other channels of 4 KiB, in both directions.
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

/// Bound of a round beside `others`, if admission admits all of them.
fn promised(others: &str) -> Option<Span> {
    promised_by(PROMISED, others)
}

/// Bound of the round in `file`.
fn promised_by(file: &str, others: &str) -> Option<Span> {
    let path = PathBuf::from("beside.toml");
    let files = BTreeMap::from([(path.clone(), format!("{file}{others}").into_bytes())]);
    let scenario = Scenario::read(&path, &files, &Unread).unwrap_or_else(|errors| panic!("{errors}"));
    let run = laxity_world::run(&scenario.experiment(&scenario.points().next().unwrap()));
    let admitted = run.channels.iter().all(|channel| channel.refused.is_none());
    let both: Option<f64> = run.channels[..2].iter().map(|channel| channel.delivery_bound).sum();
    both.filter(|_| admitted).map(|seconds| Span::from_ps((seconds * 1e12) as u64))
}

/// Where processes have separate doorbell queues, a round that conforms to its bandwidth is within
/// admission's bound, whatever a hostile process does; and one without a bandwidth is served in
/// turn.
#[test]
fn told_apart_whoever_keeps_a_bandwidth_has_what_it_is_promised() {
    let _turn = together();
    let qos = ViaConfig::table_1(Firmware::QualityOfService);
    let apart =
        ViaConfig { limits: ViLimits { doorbells: Doorbells::Apart { ahead: 4 }, ..qos.limits }, ..qos };
    let both = |vis, bandwidth, posts| Hostile { vis, bandwidth, posts };
    let others =
        |class: &str, count: usize| OTHERS.replace("CLASS", class).replace("COUNT", &count.to_string());
    let best_effort = promised(&others("best_effort", 1));
    // A bandwidth may be used an interval early, so the analysis counts each twice. Excess at the
    // receiving adapter counts once more (`world/src/coverage/via.rs`); here other nodes send it.
    // It has one KiB more, since programming its transfer takes the processor longer than assigning
    // a stamp.
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

/// With a playout delay equal to the delay bound, a hostile process changes neither the mean nor
/// the longest round.
#[test]
fn played_out_rounds_are_the_same_whatever_a_hostile_process_does() {
    let _turn = together();
    let qos = ViaConfig::table_1(Firmware::QualityOfService);
    let apart =
        ViaConfig { limits: ViLimits { doorbells: Doorbells::Apart { ahead: 4 }, ..qos.limits }, ..qos };
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
