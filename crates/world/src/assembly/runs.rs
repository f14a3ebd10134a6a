//! An experiment run in virtual time from its beginning to its end, by whichever world it has.

use std::collections::BTreeMap;

use laxity_engine::trace::{NoTrace, Trace};
use laxity_engine::{Calendar, Limits, Outcome, Stop, VirtualClock, World};
use laxity_qos::admission::Formula;
use laxity_units::Time;

use super::observer::Observer;
use super::outside::Nothing;
use super::{Assembly, Elsewhere, FrameSink, receiving, via};
use crate::experiment::{Experiment, RunLength, Task};
use crate::promise;
use crate::results::Run;
use crate::steps::Steps;

/// Copies that a fill admits at most: far beyond any host, and an end.
const FILL_LIMIT: u64 = 100_000;

/// Events after which a run is given up in which no packet has come to its end: some seconds of a computer's time. Hosts that look for what does not come have millions an hour.
const PATIENCE: u64 = 1 << 24;

/// Runs one point of a sweep. Its place in the sweep is the caller's to fill in.
pub fn run(experiment: &Experiment) -> Run {
    observe(experiment, &mut NoTrace, None)
}

/// Runs one point and tells `trace` what CPUs and links do, and `frames` what passes on them. The outcome is the
/// same as without.
pub fn observe<'a, T: Trace>(
    experiment: &'a Experiment,
    trace: &'a mut T,
    frames: Option<&'a mut FrameSink<'_>>,
) -> Run {
    match experiment.task {
        Task::Fill(index) => fill(experiment, index),
        Task::Simulate(length) if !experiment.interfaces.is_empty() => {
            let trace = trace.is_kept().then_some(trace as &mut dyn Trace);
            receiving::run(experiment, length, u64::MAX, trace).expect("no run has so many events")
        }
        Task::Simulate(length) if experiment.via.is_some() => {
            let trace = trace.is_kept().then_some(trace as &mut dyn Trace);
            via::run(experiment, length, u64::MAX, trace).expect("no run has so many events")
        }
        Task::Simulate(length) => simulate(experiment, length, Observer::new(trace, frames)),
    }
}

/// The run of `experiment` of another length than its own, if it ends within so many `events`.
pub fn run_within(experiment: &Experiment, length: RunLength, events: u64) -> Option<Run> {
    if !experiment.interfaces.is_empty() {
        return receiving::run(experiment, length, events, None);
    }
    if experiment.via.is_some() {
        return via::run(experiment, length, events, None);
    }
    let mut steps = Steps::of_length(experiment, length);
    steps.finish_within(events).then(|| steps.close())
}

fn fill(experiment: &Experiment, index: usize) -> Run {
    let mut figures = BTreeMap::new();
    if let Some(formula) = experiment.admission.formula
        && let Ok(filled) = promise::fill(experiment, index, formula, FILL_LIMIT)
    {
        figures.insert("admitted".into(), filled.admitted as f64);
        if filled.stopped {
            figures.insert("fill_stopped".into(), 1.0);
        }
    }
    Run { figures, ..Run::default() }
}

fn simulate<'a, T: Trace>(
    experiment: &'a Experiment,
    length: RunLength,
    observer: Observer<'a, '_, T>,
) -> Run {
    let mut assembly = Assembly::new(experiment, length, observer, Nothing, Elsewhere::default());
    let mut calendar = Calendar::new();
    assembly.start(&mut calendar);
    let (ended, outcome) = go_on(&mut assembly, &mut calendar, (length, u64::MAX), Assembly::through);
    ended.told(experiment.admission.formula, assembly.into_run(outcome.now, &[]).0)
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// As long as it was to be, or with nothing left to come.
    Whole,
    /// Given up: by packets, of which none had come to its end for so many events; or by time, which stood still for as many.
    GivenUp,
    /// After as many events as it may have.
    Events,
}

impl Ended {
    /// `run` with that among its figures, if it was given up; and with how many bounds it exceeded that were proved, if it did any.
    pub(super) fn told(self, formula: Option<Formula>, mut run: Run) -> Run {
        if self == Ended::GivenUp {
            run.figures.insert("given_up".into(), 1.0);
        }
        // Those of the papers are there to be looked at, and some are exceeded.
        if formula == Some(Formula::Corrected) {
            let exceeded = run.channels.iter().filter(|channel| channel.exceeds()).count();
            if exceeded > 0 {
                run.figures.insert("exceeded".into(), exceeded as f64);
            }
        }
        run
    }
}

/// Runs `world` for `length`, or for so many events if they are used up before, `through` of whose packets have come to their end.
///
/// Where all channels are refused, or none has room for what is sent, no packet comes, and a run that is as long as its packets would have no end while anything happens.
pub(super) fn go_on<W: World>(
    world: &mut W,
    calendar: &mut Calendar<W::Event>,
    (length, events): (RunLength, u64),
    through: impl Fn(&W) -> u64,
) -> (Ended, Outcome) {
    go_on_with(PATIENCE, world, calendar, (length, events), through)
}

fn go_on_with<W: World>(
    patience: u64,
    world: &mut W,
    calendar: &mut Calendar<W::Event>,
    (length, mut events): (RunLength, u64),
    through: impl Fn(&W) -> u64,
) -> (Ended, Outcome) {
    loop {
        let before = (through(world), calendar.now());
        let limits = limits(length).events(events.min(patience));
        let outcome = laxity_engine::run(world, calendar, &mut VirtualClock, limits);
        if outcome.stop != Stop::Events {
            return (Ended::Whole, outcome);
        }
        events -= outcome.events;
        if events == 0 {
            return (Ended::Events, outcome);
        }
        let stands = match length {
            RunLength::Packets { .. } => through(world) == before.0,
            RunLength::Time { .. } => calendar.now() == before.1,
        };
        if stands {
            return (Ended::GivenUp, outcome);
        }
    }
}

/// The engine's limits for a run of `length`.
pub fn limits(length: RunLength) -> Limits {
    match length {
        RunLength::Time { total, .. } => Limits::NONE.until(Time::ZERO + total),
        RunLength::Packets { .. } => Limits::NONE,
    }
}

#[cfg(test)]
mod tests {
    use laxity_units::Span;

    use super::*;

    /// Something happens every so often, and every how-manyth time a packet comes to its end; how often and how many so far.
    struct Ticks {
        apart: Span,
        packet: u64,
        ticks: u64,
        through: u64,
    }

    impl World for Ticks {
        type Event = ();

        fn handle(&mut self, _: Time, (): (), calendar: &mut Calendar<()>) {
            self.ticks += 1;
            self.through += u64::from(self.ticks.is_multiple_of(self.packet));
            calendar.schedule_after(self.apart, ());
        }

        fn is_finished(&self) -> bool {
            self.through >= 10
        }
    }

    /// How it ends that has a packet every `packet` events, so far `apart`, with patience for a hundred and no more than `events`; and after how many.
    fn ends(length: RunLength, (apart, packet): (Span, u64), events: u64) -> (Ended, u64) {
        let (mut ticks, mut calendar) = (Ticks { apart, packet, ticks: 0, through: 0 }, Calendar::new());
        calendar.schedule(Time::ZERO, ());
        let (ended, _) = go_on_with(100, &mut ticks, &mut calendar, (length, events), |ticks| ticks.through);
        (ended, ticks.ticks)
    }

    /// A bound that was proved and is exceeded is told of; one of the papers is there to be looked at. The last bit of a double breaks nothing, and
    /// each way to its end counts.
    #[test]
    fn a_bound_that_is_exceeded_is_told_of() {
        use crate::results::Channel;
        let channel = |bound, worst, delivery| Channel {
            bound: Some(bound),
            worst: Some(worst),
            delivery_bound: Some(3.0),
            delivery_worst: Some(delivery),
            ..Channel::default()
        };
        for (formula, channels, told) in [
            (Formula::Corrected, vec![channel(2.0, 2.0, 3.0)], None),
            (Formula::Corrected, vec![channel(2.0, 2.0 + 4e-16, 3.0)], None),
            (Formula::Corrected, vec![channel(2.0, 2.1, 3.0), channel(2.0, 1.0, 3.1)], Some(2.0)),
            (Formula::Papers, vec![channel(2.0, 2.1, 3.0)], None),
        ] {
            let run = Ended::Whole.told(Some(formula), Run { channels, ..Run::default() });
            assert_eq!((run.figures.get("exceeded").copied(), run.exceeds_bounds()), (told, told.is_some()));
        }
    }

    #[test]
    fn a_run_is_given_up_of_which_nothing_comes() {
        const MS: Span = Span::from_ms(1);
        let packets = RunLength::Packets { total: 10, warmup: 0, cooldown: 0 };
        assert_eq!(ends(packets, (MS, 100), u64::MAX), (Ended::Whole, 1000));
        assert_eq!(ends(packets, (Span::ZERO, 7), u64::MAX), (Ended::Whole, 70), "all at one instant");
        assert_eq!(ends(packets, (MS, 250), u64::MAX), (Ended::GivenUp, 100));
        assert_eq!(ends(packets, (MS, u64::MAX), u64::MAX), (Ended::GivenUp, 100));
        assert_eq!(ends(packets, (MS, u64::MAX), 70), (Ended::Events, 70));
        assert_eq!(ends(packets, (MS, 70), 330), (Ended::Events, 330));
        // By time nobody waits for packets, but time has to go on.
        let time = RunLength::Time { total: Span::from_secs(1), warmup: Span::ZERO, cooldown: Span::ZERO };
        assert_eq!(ends(time, (MS, u64::MAX), u64::MAX), (Ended::Whole, 1001));
        assert_eq!(ends(time, (Span::ZERO, u64::MAX), u64::MAX), (Ended::GivenUp, 100));
    }
}
