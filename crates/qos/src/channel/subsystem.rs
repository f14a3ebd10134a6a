//! The subsystem: its state and its events.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use laxity_units::Time;

use super::applications::Applications;
use super::cores::{Cores, TakenPacket};
use super::counters::ChannelCounters;
use super::handler::Handler;
use super::lane::{Incoming, Lane};
use super::link::Links;
use super::message::Message;
use super::misuse::Misuse;
use super::policy::{ChannelConfig, Config, LinkConfig, MessageOverflow, Oversize, Processing, Role};
use super::slots::{Slot, Slots};
use super::step::Dropped;
use crate::ahead::fetch;
use crate::by_channel::{ByChannel, Label};
use crate::costs::LinkCosts;
use crate::discipline::Groups;
use crate::names::{ChannelId, CoreId, LinkId};
use crate::packet::Packet;
use crate::paradigm::LinkParadigm;
use crate::seldom::seldom;
use crate::tag::{Class, Tag};
use crate::traffic::LogicalClock;

#[derive(Debug)]
pub(super) struct Channel {
    pub(super) config: ChannelConfig,
    pub(super) clock: LogicalClock,
    pub(super) lane: usize,
    pub(super) excess: Option<usize>,
    pub(super) sent: u64,
    /// Messages of which the adapter lost a packet and has not returned the last: the loss is
    /// counted once a message.
    broken: BTreeSet<u64>,
    pub(super) counters: ChannelCounters,
}

/// The communication subsystem of one host.
#[derive(Debug)]
pub struct Subsystem {
    /// Shared by all hosts with the same configuration.
    pub(super) config: Arc<Config>,
    pub(super) channels: ByChannel<Channel>,
    pub(super) lanes: Vec<Lane>,
    pub(super) handlers: Vec<Handler>,
    pub(super) free_handlers: Vec<usize>,
    /// Lanes of channels that were [forgotten](Self::forget).
    pub(super) free_lanes: Vec<usize>,
    pub(super) threads: u32,
    /// A message queue has freed a slot since the flag was last read.
    pub(super) made_room: bool,
    pub(super) cores: Cores,
    pub(super) links: Links,
    /// Number of threads of option O3 created.
    pub(super) link_threads_created: u32,
    pub(super) computing: Applications,
}

impl Subsystem {
    /// A subsystem without channels.
    pub fn new(config: impl Into<Arc<Config>>) -> Self {
        let config = config.into();
        Self {
            channels: ByChannel::default(),
            lanes: Vec::new(),
            handlers: Vec::new(),
            free_handlers: Vec::new(),
            free_lanes: Vec::new(),
            threads: 0,
            made_room: false,
            cores: Cores::new(&config),
            links: Links::new(&config.link),
            link_threads_created: 0,
            computing: Applications::default(),
            config,
        }
    }

    /// Sets the groups of channels that share a rate. Call it after all links are added and before
    /// the first message.
    pub fn group(&mut self, groups: &Groups) {
        self.cores.group(groups);
        self.links.group(groups);
    }

    /// Adds a link with transmission times of `speed`, and returns its number, at which channels
    /// are opened.
    pub fn add_link(&mut self, speed: LinkCosts) -> LinkId {
        self.links.add(&LinkConfig { speed, ..self.config.link })
    }

    /// Number of links.
    pub fn links(&self) -> usize {
        self.links.count()
    }

    /// The link by which packets of `channel` leave.
    ///
    /// # Panics
    ///
    /// If there are several links and the channel is not open here: drivers pass only packets that
    /// they got from the subsystem.
    #[inline]
    pub fn link_of(&self, channel: ChannelId) -> LinkId {
        if self.links.count() == 1 { LinkId::FIRST } else { self.channels[channel].config.link }
    }

    /// Opens a channel with the number after the greatest.
    ///
    /// Admission decides before whether the channel has a guarantee.
    ///
    /// # Errors
    ///
    /// [`Misuse::NumberTaken`] if a channel has the greatest number that there is.
    pub fn open(&mut self, config: ChannelConfig) -> Result<ChannelId, Misuse> {
        let id = self.channels.next();
        self.open_as(id, config)?;
        Ok(id)
    }

    /// Opens a channel with a given number, which the channel has at every host of its path.
    ///
    /// # Errors
    ///
    /// [`Misuse::NumberTaken`] if a channel of this host has the number.
    pub fn open_as(&mut self, id: ChannelId, config: ChannelConfig) -> Result<(), Misuse> {
        if self.channels.get(id).is_some() {
            return Err(Misuse::NumberTaken(id));
        }
        let lane = self.add_lane(id, &config);
        let carries_excess =
            config.class == Class::RealTime && config.message_overflow == MessageOverflow::BestEffort;
        let excess = carries_excess.then(|| self.add_lane(id, &config));
        let channel = Channel {
            config,
            clock: match self.config.oversize {
                Oversize::Intervals => LogicalClock::new(config.spec),
                Oversize::Packets => LogicalClock::new(config.spec).by_packets(self.config.packet),
            },
            lane,
            excess,
            sent: 0,
            broken: BTreeSet::new(),
            counters: ChannelCounters::default(),
        };
        self.channels.insert(id, channel);
        Ok(())
    }

    #[inline]
    pub(super) fn channel(&self, channel: ChannelId) -> Result<&Channel, Misuse> {
        self.channels.get(channel).ok_or(Misuse::Unknown(channel))
    }

    /// Whether a channel that is open here is a real-time channel.
    pub fn is_real_time(&self, channel: ChannelId) -> bool {
        self.channel(channel).is_ok_and(|channel| channel.config.class == Class::RealTime)
    }

    /// The table position of the channel.
    #[inline]
    pub(super) fn find(&self, channel: ChannelId) -> Result<Label, Misuse> {
        let label = self.channels.label(channel);
        if seldom(label == Label::NONE) { Err(Misuse::Unknown(channel)) } else { Ok(label) }
    }

    fn add_lane(&mut self, id: ChannelId, config: &ChannelConfig) -> usize {
        let new = Lane::new(id, config);
        let lane = match self.free_lanes.pop() {
            Some(free) => {
                self.lanes[free] = new;
                free
            }
            None => {
                self.lanes.push(new);
                self.lanes.len() - 1
            }
        };
        // Received packets share no state, so their handler is always the channel's.
        if self.config.processing == Processing::PerChannel || config.role != Role::Send {
            self.lanes[lane].handler = Some(self.add_handler(lane, None));
        }
        lane
    }

    pub(super) fn add_handler(&mut self, lane: usize, message: Option<Message>) -> usize {
        let handler = Handler {
            lane,
            new_thread: message.is_some(),
            message,
            thread: self.threads,
            active: false,
            awake: false,
            mid_packet: false,
        };
        self.threads += 1;
        if let Some(slot) = self.free_handlers.pop() {
            self.handlers[slot] = handler;
            return slot;
        }
        self.handlers.push(handler);
        self.handlers.len() - 1
    }

    /// The table position of a channel that arrives here; [`Label::NONE`] if the channel is
    /// unknown.
    pub fn label(&self, channel: ChannelId) -> Label {
        self.channels.label(channel)
    }

    /// Prefetches the state of the channel at `label`. As a rule a channel, its lane and its
    /// handler have the same position.
    #[inline]
    pub fn fetch(&self, channel: ChannelId, label: Label) {
        self.fetch_but_lane(channel, label);
        self.lanes.get(label.place()).map(fetch);
    }

    /// Prefetches the state that sending a message on the channel reads.
    #[inline]
    pub fn fetch_sender(&self, channel: ChannelId, label: Label) {
        self.fetch_but_lane(channel, label);
        self.lanes.get(label.place()).map(Lane::fetch_sender);
    }

    #[inline]
    fn fetch_but_lane(&self, channel: ChannelId, label: Label) {
        self.channels.fetch_way(channel);
        self.channels.fetch(label);
        self.handlers.get(label.place()).map(fetch);
    }

    /// Prefetches the queue slots for a message of several packets, after the lane itself was
    /// fetched.
    #[inline]
    pub fn fetch_incoming(&self, label: Label) {
        if let Some(lane) = self.lanes.get(label.place()) {
            lane.packets.fetch_back();
            lane.reassembler.fetch();
        }
    }

    /// A packet of `channel` arrived from the network, with the `due_from` and the deadline of the
    /// last hop.
    ///
    /// The packet's logical arrival here is its deadline at the last hop. A packet that arrives
    /// before that is early, however lightly the last hop was loaded (Kandlur, Shin and Ferrari
    /// 1994).
    ///
    /// A packet that exceeded its contract at the sender, or was demoted on the path, has no
    /// guarantee here either.
    ///
    /// The packet lies in `packets`, from which the subsystem removes it after its last use. A
    /// packet that finds no buffer is removed at once, and the cause is returned.
    ///
    /// # Errors
    ///
    /// [`Misuse::Unknown`] if the channel is not open here; the packet stays in `packets`.
    pub fn receive(
        &mut self,
        now: Time,
        channel: ChannelId,
        slot: Slot,
        packets: &mut Slots,
    ) -> Result<Option<Dropped>, Misuse> {
        let packet = packets.at_mut(slot);
        let own = match packet.carried.label {
            Label::NONE => self.find(channel)?,
            label => self.channels.labelled(label, channel),
        };
        let Channel { config, lane, excess, .. } = &self.channels[own];
        let ChannelConfig { class, deadline, share, level, .. } = *config;
        let lane = excess.filter(|_| packet.is_excess()).unwrap_or(*lane);
        if !self.lanes[lane].has_buffer() {
            packets.free(slot);
            self.count_drop(channel, 1, Dropped::PacketQueue);
            return Ok(Some(Dropped::PacketQueue));
        }
        packet.tag = match class {
            Class::RealTime if packet.tag.class == Class::RealTime => {
                let at = if self.config.enforcement { packet.tag.deadline } else { now };
                Tag::real_time(at, deadline, share, level)
            }
            Class::RealTime => Tag::best_effort(now),
            Class::BestEffort => Tag::sharing(now, share),
        };
        packet.channel = channel;
        packet.arrive();
        let incoming = Incoming { slot, is_last: packet.is_last(), size: packet.size, tag: packet.tag };
        self.lanes[lane].take_buffer();
        self.lanes[lane].packets.push_back(incoming);
        let handler = self.lanes[lane].handler.expect("a receiving lane has a handler");
        if !self.handlers[handler].active {
            self.activate(now, handler);
        }
        Ok(None)
    }

    /// The adapter completed a transmission and notified `core`.
    ///
    /// # Panics
    ///
    /// If the subsystem has not given the packet to the adapter, or has got it back already.
    #[inline]
    pub fn transmitted(&mut self, core: CoreId, now: Time, packet: &Packet) {
        self.channels[packet.channel].counters.transmitted += 1;
        self.returned(core, now, packet);
    }

    /// The adapter lost a packet by that `cause` and notified `core`; the packet's buffer is freed as
    /// after a transmission.
    ///
    /// # Panics
    ///
    /// If the subsystem has not given the packet to the adapter, or has got it back already.
    pub fn failed(&mut self, core: CoreId, now: Time, packet: &Packet, cause: Dropped) {
        let channel = &mut self.channels[packet.channel];
        if channel.broken.insert(packet.message) {
            *channel.counters.dropped.entry(cause).or_default() += 1;
        }
        channel.counters.dropped_packets += 1;
        self.returned(core, now, packet);
    }

    #[inline]
    fn returned(&mut self, core: CoreId, now: Time, packet: &Packet) {
        let channel = &mut self.channels[packet.channel];
        let link = channel.config.link;
        self.links[link].complete();
        if packet.is_last() {
            channel.broken.remove(&packet.message);
        }
        let lane = channel.excess.filter(|_| packet.is_excess()).unwrap_or(channel.lane);
        self.release_buffer(now, lane);
        if self.config.link.paradigm.has_threads() {
            self.call_for(core, link, now);
        }
    }

    /// Creates the thread that tries to start a packet on `link`, after a completion that `core`
    /// was notified of.
    #[inline(never)]
    fn call_for(&mut self, core: CoreId, link: LinkId, now: Time) {
        if self.config.link.paradigm == LinkParadigm::O3 && self.links[link].can_start(now) {
            self.cores[core].link_threads.push_back(link);
        }
        self.call_link_thread();
    }

    #[inline]
    pub(super) fn release_buffer(&mut self, now: Time, lane: usize) {
        self.lanes[lane].used_packets -= 1;
        if !self.lanes[lane].blocked.is_empty() {
            self.unblock(now, lane);
        }
    }

    /// Unblocks the handler of the earliest message that waits for a packet buffer.
    #[inline(never)]
    fn unblock(&mut self, now: Time, lane: usize) {
        if let Some(Reverse((_, handler))) = self.lanes[lane].blocked.pop() {
            self.activate(now, handler);
        }
    }

    /// When the driver has to call [`wakeup`](Self::wakeup) on `core`, without any event; at or
    /// before `now` if the time has passed.
    ///
    /// A pending wake-up stays pending until the driver makes it. A poll of a queue at the very
    /// instant at which an item becomes current makes the item current and leaves no time to wait
    /// for. Without the pending wake-up the idle adapter would not be polled.
    #[inline]
    pub fn next_wakeup(&mut self, core: CoreId, now: Time) -> Option<Time> {
        self.next_awaited(core, now).named()
    }

    /// As [`next_wakeup`](Self::next_wakeup); [`Time::MAX`] for never.
    // The caller polls after every event of a host, and usually no item is held: this inlined test
    // finds that out.
    #[inline(always)]
    pub fn next_awaited(&mut self, core: CoreId, now: Time) -> Time {
        let of = &mut self.cores[core];
        if of.awaited > now {
            let holds = of.cpu.may_hold() || core == self.config.link.core && self.links.may_hold();
            let next = if holds { self.next_held(core, now) } else { Time::MAX };
            let of = &mut self.cores[core];
            of.awaited = next.min(of.next_budget);
        }
        self.cores[core].awaited
    }

    /// When an item held for `core` becomes current; [`Time::MAX`] for never.
    #[inline(never)]
    fn next_held(&mut self, core: CoreId, now: Time) -> Time {
        let current = self.cores[core].cpu.next_eligible(now);
        let packet = if core == self.config.link.core { self.links.next_wakeup(now) } else { None };
        current.unwrap_or(Time::MAX).min(packet.unwrap_or(Time::MAX))
    }

    /// Handles a wake-up at a time that [`next_wakeup`](Self::next_wakeup) returned.
    pub fn wakeup(&mut self, core: CoreId, now: Time) {
        let of = &mut self.cores[core];
        of.awaited = if of.awaited > now { of.awaited } else { Time::MAX };
        self.give_budgets(core, now);
        if self.config.link.paradigm == LinkParadigm::O3 && core == self.config.link.core {
            let without = |link: &LinkId| !self.cores.have_thread_for(*link);
            let needed: Vec<LinkId> = self.links.that_can_start(now).filter(without).collect();
            self.cores[core].link_threads.extend(needed);
        }
    }

    /// Whether an item was queued for `core` since the last call.
    pub fn was_called(&mut self, core: CoreId) -> bool {
        std::mem::take(&mut self.cores[core].called)
    }

    /// The packet to transmit, in interrupt context of `core` after a completion or wake-up.
    ///
    /// [`TakenPacket::Nothing`] unless the paradigm schedules links there (O1) or the adapter schedules
    /// them itself. The driver charges `C_l`, or the cost of handing over, and hands the packet to
    /// the adapter of its link; with several links it then calls again.
    #[inline]
    pub fn interrupt_transmit(&mut self, core: CoreId, now: Time) -> TakenPacket<Slot> {
        let here = matches!(self.config.link.paradigm, LinkParadigm::O1 | LinkParadigm::Adapter);
        if here { self.links.take(core, now) } else { TakenPacket::Nothing }
    }
}
