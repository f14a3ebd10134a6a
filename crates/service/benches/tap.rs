//! Packets a second through a bare TAP device: what an emulated adapter behind one is measured against.
//!
//! A generator (`support/generator.rs`) on one processor sends UDP as fast as the host lets it; a loop that spins on
//! the device on another handles the frames. `sink` drops them, which shows what sending costs; `echo` sends each
//! back, which is the least that any emulation does, and is the baseline. The generator also receives what
//! comes back, so of an echo's two ways each takes a share of both processors.
//!
//! `cargo bench -p laxity-service --bench tap`, or with `-- --quick` for fewer rounds. Needs root.

#[cfg(target_os = "linux")]
#[path = "support/generator.rs"]
mod generator;
#[cfg(target_os = "linux")]
#[path = "support/rounds.rs"]
mod rounds;

#[cfg(target_os = "linux")]
mod contest {
    use laxity_engine::Ticks;
    use laxity_service::Refused;
    use laxity_service::namespace::Owner;
    use laxity_service::place::{Placement, cores};
    use laxity_units::Span;

    use crate::generator::{Generator, Handler, Seen, Site, turn_round};
    use crate::rounds::{interleaved, median, rounds};

    const TIME: Span = Span::from_ms(200);

    /// What a run came to: frames handled, and what the generator saw.
    type Run = (u64, Seen);

    pub(crate) fn main() -> Result<(), Refused> {
        let cores = cores();
        let [first, .., last] = cores[..] else {
            println!("skipped: two spinning threads need two processors, and there is {cores:?}");
            return Ok(());
        };
        let ticks = Ticks::calibrate();
        let Site { tap, namespace } = Site::new(&Owner::claim()?)?;
        let rounds = rounds();
        println!(
            "thousand packets a second through a TAP device; medians of {rounds} interleaved rounds of {TIME}"
        );
        println!(
            "{:<12} {:>10} {:>10} {:>10} {:>8} {:>10} {:>14}",
            "frame", "sink", "echo", "returned", "ratio", "lost %", "round trip us"
        );
        let mut tap = Some(tap);
        for frame in [64, 1514] {
            let mut run = |handle: fn(&mut [u8]) -> bool| -> Run {
                let handler =
                    Handler::start(tap.take().expect("a run gives it back"), Placement::on(last), handle);
                let generator = Generator::new(&namespace, ticks, frame).expect("the address is there");
                let (_, seen) = generator
                    .flood(Placement::on(first), TIME)
                    .join()
                    .expect("the generator comes to its end");
                let (back, handled) = handler.stop();
                tap = Some(back);
                assert!(seen.returned <= handled.min(seen.sent), "{handled} handled of {seen:?}");
                assert_eq!(seen.disordered, 0, "a bare device keeps the order");
                (handled, seen)
            };
            let run = std::cell::RefCell::new(&mut run);
            let mut sink = || (run.borrow_mut())(|_| false);
            let mut echo = || {
                (run.borrow_mut())(|frame| {
                    turn_round(frame);
                    true
                })
            };
            let results = interleaved(rounds, &mut [&mut sink, &mut echo]);
            let handled = |(handled, seen): &Run| *handled as f64 / seen.seconds / 1e3;
            let [sink, echo] = [0, 1].map(|who| median(&results[who], handled));
            let returned = median(&results[1], |(_, seen)| seen.returned as f64 / seen.seconds / 1e3);
            let lost =
                median(&results[1], |(_, seen)| 100.0 * (1.0 - seen.returned as f64 / seen.sent as f64));
            let trip = median(&results[1], |(_, seen)| seen.round_trip.quantile(0.5).as_ps() as f64 / 1e6);
            println!(
                "{:<12} {sink:>10.1} {echo:>10.1} {returned:>10.1} {:>8.2} {lost:>10.2} {trip:>14.1}",
                format!("{frame} B"),
                echo / sink
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
