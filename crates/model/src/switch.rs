//! A switch: frames come in at any port, and leave by the one that leads on.
//!
//! ```text
//!            ┌──────────────────────────────┐
//!  frame ──▶ │ route ──▶ room? ──▶ queue ──▶ link │ ──▶ frame        one queue for each port, in a discipline's order
//!            └──────────────────────────────┘
//! ```
//!
//! Inputs never wait for each other: who comes in is put into the queue of the port where he goes out, so all that there is to
//! a switch is its outputs and the memory that they share (an output-queued switch; Karol, Hluchyj and Morgan 1987 have
//! why the other kind is worse). A frame needs room until its last bit has left. It takes it, in this order,
//!
//! 1. from what is set aside for its channel: admission says how much a guaranteed one may need, so whatever others send,
//!    none of its frames is lost;
//! 2. from what its port has to itself;
//! 3. from what all ports share, as far as there is any left.
//!
//! Who finds none is lost, and told. A port orders its frames as a host's link does, by the same disciplines: the deadline of a
//! frame at the port before is its logical arrival here, so a guaranteed frame that comes ahead of its time is
//! held ([`EarlyPolicy::HOLD`]) or goes before its time when nothing else would.
//!
//! What it takes from the last bit of a frame, or at a cut-through switch from its header, until it is in its queue is
//! for whoever brings it here to wait: time is an argument, and a frame comes when it is there.

use laxity_qos::channel::{ByChannel, ChannelId, Label, Packet, Slot};
use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::{Class, Discipline, EarlyPolicy, Groups, Order, Request, Server, Tag};
use laxity_qos::virtual_clock::Vtick;
use laxity_units::{Bytes, Span, Time};

use crate::around::Around;

/// A port on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortConfig {
    /// How long a frame of `S` bytes is on the link behind it.
    pub link: LinkCosts,
    /// In which order frames leave.
    pub order: Order,
    /// What frames may do that are ahead of their time.
    pub early: EarlyPolicy,
    /// The shortest frame of time, in orders that have frames.
    pub frame: Span,
    /// Memory that no other port takes.
    pub memory: Bytes,
}

/// A channel that leaves by a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// Class of service.
    pub class: Class,
    /// Its deadline here, from the logical arrival; unused for best effort.
    pub deadline: Span,
    /// Its rate where rates are shared; [`Vtick::NONE`] for what is left.
    pub tick: Vtick,
    /// Fixed priority, 0 the most urgent.
    pub level: u8,
    /// Packets for which there is always room.
    pub reserved: u64,
}

/// What a switch does to the world around it; `P` is by what a frame is named.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SwitchOutput<P = Packet> {
    /// The first bit of a frame leaves, and when the last will.
    Begun(P, Time),
    /// The last bit of a frame has left, and where it lies is for whoever hears this.
    Departed(P),
    /// There was no room for a frame; where it lies likewise.
    Discarded(P),
}

/// Whose room a frame takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    Reserved,
    Port,
    Shared,
}

/// A frame at a port.
#[derive(Debug, Clone, Copy)]
struct Frame {
    slot: Slot,
    /// Which of those that leave here its channel is.
    flow: Label,
    room: Room,
    /// When it came.
    came: Time,
}

#[derive(Debug)]
struct Port {
    link: LinkCosts,
    queue: Discipline<Frame>,
    sending: Option<Frame>,
    /// When the last bit of what is sent leaves, or a held frame may; `Time::MAX` for neither.
    due: Time,
    memory: Memory,
    flows: ByChannel<Leaving>,
    report: PortReport,
}

/// A channel that leaves by a port, as it is there. A port of a large switch has thousands, and each frame looks at one of them when it comes and
/// when it goes: at one line of memory.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Leaving {
    flow: Flow,
    /// Reserved places that are taken.
    used: u64,
    /// Frames with a guarantee that are here.
    here: u64,
    /// The most of them that there ever were.
    most: u64,
}

const _: () = assert!(size_of::<Leaving>() == 64, "a channel at a port is a line");

/// What a port has been through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortReport {
    /// For how long its link was busy.
    pub busy: Span,
    /// Frames that have left.
    pub passed: u64,
    /// Frames for which there was no room.
    pub lost: u64,
    /// Frames that wait.
    pub waiting: usize,
    /// Most frames that waited.
    pub longest: usize,
}

/// Bytes of memory, and how many of them are taken.
#[derive(Debug, Clone, Copy)]
struct Memory {
    size: u64,
    taken: u64,
}

impl Memory {
    fn of(size: Bytes) -> Self {
        Self { size: size.get(), taken: 0 }
    }

    fn take(&mut self, bytes: Bytes) -> bool {
        let fits = self.size - self.taken >= bytes.get();
        if fits {
            self.taken += bytes.get();
        }
        fits
    }

    fn free(&mut self, bytes: Bytes) {
        self.taken -= bytes.get();
    }
}

/// The ports of a switch, and the memory that they share.
///
/// A frame lies where it lay on its way there: the table is not the switch's own, and what comes and goes is its name.
#[derive(Debug)]
pub struct Switch {
    ports: Vec<Port>,
    shared: Memory,
}

impl Switch {
    /// An empty switch with such `ports`, which share so much memory.
    pub fn new(ports: impl IntoIterator<Item = PortConfig>, shared: Bytes) -> Self {
        let port = |config: PortConfig| Port {
            link: config.link,
            queue: config.order.discipline(&Server {
                early: config.early,
                speed: config.link,
                frame: config.frame,
            }),
            sending: None,
            due: Time::MAX,
            memory: Memory::of(config.memory),
            flows: ByChannel::default(),
            report: PortReport::default(),
        };
        Self { ports: ports.into_iter().map(port).collect(), shared: Memory::of(shared) }
    }

    /// Says which groups of channels have a rate together, before the run.
    pub fn group(&mut self, groups: &Groups) {
        self.ports.iter_mut().for_each(|port| port.queue.group(groups));
    }

    /// Lets a channel leave by `port`, before the run.
    pub fn open(&mut self, port: usize, channel: ChannelId, flow: Flow) {
        self.ports[port].flows.insert(channel, Leaving { flow, used: 0, here: 0, most: 0 });
    }

    /// Where a channel is at `port`, for frames that are to come there; none if it does not leave by it.
    pub fn label(&self, port: usize, channel: ChannelId) -> Label {
        self.ports[port].flows.label(channel)
    }

    /// A frame comes for the channel that is kept there at `port`.
    #[inline]
    pub fn fetch(&self, port: usize, label: Label) {
        self.ports[port].flows.fetch(label);
    }

    /// A frame is there for `port`. Here and below `around` is where frames lie, and hears what the switch does. Panics if its channel
    /// was not opened.
    pub fn receive(
        &mut self,
        now: Time,
        port: usize,
        slot: Slot,
        around: &mut impl Around<SwitchOutput<Slot>>,
    ) {
        let Self { ports, shared } = self;
        let port = &mut ports[port];
        let packet = around.packets().at_mut(slot);
        let flow = port.flows.labelled(packet.carried.label, packet.channel);
        let leaving = &mut port.flows[flow];
        packet.tag = tag(&leaving.flow, &packet.tag, now);
        packet.arrive();
        let guaranteed = packet.tag.class == Class::RealTime;
        let room = if guaranteed && leaving.used < leaving.flow.reserved {
            leaving.used += 1;
            Room::Reserved
        } else if port.memory.take(packet.size) {
            Room::Port
        } else if shared.take(packet.size) {
            Room::Shared
        } else {
            port.report.lost += 1;
            return around.tell(SwitchOutput::Discarded(slot));
        };
        if guaranteed {
            leaving.here += 1;
            leaving.most = leaving.most.max(leaving.here);
        }
        port.queue.enqueue(now, &Request::of(packet), Frame { slot, flow, room, came: now });
        port.start(now, around);
        port.report.longest = port.report.longest.max(port.queue.len());
    }

    /// The time that [`next_deadline`](Self::next_deadline) named for `port` has come.
    pub fn timer(&mut self, now: Time, port: usize, around: &mut impl Around<SwitchOutput<Slot>>) {
        let Self { ports, shared } = self;
        let port = &mut ports[port];
        if port.due > now {
            return;
        }
        if let Some(Frame { slot, flow, room, .. }) = port.sending.take() {
            let packet = around.packets().at(slot);
            let leaving = &mut port.flows[flow];
            leaving.here -= u64::from(packet.tag.class == Class::RealTime);
            match room {
                Room::Reserved => leaving.used -= 1,
                Room::Port => port.memory.free(packet.size),
                Room::Shared => shared.free(packet.size),
            }
            port.report.passed += 1;
            around.tell(SwitchOutput::Departed(slot));
        }
        port.start(now, around);
    }

    /// When `port` next wants [`timer`](Self::timer) to be called.
    #[inline]
    pub fn next_deadline(&self, port: usize) -> Option<Time> {
        self.ports[port].due.named()
    }

    /// Frames that wait at `port`, held ones included, beside the one that it sends.
    pub fn waiting(&self, port: usize) -> usize {
        self.ports[port].queue.len()
    }

    /// The most frames of `channel` with a guarantee that were at `port` at a time. Panics if it was not opened there.
    pub fn most(&self, port: usize, channel: ChannelId) -> u64 {
        self.ports[port].flows[channel].most
    }

    /// What `port` has been through by `now`.
    pub fn report(&self, port: usize, now: Time) -> PortReport {
        let port = &self.ports[port];
        // All of a frame is counted when that begins to leave.
        let left = if port.sending.is_some() { port.due.saturating_since(now) } else { Span::ZERO };
        PortReport { busy: port.report.busy - left, waiting: port.queue.len(), ..port.report }
    }
}

impl Port {
    /// Begins the next frame, if the link is free and one may go.
    fn start(&mut self, now: Time, around: &mut impl Around<SwitchOutput<Slot>>) {
        if self.sending.is_some() {
            return;
        }
        let Some((_, frame)) = self.queue.select(now) else {
            if self.queue.is_empty() {
                self.queue.idle();
            }
            self.due = self.queue.next_eligible(now).unwrap_or(Time::MAX);
            return;
        };
        if let Some(usual) = self.queue.usual_wait() {
            around.packets().at_mut(frame.slot).waited(now.since(frame.came), usual);
        }
        let time = self.link.transmit(around.packets().at(frame.slot).size);
        self.sending = Some(frame);
        self.due = now + time;
        self.report.busy += time;
        around.tell(SwitchOutput::Begun(frame.slot, self.due));
    }
}

/// What a frame that comes with `tag` at `now` is here: what its contract guarantees counts as come when its deadline at the
/// place before has passed, and what exceeds it stays without a guarantee.
fn tag(flow: &Flow, tag: &Tag, now: Time) -> Tag {
    match (flow.class, tag.class) {
        (Class::RealTime, Class::RealTime) => {
            Tag::real_time(tag.deadline, flow.deadline, flow.tick, flow.level)
        }
        (Class::RealTime, Class::BestEffort) => Tag::best_effort(now),
        (Class::BestEffort, _) => Tag::sharing(now, flow.tick),
    }
}

#[cfg(test)]
mod tests;
