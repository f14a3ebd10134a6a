//! Packets per second through a bare TAP device, the baseline of an emulated adapter behind one.
//!
//! A generator (`support/generator.rs`) on one processor sends UDP at the host's maximum rate; a
//! loop that spins on the device on another handles the frames. `sink` drops them, which measures
//! sending; `echo` sends each back, the minimum of any emulation, and is the baseline. The
//! generator also receives the returned frames, so both directions of an echo use both processors.
//!
//! `emulator` adds an emulated node: a frame becomes a message, is processed by a host without
//! costs, passes an adapter of one stage in zero time, and is written back to the device, all on
//! the real clock. The channel has the queue of the host. `plain` has a device as in the echo, with
//! single frames and complete checksums; `joined` has one as of `laxity emulate`, with incomplete
//! checksums and bulks of datagrams. Both are compared with the echo, which handles single frames.
//!
//! `cargo bench -p laxity-emulator --bench tap`, or with `-- --quick` for fewer rounds. Needs root.

#[cfg(target_os = "linux")]
#[path = "support/generator.rs"]
mod generator;
#[cfg(target_os = "linux")]
#[path = "support/rounds.rs"]
mod rounds;

#[cfg(target_os = "linux")]
mod contest {
    use std::collections::BTreeMap;
    use std::io;
    use std::os::fd::BorrowedFd;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use laxity_emulator::emulate::{Emulation, EmulationOptions, Running, no_reports, start};
    use laxity_emulator::tap_port::{PolledWire, Ports, TapBell, Wire};
    use laxity_engine::{Dilation, InputDoorbell, TickEpoch, Ticks};
    use laxity_machine::RefusedBySystem;
    use laxity_machine::namespace::{Namespace, RunOwner};
    use laxity_machine::offload::Offload;
    use laxity_machine::place::{ThreadPlacement, cores};
    use laxity_machine::tap::Tap;
    use laxity_scenario::Scenario;
    use laxity_units::Span;
    use laxity_units::Time;
    use laxity_world::experiment::{Experiment, Task};
    use laxity_world::{Input, Notice, Outside};

    use crate::generator::{Generator, Handler, Seen, Site, turn_round};
    use crate::rounds::{interleaved, median, rounds};

    /// Node that sends the frames of its port, and returns sent frames to the port.
    const NODE: &str = r#"
        title = "echo"
        [host]
        profile = "mc68040"
        [host.costs]
        context_switch = "0 us"
        cache_miss = "0 us"
        first_packet = "0 us"
        packet = "0 us"
        link_scheduling = "0 us"
        hand_over = "0 us"
        interrupt = "0 us"
        thread_creation = "0 us"
        receive_packet = "0 us"
        receive_message = "0 us"
        send_call = "0 us"
        [host.subsystem]
        packet = "2 KiB"
        link = { paradigm = "O1" }
        [adapter]
        kind = "generic"
        [[adapter.transmit]]
        name = "link"
        phase = [{ fixed = "0 us" }]
        [admission]
        formula = "off"
        [run]
        time = "1000000 s"
        [[port]]
        interface = "tap0"
        [[channel]]
        name = "echo"
        class = "best_effort"
        max_message = "1518 B"
        burst = 64
        message_slots = 512
        carries = "all"
        source = { kind = "none" }
    "#;

    fn node() -> Arc<Experiment> {
        let scenario = Scenario::from_text("echo.toml", NODE).unwrap_or_else(|errors| panic!("{errors}"));
        Arc::new(scenario.first())
    }

    /// Device that turns frames round on reading, as by the bare echo.
    struct Turned(Arc<Tap>);

    impl Wire for Turned {
        #[inline]
        fn receive(
            &self,
            queue: usize,
            buffer: &mut [u8],
            beyond: &mut [u8],
        ) -> io::Result<Option<(usize, Offload)>> {
            let read = Wire::receive(&*self.0, queue, buffer, beyond)?;
            if let Some((length, _)) = read {
                turn_round(&mut buffer[..length]);
            }
            Ok(read)
        }

        #[inline]
        fn send(&self, frame: &[u8], offload: Offload) -> io::Result<bool> {
            Wire::send(&*self.0, frame, offload)
        }
    }

    impl PolledWire for Turned {
        fn descriptor(&self, queue: usize) -> BorrowedFd<'_> {
            self.0.descriptor(queue)
        }
    }

    struct Stoppable {
        ports: Ports<Turned>,
        stop: Arc<AtomicBool>,
    }

    impl Outside for Stoppable {
        #[inline]
        fn next_input(&mut self, now: Time) -> Option<Input> {
            match self.stop.load(Ordering::Relaxed) {
                true => Some(Input::Stop).filter(|_| self.stop.swap(false, Ordering::Relaxed)),
                false => self.ports.next_input(now),
            }
        }

        #[inline]
        fn notice(&mut self, now: Time, notice: Notice<'_>) {
            self.ports.notice(now, notice);
        }
    }

    struct Bell(TapBell<Turned>, Arc<AtomicBool>);

    impl InputDoorbell for Bell {
        #[inline]
        fn is_rung(&mut self) -> bool {
            self.0.is_rung() || self.1.load(Ordering::Relaxed)
        }

        #[inline]
        fn is_rung_before(&mut self, now: u64, due: u64) -> bool {
            self.0.is_rung_before(now, due) || self.1.load(Ordering::Relaxed)
        }
    }

    /// Starts the emulated node at `tap`.
    fn emulator(tap: &Arc<Tap>, core: usize, ticks: Ticks) -> (Running<Stoppable>, Arc<AtomicBool>) {
        let experiment = node();
        let Task::Simulate(length) = experiment.task else { unreachable!("the node is run") };
        let wires = BTreeMap::from([(0, Arc::new(Turned(tap.clone())))]);
        let ports = Ports::new(&experiment, wires).expect("the node has its port");
        let stop = Arc::<AtomicBool>::default();
        let epoch = TickEpoch::starting_in(Span::from_ms(5), ticks, Dilation::NONE);
        // As in `laxity emulate`.
        let ports = ports.timed_by(move || epoch.now());
        let emulation = Emulation {
            experiment,
            length,
            doorbell: Bell(TapBell::new(&ports, epoch), stop.clone()),
            channels: ports.channels(),
            outside: Stoppable { ports, stop: stop.clone() },
            hosts: Vec::new(),
            epoch,
            reports: no_reports(),
            journal: None,
        };
        (start(emulation, &EmulationOptions::on(Some(core))).expect("there is a thread to be had"), stop)
    }

    const TIME: Span = Span::from_ms(200);

    /// Frames handled, and the generator's results.
    type Run = (u64, Seen);

    pub(crate) fn main() -> Result<(), RefusedBySystem> {
        let cores = cores();
        let [first, .., last] = cores[..] else {
            println!("skipped: two spinning threads need two processors, and there is {cores:?}");
            return Ok(());
        };
        let ticks = Ticks::calibrate();
        let owner = RunOwner::claim()?;
        // Single frames, and devices as of `laxity emulate`.
        let [bare, full] = [Site::new(&owner, false)?, Site::new(&owner, true)?];
        let rounds = rounds();
        println!(
            "thousand packets a second through a TAP device; medians of {rounds} interleaved rounds of {TIME}"
        );
        println!(
            "{:<8} {:>8} {:>8} {:>8} {:>8} {:>10} {:>11} {:>12} {:>26} {:>20}",
            "frame",
            "sink",
            "echo",
            "plain",
            "joined",
            "echo/sink",
            "plain/echo",
            "joined/echo",
            "round trip us",
            "returned %"
        );
        let [bare, full] = [bare, full].map(|site| (Arc::new(site.tap), site.namespace));
        for frame in [64, 1514] {
            let generate = |namespace: &Namespace| {
                let generator = Generator::new(namespace, ticks, frame).expect("the address is there");
                let (_, seen) = generator
                    .flood(ThreadPlacement::on(first), TIME)
                    .join()
                    .expect("the generator comes to its end");
                assert_eq!(seen.disordered, 0, "a device keeps the order");
                seen
            };
            let handled = |handle: fn(&mut [u8]) -> bool| -> Run {
                let handler = Handler::start(bare.0.clone(), ThreadPlacement::on(last), handle);
                let seen = generate(&bare.1);
                let handled = handler.stop();
                assert!(seen.returned <= handled.min(seen.sent), "{handled} handled of {seen:?}");
                (handled, seen)
            };
            let mut sink = || handled(|_| false);
            let mut echo = || {
                handled(|frame| {
                    turn_round(frame);
                    true
                })
            };
            let emulated = |(tap, namespace): &(Arc<Tap>, Namespace)| -> Run {
                let (running, stop) = emulator(tap, last, ticks);
                let seen = generate(namespace);
                stop.store(true, Ordering::Relaxed);
                let driven = running.watch(&mut |_| {});
                let (counts, held) = (driven.outside.ports.counts(), driven.outside.ports.held() as u64);
                // It was stopped with frames in flight.
                assert_eq!(counts.read, counts.written + counts.refused + held, "{held} held of {counts:?}");
                (counts.written, seen)
            };
            let [mut plain, mut joined] = [&bare, &full].map(|site| move || emulated(site));
            let results = interleaved(rounds, &mut [&mut sink, &mut echo, &mut plain, &mut joined]);
            let handled = |(handled, seen): &Run| *handled as f64 / seen.seconds / 1e3;
            let [sink, echo, plain, joined] = [0, 1, 2, 3].map(|who| median(&results[who], handled));
            let trip = |(_, seen): &Run| seen.round_trip.quantile(0.5).as_ps() as f64 / 1e6;
            let returned = |(_, seen): &Run| 100.0 * seen.returned as f64 / seen.sent as f64;
            let all = |of: &dyn Fn(&Run) -> f64| {
                [1, 2, 3].map(|who| format!("{:.1}", median(&results[who], of))).join(" / ")
            };
            println!(
                "{:<8} {sink:>8.1} {echo:>8.1} {plain:>8.1} {joined:>8.1} {:>10.2} {:>11.2} {:>12.2} {:>26} {:>20}",
                format!("{frame} B"),
                echo / sink,
                plain / echo,
                joined / echo,
                all(&trip),
                all(&returned)
            );
        }
        Ok(())
    }
}

fn main() {
    #[cfg(target_os = "linux")]
    if let Err(refused) = contest::main() {
        println!("skipped: {refused}");
    }
}
