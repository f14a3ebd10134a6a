//! Bulk TCP between two namespaces: through a bare forwarder between two TAP devices, and through
//! END between the same.
//!
//! Sender and receiver are threads on one processor; the forwarding thread spins on the other. The
//! forwarder copies frames between the devices, in both directions in turn: single frames as on a
//! link, or with offloads bulks of up to 64 KiB, which it need not cut. END's hosts cost no time
//! and its link has zero delay, so the difference is the cost of the emulation. Each run has new
//! devices, namespaces and sockets.
//!
//! `cargo bench -p laxity-emulator --bench tcp`, or with `-- --quick` for fewer rounds. Needs root.

#[cfg(target_os = "linux")]
#[path = "support/rounds.rs"]
mod rounds;

#[cfg(target_os = "linux")]
mod contest {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use laxity_emulator::emulate::{Emulation, EmulationOptions, no_reports, start};
    use laxity_emulator::tap_port::{Ports, Site, TapBell};
    use laxity_engine::{Dilation, TickEpoch, Ticks};
    use laxity_machine::RefusedBySystem;
    use laxity_machine::offload::LONGEST_BULK;
    use laxity_machine::place::{ThreadPlacement, cores, spawn_on};
    use laxity_machine::tap::Tap;
    use laxity_scenario::Scenario;
    use laxity_units::Span;
    use laxity_world::experiment::{Experiment, Task};

    use crate::rounds::{interleaved, median, rounds};

    const TIME: Duration = Duration::from_millis(700);
    const FROM: Ipv4Addr = Ipv4Addr::new(10, 77, 5, 1);
    const TO: Ipv4Addr = Ipv4Addr::new(10, 77, 5, 2);

    fn experiment() -> Arc<Experiment> {
        let process = std::process::id();
        let costs: String = [
            "context_switch",
            "cache_miss",
            "first_packet",
            "packet",
            "link_scheduling",
            "hand_over",
            "interrupt",
            "thread_creation",
            "receive_packet",
            "receive_message",
            "send_call",
        ]
        .map(|cost| format!("{cost} = \"0 us\"\n"))
        .concat();
        let ways = [("there", 0, 1), ("back", 1, 0)].map(|(name, from, to)| {
            format!(
                "[[channel]]\nname = \"{name}\"\nfrom = {from}\nto = {to}\nclass = \"best_effort\"\n\
                 max_message = \"1518 B\"\nburst = 64\nmessage_slots = 1024\ncarries = \"all\"\n\
                 source = {{ kind = \"none\" }}\n"
            )
        });
        let ports = [(0, "a", FROM), (1, "b", TO)].map(|(node, name, address)| {
            format!(
                "[[port]]\nnode = {node}\ninterface = \"tap0\"\nnamespace = \"lx-c{process}-{name}\"\n\
                 address = \"{address}/24\"\n"
            )
        });
        let text = format!(
            "title = \"tcp\"\n[host]\nprofile = \"mc68040\"\n[host.costs]\n{costs}[host.subsystem]\npacket = \"2 KiB\"\n\
             link = {{ paradigm = \"O1\" }}\n[adapter]\nkind = \"generic\"\n[[adapter.transmit]]\nname = \"link\"\n\
             phase = [{{ fixed = \"0 us\" }}]\n[admission]\nformula = \"off\"\n[network]\nkind = \"point_to_point\"\n\
             stations = 2\n[run]\ntime = \"{} ms\"\n{}{}",
            TIME.as_millis() + 300,
            ports.concat(),
            ways.concat()
        );
        let scenario = Scenario::from_text("tcp.toml", &text).unwrap_or_else(|errors| panic!("{errors}"));
        Arc::new(scenario.first())
    }

    #[allow(clippy::disallowed_methods, reason = "a rate takes a clock")]
    fn now() -> Instant {
        Instant::now()
    }

    /// Sends for the time of a run from the first namespace to the second, and returns the received
    /// rate in Gbit/s.
    fn transfer(site: &Site, core: usize) -> f64 {
        let inside = |node: usize| site.namespace_at(node).expect("each node has a namespace");
        let there =
            inside(1).within(|| TcpListener::bind((TO, 5201))).expect("it is there").expect("it is free");
        let received = spawn_on(ThreadPlacement::on(core), "receive", move || {
            let (mut stream, _) = there.accept().expect("somebody connects");
            let (mut buffer, mut bytes, began) = (vec![0; 1 << 17], 0, now());
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                bytes += count;
            }
            bytes as f64 * 8.0 / began.elapsed().as_secs_f64() / 1e9
        });
        let stream = inside(0).within(|| TcpStream::connect((TO, 5201))).expect("it is there");
        let mut stream = stream.expect("the other end listens");
        let sent = spawn_on(ThreadPlacement::on(core), "send", move || {
            let (buffer, began) = (vec![7; 1 << 17], now());
            while began.elapsed() < TIME {
                stream.write_all(&buffer).expect("the other end reads");
            }
        });
        sent.expect("there is a thread to be had").join().expect("the sender ends");
        received.expect("there is a thread to be had").join().expect("the receiver ends")
    }

    fn forward(from: &Tap, to: &Tap, buffer: &mut [u8]) {
        if let Some((length, offload)) = from.receive(0, buffer, &mut []).expect("the device is up") {
            // A frame that the host refuses is lost.
            let _ = to.send(&buffer[..length], offload).expect("the device is up");
        }
    }

    fn bare(cores: [usize; 2], made: fn(&Experiment) -> Result<Site, RefusedBySystem>) -> f64 {
        let site = made(&experiment()).unwrap_or_else(|refused| panic!("{refused}"));
        let taps: Vec<Arc<Tap>> = site.taps().into_values().collect();
        let over = Arc::<AtomicBool>::default();
        let seen = over.clone();
        let forwarder = spawn_on(ThreadPlacement::on(cores[1]), "forward", move || {
            let mut buffer = vec![0; LONGEST_BULK];
            while !seen.load(Ordering::Relaxed) {
                forward(&taps[0], &taps[1], &mut buffer);
                forward(&taps[1], &taps[0], &mut buffer);
            }
        });
        let rate = transfer(&site, cores[0]);
        over.store(true, Ordering::Relaxed);
        forwarder.expect("there is a thread to be had").join().expect("the forwarder ends");
        rate
    }

    fn emulated(cores: [usize; 2], made: fn(&Experiment) -> Result<Site, RefusedBySystem>) -> f64 {
        let experiment = experiment();
        let Task::Simulate(length) = experiment.task else { unreachable!("it is run") };
        let site = made(&experiment).unwrap_or_else(|refused| panic!("{refused}"));
        let epoch = TickEpoch::starting_in(Span::from_ms(5), Ticks::calibrate(), Dilation::NONE);
        // As in `laxity emulate`.
        let ports = Ports::new(&experiment, site.taps()).expect("each node has a port");
        let ports = ports.timed_by(move || epoch.now());
        let emulation = Emulation {
            experiment,
            length,
            doorbell: TapBell::new(&ports, epoch),
            channels: ports.channels(),
            outside: ports,
            hosts: Vec::new(),
            epoch,
            reports: no_reports(),
            journal: None,
        };
        let running =
            start(emulation, &EmulationOptions::on(Some(cores[1]))).expect("there is a thread to be had");
        let rate = thread::scope(|scope| scope.spawn(|| transfer(&site, cores[0])).join().expect("it ends"));
        let driven = running.watch(&mut |_| {});
        let counts = driven.outside.counts();
        assert_eq!((counts.oversize, counts.unmatched, counts.undersized), (0, 0, 0), "{counts:?}");
        rate
    }

    pub(crate) fn main() {
        let [first, .., last] = cores()[..] else { return println!("skipped: this takes two processors") };
        let cores = [first, last];
        let turns: &mut [&mut dyn FnMut() -> f64] = &mut [
            &mut || bare(cores, Site::plain),
            &mut || bare(cores, Site::new),
            &mut || emulated(cores, Site::plain),
            &mut || emulated(cores, Site::new),
        ];
        let rates = interleaved(rounds(), turns);
        let plain = median(&rates[0], |rate| *rate);
        println!("{:<32} {:>8} {:>8}", "bulk TCP", "Gbit/s", "ratio");
        for (who, rates) in ["bare forwarder", "with offloads", "END", "with offloads"].iter().zip(&rates) {
            let rate = median(rates, |rate| *rate);
            println!("{who:<32} {rate:>8.2} {:>8.2}", rate / plain);
        }
    }
}

fn main() {
    #[cfg(target_os = "linux")]
    contest::main();
}
