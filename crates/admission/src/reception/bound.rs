//! How long a packet of a guaranteed channel takes to its program at most, whatever else arrives.
//!
//! # The problem
//!
//! The traffic of others has no bound, so no effect of a single arrival may cost the host. An
//! interrupt for each command has no bound, nor has a queue or buffer that is first come, first
//! served. The bound is on the work that a host *lets* happen. A policy is covered here if it says
//! how often the adapter is heard and how much is taken each time, whatever has arrived.
//!
//! # The way, and what it needs
//!
//! ```text
//!  arrival ─▶ slots of real time ─▶ a turn of the interface ─▶ buffers of real time ─▶ a turn of the program ─▶ delivered
//!             (policed: B_c, I_c)   every I, q packets           (never full)           every P, n packets
//!                                   within R                                            within V
//! ```
//!
//! Each half is a server by turns, for which [`turns`] has the delay; `J` of the second half is the
//! delay of the first. So
//!
//! ```text
//! D = (I + F_I + R) + (P + F_P + V)                                                                   (4)
//! ```
//!
//! with `F` what is waited for further turns. What is left to show is that turns are as often, as
//! long and as large as said.
//!
//! *Levels.* Signals and routines go before the kernel, that before threads, those before programs;
//! above all, nothing is stopped. In a window of length `W` an interface `j` with signals `I_j`
//! apart begins at most `⌈W/I_j⌉` of them, and one may have begun before:
//!
//! ```text
//! n_j(W) = ⌈W/I_j⌉ + 1                                                                                (5)
//! ```
//!
//! each of which takes a signal `σ_j` at the top, and a batch of up to `Q_j` packets, `β_j`, at the
//! batch's level `ℓ_j`. So for work on level `ℓ` others are
//!
//! ```text
//! G_ℓ(W) = Σ_j n_j(W) (σ_j + [ℓ_j above or at ℓ] β_j) + X(k)                                          (6)
//! ```
//!
//! *Interfaces that are polled* (a hard or soft timer, in the kernel) begin anew with each tick:
//! the packet in hand is finished, then real time goes first. The tick is heard when what cannot be
//! stopped is over, which is in `G`. So `q` packets are done within
//!
//! ```text
//! R = the least W with c + σ + q c + G_kernel(W) ≤ W                                                  (7)
//! ```
//!
//! and if `R < I` the next tick does not arrive before. A smaller `q` than the quota may be all
//! that fits, and is then what is promised.
//!
//! *Timed polling* (a thread) misses a tick that finds its thread at work, and waits until the
//! program has done with a packet, `v` at most. No tick is missed if all of the batch is over
//! before the next: `R` is the least `W` with `σ + C_sw + Q c + v + G_thread(W) ≤ W`, and has to be
//! less than `I`.
//!
//! *Limited interrupts* occur `I` after the last was *heard*; that is at most `R` later than it was
//! due, so turns are at most `I + R` apart. Here, too, `R < I`, or the last routine might go on
//! when the next interrupt is due.
//!
//! *Explicitly managed interrupts* are off for `I` after a routine, or until the host is idle: for
//! turns they are limited interrupts. A host is idle when no signal is due, no batch goes on and no
//! packet is at a program. In a window of this proof something of it is there from the beginning to
//! the end, so the routines of an interface begin at least `I` apart, as (5) has it. Where a packet
//! waits, interrupts are on at most `I` after the last routine ended, which is at most `R` after its
//! interrupt was due; an idle host only switches them on earlier. So turns are at most `I + R` apart.
//!
//! *Guaranteed shares* begin periods at multiples of `I`, and in each take the first `Q` packets in
//! order of arrival. A routine that was begun in the period before counts to that, and it is not
//! stopped: at the beginning of a period all of one routine may go before. With real time waiting,
//! the first routine of the period takes it first. In a period no more than `8 Q` commands are
//! taken that are not spare, of which all but `Q` are refusals. *Spare* packets are taken only
//! while the programs have at most `s` packets before them, and each is one more for the programs,
//! since there is a buffer for it: with `k` packets that programs finish in the window,
//!
//! ```text
//! X(k) = (s + 1 + k)(σ + c)                                                                           (8)
//! ```
//!
//! for the largest `s` of all such interfaces, and no `X` if there is none. In routine and kernel
//! no program gets on, `k = 0`; a thread may wait for one packet, `k = 1`.
//!
//! *Programs.* A program has `b` of each period `P`, at multiples of it, before those with longer
//! periods; it begins a packet while it has had less than `b`, so packets of `v` at most make at
//! least `n = ⌈b/v⌉` in a period in which it always has some: what it began in the period before
//! counts for the part in this one, less than a packet, and is one packet done. If that one was
//! best effort, real time has `n − 1`, or with `b` for it `⌈b/v⌉ − 1`. Programs do not stop each
//! other; so within the period these are done by
//!
//! ```text
//! V = the least W with v_any + n v + Σ_{p: P_p ≤ P} (⌈W/P_p⌉ + 1)(b_p + v_p) + G_thread(W) ≤ W        (9)
//! ```
//!
//! if that is at most `P`. A smaller `n` may be all that fits.
//!
//! *A smaller number* of packets is promised just as well, in (7) as in (9), and its `R` or `V` is
//! shorter. So each number up to the largest is tried, and the one that makes `F + R` or `F + V`
//! least is taken. To take the largest made a program that is twice as fast promise more than twice
//! the delay: its budget is enough for twice as many packets, and `V` was that of all of them.
//!
//! A dearer program may still help: by (8) each packet that programs finish lets a spare one be
//! taken, and programs that finish fewer in their budgets let fewer be taken. That is no fault of
//! the analysis, for any arrival may be spare.
//!
//! A program that is for real time alone spends its budget on no other work, and may never spend it
//! all. As long as it has some, no program with a longer period goes before it, and every arrival
//! is done within
//!
//! ```text
//! L = the least W with v_any + N(W) v + Σ_{p: P_p ≤ P} (⌈W/P_p⌉ + 1)(b_p + v_p) + G_thread(W) ≤ W     (10)
//! ```
//!
//! with `N` of (1). Suppose a packet waits, for the first time, while the budget is spent. The
//! packets that the program has worked on in that period had not been done when it began, so they
//! arrived less than `L` before. With the one that waits there are more than `⌈b/v⌉` packets that
//! arrived within less than `P + L`. So if `N(P + L) ≤ ⌈b/v⌉` that never happens, and (10) is
//! instead of `P + F_P + V` if it is less.
//!
//! A program that is the only one of its host has all that turns leave; [`alone`] has its bound, which
//! is instead of (9) and (10) if it is less.
//!
//! *No packet is lost.* A packet lies in a slot for at most `I + F_I + R`, and in a buffer for what
//! is left of `D`. By (1) no more than that number are there at once, and there have to be as many
//! slots, and buffers that only real time may have. ∎
//!
//! *Behind a network* a packet does not enter when it is released. Packets are released `I_c` apart
//! at least, and one that is released at `t` enters in `[t + e_c, t + e_c + J_c]`. Those that enter
//! in a closed window of length `x` were released in one of length `x + J_c`, so there are at most
//! `1 + ⌊(x + J_c)/I_c⌋` of them: (1) with `B_c = 1`, however they overtake each other. No other part
//! of the proof uses the times at which packets enter. So the first half has the `J_c` of the path,
//! and the second half adds the delay of the first.
//!
//! Channels share only turns: the reservations of others are in `R` and `V` from the start,
//! whichever channel uses them. So a channel that is admitted later makes others wait at its own
//! interface and in its own program only.

mod admit;
mod alone;
#[cfg(test)]
mod tests;
mod turns;

use laxity_qos::reception::Guaranteed;
use laxity_units::Span;

pub use admit::{Missing, ReceptionBound, ReceptionRefusal, ReceptionRequest, ReceptionRoom, admit};
use turns::{Arrivals, count, ps};

/// Where the batches of an interface run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// In the interrupt routine.
    Routine,
    /// In the kernel.
    Kernel,
    /// In a thread that goes before programs'.
    Thread,
}

/// When an interface has its turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// At ticks that the kernel begins anew with, this far apart.
    Ticks {
        /// At least; not zero.
        least: Span,
        /// At most.
        most: Span,
    },
    /// At ticks that make a thread ready, this far apart.
    Thread(Span),
    /// At interrupts, this far apart at least, except where the host is idle in between.
    Limited(Span),
    /// In periods of this length.
    Reserved {
        /// The period; not zero.
        period: Span,
        /// Spare packets are taken while programs have at most this number before them.
        spare: u32,
        /// Time of refusing a command beside its interrupt; `None` if none is refused.
        refusal: Option<Span>,
    },
}

/// An interface by what it lets happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Service {
    /// When it has its turns.
    pub turn: Turn,
    /// `Q`: packets taken in a turn, of all classes.
    pub quota: u32,
    /// Those of them that are real time's, before the rest; at most `quota`.
    pub real_time: u32,
    /// `σ`: an interrupt or tick.
    pub signal: Span,
    /// `C_sw`: what a thread takes to have the CPU.
    pub switch: Span,
    /// `c`: taking a packet, or refusing it if that takes longer.
    pub packet: Span,
    /// Slots of the adapter that only real time may have.
    pub slots: u32,
    /// Receive buffers that only real time may have; `None` if packets are delivered without a
    /// program.
    pub buffers: Option<u32>,
}

/// A program by what is reserved for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worker {
    /// Time of a packet, at least: not zero.
    pub work: Span,
    /// `v`: at most, with the switch to the program.
    pub packet: Span,
    /// `b` and `P`, not zero; `None` if no budget is reserved.
    pub reserved: Option<(Span, Span)>,
    /// Whether packets of best effort are for it, behind those of real time.
    pub rest: bool,
}

/// A host that receives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReceptionHost {
    /// Its interfaces, every one of them covered.
    pub interfaces: Vec<Service>,
    /// Its programs.
    pub programs: Vec<Worker>,
}

impl Service {
    fn level(&self) -> Level {
        match self.turn {
            Turn::Ticks { .. } => Level::Kernel,
            Turn::Thread(_) => Level::Thread,
            Turn::Limited(_) | Turn::Reserved { .. } => Level::Routine,
        }
    }

    /// `I_j` of (5).
    fn apart(&self) -> Span {
        match self.turn {
            Turn::Ticks { least, .. } => least,
            Turn::Thread(every) | Turn::Limited(every) => every,
            Turn::Reserved { period, .. } => period,
        }
    }

    /// `I`: how far apart turns are at most, if they are done `within` so long.
    fn every(&self, within: Span) -> Span {
        match self.turn {
            Turn::Ticks { most, .. } => most,
            Turn::Thread(every) => every,
            Turn::Limited(every) => every.saturating_add(within),
            Turn::Reserved { period, .. } => period,
        }
    }

    /// `σ` of (6): time that a turn takes at the top from all levels.
    fn at_the_top(&self) -> u128 {
        match self.turn {
            // Each packet may have an interrupt of its own, and so may each refusal.
            Turn::Reserved { refusal, .. } => {
                let commands = 1 + refusal.map_or(0, |_| u128::from(Guaranteed::COMMANDS) - 1);
                u128::from(self.quota) * commands * ps(self.signal)
            }
            _ => ps(self.signal),
        }
    }

    /// `β` of (6): what a turn takes of those on its level or below.
    fn batch(&self) -> u128 {
        ps(self.switch) + u128::from(self.quota) * ps(self.packet) + self.refusals()
    }

    fn refusals(&self) -> u128 {
        match self.turn {
            Turn::Reserved { refusal: Some(refusal), .. } => {
                u128::from(self.quota) * (u128::from(Guaranteed::COMMANDS) - 1) * ps(refusal)
            }
            _ => 0,
        }
    }
}

impl ReceptionHost {
    /// (6) without `X`, of all interfaces but `own`, to work on `level`.
    fn others(&self, own: Option<usize>, level: Level, window: u128) -> u128 {
        let others = self.interfaces.iter().enumerate().filter(|(j, _)| Some(*j) != own);
        others
            .map(|(_, service)| {
                let batch = if service.level() <= level { service.batch() } else { 0 };
                (window.div_ceil(ps(service.apart())) + 1) * (service.at_the_top() + batch)
            })
            .sum()
    }

    /// (8): time of spare packets while programs finish `finished` packets.
    fn spare(&self, finished: u128) -> u128 {
        let reserved = self.interfaces.iter().filter_map(|service| match service.turn {
            Turn::Reserved { spare, .. } => {
                Some((u128::from(spare), ps(service.signal) + ps(service.packet)))
            }
            _ => None,
        });
        let most = reserved.reduce(|(s, c), (spare, cost)| (s.max(spare), c.max(cost)));
        most.map_or(0, |(spare, cost)| (spare + 1 + finished) * cost)
    }

    /// `v` of any program.
    fn longest_packet(&self) -> u128 {
        self.programs.iter().map(|program| ps(program.packet)).max().unwrap_or(0)
    }

    /// The most real time that interface `i` serves in a turn, at most what is its own, and `R`;
    /// `None` if not one packet.
    #[cfg(test)]
    fn turn(&self, i: usize) -> Option<(u64, Span)> {
        self.turns(i).pop()
    }

    /// The numbers of packets of real time that interface `i` serves in a turn, each with its `R`.
    fn turns(&self, i: usize) -> Vec<(u64, Span)> {
        let service = &self.interfaces[i];
        let (signal, packet) = (ps(service.signal), ps(service.packet));
        let limit = ps(service.apart()) - 1;
        let (level, whole, finished) = match service.turn {
            Turn::Ticks { .. } => (Level::Kernel, false, 0),
            Turn::Thread(_) => (Level::Thread, true, 1),
            Turn::Limited(_) => (Level::Routine, true, 0),
            Turn::Reserved { .. } => (Level::Routine, false, 0),
        };
        let before = match service.turn {
            Turn::Ticks { .. } => packet,
            Turn::Thread(_) => self.longest_packet(),
            Turn::Limited(_) => 0,
            // One routine of the period before, with all that it may take.
            Turn::Reserved { .. } => signal + service.batch(),
        };
        let packets = |n: u64| {
            let taken = if whole { u64::from(service.quota) } else { n };
            let own =
                before + signal + ps(service.switch) + u128::from(taken) * packet + self.spare(finished);
            least(own, limit, |window| own + self.others(Some(i), level, window))
        };
        numbers(u64::from(service.real_time.min(service.quota)), packets)
    }

    /// The most packets of real time that program `p` does in a period, and `V`; `None` if not one,
    /// or no budget is reserved.
    #[cfg(test)]
    fn period(&self, p: usize) -> Option<(u64, Span)> {
        self.periods(p).pop()
    }

    /// The numbers of packets of real time that program `p` does in a period, each with its `V`.
    fn periods(&self, p: usize) -> Vec<(u64, Span)> {
        let worker = &self.programs[p];
        let Some((budget, period)) = worker.reserved else { return Vec::new() };
        // Of packets that take no time there is no number; see `Worker::work`.
        let packet = ps(worker.packet).max(1);
        let has = ps(budget).div_ceil(packet);
        let has = u64::try_from(has).unwrap_or(u64::MAX) - u64::from(worker.rest);
        let work = |n: u64| {
            let own = self.longest_packet() + (u128::from(n) + u128::from(worker.rest)) * packet;
            least(own, ps(period), |window| own + self.before(p, period, 2 + u128::from(n), window))
        };
        numbers(has, work)
    }

    /// Work before program `p`, with this `period`, in a window in which it and the programs that
    /// it waits for finish `finished` packets.
    fn before(&self, p: usize, period: Span, finished: u128, window: u128) -> u128 {
        let (mut higher, mut finished) = (0, finished);
        for (_, other) in self.programs.iter().enumerate().filter(|(q, _)| *q != p) {
            if let Some((budget, every)) = other.reserved.filter(|(_, every)| *every <= period) {
                let times = window.div_ceil(ps(every)) + 1;
                higher += times * (ps(budget) + ps(other.packet));
                finished += times * (ps(budget).div_ceil(ps(other.work).max(1)) + 1);
            }
        }
        higher + self.spare(finished) + self.others(None, Level::Thread, window)
    }

    /// (10), if the budget of program `p` is never spent on these.
    fn unspent(&self, p: usize, arrivals: &[Arrivals]) -> Option<Span> {
        let worker = &self.programs[p];
        let (budget, period) = worker.reserved.filter(|_| !worker.rest)?;
        let packet = ps(worker.packet).max(1);
        let longest = least(self.longest_packet() + packet, ps(period), |window| {
            let own = count(arrivals, window);
            self.longest_packet() + own * packet + self.before(p, period, own + 1, window)
        })?;
        let come = count(arrivals, ps(period) + ps(longest));
        (come <= ps(budget).div_ceil(packet)).then_some(longest)
    }
}

/// The least window that is what `takes` says of it, from `own` on, if it is at most `limit`.
fn least(own: u128, limit: u128, takes: impl Fn(u128) -> u128) -> Option<Span> {
    let mut window = own;
    while window <= limit {
        let next = takes(window);
        if next <= window {
            return u64::try_from(window).ok().map(Span::from_ps);
        }
        window = next;
    }
    None
}

/// Numbers of packets that are tried one by one; beyond them the largest alone is.
const ONE_BY_ONE: u64 = 64;

/// Numbers of up to `limit` packets that have a window, each with it: the first few, and the
/// largest.
///
/// A number below the largest is promised sooner, for its window is shorter. Where few packets
/// arrive, that is the lower bound.
fn numbers(limit: u64, window: impl Fn(u64) -> Option<Span>) -> Vec<(u64, Span)> {
    let Some((largest, last)) = most(limit, &window) else { return Vec::new() };
    let few = (1..largest.min(ONE_BY_ONE + 1)).filter_map(|number| Some((number, window(number)?)));
    few.chain([(largest, last)]).collect()
}

/// The most of up to `limit` packets that have a window, which a smaller number has if a larger one
/// has; with that window.
fn most(limit: u64, window: impl Fn(u64) -> Option<Span>) -> Option<(u64, Span)> {
    let (mut fits, mut found) = (0, None);
    let mut beyond = limit.checked_add(1)?;
    // The limit itself, which is the usual answer, then by halves.
    let mut next = limit;
    while next > fits {
        match window(next) {
            Some(span) => (fits, found) = (next, Some(span)),
            None => beyond = next,
        }
        next = fits + (beyond - fits) / 2;
    }
    found.map(|span| (fits, span))
}
