//! Adapters: processing of a packet after the host has handed it over.
//!
//! All adapters keep one contract, which mirrors hardware. Inputs are commands from the host,
//! frames from the medium, permission to use the medium, and timers; outputs are responses for the
//! host, requests for the medium, and frames. An adapter reads no clock and knows neither host nor
//! network: each call passes an observer that receives the outputs.
//!
//! ```text
//!  transmit(packet)  ──▶ ┌─────────┐ ──▶ Request, Withdraw ─▶ medium
//!  proceed(packet)   ──▶ │ adapter │ ◀── medium(Granted | Aborted | Lost)
//!  Response          ◀── └─────────┘ ──▶ Frame ─▶ receive(…) of another
//! ```
//!
//! Every transmitted packet leaves by one response, `Transmitted` or `Failed`; every received frame
//! by `Received` or `Discarded`. That holds under every fault, and is the tests' first check.

pub mod cim250;
mod description;
mod null;
mod pipeline;

pub use description::{
    AdapterBuffers, AdapterContract, Answers, BufferPool, CommandQueue, Description, Excess, Flaw, HostSide,
    LatePolicy, Moderation, Notification, Overload, Own, PROCESSOR, Phase, Policing, Queue, QueueSelection,
    Release, Resource, ResponseQueue, Stage, Takes, Tells,
};
pub use laxity_qos::costs::Delay;
pub use null::Null;
pub(crate) use pipeline::Ranked;
pub use pipeline::{PacketDirection, Pipeline, StageReport};

use laxity_qos::channel::{ChannelId, Dropped, LinkId, Packet, Slot, Slots};
use laxity_qos::discipline::Groups;
use laxity_units::{Span, Time};

use crate::around::Around;
use crate::bus::Buses;
use crate::network::MediumOutput;

/// An entry of a command queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Directive {
    /// Transmit a packet.
    Transmit(Packet),
    /// The reply to [`AdapterResponse::Handshake`].
    Proceed(Packet),
}

/// An entry of a response queue; `P` names a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdapterResponse<P = Packet> {
    /// A phase of this packet is done.
    Progress(P),
    /// As `Progress`, and the adapter waits for [`Directive::Proceed`].
    Handshake(P),
    /// The packet is transmitted; its buffer at the host is free.
    Transmitted(P),
    /// The packet is lost; its buffer at the host is free.
    Failed(P, Loss),
    /// A packet from the network is in the host's memory.
    Received(P),
}

impl<P> AdapterResponse<P> {
    /// The packet concerned.
    pub fn packet(&self) -> &P {
        let (AdapterResponse::Progress(packet)
        | AdapterResponse::Handshake(packet)
        | AdapterResponse::Transmitted(packet)
        | AdapterResponse::Failed(packet, _)
        | AdapterResponse::Received(packet)) = self;
        packet
    }

    /// Maps the packet by `name`.
    #[inline]
    fn map<Q>(self, name: impl FnOnce(P) -> Q) -> AdapterResponse<Q> {
        match self {
            AdapterResponse::Progress(packet) => AdapterResponse::Progress(name(packet)),
            AdapterResponse::Handshake(packet) => AdapterResponse::Handshake(name(packet)),
            AdapterResponse::Transmitted(packet) => AdapterResponse::Transmitted(name(packet)),
            AdapterResponse::Failed(packet, loss) => AdapterResponse::Failed(name(packet), loss),
            AdapterResponse::Received(packet) => AdapterResponse::Received(name(packet)),
        }
    }
}

impl AdapterResponse<Slot> {
    /// Replaces the slot by the packet, for a host without access to `packets`; frees the slot if
    /// this is the packet's last response.
    #[inline]
    pub fn with_packet(self, packets: &mut Slots) -> AdapterResponse<&Packet> {
        let is_last = !matches!(self, AdapterResponse::Progress(_) | AdapterResponse::Handshake(_));
        self.map(|slot| if is_last { packets.free(slot) } else { packets.at(slot) })
    }
}

impl AdapterResponse<&Packet> {
    /// Copies the packet.
    #[inline]
    pub fn copied(self) -> AdapterResponse {
        self.map(|packet| *packet)
    }
}

/// Why an adapter lost a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// No buffer, or a full queue of a stage.
    Overload,
    /// It exceeded the contract of its channel.
    Contract,
    /// Its deadline had passed.
    Late,
    /// The medium gave up on it: too many collisions.
    Medium,
    /// The host reset the adapter.
    Reset,
    /// Its frame had left, but the adapter lost it before its response: to the host it is lost.
    Unconfirmed,
    /// Its launch time had passed when it was handed over.
    Launch,
}

impl Loss {
    /// The cause by which the host counts a lost message.
    pub fn cause(self) -> Dropped {
        match self {
            Loss::Launch => Dropped::Launch,
            Loss::Overload | Loss::Contract | Loss::Late | Loss::Medium | Loss::Reset | Loss::Unconfirmed => {
                Dropped::Adapter
            }
        }
    }
}

/// The medium's reply to an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediumAccess {
    /// The frame that waits may be sent.
    Granted,
    /// It collided: it waits again.
    Aborted,
    /// It collided too often, and is lost.
    Lost,
}

impl From<MediumOutput> for MediumAccess {
    fn from(output: MediumOutput) -> Self {
        match output {
            MediumOutput::Grant(_) => MediumAccess::Granted,
            MediumOutput::Abort(_) => MediumAccess::Aborted,
            MediumOutput::GiveUp(_) => MediumAccess::Lost,
        }
    }
}

/// A fault of an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdapterBreakdown {
    /// A resource, by index, serves no phase: a stalled DMA engine, a hung bus.
    Stall(usize),
    /// Its command queues accept no command.
    FullQueues,
    /// All of it stands still until the host resets it.
    Stop,
}

/// An output of an adapter; `P` names a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdapterOutput<P = Packet> {
    /// An entry of the response queue. The adapter still owns the packet only after `Progress` and
    /// `Handshake`.
    Response(AdapterResponse<P>),
    /// A frame is ready for the medium.
    Request,
    /// The request is void.
    Withdraw,
    /// A packet begins to leave; the time is when its last bit will. Only on request.
    Begun(P, Time),
    /// The last bit of a frame is on the medium.
    Frame {
        /// The frame.
        packet: P,
        /// Whether the stage has further packets.
        more: bool,
    },
    /// A received frame is lost.
    Discarded(P, Loss),
    /// A packet has passed a stage; only while recording is on.
    Passed(Passage),
}

/// A packet's time in a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// The packet's direction.
    pub direction: PacketDirection,
    /// Index of the stage in that direction.
    pub stage: usize,
    /// Its channel, message and number in the message.
    pub packet: (ChannelId, u64, u32),
    /// When it joined the stage's queue.
    pub joined: Time,
    /// When a server took it.
    pub began: Time,
    /// When the last phase ended; blocking by a full next stage follows.
    pub ended: Time,
}

/// An adapter of one of the families.
#[derive(Debug)]
pub enum Adapter {
    /// See [`Null`].
    Null(Null),
    /// See [`Pipeline`].
    Pipeline(Box<Pipeline>),
}

/// Calls the adapter's own method.
macro_rules! each {
    ($self:expr, $adapter:ident => $body:expr) => {
        match $self {
            Adapter::Null($adapter) => $body,
            Adapter::Pipeline($adapter) => $body,
        }
    };
}

impl Adapter {
    /// Establishes a channel with its contract, before the run. A null device does not police it.
    pub fn establish(&mut self, channel: ChannelId, contract: &AdapterContract) {
        if let Adapter::Pipeline(adapter) = self {
            adapter.establish(channel, contract);
        }
    }

    /// Attaches it to the buses of its node, before the run: its phases contend there with those of
    /// other adapters.
    pub(crate) fn sit(&mut self, link: LinkId, buses: &mut Buses) {
        if let Adapter::Pipeline(adapter) = self {
            adapter.sit(link, buses);
        }
    }

    /// Applies a changed allocation of its bus.
    pub(crate) fn look_at_bus(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        if let Adapter::Pipeline(adapter) = self {
            adapter.look_at_bus(now, around);
        }
    }

    /// Sets the groups of channels that have a common rate, before the run.
    pub fn group(&mut self, groups: &Groups) {
        match self {
            Adapter::Null(_) => {}
            Adapter::Pipeline(adapter) => adapter.group(groups),
        }
    }

    /// The host writes a command to transmit `packet`; returns whether there was room for it. Here
    /// and below, `around` holds the packets and receives the outputs.
    #[inline]
    pub fn transmit(
        &mut self,
        now: Time,
        packet: Slot,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) -> bool {
        match self {
            Adapter::Null(adapter) => adapter.transmit(now, packet, around),
            Adapter::Pipeline(adapter) => adapter.transmit(now, packet, around),
        }
    }

    /// The host replies to an [`AdapterResponse::Handshake`]; ignored if the packet is gone.
    pub fn proceed(&mut self, now: Time, packet: &Packet, around: &mut impl Around<AdapterOutput<Slot>>) {
        if let Adapter::Pipeline(adapter) = self {
            adapter.proceed(now, packet, around);
        }
    }

    /// A frame arrives from the medium.
    pub fn receive(&mut self, now: Time, packet: Slot, around: &mut impl Around<AdapterOutput<Slot>>) {
        match self {
            Adapter::Null(_) => around.tell(AdapterOutput::Response(AdapterResponse::Received(packet))),
            Adapter::Pipeline(adapter) => adapter.receive(now, packet, around),
        }
    }

    /// The medium replies to a request.
    #[inline]
    pub fn medium(&mut self, now: Time, access: MediumAccess, around: &mut impl Around<AdapterOutput<Slot>>) {
        match self {
            Adapter::Null(_) => unreachable!("a null device asks no medium"),
            Adapter::Pipeline(adapter) => adapter.medium(now, access, around),
        }
    }

    /// The host has removed a response from the queue of this number.
    pub fn has_read(&mut self, now: Time, queue: usize, around: &mut impl Around<AdapterOutput<Slot>>) {
        if let Adapter::Pipeline(adapter) = self {
            adapter.has_read(now, queue, around);
        }
    }

    /// The host's CPU copies for `span` from now on, and occupies the resources that it shares.
    pub fn copies(&mut self, now: Time, span: Span, around: &mut impl Around<AdapterOutput<Slot>>) {
        if let Adapter::Pipeline(adapter) = self {
            adapter.copies(now, span, around);
        }
    }

    /// The host resets it: all packets in it are lost, and all faults end.
    pub fn reset(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        each!(self, adapter => adapter.reset(now, around));
    }

    /// A fault begins, or ends. A null device has no faults.
    pub fn break_down(
        &mut self,
        now: Time,
        breakdown: AdapterBreakdown,
        broken: bool,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) {
        if let Adapter::Pipeline(adapter) = self {
            adapter.break_down(now, breakdown, broken, around);
        }
    }

    /// Advances to the time that [`next_deadline`](Self::next_deadline) named.
    #[inline]
    pub fn timer(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        each!(self, adapter => adapter.timer(now, around));
    }

    /// Time at which [`timer`](Self::timer) is next due.
    #[inline]
    pub fn next_deadline(&self) -> Option<Time> {
        self.due().named()
    }

    /// As `next_deadline`; `Time::MAX` for never.
    #[inline]
    pub(crate) fn due(&self) -> Time {
        each!(self, adapter => adapter.due())
    }

    /// Its host interface; `None` for a null device, which interrupts for each response.
    pub fn interface(&self) -> Option<&HostSide> {
        match self {
            Adapter::Null(_) => None,
            Adapter::Pipeline(adapter) => Some(&adapter.description().interface),
        }
    }

    /// How the host is notified of responses.
    pub fn notification(&self) -> Notification {
        match self {
            Adapter::Null(_) => Notification::Interrupt,
            Adapter::Pipeline(adapter) => adapter.description().interface.notification,
        }
    }

    /// Whether frames request the medium first.
    pub fn asks_for_medium(&self) -> bool {
        match self {
            Adapter::Null(_) => false,
            Adapter::Pipeline(adapter) => adapter.asks_for_medium(),
        }
    }

    /// Packets in it, both directions.
    pub fn held(&self) -> usize {
        each!(self, adapter => adapter.held())
    }

    /// Buffers of its own memory in use, both directions.
    pub fn buffers_in_use(&self) -> u64 {
        match self {
            Adapter::Null(_) => 0,
            Adapter::Pipeline(adapter) => adapter.buffers_in_use(),
        }
    }

    /// Maximum number of received frames in it at a time.
    pub fn most_received(&self) -> u64 {
        match self {
            Adapter::Null(_) => 0,
            Adapter::Pipeline(adapter) => adapter.most_received(),
        }
    }

    /// Also outputs [`AdapterOutput::Passed`].
    pub fn record(&mut self) {
        if let Adapter::Pipeline(adapter) = self {
            adapter.record();
        }
    }

    /// Names of its [levels](Self::levels): of command and response rings, queues of stages,
    /// resources and buffers.
    pub fn level_names(&self) -> Vec<String> {
        match self {
            Adapter::Null(_) => Vec::new(),
            Adapter::Pipeline(adapter) => adapter.level_names(),
        }
    }

    /// Appends its present levels to `levels`, in the order of their [names](Self::level_names).
    ///
    /// Packets on the express path are not in them (see [`step_through`](Self::step_through)).
    pub fn levels(&self, levels: &mut Vec<u64>) {
        if let Adapter::Pipeline(adapter) = self {
            adapter.levels(levels);
        }
    }

    /// Simulates each phase of a packet as an event, without the express path: the same outputs at
    /// the same times, but for [passages](AdapterOutput::Passed), which are then reported when they
    /// end.
    pub fn step_through(&mut self) {
        if let Adapter::Pipeline(adapter) = self {
            adapter.step_through();
        }
    }

    /// Frames on the medium take at least `span`. A null device uses no medium.
    pub fn pad_frames_to(&mut self, span: Span) {
        if let Adapter::Pipeline(adapter) = self {
            adapter.pad_frames_to(span);
        }
    }

    /// The medium is a link of its own.
    pub fn own_the_link(&mut self) {
        if let Adapter::Pipeline(adapter) = self {
            adapter.own_the_link();
        }
    }

    /// Statistics of each stage until `now`, including work in progress, transmit stages first.
    pub fn stages(&self, now: Time) -> Vec<StageReport> {
        each!(self, adapter => adapter.stages(now).collect())
    }
}
