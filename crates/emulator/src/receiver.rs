//! A host that receives, for real: a thread that END interrupts by signals, and that works on what came in.
//!
//! ```text
//!   END's thread                                       the host's thread
//!   sources ▶ slots ▶ posted ─┬─ under a lock ──────── batch ▶ protocol ▶ buffers ▶ program ▶ (nothing: a program beside it)
//!                             └─ signal ─────────────▶ routine                          │
//!   meters ◀────────────────────── ring of what became of each packet ◀─────────────────┘
//! ```
//!
//! When anything is done is decided by the policies of `laxity_qos::reception` over the interface of
//! `laxity_model::reception`, the same code that a simulation runs. What differs is who pays: an interrupt is a signal
//! that strikes between two instructions, the protocol copies and sums up the packet, and the time that passes is the time that it took,
//! padded to the profile's unless `pace = "native"`.
//!
//! *What the two share* is what an adapter's registers are on a bus: commands that wait, buffers that are free, whether the
//! host hears interrupts. It lies behind a lock that either holds for tens of nanoseconds. END waits for it when it must, so a
//! platform that stops the host within those stops END; that is seen as the gap it is, and makes the run unfit.
//!
//! *An interrupt is heard as a level, not an edge.* Between END's look and the signal's arrival the host may have taken what it
//! was about. So the host asks the policy again when a signal strikes, and forgets one whose reason is gone.

mod beside;
mod cpu;
mod end;

use std::sync::Arc;
use std::sync::mpsc;

use laxity_engine::{Calendar, Epoch, RealClock, Seed, Ticks};
use laxity_machine::place::{Placement, keep_awake, spawn_on};
use laxity_machine::ring::ring;
use laxity_machine::signal::Interrupt;
use laxity_machine::{Refused, claim_two_cores};
use laxity_model::reception::Interface;

use laxity_world::experiment::{Experiment, Task};
use laxity_world::limits;
use laxity_world::receiving::Receiving;
use laxity_world::results::{Fitness, Run};

use crate::emulate::{Options, real_time, stops};
use crate::in_process::{LEAD, dilation};
use beside::Beside;
use cpu::Cpu;
pub use cpu::Left;
pub use end::Account;
use end::{Adapters, Shared};

/// Outcomes that may wait for END: more than it is ever behind by, for a full ring holds the host up.
const RING: usize = 1 << 14;

/// A run of a host that receives.
#[derive(Debug)]
pub struct Received {
    /// Its results, with how well time was kept.
    pub run: Run,
    /// What came of its packets, those outside the window of the results included.
    pub account: Account,
    /// Packets of which END had heard nothing when it ended.
    pub under_way: u64,
    /// What would have made the run better and was not permitted.
    pub refused: Vec<Refused>,
}

/// Runs `experiment`, whose channels come in at interfaces, with its host in a thread of its own; before that it tells `warn`
/// of other runs on its processors.
pub fn run(experiment: &Experiment, warn: &mut dyn FnMut(&str)) -> Result<Received, String> {
    let Task::Simulate(length) = experiment.task else {
        return Err("there is nothing to run: the experiment only asks what is admitted".into());
    };
    let experiment = Arc::new(experiment.clone());
    // Held until the run is over, so that another one takes others.
    let (claimed, claimed_host) = claim_two_cores(experiment.emulation.core, experiment.emulation.host_core);
    if claimed.core == claimed_host.core {
        return Err("END and its host each need a processor of their own, and have the same".into());
    }
    for shared in [claimed.warning(), claimed_host.warning()].into_iter().flatten() {
        warn(&shared);
    }
    let options = Options::on(claimed.core);
    let mut refused = Vec::new();
    let awake = keep_awake().map_err(|why| refused.push(why)).ok();
    let epoch = Epoch::starting_in(LEAD, Ticks::calibrate(), dilation(&experiment)?);
    let text = |refused: Refused| refused.to_string();
    let (adapters, host) = start(&experiment, epoch, claimed_host.core)?;
    let watcher = adapters.doorbell();
    let end = spawn_on(options.placement, "emulate", {
        let experiment = experiment.clone();
        move || {
            let clock = RealClock::new(epoch, watcher).allowing(options.allowance);
            let mut clock = clock.seeing_gaps_from(options.gap);
            let mut world = Receiving::new(&experiment, length, adapters);
            let mut calendar = Calendar::new();
            world.start(&mut calendar);
            let outcome = laxity_engine::run(&mut world, &mut calendar, &mut clock, limits(length));
            let (run, adapters) = world.into_run(outcome.now);
            (run, adapters, outcome, clock.attribution().clone())
        }
    });
    let end = end.map_err(text)?;
    let ended = end.join();
    let (mut run, adapters, outcome, attribution) =
        ended.map_err(|_| "the emulating thread broke off, and its host with it")?;
    let account = adapters.account();
    let unheard = adapters.close();
    let Left { held, stalls, longest_stall } = host.join().map_err(|_| "the host's thread broke off")?;
    run.figures.insert("host_stalls".into(), stalls.as_secs_f64());
    run.figures.insert("host_longest_stall".into(), longest_stall.as_secs_f64());
    let mut kept = real_time(&outcome.lateness, &attribution, outcome.wakes);
    kept.fitness = Fitness::of(&run, stops(&attribution, &epoch), &outcome.lateness);
    run.real_time = Some(kept);
    drop(awake);
    Ok(Received { run, account, under_way: held + unheard(), refused })
}

type Host = laxity_machine::place::Placed<Left>;

/// Starts the host of `experiment`, and gives the adapters that interrupt it.
fn start(
    experiment: &Arc<Experiment>,
    epoch: Epoch,
    core: Option<usize>,
) -> Result<(Adapters, Host), String> {
    let seed = Seed::new(experiment.seed);
    let interfaces = experiment.interfaces.iter().enumerate();
    let interfaces = interfaces
        .map(|(i, spec)| Interface::new(spec.config.clone(), seed.stream(&format!("reception clock {i}"))));
    let shared = Arc::new(Shared::new(interfaces.collect()));
    let (outcomes, heard) = ring(RING);
    let (line, lines) = mpsc::channel();
    let at_host = {
        let (experiment, shared) = (experiment.clone(), shared.clone());
        move || {
            let interrupts = match Interrupt::line(*epoch.ticks()) {
                Ok((interrupts, raise)) => {
                    let beside = Beside::calibrate(&epoch);
                    let _ = line.send(Ok(raise));
                    (interrupts, beside)
                }
                Err(refused) => {
                    let _ = line.send(Err(refused));
                    return Left::default();
                }
            };
            let (interrupts, beside) = interrupts;
            Cpu::new(&experiment, &shared, epoch, interrupts, outcomes, beside).run()
        }
    };
    let text = |refused: Refused| refused.to_string();
    let host = spawn_on(Placement { core, fifo: None }, "laxity-host", at_host).map_err(text)?;
    let raise = lines.recv().map_err(|_| "the host's thread ended before it began")?.map_err(text)?;
    Ok((Adapters::new(shared, raise, heard), host))
}

#[cfg(test)]
mod tests;
