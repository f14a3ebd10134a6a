//! A row of stages that has each packet as soon as it is made, of which some are shared by rates.
//!
//! # The problem
//!
//! [`super::open`] has all of real time as one level, so the promise of a channel depends on the
//! traffic of all others. There is no promise at all where best effort has a rate, too. A
//! discipline that keeps rates apart promises a channel its own, whatever others send: an item has
//! left by its flow's clock and the discipline's latency
//! ([`Latency`](laxity_qos::discipline::Latency)). The question here is which stages are such
//! servers, and which time the others add.
//!
//! # A stage by rates
//!
//! The published bounds are about a single server that takes the next packet at the end of each
//! service, without back-pressure from a stage behind it. Each discipline's page has its source:
//! Figueira and Pasquale 1995 for VirtualClock, Parekh and Gallager 1993 for WFQ, Bennett and Zhang
//! 1997 for WF2Q+, Golestani 1994 for SCFQ, Goyal, Vin and Cheng 1997 for SFQ, Stiliadis and Varma
//! 1998 for DRR. The service of a packet must be no longer than `X(L) = a + b L`, which is made of
//! the stage's phases,
//!
//! ```text
//! X(L) = Σ_phases (fixed + per_packet + per_segment) + L Σ_phases (max(per_byte, per_byte_past) + per_segment/segment) ≥ s(L)             (1)
//! ```
//!
//! a segment begun counting whole, a picosecond for each time that is rounded up, and phases that
//! are only for some as for all. A rate is bytes in time, so a flow has the share `X(L)/(L/r)` of
//! the stage's time with its smallest packets, and all shares together are at most one
//! ([`Sharing::fits`](laxity_qos::discipline::Sharing::fits)). The fluid server of WFQ goes by the
//! declared speed of its queue, and PGPS is no later than that only if no packet takes longer than
//! declared: `X` is that then, or there is no bound.
//!
//! *Before a prefetch.* Let the stage `a` be followed by the last one, `b`, with `p` places, first
//! in, first out, which holds it up. Let `t0` be when `a` took a packet, and let a packet with a
//! rate have waited at `a` since. In each instant until `a` takes packet `q` either its server
//! works, or it waits for a place or a resource, and then `b` works. Then `q` goes through `a`, and
//! through `b`, where up to `p` are before it, and each of them and it may find the resource taken
//! by `a`, `w_b` each time. The packets that `b` works on were passed on since, or were inside at
//! `t0`, which is at most `p + 1` packets. So if `q` leaves at `f`,
//!
//! ```text
//! f − t0 ≤ Σ_n (X_a(n) + X_b(n)) + once,     once = (p + 2) (s_b(S) + w_b)                       (2)
//! ```
//!
//! over the packets `n` that `a` took from `t0` to `q`: a server of `X_a + X_b` that is `once` late
//! (*fluctuation constrained*; Lee 1995). That is the link behind a CPU of [`crate::RatedHost`],
//! and so it is for orders with clocks that go by served traffic.
//!
//! # A stage first come, first served
//!
//! It has one queue for all, so it is as long as the arrivals; and those are no faster than the
//! server before lets them. Let departures from the last server before by rates (or packets from
//! the CPU) be as far apart as `u(n)` at least, `n` being the later one, and `s_i(L) ≤ u(L)` for
//! each of the stages `i` in a row behind it, for all sizes. By the recursion of a tandem, `n`
//! leaves the last of them at a sum along a path from some packet `m`, which changes the stage or
//! goes on to the next packet,
//!
//! ```text
//! f(n) = a(m) + Σ_path s_i(j) ≤ a(m) + Σ_{m < j ≤ n} u(j) + Σ_i s_i(S) ≤ a(n) + Σ_i s_i(S)               (3)
//! ```
//!
//! since each packet after `m` is charged once by going on to it, at most `u(j)`, and each stage
//! once by the step to it, at most a largest packet. So to a clock it is a way of `Σ_i s_i(S)` and
//! no more.
//!
//! If best effort goes behind real time there, in a queue of its own, one packet of it may be in
//! the server when real time arrives. Then real time is served as it arrives, which is as far apart
//! as the stage right before takes, so with `s_i(L) ≤ u(L)` of that stage it is `2 s_i(S)` for
//! each. For the next stage packets are as far apart as this one takes, since their order is not
//! what it was.
//!
//! # Together
//!
//! A message of `j` is made by `ℓ + R_j`; all its packets are handed over by then. An item that
//! arrives earlier has no later clock, so ways that differ from packet to packet are as good as the
//! longest. Over the stages by rates a burst is paid for once (`Latency::of_next`; Goyal, Lam and
//! Vin 1997):
//!
//! ```text
//! T_j = R_j + looks + I_min + α_1 + Σ_{k > 1} (L/r + α_k) + Σ_i s_i(S)                      (4)
//! ```
//!
//! with `α_k` of the discipline at its stage, behind the end or the beginning. `R_j` is the CPU's
//! alone ([`crate::RatedHost`]), which shares no time with the adapter but for completions. The
//! promise is the less of (4) and of (1) of [`super::open`], where every stage separates real time
//! from best effort.

use std::sync::Arc;

use laxity_units::{ByteTime, Bytes, Span};

use super::{FrameMedium, Open, StationPhase, StationStage, ps, span};
use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::Order;

/// A row of stages with servers by rates in it, analysed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rated {
    servers: Vec<RatedServer>,
    way: Span,
    open: Arc<Open>,
    alike: bool,
}

/// A server by rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RatedServer {
    /// Its discipline.
    pub order: Order,
    /// `X`: what a packet of a size takes at most.
    pub speed: LinkCosts,
    /// For how long it may serve no packet, once.
    pub once: Span,
}

/// Queue of a stage, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageLine {
    /// One queue for all, first in, first out.
    Fifo,
    /// One for packets with a deadline, first in, first out, and one behind it for the rest.
    Before,
    /// One shared by rates for packets with a deadline, and none before it; the declared time of a
    /// packet.
    Rates(Order, LinkCosts),
    /// Anything else.
    Other,
}

/// Why there is no bound by rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnratedStation {
    /// No stage goes by rates.
    None,
    /// A stage orders packets in another way.
    Order,
    /// The fluid server has a declared speed other than the stage's.
    Fluid,
    /// It goes by time or the speed of its stage, and that is held up by the one behind.
    HeldUp,
    /// A first-in, first-out stage may be slower than packets arrive.
    Slow,
    /// Stations share the medium.
    Medium,
}

/// `startup + per_byte L`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Affine {
    startup: u128,
    /// In 2⁻¹⁶ ps.
    per_byte: u128,
}

impl Affine {
    fn of(self, size: Bytes) -> u128 {
        (self.startup << 16) + self.per_byte * u128::from(size.get())
    }

    fn and(self, other: Self) -> Self {
        Self { startup: self.startup + other.startup, per_byte: self.per_byte + other.per_byte }
    }

    fn costs(self) -> LinkCosts {
        let per_byte = ByteTime::ratio(self.per_byte, 1 << 16);
        LinkCosts { startup: span(self.startup), per_byte, ..LinkCosts::default() }
    }
}

impl Rated {
    /// The stages of `open`, which have these queues; packets arrive from the CPU `spacing` apart
    /// or more. `alike` says whether (1) of [`super::open`] holds of it.
    pub fn new(
        open: Arc<Open>,
        lines: &[StageLine],
        spacing: Span,
        alike: bool,
    ) -> Result<Self, UnratedStation> {
        let station = open.station();
        if station.medium != FrameMedium::Own {
            return Err(UnratedStation::Medium);
        }
        let largest = open.largest();
        let (mut servers, mut way) = (Vec::new(), ps(station.looks));
        // A look finds several packets at once.
        let cpu = Affine { startup: ps(spacing), per_byte: 0 };
        let mut apart = if station.looks.is_zero() { cpu } else { Affine::default() };
        // Packets that arrive right from the stage before.
        let mut coming = apart;
        for group in open.groups() {
            let stages = &station.stages[group.clone()];
            let (first, last) = (&stages[0], &stages[stages.len() - 1]);
            if stages.len() > 1 && lines[group.end - 1] != StageLine::Fifo {
                return Err(UnratedStation::Order);
            }
            match lines[group.start] {
                StageLine::Other => return Err(UnratedStation::Order),
                StageLine::Rates(order, told) if stages.len() == 1 => {
                    let mut speed = most(first).costs();
                    if order == Order::WeightedFair {
                        if told.fixed() < speed.startup || told.per_byte < speed.per_byte {
                            return Err(UnratedStation::Fluid);
                        }
                        speed = told;
                    }
                    servers.push(RatedServer { order, speed, once: Span::ZERO });
                }
                StageLine::Rates(order, _) if order.goes_by_what_is_served() => {
                    let held = open.inside(group) - open.most(|size| first.service(size));
                    let speed = most(first).and(most(last)).costs();
                    servers.push(RatedServer { order, speed, once: span(held) });
                }
                StageLine::Rates(..) => return Err(UnratedStation::HeldUp),
                line @ (StageLine::Fifo | StageLine::Before) => {
                    let before = if line == StageLine::Fifo { apart } else { coming };
                    let slow = |size| most(first).of(size) > before.of(size);
                    if stages.len() > 1 || slow(Bytes::new(1)) || slow(largest) {
                        return Err(UnratedStation::Slow);
                    }
                    let service = open.most(|size| first.service(size));
                    way += if line == StageLine::Fifo { service } else { 2 * service };
                    coming = least(first);
                    if line == StageLine::Fifo {
                        continue;
                    }
                }
            }
            (apart, coming) = (least(last), least(last));
        }
        match servers.is_empty() {
            true => Err(UnratedStation::None),
            false => Ok(Self { servers, way: span(way), open, alike }),
        }
    }

    /// Its servers by rates, in order; at least one.
    pub fn servers(&self) -> &[RatedServer] {
        &self.servers
    }

    /// Time of the other stages, and of polling for commands.
    pub fn way(&self) -> Span {
        self.way
    }

    /// All of its stages.
    pub fn stages(&self) -> Arc<Open> {
        self.open.clone()
    }

    /// The same stages with all of real time as one level, where that has a bound.
    pub fn alike(&self) -> Option<&Open> {
        self.alike.then_some(&*self.open)
    }
}

/// `X`: no less than what `stage` takes, by (1).
fn most(stage: &StationStage) -> Affine {
    let of = |StationPhase { delay, .. }: &StationPhase| {
        let segment = if delay.segment.is_zero() { Span::ZERO } else { delay.per_segment };
        let bytes = delay.per_byte.max(delay.per_byte_past).scaled_ceil(16);
        let segments = (ps(segment) << 16).div_ceil(u128::from(delay.segment.get().max(1)));
        let startup = ps(delay.fixed) + ps(delay.per_packet) + ps(segment) + ps(delay.rounding());
        Affine { startup, per_byte: bytes + segments }
    };
    let linger = Affine { startup: ps(stage.linger), per_byte: 0 };
    stage.phases.iter().map(of).fold(linger, Affine::and)
}

/// No more than what it takes for any packet.
fn least(stage: &StationStage) -> Affine {
    let of = |StationPhase { delay, .. }: &StationPhase| {
        let bent = !delay.knee.is_zero();
        let byte = if bent { delay.per_byte.min(delay.per_byte_past) } else { delay.per_byte };
        let segment = if delay.segment.is_zero() { Span::ZERO } else { delay.per_segment };
        let segments = (ps(segment) << 16) / u128::from(delay.segment.get().max(1));
        let startup = ps(delay.fixed) + ps(delay.per_packet);
        Affine { startup, per_byte: byte.scaled_floor(16) + segments }
    };
    let for_all = |phase: &&StationPhase| {
        !phase.optional && !phase.since_service && phase.from.is_zero() && phase.up_to.is_none()
    };
    stage.phases.iter().filter(for_all).map(of).fold(Affine::default(), Affine::and)
}
