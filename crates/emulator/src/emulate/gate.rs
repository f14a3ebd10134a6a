//! Gate between a world and its outside: reports when inputs were read, counts and logs them, and
//! turns a signal into an input.

use std::cell::Cell;
use std::rc::Rc;

use laxity_engine::trace::NoTrace;
use laxity_engine::{Calendar, InputDoorbell, TickEpoch, World};
use laxity_machine::signal::StopFlag;
use laxity_units::Time;
use laxity_world::{Assembly, AssemblyEvent, Input, Notice, Outside};

use crate::log::Journal;

pub(super) struct Gate<O> {
    inner: O,
    stop: Option<StopFlag>,
    /// Time at which the clock stops it.
    ends: Option<Time>,
    /// Source of the time; the outside itself if `None`.
    epoch: Option<TickEpoch>,
    /// Time at which the last input was read.
    read_at: Time,
    inputs: u64,
    journal: Option<Journal>,
    /// Current wake, until its first input is logged: number of events before it, and its time.
    wake: Option<(u64, Time)>,
}

impl<O> Gate<O> {
    pub(super) fn new(
        inner: O,
        stop: Option<StopFlag>,
        epoch: Option<TickEpoch>,
        journal: Option<Journal>,
    ) -> Self {
        Self { inner, stop, ends: None, epoch, read_at: Time::ZERO, inputs: 0, journal, wake: None }
    }

    /// Stops at `ends` by the clock, if given.
    #[must_use]
    pub(super) fn ending(self, ends: Option<Time>) -> Self {
        Self { ends, ..self }
    }

    /// Whether to stop. True once, since a stop at every query would block the world.
    fn stops(&mut self) -> bool {
        let is_over = self.ends.zip(self.epoch).is_some_and(|(ends, epoch)| epoch.now() >= ends);
        let stops = is_over || self.stop.is_some_and(StopFlag::is_set);
        if stops {
            (self.stop, self.ends) = (None, None);
        }
        stops
    }

    /// Outside, and number of inputs.
    pub(super) fn open(self) -> (O, u64) {
        (self.inner, self.inputs)
    }
}

impl<O: Outside> Outside for Gate<O> {
    const TELLS: bool = O::TELLS;

    #[inline]
    fn next_input(&mut self, now: Time) -> Option<Input> {
        let input = if self.stops() { Input::Stop } else { self.inner.next_input(now)? };
        self.inputs += 1;
        let read_at = self.epoch.map_or_else(|| self.inner.read_at(now), |epoch| epoch.now());
        self.read_at = self.read_at.max(read_at).max(now);
        if let Some(journal) = &mut self.journal {
            if let Some((events, at)) = self.wake.take() {
                journal.wake(events, at);
            }
            journal.input(self.read_at, input);
        }
        Some(input)
    }

    #[inline]
    fn read_at(&self, _now: Time) -> Time {
        self.read_at
    }

    #[inline]
    fn notice(&mut self, now: Time, notice: Notice<'_>) {
        self.inner.notice(now, notice);
    }
}

/// Doorbell that is also rung by a signal, and by the end of the run on the clock.
pub(super) struct Bell<D> {
    inner: D,
    stop: Option<StopFlag>,
    /// Counter value at the end of the run by the clock.
    ends: u64,
}

impl<D> Bell<D> {
    pub(super) fn new(inner: D, stop: Option<StopFlag>, ends: Option<u64>) -> Self {
        Self { inner, stop, ends: ends.unwrap_or(u64::MAX) }
    }
}

impl<D: InputDoorbell> InputDoorbell for Bell<D> {
    #[inline(always)]
    fn is_rung(&mut self) -> bool {
        self.inner.is_rung() || self.stop.is_some_and(StopFlag::is_set)
    }

    #[inline(always)]
    fn is_rung_before(&mut self, now: u64, due: u64) -> bool {
        self.inner.is_rung_before(now, due) || self.stop.is_some_and(StopFlag::is_set) || now >= self.ends
    }
}

pub(super) struct Counted<'a, O: Outside> {
    pub(super) assembly: Assembly<'a, 'static, NoTrace, Gate<O>>,
    pub(super) events: Rc<Cell<u64>>,
}

impl<O: Outside> World for Counted<'_, O> {
    type Event = AssemblyEvent;

    #[inline]
    fn handle(&mut self, now: Time, event: AssemblyEvent, calendar: &mut Calendar<AssemblyEvent>) {
        self.events.set(self.events.get() + 1);
        self.assembly.handle(now, event, calendar);
    }

    #[inline]
    fn poll_inputs(&mut self, now: Time, calendar: &mut Calendar<AssemblyEvent>) {
        self.assembly.outside().wake = Some((self.events.get(), now));
        self.assembly.poll_inputs(now, calendar);
    }

    #[inline]
    fn is_finished(&self) -> bool {
        self.assembly.is_finished()
    }
}
