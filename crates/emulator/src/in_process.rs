//! Emulated device and its host in one process: END on one processor, the host on another.
//!
//! ```text
//!   host's thread                        END's thread
//!   subsystem + driver ──commands ring──▶ world: adapter, medium, other nodes
//!                      ◀─responses ring── on the real clock
//!                      ◀──── signal ─────
//! ```
//!
//! Neither thread waits for the other: both poll their rings all the time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc;

use laxity_engine::{Dilation, TickEpoch, Ticks};
use laxity_machine::RefusedBySystem;
use laxity_machine::claim_two_cores;
use laxity_machine::place::{ThreadPlacement, spawn_on};
use laxity_machine::ring::{Consumer, Producer, Watcher, ring};
use laxity_machine::signal::{InterruptLine, Raise, StopFlag};
use laxity_model::adapter::{AdapterResponse, Notification};
use laxity_units::{Span, Time};
use laxity_world::experiment::{Experiment, Pace, Task};
use laxity_world::promise;
use laxity_world::{Input, Notice, Outside};

use crate::emulate::{Driven, Emulation, EmulationOptions, Glance, drive};
use crate::host::{self, EmulatedHost, Wires};

/// Entries of a ring: more than any host has outstanding, so only an adapter can fill it.
const RING: usize = 1 << 14;
/// Lead before time zero, in which the threads start.
pub(crate) const LEAD: Span = Span::from_ms(50);

/// Rings for `capacity` entries each: the host's two ends, and the adapter's.
pub fn wires(capacity: usize) -> (Producer<Input>, Consumer<AdapterResponse>, Far) {
    let (commands, commands_far) = ring(capacity);
    let (responses_far, responses) = ring(capacity);
    let (waiting, edges) = (VecDeque::new(), Arc::default());
    let far = Far { commands: commands_far, responses: responses_far, waiting, raise: None, edges };
    (commands, responses, far)
}

/// Adapter's ends of the rings, which are its world's outside.
pub struct Far {
    commands: Consumer<Input>,
    responses: Producer<AdapterResponse>,
    /// Responses for which the ring was full.
    waiting: VecDeque<AdapterResponse>,
    raise: Option<Raise>,
    /// Number of edges of the window that have passed.
    edges: Arc<AtomicU8>,
}

impl Far {
    /// Doorbell that rings while there are commands.
    pub fn doorbell(&self) -> Watcher<Input> {
        self.commands.watcher()
    }

    /// Number of edges of the window that have passed, for the host.
    pub fn edges(&self) -> Arc<AtomicU8> {
        self.edges.clone()
    }

    /// Announces responses by `raise`.
    #[must_use]
    pub fn raising(self, raise: Option<Raise>) -> Self {
        Self { raise, ..self }
    }
}

impl Outside for Far {
    const TELLS: bool = false;

    #[inline]
    fn next_input(&mut self, _now: Time) -> Option<Input> {
        self.commands.take()
    }

    #[inline]
    fn notice(&mut self, _now: Time, notice: Notice<'_>) {
        let (response, announced) = match notice {
            Notice::Response { response, announced, .. } => (response, announced),
            Notice::Window { .. } => {
                self.edges.fetch_add(1, Ordering::Release);
                return;
            }
            Notice::Taken { .. } | Notice::Refused { .. } | Notice::Delivered { .. } => return,
        };
        if !self.waiting.is_empty() || self.responses.push(response.copied()).is_err() {
            self.waiting.push_back(response.copied());
        }
        while let Some(&response) = self.waiting.front() {
            if self.responses.push(response).is_err() {
                break;
            }
            self.waiting.pop_front();
        }
        if announced && let Some(raise) = self.raise {
            // Refused only if the host has ended, as at the end of the run.
            let _ = raise.raise();
        }
    }
}

/// Runs `experiment` with its first node's host in its own thread, and passes status reports to
/// `watch`; first passes to `warn` any conflict with other runs on its processors.
pub fn run(
    experiment: &Experiment,
    stop: Option<StopFlag>,
    warn: &mut dyn FnMut(&str),
    watch: &mut dyn FnMut(&Glance),
) -> Result<Driven<Far>, String> {
    host::check(experiment)?;
    let Task::Simulate(length) = experiment.task else {
        return Err("there is nothing to run: the experiment only asks what is admitted".into());
    };
    let experiment = Arc::new(experiment.clone());
    // Held until the end of the run, so that another run uses other processors.
    let (core, claimed_host) = claim_two_cores(experiment.emulation.core, experiment.emulation.host_core);
    let options = EmulationOptions { stop, ..EmulationOptions::on(core.core) };
    let host_core = claimed_host.core;
    if options.placement.core == host_core {
        let reason = "END and its host each need a processor of their own, and have the same";
        return Err(reason.into());
    }
    for shared in [core.warning(), claimed_host.warning()].into_iter().flatten() {
        warn(&shared);
    }
    let epoch = TickEpoch::starting_in(LEAD, Ticks::calibrate(), dilation(&experiment)?);
    let (commands, responses, far) = wires(RING);
    let over = Arc::new(AtomicBool::new(false));
    let (line, lines) = mpsc::channel();
    let (report, reports) = mpsc::channel();
    let at_host = {
        let (experiment, over, edges) = (experiment.clone(), over.clone(), far.edges());
        move || {
            let interrupts = match experiment.adapter(0).notification() {
                Notification::Interrupt => match InterruptLine::line(*epoch.ticks()) {
                    Ok((interrupts, raise)) => {
                        let _ = line.send(Ok(Some(raise)));
                        Some(interrupts)
                    }
                    Err(refused) => {
                        let _ = line.send(Err(refused));
                        return;
                    }
                },
                Notification::Poll(_) => {
                    let _ = line.send(Ok(None));
                    None
                }
            };
            let wires = Wires { commands, responses, interrupts, over, edges };
            let promises = promise::of_channels(&experiment, experiment.admission.formula);
            let _ = report.send(EmulatedHost::new(&experiment, &promises, epoch, wires).run());
        }
    };
    let text = |refused: RefusedBySystem| refused.to_string();
    let host =
        spawn_on(ThreadPlacement { core: host_core, fifo: None }, "laxity-host", at_host).map_err(text)?;
    let raise = lines.recv().map_err(|_| "the host's thread ended before it began")?.map_err(text)?;
    let doorbell = far.doorbell();
    let emulation = Emulation {
        experiment,
        length,
        outside: far.raising(raise),
        doorbell,
        hosts: vec![0],
        channels: Vec::new(),
        epoch,
        reports: Box::new(move |_| {
            over.store(true, Ordering::Release);
            reports.recv().into_iter().collect()
        }),
        journal: None,
    };
    let driven = drive(emulation, &options, watch).map_err(text)?;
    host.join().map_err(|_| "the host's thread broke off")?;
    Ok(driven)
}

/// Dilation of all else by `C_sf` beside a host at native pace (thesis §4.4.2).
pub(crate) fn dilation(experiment: &Experiment) -> Result<Dilation, String> {
    if experiment.emulation.pace == Pace::Profile {
        return Ok(Dilation::NONE);
    }
    let csf = experiment.host(0).speedup;
    let fraction = Dilation::new((csf * 1000.0).round() as u32, 1000);
    fraction.ok_or_else(|| format!("a clock can go 1/32 to 4096 times as slow, and the speed-up is {csf}"))
}
