//! A switch: frames arrive at any port, and leave by the output port of their route.
//!
//! ```text
//!            ┌──────────────────────────────┐
//!  frame ──▶ │ route ──▶ room? ──▶ queue ──▶ link │ ──▶ frame        one queue for each port, in a discipline's order
//!            └──────────────────────────────┘
//! ```
//!
//! Inputs never wait for each other: a frame goes straight to the queue of its output port, so the
//! model consists of the outputs and their shared memory (an output-queued switch; Karol, Hluchyj
//! and Morgan 1987 show why input queueing is worse). A frame occupies memory until its last bit
//! has left. It takes memory, in this order,
//!
//! 1. from its channel's reservation: admission computes how much a guaranteed channel may need, so
//!    none of its frames is lost whatever the other traffic;
//! 2. from its port's own memory;
//! 3. from the memory that all ports share, while some is free.
//!
//! A frame without memory is lost, and reported. So is a guaranteed frame that the flow meter of its
//! channel does not pass (IEEE 802.1Qci), before it takes memory.
//!
//! A port orders its frames as a host's link does, by the same disciplines: the deadline of a frame at
//! the previous hop is its logical arrival here, so an early guaranteed frame is held
//! ([`EarlyPolicy::HOLD`]) or is sent early only on an otherwise idle link.
//!
//! A port with preemption ([`preemption`]) sends a preemptable frame in several parts.
//!
//! The caller accounts for the forwarding latency, from the last bit of a frame (from its header at
//! a cut-through switch) until the frame is in its queue: time is an argument of each call.

pub mod preemption;

use std::sync::Arc;

use laxity_qos::channel::{ByChannel, ChannelId, Label, Packet, Slot};
use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::{
    Class, Committed, Discipline, EarlyPolicy, Groups, ItemRequest, Order, Selection, ServerParameters, Tag,
};
use laxity_qos::token_bucket::TokenBucket;
use laxity_qos::virtual_clock::Vtick;
use laxity_units::{Bytes, Span, Time};

use self::preemption::Preemption;
use crate::around::Around;

/// An output port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortConfig {
    /// Transmission time of a frame of `S` bytes on its link.
    pub link: LinkCosts,
    /// Queueing discipline of the port.
    pub order: Order,
    /// Treatment of early frames.
    pub early: EarlyPolicy,
    /// The shortest time frame, in disciplines that have frames.
    pub frame: Span,
    /// Shapers, gates and regulators, for strict priority.
    pub selection: Option<Arc<Selection>>,
    /// The most urgent level with frames that can be preempted, for strict priority on Ethernet;
    /// `None` without preemption. Gates are those of [`Hold`](laxity_qos::discipline::Hold) then.
    pub preemptable_from: Option<u8>,
    /// Memory that no other port takes.
    pub memory: Bytes,
}

/// A channel that leaves by a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortFlow {
    /// Class of service.
    pub class: Class,
    /// Its deadline here, from the logical arrival; unused for best effort.
    pub deadline: Span,
    /// Its rate in a rate-based discipline; [`Vtick::NONE`] for residual capacity.
    pub tick: Vtick,
    /// Fixed priority, 0 the most urgent.
    pub level: u8,
    /// Number of its packets for which memory is reserved.
    pub reserved: u64,
}

/// An output of the switch; `P` names a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SwitchOutput<P = Packet> {
    /// The first bit of a frame leaves; the time is when the last bit will.
    Begun(P, Time),
    /// A frame is interrupted by others.
    Interrupted(P),
    /// The first bit of a further part of a frame leaves.
    Resumed(P),
    /// The last bit of a frame has left; the receiver of this output frees its slot.
    Departed(P),
    /// A frame was dropped for want of memory, or by a flow meter; the receiver of this output frees its
    /// slot.
    Discarded(P),
}

/// The account that a frame's memory is charged to.
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
    /// Index of its channel at this port.
    flow: Label,
    room: Room,
    /// Its arrival time.
    came: Time,
}

#[derive(Debug)]
struct Port {
    link: LinkCosts,
    queue: Discipline<Frame>,
    sending: Option<Frame>,
    preemption: Option<Box<Preemption>>,
    /// When the last bit of what is being sent leaves.
    ends: Time,
    /// When that is, or when a held frame becomes eligible; `Time::MAX` for neither.
    due: Time,
    memory: Memory,
    flows: ByChannel<Leaving>,
    /// Flow meters of channels that have one here.
    meters: ByChannel<TokenBucket>,
    report: PortReport,
}

/// State of a channel at a port. A port of a large switch has thousands, and each frame accesses
/// one at arrival and at departure: one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Leaving {
    flow: PortFlow,
    /// Reserved packets in use.
    used: u64,
    /// Guaranteed frames present.
    here: u64,
    /// Maximum of `here` so far.
    most: u64,
}

const _: () = assert!(size_of::<Leaving>() == 64, "a channel at a port is a line");

/// Statistics of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortReport {
    /// Time for which its link was busy.
    pub busy: Span,
    /// Frames that have left.
    pub passed: u64,
    /// Frames dropped for want of memory.
    pub lost: u64,
    /// Frames that flow meters dropped.
    pub policed: u64,
    /// Frames that wait.
    pub waiting: usize,
    /// Maximum number of frames that waited.
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
/// Frames stay in the caller's packet table; the switch handles only their slots.
#[derive(Debug)]
pub struct Switch {
    ports: Vec<Port>,
    shared: Memory,
}

impl Switch {
    /// An empty switch with `ports` that share `shared` bytes of memory.
    pub fn new(ports: impl IntoIterator<Item = PortConfig>, shared: Bytes) -> Self {
        let port = |config: PortConfig| Port {
            link: config.link,
            queue: config.order.discipline(&ServerParameters {
                early: config.early,
                speed: config.link,
                frame: config.frame,
                selection: config.selection.clone(),
            }),
            sending: None,
            preemption: config.preemptable_from.map(|from| Box::new(Preemption::new(from, config.selection))),
            ends: Time::ZERO,
            due: Time::MAX,
            memory: Memory::of(config.memory),
            flows: ByChannel::default(),
            meters: ByChannel::default(),
            report: PortReport::default(),
        };
        Self { ports: ports.into_iter().map(port).collect(), shared: Memory::of(shared) }
    }

    /// Sets the groups of channels that have a common rate, before the run.
    pub fn group(&mut self, groups: &Groups) {
        self.ports.iter_mut().for_each(|port| port.queue.group(groups));
    }

    /// Lets a channel leave by `port`, before the run.
    pub fn open(&mut self, port: usize, channel: ChannelId, flow: PortFlow) {
        self.ports[port].flows.insert(channel, Leaving { flow, used: 0, here: 0, most: 0 });
    }

    /// Gives a channel a regulator at `port`, before the run.
    pub fn regulate(&mut self, port: usize, channel: ChannelId, committed: Committed) {
        self.ports[port].queue.regulate(channel, committed);
    }

    /// Gives a channel a flow meter at `port`, before the run. It counts bytes on the link of the port.
    pub fn meter(&mut self, port: usize, channel: ChannelId, bucket: TokenBucket) {
        self.ports[port].meters.insert(channel, bucket);
    }

    /// Index of a channel at `port`, for frames on their way there; none if it does not leave by
    /// it.
    pub fn label(&self, port: usize, channel: ChannelId) -> Label {
        self.ports[port].flows.label(channel)
    }

    /// Prefetches the state of the channel at `label` of `port`.
    #[inline]
    pub fn fetch(&self, port: usize, label: Label) {
        self.ports[port].flows.fetch(label);
    }

    /// A frame arrives for `port`. Here and below, `around` holds the frames and receives the
    /// outputs. Panics if its channel was not opened.
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
        if guaranteed && let Some(meter) = port.meters.get_mut(packet.channel) {
            let bytes = port.link.on_link(packet.size);
            if !meter.conforms(now, bytes) {
                port.report.policed += 1;
                return around.tell(SwitchOutput::Discarded(slot));
            }
            meter.count(now, bytes);
        }
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
        port.queue.enqueue(now, &ItemRequest::of(packet), Frame { slot, flow, room, came: now });
        port.start(now, around);
        port.report.longest = port.report.longest.max(port.queue.len());
    }

    /// Advances `port` to the time that [`next_deadline`](Self::next_deadline) named.
    pub fn timer(&mut self, now: Time, port: usize, around: &mut impl Around<SwitchOutput<Slot>>) {
        let Self { ports, shared } = self;
        let port = &mut ports[port];
        if port.due > now {
            return;
        }
        if port.sending.is_some() && port.ends > now {
            return port.interrupt(now);
        }
        if let Some(frame) = port.sending.take() {
            if port.preemption.as_mut().is_some_and(|preemption| preemption.end(frame)) {
                around.tell(SwitchOutput::Interrupted(frame.slot));
                return port.start(now, around);
            }
            let Frame { slot, flow, room, .. } = frame;
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

    /// Time at which [`timer`](Self::timer) is next due for `port`.
    #[inline]
    pub fn next_deadline(&self, port: usize) -> Option<Time> {
        self.ports[port].due.named()
    }

    /// Frames that wait at `port`, held ones included, without the frame being sent.
    pub fn waiting(&self, port: usize) -> usize {
        self.ports[port].queue.len()
    }

    /// Maximum number of guaranteed frames of `channel` at `port` at a time. Panics if it was not
    /// opened there.
    pub fn most(&self, port: usize, channel: ChannelId) -> u64 {
        self.ports[port].flows[channel].most
    }

    /// Statistics of `port` until `now`.
    pub fn report(&self, port: usize, now: Time) -> PortReport {
        let port = &self.ports[port];
        // The whole transmission time is counted when a frame begins.
        let left = if port.sending.is_some() { port.ends.saturating_since(now) } else { Span::ZERO };
        PortReport { busy: port.report.busy - left, waiting: port.queue.len(), ..port.report }
    }
}

impl Port {
    /// Begins the next eligible frame, if the link is free.
    fn start(&mut self, now: Time, around: &mut impl Around<SwitchOutput<Slot>>) {
        if self.sending.is_some() {
            return self.interrupt(now);
        }
        if let Some(at) = self.resumes(now) {
            return self.resume(now, at, around);
        }
        let Some((tag, frame)) = self.queue.select(now) else {
            if self.queue.is_empty() {
                self.queue.idle();
            }
            self.due = self.queue.next_eligible(now).unwrap_or(Time::MAX);
            return;
        };
        if let Some(usual) = self.queue.usual_wait() {
            around.packets().at_mut(frame.slot).waited(now.since(frame.came), usual);
        }
        let size = around.packets().at(frame.slot).size;
        let time = self.link.transmit(size);
        self.ends = match &mut self.preemption {
            Some(preemption) => preemption.begin(now, tag.level, size, &self.link),
            None => now + time,
        };
        self.sending = Some(frame);
        self.report.busy += self.ends.since(now);
        self.due = self.wakes(now);
        around.tell(SwitchOutput::Begun(frame.slot, now + time));
    }

    /// When what is being sent ends, or the gate of a frame opens that may interrupt it.
    fn wakes(&mut self, now: Time) -> Time {
        let opens = if self.preemption.is_some() { self.queue.next_eligible(now) } else { None };
        opens.map_or(self.ends, |opens| opens.min(self.ends))
    }

    /// Whether an express frame waits at a port with preemption.
    fn express_waits(&mut self, now: Time) -> bool {
        let Some(preemption) = &self.preemption else { return false };
        self.queue.best(now).is_some_and(|rank| preemption.is_express(rank.level()))
    }

    /// Cuts what is being sent if an express frame waits.
    fn interrupt(&mut self, now: Time) {
        if self.express_waits(now)
            && let Some(preemption) = &mut self.preemption
            && let Some(free) = preemption.interrupt(now, &self.link)
        {
            self.report.busy -= self.ends.since(free);
            self.ends = free;
        }
        self.due = self.wakes(now);
    }

    /// When the interrupted frame can go on, if there is one and no express frame waits.
    fn resumes(&mut self, now: Time) -> Option<Time> {
        if self.express_waits(now) {
            return None;
        }
        self.preemption.as_ref()?.resumes(now, &self.link)
    }

    /// Goes on with the interrupted frame if that is `at` this time. No other preemptable frame begins
    /// before it.
    fn resume(&mut self, now: Time, at: Time, around: &mut impl Around<SwitchOutput<Slot>>) {
        let Some(preemption) = self.preemption.as_mut().filter(|_| at <= now) else {
            self.due = self.queue.next_eligible(now).map_or(at, |opens| opens.min(at));
            return;
        };
        let (frame, ends) = preemption.resume(now, &self.link);
        (self.sending, self.ends) = (Some(frame), ends);
        self.report.busy += ends.since(now);
        self.due = self.wakes(now);
        around.tell(SwitchOutput::Resumed(frame.slot));
    }
}

/// Tag of a frame here that arrives with `tag` at `now`. Logical arrival of a guaranteed frame is
/// its deadline at the previous hop; a frame that exceeded its contract stays without a guarantee.
fn tag(flow: &PortFlow, tag: &Tag, now: Time) -> Tag {
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
