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
mod kernel;

use std::sync::Arc;
use std::sync::mpsc;

use laxity_engine::{Calendar, Doorbell, Epoch, RealClock, Ticks};
use laxity_machine::place::{Placement, keep_awake, spawn_on};
use laxity_machine::ring::ring;
use laxity_machine::signal::Interrupt;
use laxity_machine::{Refused, claim_two_cores};

use laxity_world::experiment::{Experiment, HostPlace, RunLength, Task};
use laxity_world::limits;
use laxity_world::receiving::{Receiving, ReceivingHost};
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

/// Runs `experiment`, whose channels come in at interfaces, with its host in a thread of its own or in the kernel; before that it tells
/// `warn` of other runs on its processors.
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
    // What may take long, before time begins.
    let kernel = match experiment.emulation.host {
        HostPlace::Kernel => Some(kernel::Prepared::new(&experiment, claimed_host.core)?),
        HostPlace::Model | HostPlace::Thread => None,
    };
    let options = Options::on(claimed.core);
    let gap = if kernel.is_some() { kernel::GAP } else { options.gap };
    let end = End {
        experiment: &experiment,
        length,
        options: Options { gap, ..options },
        epoch: Epoch::starting_in(LEAD, Ticks::calibrate(), dilation(&experiment)?),
    };
    let mut refused = Vec::new();
    let awake = keep_awake().map_err(|why| refused.push(why)).ok();
    let (run, account, under_way) = match kernel {
        Some(kernel) => by_kernel(&end, kernel)?,
        None => by_thread(&end, claimed_host.core)?,
    };
    drop(awake);
    Ok(Received { run, account, under_way, refused })
}

/// What came of a run: its results, and its packets, with those of which END had heard nothing when it ended.
type Came = (Run, Account, u64);

fn by_thread(end: &End<'_>, core: Option<usize>) -> Result<Came, String> {
    let (adapters, host) = start(end.experiment, end.epoch, core)?;
    let bell = adapters.doorbell();
    let (mut run, adapters, judged) = end.run(adapters, bell)?;
    let account = adapters.account();
    let unheard = adapters.close();
    let Left { held, stalls, longest_stall } = host.join().map_err(|_| "the host's thread broke off")?;
    run.figures.insert("host_stalls".into(), stalls.as_secs_f64());
    run.figures.insert("host_longest_stall".into(), longest_stall.as_secs_f64());
    Ok((judged(run), account, held + unheard()))
}

fn by_kernel(end: &End<'_>, kernel: kernel::Prepared) -> Result<Came, String> {
    let kernel::Started { adapters, bell, program } = kernel.start(end.experiment, end.epoch)?;
    let (mut run, adapters, judged) = end.run(adapters, bell)?;
    adapters.close();
    let left = program.join().map_err(|_| "the program's thread broke off")?;
    let (unroomed, unwritten) = adapters.kernel_drops();
    run.figures.insert("socket_drops".into(), unroomed as f64);
    run.figures.insert("device_drops".into(), unwritten as f64);
    if let Some(others) = left.others {
        run.figures.insert("host_stalls".into(), others.as_secs_f64());
    }
    Ok((judged(run), adapters.account(), adapters.under_way()))
}

/// A run as END's thread has it.
struct End<'a> {
    experiment: &'a Arc<Experiment>,
    length: RunLength,
    options: Options,
    epoch: Epoch,
}

impl End<'_> {
    /// Runs the world on a thread of its own, with `host` as what receives there; `bell` rings when that has something to say. Comes with what
    /// adds to a run, when its host's figures are in it, how well time was kept.
    fn run<H, D>(&self, host: H, bell: D) -> Result<(Run, H, impl FnOnce(Run) -> Run + use<H, D>), String>
    where
        H: ReceivingHost + Send + 'static,
        D: Doorbell + Send + 'static,
    {
        let Self { experiment, length, options, epoch } = self;
        let (experiment, length, options, epoch) = (Arc::clone(experiment), *length, *options, *epoch);
        let end = spawn_on(options.placement, "emulate", move || {
            let clock = RealClock::new(epoch, bell).allowing(options.allowance);
            let mut clock = clock.seeing_gaps_from(options.gap);
            let mut world = Receiving::new(&experiment, length, host);
            let mut calendar = Calendar::new();
            world.start(&mut calendar);
            let outcome = laxity_engine::run(&mut world, &mut calendar, &mut clock, limits(length));
            let (run, host) = world.into_run(outcome.now);
            (run, host, outcome, clock.attribution().clone())
        });
        let ended = end.map_err(|refused| refused.to_string())?.join();
        let (run, host, outcome, attribution) =
            ended.map_err(|_| "the emulating thread broke off, and its host with it")?;
        // What the host says of itself has to be known when it is judged how fit the run was.
        let judged = move |mut run: Run| {
            let mut kept = real_time(&outcome.lateness, &attribution, outcome.wakes);
            kept.fitness = Fitness::of(&run, stops(&attribution, &epoch), &outcome.lateness);
            run.real_time = Some(kept);
            run
        };
        Ok((run, host, judged))
    }
}

type Host = laxity_machine::place::Placed<Left>;

/// Starts the host of `experiment`, and gives the adapters that interrupt it.
fn start(
    experiment: &Arc<Experiment>,
    epoch: Epoch,
    core: Option<usize>,
) -> Result<(Adapters, Host), String> {
    let shared = Arc::new(Shared::new(experiment.interfaces_at_rest()));
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
