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

impl Choice for Applications {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "separate",
            Applications::Separate,
            "On other processors: a send happens when it is due and costs this CPU nothing.",
        ),
        (
            "shared",
            Applications::Shared,
            "Threads on this CPU, real-time senders above best-effort ones, all above handlers.",
        ),
    ];
}

impl Choice for Processing {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("per_channel", Processing::PerChannel, "One handler thread per channel."),
        ("per_message", Processing::PerMessage, "One thread per message, created when it is sent."),
    ];
}

impl Choice for Order {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "multiclass_edf",
            Order::MultiClassEdf,
            "Current real-time work by deadline, then best effort by arrival; early work as `early` says.",
        ),
        ("fixed_priority", Order::FixedPriority, "By level, then by arrival; early work as `early` says."),
        ("edf", Order::Edf, "By deadline alone."),
        (
            "virtual_clock",
            Order::VirtualClock,
            "By VirtualClock's stamps: one interval of the contract after the logical arrival; best effort when nothing else waits.",
        ),
        ("fifo", Order::Fifo, "By arrival."),
        (
            "wfq",
            Order::WeightedFair,
            "Weighted fair queueing: by when a fluid server would be done. Here and below up to `hrr` what has no rate goes when nothing else may.",
        ),
        ("wf2q_plus", Order::WorstCaseFair, "WF2Q+: the same, of what that server would have begun."),
        ("scfq", Order::SelfClocked, "Self-clocked fair queueing: by finish tags."),
        (
            "hsfq",
            Order::HierarchicalFair,
            "Hierarchical start-time fair queueing: groups by start tags, then what is in them.",
        ),
        ("sfq", Order::StartTimeFair, "Start-time fair queueing: by start tags."),
        ("drr", Order::DeficitRoundRobin, "Deficit round robin, with quanta in proportion to rates."),
        (
            "rcsp",
            Order::RateControlled,
            "Rate-controlled static priority: held to the flow's rate, then by `level`.",
        ),
        ("stop_and_go", Order::StopAndGo, "What came in one `frame` goes in the next."),
        (
            "hrr",
            Order::HierarchicalRoundRobin,
            "Hierarchical round robin: so much in each `frame`, and no more.",
        ),
        (
            "fifo_plus",
            Order::FifoPlus,
            "FIFO+: by arrival, had it waited at each hop as is usual there; then best effort.",
        ),
        (
            "strict_priority",
            Order::StrictPriority,
            "By level, then by arrival, as queues of 802.1Q: 0 without a `level`, best effort last; nothing is held.",
        ),
        ("hop_laxity", Order::HopLaxity, "By the time left for each link that is left; then best effort."),
    ];
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

impl Choice for Oversize {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "intervals",
            Oversize::Intervals,
            "By an interval for each `max_message` begun, so that at most one such message arrives logically an interval.",
        ),
        (
            "packets",
            Oversize::Packets,
            "In proportion to its packets (structuring §3.1): the channel gets its rate, but has no bound, nor have others at the host.",
        ),
    ];
}

impl Choice for Block {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("message", Block::Message, "Between messages."),
        ("never", Block::Never, "When the channel's message queue is empty."),
    ];
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resources {
    /// As in the profile.
    Real,
    /// Zero, and possible at any time.
    Ideal,
}

impl Choice for Resources {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("real", Resources::Real, "Preemption as `preemption` says, at the profile's costs."),
        (
            "ideal",
            Resources::Ideal,
            "Immediate preemption; context switches and cache misses cost nothing (resource §3.1).",
        ),
    ];
}

impl Choice for LinkParadigm {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("O1", LinkParadigm::O1, "Called by the handler that made a packet and by the completion interrupt."),
        (
            "O2",
            LinkParadigm::O2,
            "A thread of its own above all handlers, which waits for a preemption point.",
        ),
        ("O3", LinkParadigm::O3, "Called by the handler, or a new thread after every completion."),
        (
            "adapter",
            LinkParadigm::Adapter,
            "Nobody: packets go to the adapter as they are made, at `hand_over` each, and it schedules them.",
        ),
    ];
}

impl Choice for ClockKind {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("virtual", ClockKind::Virtual, "Simulated: time jumps to the next event."),
        ("real", ClockKind::Real, "Emulated: every event happens when it is due."),
    ];
}

impl Choice for HostPlace {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("model", HostPlace::Model, "Part of the emulation: its costs pass as time."),
        (
            "thread",
            HostPlace::Thread,
            "A thread on another core that does its work for real, and meets the adapter at rings in shared memory.",
        ),
        (
            "kernel",
            HostPlace::Kernel,
            "The kernel of this machine, working on another core, and a program of ours in a network namespace: the \
             adapter of each `[[interface]]` hands its packets over as frames at a TAP device.",
        ),
    ];
}

impl Choice for Pace {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("profile", Pace::Profile, "What the profile says: it works, and spins until the cost has passed."),
        ("native", Pace::Native, "What the work takes on this machine."),
    ];
}

impl Choice for Transfer {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("full", Transfer::Full, "The whole packet."),
        ("headers", Transfer::Headers, "Its header: enough where nobody reads the payload (thesis §4.4.2)."),
    ];
}

/// A kind of port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PortKind {
    /// A TAP interface.
    Tap,
}

impl Choice for PortKind {
    const CHOICES: &'static [(&'static str, Self, &'static str)] =
        &[("tap", PortKind::Tap, "An Ethernet interface of this host or of a network namespace.")];
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

impl Choice for Stalls {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("spoil", Stalls::Spoil, "The claim is not judged."),
        (
            "accounted",
            Stalls::Accounted,
            "It is judged, since its scripts allow for the time that is missing; unless that is a tenth of the run.",
        ),
    ];
}

impl Choice for RefusalEffect {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("fails", RefusalEffect::Fails, "The run fails: its exit code is 1."),
        (
            "expected",
            RefusalEffect::Expected,
            "Nothing: a refusal is among the outcomes that were looked for.",
        ),
    ];
}

impl Choice for MissesEffect {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("fail", MissesEffect::Fail, "The run fails: its exit code is 1."),
        ("expected", MissesEffect::Expected, "None: missed deadlines are among the expected outcomes."),
    ];
}

impl Choice for Origin {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "source",
            Origin::Source,
            "Of what the scenario is about: a paper that it reproduces, or its author's requirement.",
        ),
        ("ours", Origin::Ours, "Our own, about the system that is modelled: in no paper."),
        ("others", Origin::Others, "Of another paper than those that are reproduced."),
        (
            "emulation",
            Origin::Emulation,
            "Our own, about the emulation: real time gives what virtual time gives.",
        ),
        (
            "implementation",
            Origin::Implementation,
            "A test of the implementation: it follows from how the model is made, and only a bug makes it fail.",
        ),
    ];
}

impl Choice for Test {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "d_order",
            Test::DOrder,
            "Fixed priorities would do. One message of a channel is under way at a time.",
        ),
        (
            "demand",
            Test::Demand,
            "What is due by each instant can be done by then, served by the requested deadlines: admits more than \
             `d_order`, and deadlines beyond the interval. Stations where channels have levels go by `d_order`.",
        ),
    ];
}

impl Choice for Division {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "proportional",
            Division::Proportional,
            "Each hop has its least deadline, and a part of the slack in proportion to it, or to a tenth of the mean \
             of all where that is more.",
        ),
        ("equal", Division::Equal, "Each hop has its least deadline and an equal part of the slack."),
        ("shared", Division::Equal, "The former name of `equal`."),
        (
            "slowest",
            Division::Slowest,
            "Each hop has its least deadline, and the slowest hop has all of the slack.",
        ),
        ("alike", Division::Alike, "Each hop has the same deadline."),
    ];
}

impl Choice for LocalDeadline {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("requested", LocalDeadline::Requested, "The channel's own deadline."),
        ("bound", LocalDeadline::Bound, "The bound that admission gave the channel."),
    ];
}

impl Choice for Class {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("real_time", Class::RealTime, "Admitted with a bound on its delay."),
        ("best_effort", Class::BestEffort, "Served with what is left."),
    ];
}

impl Choice for MessageOverflow {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("drop", MessageOverflow::Drop, "The message is dropped, and the sender is told."),
        ("block", MessageOverflow::Block, "The sender waits until there is room."),
        (
            "best_effort",
            MessageOverflow::BestEffort,
            "The message is carried as best effort, and so is each message beyond the contract.",
        ),
    ];
}

impl Choice for PacketOverflow {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("block", PacketOverflow::Block, "The handler waits until the link has freed a buffer."),
        ("decay", PacketOverflow::DecayDeadline, "It goes on, each further packet with a later deadline."),
        ("drop", PacketOverflow::Drop, "The packet is dropped, and with it the rest of its message."),
    ];
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
