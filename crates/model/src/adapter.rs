//! Adapters: what happens to a packet after the host has handed it over.
//!
//! All adapters keep one contract, which mirrors hardware. In come commands from the host, frames from the medium, leave to
//! use the medium, and timers; out go responses for the host, requests for the medium, and frames. An
//! adapter never looks at the clock and knows neither host nor network: each call names somebody whom it tells what it does,
//! while it does it.
//!
//! ```text
//!  transmit(packet)  ──▶ ┌─────────┐ ──▶ Request, Withdraw ─▶ medium
//!  proceed(packet)   ──▶ │ adapter │ ◀── medium(Granted | Aborted | Lost)
//!  Response          ◀── └─────────┘ ──▶ Frame ─▶ receive(…) of another
//! ```
//!
//! Every packet that comes in by a `transmit` leaves by one response, `Transmitted` or `Failed`; every received frame
//! by `Received` or `Discarded`. That holds under every fault, and is what the tests check first.

pub mod cim250;
mod description;
mod null;
mod pipeline;

pub use description::{
    Answers, Buffers, CommandQueue, Contract, Description, Excess, Flaw, Interface, Late, Moderation,
    Notification, Overload, Own, PROCESSOR, Phase, Policing, Pool, Queue, Release, Resource, ResponseQueue,
    Selection, Stage, Takes, Tells,
};
pub use laxity_qos::costs::Delay;
pub use null::Null;
pub(crate) use pipeline::Ranked;
pub use pipeline::{Direction, Pipeline, StageReport};

use laxity_qos::channel::{ChannelId, LinkId, Packet, Slot, Slots};
use laxity_qos::discipline::Groups;
use laxity_units::{Span, Time};

use crate::around::Around;
use crate::bus::Buses;
use crate::network::MediumOutput;

/// What a host writes into a command queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Transmit a packet.
    Transmit(Packet),
    /// The answer to [`Response::Handshake`].
    Proceed(Packet),
}

/// What an adapter writes into its response queue; `P` is by what a packet is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Response<P = Packet> {
    /// A phase of this packet is done.
    Progress(P),
    /// The same, and the adapter waits for [`Command::Proceed`].
    Handshake(P),
    /// The packet is transmitted; its buffer at the host is free.
    Transmitted(P),
    /// The packet is lost; its buffer at the host is free.
    Failed(P, Loss),
    /// A packet has come from the network and lies in the host's memory.
    Received(P),
}

impl<P> Response<P> {
    /// The packet that it is about.
    pub fn packet(&self) -> &P {
        let (Response::Progress(packet)
        | Response::Handshake(packet)
        | Response::Transmitted(packet)
        | Response::Failed(packet, _)
        | Response::Received(packet)) = self;
        packet
    }

    /// The same of what `name` makes of it.
    #[inline]
    fn map<Q>(self, name: impl FnOnce(P) -> Q) -> Response<Q> {
        match self {
            Response::Progress(packet) => Response::Progress(name(packet)),
            Response::Handshake(packet) => Response::Handshake(name(packet)),
            Response::Transmitted(packet) => Response::Transmitted(name(packet)),
            Response::Failed(packet, loss) => Response::Failed(name(packet), loss),
            Response::Received(packet) => Response::Received(name(packet)),
        }
    }
}

impl Response<Slot> {
    /// The response with a look at the packet itself, for a host that cannot look into `packets`; whose packet it was the last to name is
    /// taken out.
    #[inline]
    pub fn with_packet(self, packets: &mut Slots) -> Response<&Packet> {
        let is_last = !matches!(self, Response::Progress(_) | Response::Handshake(_));
        self.map(|slot| if is_last { packets.free(slot) } else { packets.at(slot) })
    }
}

impl Response<&Packet> {
    /// The response with the packet, for who keeps it.
    #[inline]
    pub fn copied(self) -> Response {
        self.map(|packet| *packet)
    }
}

/// Why an adapter lost a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// No buffer, or no place in a stage's queue.
    Overload,
    /// It exceeded the contract of its channel.
    Contract,
    /// Its deadline had passed.
    Late,
    /// The medium gave up on it: too many collisions.
    Medium,
    /// The host reset the adapter.
    Reset,
    /// Its frame had left, but the adapter lost account of it before it could say so: to the host it is lost.
    Unconfirmed,
}

/// What the medium tells an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The frame that waits may go.
    Granted,
    /// It collided: it waits again.
    Aborted,
    /// It collided too often, and is lost.
    Lost,
}

impl From<MediumOutput> for Access {
    fn from(output: MediumOutput) -> Self {
        match output {
            MediumOutput::Grant(_) => Access::Granted,
            MediumOutput::Abort(_) => Access::Aborted,
            MediumOutput::GiveUp(_) => Access::Lost,
        }
    }
}

/// What goes wrong with an adapter, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breakdown {
    /// A resource, by index, does nothing: a stalled DMA engine, a hung bus.
    Stall(usize),
    /// Its command queues take nothing.
    FullQueues,
    /// All of it stands still, and does until the host resets it.
    Stop,
}

/// What an adapter puts out; `P` is by what a packet is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdapterOutput<P = Packet> {
    /// Something for the host, in the response queue. Nothing but a `Progress` or `Handshake` is said of the packet after which
    /// it is still the adapter's.
    Response(Response<P>),
    /// A frame is ready to go on the medium.
    Request,
    /// The request is void.
    Withdraw,
    /// A packet begins to leave, and when the last bit of it will have; only where that is asked for.
    Begun(P, Time),
    /// The last bit of a frame is on the medium; whether more wait behind it.
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
    /// Which way the packet goes.
    pub direction: Direction,
    /// The stage, by its place on that way.
    pub stage: usize,
    /// When it joined the stage's queue.
    pub joined: Time,
    /// When a server took it.
    pub began: Time,
    /// When the last phase ended; waiting for a place in the next stage comes after.
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
    /// A channel is established through it, before the run: what it promises. A null device keeps nobody to that.
    pub fn establish(&mut self, channel: ChannelId, contract: &Contract) {
        if let Adapter::Pipeline(adapter) = self {
            adapter.establish(channel, contract);
        }
    }

    /// It is in a node that has these buses, before the run, and its phases that hold one contend with those of others from then on.
    pub(crate) fn sit(&mut self, link: LinkId, buses: &mut Buses) {
        if let Adapter::Pipeline(adapter) = self {
            adapter.sit(link, buses);
        }
    }

    /// Others at its bus have let go of it, or have taken it.
    pub(crate) fn look_at_bus(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        if let Adapter::Pipeline(adapter) = self {
            adapter.look_at_bus(now, around);
        }
    }

    /// Says which groups of channels have a rate together, before the run.
    pub fn group(&mut self, groups: &Groups) {
        match self {
            Adapter::Null(_) => {}
            Adapter::Pipeline(adapter) => adapter.group(groups),
        }
    }

    /// The host writes a command to transmit `packet`; answers whether there was room for it. Here and below `around` is where
    /// packets lie, and hears what the adapter does.
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

    /// The host answers a [`Response::Handshake`]; nothing if the packet is no longer there.
    pub fn proceed(&mut self, now: Time, packet: &Packet, around: &mut impl Around<AdapterOutput<Slot>>) {
        if let Adapter::Pipeline(adapter) = self {
            adapter.proceed(now, packet, around);
        }
    }

    /// A frame arrives from the medium.
    pub fn receive(&mut self, now: Time, packet: Slot, around: &mut impl Around<AdapterOutput<Slot>>) {
        match self {
            Adapter::Null(_) => around.tell(AdapterOutput::Response(Response::Received(packet))),
            Adapter::Pipeline(adapter) => adapter.receive(now, packet, around),
        }
    }

    /// The medium answers a request.
    #[inline]
    pub fn medium(&mut self, now: Time, access: Access, around: &mut impl Around<AdapterOutput<Slot>>) {
        match self {
            Adapter::Null(_) => unreachable!("a null device asks no medium"),
            Adapter::Pipeline(adapter) => adapter.medium(now, access, around),
        }
    }

    /// The host has taken a response out of the queue of this number.
    pub fn has_read(&mut self, now: Time, queue: usize, around: &mut impl Around<AdapterOutput<Slot>>) {
        if let Adapter::Pipeline(adapter) = self {
            adapter.has_read(now, queue, around);
        }
    }

    /// The host's CPU copies from now on, and has for so long what they share.
    pub fn copies(&mut self, now: Time, span: Span, around: &mut impl Around<AdapterOutput<Slot>>) {
        if let Adapter::Pipeline(adapter) = self {
            adapter.copies(now, span, around);
        }
    }

    /// The host resets it: everything in it is lost, and every breakdown over.
    pub fn reset(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        each!(self, adapter => adapter.reset(now, around));
    }

    /// Something breaks, or works again. A null device has nothing that could.
    pub fn break_down(
        &mut self,
        now: Time,
        breakdown: Breakdown,
        broken: bool,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) {
        if let Adapter::Pipeline(adapter) = self {
            adapter.break_down(now, breakdown, broken, around);
        }
    }

    /// The time that [`next_deadline`](Self::next_deadline) named has come.
    #[inline]
    pub fn timer(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        each!(self, adapter => adapter.timer(now, around));
    }

    /// When the adapter next wants [`timer`](Self::timer) to be called.
    #[inline]
    pub fn next_deadline(&self) -> Option<Time> {
        self.due().named()
    }

    /// The same; `Time::MAX` for never.
    #[inline]
    pub(crate) fn due(&self) -> Time {
        each!(self, adapter => adapter.due())
    }

    /// The host's side of it; `None` for that of a null device, which interrupts for each response.
    pub fn interface(&self) -> Option<&Interface> {
        match self {
            Adapter::Null(_) => None,
            Adapter::Pipeline(adapter) => Some(&adapter.description().interface),
        }
    }

    /// How the host learns of responses.
    pub fn notification(&self) -> Notification {
        match self {
            Adapter::Null(_) => Notification::Interrupt,
            Adapter::Pipeline(adapter) => adapter.description().interface.notification,
        }
    }

    /// Whether frames ask for the medium before they go.
    pub fn asks_for_medium(&self) -> bool {
        match self {
            Adapter::Null(_) => false,
            Adapter::Pipeline(adapter) => adapter.asks_for_medium(),
        }
    }

    /// Packets in it, on either way.
    pub fn held(&self) -> usize {
        each!(self, adapter => adapter.held())
    }

    /// Buffers of its own memory that packets have, on either way.
    pub fn buffers_in_use(&self) -> u64 {
        match self {
            Adapter::Null(_) => 0,
            Adapter::Pipeline(adapter) => adapter.buffers_in_use(),
        }
    }

    /// The most frames that had come in and were in it at a time.
    pub fn most_received(&self) -> u64 {
        match self {
            Adapter::Null(_) => 0,
            Adapter::Pipeline(adapter) => adapter.most_received(),
        }
    }

    /// Also puts out [`AdapterOutput::Passed`].
    pub fn record(&mut self) {
        if let Adapter::Pipeline(adapter) = self {
            adapter.record();
        }
    }

    /// Goes through each phase of a packet one by one, though it be alone and nobody see it: the same outputs at the same times, but for
    /// [passages](AdapterOutput::Passed), which are told when they end.
    pub fn step_through(&mut self) {
        if let Adapter::Pipeline(adapter) = self {
            adapter.step_through();
        }
    }

    /// Frames on the medium take at least `span`. A null device asks for no medium, and has none that would care.
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

    /// What each stage has done by `now`, what is under way included, transmitting ones first.
    pub fn stages(&self, now: Time) -> Vec<StageReport> {
        each!(self, adapter => adapter.stages(now).collect())
    }
}
