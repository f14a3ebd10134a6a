//! The words that scenario files choose among, what each stands for, and what that is.

mod adapter;
mod network;
mod reception;
mod source;
mod via;

use laxity_admission::{Formula, Test};
use laxity_model::host::Applications;
use laxity_qos::channel::{
    Block, LinkParadigm, MessageOverflow, Order, Oversize, PacketOverflow, Processing,
};
use laxity_qos::discipline::{Class, EarlyPolicy};
use laxity_scenario_keys::words;
use laxity_units::Span;
use laxity_world::experiment::{
    ClockKind, Division, HostPlace, LocalDeadline, MissesEffect, Pace, RefusalEffect, Transfer,
};
use laxity_world::results::Origin;

use super::leaf::Choice;
use crate::claim::Stalls;
pub(crate) use adapter::{AdapterKind, AdapterQueueKind, AsContract, FullAnswers, Interrupt, PhaseKind};
pub(crate) use network::{FaultKind, Framing, NetworkKind, NodeKind};
pub(crate) use reception::{CommandKind, CostKind, NoProgram, PolicyKind, ProgramOrder, SharingKind};
pub(crate) use source::{Random, SourceKind};
pub(crate) use via::{DoorbellsKind, FirmwareKind};

#[words(of = Applications)]
enum ApplicationsWords {
    /// On other processors: a send happens when it is due and costs this CPU no time.
    Separate,
    /// Threads on this CPU, real-time senders above best-effort ones, all above handlers.
    Shared,
}

#[words(of = Processing)]
enum ProcessingWords {
    /// One handler thread per channel.
    PerChannel,
    /// One thread per message, created when it is sent.
    PerMessage,
}

#[words(of = Order)]
enum OrderWords {
    /// Current real-time work by deadline, then best effort by arrival; early work as `early` says.
    #[word("multiclass_edf")]
    MultiClassEdf,
    /// By level, then by arrival; early work as `early` says.
    FixedPriority,
    /// By deadline alone.
    Edf,
    /// By VirtualClock's stamps: one interval of the contract after the logical arrival; best
    /// effort when no other work waits.
    VirtualClock,
    /// By arrival.
    Fifo,
    /// Weighted fair queueing: by when a fluid server would be done. Here and below up to `hrr`
    /// work without a rate goes when no other work may.
    #[word("wfq")]
    WeightedFair,
    /// WF2Q+: the same, of what that server would have begun.
    #[word("wf2q_plus")]
    WorstCaseFair,
    /// Self-clocked fair queueing: by finish tags.
    #[word("scfq")]
    SelfClocked,
    /// Hierarchical start-time fair queueing: groups by start tags, then what is in them.
    #[word("hsfq")]
    HierarchicalFair,
    /// Start-time fair queueing: by start tags.
    #[word("sfq")]
    StartTimeFair,
    /// Deficit round robin, with quanta in proportion to rates.
    #[word("drr")]
    DeficitRoundRobin,
    /// Rate-controlled static priority: held to the flow's rate, then by `level`.
    #[word("rcsp")]
    RateControlled,
    /// Packets that arrived in one `frame` leave in the next.
    StopAndGo,
    /// Hierarchical round robin: a part of each `frame`, and no more.
    #[word("hrr")]
    HierarchicalRoundRobin,
    /// FIFO+: by arrival, had it waited at each hop as is usual there; then best effort.
    FifoPlus,
    /// By level, then by arrival, as queues of 802.1Q: 0 without a `level`, best effort last; no
    /// packet is held.
    StrictPriority,
    /// By the time left for each link that is left; then best effort.
    HopLaxity,
}

impl Choice for EarlyPolicy {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("hold", EarlyPolicy::HOLD, "Early work waits for its logical arrival time."),
        (
            "below_best_effort",
            EarlyPolicy::CONSERVE,
            "Work-conserving: early work runs when nothing on time and no best effort waits.",
        ),
        (
            "above_best_effort",
            EarlyPolicy { horizon: Span::MAX, above_best_effort: true },
            "Work-conserving: early work runs before best effort, as structuring Figure 7(b) warns against.",
        ),
    ];
}

#[words(of = Oversize)]
enum OversizeWords {
    /// By an interval for each `max_message` begun, so that at most one such message arrives
    /// logically an interval.
    Intervals,
    /// In proportion to its packets (structuring §3.1): the channel gets its rate, but has no
    /// bound, nor have others at the host.
    Packets,
}

#[words(of = Block)]
enum BlockWords {
    /// Between messages.
    Message,
    /// When the channel's message queue is empty.
    Never,
}

/// The word for preemption in the middle of a packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Immediate;

/// [`Block`] and [`Immediate`] in one choice of words.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PreemptionWord {
    /// Cooperative.
    Block(Block),
    /// At once.
    Immediate(Immediate),
}

impl Choice for PreemptionWord {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("message", PreemptionWord::Block(Block::Message), "Between messages."),
        ("never", PreemptionWord::Block(Block::Never), "When the channel's message queue is empty."),
        (
            "immediate",
            PreemptionWord::Immediate(Immediate),
            "At once, in the middle of a packet: what admission theory assumes and no host offers for free.",
        ),
    ];
}

/// Cost of switching threads.
#[words]
pub(crate) enum Resources {
    /// Preemption as `preemption` says, at the profile's costs.
    Real,
    /// Immediate preemption; context switches and cache misses are free (resource §3.1).
    Ideal,
}

#[words(of = LinkParadigm)]
enum LinkParadigmWords {
    /// Called by the handler that made a packet and by the completion interrupt.
    #[word("O1")]
    O1,
    /// A thread of its own above all handlers, which waits for a preemption point.
    #[word("O2")]
    O2,
    /// Called by the handler, or a new thread after every completion.
    #[word("O3")]
    O3,
    /// None: packets go to the adapter as they are made, at `hand_over` each, and it schedules
    /// them.
    Adapter,
}

#[words(of = ClockKind)]
enum ClockKindWords {
    /// Simulated: time jumps to the next event.
    Virtual,
    /// Emulated: every event happens when it is due.
    Real,
}

#[words(of = HostPlace)]
enum HostPlaceWords {
    /// Part of the emulation: its costs pass as time.
    Model,
    /// A thread on another core that does its work for real, and meets the adapter at rings in
    /// shared memory.
    Thread,
    /// The kernel of this machine, working on another core, and a program of ours in a network
    /// namespace: the adapter of each `[[interface]]` hands its packets over as frames at a TAP
    /// device.
    Kernel,
}

#[words(of = Pace)]
enum PaceWords {
    /// The cost of the profile: it works, and spins until the cost has passed.
    Profile,
    /// The time of the work on this machine.
    Native,
}

#[words(of = Transfer)]
enum TransferWords {
    /// The whole packet.
    Full,
    /// Its header: enough where no program reads the payload (thesis §4.4.2).
    Headers,
}

/// A kind of port.
#[words]
pub(crate) enum PortKind {
    /// An Ethernet interface of this host or of a network namespace.
    Tap,
}

/// The formulas that admit, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FormulaWord(pub(crate) Option<Formula>);

impl Choice for FormulaWord {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("corrected", FormulaWord(Some(Formula::Corrected)), "The bounds that hold."),
        (
            "papers",
            FormulaWord(Some(Formula::Papers)),
            "The formulas of resource §4, with what must be meant where they are misprinted.",
        ),
        (
            "papers_each",
            FormulaWord(Some(Formula::PapersEach)),
            "The same with O2's wait for the CPU assumed for each packet.",
        ),
        ("printed", FormulaWord(Some(Formula::Printed)), "The same, literally as printed."),
        ("off", FormulaWord(None), "Every channel is taken without a bound."),
    ];
}

#[words(of = Stalls)]
enum StallsWords {
    /// The claim is not judged.
    Spoil,
    /// It is judged, since its scripts allow for the time that is missing; unless that is a tenth
    /// of the run.
    Accounted,
}

#[words(of = RefusalEffect)]
enum RefusalEffectWords {
    /// The run fails: its exit code is 1.
    Fails,
    /// None: a refusal is among the expected outcomes.
    Expected,
}

#[words(of = MissesEffect)]
enum MissesEffectWords {
    /// The run fails: its exit code is 1.
    Fail,
    /// None: missed deadlines are among the expected outcomes.
    Expected,
}

#[words(of = Origin)]
enum OriginWords {
    /// Of what the scenario is about: a paper that it reproduces, or its author's requirement.
    Source,
    /// Our own, about the system that is modelled: in no paper.
    Ours,
    /// Of another paper than those that are reproduced.
    Others,
    /// Our own, about the emulation: real time gives what virtual time gives.
    Emulation,
    /// A test of the implementation: it follows from how the model is made, and only a bug makes it
    /// fail.
    Implementation,
}

#[words(of = Test)]
enum TestWords {
    /// Fixed priorities would do. One message of a channel is under way at a time.
    DOrder,
    /// The work due by each instant can be done by then, served by the requested deadlines: admits
    /// more than `d_order`, and deadlines beyond the interval. Stations where channels have levels
    /// go by `d_order`.
    Demand,
}

#[words(of = Division)]
enum DivisionWords {
    /// Each hop has its least deadline, and a part of the slack in proportion to it, or to a tenth
    /// of the mean of all where that is more. Up to the last port by rates it gets half an
    /// interval at most, or four times its least deadline, unless more admits more channels.
    Proportional,
    /// Each hop has its least deadline and an equal part of the slack.
    Equal,
    /// The former name of `equal`.
    #[word("shared")]
    Equal,
    /// Each hop has its least deadline, and the slowest hop has all of the slack.
    Slowest,
    /// Each hop has the same deadline.
    Alike,
}

#[words(of = LocalDeadline)]
enum LocalDeadlineWords {
    /// The channel's own deadline.
    Requested,
    /// The bound that admission gave the channel.
    Bound,
}

#[words(of = Class)]
enum ClassWords {
    /// Admitted with a bound on its delay.
    RealTime,
    /// Served with what is left.
    BestEffort,
}

#[words(of = MessageOverflow)]
enum MessageOverflowWords {
    /// The message is dropped, and the sender is told.
    Drop,
    /// The sender waits until there is room.
    Block,
    /// The message is carried as best effort, and so is each message beyond the contract.
    BestEffort,
}

#[words(of = PacketOverflow)]
enum PacketOverflowWords {
    /// The handler waits until the link has freed a buffer.
    Block,
    /// It goes on, each further packet with a later deadline.
    #[word("decay")]
    DecayDeadline,
    /// The packet is dropped, and with it the rest of its message.
    Drop,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_discipline_has_a_word() {
        for order in Order::ALL {
            assert!(
                Order::CHOICES.iter().any(|(_, chosen, _)| chosen == order),
                "{order:?} cannot be written"
            );
        }
    }
}
