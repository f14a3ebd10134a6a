//! Reception policies: when a host takes what has come in, and how much of it at a time.
//!
//! A host schedules what it sends; what it receives comes when it comes. If every packet may interrupt, a host that is
//! offered enough of them does nothing else, and delivers nothing: *receive livelock* (thesis chapter 7; Mogul and
//! Ramakrishnan 1997). Every way out bounds, somewhere, how often the adapter is heard and how much is taken each time.
//!
//! A policy owns no time, no queue and no CPU. It is a table of [`Operations`], of which most policies need three:
//!
//! ```text
//!  adapter posts a command ─▶ posted ─▶ interrupt_at? ──────▶ entered ─▶ a batch: up to `quota` commands while it `stays`
//!                                       host's own clock ──▶                 │
//!  nothing else to do ──────▶ idle                                           ▼
//!                                                              left ─▶ Again: at a signal, after the program …
//! ```
//!
//! Who executes a batch is its [`Context`]; the model charges what that costs and runs the program in what is left.
//!
//! | policy | the adapter interrupts | a batch | runs in |
//! |---|---|---|---|
//! | [`PerCommand`] | for each command | one command | the routine, or the kernel after it |
//! | [`Continuous`] | never | up to Q, then the program until it has nothing left | a thread |
//! | [`Timed`] | never; a clock does every I | up to Q | a thread |
//! | [`Clocked`] | never; a hard or a soft timer does | up to Q by class, begun anew by each tick | the kernel |
//! | [`Explicit`] | once, then not for I or until the host is idle | up to Q | the routine |
//! | [`Limited`] | every I at most | up to Q | the routine |
//! | [`Backoff`] | every *period* at most, which follows the host's load | up to Q, until overloaded | the routine |
//! | [`Guaranteed`] | for a reserved number of commands in each period, and while the program has little to do | what is reserved, and what is spare | the routine |
//! | [`Coalescing`] | after so many commands or so long | all | the routine |
//! | [`Adaptive`] | the same, its numbers by measured rates (DIM) | all | the kernel |
//! | [`Napi`] | once, then not until nothing waits | up to Q, in turn with the program | the kernel |
//! | [`CycleLimited`] | once, then not until nothing waits | up to Q while a share of the CPU lasts | the kernel |
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
pub use backoff::{Backoff, Parameters as BackoffParameters, Taken as TakenBuffers};
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
pub use sharing::Sharing;
pub use timed::Timed;

/// Who executes a batch of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// The interrupt routine: at once, and nothing of this host stops it.
    Routine,
    /// The kernel, after the routine and before every thread: interrupts and clock ticks stop it, and it resumes.
    Kernel,
    /// A thread that goes before the program's, and begins when the program has done with a packet, after a context switch.
    Thread,
}

/// What the host has of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Commands that the adapter has posted and the host has not taken.
    pub waiting: u32,
    /// Receive buffers that hold nothing.
    pub free: u32,
    /// Receive buffers in all.
    pub buffers: u32,
    /// Buffers of those free that are promised to packets which were announced and have not come.
    pub promised: u32,
    /// Packets that the program has before it, of all interfaces.
    pub backlog: u32,
    /// Commands that the batch under way has taken.
    pub taken: u32,
    /// Those among them that brought a packet.
    pub received: u32,
}

/// What the adapter holds for the host when it decides whether to interrupt; at least one command waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posted {
    /// Commands that wait.
    pub waiting: u32,
    /// When the first of them was posted.
    pub oldest: Time,
    /// Packets that the program has before it, of all interfaces.
    pub backlog: u32,
}

/// A batch that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// When its first command was taken.
    pub began: Time,
    /// Commands taken.
    pub taken: u32,
    /// Those among them that brought a packet: not announcements, and not what was refused.
    pub received: u32,
    /// CPU time that it took, what stopped it not counted.
    pub used: Span,
}

/// What a policy wants after a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// Another batch at the next interrupt or tick.
    OnSignal,
    /// Another as soon as the program has nothing left to do.
    AfterProgram,
    /// Another as soon as the program has had so much of the CPU, or has nothing left to do.
    AfterShare(Span),
    /// Another at once.
    AtOnce,
}

/// What a policy decides; each default is what most do.
pub trait Operations {
    /// Who executes a batch.
    fn context(&self) -> Context;

    /// Commands taken in a batch, at most.
    fn quota(&self) -> u32 {
        u32::MAX
    }

    /// The adapter has posted a command.
    fn posted(&mut self, _now: Time) {}

    /// The adapter had no slot for a packet.
    fn lost(&mut self, _now: Time) {}

    /// When the adapter may interrupt, a time that has passed being now; `None` while it may not.
    fn interrupt_at(&self, _posted: &Posted) -> Option<Time> {
        None
    }

    /// The host has taken an interrupt or a tick.
    fn entered(&mut self, _now: Time) {}

    /// Whether a batch goes on to the next command, its quota aside.
    fn stays(&self, _load: &Load) -> bool {
        true
    }

    /// A batch is over.
    fn left(&mut self, _now: Time, _batch: &Batch, _load: &Load) -> Again {
        Again::OnSignal
    }

    /// The host has nothing else to do.
    fn idle(&mut self, _now: Time) {}

    /// What comes before the first signal.
    fn first(&self) -> Again {
        Again::OnSignal
    }

    /// Whether a host with nothing to do asks the adapter without end, so that no CPU is left for others.
    fn spins(&self) -> bool {
        false
    }

    /// Whether the protocol is the program's to execute, and a batch only says whose packet it is.
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

/// What of a policy never changes, so that whoever takes packets need not ask it for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fixed {
    /// Who executes a batch.
    pub context: Context,
    /// Commands taken in a batch, at most.
    pub quota: u32,
    /// Whether its adapter ever interrupts, or is only asked.
    pub interrupts: bool,
    /// What of a packet's protocol a batch executes.
    pub protocol: Protocol,
}

/// What a batch does with a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// The whole protocol.
    Whole,
    /// It finds out whose it is; the rest is the program's.
    WhoseItIs,
    /// Nothing: the adapter knows whose it is.
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
    /// What of it never changes.
    pub fn fixed(&self) -> Fixed {
        let interrupts = !matches!(self, Policy::Continuous(_) | Policy::Timed(_) | Policy::Clocked(_));
        let protocol = match self {
            Policy::Lazy(lazy) if lazy.is_by_adapter() => Protocol::Nothing,
            _ if self.defers_protocol() => Protocol::WhoseItIs,
            _ => Protocol::Whole,
        };
        Fixed { context: self.context(), quota: self.quota(), interrupts, protocol }
    }

    /// [`Operations::stays`], for whom `load` is worked out only by policies that look at it.
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
