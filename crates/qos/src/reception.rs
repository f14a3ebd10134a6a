//! Reception policies: when a host takes received packets, and how many at a time.
//!
//! A host schedules the packets that it sends, but not the arrivals. If every packet may interrupt,
//! a sufficient load keeps the host in interrupts, and it delivers no packet: *receive livelock*
//! (thesis chapter 7; Mogul and Ramakrishnan 1997). Every solution bounds the frequency of
//! interrupts or polls, and the number of commands taken each time.
//!
//! A policy owns no time, no queue and no CPU. It is a table of [`Operations`], of which most
//! policies define three:
//!
//! ```text
//!  adapter posts a command ─▶ posted ─▶ interrupt_at? ──────▶ entered ─▶ a batch: up to `quota` commands while it `stays`
//!                                       host's own clock ──▶                 │
//!  host is idle ────────────▶ idle                                           ▼
//!                                                              left ─▶ Again: at a signal, after the program …
//! ```
//!
//! The [`Context`] executes a batch. The model charges the batch's cost and runs the program in the
//! remaining time.
//!
//! | policy | the adapter interrupts | a batch | runs in |
//! |---|---|---|---|
//! | [`PerCommand`] | for each command | one command | the routine, or the kernel after it |
//! | [`Continuous`] | never | up to Q, then the program until it has no work left | a thread |
//! | [`Timed`] | never; a clock does every I | up to Q | a thread |
//! | [`Clocked`] | never; a hard or a soft timer does | up to Q by class, restarted by each tick | the kernel |
//! | [`Explicit`] | once, then not for I or until the host is idle | up to Q | the routine |
//! | [`Limited`] | at most once an I | up to Q | the routine |
//! | [`Backoff`] | at most once a *period*, which follows the host's load | up to Q, until overloaded | the routine |
//! | [`Guaranteed`] | for a reserved number of packets in each period, and while the program's backlog is short | the reserved and the spare packets | the routine |
//! | [`Coalescing`] | after a number of commands or a holdoff time | all | the routine |
//! | [`Adaptive`] | as [`Coalescing`], with parameters by measured rates (DIM) | all | the kernel |
//! | [`Napi`] | once, then not until no command waits | up to Q, in turn with the program | the kernel |
//! | [`CycleLimited`] | once, then not until no command waits | up to Q while a share of the CPU lasts | the kernel |
//! | [`Lazy`] | when the program waits; in software for each | all, without the protocol | the routine |

mod adaptive;
mod backoff;
mod clocked;
mod coalescing;
mod continuous;
pub mod control;
mod cycle_limited;
mod explicit;
mod guaranteed;
mod lazy;
mod limited;
mod napi;
mod per_command;
mod policer;
pub mod sharing;
mod timed;

#[cfg(test)]
mod tests;

use laxity_units::{Span, Time};

pub use adaptive::{Adaptive, EVENTS, PROFILES};
pub use backoff::{Backoff, BufferTaken as TakenBuffers, Parameters as BackoffParameters};
pub use clocked::Clocked;
pub use coalescing::Coalescing;
pub use continuous::Continuous;
pub use cycle_limited::CycleLimited;
pub use explicit::Explicit;
pub use guaranteed::Guaranteed;
pub use lazy::Lazy;
pub use limited::Limited;
pub use napi::Napi;
pub use per_command::PerCommand;
pub use policer::Policer;
pub use sharing::BatchSharing;
pub use timed::Timed;

/// The context that executes a batch of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// The interrupt routine: at once, not preempted by this host.
    Routine,
    /// The kernel, after the routine and before every thread: interrupts and clock ticks preempt
    /// it, and it resumes.
    Kernel,
    /// A thread with priority over the program's, which begins when the program has finished a
    /// packet, after a context switch.
    Thread,
}

/// The load of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Commands that the adapter has posted and the host has not taken.
    pub waiting: u32,
    /// Free receive buffers.
    pub free: u32,
    /// Receive buffers in all.
    pub buffers: u32,
    /// Free buffers reserved for packets that were announced and have not arrived.
    pub promised: u32,
    /// Packets that wait for the program, of all interfaces.
    pub backlog: u32,
    /// Commands taken by the current batch.
    pub taken: u32,
    /// Those among them that brought a packet.
    pub received: u32,
}

/// Posted commands at the time when the adapter decides whether to interrupt; at least one command
/// waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posted {
    /// Commands that wait.
    pub waiting: u32,
    /// When the first of them was posted.
    pub oldest: Time,
    /// Packets that wait for the program, of all interfaces.
    pub backlog: u32,
}

/// A completed batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// When its first command was taken.
    pub began: Time,
    /// Commands taken.
    pub taken: u32,
    /// Those among them that brought a packet: no announcements, no refused packets.
    pub received: u32,
    /// CPU time of the batch, without preemptions.
    pub used: Span,
}

/// The next batch that a policy requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// At the next interrupt or tick.
    OnSignal,
    /// When the program has no work left.
    AfterProgram,
    /// When the program has had this much of the CPU, or has no work left.
    AfterShare(Span),
    /// At once.
    AtOnce,
}

/// The decisions of a policy; each default is that of most policies.
pub trait Operations {
    /// The context that executes a batch.
    fn context(&self) -> Context;

    /// Maximum number of commands in a batch.
    fn quota(&self) -> u32 {
        u32::MAX
    }

    /// The adapter has posted a command.
    fn posted(&mut self, _now: Time) {}

    /// The adapter had no slot for a packet.
    fn lost(&mut self, _now: Time) {}

    /// When the adapter may interrupt; a time in the past means now, and `None` means not at all.
    fn interrupt_at(&self, _posted: &Posted) -> Option<Time> {
        None
    }

    /// The host has taken an interrupt or a tick.
    fn entered(&mut self, _now: Time) {}

    /// Whether a batch continues with the next command, apart from its quota.
    fn stays(&self, _load: &Load) -> bool {
        true
    }

    /// A batch is over.
    fn left(&mut self, _now: Time, _batch: &Batch, _load: &Load) -> Again {
        Again::OnSignal
    }

    /// The host is idle.
    fn idle(&mut self, _now: Time) {}

    /// The request before the first signal.
    fn first(&self) -> Again {
        Again::OnSignal
    }

    /// Whether an idle host polls the adapter without end, so that no CPU is left for others.
    fn spins(&self) -> bool {
        false
    }

    /// Whether the program executes the protocol, and a batch only demultiplexes.
    fn defers_protocol(&self) -> bool {
        false
    }
}

/// One of the policies, chosen by a scenario.
#[derive(Debug, Clone, PartialEq)]
pub enum Policy {
    /// See [`PerCommand`].
    PerCommand(PerCommand),
    /// See [`Continuous`].
    Continuous(Continuous),
    /// See [`Timed`].
    Timed(Timed),
    /// See [`Clocked`].
    Clocked(Clocked),
    /// See [`Explicit`].
    Explicit(Explicit),
    /// See [`Limited`].
    Limited(Limited),
    /// See [`Backoff`].
    Backoff(Backoff),
    /// See [`Guaranteed`].
    Guaranteed(Guaranteed),
    /// See [`Coalescing`].
    Coalescing(Coalescing),
    /// See [`Adaptive`].
    Adaptive(Adaptive),
    /// See [`Napi`].
    Napi(Napi),
    /// See [`CycleLimited`].
    CycleLimited(CycleLimited),
    /// See [`Lazy`].
    Lazy(Lazy),
}

/// Constant properties of a policy, read once instead of for each packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fixed {
    /// The context that executes a batch.
    pub context: Context,
    /// Maximum number of commands in a batch.
    pub quota: u32,
    /// Whether its adapter ever interrupts; if not, the host polls.
    pub interrupts: bool,
    /// The part of a packet's protocol that a batch executes.
    pub protocol: Protocol,
}

/// The protocol work of a batch for a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// The whole protocol.
    Whole,
    /// Demultiplexing; the program executes the rest.
    WhoseItIs,
    /// No work: the adapter demultiplexes.
    Nothing,
}

macro_rules! each {
    ($self:expr, $policy:ident => $body:expr) => {
        match $self {
            Policy::PerCommand($policy) => $body,
            Policy::Continuous($policy) => $body,
            Policy::Timed($policy) => $body,
            Policy::Clocked($policy) => $body,
            Policy::Explicit($policy) => $body,
            Policy::Limited($policy) => $body,
            Policy::Backoff($policy) => $body,
            Policy::Guaranteed($policy) => $body,
            Policy::Coalescing($policy) => $body,
            Policy::Adaptive($policy) => $body,
            Policy::Napi($policy) => $body,
            Policy::CycleLimited($policy) => $body,
            Policy::Lazy($policy) => $body,
        }
    };
}

impl Policy {
    /// The constant properties of the policy.
    pub fn fixed(&self) -> Fixed {
        let interrupts = !matches!(self, Policy::Continuous(_) | Policy::Timed(_) | Policy::Clocked(_));
        let protocol = match self {
            Policy::Lazy(lazy) if lazy.is_by_adapter() => Protocol::Nothing,
            _ if self.defers_protocol() => Protocol::WhoseItIs,
            _ => Protocol::Whole,
        };
        Fixed { context: self.context(), quota: self.quota(), interrupts, protocol }
    }

    /// [`Operations::stays`]; `load` is evaluated only by policies that use it.
    #[inline]
    pub fn stays_with(&self, load: impl FnOnce() -> Load) -> bool {
        each!(self, policy => policy.stays(&load()))
    }
}

impl Operations for Policy {
    #[inline]
    fn context(&self) -> Context {
        each!(self, policy => policy.context())
    }

    #[inline]
    fn quota(&self) -> u32 {
        each!(self, policy => policy.quota())
    }

    #[inline]
    fn posted(&mut self, now: Time) {
        each!(self, policy => policy.posted(now));
    }

    #[inline]
    fn lost(&mut self, now: Time) {
        each!(self, policy => policy.lost(now));
    }

    #[inline]
    fn interrupt_at(&self, posted: &Posted) -> Option<Time> {
        each!(self, policy => policy.interrupt_at(posted))
    }

    #[inline]
    fn entered(&mut self, now: Time) {
        each!(self, policy => policy.entered(now));
    }

    #[inline]
    fn stays(&self, load: &Load) -> bool {
        each!(self, policy => policy.stays(load))
    }

    #[inline]
    fn left(&mut self, now: Time, batch: &Batch, load: &Load) -> Again {
        each!(self, policy => policy.left(now, batch, load))
    }

    #[inline]
    fn idle(&mut self, now: Time) {
        each!(self, policy => policy.idle(now));
    }

    #[inline]
    fn first(&self) -> Again {
        each!(self, policy => policy.first())
    }

    #[inline]
    fn spins(&self) -> bool {
        each!(self, policy => policy.spins())
    }

    #[inline]
    fn defers_protocol(&self) -> bool {
        each!(self, policy => policy.defers_protocol())
    }
}
