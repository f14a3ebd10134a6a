//! A token ring: a station sends while it holds the token, at most for its holding time.
//!
//! The thesis (§6.4.1, Figure 6.4) gives the node THT of every TTRT: the token arrives, the node
//! sends until THT has passed or its queue is empty, and the token returns TTRT − THT later,
//! however it was used. A frame that is being sent when THT expires is finished; the excess is
//! recorded and subtracted from the next holding. Here there are n such stations in ring order. The
//! rest of the ring holds the token for TTRT − ΣTHT of every rotation, `latency` a hop *included*:
//! were the latency added, a rotation with full use would exceed the TTRT that the THTs were chosen
//! for.
//!
//! ```text
//! station 0 ══ THT₀ ══▷                                    ══ THT₀ ══▷
//! station 1             ·latency· ══ THT₁ ══▷
//! others                                     ·latency· ───▷
//!           └───────────────────── TTRT ──────────────────┘
//! ```
//!
//! On END the token's arrival and its expiry are requests to the time device, each of which costs
//! processor time (§6.4.3: "due to increased token processing overhead"): `handling` passes from
//! the token's arrival until the station may send, and again between its last frame and the token's
//! departure. Both are part of the holding, so that THT/TTRT stays the station's share of the link
//! and TTRT the rotation time. Frames have THT − 2 `handling` of it, and always one frame if the
//! token stays at all. Below, F_j then is the longest frame and twice the handling.
//!
//! # What is guaranteed
//!
//! The thesis claims a fraction THT/TTRT of the link and that a node "does not have to wait any
//! longer than *TTRT* to receive the token". Let F_j be the longest frame of station j, in time. On
//! arrival the allowance is THT_j − d_j, or zero if the debt d_j is at least THT_j; then d_j falls
//! by THT_j and the station is passed over. Only a holding with an allowance, which has paid the
//! old debt, makes a debt, by one frame that began before the end of the holding. So 0 ≤ d_j < F_j
//! always, and in any m consecutive holdings station j holds the token for at most
//!
//! ```text
//! m THT_j + d_j(after) − d_j(before)  <  m THT_j + F_j                            (1)
//! ```
//!
//! with equality on the left if it is saturated.
//!
//! * *Share.* Of a time T in which all are saturated, station j holds THT_j/TTRT × T, up to ΣF and
//!   a rotation. If others leave some of theirs, rotations are shorter and it holds more. The claim
//!   is exact.
//! * *Rotation.* One rotation takes less than TTRT + ΣF, m rotations less than m TTRT + ΣF: the
//!   excess does not accumulate. TTRT alone is **not** a bound on a rotation, even for a single
//!   station.
//! * *Wait.* A ready frame waits while the token is with the others, by (1), for
//!
//! ```text
//! k (TTRT − THT_i) + Σ_{j≠i} F_j,    k = 1 + ⌊F_i / THT_i⌋                          (2)
//! ```
//!
//!   where k − 1 counts the holdings that an overrun can cost; the station's own handling is added,
//! on departure and on arrival. So the claim holds for the thesis's single station with frames of
//! at most THT (it waits TTRT − THT), and in general if also Σ_{j≠i} F_j ≤ THT_i; it is wrong for a
//! frame longer than THT, and for a station with a small THT among others that overrun. The tests
//! show both cases.

use laxity_qos::short_queue::ShortQueue;
use laxity_units::{Span, Time};

use super::{MediumOutput, NetworkError};

/// Parameters of a [`TokenRing`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRingParameters {
    /// Target token rotation time, TTRT: of a rotation in which every station uses its holding time.
    pub rotation: Span,
    /// Token holding time, THT, of each station, in ring order: at least one, none zero, together less than
    /// `rotation`.
    pub holding: Vec<Span>,
    /// Time to pass the token to the next station, part of `rotation` − Σ`holding`.
    pub latency: Span,
    /// Processing time of the token before the first frame, and again before it departs; twice that
    /// is less than any holding time.
    pub handling: Span,
}

impl TokenRingParameters {
    /// Checks the parameters; the error names the first invalid one.
    pub fn check(&self) -> Result<(), NetworkError> {
        let valid = "a holding time above zero for each station";
        if self.holding.is_empty() {
            return Err(NetworkError::new("holding", "names no station", valid));
        }
        if let Some(station) = self.holding.iter().position(|holding| holding.is_zero()) {
            return Err(NetworkError::new("holding", format!("of station {station} is zero"), valid));
        }
        let held = self.holding.iter().fold(Span::ZERO, |sum, holding| sum.saturating_add(*holding));
        if held >= self.rotation {
            let reason =
                format!("sums to {held} in a rotation of {}, and an idle token must go on", self.rotation);
            return Err(NetworkError::new("holding", reason, format!("less than {} in all", self.rotation)));
        }
        let handled = self.handling.saturating_mul(2);
        if let Some(station) = self.holding.iter().position(|holding| *holding <= handled) {
            let holding = self.holding[station];
            let reason =
                format!("takes {} of station {station}'s holding time of {holding}, twice", self.handling);
            return Err(NetworkError::new("handling", reason, format!("less than {}", holding / 2)));
        }
        let passing = self.latency.saturating_mul(self.holding.len() as u64);
        let left = self.rotation - held;
        if passing > left {
            let reason = format!("takes {passing} of a rotation of which the holding times leave {left}");
            let most = left / self.holding.len() as u64;
            return Err(NetworkError::new("latency", reason, format!("at most {most} a hop")));
        }
        Ok(())
    }
}

/// Statistics of a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RingStation {
    /// Frames that it was allowed to send.
    pub grants: u64,
    /// Number of token holdings.
    pub holdings: u64,
    /// Total holding time.
    pub held: Span,
    /// Maximum time from a request to its grant.
    pub longest_wait: Span,
    /// Maximum time between two arrivals of the token.
    pub longest_rotation: Span,
    /// Total excess of holdings over their allowance; each excess was subtracted from later
    /// holdings.
    pub overrun: Span,
    /// The largest excess.
    pub longest_overrun: Span,
    /// Number of times that the token passed by with a frame waiting, because the debt was a whole
    /// holding time or more.
    pub passed_over: u64,
    /// Number of timer calls late by a whole holding or more; only under a real clock.
    pub missed: u64,
}

/// A ring with one token.
#[derive(Debug)]
pub struct TokenRing {
    parameters: TokenRingParameters,
    /// Time for which the rest of the ring keeps the token, hops excluded.
    others: Span,
    token: Token,
    stations: Vec<Station>,
    report: Vec<RingStation>,
    output: ShortQueue<MediumOutput>,
}

#[derive(Debug, Clone, Copy)]
enum Token {
    Travels {
        to: usize,
        at: Time,
    },
    /// It has arrived, and the station can send from `ready` on; `until` as below.
    Taken {
        by: usize,
        since: Time,
        ready: Time,
        until: Time,
    },
    /// Frames may begin until `until`, which leaves time to pass it on.
    Held {
        by: usize,
        since: Time,
        until: Time,
        sending: bool,
    },
}

#[derive(Debug, Clone, Default)]
struct Station {
    /// Since when a frame waits for its grant.
    waiting: Option<Time>,
    /// Last arrival of the token.
    arrived: Option<Time>,
    /// Time to subtract from the next holdings.
    debt: Span,
}

impl TokenRing {
    /// The ring; the token leaves the last station at time zero, as in the thesis.
    pub fn new(parameters: TokenRingParameters) -> Result<TokenRing, NetworkError> {
        parameters.check()?;
        let stations = parameters.holding.len();
        let held = parameters.holding.iter().fold(Span::ZERO, |sum, holding| sum + *holding);
        let others = parameters.rotation - held - parameters.latency * stations as u64;
        let mut ring = TokenRing {
            parameters,
            others,
            token: Token::Travels { to: 0, at: Time::ZERO },
            stations: vec![Station::default(); stations],
            report: vec![RingStation::default(); stations],
            output: ShortQueue::new(),
        };
        ring.pass_on(stations - 1, Time::ZERO);
        Ok(ring)
    }

    pub(super) fn request(&mut self, now: Time, station: usize) {
        self.settle(Time::from_ps(now.as_ps().saturating_sub(1)));
        assert!(self.stations[station].waiting.is_none(), "station {station} asks twice");
        self.stations[station].waiting = Some(now);
        match &mut self.token {
            Token::Held { by, until, sending, .. } if *by == station && now < *until => {
                assert!(!*sending, "station {station} asks while its frame is being sent");
                *sending = true;
                self.grant(now, station);
            }
            _ => self.settle(now),
        }
    }

    pub(super) fn sent(&mut self, now: Time, station: usize, more: bool) {
        let Token::Held { by, until, sending, .. } = &mut self.token else {
            panic!("station {station} has sent a frame without the token");
        };
        assert!(*by == station && *sending, "station {station} has sent a frame that was not granted");
        *sending = false;
        if now >= *until || !more {
            self.release(now);
        }
        self.settle(now);
    }

    pub(super) fn withdraw(&mut self, now: Time, station: usize) {
        self.output.retain(|output| *output != MediumOutput::Grant(station));
        self.stations[station].waiting = None;
        match self.token {
            Token::Held { by, sending: true, .. } if by == station => self.sent(now, station, false),
            Token::Held { by, until, .. } if by == station => {
                self.release(now.min(until));
                self.settle(now);
            }
            // A token without a frame is passed on when it is ready, unless another frame is
            // requested by then.
            _ => {}
        }
    }

    pub(super) fn timer(&mut self, now: Time) {
        self.settle(now);
    }

    /// None while no station waits: an idle token's position is computed on demand.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        match self.token {
            Token::Held { sending: true, .. } => None,
            Token::Held { until, .. } => Some(until),
            Token::Taken { ready, .. } => Some(ready),
            Token::Travels { at, .. } => self.somebody_waits().then_some(at),
        }
    }

    pub(super) fn poll_output(&mut self) -> Option<MediumOutput> {
        self.output.pop_front()
    }

    pub(super) fn report(&self) -> &[RingStation] {
        &self.report
    }

    fn somebody_waits(&self) -> bool {
        self.stations.iter().any(|station| station.waiting.is_some())
    }

    /// Time of the token's next event without further input.
    #[inline]
    fn goes_on_at(&self) -> Time {
        match self.token {
            Token::Travels { at, .. } => at,
            Token::Taken { ready, .. } => ready,
            Token::Held { sending: true, .. } => Time::MAX,
            Token::Held { until, .. } => until,
        }
    }

    /// Advances the token to `now`.
    #[inline]
    fn settle(&mut self, now: Time) {
        if self.goes_on_at() <= now {
            self.go_on(now);
        }
    }

    #[inline(never)]
    fn go_on(&mut self, now: Time) {
        let mut steps = 0;
        while self.goes_on_at() <= now {
            match self.token {
                Token::Travels { to, at } => {
                    // After a rotation without requests, all following rotations are equal.
                    if steps > self.stations.len() && !self.somebody_waits() {
                        self.skip_rotations(at, now);
                        steps = 0;
                        continue;
                    }
                    self.arrive(to, at, now);
                }
                Token::Taken { by, since, ready, until } => self.take_up(by, since, ready, until, now),
                Token::Held { until, .. } => self.release(until),
            }
            steps += 1;
        }
    }

    /// Skips whole rotations from `at` to `now` in which no station sends.
    fn skip_rotations(&mut self, at: Time, now: Time) {
        let rotation = self.others + self.parameters.latency * self.stations.len() as u64;
        let rounds = now.since(at).div_floor(rotation);
        for (station, holding) in self.stations.iter_mut().zip(&self.parameters.holding) {
            station.debt = station.debt.saturating_sub(holding.saturating_mul(rounds));
            station.arrived = station.arrived.map(|arrived| arrived + rotation * rounds);
        }
        if let Token::Travels { at, .. } = &mut self.token {
            *at += rotation * rounds;
        }
    }

    fn arrive(&mut self, to: usize, at: Time, now: Time) {
        let holding = self.parameters.holding[to];
        let (station, report) = (&mut self.stations[to], &mut self.report[to]);
        if let Some(last) = station.arrived.replace(at) {
            report.longest_rotation = report.longest_rotation.max(at.since(last));
        }
        let allowance = holding.saturating_sub(station.debt);
        station.debt = station.debt.saturating_sub(holding);
        let handling = self.parameters.handling;
        let ends = at + allowance;
        if station.waiting.is_some() && ends > now {
            report.holdings += 1;
            let (ready, until) = (at + handling, ends.saturating_sub(handling));
            self.token = Token::Taken { by: to, since: at, ready, until };
            return;
        }
        if station.waiting.is_some() {
            match allowance.is_zero() {
                true => report.passed_over += 1,
                false => report.missed += 1,
            }
        }
        self.pass_on(to, at);
    }

    /// The station with the token is ready to send at `ready`: it may send one frame however small
    /// its allowance, as on END, where the expiry finds the frame in progress.
    fn take_up(&mut self, by: usize, since: Time, ready: Time, until: Time, now: Time) {
        let waits = self.stations[by].waiting.is_some();
        let in_time = now < ready + self.parameters.holding[by];
        let sending = waits && in_time;
        self.token = Token::Held { by, since, until, sending };
        self.report[by].missed += u64::from(waits && !in_time);
        if sending {
            self.grant(ready, by);
        } else {
            self.release(ready);
        }
    }

    fn grant(&mut self, at: Time, station: usize) {
        let asked = self.stations[station].waiting.take().expect("only what waits is granted");
        let report = &mut self.report[station];
        report.grants += 1;
        report.longest_wait = report.longest_wait.max(at.saturating_since(asked));
        self.output.push_back(MediumOutput::Grant(station));
    }

    fn release(&mut self, at: Time) {
        if let Token::Held { by, since, until, .. } = self.token {
            let excess = at.saturating_since(until);
            if !excess.is_zero() {
                self.stations[by].debt += excess;
                let report = &mut self.report[by];
                report.overrun += excess;
                report.longest_overrun = report.longest_overrun.max(excess);
            }
            let gone = at + self.parameters.handling;
            self.report[by].held += gone.since(since);
            self.pass_on(by, gone);
        }
    }

    fn pass_on(&mut self, from: usize, at: Time) {
        let last = from + 1 == self.stations.len();
        let (to, way) = if last { (0, self.others) } else { (from + 1, Span::ZERO) };
        self.token = Token::Travels { to, at: at + self.parameters.latency + way };
    }
}

#[cfg(test)]
mod tests;
