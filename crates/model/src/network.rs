//! Networks: who may send when, and what becomes of it on the way.
//!
//! On a link of its own a station sends whenever it has something. On a shared one it waits, and while it
//! waits its adapter fills: what the adapter does with a long queue decides whether guarantees survive
//! (thesis, §6.4). So a model of an adapter needs a model of its medium; but it should not need to know
//! which. All media therefore keep one contract: a station asks before each frame, is
//! [granted](MediumOutput::Grant) it, sends, and says when the last bit has left.
//!
//! ```text
//! request ──▶ Grant ──▶ sent                      every medium
//!               └─────▶ Abort ──▶ Grant ...       CSMA/CD: a collision; the station asks for nothing anew
//!                         └─────▶ GiveUp          CSMA/CD: the sixteenth
//! ```
//!
//! A medium does not carry frames. It says *when* one may be sent; how long that takes is the adapter's
//! business, and [`Impairments`] say how and whether it arrives. As everywhere, time is an argument. Timers
//! due before `now` are delivered before anything else is told, and outputs are polled after every call.

mod csma;
mod impairments;
mod point_to_point;
mod token_ring;

use std::fmt;

use laxity_units::{Span, Time};

pub use csma::{Background, BackgroundReport, Csma, CsmaParameters, CsmaReport, CsmaStation};
pub use impairments::{
    Delivery, ImpairmentCounts, ImpairmentParameters, Impairments, Probability, Reordering,
};
pub use point_to_point::PointToPoint;
pub use token_ring::{RingStation, TokenRing, TokenRingParameters};

/// What a medium tells a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediumOutput {
    /// The station may send its one waiting frame, from now on.
    Grant(usize),
    /// What the station sends collides: it stops and keeps the frame, which will be granted again.
    Abort(usize),
    /// The last attempt collided too: the station stops and drops the frame.
    GiveUp(usize),
}

impl MediumOutput {
    /// Whom it is for.
    pub fn station(self) -> usize {
        match self {
            MediumOutput::Grant(station) | MediumOutput::Abort(station) | MediumOutput::GiveUp(station) => {
                station
            }
        }
    }
}

/// A medium of one of the kinds.
#[derive(Debug)]
pub enum Medium {
    /// See [`PointToPoint`].
    PointToPoint(PointToPoint),
    /// See [`TokenRing`].
    TokenRing(TokenRing),
    /// See [`Csma`].
    Csma(Csma),
}

impl Medium {
    /// A frame of `station` is ready. At most one request of a station is open: until the frame is
    /// [sent](Self::sent), given up or [withdrawn](Self::withdraw).
    pub fn request(&mut self, now: Time, station: usize) {
        match self {
            Medium::PointToPoint(medium) => medium.request(station),
            Medium::TokenRing(medium) => medium.request(now, station),
            Medium::Csma(medium) => medium.request(now, station),
        }
    }

    /// The last bit of the granted frame has left. `more` says that the station has further frames, although
    /// perhaps none that is ready: it is asked for at once what would otherwise be passed on.
    pub fn sent(&mut self, now: Time, station: usize, more: bool) {
        match self {
            Medium::PointToPoint(medium) => medium.sent(station),
            Medium::TokenRing(medium) => medium.sent(now, station, more),
            Medium::Csma(medium) => medium.sent(now, station),
        }
    }

    /// The station's request is void, granted or not, as when its adapter is reset; nothing if there is none.
    /// Outputs for it that were not polled are void too.
    pub fn withdraw(&mut self, now: Time, station: usize) {
        match self {
            Medium::PointToPoint(medium) => medium.withdraw(station),
            Medium::TokenRing(medium) => medium.withdraw(now, station),
            Medium::Csma(medium) => medium.withdraw(now, station),
        }
    }

    /// The time that [`next_deadline`](Self::next_deadline) named has come.
    pub fn timer(&mut self, now: Time) {
        match self {
            Medium::PointToPoint(_) => {}
            Medium::TokenRing(medium) => medium.timer(now),
            Medium::Csma(medium) => medium.timer(now),
        }
    }

    /// When the medium next wants [`timer`](Self::timer) to be called.
    pub fn next_deadline(&self) -> Option<Time> {
        match self {
            Medium::PointToPoint(_) => None,
            Medium::TokenRing(medium) => medium.next_deadline(),
            Medium::Csma(medium) => medium.next_deadline(),
        }
    }

    /// What the medium has to tell, oldest first.
    pub fn poll_output(&mut self) -> Option<MediumOutput> {
        match self {
            Medium::PointToPoint(medium) => medium.poll_output(),
            Medium::TokenRing(medium) => medium.poll_output(),
            Medium::Csma(medium) => medium.poll_output(),
        }
    }

    /// The least time from a grant to [`sent`](Self::sent): a station pads frames that are shorter. Zero
    /// except on CSMA/CD, whose collisions a shorter frame would not live to see.
    pub fn shortest_frame(&self) -> Span {
        match self {
            Medium::PointToPoint(_) | Medium::TokenRing(_) => Span::ZERO,
            Medium::Csma(medium) => medium.shortest_frame(),
        }
    }

    /// What happened so far.
    pub fn report(&self) -> MediumReport<'_> {
        match self {
            Medium::PointToPoint(medium) => MediumReport::PointToPoint(medium.grants()),
            Medium::TokenRing(medium) => MediumReport::TokenRing(medium.report()),
            Medium::Csma(medium) => MediumReport::Csma(medium.report()),
        }
    }
}

/// What happened on a medium.
#[derive(Debug, Clone, Copy)]
pub enum MediumReport<'a> {
    /// Grants of each station.
    PointToPoint(&'a [u64]),
    /// Each station's share of the token.
    TokenRing(&'a [RingStation]),
    /// Attempts and collisions.
    Csma(&'a CsmaReport),
}

/// Why parameters make no network, and what would.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkError {
    parameter: &'static str,
    reason: String,
    valid: String,
}

impl NetworkError {
    fn new(parameter: &'static str, reason: impl Into<String>, valid: impl Into<String>) -> NetworkError {
        NetworkError { parameter, reason: reason.into(), valid: valid.into() }
    }

    /// The parameter at fault, by its name in the parameter struct.
    pub fn parameter(&self) -> &'static str {
        self.parameter
    }

    /// What is wrong with it.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// What would be valid in its place.
    pub fn valid(&self) -> &str {
        &self.valid
    }
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the network's {} {}; valid is {}", self.parameter, self.reason, self.valid)
    }
}

impl std::error::Error for NetworkError {}

#[cfg(test)]
mod tests;
