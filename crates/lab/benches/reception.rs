//! The cost of an event of the polling model, beside a loop written by hand for that model alone.
//!
//! `cargo bench -p laxity-lab --bench reception`, or with `-- --quick` for fewer rounds. Both
//! simulate the same: packets at a constant rate, a hard timer whose tick stops the CPU for an
//! exponential poll, a quota of packets of exponential service, one queue of bounded length. Both
//! draw the same numbers in the same order, so the paper's figures (throughput, blocking, latency,
//! availability) must be equal, which is asserted.

use std::collections::VecDeque;
use std::hint::black_box;

use laxity_engine::Seed;
use laxity_scenario::Scenario;
use laxity_units::Span;

#[path = "../../engine/benches/support/timing.rs"]
mod timing;

use timing::{median, timed};

/// Packets of a run; with ticks, polls and services some five million events.
const PACKETS: u64 = 2_000_000;
const QUOTA: u32 = 3;
const SLOTS: usize = 1000;
/// Packets a second, such that no arrival falls on a tick.
const RATE: u64 = 230_003;
const TICK: u64 = 20_000_000;
const POLL: Span = Span::from_ns(1590);
const SERVICE: Span = Span::from_ns(5600);

/// The figures of a run.
#[derive(Debug, PartialEq)]
struct Figures {
    delivered: u64,
    dropped: u64,
    /// Mean latency in nanoseconds, rounded down.
    latency: u64,
    /// CPU time per thousand million left by polls and services, rounded to the nearest.
    available: u64,
    /// Things that happened: arrivals, ticks, ends of polls and of services.
    events: u64,
}

fn text() -> String {
    format!(
        r#"
title = "Polling"
[host]
profile = "polling-server"
receive = {{ poll = "{POLL}", costs = "exponential" }}
[admission]
formula = "off"
[run]
packets = {PACKETS}
[[interface]]
name = "nic"
policy = "hard_timer"
interval = "20 us"
quota = {QUOTA}
slots = {SLOTS}
buffers = "none"
[[channel]]
name = "packets"
class = "best_effort"
max_message = "1000 B"
burst = 1
interface = "nic"
source = {{ kind = "periodic", interval = "{} ps" }}
"#,
        interval()
    )
}

fn interval() -> u64 {
    1_000_000_000_000 / RATE
}

/// Figures of the project's own model, which may leave the number of events open.
fn by_model(scenario: &Scenario, events: u64) -> Figures {
    let run = laxity_world::run(&scenario.first());
    let channel = &run.channels[0];
    let latency = channel.latency.as_ref().map_or(0, |latency| (latency.mean * 1e9) as u64);
    let available = (run.figures["cpu_left_share"] * 1e9).round() as u64;
    Figures { delivered: channel.completed, dropped: channel.dropped_packets, latency, available, events }
}

/// The state of the CPU.
enum Cpu {
    Idle,
    Polling { since: u64, ends: u64 },
    Serving { since: u64, ends: u64, arrived: u64 },
}

fn by_hand() -> Figures {
    let mut random = Seed::new(1).stream("reception costs");
    let mut draw = |mean: Span| random.exponential(mean).as_ps();
    let mut queue: VecDeque<u64> = VecDeque::new();
    let mut cpu = Cpu::Idle;
    let mut stopped: Option<(u64, u64)> = None;
    let (mut arrival, mut tick, mut left) = (0, TICK, 0);
    let mut figures = Figures { delivered: 0, dropped: 0, latency: 0, available: 0, events: 0 };
    let mut waited: u128 = 0;
    let mut used = 0;
    let mut now = 0;
    while figures.delivered + figures.dropped < PACKETS {
        let ends = match cpu {
            Cpu::Idle => u64::MAX,
            Cpu::Polling { ends, .. } | Cpu::Serving { ends, .. } => ends,
        };
        // A tick does not stop a poll: it takes effect when the poll is over.
        let heard = if matches!(cpu, Cpu::Polling { .. }) { u64::MAX } else { tick.max(now) };
        now = arrival.min(ends).min(heard);
        figures.events += 1;
        if now == ends {
            match cpu {
                Cpu::Serving { since, arrived, .. } => {
                    figures.delivered += 1;
                    waited += u128::from(now - arrived);
                    used += now - since;
                }
                Cpu::Polling { since, .. } => {
                    left = QUOTA;
                    used += now - since;
                }
                Cpu::Idle => unreachable!("nothing ends"),
            }
            cpu = Cpu::Idle;
        } else if now == heard {
            if let Cpu::Serving { since, ends, arrived } = cpu {
                stopped = Some((ends - now, arrived));
                used += now - since;
            }
            cpu = Cpu::Polling { since: now, ends: now + draw(POLL) };
            tick += TICK;
        } else {
            arrival += interval();
            if queue.len() < SLOTS { queue.push_back(now) } else { figures.dropped += 1 }
        }
        // A tick during another tick's poll precedes any service.
        if matches!(cpu, Cpu::Idle) && tick <= now {
            cpu = Cpu::Polling { since: now, ends: now + draw(POLL) };
            tick += TICK;
            figures.events += 1;
        }
        if matches!(cpu, Cpu::Idle) {
            if let Some((rest, arrived)) = stopped.take() {
                cpu = Cpu::Serving { since: now, ends: now + rest, arrived };
            } else if left > 0
                && let Some(arrived) = queue.pop_front()
            {
                left -= 1;
                cpu = Cpu::Serving { since: now, ends: now + draw(SERVICE), arrived };
            } else {
                // A batch that finds the queue empty is over.
                left = 0;
            }
        }
    }
    if let Cpu::Polling { since, .. } | Cpu::Serving { since, .. } = cpu {
        used += now - since;
    }
    figures.latency = (waited / u128::from(figures.delivered) / 1000) as u64;
    figures.available = ((1.0 - used as f64 / now as f64) * 1e9).round() as u64;
    figures
}

fn main() {
    let scenario = Scenario::from_text("polling.toml", text()).expect("the scenario is valid");
    let hand = by_hand();
    assert_eq!(by_model(&scenario, hand.events), hand, "both simulate the same");
    let (mut model, mut loops) = (Vec::new(), Vec::new());
    let quick = std::env::args().any(|argument| argument == "--quick");
    for _ in 0..if quick { 1 } else { 7 } {
        loops.push(timed(|| black_box(by_hand())).1.as_secs_f64());
        model.push(timed(|| black_box(by_model(&scenario, hand.events))).1.as_secs_f64());
    }
    let (model, loops) = (median(&mut model), median(&mut loops));
    let each = |seconds: f64| seconds * 1e9 / hand.events as f64;
    println!(
        "{} events: {model:.3} s, {:.1} ns each; by hand {loops:.3} s, {:.1} ns each; ratio {:.2}",
        hand.events,
        each(model),
        each(loops),
        loops / model
    );
}
