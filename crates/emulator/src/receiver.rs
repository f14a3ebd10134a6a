//! Real receiving host: a thread that END interrupts by signals, and that processes arriving
//! packets.
//!
//! ```text
//!   END's thread                                       the host's thread
//!   sources ▶ slots ▶ posted ─┬─ under a lock ──────── batch ▶ protocol ▶ buffers ▶ program ▶ (nothing: a program beside it)
//!                             └─ signal ─────────────▶ routine                          │
//!   meters ◀────────────────────── ring of what became of each packet ◀─────────────────┘
//! ```
//!
//! The policies of `laxity_qos::reception` over the interface of `laxity_model::reception` decide
//! when each step happens, the same code as in a simulation. The difference is that steps are
//! executed: an interrupt is a signal between two instructions, the protocol copies the packet and
//! computes its checksum, and the time is the time taken, padded to the profile's unless `pace =
//! "native"`.
//!
//! *The shared state* corresponds to an adapter's registers on a bus: pending commands, free
//! buffers, the interrupt mask. It is protected by a lock that either side holds for tens of
//! nanoseconds. END waits for it if necessary, so a stall of the host while it holds the lock
//! stalls END; this appears as a gap, and makes the run unfit.
//!
//! *An interrupt is level-triggered.* Between END's decision and the signal's arrival the host may
//! have taken the packets concerned. The host therefore asks the policy again when a signal
//! arrives, and ignores one without a reason.

mod beside;
mod cpu;
mod end;
mod kernel;

use std::sync::Arc;
use std::sync::mpsc;

use laxity_engine::{Calendar, InputDoorbell, RealClock, TickEpoch, Ticks};
use laxity_machine::place::{ThreadPlacement, keep_awake, spawn_on};
use laxity_machine::ring::ring;
use laxity_machine::signal::InterruptLine;
use laxity_machine::{RefusedBySystem, claim_two_cores};

use laxity_world::experiment::{Experiment, HostPlace, ReceiverSpec, RunLength, Task};
use laxity_world::limits;
use laxity_world::receiving::{Receiving, ReceivingHost};
use laxity_world::results::{Fitness, Run};

use crate::emulate::{EmulationOptions, real_time, stops};
use crate::in_process::{LEAD, dilation};
use beside::Beside;
use cpu::Cpu;
pub use cpu::Left;
pub use end::Account;
use end::{Adapters, Shared};

/// Capacity of the ring of outcomes: more than END is ever behind by, since a full ring blocks the
/// host.
const RING: usize = 1 << 14;

/// Run of a receiving host.
#[derive(Debug)]
pub struct ReceiverRun {
    /// Results, including timeliness.
    pub run: Run,
    /// Packet counts, including those outside the results' window.
    pub account: Account,
    /// Packets without a reported outcome at the end.
    pub under_way: u64,
    /// Refused requests that would have improved the run.
    pub refused: Vec<RefusedBySystem>,
}

/// Runs `experiment`, with channels that arrive at interfaces, with its host in its own thread or
/// in the kernel; first passes to `warn` any conflict with other runs on its processors.
pub fn run(experiment: &Experiment, warn: &mut dyn FnMut(&str)) -> Result<ReceiverRun, String> {
    let Task::Simulate(length) = experiment.task else {
        return Err("there is nothing to run: the experiment only asks what is admitted".into());
    };
    let experiment = Arc::new(experiment.clone());
    // Held until the end of the run, so that another run uses other processors.
    let (claimed, claimed_host) = claim_two_cores(experiment.emulation.core, experiment.emulation.host_core);
    if claimed.core == claimed_host.core {
        return Err("END and its host each need a processor of their own, and have the same".into());
    }
    for shared in [claimed.warning(), claimed_host.warning()].into_iter().flatten() {
        warn(&shared);
    }
    // Slow preparations, before time zero.
    let kernel = match experiment.emulation.host {
        HostPlace::Kernel => Some(kernel::Prepared::new(&experiment, claimed_host.core)?),
        HostPlace::Model | HostPlace::Thread => None,
    };
    let options = EmulationOptions::on(claimed.core);
    let gap = if kernel.is_some() { kernel::GAP } else { options.gap };
    let end = End {
        experiment: &experiment,
        length,
        options: EmulationOptions { gap, ..options },
        epoch: TickEpoch::starting_in(LEAD, Ticks::calibrate(), dilation(&experiment)?),
    };
    let mut refused = Vec::new();
    let awake = keep_awake().map_err(|why| refused.push(why)).ok();
    let (run, account, under_way) = match kernel {
        Some(kernel) => by_kernel(&end, kernel)?,
        None => by_thread(&end, claimed_host.core)?,
    };
    drop(awake);
    Ok(ReceiverRun { run, account, under_way, refused })
}

/// Results, packet counts, and the number of packets without a reported outcome at the end.
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

struct End<'a> {
    experiment: &'a Arc<Experiment>,
    length: RunLength,
    options: EmulationOptions,
    epoch: TickEpoch,
}

impl End<'_> {
    /// Runs the world on its own thread, with `host` as the receiving host; `bell` rings when that
    /// host has an outcome. Also returns a function that adds the timeliness to a run that has its
    /// host's figures.
    fn run<H, D>(&self, host: H, bell: D) -> Result<(Run, H, impl FnOnce(Run) -> Run + use<H, D>), String>
    where
        H: ReceivingHost + Send + 'static,
        D: InputDoorbell + Send + 'static,
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
        // Fitness depends on the host's figures.
        let judged = move |mut run: Run| {
            let mut kept = real_time(&outcome.lateness, &attribution, outcome.wakes);
            kept.fitness = Fitness::of(&run, stops(&attribution, &epoch), &outcome.lateness);
            run.real_time = Some(kept);
            run
        };
        Ok((run, host, judged))
    }
}

type Host = laxity_machine::place::PlacedThread<Left>;

/// The receiver of an experiment that runs here.
fn receiver_of(experiment: &Experiment) -> &ReceiverSpec {
    experiment.lone_receiver().expect("only hosts without a network receive in real time")
}

/// Starts the host of `experiment`; returns the adapters that interrupt it.
fn start(
    experiment: &Arc<Experiment>,
    epoch: TickEpoch,
    core: Option<usize>,
) -> Result<(Adapters, Host), String> {
    let shared = Arc::new(Shared::new(experiment.interfaces_at_rest(receiver_of(experiment))));
    let (outcomes, heard) = ring(RING);
    let (line, lines) = mpsc::channel();
    let at_host = {
        let (experiment, shared) = (experiment.clone(), shared.clone());
        move || {
            let interrupts = match InterruptLine::line(*epoch.ticks()) {
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
    let text = |refused: RefusedBySystem| refused.to_string();
    let host = spawn_on(ThreadPlacement { core, fifo: None }, "laxity-host", at_host).map_err(text)?;
    let raise = lines.recv().map_err(|_| "the host's thread ended before it began")?.map_err(text)?;
    Ok((Adapters::new(shared, raise, heard), host))
}

#[cfg(test)]
mod tests;
