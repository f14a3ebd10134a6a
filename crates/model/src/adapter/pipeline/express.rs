//! Packets that nobody sees for a while.
//!
//! Where stages serve whoever comes first, and what one needs no other wants, the end of each phase is a sum and a maximum, known when a packet comes; and until the first end
//! that others see (a frame has left, or asks for the medium) there is nothing that anybody could be told. To go through such stages one by one,
//! each end an event, is most of what a packet costs. So its times are computed when it comes, and it is looked at again at the last of them.
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
//! Packets [follow](Express::follows) each other unseen where a stage has one server, a queue without an end, and resources of its own. Elsewhere one goes
//! so if it is alone in the whole adapter: mostly, that is, where the host leaves it one packet at a time or leaves it idle.
//!
//! Where nothing is behind those stages but a medium that others share, they are [alone there](sending), too, mostly.
//!
//! Whatever comes in between that could touch them finds all where they would be by then, in servers and in lines ([`Pipeline::stop`]), and what they have behind them is in the accounts
//! of the stages. Only who hears of [passages](AdapterOutput::Passed) hears of them later, with the times at which they were. What happens at the very instant at which
//! one of these packets goes on finds it gone on.

mod sending;
mod times;

use std::collections::VecDeque;

use laxity_qos::channel::Slot;
use laxity_qos::seldom::{mostly, seldom};
use laxity_units::{Bytes, Time};

use super::job::{At, Job};
use super::station::Station;
use super::{Direction, Passage, Pipeline, StageReport};
use crate::adapter::{AdapterOutput, Phase};
use crate::around::Around;
use sending::Sending;
use times::{Times, is_seen, only_takes_time, time};

/// The packets that go unseen, in their order.
#[derive(Debug)]
pub(super) struct Express {
    reach: Option<Reach>,
    /// The only one, which needs no marks, and when it came: as they mostly are.
    alone: Option<(Slot, Time)>,
    /// Otherwise all.
    packets: VecDeque<Slot>,
    /// Of each packet, for each stage as far as it goes.
    marks: VecDeque<Mark>,
    /// When the first of them comes to be seen; `Time::MAX` if there is none.
    due: Time,
    /// The one before them that is at the medium, alone there.
    sending: Option<Sending>,
    /// Packets that have gone since there was none, which gives the others their numbers.
    gone: usize,
    /// Per stage: when its server is free, and the number of the first packet that began after the last one came.
    free: Vec<(Time, usize)>,
    times: Times,
    /// None goes unseen.
    steps: bool,
}

/// As far as nobody sees anything of a packet: to the end of that phase of that stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reach {
    stage: usize,
    phase: usize,
    /// Whether a packet may come while others are on their way.
    follows: bool,
    /// Whether there it goes on to the next stage, which is all that others see of it.
    goes_on: bool,
    /// Whether that is the last one, which does nothing but send frames on a medium that others share.
    sends: bool,
}

/// A packet's time in a stage.
#[derive(Debug, Clone, Copy)]
struct Mark {
    joined: Time,
    began: Time,
    ended: Time,
    /// Packets that waited when it had come, itself included.
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

    /// Packets of which stations know nothing.
    #[inline]
    pub(super) fn held(&self) -> usize {
        self.packets.len() + usize::from(self.alone.is_some()) + usize::from(self.sending.is_some())
    }

    /// When something of them is seen next; `Time::MAX` if nothing is.
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

    /// Those of the one that is alone, or of none.
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

    /// How many stages it goes through.
    fn stages(&self) -> usize {
        self.reach.map_or(0, |reach| reach.stage + 1)
    }
}

impl Pipeline {
    pub(in crate::adapter) fn step_through(&mut self) {
        self.express.steps = true;
        self.look_how_far();
    }

    /// Finds out how far packets go unseen.
    pub(super) fn look_how_far(&mut self) {
        self.express.reach = self.reach();
        self.express.times = Times::default();
    }

    fn reach(&self) -> Option<Reach> {
        let mut all = self.stations.iter().flat_map(|station| &station.stage.phases);
        // Who has no buffer is not counted, and nobody is alone beside them.
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
        // Who is alone, and is seen in the first stage, gains nothing.
        let sends = goes_on && self.only_sends(stage + 1);
        (stage > 0 || follows).then_some(Reach { stage, phase, follows, goes_on, sends })
    }

    /// Whether a phase holds what other adapters want, too.
    fn is_shared(&self, phase: &Phase) -> bool {
        self.seat.is_some() && phase.holds.iter().any(|r| self.description.resources[*r].bus.is_some())
    }

    /// Whether packets may be on their way to the end of that phase one behind the other, beside whatever else is in the adapter.
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

    /// Sends a packet on its way unseen; answers whether it can go so.
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

    /// Whether nobody is in the way of a packet but those that are unseen, too.
    #[inline]
    fn finds_way_free(&mut self, reach: Reach) -> bool {
        if !self.express.is_empty() {
            return reach.follows;
        }
        // Who is in the adapter has a buffer.
        match reach.follows {
            true => self.stations[..=reach.stage].iter().all(Station::is_empty),
            false => self.buffers_in_use() == 0,
        }
    }

    /// Sends a packet behind others.
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

    /// Computes when a packet is where.
    fn mark(&mut self, now: Time, slot: Slot) {
        let express = &mut self.express;
        let number = express.gone + express.packets.len();
        let (mut joined, stages) = (now, express.stages());
        for stage in 0..stages {
            let (free, later) = &mut express.free[stage];
            let began = joined.max(*free);
            let ended = began + express.times.stages[stage];
            *later = (*later).max(express.gone);
            // Who begins at the instant at which this one comes out of the stage before has not begun by then.
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

    /// The time has come at which the first is seen.
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

    /// Takes out the first, with the time to which its marks go back if it is alone and has none.
    #[inline]
    fn take_first(&mut self) -> (Slot, Option<Time>) {
        let express = &mut self.express;
        if let Some((slot, came)) = express.alone.take() {
            return (slot, Some(came));
        }
        express.gone += 1;
        (express.packets.pop_front().expect("there is one"), None)
    }

    /// The mark for `stage` of who has been taken out, whose way went on there at `at` if it was alone.
    #[inline]
    fn next_mark(&mut self, stage: usize, at: Option<Time>) -> Mark {
        match at {
            Some(at) => {
                Mark { joined: at, began: at, ended: at + self.express.times.stages[stage], waiting: 1 }
            }
            None => self.express.marks.pop_front().expect("a packet has a mark for each stage"),
        }
    }

    /// It is done with a stage.
    #[inline]
    fn carry(&mut self, stage: usize, mark: &Mark, around: &mut impl Around<AdapterOutput<Slot>>) {
        let Mark { joined, began, ended, .. } = *mark;
        self.stations[stage].has_carried(ended.since(began));
        if self.recording {
            let direction = Direction::Transmit;
            around.tell(AdapterOutput::Passed(Passage { direction, stage, joined, began, ended }));
        }
    }

    /// Takes out the first, which is done with all stages of its way unseen; tells of it and answers when it was in the last one.
    #[inline]
    fn take_through(&mut self, reach: Reach, around: &mut impl Around<AdapterOutput<Slot>>) -> (Slot, Mark) {
        let (slot, mut at) = self.take_first();
        let mut stage = 0;
        loop {
            let mark = self.next_mark(stage, at);
            self.stations[stage].has_seen(mark.waiting);
            self.carry(stage, &mark, around);
            if stage == reach.stage {
                return (slot, mark);
            }
            at = at.map(|_| mark.ended);
            stage += 1;
        }
    }

    /// The first comes out of the last stage of its way unseen, and into the next one.
    fn pass_first(&mut self, reach: Reach, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        let (slot, last) = self.take_through(reach, around);
        self.stations[reach.stage].hold_done(slot, (last.joined, last.began));
        if self.leave(reach.stage, 0, now, around) {
            self.stations[reach.stage].rest();
        }
    }

    /// If who was seen last is still where all others have to pass, they are put where they are.
    #[inline]
    pub(super) fn look_behind(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        if let Some(reach) = self.express.reach
            && !self.express.is_empty()
            && seldom(!self.stations[reach.stage].is_empty())
        {
            self.stop(now, around);
        }
    }

    /// Puts all that go unseen where they are at `now`, since something comes that could touch them.
    #[inline]
    pub(super) fn stop(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        if seldom(!self.express.is_empty() || self.express.sending.is_some()) {
            self.stop_all(now, around);
        }
    }

    /// The same if what comes is a frame, which wants nothing of what they have where packets follow each other.
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

    /// Puts the first where it is at `now`.
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
                self.carry(stage, &mark, around);
                continue;
            }
            let station = &mut self.stations[stage];
            is_there = true;
            // The server may still have who should have gone by now.
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

    /// What stage `i` has done is what it knows of, and what it has of those by `now` that go unseen.
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
            // Of the last it is not known before it has happened.
            report.passed += u64::from(mark.ended <= now && i + 1 < stages);
        }
    }
}
