//! Words about adapters.

use laxity_model::adapter::cim250::{BufferMemory, HostInterface};
use laxity_model::adapter::{Answers, Excess, LatePolicy, Overload, QueueSelection, Release, Takes, Tells};
use laxity_qos::discipline::Class;

use crate::leaf::Choice;

/// A family of adapters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdapterKind {
    /// See [`laxity_model::adapter::Null`].
    Null,
    /// See [`laxity_model::adapter::Description`].
    Generic,
    /// See [`laxity_model::adapter::cim250`].
    Cim250,
}

impl Choice for AdapterKind {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("null", AdapterKind::Null, "A packet of S bytes takes `startup` + S × `per_byte`, one at a time."),
        ("generic", AdapterKind::Generic, "Command queues, stages, resources and buffers, as described."),
        ("cim250", AdapterKind::Cim250, "The Ancor VME CIM 250 of thesis §5.1, by its parameters."),
    ];
}

impl Choice for Takes {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("all", Takes::All, "Every packet."),
        ("real_time", Takes::Only(Class::RealTime), "Packets of real-time channels."),
        ("best_effort", Takes::Only(Class::BestEffort), "Packets of best-effort channels."),
    ];
}

/// How many commands a command queue holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdapterQueueKind {
    /// Several.
    Fifo,
    /// One.
    Mailbox,
}

impl Choice for AdapterQueueKind {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("fifo", AdapterQueueKind::Fifo, "A queue of `slots` commands."),
        ("mailbox", AdapterQueueKind::Mailbox, "One command; the next has to wait until it is fetched."),
    ];
}

/// Each response interrupts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interrupt;

impl Choice for Interrupt {
    const CHOICES: &'static [(&'static str, Self, &'static str)] =
        &[("interrupt", Interrupt, "Each response interrupts the host.")];
}

impl Choice for QueueSelection {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("priority", QueueSelection::Priority, "The queue of highest priority that is not empty."),
        ("round_robin", QueueSelection::RoundRobin, "In turn."),
    ];
}

impl Choice for Answers {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("all", Answers::All, "All that the adapter says."),
        ("received", Answers::Received, "That packets have come in."),
        ("sent", Answers::Sent, "All else: what becomes of commands, and whatever a phase `tells`."),
    ];
}

impl Choice for Release {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("fetched", Release::Fetched, "Until the adapter takes it."),
        (
            "completed",
            Release::Completed,
            "Until the adapter says what became of the packet, as the entry of a ring of descriptors.",
        ),
    ];
}

/// Treatment of a response that finds its queue full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FullAnswers {
    /// It waits.
    Block,
    /// Its packet is lost.
    Drop,
}

impl Choice for FullAnswers {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("block", FullAnswers::Block, "It waits in the adapter, and its packet where it is."),
        (
            "drop",
            FullAnswers::Drop,
            "The packet, which has come in, is lost; for queues of what is `received` alone.",
        ),
    ];
}

impl Choice for Overload {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("block", Overload::Block, "It waits where it is, and what is behind it waits as well."),
        ("drop", Overload::Drop, "It is lost."),
        (
            "priority",
            Overload::Priority,
            "A real-time packet takes the place of a best-effort one that waits; who finds none is lost.",
        ),
        (
            "importance",
            Overload::Importance,
            "The least important is lost, of those that wait and the one that comes: best effort before real time, and of that what \
             is due last. For queues in the order `fifo`, `edf`, `multiclass_edf` or `fixed_priority`.",
        ),
    ];
}

impl Choice for LatePolicy {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("keep", LatePolicy::Keep, "It is served as any other."),
        (
            "drop",
            LatePolicy::Drop,
            "It is lost, when it comes or when it would be served: nothing more is spent on it.",
        ),
    ];
}

impl Choice for Excess {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("drop", Excess::Drop, "It is lost, and the rest of its message."),
        (
            "demote",
            Excess::Demote,
            "It goes on as best effort, here and behind, and the rest of its message with it.",
        ),
    ];
}

/// As many as a channel's contract needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AsContract;

impl Choice for AsContract {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[(
        "contract",
        AsContract,
        "The packets of the longest burst of its contract; a channel without one has none, and those that are `shared`.",
    )];
}

/// Component that spends the time of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PhaseKind {
    /// Hardware's.
    Delay,
    /// Hardware's, and the processor waits for it.
    Synchronous,
    /// The processor's.
    Work,
}

impl Choice for PhaseKind {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("delay", PhaseKind::Delay, "The hardware's: the same on a faster processor."),
        (
            "synchronous",
            PhaseKind::Synchronous,
            "The hardware's, and it holds the processor, as programmed I/O does.",
        ),
        ("work", PhaseKind::Work, "The processor's instructions: holds it, and `host.speedup` divides it."),
    ];
}

impl Choice for Tells {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("progress", Tells::Progress, "That it is done; the adapter goes on at once."),
        ("handshake", Tells::Handshake, "That it is done; the adapter goes on when the host has answered."),
    ];
}

impl Choice for HostInterface {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("full", HostInterface::Full, "Two commands and three responses, as built."),
        ("simple", HostInterface::Simple, "Both commands at once and one response (thesis §5.2.1)."),
    ];
}

impl Choice for BufferMemory {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("shared", BufferMemory::Shared, "One bus for DMA and Fiber Channel, as built."),
        ("dual", BufferMemory::Dual, "Two banks, each with a bus of its own (thesis §5.2.2)."),
    ];
}
