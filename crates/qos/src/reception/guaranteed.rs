//! Guaranteed shares: each interface its reservation first, and what is left to whoever asks when nobody is behind.
//!
//! Under adaptive backoff an interface is limited by what it was told of its *own* buffers. As long as those do not fill, it
//! takes as much as comes, and where it comes in more often than others it takes what they have reserved: thesis Fig. 7.10(a)
//! and (b) show that window, and §8.2 leaves it open. The cause is that the host's load and an interface's share are one
//! signal. Here they are two. Of each period of length `I`, at multiples of it,
//!
//! 1. the first `Q` packets of an interface are taken as they come: its *reservation*, whatever the load;
//! 2. any further one only while the program has at most `spare` packets to do, of all interfaces together: then there is
//!    capacity that nobody who has reserved it is waiting for.
//!
//! Packets count and not commands, or refusing what finds no buffer would use a reservation up; but in a period no more than
//! eight commands for each reserved packet are taken beside what is spare, so that refusing has an end, too.
//!
//! *Why every reservation is kept.* Let the reservations of all interfaces fit: what `Q_i` packets of each cost, with the
//! interrupts and refusals that may go with them and the program, is at most `I` less the cost of `spare + 1` packets (Eq. 7.5
//! with its overheads counted). Routines go before the program, so in each period the first `Q_i` packets that wait are taken
//! as soon as they are posted, less the routines of others. Work beyond reservations is begun only with at most `spare` packets before the program, and is one
//! routine's packet at a time, since a batch stops as soon as there are more. So at any time what is beyond reservations and
//! unfinished is at most `spare + 1` packets, and the program does what all interfaces have reserved in a period, and these,
//! within it: its backlog stays within one period's reservations and `spare + 1` packets, buffers for so many never run out, and
//! nothing reserved is dropped. No parameter has to be tuned to the load, and an interface that is idle leaves its share at once.

use laxity_units::{Span, Time};

use super::{Again, Batch, Context, Load, Operations, Posted};

/// Reservations in each period, and what is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guaranteed {
    quota: u32,
    period: Span,
    spare: u32,
    /// The period that is counted in; packets received in it, and commands taken.
    began: Time,
    received: u32,
    taken: u32,
}

impl Guaranteed {
    /// Commands that go with a reserved packet, at most: two, and six refusals.
    pub const COMMANDS: u32 = 8;

    /// Reserves `quota` packets of each `period`, which is not zero; others are taken while the program has at most `spare`.
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

    /// Others are taken while the program has at most so many.
    pub fn spare(&self) -> u32 {
        self.spare
    }

    /// Whether of what is reserved something is left, with so many more received and taken.
    fn is_reserved(&self, received: u32, taken: u32) -> bool {
        let taken = self.taken.saturating_add(taken);
        self.received.saturating_add(received) < self.quota
            && taken < self.quota.saturating_mul(Self::COMMANDS)
    }

    /// When the period ends that is counted in.
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
        // What is reserved, or spare, may come at once; anything else when the next period begins.
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
