//! Packets per second through the emulated device and back.
//!
//! One thread writes transmit commands into the ring and reads the responses, as a saturating
//! driver does; the other is END with an adapter of three stages, each with a delay and one with a
//! resource, on the real clock. As the baseline, in the same rounds, entries of the same size pass
//! the same rings to a thread that only returns them; the remaining fraction of its rate is the
//! price of the emulation.
//!
//! `cargo bench -p laxity-emulator --bench end`, or with `-- --quick` for fewer rounds.

#[cfg(target_os = "linux")]
#[path = "support/rounds.rs"]
mod rounds;

#[cfg(target_os = "linux")]
mod contest {

    use laxity_emulator::in_process::wires;
    use laxity_engine::trace::NoTrace;
    use laxity_engine::{Calendar, Dilation, RealClock, TickEpoch, Ticks};
    use laxity_machine::place::{PlacedThread, ThreadPlacement, cores, spawn_on};
    use laxity_machine::ring::{Consumer, Producer, ring};
    use laxity_model::adapter::{AdapterResponse, Directive};
    use laxity_qos::channel::{Carried, ChannelId, Packet};
    use laxity_qos::discipline::{Class, Tag};
    use laxity_qos::virtual_clock::Vtick;
    use laxity_scenario::Scenario;
    use laxity_units::{Bytes, Span, Time};
    use laxity_world::experiment::Experiment;
    use laxity_world::{Assembly, Elsewhere, Input};

    use crate::rounds::{interleaved, median, rounds};

    const COUNT: u64 = 1_000_000;
    /// Maximum number of outstanding packets of the driver.
    const DEPTH: u64 = 1024;

    const SCENARIO: &str = r#"
title = "three stages"
[host]
profile = "mc68040"
[adapter]
kind = "generic"
notification = "1 ms"

[[adapter.transmit]]
name = "fetch"
phase = [{ fixed = "20 ns" }]
[[adapter.transmit]]
name = "dma"
phase = [{ fixed = "50 ns", per_byte = "100 ps", holds = ["bus"] }]
[[adapter.transmit]]
name = "link"
phase = [{ fixed = "20 ns", per_byte = "80 ps", medium = true }]
[admission]
formula = "off"
[run]
packets = 1000000
[[channel]]
name = "flood"
class = "best_effort"
max_message = "1500 B"
burst = 1
source = { kind = "continuous" }
"#;

    fn experiment() -> Experiment {
        let scenario =
            Scenario::from_text("end.toml", SCENARIO).unwrap_or_else(|why| panic!("{}", why.render(false)));
        scenario.first()
    }

    fn packet(message: u64) -> Packet {
        let tag = Tag {
            class: Class::BestEffort,
            logical_arrival: Time::ZERO,
            deadline: Time::MAX,
            tick: Vtick::NONE,
            level: 31,
        };
        let size = Bytes::new(1500);
        Packet {
            channel: ChannelId(0),
            message,
            index: 0,
            count: 1,
            size,
            message_size: size,
            tag,
            due_from: Time::ZERO,
            sent: Time::ZERO,
            created: Time::ZERO,
            handed: Time::ZERO,
            carried: Carried::NOTHING,
        }
    }

    /// A thread that keeps up to `DEPTH` commands outstanding until `COUNT` responses are back.
    fn driver(mut commands: Producer<Input>, mut responses: Consumer<AdapterResponse>) -> PlacedThread<()> {
        let mut write = move |message| {
            let command = Directive::Transmit(packet(message));
            commands.push(Input::Command { node: 0, command }).is_ok()
        };
        let core = cores().first().copied();
        let driver = spawn_on(ThreadPlacement { core, fifo: None }, "driver", move || {
            let (mut written, mut done) = (0, 0);
            while done < COUNT {
                while written < COUNT && written - done < DEPTH && write(written) {
                    written += 1;
                }
                done += responses.pop_each(256, |_| {}) as u64;
            }
        });
        driver.expect("there is a thread to be had")
    }

    fn emulated(ticks: Ticks) -> f64 {
        let experiment = experiment();
        let epoch = TickEpoch::starting_in(Span::from_ms(5), ticks, Dilation::NONE);
        let (commands, responses, far) = wires(1 << 14);
        let cores = cores();
        let driver = driver(commands, responses);
        let end = spawn_on(ThreadPlacement { core: cores.last().copied(), fifo: None }, "end", move || {
            let doorbell = far.doorbell();
            let mut trace = NoTrace;
            let length = match experiment.task {
                laxity_world::experiment::Task::Simulate(length) => length,
                laxity_world::experiment::Task::Fill(_) => unreachable!("the scenario above simulates"),
            };
            let elsewhere = Elsewhere { hosts: &[0], channels: &[] };
            let mut assembly = Assembly::with_outside(&experiment, length, &mut trace, far, elsewhere);
            let mut calendar = Calendar::new();
            assembly.start(&mut calendar);
            let mut clock = RealClock::new(epoch, doorbell);
            let outcome =
                laxity_engine::run(&mut assembly, &mut calendar, &mut clock, laxity_world::limits(length));
            COUNT as f64 / epoch.now().max(outcome.now).as_secs_f64()
        });
        let rate = end.expect("there is a thread to be had").join().expect("END works to the end");
        driver.join().expect("every packet comes back");
        rate
    }

    fn bare(ticks: Ticks) -> f64 {
        let (commands, mut far) = ring::<Input>(1 << 14);
        let (mut back, responses) = ring::<AdapterResponse>(1 << 14);
        let cores = cores();
        let driver = driver(commands, responses);
        let echo = spawn_on(ThreadPlacement { core: cores.last().copied(), fifo: None }, "echo", move || {
            let (began, mut done) = (ticks.read(), 0);
            while done < COUNT {
                far.pop_each(256, |input| {
                    if let Input::Command { command: Directive::Transmit(packet), .. } = input {
                        back.push(AdapterResponse::Transmitted(packet))
                            .expect("there is room for what is outstanding");
                        done += 1;
                    }
                });
            }
            COUNT as f64 * ticks.per_second() / (ticks.read() - began) as f64
        });
        let rate = echo.expect("there is a thread to be had").join().expect("the echo works to the end");
        driver.join().expect("every packet comes back");
        rate
    }

    pub(crate) fn run() {
        let ticks = Ticks::calibrate();
        let turns: &mut [&mut dyn FnMut() -> f64] = &mut [&mut || emulated(ticks), &mut || bare(ticks)];
        let rates = interleaved(rounds(), turns);
        let [end, bare] = [0, 1].map(|who| median(&rates[who], |rate| *rate));
        println!("{:<20} {:>14} {:>8}", "contestant", "packets/s", "ratio");
        println!("{:<20} {end:>14.0} {:>8.2}", "END, three stages", end / bare);
        println!("{:<20} {bare:>14.0} {:>8.2}", "rings alone", 1.0);
    }
}

fn main() {
    #[cfg(target_os = "linux")]
    contest::run();
}
