//! A world under a real clock, on its own thread and processor.
//!
//! The code is that of a simulation, with a waiting clock and a real outside: the thesis's END. The
//! emulating thread must not wait, so its status reports make no system call: they are stored for a
//! watcher, or skipped if the watcher is just reading. The run is driven in slices, which are
//! equivalent to one piece; the status is reported between slices.
//!
//! A world has parts that cannot move between threads, so it is built, run and summarised on one
//! thread; its inputs move there, and its results back.
//!
//! An `Input::Stop` ends the run; signals produce one through a [`StopFlag`]. A run that ends early
//! thus has an input for it, and its log replays to the same end.

mod gate;
mod replay;

use std::cell::Cell;
use std::panic;
use std::rc::Rc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use laxity_engine::trace::NoTrace;
use laxity_engine::{
    Attribution, Calendar, Clock, During, Gap, InputDoorbell, Lateness, Limits, RealClock, Stop, TickEpoch,
};
use laxity_machine::RefusedBySystem;
use laxity_machine::place::{Awake, PlacedThread, ThreadPlacement, cores, keep_awake, spawn_on};
use laxity_machine::signal::StopFlag;
use laxity_units::{Span, Time};
use laxity_world::experiment::{Experiment, RunLength};
use laxity_world::results::{self, Fitness, RealTime, Run, Stops};
use laxity_world::{Assembly, Elsewhere, HostReport, Live, Outside};

use crate::log::Journal;
use gate::{Bell, Counted, Gate};
pub use replay::{ReplayError, ReplayedEmulation, replay};

/// Maximum lateness at the end of a run by the clock; a run that is less late ends by its events,
/// and so reproducibly.
const GRACE: Span = Span::from_ms(20);

/// Collects the reports of remote hosts, on the emulating thread, at the end of the run; the hosts
/// stop at the given time.
pub type Reports = Box<dyn FnOnce(Time) -> Vec<HostReport> + Send>;

/// Emulation: a world, its outside and its time.
pub struct Emulation<O, D> {
    /// Emulated experiment.
    pub experiment: Arc<Experiment>,
    /// Length of the run.
    pub length: RunLength,
    /// Source of inputs and sink of outputs.
    pub outside: O,
    /// Signals that the outside has an input.
    pub doorbell: D,
    /// Nodes with hosts outside.
    pub hosts: Vec<usize>,
    /// Channels on which the outside sends, in place of their sources.
    pub channels: Vec<usize>,
    /// Start of the run: it must be later than now by the time to start a thread and build the
    /// world, some milliseconds.
    pub epoch: TickEpoch,
    /// Reports of remote hosts; [`no_reports`] if there are none.
    pub reports: Reports,
    /// Log of every input, if enabled.
    pub journal: Option<Journal>,
}

/// Reports for a run without remote hosts.
pub fn no_reports() -> Reports {
    Box::new(|_| Vec::new())
}

/// Options of an emulation.
#[derive(Debug, Clone, Copy)]
pub struct EmulationOptions {
    /// Placement of the emulating thread.
    pub placement: ThreadPlacement,
    /// Interval of status reports, in run time.
    pub slice: Span,
    /// Whether the run ends when its length has passed on the clock, however late its events are.
    pub by_clock: bool,
    /// Flag that ends the run early; the outside can end it, too.
    pub stop: Option<StopFlag>,
    /// Lateness up to which events count as on time.
    pub allowance: Span,
    /// Interval without a reading of the counter from which the platform counts as stalled; longer
    /// than the longest step of the thread itself.
    pub gap: Span,
}

impl EmulationOptions {
    /// Options for processor `core`, by default the last one.
    pub fn on(core: Option<usize>) -> Self {
        let placement = ThreadPlacement { core: core.or_else(|| cores().last().copied()), fifo: None };
        Self {
            placement,
            slice: Span::from_ms(100),
            by_clock: false,
            stop: None,
            allowance: Span::from_us(1),
            gap: Span::from_us(20),
        }
    }
}

/// Status of an emulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Glance {
    /// Status of its channels and stages.
    pub live: Live,
    /// Median lateness of the events so far.
    pub late_p50: Span,
    /// 99.9th percentile of their lateness.
    pub late_p999: Span,
    /// Maximum lateness.
    pub late_max: Span,
}

/// Completed emulation.
#[derive(Debug)]
pub struct Driven<O> {
    /// Results, including timeliness.
    pub run: Run,
    /// The outside.
    pub outside: O,
    /// End time.
    pub end: Time,
    /// Reason for the end.
    pub stop: Stop,
    /// Number of inputs.
    pub inputs: u64,
    /// Digest of all departures: packet, node and time.
    pub departures: u64,
    /// Lateness of the events.
    pub lateness: Lateness,
    /// Causes of the lateness.
    pub attribution: Attribution,
    /// Refused requests that would have improved the run.
    pub refused: Vec<RefusedBySystem>,
}

impl<O> Driven<O> {
    /// Longest stalls of the platform.
    pub fn gaps(&self) -> Vec<Gap> {
        self.attribution.gaps()
    }
}

/// Emulation in progress.
pub struct Running<O> {
    thread: PlacedThread<(Ended<O>, Attribution)>,
    epoch: TickEpoch,
    seen: Arc<Mutex<Option<Glance>>>,
    over: Receiver<()>,
    refused: Vec<RefusedBySystem>,
    _awake: Option<Awake>,
}

/// Runs `emulation` to its end and passes status reports to `watch` on the calling thread.
///
/// An error means that no thread could be started.
pub fn drive<O, D>(
    emulation: Emulation<O, D>,
    options: &EmulationOptions,
    watch: &mut dyn FnMut(&Glance),
) -> Result<Driven<O>, RefusedBySystem>
where
    O: Outside + Send + 'static,
    D: InputDoorbell + Send + 'static,
{
    Ok(start(emulation, options)?.watch(watch))
}

/// Starts `emulation` on its own thread.
pub fn start<O, D>(
    emulation: Emulation<O, D>,
    options: &EmulationOptions,
) -> Result<Running<O>, RefusedBySystem>
where
    O: Outside + Send + 'static,
    D: InputDoorbell + Send + 'static,
{
    let seen = Arc::new(Mutex::new(None));
    let (at_end, over) = mpsc::channel();
    let (shown, options, epoch) = (seen.clone(), *options, emulation.epoch);
    let mut thread = spawn_on(options.placement, "emulate", move || {
        // Disconnects when the thread ends, for whatever reason.
        let _at_end: Sender<()> = at_end;
        emulate(emulation, &options, &shown)
    })?;
    let mut refused = std::mem::take(&mut thread.refused);
    let awake = keep_awake().map_err(|why| refused.push(why)).ok();
    Ok(Running { thread, epoch, seen, over, refused, _awake: awake })
}

impl<O> Running<O> {
    /// Passes status reports to `watch`, at most ten times a second, until the run ends.
    pub fn watch(self, watch: &mut dyn FnMut(&Glance)) -> Driven<O> {
        while self.over.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
            let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(glance) = seen {
                watch(&glance);
            }
        }
        let joined = self.thread.join();
        let (ended, attribution) = joined.unwrap_or_else(|panic| panic::resume_unwind(panic));
        let mut run = ended.run;
        let mut real_time = real_time(&ended.lateness, &attribution, ended.inputs);
        real_time.fitness = Fitness::of(&run, stops(&attribution, &self.epoch), &ended.lateness);
        run.real_time = Some(real_time);
        Driven {
            run,
            outside: ended.outside,
            end: ended.end,
            stop: ended.stop,
            inputs: ended.inputs,
            departures: ended.departures,
            lateness: ended.lateness,
            attribution,
            refused: self.refused,
        }
    }
}

fn emulate<O: Outside, D: InputDoorbell>(
    emulation: Emulation<O, D>,
    options: &EmulationOptions,
    shown: &Mutex<Option<Glance>>,
) -> (Ended<O>, Attribution) {
    let Emulation { experiment, length, outside, doorbell, hosts, channels, epoch, reports, journal } =
        emulation;
    let ends = match length {
        RunLength::Time { total, .. } if options.by_clock => Some(Time::ZERO + total + GRACE),
        _ => None,
    };
    let bell = Bell::new(doorbell, options.stop, ends.map(|ends| epoch.tick_at(ends)));
    let clock = RealClock::new(epoch, bell).allowing(options.allowance);
    let mut clock = clock.seeing_gaps_from(options.gap);
    let course = Course {
        experiment: &experiment,
        length,
        outside: Gate::new(outside, options.stop, Some(epoch), journal).ending(ends),
        elsewhere: Elsewhere { hosts: &hosts, channels: &channels },
        slice: Some(options.slice),
        events: Rc::default(),
    };
    let mut show = |live: Live, lateness: &Lateness| {
        if let Ok(mut place) = shown.try_lock() {
            let [late_p50, late_p999] = [0.5, 0.999].map(|q| lateness.quantile(q));
            *place = Some(Glance { live, late_p50, late_p999, late_max: lateness.max() });
        }
    };
    let ended = course.run(&mut clock, &mut show, reports);
    (ended, clock.attribution().clone())
}

/// Run of a world under any clock.
struct Course<'a, O> {
    experiment: &'a Experiment,
    length: RunLength,
    outside: Gate<O>,
    elsewhere: Elsewhere<'a>,
    /// Interval between status reports; one slice if `None`.
    slice: Option<Span>,
    /// Number of events that have happened.
    events: Rc<Cell<u64>>,
}

struct Ended<O> {
    run: Run,
    outside: O,
    end: Time,
    stop: Stop,
    inputs: u64,
    departures: u64,
    lateness: Lateness,
}

impl<O: Outside> Course<'_, O> {
    fn run<C: Clock>(
        self,
        clock: &mut C,
        show: &mut dyn FnMut(Live, &Lateness),
        reports: Reports,
    ) -> Ended<O> {
        let mut nothing = NoTrace;
        let assembly =
            Assembly::with_outside(self.experiment, self.length, &mut nothing, self.outside, self.elsewhere);
        let mut world = Counted { assembly, events: self.events };
        let mut calendar = Calendar::new();
        world.assembly.start(&mut calendar);
        let until = laxity_world::limits(self.length).until;
        let mut lateness = Lateness::default();
        let (stop, end) = loop {
            let slice = self.slice.map_or(until, |slice| calendar.now().saturating_add(slice).min(until));
            let outcome = laxity_engine::run(&mut world, &mut calendar, clock, Limits::NONE.until(slice));
            lateness.merge(&outcome.lateness);
            if outcome.stop != Stop::Until || slice == until {
                break (outcome.stop, outcome.now);
            }
            show(world.assembly.live(outcome.now), &lateness);
        };
        let departures = world.assembly.departures();
        let (run, gate) = world.assembly.into_run(end, &reports(end));
        let (outside, inputs) = gate.open();
        Ended { run, outside, end, stop, inputs, departures, lateness }
    }
}

fn gap(gap: &Gap) -> results::PlatformGap {
    results::PlatformGap {
        at: gap.at.as_secs_f64(),
        length: gap.length.as_secs_f64(),
        idle: gap.during == During::Spin,
    }
}

/// Gaps in run time, which may be dilated.
pub(crate) fn stops(attribution: &Attribution, epoch: &TickEpoch) -> Stops {
    let in_run = |real: Span| epoch.run_span(epoch.ticks().in_span(real));
    let longest = attribution.gaps().iter().map(|gap| gap.length).max().unwrap_or_default();
    Stops { total: in_run(attribution.gap_total), longest: in_run(longest) }
}

/// Timeliness, as a result.
pub(crate) fn real_time(lateness: &Lateness, attribution: &Attribution, inputs: u64) -> RealTime {
    let late = |q| lateness.quantile(q).as_secs_f64();
    RealTime {
        events: lateness.count(),
        inputs,
        late_p50: late(0.5),
        late_p99: late(0.99),
        late_p999: late(0.999),
        late_max: lateness.max().as_secs_f64(),
        behind: attribution.backlog.count,
        stalled: attribution.stall.count,
        stall_total: attribution.gap_total.as_secs_f64(),
        stall_longest: attribution
            .gaps()
            .iter()
            .map(|gap| gap.length)
            .max()
            .unwrap_or_default()
            .as_secs_f64(),
        gaps: attribution.gaps().iter().map(gap).collect(),
        ..RealTime::default()
    }
}
