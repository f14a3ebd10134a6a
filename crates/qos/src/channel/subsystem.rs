//! The subsystem: its state, and what can happen to it.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use laxity_units::Time;

use super::applications::Applications;
use super::cores::{Cores, Taken};
use super::counters::Counters;
use super::handler::Handler;
use super::lane::{Incoming, Lane};
use super::link::Links;
use super::message::Message;
use super::misuse::Misuse;
use super::policy::{ChannelConfig, Config, LinkConfig, MessageOverflow, Processing, Role};
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
    /// Messages of which the adapter lost a packet and has not returned the last: counted once, not per packet.
    broken: BTreeSet<u64>,
    pub(super) counters: Counters,
}

/// The communication subsystem of one host.
#[derive(Debug)]
pub struct Subsystem {
    /// That of all hosts that are alike.
    pub(super) config: Arc<Config>,
    pub(super) channels: ByChannel<Channel>,
    pub(super) lanes: Vec<Lane>,
    pub(super) handlers: Vec<Handler>,
    pub(super) free_handlers: Vec<usize>,
    /// Lanes of channels that were [forgotten](Self::forget).
    pub(super) free_lanes: Vec<usize>,
    pub(super) threads: u32,
    /// A message queue has got a place since it was last asked whether any had.
    pub(super) made_room: bool,
    pub(super) cores: Cores,
    pub(super) links: Links,
    /// Threads of option O3.
    pub(super) link_threads_created: u32,
    /// Applications that compute.
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

    /// Says which groups of channels have a rate together, before anything is sent and when all links are there.
    pub fn group(&mut self, groups: &Groups) {
        self.cores.group(groups);
        self.links.group(groups);
    }

    /// Adds another link, of an adapter on which a packet takes what `speed` says; channels are opened at it by the number that it
    /// answers.
    pub fn add_link(&mut self, speed: LinkCosts) -> LinkId {
        self.links.add(&LinkConfig { speed, ..self.config.link })
    }

    /// How many links it has.
    pub fn links(&self) -> usize {
        self.links.count()
    }

    /// The link by which packets of `channel` leave.
    ///
    /// # Panics
    ///
    /// If there are several links and the channel is not open here: drivers ask
    /// for packets that the subsystem has given them.
    #[inline]
    pub fn link_of(&self, channel: ChannelId) -> LinkId {
        if self.links.count() == 1 { LinkId::FIRST } else { self.channels[channel].config.link }
    }

    /// Establishes a channel by the number behind the greatest.
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

    /// Establishes a channel by a number of its own, which it has at every host of its path.
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
            clock: LogicalClock::new(config.spec),
            lane,
            excess,
            sent: 0,
            broken: BTreeSet::new(),
            counters: Counters::default(),
        };
        self.channels.insert(id, channel);
        Ok(())
    }

    /// The channel of that number.
    #[inline]
    pub(super) fn channel(&self, channel: ChannelId) -> Result<&Channel, Misuse> {
        self.channels.get(channel).ok_or(Misuse::Unknown(channel))
    }

    /// Where the channel of that number lies.
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
        // Received packets carry no state between them, so their handler is always the channel's.
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

    /// Where it keeps a channel, for packets that are to come here; none if it does not know it.
    pub fn label(&self, channel: ChannelId) -> Label {
        self.channels.label(channel)
    }

    /// Something comes for the channel that is kept there: asks for what will be looked at. Mostly a channel has its lane and handler at the same place.
    #[inline]
    pub fn fetch(&self, channel: ChannelId, label: Label) {
        self.fetch_but_lane(channel, label);
        self.lanes.get(label.place()).map(fetch);
    }

    /// The same of a message that is to be sent.
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

    /// A message of several packets comes for it, and its lane is there: asks for where they will lie.
    #[inline]
    pub fn fetch_incoming(&self, label: Label) {
        if let Some(lane) = self.lanes.get(label.place()) {
            lane.packets.fetch_back();
            lane.reassembler.fetch();
        }
    }

    /// A packet of `channel` came in from the network, `due_from` and the deadline as of the last hop.
    ///
    /// Its logical arrival here is the deadline it had there: what is ahead of that is early, however
    /// lightly loaded the hop before was (Kandlur, Shin and Ferrari 1994).
    ///
    /// What exceeded its contract at the sender, or was demoted on the way, and goes without a guarantee there, goes without one here.
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

    /// The adapter completed a transmission, as `core` was told.
    ///
    /// # Panics
    ///
    /// If the packet is none that the subsystem has given to the adapter and has not got back.
    #[inline]
    pub fn transmitted(&mut self, core: CoreId, now: Time, packet: &Packet) {
        self.channels[packet.channel].counters.transmitted += 1;
        self.returned(core, now, packet);
    }

    /// The adapter lost a packet, as `core` was told, and gives its buffer back all the same.
    ///
    /// # Panics
    ///
    /// If the packet is none that the subsystem has given to the adapter and has not got back.
    pub fn failed(&mut self, core: CoreId, now: Time, packet: &Packet) {
        let channel = &mut self.channels[packet.channel];
        if channel.broken.insert(packet.message) {
            *channel.counters.dropped.entry(Dropped::Adapter).or_default() += 1;
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

    /// Calls the thread that is to look whether a packet can be started by `link`, in place of one of which `core` has been told.
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

    /// Lets the handler of the earliest message go on that waits for a packet buffer.
    #[inline(never)]
    fn unblock(&mut self, now: Time, lane: usize) {
        if let Some(Reverse((_, handler))) = self.lanes[lane].blocked.pop() {
            self.activate(now, handler);
        }
    }

    /// When the subsystem next wants [`wakeup`](Self::wakeup) to be called on `core` though nothing happens to it; `now` or
    /// before if it should have been.
    ///
    /// A wake-up once asked for is asked for until it comes. Looking at a queue at the very instant at which an item
    /// turns current makes it current, and nothing is left to be woken for; but nobody has looked whether
    /// the idle adapter could take it.
    #[inline]
    pub fn next_wakeup(&mut self, core: CoreId, now: Time) -> Option<Time> {
        self.next_awaited(core, now).named()
    }

    /// The same; [`Time::MAX`] for never.
    // Asked whenever a host has done anything, and mostly nothing is held: that is seen where it is asked.
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

    /// When something that is held for `core` next turns current; [`Time::MAX`] for never.
    #[inline(never)]
    fn next_held(&mut self, core: CoreId, now: Time) -> Time {
        let current = self.cores[core].cpu.next_eligible(now);
        let packet = if core == self.config.link.core { self.links.next_wakeup(now) } else { None };
        current.unwrap_or(Time::MAX).min(packet.unwrap_or(Time::MAX))
    }

    /// A time that [`next_wakeup`](Self::next_wakeup) named has come.
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

    /// Whether anybody has been put in line for `core` since this was last asked.
    pub fn was_called(&mut self, core: CoreId) -> bool {
        std::mem::take(&mut self.cores[core].called)
    }

    /// In interrupt context of `core`, after a completion or wake-up: the packet to transmit, if the paradigm
    /// schedules links there (O1), or there is none and the adapter was full. The driver charges `C_l`, or
    /// what handing over costs, and hands it to the adapter of its link; where there are several it then asks again.
    #[inline]
    pub fn interrupt_transmit(&mut self, core: CoreId, now: Time) -> Taken<Slot> {
        let here = matches!(self.config.link.paradigm, LinkParadigm::O1 | LinkParadigm::Adapter);
        if here { self.links.take(core, now) } else { Taken::Nothing }
    }
}
