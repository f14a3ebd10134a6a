//! The words of what a host receives.

use laxity_model::reception::Discard;
use laxity_qos::reception::TakenBuffers;

use crate::leaf::Choice;
use laxity_scenario_keys::words;

/// How costs vary.
#[words]
pub(crate) enum CostKind {
    /// Each takes what is said.
    Fixed,
    /// Each is drawn from an exponential distribution of that mean.
    Exponential,
}

/// Time at which a host takes received packets; see [`laxity_qos::reception`].
#[words]
pub(crate) enum PolicyKind {
    /// Each command interrupts, and the routine does what it asks for (thesis 7.2.2).
    Interrupt,
    /// Each command interrupts, and the kernel does what they ask for when no interrupt waits.
    InterruptKernel,
    /// A thread takes up to `quota`, the program works them off, and so on without a pause.
    Continuous,
    /// A clock makes a thread ready every `interval`, which takes up to `quota`.
    Timed,
    /// The kernel takes up to `quota` every `interval`, begun anew each time.
    HardTimer,
    /// The same at `intervals` drawn from a distribution, cut off at `bound`.
    SoftTimer,
    /// An interrupt takes up to `quota` packets. Then interrupts are off for `interval`, or until
    /// the host is idle.
    Explicit,
    /// Interrupts at least `interval` apart, each takes up to `quota`.
    Limited,
    /// Interrupts are as far apart as the host's load asks for, from `minimum` to `maximum` (thesis
    /// 7.2.3).
    Backoff,
    /// Up to `quota` in each `interval` at once, and more while the program has at most `spare`
    /// packets to do.
    Guaranteed,
    /// An interrupt for `frames` commands, or when the first is `delay` old.
    Coalescing,
    /// The same with numbers that follow measured rates, as Linux's DIM has it.
    Adaptive,
    /// An interrupt, then polls of up to `quota` until no packet waits.
    Napi,
    /// The same, but polls have at most a `share` of each `interval` (Mogul and Ramakrishnan 1997).
    CycleLimited,
    /// The program does the protocol; the adapter knows the program of a packet (LRP).
    Lazy,
    /// The same; an interrupt routine finds the program of a packet.
    LazySoftware,
}

/// The word for no receive buffers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoProgram;

impl Choice for NoProgram {
    const CHOICES: &'static [(&'static str, Self, &'static str)] =
        &[("none", NoProgram, "There is no program: a packet is delivered when the protocol is done.")];
}

/// How a quota is shared between real time and the rest.
#[words]
pub(crate) enum SharingKind {
    /// Real time first, up to its part, then the rest up to theirs.
    Weighted,
    /// Real time as long as any waits.
    Exhaustive,
    /// Whole batches in turn.
    Turns,
}

#[words(of = Discard)]
enum DiscardWords {
    /// The packet that arrives when there is no slot.
    Newest,
    /// A packet that is late already, wherever it waits; and if there is no slot, the packet that
    /// is due last, best effort being due never.
    Importance,
    /// If there is no slot, what has the least `importance`, of equals the newest.
    Tag,
}

/// A control command.
#[words]
pub(crate) enum CommandKind {
    /// The packets of the source of a `channel` begin to arrive.
    CreatePeriodic,
    /// It ends.
    ClearPeriodic,
    /// The adapter does not interrupt; the host polls it.
    ModePoll,
    /// The adapter interrupts; what else was set is in force again.
    #[word("mode_intr")]
    ModeInterrupt,
    /// The host switches interrupts off and on itself, as the policy `explicit`.
    #[word("host_intr_ctrl_on")]
    HostOn,
    /// The adapter decides when to interrupt.
    #[word("host_intr_ctrl_off")]
    HostOff,
    /// Interrupts are kept apart as the policy `backoff` does.
    BackoffEnable,
    /// They are not.
    BackoffDisable,
}

/// Which of its packets a program takes first.
#[words]
pub(crate) enum ProgramOrder {
    /// The packet received first.
    Arrival,
    /// Real time, then the rest; each in order of arrival.
    Class,
}

#[words(of = TakenBuffers)]
enum TakenBuffersWords {
    /// When a packet is in it; an overloaded host leaves its routine at once.
    Filled,
    /// When a packet is announced that will fill it; an overloaded host takes its quota all the
    /// same.
    Promised,
    /// When a packet is announced that will fill it; an overloaded host leaves its routine at once.
    Announced,
}
