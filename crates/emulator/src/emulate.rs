//! A world under a real clock, on a thread and a processor of its own.
//!
//! What runs here is what a simulation runs, with a clock that waits and an outside that is real: the thesis's END.
//! The thread that runs it may not wait for anyone, so nothing that it tells makes a system call: how things stand
//! is put into a place where a watcher finds it, and left out if the watcher is just looking. The run is driven in
//! slices, which are the same run as one piece, and the world is looked at between two of them.
//!
//! A world holds what cannot go from thread to thread, so it is made, run and summed up on the one thread, and
//! only its parts go there and its results come back.
//!
//! Whoever wants the run to end gives an `Input::Stop`; signals do so too, by a [`StopFlag`]. So a run that was ended
//! early has an input that says so, and its log runs to the same end.

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
    Attribution, Calendar, Clock, Doorbell, During, Epoch, Gap, Lateness, Limits, RealClock, Stop,
};
use laxity_machine::Refused;
use laxity_machine::place::{Awake, Placed, Placement, cores, keep_awake, spawn_on};
use laxity_machine::signal::StopFlag;
use laxity_units::{Span, Time};
use laxity_world::experiment::{Experiment, RunLength};
use laxity_world::results::{self, Fitness, RealTime, Run, Stops};
use laxity_world::{Assembly, Elsewhere, HostReport, Live, Outside};

use crate::log::Journal;
use gate::{Bell, Counted, Gate};
pub use replay::{ReplayError, Replayed, replay};

/// A run that ends by the clock may be so late: a run in time ends by its events, and the same each time.
const GRACE: Span = Span::from_ms(20);

/// How hosts that are elsewhere are asked what they did, on the emulating thread, at the end of the run: they are to stop
/// at the time given.
pub type Reports = Box<dyn FnOnce(Time) -> Vec<HostReport> + Send>;

/// An emulation: a world, its outside and its time.
pub struct Emulation<O, D> {
    /// What is emulated.
    pub experiment: Arc<Experiment>,
    /// How long.
    pub length: RunLength,
    /// Where its inputs come from, and its outputs go.
    pub outside: O,
    /// Says whether the outside has an input.
    pub doorbell: D,
    /// Nodes whose hosts the outside is.
    pub hosts: Vec<usize>,
    /// Channels whose messages the outside sends, in place of their sources.
    pub channels: Vec<usize>,
    /// When the run begins: later than now by what it takes to start a thread and build the world, some milliseconds.
    pub epoch: Epoch,
    /// What the hosts did that are elsewhere; [`no_reports`] if there are none.
    pub reports: Reports,
    /// Takes every input, if the run is logged.
    pub journal: Option<Journal>,
}

/// No host is elsewhere.
pub fn no_reports() -> Reports {
    Box::new(|_| Vec::new())
}

/// How an emulation is run.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Where the emulating thread runs.
    pub placement: Placement,
    /// How often a watcher can see how things stand, in run time.
    pub slice: Span,
    /// Whether the run ends when its length has passed by the clock, however far its events have come.
    pub by_clock: bool,
    /// What ends the run early; besides, the outside may.
    pub stop: Option<StopFlag>,
    /// Events are on time that are late by this or less.
    pub allowance: Span,
    /// The platform has stood still if the thread was away from the counter for this long or longer; more than the
    /// longest step of its own takes.
    pub gap: Span,
}

impl Options {
    /// On processor `core`, or else on the last one.
    pub fn on(core: Option<usize>) -> Self {
        let placement = Placement { core: core.or_else(|| cores().last().copied()), fifo: None };
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

/// How an emulation stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Glance {
    /// How its channels and stages stand.
    pub live: Live,
    /// The median lateness of its events so far.
    pub late_p50: Span,
    /// The 99.9th percentile.
    pub late_p999: Span,
    /// The greatest.
    pub late_max: Span,
}

/// An emulation that has come to its end.
#[derive(Debug)]
pub struct Driven<O> {
    /// Its results, with how well time was kept.
    pub run: Run,
    /// The outside.
    pub outside: O,
    /// When it ended.
    pub end: Time,
    /// Why.
    pub stop: Stop,
    /// How many inputs there were.
    pub inputs: u64,
    /// A digest of which packet departed from which node when.
    pub departures: u64,
    /// How late events were.
    pub lateness: Lateness,
    /// Why they were late.
    pub attribution: Attribution,
    /// What would have made the run better and was not permitted.
    pub refused: Vec<Refused>,
}

impl<O> Driven<O> {
    /// The longest stretches in which the platform stood still.
    pub fn gaps(&self) -> Vec<Gap> {
        self.attribution.gaps()
    }
}

/// An emulation that goes on.
pub struct Running<O> {
    thread: Placed<(Ended<O>, Attribution)>,
    epoch: Epoch,
    seen: Arc<Mutex<Option<Glance>>>,
    over: Receiver<()>,
    refused: Vec<Refused>,
    _awake: Option<Awake>,
}

/// Runs `emulation` to its end and shows `watch` now and then how it stands, on the calling thread.
///
/// An error means that there is no thread to be had.
pub fn drive<O, D>(
    emulation: Emulation<O, D>,
    options: &Options,
    watch: &mut dyn FnMut(&Glance),
) -> Result<Driven<O>, Refused>
where
    O: Outside + Send + 'static,
    D: Doorbell + Send + 'static,
{
    Ok(start(emulation, options)?.watch(watch))
}

/// Starts `emulation` on a thread of its own.
pub fn start<O, D>(emulation: Emulation<O, D>, options: &Options) -> Result<Running<O>, Refused>
where
    O: Outside + Send + 'static,
    D: Doorbell + Send + 'static,
{
    let seen = Arc::new(Mutex::new(None));
    let (at_end, over) = mpsc::channel();
    let (shown, options, epoch) = (seen.clone(), *options, emulation.epoch);
    let mut thread = spawn_on(options.placement, "emulate", move || {
        // Hangs up when the thread is done, whatever it comes to.
        let _at_end: Sender<()> = at_end;
        emulate(emulation, &options, &shown)
    })?;
    let mut refused = std::mem::take(&mut thread.refused);
    let awake = keep_awake().map_err(|why| refused.push(why)).ok();
    Ok(Running { thread, epoch, seen, over, refused, _awake: awake })
}

impl<O> Running<O> {
    /// Shows `watch` how things stand, ten times a second unless it takes longer itself, until the run ends.
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

/// On the emulating thread.
fn emulate<O: Outside, D: Doorbell>(
    emulation: Emulation<O, D>,
    options: &Options,
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

/// The way of a world through its time, whatever the clock.
struct Course<'a, O> {
    experiment: &'a Experiment,
    length: RunLength,
    outside: Gate<O>,
    elsewhere: Elsewhere<'a>,
    /// How long it runs before it is looked at; to its end if none.
    slice: Option<Span>,
    /// Counts the events that have happened.
    events: Rc<Cell<u64>>,
}

/// What it came to.
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

fn gap(gap: &Gap) -> results::Gap {
    results::Gap {
        at: gap.at.as_secs_f64(),
        length: gap.length.as_secs_f64(),
        idle: gap.during == During::Spin,
    }
}

/// The gaps in the time of the run, which the emulation may have made slower than real time.
pub(crate) fn stops(attribution: &Attribution, epoch: &Epoch) -> Stops {
    let in_run = |real: Span| epoch.run_span(epoch.ticks().in_span(real));
    let longest = attribution.gaps().iter().map(|gap| gap.length).max().unwrap_or_default();
    Stops { total: in_run(attribution.gap_total), longest: in_run(longest) }
}

/// How well time was kept, as a result.
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
