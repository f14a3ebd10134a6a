//! The words of what a host receives.

use laxity_model::reception::Discard;
use laxity_qos::reception::TakenBuffers;

use crate::leaf::Choice;

/// How costs vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CostKind {
    /// Not.
    Fixed,
    /// Exponentially.
    Exponential,
}

impl Choice for CostKind {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("fixed", CostKind::Fixed, "Each takes what is said."),
        (
            "exponential",
            CostKind::Exponential,
            "Each is drawn from an exponential distribution of that mean.",
        ),
    ];
}

/// Time at which a host takes received packets; see [`laxity_qos::reception`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PolicyKind {
    /// The routine does what each command asks for.
    Interrupt,
    /// The kernel does, after the routine.
    InterruptKernel,
    /// A thread asks without a pause.
    Continuous,
    /// A thread asks at clock ticks.
    Timed,
    /// The kernel asks at clock ticks.
    HardTimer,
    /// The kernel asks when it happens to be cheap.
    SoftTimer,
    /// The host switches interrupts off and on.
    Explicit,
    /// The adapter keeps interrupts apart.
    Limited,
    /// The adapter keeps them apart by the host's load.
    Backoff,
    /// Reservations first, then what is spare.
    Guaranteed,
    /// One for several commands.
    Coalescing,
    /// The same, by measured rates.
    Adaptive,
    /// One interrupt, then polls until the queue is empty.
    Napi,
    /// The same, as long as a share of the CPU lasts.
    CycleLimited,
    /// The program does the protocol; the adapter knows the program of a packet.
    Lazy,
    /// The same; software finds the program.
    LazySoftware,
}

impl Choice for PolicyKind {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "interrupt",
            PolicyKind::Interrupt,
            "Each command interrupts, and the routine does what it asks for (thesis 7.2.2).",
        ),
        (
            "interrupt_kernel",
            PolicyKind::InterruptKernel,
            "Each command interrupts, and the kernel does what they ask for when no interrupt waits.",
        ),
        (
            "continuous",
            PolicyKind::Continuous,
            "A thread takes up to `quota`, the program works them off, and so on without a pause.",
        ),
        (
            "timed",
            PolicyKind::Timed,
            "A clock makes a thread ready every `interval`, which takes up to `quota`.",
        ),
        (
            "hard_timer",
            PolicyKind::HardTimer,
            "The kernel takes up to `quota` every `interval`, begun anew each time.",
        ),
        (
            "soft_timer",
            PolicyKind::SoftTimer,
            "The same at `intervals` drawn from a distribution, cut off at `bound`.",
        ),
        (
            "explicit",
            PolicyKind::Explicit,
            "An interrupt takes up to `quota` packets. Then interrupts are off for `interval`, or until the host is idle.",
        ),
        ("limited", PolicyKind::Limited, "Interrupts at least `interval` apart, each takes up to `quota`."),
        (
            "backoff",
            PolicyKind::Backoff,
            "Interrupts are as far apart as the host's load asks for, from `minimum` to `maximum` (thesis 7.2.3).",
        ),
        (
            "guaranteed",
            PolicyKind::Guaranteed,
            "Up to `quota` in each `interval` at once, and more while the program has at most `spare` packets to do.",
        ),
        (
            "coalescing",
            PolicyKind::Coalescing,
            "An interrupt for `frames` commands, or when the first is `delay` old.",
        ),
        (
            "adaptive",
            PolicyKind::Adaptive,
            "The same with numbers that follow measured rates, as Linux's DIM has it.",
        ),
        ("napi", PolicyKind::Napi, "An interrupt, then polls of up to `quota` until nothing waits."),
        (
            "cycle_limited",
            PolicyKind::CycleLimited,
            "The same, but polls have at most a `share` of each `interval` (Mogul and Ramakrishnan 1997).",
        ),
        (
            "lazy",
            PolicyKind::Lazy,
            "The program does the protocol; the adapter knows whose a packet is (LRP).",
        ),
        ("lazy_software", PolicyKind::LazySoftware, "The same; an interrupt routine finds out whose it is."),
    ];
}

/// The word for no receive buffers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoProgram;

impl Choice for NoProgram {
    const CHOICES: &'static [(&'static str, Self, &'static str)] =
        &[("none", NoProgram, "There is no program: a packet is delivered when the protocol is done.")];
}

/// How a quota is shared between real time and the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SharingKind {
    /// A number of packets of each class.
    Weighted,
    /// Real time as long as there is any.
    Exhaustive,
    /// Batches in turn.
    Turns,
}

impl Choice for SharingKind {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("weighted", SharingKind::Weighted, "Real time first, up to its part, then the rest up to theirs."),
        ("exhaustive", SharingKind::Exhaustive, "Real time as long as any waits."),
        ("turns", SharingKind::Turns, "Whole batches in turn."),
    ];
}

impl Choice for Discard {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("newest", Discard::Newest, "What comes when there is no slot."),
        (
            "importance",
            Discard::Importance,
            "What is late already, wherever it waits; and if there is no slot, what is due last, best effort being due never.",
        ),
        ("tag", Discard::Tag, "If there is no slot, what has the least `importance`, of equals the newest."),
    ];
}

/// A control command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandKind {
    /// A channel's source begins.
    CreatePeriodic,
    /// It ends.
    ClearPeriodic,
    /// The adapter does not interrupt.
    ModePoll,
    /// It does.
    ModeInterrupt,
    /// The host switches interrupts off and on.
    HostOn,
    /// It does not.
    HostOff,
    /// Interrupts of an overloaded host are kept apart.
    BackoffEnable,
    /// They are not.
    BackoffDisable,
}

impl Choice for CommandKind {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "create_periodic",
            CommandKind::CreatePeriodic,
            "What the source of a `channel` says begins to come in.",
        ),
        ("clear_periodic", CommandKind::ClearPeriodic, "It ends."),
        ("mode_poll", CommandKind::ModePoll, "The adapter does not interrupt; the host polls it."),
        (
            "mode_intr",
            CommandKind::ModeInterrupt,
            "The adapter interrupts; what else was set is in force again.",
        ),
        (
            "host_intr_ctrl_on",
            CommandKind::HostOn,
            "The host switches interrupts off and on itself, as the policy `explicit`.",
        ),
        ("host_intr_ctrl_off", CommandKind::HostOff, "The adapter decides when to interrupt."),
        (
            "backoff_enable",
            CommandKind::BackoffEnable,
            "Interrupts are kept apart as the policy `backoff` does.",
        ),
        ("backoff_disable", CommandKind::BackoffDisable, "They are not."),
    ];
}

/// Which of its packets a program takes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgramOrder {
    /// The packet received first.
    Arrival,
    /// Real time, then the rest.
    Class,
}

impl Choice for ProgramOrder {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("arrival", ProgramOrder::Arrival, "What was received first."),
        ("class", ProgramOrder::Class, "Real time, then the rest; each in order of arrival."),
    ];
}

impl Choice for TakenBuffers {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "filled",
            TakenBuffers::Filled,
            "When a packet is in it; an overloaded host leaves its routine at once.",
        ),
        (
            "promised",
            TakenBuffers::Promised,
            "When a packet is announced that will come into it; an overloaded host takes its quota all the same.",
        ),
        (
            "announced",
            TakenBuffers::Announced,
            "When a packet is announced that will come into it; an overloaded host leaves its routine at once.",
        ),
    ];
}
