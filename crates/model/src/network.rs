//! Networks: medium access, and impairments on the path.
//!
//! On a link of its own a station sends at once. On a shared one it waits, and meanwhile its
//! adapter's queue grows: the adapter's queueing decides whether guarantees hold (thesis, §6.4). An
//! adapter model therefore needs a medium, but should not depend on its kind. All media keep one
//! contract: a station requests each frame, is [granted](MediumOutput::Grant) it, sends, and
//! reports when the last bit has left.
//!
//! ```text
//! request ──▶ Grant ──▶ sent                      every medium
//!               └─────▶ Abort ──▶ Grant ...       CSMA/CD: a collision; the station asks for nothing anew
//!                         └─────▶ GiveUp          CSMA/CD: the sixteenth
//! ```
//!
//! A medium does not carry frames. It decides *when* one may be sent; the adapter determines the
//! duration, and [`Impairments`] the arrival. As everywhere, time is an argument. Timers due before
//! `now` are delivered before any other input, and outputs are polled after every call.

mod csma;
mod impairments;
mod point_to_point;
mod token_ring;

use std::fmt;

use laxity_units::{Span, Time};

pub use csma::{Background, BackgroundReport, Csma, CsmaParameters, CsmaReport, CsmaStation};
pub use impairments::{
    FrameDelivery, ImpairmentCounts, ImpairmentParameters, Impairments, Probability, Reordering,
};
pub use point_to_point::PointToPoint;
pub use token_ring::{RingStation, TokenRing, TokenRingParameters};

/// An output of the medium to a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediumOutput {
    /// The station may send its one waiting frame, from now on.
    Grant(usize),
    /// The station's frame collides: it stops and keeps the frame, which will be granted again.
    Abort(usize),
    /// The last attempt collided too: the station stops and drops the frame.
    GiveUp(usize),
}

impl MediumOutput {
    /// The station concerned.
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

    /// The last bit of the granted frame has left. `more` means that the station has further
    /// frames, perhaps none ready yet: a token ring then leaves the token with the station for the
    /// rest of its holding.
    pub fn sent(&mut self, now: Time, station: usize, more: bool) {
        match self {
            Medium::PointToPoint(medium) => medium.sent(station),
            Medium::TokenRing(medium) => medium.sent(now, station, more),
            Medium::Csma(medium) => medium.sent(now, station),
        }
    }

    /// Cancels the station's request, granted or not, as when its adapter is reset; ignored if
    /// there is none. Its unpolled outputs are void.
    pub fn withdraw(&mut self, now: Time, station: usize) {
        match self {
            Medium::PointToPoint(medium) => medium.withdraw(station),
            Medium::TokenRing(medium) => medium.withdraw(now, station),
            Medium::Csma(medium) => medium.withdraw(now, station),
        }
    }

    /// Advances to the time that [`next_deadline`](Self::next_deadline) named.
    pub fn timer(&mut self, now: Time) {
        match self {
            Medium::PointToPoint(_) => {}
            Medium::TokenRing(medium) => medium.timer(now),
            Medium::Csma(medium) => medium.timer(now),
        }
    }

    /// Time at which [`timer`](Self::timer) is next due.
    pub fn next_deadline(&self) -> Option<Time> {
        match self {
            Medium::PointToPoint(_) => None,
            Medium::TokenRing(medium) => medium.next_deadline(),
            Medium::Csma(medium) => medium.next_deadline(),
        }
    }

    /// The oldest output that was not polled yet.
    pub fn poll_output(&mut self) -> Option<MediumOutput> {
        match self {
            Medium::PointToPoint(medium) => medium.poll_output(),
            Medium::TokenRing(medium) => medium.poll_output(),
            Medium::Csma(medium) => medium.poll_output(),
        }
    }

    /// Minimum time from a grant to [`sent`](Self::sent): a station pads shorter frames. Zero
    /// except on CSMA/CD, where a shorter frame could end before its collision is detected.
    pub fn shortest_frame(&self) -> Span {
        match self {
            Medium::PointToPoint(_) | Medium::TokenRing(_) => Span::ZERO,
            Medium::Csma(medium) => medium.shortest_frame(),
        }
    }

    /// Statistics so far.
    pub fn report(&self) -> MediumReport<'_> {
        match self {
            Medium::PointToPoint(medium) => MediumReport::PointToPoint(medium.grants()),
            Medium::TokenRing(medium) => MediumReport::TokenRing(medium.report()),
            Medium::Csma(medium) => MediumReport::Csma(medium.report()),
        }
    }
}

/// Statistics of a medium.
#[derive(Debug, Clone, Copy)]
pub enum MediumReport<'a> {
    /// Grants of each station.
    PointToPoint(&'a [u64]),
    /// Each station's share of the token.
    TokenRing(&'a [RingStation]),
    /// Attempts and collisions.
    Csma(&'a CsmaReport),
}

/// An invalid parameter of a network, with its valid values.
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

    /// Why it is invalid.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The valid values.
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
