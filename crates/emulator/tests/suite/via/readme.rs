//! The program with a virtual interface in docs/vi.md, and the figures there.

mod film {
    include!("../../../examples/vi/film.rs");

    pub(super) fn run() {
        main().unwrap();
    }
}
mod sink {
    include!("../../../examples/vi/sink.rs");

    pub(super) fn run() {
        main().unwrap();
    }
}

mod ping {
    include!("../../../examples/vi/ping.rs");

    pub(super) fn run() {
        main().unwrap();
    }
}

use std::time::{Duration, Instant};

use super::support::{Role, Site, adapter};
use laxity_model::via::{Firmware, ViLimits, ViaConfig};
use laxity_units::Rate;

const PAGE: &str = include_str!("../../../../../docs/vi.md");
const PROGRAM: &str = include_str!("../../../examples/vi/film.rs");

#[test]
fn the_page_has_the_program_as_it_is() {
    assert!(PROGRAM.lines().count() <= 20, "a program of twenty lines");
    assert!(PAGE.contains(&format!("```rust\n{PROGRAM}```")), "copy examples/vi/film.rs into docs/vi.md");
}

/// Number of messages of the stream that arrived while it was sent, and of the flood; and how long
/// that took at most.
#[expect(
    clippy::disallowed_methods,
    reason = "the stream has its bandwidth in real time, or no CPU time for it"
)]
fn beside_a_flood(config: ViaConfig, test: &'static str) -> ([u64; 2], Duration) {
    Role::new("film").play(|_| film::run());
    Role::new("sink").play(|_| sink::run());
    let site = Site::new(test, config);
    let mut sink = site.start("sink", 1);
    sink.waits_for("ready");
    let begin = Instant::now();
    site.start("film", 0).ended_well();
    let said = sink.ended_well();
    let served = site.end();
    let line = said.lines().find(|line| line.starts_with("took")).expect("it says so");
    let took: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    println!("{line}; {} were lost", served.tally.lost);
    assert_eq!(served.tally.received, took.iter().sum::<u64>());
    assert_eq!(served.tally.errors, 0);
    assert!(
        took[0] >= 10_000 - u64::from(laxity_vi::DEPTH),
        "all of the film but what was under way at its end"
    );
    ([took[0], took[1]], begin.elapsed())
}

#[test]
fn the_program_keeps_its_bandwidth_beside_a_flood() {
    let test = "via::readme::the_program_keeps_its_bandwidth_beside_a_flood";
    // Both have as many messages in flight, so first come, first served delivers equal numbers.
    // With a rate for best effort, best-effort traffic waits outside of the doorbell queue.
    let ([film, flood], _) = beside_a_flood(adapter(Firmware::Parallel), test);
    assert!(2 * film < 3 * flood, "{film} beside {flood}");
    let own = ViLimits { best_effort: Some(Rate::from_bytes_per_sec(20_000_000)), ..ViLimits::NONE };
    let config = ViaConfig { limits: own, ..adapter(Firmware::QualityOfService) };
    let ([film, flood], took) = beside_a_flood(config, test);
    // Both run dry together where their program lacks CPU time, and the flood has the idle engine.
    assert!(flood <= film + 2 * u64::from(laxity_vi::DEPTH), "{film} beside {flood}");
    // 4 KiB each at 50 MB/s.
    let kept = Duration::from_secs_f64(film as f64 * 4096.0 / 50e6);
    match took < 2 * kept {
        true => assert!(2 * film > 3 * flood, "{film} beside {flood}"),
        false => println!("the program had CPU time for less than half of its bandwidth"),
    }
}

#[test]
fn ping_pong_and_ping_bulk_come_to_their_end() {
    Role::new("answers").play(|_| ping::run());
    Role::new("plays").play(|_| ping::run());
    let site = Site::new(
        "via::readme::ping_pong_and_ping_bulk_come_to_their_end",
        adapter(Firmware::QualityOfService),
    );
    let mut answers = site.start("answers", 1);
    answers.waits_for("ready");
    let played = site.start("plays", 0).ended_well();
    answers.ended_well();
    println!("{played}");
    for size in ["4", "1024", "4096", "16384"] {
        assert!(played.lines().any(|line| line.split_whitespace().next() == Some(size)), "{played}");
    }
    let served = site.end();
    // Rounds of one message in each direction, and a tenth as many of sixteen, for each size.
    let each = 4 * (300 + 30 * 16) * 2;
    assert_eq!((served.tally.received, served.tally.lost, served.tally.errors), (each, 0, 0));
}
