//! Words about adapters.

use laxity_model::adapter::cim250::{BufferMemory, HostInterface};
use laxity_model::adapter::{Answers, Excess, LatePolicy, Overload, QueueSelection, Release, Takes, Tells};
use laxity_qos::discipline::Class;

use crate::leaf::Choice;
use laxity_scenario_keys::words;

/// A family of adapters.
#[words]
pub(crate) enum AdapterKind {
    /// A packet of S bytes takes `startup` + S × `per_byte`, one at a time.
    Null,
    /// Command queues, stages, resources and buffers, as described.
    Generic,
    /// The Ancor VME CIM 250 of thesis §5.1, by its parameters.
    Cim250,
}

impl Choice for Takes {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("all", Takes::All, "Every packet."),
        ("real_time", Takes::Only(Class::RealTime), "Packets of real-time channels."),
        ("best_effort", Takes::Only(Class::BestEffort), "Packets of best-effort channels."),
    ];
}

/// How many commands a command queue holds.
#[words]
pub(crate) enum AdapterQueueKind {
    /// A queue of `slots` commands.
    Fifo,
    /// One command; the next has to wait until it is fetched.
    Mailbox,
}

/// Each response interrupts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interrupt;

impl Choice for Interrupt {
    const CHOICES: &'static [(&'static str, Self, &'static str)] =
        &[("interrupt", Interrupt, "Each response interrupts the host.")];
}

#[words(of = QueueSelection)]
enum QueueSelectionWords {
    /// The queue of highest priority that is not empty.
    Priority,
    /// In turn.
    RoundRobin,
}

#[words(of = Answers)]
enum AnswersWords {
    /// All that the adapter says.
    All,
    /// That packets have arrived.
    Received,
    /// All else: what becomes of commands, and whatever a phase `tells`.
    Sent,
}

#[words(of = Release)]
enum ReleaseWords {
    /// Until the adapter takes it.
    Fetched,
    /// Until the adapter says what became of the packet, as the entry of a ring of descriptors.
    Completed,
}

/// Treatment of a response that finds its queue full.
#[words]
pub(crate) enum FullAnswers {
    /// It waits in the adapter, and its packet where it is.
    Block,
    /// The packet, which has arrived, is lost; for queues of what is `received` alone.
    Drop,
}

#[words(of = Overload)]
enum OverloadWords {
    /// It waits where it is, and what is behind it waits as well.
    Block,
    /// It is lost.
    Drop,
    /// A real-time packet takes the place of a best-effort one that waits; a packet that finds none
    /// is lost.
    Priority,
    /// The least important is lost, of those that wait and the one that arrives: best effort before
    /// real time, and of that what is due last. For queues in the order `fifo`, `edf`,
    /// `multiclass_edf` or `fixed_priority`.
    Importance,
}

#[words(of = LatePolicy)]
enum LatePolicyWords {
    /// It is served as any other.
    Keep,
    /// It is lost, when it arrives or when it would be served: no more time is spent on it.
    Drop,
}

#[words(of = Excess)]
enum ExcessWords {
    /// It is lost, and the rest of its message.
    Drop,
    /// It goes on as best effort, here and behind, and the rest of its message with it.
    Demote,
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
#[words]
pub(crate) enum PhaseKind {
    /// The hardware's: the same on a faster processor.
    Delay,
    /// The hardware's, and it holds the processor, as programmed I/O does.
    Synchronous,
    /// The processor's instructions: holds it, and `host.speedup` divides it.
    Work,
}

#[words(of = Tells)]
enum TellsWords {
    /// That it is done; the adapter goes on at once.
    Progress,
    /// That it is done; the adapter goes on when the host has answered.
    Handshake,
}

#[words(of = HostInterface)]
enum HostInterfaceWords {
    /// Two commands and three responses, as built.
    Full,
    /// Both commands at once and one response (thesis §5.2.1).
    Simple,
}

#[words(of = BufferMemory)]
enum BufferMemoryWords {
    /// One bus for DMA and Fiber Channel, as built.
    Shared,
    /// Two banks, each with a bus of its own (thesis §5.2.2).
    Dual,
}
