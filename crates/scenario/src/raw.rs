//! The file as it stands: every key, its place, and its meaning.
//!
//! These types are the one description of the format. Reading, the list of valid keys in an error,
//! and the schema for editors (with these comments in it) are all made from them.

mod adapter;
mod bus;
mod channel;
mod computing;
mod emulation;
mod group;
mod judged;
mod network;
mod node;
mod reception;
mod selection;
mod several;
mod signalling;
mod tune;
mod via;

use laxity_admission::Test;
use laxity_model::host::Applications;
use laxity_qos::channel::{Block, LinkParadigm, Order, Oversize, Processing};
use laxity_qos::costs::HostCosts;
use laxity_qos::discipline::EarlyPolicy;
use laxity_scenario_keys::keys;
use laxity_world::experiment::{ClockKind, Division, LocalDeadline, MissesEffect, RefusalEffect};

use super::choice::{FormulaWord, PreemptionWord, Resources};
use super::leaf::{Bounded, Cost, Delay, Factor, Interval, Length, Name, Or, Size, Whole};
use super::written::{Anything, Either, Entries, List, Part, Written};
pub(crate) use adapter::*;
pub(crate) use bus::*;
pub(crate) use channel::*;
pub(crate) use computing::*;
pub(crate) use emulation::*;
pub(crate) use group::*;
pub(crate) use judged::*;
pub(crate) use network::*;
pub(crate) use node::*;
pub(crate) use reception::*;
pub(crate) use selection::*;
pub(crate) use several::*;
pub(crate) use signalling::*;
pub(crate) use tune::*;
pub(crate) use via::*;

/// Version of the format that this program reads.
pub const FORMAT: u64 = 1;

/// A number of packets that a handler does between two preemption points.
pub(crate) type Packets = Whole<1, 1_000_000>;
/// A number of packets, or a time: what a run leaves out at an end.
pub(crate) type Amount = Or<Whole<0, 1_000_000_000_000>, Bounded<Length>>;

/// Draws of a scenario, at most.
pub(crate) const MOST_DRAWS: u64 = 100;
/// Cores of a host, at most.
pub(crate) const MOST_CORES: u8 = 64;
/// A core of a host, by its number.
pub(crate) type CoreNumber = Whole<0, { MOST_CORES as u64 - 1 }>;

/// A node: its number, or where nodes have names its name.
pub(crate) type NodeName = Or<Whole<0, 64>, Name>;

/// An experiment: a host, an adapter, a path and channels; the axes of a sweep; and the required
/// results.
#[keys]
#[schemars(title = "Laxity scenario")]
pub(crate) struct RawScenario {
    /// Version of the format. Default 1, which is the only one that there is.
    pub(crate) format: Option<Written<Whole<FORMAT, FORMAT>>>,
    /// Subject of the experiment, in one line.
    #[schemars(required)]
    #[key(elsewhere)]
    pub(crate) title: Option<Written<String>>,
    /// Origin and set-up, at any length.
    #[key(elsewhere)]
    pub(crate) about: Option<Written<String>>,
    /// Root of every random stream; the same file and seed give the same results.
    #[key(default = 1)]
    pub(crate) seed: Option<Written<Whole<0, { i64::MAX as u64 }>>>,
    /// Runs every point with this many seeds, from 1 on, as the last axis `seed`. Each claim is judged
    /// in each of these draws by itself, and holds if it holds in nine of ten. Default: one draw, of
    /// `seed`.
    #[key(elsewhere)]
    pub(crate) draws: Option<Written<Whole<2, MOST_DRAWS>>>,
    /// The sending host, and with it every relay and the receiver; or what the hosts of `[node]`s
    /// have in common.
    pub(crate) host: Option<Part<RawHost>>,
    /// The network adapter of every host. Needed unless the host only receives, at interfaces, or
    /// `[node]`s say all of theirs.
    pub(crate) adapter: Option<Part<RawAdapter>>,
    /// The path behind the adapter. Without it a message ends when its last packet is transmitted.
    pub(crate) path: Option<Part<RawPath>>,
    /// The nodes, by name, of a network in which they differ. Without them there is one host, or
    /// the equal hosts of `[path]` or `[network]`, called by their numbers.
    pub(crate) node: Option<Entries<Part<RawNode>>>,
    /// The network between the adapters. Default: a link of its own for each. With `[node]`s,
    /// `[network.NAME]`s say which of them they join, and what stands here is what they have in
    /// common.
    pub(crate) network: Option<RawNetworks>,
    /// How channels are admitted.
    pub(crate) admission: Option<Part<RawAdmission>>,
    /// When a run ends. Needed unless `admission.fill` is given.
    pub(crate) run: Option<Part<RawRun>>,
    /// Interfaces at which this host receives channels. With any, every channel arrives at one of
    /// them, and the host sends no packets.
    pub(crate) interface: Option<List<Part<RawInterface>>>,
    /// Programs that take packets received at interfaces. Default: one for all, with the `program`
    /// of `[host.receive]`.
    pub(crate) program: Option<List<Part<RawProgram>>>,
    /// Commands to adapters during the run, by the control commands of thesis Table 7.1.
    pub(crate) command: Option<List<Part<RawCommand>>>,
    /// Adapters with virtual interfaces: every channel is one. Takes the place of `[host]`,
    /// `[adapter]` and what joins them.
    pub(crate) via: Option<Part<RawVia>>,
    /// Nodes that establish channels during the run. Takes the place of `[host]`, `[adapter]` and
    /// `[path]`; `[node.NAME]`s are joined by `[network.NAME]`s with a `rate`.
    pub(crate) signalling: Option<Part<RawSignalling>>,
    /// Groups of channels that have a rate together, by name.
    pub(crate) group: Option<Entries<Part<RawGroup>>>,
    /// The channels, at least one.
    #[schemars(required)]
    pub(crate) channel: Option<List<Part<RawChannel>>>,
    /// How an emulation is carried out.
    pub(crate) emulation: Option<Part<RawEmulation>>,
    /// Where real software meets the nodes, in an emulation.
    pub(crate) port: Option<List<Part<RawPort>>>,
    /// Faults and their times.
    pub(crate) fault: Option<List<Part<RawFault>>>,
    /// The sweep: one axis each, the first outermost. Every combination is run.
    #[key(elsewhere)]
    pub(crate) sweep: Option<List<Part<RawSweep>>>,
    /// Claims that the results must show.
    #[key(elsewhere)]
    pub(crate) claim: Option<List<Part<RawClaim>>>,
    /// The figures to draw; by default those that suit the results.
    #[key(elsewhere)]
    pub(crate) figure: Option<List<Part<RawFigure>>>,
    /// The goal that `laxity tune` searches the sweep for.
    #[key(elsewhere)]
    pub(crate) tune: Option<Part<RawTune>>,
}

/// A host.
#[keys]
pub(crate) struct RawHost {
    /// The cost profile: a path ending in `.toml` relative to this file, or a name. A name is
    /// looked for beside this file, then in a folder `profiles` there and in every folder above,
    /// then among the built-in profiles.
    #[key(required)]
    pub(crate) profile: Option<Written<String>>,
    /// Where sending applications run.
    #[key(default = "separate")]
    pub(crate) applications: Option<Written<Applications>>,
    /// Cores, each scheduled by itself: each channel, application and interrupt of the host has one
    /// of them, by a `core` of its own or by default. All cores share the link scheduler, which one
    /// core uses at a time while others spin.
    #[key(default = 1)]
    pub(crate) cores: Option<Written<Whole<1, { MOST_CORES as u64 }>>>,
    /// Single numbers of the profile, replaced.
    pub(crate) costs: Option<Part<RawCosts>>,
    /// `C_sf`: speed factor of the processors, the host's and with it the adapter's; times of other
    /// hardware stay as they are (thesis §4.4.2). At least 0.01.
    #[key(default = 1)]
    pub(crate) speedup: Option<Written<Factor>>,
    /// The communication subsystem's policies.
    pub(crate) subsystem: Option<Part<RawSubsystem>>,
    /// The adapter's device driver.
    pub(crate) driver: Option<Part<RawDriver>>,
    /// Applications that compute on its CPU beside its communication, by name.
    pub(crate) compute: Option<Entries<Part<RawComputing>>>,
    /// Buses that its adapters share with each other and its CPU, by name.
    pub(crate) bus: Option<Entries<Part<RawBus>>>,
    /// Costs of packets received at interfaces, beside the host's costs.
    pub(crate) receive: Option<Part<RawReceive>>,
}

/// When the device driver gives up waiting for its adapter.
#[keys]
pub(crate) struct RawDriver {
    /// Responses that no interrupt announced are found at multiples of this. Default: never.
    pub(crate) watchdog: Option<Written<Bounded<Interval>>>,
    /// An adapter that has had a packet for so long is reset, and all in it lost. Default: never.
    pub(crate) reset_after: Option<Written<Bounded<Interval>>>,
}

/// Numbers of a cost profile, replaced.
#[keys(fills = HostCosts, all)]
pub(crate) struct RawCosts {
    /// `C_sw`: time to switch contexts between threads.
    pub(crate) context_switch: Option<Written<Bounded<Cost>>>,
    /// `C_cm`: penalty of the cache misses that follow a context switch.
    pub(crate) cache_miss: Option<Written<Bounded<Cost>>>,
    /// `C_p` of a message's first packet, with the fixed cost of the message.
    pub(crate) first_packet: Option<Written<Bounded<Cost>>>,
    /// Protocol processing of a message of one packet. Default: the profile's, but at most
    /// `first_packet`; or `first_packet` where the profile has none of its own.
    #[key(by_hand)]
    pub(crate) single_packet: Option<Written<Bounded<Cost>>>,
    /// `C_p` of every further packet.
    pub(crate) packet: Option<Written<Bounded<Cost>>>,
    /// Further processing of each packet of a real-time channel, sent or received.
    #[key(default = "0 us")]
    pub(crate) real_time_packet: Option<Written<Bounded<Cost>>>,
    /// `C_l`: selecting a packet for transmission and starting it.
    pub(crate) link_scheduling: Option<Written<Bounded<Cost>>>,
    /// Issuing a transmit command where the adapter schedules the link, in place of `C_l`.
    pub(crate) hand_over: Option<Written<Bounded<Cost>>>,
    /// Entering and leaving an interrupt.
    pub(crate) interrupt: Option<Written<Bounded<Cost>>>,
    /// Looking for responses of an adapter that does not interrupt, or with the watchdog. Default:
    /// what an interrupt costs.
    #[key(by_hand)]
    pub(crate) poll: Option<Written<Bounded<Cost>>>,
    /// Taking a response out of the adapter's queue, beside the interrupt or look that found it.
    /// Default `0 us`.
    pub(crate) response: Option<Written<Bounded<Cost>>>,
    /// A timer's interrupt, by which work is noticed that waited for its time.
    #[key(default = "0 us")]
    pub(crate) timer: Option<Written<Bounded<Cost>>>,
    /// With several cores: an inter-processor interrupt, which an idle core pays when another core
    /// calls it.
    #[key(default = "0 us")]
    pub(crate) ipi: Option<Written<Bounded<Cost>>>,
    /// Creating a thread.
    pub(crate) thread_creation: Option<Written<Bounded<Cost>>>,
    /// Protocol processing of a received packet.
    pub(crate) receive_packet: Option<Written<Bounded<Cost>>>,
    /// Completing a reassembled message and handing it to the application.
    pub(crate) receive_message: Option<Written<Bounded<Cost>>>,
    /// Cost of an application's send per message, if applications share the CPU.
    pub(crate) send_call: Option<Written<Bounded<Cost>>>,
    /// Copying, summing up or encrypting a byte that is sent.
    #[key(default = "0 us", said = "`0 us`, as of handlers that have a reference to it")]
    pub(crate) send_byte: Option<Written<Bounded<Cost>>>,
    /// The same for a byte that is received or passed on.
    #[key(default = "0 us")]
    pub(crate) receive_byte: Option<Written<Bounded<Cost>>>,
    /// Moving a byte to the adapter by the CPU: programmed I/O.
    #[key(
        default = "0 us",
        said = "`0 us`, as of an adapter that fetches it by the reference that it is handed"
    )]
    pub(crate) transfer_byte: Option<Written<Bounded<Cost>>>,
}

/// The policies of a QoS-sensitive communication subsystem (structuring Table 2).
#[keys]
pub(crate) struct RawSubsystem {
    /// Which thread processes a message.
    #[key(default = "per_channel")]
    pub(crate) processing: Option<Written<Processing>>,
    /// In which order handlers get the CPU.
    #[key(default = "multiclass_edf")]
    pub(crate) cpu: Option<Written<Order>>,
    /// Treatment of early messages by handlers. Default `hold`; where a channel `carries` frames,
    /// handlers may run up to 250 ms early and before best effort: see the link's `horizon`.
    pub(crate) early: Option<Written<EarlyPolicy>>,
    /// Preemption point of a handler: after a number of packets (`P`), or in words; or a table with
    /// one for each class of work. Default 4.
    pub(crate) preemption: Option<Either<Or<Packets, PreemptionWord>, RawPreemption>>,
    /// Cost of switching threads.
    #[key(default = "real")]
    pub(crate) resources: Option<Written<Resources>>,
    /// Traffic enforcement. Off, every message counts as current when it is sent and no queue has
    /// an end.
    #[key(default = true)]
    pub(crate) enforcement: Option<Written<bool>>,
    /// How much a message larger than `max_message` delays the next one. Default: `packets` where
    /// admission is off, `intervals` where it proves bounds.
    pub(crate) oversize: Option<Written<Oversize>>,
    /// `S`: the largest packet.
    #[key(default = "4 KiB")]
    pub(crate) packet: Option<Written<Bounded<Size>>>,
    /// The way from a packet to the adapter.
    pub(crate) link: Option<Part<RawLink>>,
}

/// Preemption of each class of work: after a number of packets, `message` or `never`.
#[keys]
pub(crate) struct RawPreemption {
    /// Of on-time real-time messages.
    #[key(default = 4)]
    pub(crate) real_time: Option<Written<Or<Packets, Block>>>,
    /// Of early real-time messages.
    #[key(default = 4)]
    pub(crate) early: Option<Written<Or<Packets, Block>>>,
    /// Of best-effort messages.
    #[key(default = 4)]
    pub(crate) best_effort: Option<Written<Or<Packets, Block>>>,
}

/// Link scheduling.
#[keys]
pub(crate) struct RawLink {
    /// Runner of the link scheduler (resource §3.1.2).
    #[key(default = "O1")]
    pub(crate) paradigm: Option<Written<LinkParadigm>>,
    /// Of several cores the one of the link scheduler's own thread (O2), and where packets are
    /// noticed that were held for their time.
    #[key(default = 0)]
    pub(crate) core: Option<Written<CoreNumber>>,
    /// In which order packets leave. Default `multiclass_edf`; with the paradigm `adapter`, `fifo`.
    pub(crate) order: Option<Written<Order>>,
    /// The shortest frame of time. For `stop_and_go` and `hrr`, which need it; others have none.
    pub(crate) frame: Option<Written<Bounded<Interval>>>,
    /// How long before its logical arrival time a packet may leave if no on-time packet waits.
    /// Default `0 us`; where a channel `carries` frames, `250 ms`. A program that sends at its
    /// contract's rate never makes up for a stall of the platform. So after a stall all its frames
    /// are early, and would be held for the rest of the run.
    pub(crate) horizon: Option<Written<Bounded<Delay>>>,
    /// Packets handed to the adapter and not yet completed, at most: the pipeline depth. Default 1; with the
    /// paradigm `adapter`, no limit.
    pub(crate) depth: Option<Written<Whole<1, 65536>>>,
    /// The launch time of real-time packets, counted from the logical arrival of their message (`etf`
    /// and `SO_TXTIME` of Linux): the adapter begins a packet no sooner, and then before best effort.
    /// A packet that is handed over after its launch time is lost (`drops.launch`). So the CPU has to be
    /// done by then, and admission refuses a channel where it may not be. For null adapters and the
    /// paradigm `adapter`. Default: none.
    pub(crate) launch: Option<Written<Bounded<Interval>>>,
    /// Classes with a credit-based shaper (`cbs` of Linux, IEEE 802.1Qav), with the keys of
    /// `[[node.NAME.shapers]]`. The adapter has a queue for each `level` of channels. It sends the most
    /// urgent class that has no shaper or no negative credit, and best effort last. For null adapters and
    /// the paradigm `adapter`. Default none: packets leave the adapter in the order in which they were
    /// made.
    pub(crate) shapers: Option<List<Part<RawShaper>>>,
    /// Whether early packets within the horizon go before best effort. Default `false`; `true`
    /// where a channel `carries` frames and `horizon` is left out.
    pub(crate) early_above_best_effort: Option<Written<bool>>,
}

/// A chain of equal hosts.
#[keys]
pub(crate) struct RawPath {
    /// Intermediate hosts that receive packets and send them on.
    #[key(default = 0)]
    pub(crate) relays: Option<Written<Whole<0, 64>>>,
    /// Whether a host at the end receives the messages. Default `false`, unless there are relays.
    pub(crate) receive: Option<Written<bool>>,
    /// Propagation delay of each link.
    #[key(default = "0 us")]
    pub(crate) propagation: Option<Written<Bounded<Delay>>>,
}

/// How channels are admitted.
#[keys]
pub(crate) struct RawAdmission {
    /// The formulas of admission.
    #[key(default = "corrected")]
    pub(crate) formula: Option<Written<FormulaWord>>,
    /// How it is decided whether channels can be served together. Default `demand`; `d_order` with
    /// the papers' formulas, and with `local_deadline = "bound"`.
    pub(crate) test: Option<Written<Test>>,
    /// By what deadline EDF orders, and so what holds: the bound or the request. Default `bound`;
    /// with the test `demand` always the request, and the bound holds too.
    pub(crate) local_deadline: Option<Written<LocalDeadline>>,
    /// How the slack of an end-to-end deadline is shared out among the hops of a path: what remains
    /// of the deadline after the least that each hop can promise and the propagation between them.
    #[key(default = "proportional")]
    pub(crate) deadlines: Option<Written<Division>>,
    /// Effect of a refused channel on the run, for channels without a `refusal` of their own.
    #[key(default = "fails")]
    pub(crate) refusal: Option<Written<RefusalEffect>>,
    /// A real-time channel, of which copies are admitted until one is refused. They are counted in
    /// the figure `admitted`; no simulation runs, and `run` has no effect.
    pub(crate) fill: Option<Written<Name>>,
}

/// When a run ends.
#[keys]
pub(crate) struct RawRun {
    /// The clock.
    #[key(default = "virtual")]
    pub(crate) clock: Option<Written<ClockKind>>,
    /// The effect of missed deadlines on the exit code, for channels that do not say it themselves,
    /// and for budgets of applications that compute.
    #[key(default = "fail", drawn(0.1))]
    pub(crate) misses: Option<Written<MissesEffect>>,
    /// End of the run: a number of transmitted packets. Either this or `time`. A run that lacks some
    /// after 720 h of simulated time is given up.
    pub(crate) packets: Option<Written<Whole<1, 1_000_000_000_000>>>,
    /// End of the run: a virtual time. Either this or `packets`.
    pub(crate) time: Option<Written<Bounded<Length>>>,
    /// Packets (or, with `time`, a time) that metrics leave out at the start. Default 0.
    pub(crate) warmup: Option<Written<Amount>>,
    /// The same at the end. Default 0.
    pub(crate) cooldown: Option<Written<Amount>>,
}

/// An axis of the sweep: a key (or several) that takes values, or points that each set what they like.
#[keys]
pub(crate) struct RawSweep {
    /// Short name, used in tables, figures and claims.
    #[key(required)]
    pub(crate) name: Option<Written<Name>>,
    /// Label of a figure's axis, with the unit of the numbers. Default: the name and that unit.
    pub(crate) label: Option<Written<String>>,
    /// The key that takes the values, such as `channel.video.source.rate`: channels by their names,
    /// `channel.*` for all; in an adapter's lists stages and resources by their names
    /// (`adapter.transmit.link.ahead`), queues and phases by their places, from 0 on
    /// (`adapter.response_queue.0.delay`). So it is in lists that only the adapter's `file` has.
    pub(crate) key: Option<Written<String>>,
    /// Several keys that take the same values together.
    pub(crate) keys: Option<List<Written<String>>>,
    /// The values, each once.
    pub(crate) values: Option<List<Anything>>,
    /// The value, or the name of the point, that is the setting of the machine: it decides each claim
    /// that ranges over this axis, and the others say for which range the claim holds. Default: none,
    /// and such a claim holds or holds within a range.
    pub(crate) setting: Option<Written<String>>,
    /// Points with names, instead of keys and values.
    pub(crate) points: Option<List<Part<RawPoint>>>,
}

/// A point of an axis.
#[keys]
pub(crate) struct RawPoint {
    /// Its name, used in tables, figures and claims.
    #[key(required)]
    pub(crate) name: Option<Written<String>>,
    /// Keys, in quotes and dotted, and their values here.
    #[key(required)]
    pub(crate) set: Option<Entries<Anything>>,
}
