//! CSMA/CD: a station that senses an idle medium sends, and backs off after a collision.
//!
//! The access method of IEEE 802.3 (§4.2) with the parameters of 10 and 100 Mbit/s, in bit times: a
//! slot of 512, a gap of 96 between frames, a jam of 32 after a collision, and 16 attempts. After
//! its n-th collision a frame waits for r slots, r uniform from 0 to 2^min(n, 10) − 1.
//!
//! A model with one busy flag has no collisions: they result from signals that stations have *not*
//! sensed yet. So each signal reaches the other stations `propagation` later, and each station
//! decides by the signals that have reached it:
//!
//! ```text
//! A  ┃████████░░│                     A starts; B hears nothing yet and starts too; each hears the other,
//! B     ┃█████████░░│                 jams (░) and stops. Everybody else waits for silence and a gap.
//!     ↔ less than propagation
//! ```
//!
//! In the first two thirds of the gap a carrier restarts a station's wait; in the last third it is
//! ignored, as in the standard. Otherwise the sender, first to sense the end of its frame, would
//! always be first again.
//!
//! Stations are equally far from each other. A sent frame has been alone on the medium at every
//! station. A collision with it can begin until all have sensed it and their gaps are over, and its
//! sender senses the collision at most 2 propagation + gap/3 after the frame began;
//! [`CsmaParameters::check`] keeps this, with the jam, within a slot. Therefore no frame may be
//! shorter than a slot (64 B, preamble excluded). Not modelled: the preamble, unless an adapter
//! counts it as part of its frame, and the longer slot of half-duplex gigabit Ethernet.

mod background;
mod report;

use std::collections::VecDeque;

use laxity_engine::Stream;
use laxity_units::{Bytes, Rate, Span, Time};

use super::{MediumOutput, NetworkError};

use background::Others;
pub use report::{BackgroundReport, CsmaReport, CsmaStation};

/// Attempts at a frame before it is given up.
const ATTEMPTS: u32 = 16;
/// Collisions after which the range of the wait no longer doubles.
const DOUBLINGS: u32 = 10;

/// Parameters of a [`Csma`] medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CsmaParameters {
    /// Bit rate of the medium; above zero.
    pub rate: Rate,
    /// Number of requesting stations; at least one.
    pub stations: usize,
    /// From any station to any other; at most 224 bit times.
    pub propagation: Span,
    /// Stations that compete with them, if there are any.
    pub others: Option<Background>,
}

/// Stations that only contribute load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Background {
    /// Their number; at least one. Each has an unlimited FIFO queue.
    pub stations: u32,
    /// Each frame; at least 64 B.
    pub frame: Bytes,
    /// Their total offered load, of whole frames: a Poisson process, each frame at a random
    /// station. Above zero, and at most the rate of the medium.
    pub load: Rate,
}

/// The parameters in picoseconds.
#[derive(Debug, Clone, Copy)]
struct Bits {
    slot: Span,
    gap: Span,
    /// The part of the gap in which a carrier restarts the wait.
    heeded: Span,
    jam: Span,
}

impl Bits {
    fn at(rate: Rate) -> Bits {
        let bits = |bits: u64| rate.time_for_ceil(Bytes::new(bits / 8));
        Bits { slot: bits(512), gap: bits(96), heeded: bits(64), jam: bits(32) }
    }
}

impl CsmaParameters {
    /// Checks the parameters; the error names the first invalid one.
    pub fn check(&self) -> Result<(), NetworkError> {
        if self.rate.is_zero() {
            return Err(NetworkError::new("rate", "is zero", "a rate above zero, such as `10 Mbit/s`"));
        }
        if self.stations == 0 {
            return Err(NetworkError::new("stations", "are none", "at least 1 station"));
        }
        let bits = Bits::at(self.rate);
        let most = bits.slot.saturating_sub(bits.jam * 2) / 2;
        if self.propagation > most {
            let reason = format!("is {}: a collision could outlast a slot", self.propagation);
            return Err(NetworkError::new("propagation", reason, format!("at most {most} at {}", self.rate)));
        }
        self.others.map_or(Ok(()), |others| others.check(self.rate))
    }
}

/// A station's signal: a frame, or a fragment.
#[derive(Debug, Clone, Copy)]
struct Signal {
    station: usize,
    from: Time,
    /// Unknown while a frame is being sent.
    to: Option<Time>,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    Idle,
    /// Sends as soon as permitted, from this time on.
    Waiting(Time),
    /// Since this time.
    Sending(Time),
}

#[derive(Debug, Clone)]
struct Station {
    phase: Phase,
    /// First request of the present frame.
    asked: Time,
    /// Attempts at the present frame.
    attempts: u32,
    /// End of the latest signal it sensed, among those no longer kept.
    quiet: Option<Time>,
}

/// The next event; the order decides at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A frame arrives at a background station.
    Offered,
    /// A background station has sent its frame.
    Sent(usize),
    /// A station begins to send.
    Begins(usize),
    /// A station senses another's signal while it sends.
    Collides(usize),
}

/// A medium shared by CSMA/CD.
#[derive(Debug)]
pub struct Csma {
    parameters: CsmaParameters,
    bits: Bits,
    random: Stream,
    /// Signals by their start.
    signals: Vec<Signal>,
    /// The requesting stations, then the background stations.
    stations: Vec<Station>,
    others: Option<Others>,
    report: CsmaReport,
    output: VecDeque<MediumOutput>,
}

impl Csma {
    /// An idle medium; backoff and background load are drawn from `random`.
    pub fn new(parameters: CsmaParameters, mut random: Stream) -> Result<Csma, NetworkError> {
        parameters.check()?;
        let others = parameters.others.map(|others| Others::new(others, parameters.rate, &mut random));
        let count = parameters.stations + parameters.others.map_or(0, |others| others.stations as usize);
        let station = Station { phase: Phase::Idle, asked: Time::ZERO, attempts: 0, quiet: None };
        Ok(Csma {
            bits: Bits::at(parameters.rate),
            random,
            signals: Vec::new(),
            stations: vec![station; count],
            others,
            report: CsmaReport::new(parameters.stations),
            output: VecDeque::new(),
            parameters,
        })
    }

    pub(super) fn shortest_frame(&self) -> Span {
        self.bits.slot
    }

    pub(super) fn request(&mut self, now: Time, station: usize) {
        assert!(station < self.parameters.stations, "there is no station {station}");
        self.ask(now, station);
        self.advance(now);
    }

    pub(super) fn sent(&mut self, now: Time, station: usize) {
        self.advance(now);
        match self.stations[station].phase {
            Phase::Sending(from) => {
                assert!(
                    now.since(from) >= self.bits.slot,
                    "station {station} did not pad its frame of {} to {}",
                    now.since(from),
                    self.bits.slot
                );
                self.succeed(now, station);
            }
            // Under a real clock a station may learn of its collision too late.
            _ if self.output.contains(&MediumOutput::Abort(station))
                || self.output.contains(&MediumOutput::GiveUp(station)) => {}
            _ => panic!("station {station} has sent a frame that was not granted"),
        }
    }

    pub(super) fn withdraw(&mut self, now: Time, station: usize) {
        self.advance(now);
        self.output.retain(|output| {
            let (MediumOutput::Grant(to) | MediumOutput::Abort(to) | MediumOutput::GiveUp(to)) = output;
            *to != station
        });
        if let Phase::Sending(from) = self.stations[station].phase {
            // Even a fragment is as long as a jam.
            self.fall_silent(station, now.max(from + self.bits.jam));
        }
        self.stations[station].phase = Phase::Idle;
    }

    pub(super) fn timer(&mut self, now: Time) {
        self.advance(now);
    }

    pub(super) fn next_deadline(&self) -> Option<Time> {
        self.next_event().map(|(at, _)| at)
    }

    pub(super) fn poll_output(&mut self) -> Option<MediumOutput> {
        self.output.pop_front()
    }

    pub(super) fn report(&self) -> &CsmaReport {
        &self.report
    }

    fn advance(&mut self, now: Time) {
        while let Some((at, event)) = self.next_event().filter(|(at, _)| *at <= now) {
            self.forget(at);
            match event {
                Event::Offered => self.offered(at),
                Event::Sent(station) => self.succeed(at, station),
                Event::Begins(station) => self.begin(at, station),
                Event::Collides(station) => self.collide(at, station),
            }
        }
    }

    fn next_event(&self) -> Option<(Time, Event)> {
        let offered = self.others.as_ref().map(|others| (others.next, Event::Offered));
        let stations = self.stations.iter().enumerate().filter_map(|(i, station)| match station.phase {
            Phase::Idle => None,
            Phase::Waiting(ready) => self.begins(i, ready).map(|at| (at, Event::Begins(i))),
            Phase::Sending(from) => {
                let collides = self.collides(i, from).map(|at| (at, Event::Collides(i)));
                let sends = self.others.as_ref().filter(|_| i >= self.parameters.stations);
                let sent = sends.map(|others| (from + others.frame, Event::Sent(i)));
                collides.into_iter().chain(sent).min()
            }
        });
        offered.into_iter().chain(stations).min()
    }

    fn offered(&mut self, at: Time) {
        let others = self.others.as_mut().expect("only others are offered frames");
        let other = others.offer(at, &mut self.random);
        self.report.background.offered += 1;
        if others.waiting[other] == 1 {
            self.ask(at, self.parameters.stations + other);
        }
    }

    fn ask(&mut self, at: Time, station: usize) {
        let state = &mut self.stations[station];
        assert!(matches!(state.phase, Phase::Idle), "station {station} asks twice");
        *state = Station { phase: Phase::Waiting(at), asked: at, attempts: 0, quiet: state.quiet };
    }

    fn begin(&mut self, at: Time, station: usize) {
        self.signals.push(Signal { station, from: at, to: None });
        let state = &mut self.stations[station];
        state.phase = Phase::Sending(at);
        state.attempts += 1;
        match self.report.stations.get_mut(station) {
            Some(report) => {
                report.attempts += 1;
                self.output.push_back(MediumOutput::Grant(station));
            }
            None => self.report.background.attempts += 1,
        }
    }

    fn succeed(&mut self, at: Time, station: usize) {
        let from = self.fall_silent(station, at);
        let state = &mut self.stations[station];
        state.phase = Phase::Idle;
        let access = from.since(state.asked);
        self.report.carried += at.since(from);
        match self.report.stations.get_mut(station) {
            Some(report) => {
                report.sent += 1;
                report.longest_access = report.longest_access.max(access);
            }
            None => {
                self.report.background.sent += 1;
                self.next_frame(at, station);
            }
        }
    }

    fn collide(&mut self, at: Time, station: usize) {
        let end = at + self.bits.jam;
        self.fall_silent(station, end);
        let attempts = self.stations[station].attempts;
        let gives_up = attempts >= ATTEMPTS;
        self.stations[station].phase = match gives_up {
            true => Phase::Idle,
            false => {
                let slots = self.random.below(1 << attempts.min(DOUBLINGS));
                Phase::Waiting(end + self.bits.slot * slots)
            }
        };
        match self.report.stations.get_mut(station) {
            Some(report) => {
                report.collisions += 1;
                report.given_up += u64::from(gives_up);
                self.output.push_back(match gives_up {
                    true => MediumOutput::GiveUp(station),
                    false => MediumOutput::Abort(station),
                });
            }
            None => {
                self.report.background.collisions += 1;
                self.report.background.given_up += u64::from(gives_up);
                if gives_up {
                    self.next_frame(end, station);
                }
            }
        }
    }

    /// A background station has finished a frame; requests the next if there is one.
    fn next_frame(&mut self, at: Time, station: usize) {
        let others = self.others.as_mut().expect("a station past those that ask is one of the others");
        if others.done(station - self.parameters.stations) {
            self.ask(at, station);
        }
    }

    /// Ends the station's signal at `end`; returns its start.
    fn fall_silent(&mut self, station: usize, end: Time) -> Time {
        let open = |signal: &&mut Signal| signal.station == station && signal.to.is_none();
        let signal = self.signals.iter_mut().find(open).expect("who sends has a signal without an end");
        signal.to = Some(end);
        let quiet = &mut self.stations[station].quiet;
        *quiet = (*quiet).max(Some(end));
        signal.from
    }

    /// When `station`, ready at `ready`, begins to send, as far as known; `None` while it senses a
    /// signal of unknown end. The decision to wait for a signal is made at the signal's start, and
    /// is final.
    fn begins(&self, station: usize, ready: Time) -> Option<Time> {
        let propagation = self.parameters.propagation;
        let mut quiet = self.stations[station].quiet;
        let gap_ends = |quiet: Option<Time>| quiet.map_or(Time::ZERO, |quiet| quiet + self.bits.gap);
        for signal in self.signals.iter().filter(|signal| signal.station != station) {
            let heard = signal.from + propagation;
            let before = match quiet.filter(|_| ready <= gap_ends(quiet)) {
                Some(quiet) => heard >= quiet + self.bits.heeded,
                None => heard > ready,
            };
            if before {
                break;
            }
            quiet = quiet.max(Some(signal.to? + propagation));
        }
        Some(ready.max(gap_ends(quiet)))
    }

    /// When `station`, which sends since `from`, senses another signal, as far as known.
    fn collides(&self, station: usize, from: Time) -> Option<Time> {
        let propagation = self.parameters.propagation;
        let heard = self.signals.iter().filter(|signal| signal.station != station);
        let heard = heard.filter(|signal| signal.to.is_none_or(|to| to + propagation > from));
        heard.map(|signal| from.max(signal.from + propagation)).min()
    }

    /// Drops signals with an end that all stations have sensed before `now`, if stations that
    /// waited for them still wait or have begun: a station that ignored a signal began within a
    /// third of a gap of sensing it, and no signal is shorter than that.
    fn forget(&mut self, now: Time) {
        let propagation = self.parameters.propagation;
        let over = |signal: &Signal| signal.to.is_some_and(|to| to + propagation < now);
        for signal in self.signals.iter().filter(|signal| over(signal)) {
            let heard = signal.to.map(|to| to + propagation);
            for (i, station) in self.stations.iter_mut().enumerate() {
                if i != signal.station {
                    station.quiet = station.quiet.max(heard);
                }
            }
        }
        self.signals.retain(|signal| !over(signal));
    }
}

#[cfg(test)]
mod tests;
