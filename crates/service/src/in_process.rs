//! The emulated device with its host in the same process: END on one processor, the host on another.
//!
//! ```text
//!   host's thread                        END's thread
//!   subsystem + driver ──commands ring──▶ world: adapter, medium, other nodes
//!                      ◀─responses ring── on the real clock
//!                      ◀──── signal ─────
//! ```
//!
//! Neither thread waits for the other: a ring is read when its reader looks, and both look all the time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use laxity_engine::{Calendar, Dilation, Epoch, Outcome, RealClock, Ticks};
use laxity_lab::promise::{self, Promise};
use laxity_lab::results::{RealTime, Run};
use laxity_lab::scenario::{Experiment, Pace, RunLength, Task};
use laxity_lab::world::{self, Elsewhere, HostReport, Input, Lab, Notice, Outside};
use laxity_model::adapter::{Notification, Response};
use laxity_units::{Span, Time};

use crate::Refused;
use crate::host::{self, Host, Wires};
use crate::place::{Placement, cores, keep_awake, spawn_on};
use crate::ring::{Consumer, Producer, ring};
use crate::signal::{Interrupt, Raise};

/// Entries of a ring: more than any host has outstanding, so that a full one is an adapter's doing.
const RING: usize = 1 << 14;
/// Time for the threads to be where they should before time begins.
const LEAD: Span = Span::from_ms(50);

/// The ends of the rings at the adapter.
struct Far {
    commands: Consumer<Input>,
    responses: Producer<Response>,
    /// Responses that the ring had no room for.
    waiting: VecDeque<Response>,
    raise: Option<Raise>,
}

impl Outside for Far {
    const TELLS: bool = false;

    #[inline]
    fn next_input(&mut self, _now: Time) -> Option<Input> {
        self.commands.pop()
    }

    #[inline]
    fn notice(&mut self, _now: Time, notice: Notice) {
        let Notice::Response { response, announced, .. } = notice else { return };
        self.waiting.push_back(response);
        while let Some(&response) = self.waiting.front() {
            if self.responses.push(response).is_err() {
                break;
            }
            self.waiting.pop_front();
        }
        if announced && let Some(raise) = self.raise {
            // Refused only when the host has ended, as it does when the run is over.
            let _ = raise.raise();
        }
    }
}

/// Runs `experiment` with its first node's host in a thread of its own.
pub fn run(experiment: &Experiment) -> Result<Run, String> {
    host::check(experiment)?;
    let Task::Simulate(length) = experiment.task else {
        return Err("there is nothing to run: the experiment only asks what is admitted".into());
    };
    let experiment = Arc::new(experiment.clone());
    let cores = cores();
    let (first, last) = (cores.first().copied(), cores.last().copied());
    let end_core = experiment.emulation.core.or(last);
    let host_core = experiment.emulation.host_core.or(first);
    if end_core == host_core {
        return Err(
            "END and its host each need a processor of their own, and this process may use only one".into()
        );
    }
    let _awake = keep_awake();
    let epoch = Epoch::starting_in(LEAD, Ticks::calibrate(), dilation(&experiment)?);
    let (commands, commands_far) = ring(RING);
    let (responses_far, responses) = ring(RING);
    let over = Arc::new(AtomicBool::new(false));
    let (line, lines) = mpsc::channel();
    let at_host = {
        let (experiment, over) = (experiment.clone(), over.clone());
        move || {
            let interrupts = match experiment.adapter.notification() {
                Notification::Interrupt => match Interrupt::line(*epoch.ticks()) {
                    Ok((interrupts, raise)) => {
                        let _ = line.send(Ok(Some(raise)));
                        Some(interrupts)
                    }
                    Err(refused) => {
                        let _ = line.send(Err(refused));
                        return None;
                    }
                },
                Notification::Poll(_) => {
                    let _ = line.send(Ok(None));
                    None
                }
            };
            let wires = Wires { commands, responses, interrupts, over, stop: None };
            Some(Host::new(&experiment, &promises(&experiment), epoch, wires).run())
        }
    };
    let text = |refused: Refused| refused.to_string();
    let host = spawn_on(Placement { core: host_core, fifo: None }, "laxity-host", at_host).map_err(text)?;
    let raise = lines.recv().map_err(|_| "the host's thread ended before it began")?.map_err(text)?;
    let (report, reports) = mpsc::channel();
    let at_end = {
        let (experiment, over) = (experiment.clone(), over.clone());
        move || {
            let doorbell = commands_far.watcher();
            let far =
                Far { commands: commands_far, responses: responses_far, waiting: VecDeque::new(), raise };
            let mut trace = laxity_engine::trace::NoTrace;
            let elsewhere = Elsewhere { hosts: &[0], channels: &[] };
            let mut lab = Lab::with_outside(&experiment, length, &mut trace, far, elsewhere);
            let mut calendar = Calendar::new();
            lab.start(&mut calendar);
            let mut clock = RealClock::new(epoch, doorbell);
            let outcome = laxity_engine::run(&mut lab, &mut calendar, &mut clock, world::limits(length));
            over.store(true, Ordering::Release);
            let hosts: Vec<HostReport> = reports.recv().into_iter().collect();
            let end = match length {
                RunLength::Time { total, .. } => Time::ZERO + total,
                RunLength::Packets { .. } => outcome.now,
            };
            let (run, _) = lab.into_run(end, &hosts);
            Run { real_time: Some(real_time(&outcome, &clock)), ..run }
        }
    };
    let end = spawn_on(Placement { core: end_core, fifo: None }, "laxity-end", at_end).map_err(text)?;
    let worked = host.join().map_err(|_| "the host's thread broke off")?;
    let worked = worked.ok_or("the host could not begin")?;
    let _ = report.send(worked);
    end.join().map_err(|_| "END's thread broke off".to_string())
}

/// With a host that takes what its work takes, `C_sf` slows everything else down (thesis §4.4.2).
fn dilation(experiment: &Experiment) -> Result<Dilation, String> {
    if experiment.emulation.pace == Pace::Profile {
        return Ok(Dilation::NONE);
    }
    let csf = 1.0_f64;
    let fraction = Dilation::new((csf * 1000.0).round() as u32, 1000);
    fraction.ok_or_else(|| format!("a clock can go 1/32 to 4096 times as slow, and the speed-up is {csf}"))
}

fn promises(experiment: &Experiment) -> Vec<Promise> {
    let none = || vec![Promise::BestEffort; experiment.channels.len()];
    let formula = experiment.admission.formula;
    formula.map_or_else(none, |formula| {
        promise::promises(experiment, formula).map_or_else(|_| none(), |promises| promises.channels)
    })
}

/// How well the clock was kept.
fn real_time<D: laxity_engine::Doorbell>(outcome: &Outcome, clock: &RealClock<D>) -> RealTime {
    let (lateness, attribution) = (&outcome.lateness, clock.attribution());
    let quantile = |q| lateness.quantile(q).as_secs_f64();
    RealTime {
        events: outcome.events,
        inputs: outcome.wakes,
        late_p50: quantile(0.5),
        late_p99: quantile(0.99),
        late_p999: quantile(0.999),
        late_max: lateness.max().as_secs_f64(),
        behind: attribution.backlog.count,
        stalled: attribution.stall.count,
        stall_total: attribution.gap_total.as_secs_f64(),
        stall_longest: attribution
            .gaps()
            .iter()
            .map(|gap| gap.length)
            .max()
            .unwrap_or(Span::ZERO)
            .as_secs_f64(),
    }
}
