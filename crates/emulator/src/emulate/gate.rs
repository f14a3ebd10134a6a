//! What stands between a world and its outside: tells when inputs were read, counts and logs them, and lets a signal in
//! as one.

use std::cell::Cell;
use std::rc::Rc;

use laxity_engine::trace::NoTrace;
use laxity_engine::{Calendar, Doorbell, Epoch, World};
use laxity_machine::signal::StopFlag;
use laxity_units::Time;
use laxity_world::{Assembly, Event, Input, Notice, Outside};

use crate::log::Journal;

/// An outside that can be told to stop.
pub(super) struct Gate<O> {
    inner: O,
    stop: Option<StopFlag>,
    /// When it is told to stop by the clock.
    ends: Option<Time>,
    /// Tells the time; without it the outside itself does.
    epoch: Option<Epoch>,
    /// When the last input was read.
    read_at: Time,
    inputs: u64,
    journal: Option<Journal>,
    /// The wake whose inputs are being taken, until the first of them is logged: events before it, and its time.
    wake: Option<(u64, Time)>,
}

impl<O> Gate<O> {
    pub(super) fn new(
        inner: O,
        stop: Option<StopFlag>,
        epoch: Option<Epoch>,
        journal: Option<Journal>,
    ) -> Self {
        Self { inner, stop, ends: None, epoch, read_at: Time::ZERO, inputs: 0, journal, wake: None }
    }

    /// Stops when the clock has come to `ends`, if it is said.
    #[must_use]
    pub(super) fn ending(self, ends: Option<Time>) -> Self {
        Self { ends, ..self }
    }

    /// Whether it is to stop: once, since an input for every question would hold the world up.
    fn stops(&mut self) -> bool {
        let is_over = self.ends.zip(self.epoch).is_some_and(|(ends, epoch)| epoch.now() >= ends);
        let stops = is_over || self.stop.is_some_and(StopFlag::is_set);
        if stops {
            (self.stop, self.ends) = (None, None);
        }
        stops
    }

    /// What it stood before, and how many inputs have passed.
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

/// A doorbell that a signal rings, too, and the end by the clock.
pub(super) struct Bell<D> {
    inner: D,
    stop: Option<StopFlag>,
    /// The value of the counter at the time when the run ends by the clock.
    ends: u64,
}

impl<D> Bell<D> {
    pub(super) fn new(inner: D, stop: Option<StopFlag>, ends: Option<u64>) -> Self {
        Self { inner, stop, ends: ends.unwrap_or(u64::MAX) }
    }
}

impl<D: Doorbell> Doorbell for Bell<D> {
    #[inline(always)]
    fn is_rung(&mut self) -> bool {
        self.inner.is_rung() || self.stop.is_some_and(StopFlag::is_set)
    }

    #[inline(always)]
    fn is_rung_before(&mut self, now: u64, due: u64) -> bool {
        self.inner.is_rung_before(now, due) || self.stop.is_some_and(StopFlag::is_set) || now >= self.ends
    }
}

/// A world that counts its events.
pub(super) struct Counted<'a, O: Outside> {
    pub(super) assembly: Assembly<'a, 'static, NoTrace, Gate<O>>,
    pub(super) events: Rc<Cell<u64>>,
}

impl<O: Outside> World for Counted<'_, O> {
    type Event = Event;

    #[inline]
    fn handle(&mut self, now: Time, event: Event, calendar: &mut Calendar<Event>) {
        self.events.set(self.events.get() + 1);
        self.assembly.handle(now, event, calendar);
    }

    #[inline]
    fn poll_inputs(&mut self, now: Time, calendar: &mut Calendar<Event>) {
        self.assembly.outside().wake = Some((self.events.get(), now));
        self.assembly.poll_inputs(now, calendar);
    }

    #[inline]
    fn is_finished(&self) -> bool {
        self.assembly.is_finished()
    }
}
