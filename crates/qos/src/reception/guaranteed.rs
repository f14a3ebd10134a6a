//! Guaranteed shares: each interface its reservation first, and spare capacity to any interface
//! when no reserved work waits.
//!
//! Under adaptive backoff an interface is limited by the state of its *own* buffers. As long as
//! these do not fill, it takes all arrivals, and an interface with a higher load than others takes
//! the capacity that the others have reserved. Thesis Fig. 7.10(a) and (b) show that window, and
//! §8.2 leaves it open. The cause is that the host's load and an interface's share are one signal.
//! Here they are two. Of each period of length `I`, at multiples of it,
//!
//! 1. the first `Q` packets of an interface are taken as they arrive: its *reservation*, whatever
//!    the load;
//! 2. any further packet only while the program's backlog is at most `spare` packets, of all
//!    interfaces together: then there is capacity that no reservation needs.
//!
//! Packets count and not commands; otherwise the refusal of packets without a buffer would use a
//! reservation up. In a period at most eight commands for each reserved packet are taken beside the
//! spare ones, so that refusals are bounded too.
//!
//! *Why every reservation is kept.* Let the reservations of all interfaces fit: the cost of `Q_i`
//! packets of each, with their interrupts and refusals and the program, is at most `I` less the
//! cost of `spare + 1` packets (Eq. 7.5 with its overheads counted). Routines precede the program,
//! so in each period the first `Q_i` waiting packets are taken as soon as they are posted, less the
//! routines of others. Work beyond reservations begins only with a backlog of at most `spare`
//! packets, and is one routine's packet at a time, since a batch stops at a larger backlog. So at
//! any time the unfinished work beyond reservations is at most `spare + 1` packets. The program
//! completes within a period all reservations of the period and these packets. Its backlog stays
//! within one period's reservations plus `spare + 1` packets, buffers for this number never run
//! out, and no reserved packet is dropped. No parameter has to be tuned to the load, and an idle
//! interface releases its share at once.

use laxity_units::{Span, Time};

use super::{Again, Batch, Context, Load, Operations, Posted};

/// Reservations in each period, and spare capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guaranteed {
    quota: u32,
    period: Span,
    spare: u32,
    /// The current period; packets received in it, and commands taken.
    began: Time,
    received: u32,
    taken: u32,
}

impl Guaranteed {
    /// Maximum number of commands that belong to a reserved packet: two, and six refusals.
    pub const COMMANDS: u32 = 8;

    /// Reserves `quota` packets of each `period`, which is not zero; others are taken while the
    /// program's backlog is at most `spare`.
    pub fn new(quota: u32, period: Span, spare: u32) -> Self {
        Self { quota, period, spare, began: Time::ZERO, received: 0, taken: 0 }
    }

    /// Packets reserved in each period.
    pub fn packets(&self) -> u32 {
        self.quota
    }

    /// The period.
    pub fn period(&self) -> Span {
        self.period
    }

    /// Maximum backlog of the program at which further packets are taken.
    pub fn spare(&self) -> u32 {
        self.spare
    }

    /// Whether part of the reservation is left after `received` more packets and `taken` more
    /// commands.
    fn is_reserved(&self, received: u32, taken: u32) -> bool {
        let taken = self.taken.saturating_add(taken);
        self.received.saturating_add(received) < self.quota
            && taken < self.quota.saturating_mul(Self::COMMANDS)
    }

    fn ends(&self) -> Time {
        self.began.saturating_add(self.period)
    }

    fn turn(&mut self, now: Time) {
        if now >= self.ends() {
            self.began = now.saturating_sub(Span::from_ps(now.as_ps() % self.period.as_ps()));
            (self.received, self.taken) = (0, 0);
        }
    }
}

impl Operations for Guaranteed {
    fn context(&self) -> Context {
        Context::Routine
    }

    fn interrupt_at(&self, posted: &Posted) -> Option<Time> {
        // Reserved or spare packets may interrupt at once; any others when the next period begins.
        let at_once = self.is_reserved(0, 0) || posted.backlog <= self.spare;
        Some(if at_once { posted.oldest } else { posted.oldest.max(self.ends()) })
    }

    fn entered(&mut self, now: Time) {
        self.turn(now);
    }

    fn stays(&self, load: &Load) -> bool {
        self.is_reserved(load.received, load.taken) || load.backlog <= self.spare
    }

    fn left(&mut self, now: Time, batch: &Batch, _load: &Load) -> Again {
        self.received = self.received.saturating_add(batch.received);
        self.taken = self.taken.saturating_add(batch.taken);
        self.turn(now);
        Again::OnSignal
    }
}
