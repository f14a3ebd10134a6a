//! The express path: packets whose events are computed in advance.
//!
//! With FIFO stages and uncontended resources, the end of each phase is a sum and a maximum, known
//! when a packet arrives; and no output is due until the first observable end (a frame has left, or
//! requests the medium). Simulating each end as an event is most of the cost of a packet. So its
//! times are computed at its arrival, and the next event is the last of them.
//!
//! ```text
//!  transmit                                      asks for the medium, or
//!     │  fetch        copy              link     is on a link of its own
//!     ├────────────┬──────────────────┬─ ─ ─ ─
//!     │            ╎                  │
//!   set_out        ╎               arrive: a job in `copy`, which ends now; all goes on as ever
//!               stop, if anything comes that could touch it
//!
//!   began(s, n) = max(joined(s, n), ended(s, n − 1)),   joined(s + 1, n) = ended(s, n)
//! ```
//!
//! Packets [follow](Express::follows) each other on this path where each stage has one server, an
//! unlimited queue, and resources of its own. Elsewhere a packet uses it only if it is alone in the
//! adapter: typically where the host hands over one packet at a time or rarely.
//!
//! Where those stages lead to a shared medium only, packets usually are [alone there](sending),
//! too.
//!
//! An input that could interfere first moves all express packets into the servers and queues in
//! which they are by then ([`Pipeline::stop`]), and credits the stages with their past.
//! [Passages](AdapterOutput::Passed) alone are reported later, with their true times. An input at
//! the instant at which an express packet moves finds it moved.

mod sending;
mod times;

use std::collections::VecDeque;

use laxity_qos::channel::Slot;
use laxity_qos::seldom::{mostly, seldom};
use laxity_units::{Bytes, Time};

use super::job::{At, Job};
use super::station::Station;
use super::{PacketDirection, Passage, Pipeline, StageReport, identity};
use crate::adapter::{AdapterOutput, Phase};
use crate::around::Around;
use sending::Sending;
use times::{Times, is_seen, only_takes_time, time};

/// The express packets, in their order.
#[derive(Debug)]
pub(super) struct Express {
    reach: Option<Reach>,
    /// The only packet, which needs no marks, and its arrival time: the usual case.
    alone: Option<(Slot, Time)>,
    /// Otherwise all packets.
    packets: VecDeque<Slot>,
    /// For each packet, one mark per stage of its reach.
    marks: VecDeque<Mark>,
    /// When the first becomes observable; `Time::MAX` if there is none.
    due: Time,
    /// The packet before them that is alone at the medium.
    sending: Option<Sending>,
    /// Packets that have left since the path was empty; offset of the others' numbers.
    gone: usize,
    /// Per stage: when its server is free, and the number of the first packet that began after the
    /// last arrival.
    free: Vec<(Time, usize)>,
    times: Times,
    /// The express path is off.
    steps: bool,
}

/// End of the express path: that phase of that stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reach {
    stage: usize,
    phase: usize,
    /// Whether a packet may join while others are on the path.
    follows: bool,
    /// Whether it then enters the next stage, as its only observable effect.
    goes_on: bool,
    /// Whether that stage is the last one, which only sends frames on a shared medium.
    sends: bool,
}

/// A packet's time in a stage.
#[derive(Debug, Clone, Copy)]
struct Mark {
    joined: Time,
    began: Time,
    ended: Time,
    /// Packets waiting after its arrival, itself included.
    waiting: usize,
}

impl Express {
    pub(super) fn new(stages: usize) -> Self {
        Self {
            reach: None,
            alone: None,
            packets: VecDeque::new(),
            marks: VecDeque::new(),
            due: Time::MAX,
            sending: None,
            gone: 0,
            free: vec![(Time::ZERO, 0); stages],
            times: Times::default(),
            steps: false,
        }
    }

    /// Packets that stations do not hold.
    #[inline]
    pub(super) fn held(&self) -> usize {
        self.packets.len() + usize::from(self.alone.is_some()) + usize::from(self.sending.is_some())
    }

    /// Next observable event; `Time::MAX` for none.
    #[inline]
    pub(super) fn due(&self) -> Time {
        self.sending.as_ref().map_or(self.due, |sending| self.due.min(sending.ends))
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.alone.is_none() && self.packets.is_empty()
    }

    /// Whether one of them is in a stage from `first` on at `now`.
    #[inline]
    pub(super) fn has_come_to(&self, first: usize, now: Time) -> bool {
        let reached = !self.is_empty() && self.reach.is_some_and(|reach| first <= reach.stage);
        reached && self.first_marks().nth(first).is_some_and(|mark| mark.joined <= now)
    }

    /// Marks of the packet that is alone, or none.
    fn marks_alone(&self) -> impl Iterator<Item = Mark> {
        let mut at = self.alone.map_or(Time::ZERO, |(_, came)| came);
        let times = if self.alone.is_some() { &self.times.stages[..] } else { &[] };
        times.iter().map(move |time| {
            let mark = Mark { joined: at, began: at, ended: at + *time, waiting: 1 };
            at = mark.ended;
            mark
        })
    }

    fn first_marks(&self) -> impl Iterator<Item = Mark> {
        self.marks_alone().chain(self.marks.iter().copied())
    }

    /// Number of stages on the path.
    fn stages(&self) -> usize {
        self.reach.map_or(0, |reach| reach.stage + 1)
    }
}

impl Pipeline {
    pub(in crate::adapter) fn step_through(&mut self) {
        self.express.steps = true;
        self.look_how_far();
    }

    /// Computes the reach of the path.
    pub(super) fn look_how_far(&mut self) {
        self.express.reach = self.reach();
        self.express.times = Times::default();
    }

    fn reach(&self) -> Option<Reach> {
        let mut all = self.stations.iter().flat_map(|station| &station.stage.phases);
        // Packets without a buffer are not counted, so "alone" could not be checked.
        if self.express.steps || !self.is_plain || all.any(|phase| phase.releases) {
            return None;
        }
        let mut reach = None;
        'way: for (stage, station) in self.stations[..self.transmitting].iter().enumerate() {
            if !station.takes_at_once() {
                break;
            }
            for (phase, of) in station.stage.phases.iter().enumerate() {
                if !only_takes_time(of) || of.medium && !self.owns_link || self.is_shared(of) {
                    break 'way;
                }
                reach = Some((stage, phase));
                if is_seen(of) {
                    break 'way;
                }
            }
        }
        let (stage, phase) = reach?;
        let follows = self.may_follow(stage, phase);
        let last = &self.stations[stage].stage.phases;
        let goes_on = phase + 1 == last.len() && !is_seen(&last[phase]) && stage + 1 < self.transmitting;
        // A lone packet that is observable in the first stage gains no time.
        let sends = goes_on && self.only_sends(stage + 1);
        (stage > 0 || follows).then_some(Reach { stage, phase, follows, goes_on, sends })
    }

    /// Whether a phase holds a resource that other adapters want, too.
    fn is_shared(&self, phase: &Phase) -> bool {
        self.seat.is_some() && phase.holds.iter().any(|r| self.description.resources[*r].bus.is_some())
    }

    /// Whether packets may follow each other to the end of that phase, independently of the rest of
    /// the adapter.
    fn may_follow(&self, stage: usize, phase: usize) -> bool {
        let way = &self.stations[..=stage];
        let holds = |station: &Station, resource: usize| {
            station.stage.phases.iter().any(|phase| phase.holds.contains(&resource))
        };
        let own = (0..self.description.resources.len()).all(|resource| {
            let users = self.stations.iter().filter(|station| holds(station, resource)).count();
            users <= 1 || !way.iter().any(|station| holds(station, resource))
        });
        let last = phase + 1 == way[stage].stage.phases.len();
        own && last && way.iter().all(Station::serves_all_in_turn)
    }

    /// Puts a packet on the express path; returns whether that is possible.
    #[inline]
    pub(super) fn set_out(
        &mut self,
        now: Time,
        slot: Slot,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) -> bool {
        let Some(reach) = self.express.reach else { return false };
        let waits = self.hindered || self.copying != Time::ZERO || self.has_commands();
        if seldom(waits) || !self.finds_way_free(reach) {
            return false;
        }
        let packet = around.packets().at(slot);
        let size = packet.size;
        if seldom(!self.transmit_buffers.take(packet)) {
            return false;
        }
        if self.express.is_empty() {
            self.look_how_long(reach, size);
            self.express.alone = Some((slot, now));
            self.express.due = now + self.express.times.way;
        } else {
            self.follow(now, slot, size, reach);
        }
        self.due = self.due.min(self.express.due);
        true
    }

    /// Whether only express packets are before a new packet.
    #[inline]
    fn finds_way_free(&mut self, reach: Reach) -> bool {
        if !self.express.is_empty() {
            return reach.follows;
        }
        // A packet in the adapter has a buffer.
        match reach.follows {
            true => self.stations[..=reach.stage].iter().all(Station::is_empty),
            false => self.buffers_in_use() == 0,
        }
    }

    /// Puts a packet behind others.
    #[inline(never)]
    fn follow(&mut self, now: Time, slot: Slot, size: Bytes, reach: Reach) {
        if let Some((first, came)) = self.express.alone.take() {
            self.express.gone = 0;
            self.express.free.fill((came, 0));
            self.mark(came, first);
        }
        self.look_how_long(reach, size);
        self.mark(now, slot);
    }

    /// Computes a packet's marks.
    fn mark(&mut self, now: Time, slot: Slot) {
        let express = &mut self.express;
        let number = express.gone + express.packets.len();
        let (mut joined, stages) = (now, express.stages());
        for stage in 0..stages {
            let (free, later) = &mut express.free[stage];
            let began = joined.max(*free);
            let ended = began + express.times.stages[stage];
            *later = (*later).max(express.gone);
            // A packet that begins at the instant at which this one leaves the stage before has not
            // begun by then.
            while let Some(other) = express.marks.get((*later - express.gone) * stages + stage)
                && *later < number
                && (other.began < joined || stage == 0 && other.began == joined)
            {
                *later += 1;
            }
            express.marks.push_back(Mark { joined, began, ended, waiting: number - *later + 1 });
            *free = ended;
            joined = ended;
        }
        express.packets.push_back(slot);
        express.due = express.due.min(joined);
    }

    /// Handles the first packet when it becomes observable.
    #[inline]
    pub(super) fn arrive(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        let Some(reach) = self.express.reach.filter(|_| self.express.due <= now) else { return };
        match reach.goes_on {
            true if reach.sends && mostly(self.is_free_to_send(reach)) => self.send_first(reach, now, around),
            true => self.pass_first(reach, now, around),
            false => self.put_first(reach, now, around),
        }
        self.express.due = self.express.marks.get(reach.stage).map_or(Time::MAX, |mark| mark.ended);
    }

    /// Removes the first packet, with its arrival time if it was alone and has no marks.
    #[inline]
    fn take_first(&mut self) -> (Slot, Option<Time>) {
        let express = &mut self.express;
        if let Some((slot, came)) = express.alone.take() {
            return (slot, Some(came));
        }
        express.gone += 1;
        (express.packets.pop_front().expect("there is one"), None)
    }

    /// The removed packet's mark for `stage`, which it entered at `at` if it was alone.
    #[inline]
    fn next_mark(&mut self, stage: usize, at: Option<Time>) -> Mark {
        match at {
            Some(at) => {
                Mark { joined: at, began: at, ended: at + self.express.times.stages[stage], waiting: 1 }
            }
            None => self.express.marks.pop_front().expect("a packet has a mark for each stage"),
        }
    }

    /// Credits a stage with the packet.
    #[inline]
    fn carry(
        &mut self,
        stage: usize,
        slot: Slot,
        mark: &Mark,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) {
        let Mark { joined, began, ended, .. } = *mark;
        self.stations[stage].has_carried(ended.since(began));
        if self.recording {
            let (direction, packet) = (PacketDirection::Transmit, identity(around.packets().at(slot)));
            around.tell(AdapterOutput::Passed(Passage { direction, stage, packet, joined, began, ended }));
        }
    }

    /// Removes the first packet, which has finished all stages of the path; reports its passages
    /// and returns its last mark.
    #[inline]
    fn take_through(&mut self, reach: Reach, around: &mut impl Around<AdapterOutput<Slot>>) -> (Slot, Mark) {
        let (slot, mut at) = self.take_first();
        let mut stage = 0;
        loop {
            let mark = self.next_mark(stage, at);
            self.stations[stage].has_seen(mark.waiting);
            self.carry(stage, slot, &mark, around);
            if stage == reach.stage {
                return (slot, mark);
            }
            at = at.map(|_| mark.ended);
            stage += 1;
        }
    }

    /// Moves the first packet from the end of the path into the next stage.
    fn pass_first(&mut self, reach: Reach, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        let (slot, last) = self.take_through(reach, around);
        self.stations[reach.stage].hold_done(slot, (last.joined, last.began));
        if self.leave(reach.stage, 0, now, around) {
            self.stations[reach.stage].rest();
        }
    }

    /// If the last observable packet still blocks the path, moves all others into their stations.
    #[inline]
    pub(super) fn look_behind(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        if let Some(reach) = self.express.reach
            && !self.express.is_empty()
            && seldom(!self.stations[reach.stage].is_empty())
        {
            self.stop(now, around);
        }
    }

    /// Moves all express packets into their stations at `now`, before an input that could
    /// interfere.
    #[inline]
    pub(super) fn stop(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        if seldom(!self.express.is_empty() || self.express.sending.is_some()) {
            self.stop_all(now, around);
        }
    }

    /// As `stop`, for a received frame, which does not interfere where packets follow each other.
    #[inline]
    pub(super) fn meet(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        if self.express.reach.is_some_and(|reach| !reach.follows) {
            self.stop(now, around);
        }
    }

    #[inline(never)]
    fn stop_all(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        let reach = self.express.reach.expect("they go somewhere");
        self.stop_sending();
        while !self.express.is_empty() {
            self.put_first(reach, now, around);
        }
        self.express.due = Time::MAX;
        self.due = self.stations.iter().fold(Time::MAX, |due, station| due.min(station.ends));
    }

    /// Moves the first packet into its station at `now`.
    #[inline(never)]
    fn put_first(&mut self, reach: Reach, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        let (slot, mut at) = self.take_first();
        let mut is_there = false;
        for stage in 0..=reach.stage {
            let mark = self.next_mark(stage, at);
            if is_there {
                continue;
            }
            let Mark { joined, began, ended, waiting } = mark;
            at = at.map(|_| ended);
            self.stations[stage].has_seen(waiting);
            if ended <= now && stage < reach.stage {
                self.carry(stage, slot, &mark, around);
                continue;
            }
            let station = &mut self.stations[stage];
            is_there = true;
            // The server may still hold a packet that is to leave now.
            if began > now || !station.jobs.is_empty() {
                station.line_up_behind(slot, joined, around.packets().at(slot));
                continue;
            }
            let size = around.packets().at(slot).size;
            let phases = station.stage.phases.iter().enumerate();
            let mut since = began;
            let (mut number, mut until) = (0, began);
            for (at, phase) in phases {
                (number, until) = (at, since + time(&self.description, phase, size));
                if until > now || stage == reach.stage && at == reach.phase {
                    break;
                }
                since = until;
            }
            self.contenders += usize::from(!station.stage.phases[number].holds.is_empty());
            let at = At::Running { since, ends: until };
            let job = Job::alone(slot, (joined, began), (number, until.since(since)), at);
            station.resume(job, since.since(began), until);
        }
    }

    /// Adds the express packets' part until `now` to the statistics of stage `i`.
    pub(super) fn add_unseen(&self, i: usize, report: &mut StageReport, now: Time) {
        let (express, stages) = (&self.express, self.express.stages());
        if i >= stages {
            return self.add_sending(i, report, now);
        }
        let of_others = express.marks.iter().skip(i).step_by(stages).copied();
        for mark in express.marks_alone().skip(i).take(1).chain(of_others).filter(|mark| mark.joined <= now) {
            report.longest = report.longest.max(mark.waiting);
            report.waiting += usize::from(mark.began > now);
            report.busy += now.min(mark.ended).saturating_since(mark.began);
            // The last stage counts a packet only when it has left.
            report.passed += u64::from(mark.ended <= now && i + 1 < stages);
        }
    }
}
