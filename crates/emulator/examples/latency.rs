//! Delays of datagrams through an emulated link as measured by the program, compared with the
//! report of the same run.
//!
//! ```text
//! one thread: clock, sendto ─▶ socket in a ─▶ TAP ─▶ END: host, link of 1 ms ─▶ TAP ─▶ socket in b ─▶ recv until it is there, clock
//! ```
//!
//! A program that sleeps until its datagram arrives would measure its own wake-up. Sender and
//! receiver are therefore one polling thread on one processor, while END spins on another. A
//! datagram is sent each millisecond, and timed by a clock independent of END's. The second row of
//! the program's figures omits a message if the thread was away from its clock for [`AWAY`] or
//! longer at the sending or the arrival: the platform stalled the program, which END cannot detect.
//!
//! `cargo run --release -p laxity-emulator --example latency [SECONDS] [RUNS] [PRIORITY]`, as root,
//! on two processors. With a real-time priority (1 to 99) both threads preempt all else on their
//! processors, which a machine with other load needs: otherwise stalls of milliseconds determine
//! the 99th percentile.

#[cfg(target_os = "linux")]
mod measure {
    use std::io::ErrorKind;
    use std::net::{Ipv4Addr, UdpSocket};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use laxity_emulator::emulate::{Emulation, EmulationOptions, no_reports, start};
    use laxity_emulator::tap_port::{Ports, Site, TapBell};
    use laxity_engine::{Dilation, TickEpoch, Ticks};
    use laxity_machine::place::{ThreadPlacement, cores, spawn_on};
    use laxity_scenario::Scenario;
    use laxity_units::Span;
    use laxity_world::experiment::{Experiment, Task};
    use laxity_world::results::{FrameResults, RealTime};

    const INTERVAL: Duration = Duration::from_millis(1);
    const LOST: Duration = Duration::from_millis(100);
    const AWAY: Duration = Duration::from_micros(20);
    const FROM: Ipv4Addr = Ipv4Addr::new(10, 77, 6, 1);
    const TO: Ipv4Addr = Ipv4Addr::new(10, 77, 6, 2);

    fn experiment(seconds: u64) -> Arc<Experiment> {
        let process = std::process::id();
        let text = format!(
            r#"
            title = "a datagram each millisecond"
            [host]
            profile = "hartos-np"
            speedup = 1000
            [adapter]
            kind = "generic"
            [[adapter.transmit]]
            name = "link"
            phase = [{{ fixed = "1 ms", rate = "1 Gbit/s" }}]
            [admission]
            formula = "off"
            [network]
            kind = "point_to_point"
            stations = 2
            [run]
            time = "{seconds} s"
            [[port]]
            node = 0
            interface = "tap0"
            namespace = "lx-l{process}-a"
            address = "{FROM}/24"
            [[port]]
            node = 1
            interface = "tap0"
            namespace = "lx-l{process}-b"
            address = "{TO}/24"
            [[channel]]
            name = "stream"
            from = 0
            to = 1
            class = "real_time"
            max_message = "200 B"
            burst = 16
            message_slots = 64
            min_interval = "1 ms"
            deadline = "5 ms"
            carries = "udp 7009"
            source = {{ kind = "periodic" }}
            "#
        );
        let scenario = Scenario::from_text("latency.toml", &text).unwrap_or_else(|errors| panic!("{errors}"));
        Arc::new(scenario.first())
    }

    struct Taken {
        took: Duration,
        /// Longest gap of the thread's clock at the sending and at the arrival.
        away: Duration,
    }

    #[allow(clippy::disallowed_methods, reason = "a clock of its own is what makes it a second opinion")]
    fn now() -> Instant {
        Instant::now()
    }

    /// Sends until stopped, and receives.
    fn program(from: &UdpSocket, to: &UdpSocket, over: &AtomicBool) -> Vec<Taken> {
        let (mut all, mut message) = (Vec::new(), [0; 64]);
        let mut due = now() + Duration::from_millis(100);
        while !over.load(Ordering::Relaxed) {
            while now() < due {
                std::hint::spin_loop();
            }
            due += INTERVAL;
            let number = all.len().to_ne_bytes();
            let sent = now();
            from.send_to(&number, (TO, 7009)).expect("the device is up");
            let (mut last, mut sending) = (sent, None);
            let arrived = loop {
                let received = to.recv(&mut message);
                let time = now();
                let away = time - std::mem::replace(&mut last, time);
                let sending = *sending.get_or_insert(away);
                match received {
                    Ok(length) if message[..length] == number => {
                        break Some(Taken { took: time - sent, away: away.max(sending) });
                    }
                    // Of a message that counts as lost.
                    Ok(_) => {}
                    Err(why) if why.kind() == ErrorKind::WouldBlock => {}
                    Err(why) => panic!("{why}"),
                }
                if time - sent > LOST {
                    break None;
                }
            };
            all.extend(arrived);
            // After a stall it continues at its rate without catching up.
            due = due.max(now());
        }
        all
    }

    /// Median and 99th percentile, in microseconds.
    fn quantiles(mut took: Vec<Duration>) -> [f64; 2] {
        took.sort_unstable();
        [0.5, 0.99].map(|q| {
            took.get((took.len() as f64 * q) as usize).map_or(f64::NAN, |took| took.as_secs_f64() * 1e6)
        })
    }

    struct Measured {
        all: Vec<Duration>,
        undisturbed: Vec<Duration>,
        frames: FrameResults,
        real_time: RealTime,
    }

    fn measure(seconds: u64, [program_at, end_at]: [ThreadPlacement; 2]) -> Measured {
        let experiment = experiment(seconds);
        let Task::Simulate(length) = experiment.task else { unreachable!("a stream is sent") };
        let site = Site::new(&experiment).unwrap_or_else(|refused| panic!("{refused}"));
        let socket = |node: usize, address: Ipv4Addr| {
            let namespace = site.namespace_at(node).expect("each node has a namespace");
            namespace
                .within(|| UdpSocket::bind((address, 7009)))
                .expect("it is there")
                .expect("the address is there")
        };
        let (from, to) = (socket(0, FROM), socket(1, TO));
        to.set_nonblocking(true).expect("a socket can be asked without waiting");
        let epoch = TickEpoch::starting_in(Span::from_ms(20), Ticks::calibrate(), Dilation::NONE);
        let ports = Ports::new(&experiment, site.taps()).expect("each node has a port");
        let ports = ports.timed_by(move || epoch.now());
        let emulation = Emulation {
            experiment: experiment.clone(),
            length,
            doorbell: TapBell::new(&ports, epoch),
            channels: ports.channels(),
            outside: ports,
            hosts: Vec::new(),
            epoch,
            reports: no_reports(),
            journal: None,
        };
        let running = start(emulation, &EmulationOptions { placement: end_at, ..EmulationOptions::on(None) })
            .expect("there is a thread to be had");
        let over = Arc::new(AtomicBool::new(false));
        let seen = over.clone();
        let sender = spawn_on(program_at, "program", move || program(&from, &to, &seen));
        let driven = running.watch(&mut |_| {});
        over.store(true, Ordering::Relaxed);
        let taken = sender.expect("there is a thread to be had").join().expect("the program ends");
        let frames = driven.outside.frames(&experiment).remove(0);
        Measured {
            all: taken.iter().map(|message| message.took).collect(),
            undisturbed: taken
                .iter()
                .filter(|message| message.away < AWAY)
                .map(|message| message.took)
                .collect(),
            frames,
            real_time: driven.run.real_time.expect("it ran in real time"),
        }
    }

    pub(crate) fn main() {
        let [first, .., last] = cores()[..] else { return println!("skipped: this takes two processors") };
        let mut numbers =
            std::env::args().skip(1).map(|number| number.parse().expect("seconds and runs are numbers"));
        let (seconds, runs) = (numbers.next().unwrap_or(20), numbers.next().unwrap_or(3));
        let fifo = numbers.next().map(|priority| priority as u8);
        let places = [first, last].map(|core| ThreadPlacement { core: Some(core), fifo });
        println!(
            "microseconds; `read to written` is what the report says, `before` the most it may have been in the port"
        );
        for _ in 0..runs {
            let Measured { all, undisturbed, frames, real_time } = measure(seconds, places);
            println!(
                "\n{} messages; END stood still for {:.1} ms in all, for up to {:.2} ms",
                all.len(),
                real_time.stall_total * 1e3,
                real_time.stall_longest * 1e3
            );
            let row = |what: &str, [p50, p99]: [f64; 2]| println!("{what:<44} p50 {p50:8.1}  p99 {p99:8.1}");
            let left_out = all.len() - undisturbed.len();
            row("program", quantiles(all));
            row(&format!("program, without {left_out} that it was away for"), quantiles(undisturbed));
            row("report: read to written", [frames.p50 * 1e6, frames.p99 * 1e6]);
            row("report: before", [frames.waited_p50 * 1e6, frames.waited_p99 * 1e6]);
        }
    }
}

fn main() {
    #[cfg(target_os = "linux")]
    measure::main();
}
