//! Processes told apart: what waits of each has its turn, and who keeps a bandwidth goes first.
//!
//! Where doorbells of all processes are one queue, first come, first served, as the paper's hardware merges them, stamps come too late: they order what is behind the doorbells, and a process that rings
//! without end has everybody wait for all that it rang. A limit on what one process may have there makes that as many messages as the limit and as there are processes. So here each virtual interface
//! has a queue of its own, and what is next is chosen when there is room for it:
//!
//! * **By stamps**, who keeps its bandwidth: a clock for each queue, `auxVC ← max(came, auxVC) + Vtick`, as VirtualClock has it, that counts from when a doorbell *was rung* and not from when it is
//!   noticed. (Else a message that waited would push the clock of all that follow, and who asks for no more than its rate would get less.) It is kept while `auxVC` is no more than a message's interval
//!   ahead of time. So who sends a message in every interval, each up to an interval later than the one before was, is always within it, and goes before all that is not.
//! * **In turn**, all the rest: processes take turns, the queues of a process take turns in its turn. That is best effort, and what exceeds a bandwidth, which costs the bandwidth nothing. It has the
//!   stamp ∞ and so waits in each queue behind what has one; and no more than `ahead` of it are inside at a time, whoever's they are, so that who is let in next finds no more than those before it.
//!
//! A virtual interface whose excess is inside sends no more by its bandwidth until that is done or has a stamp, so its messages keep their order. Were it to wait for that to be done, it would have less
//! than its bandwidth beside others who ask for much, and nothing beside bandwidths of all there is. So of its excess the oldest is [given a stamp](super::stamps) as soon as its clock has come to
//! the present, and is as if it had been within the bandwidth from then on.
//!
//! Best effort has no bandwidth, and alone that lets it starve. With a rate set aside ([`Share`]) all of it together is one more flow with a bandwidth: what comes in when that allows it has its
//! stamp, and of what is inside with the stamp ∞ the oldest is given one likewise. Whoever has a stamp is none of the `ahead`, which are for what is beyond all rates. What exceeds a bandwidth has no part in
//! what is set aside.
//!
//! What comes from the network is told apart likewise, by lanes of which the engine takes the next. Whether a message was sent within a bandwidth is known where it was rung, and it carries that: who
//! judged it again would find some too early that were late on their way. What comes in turn is judged here, when the clock has come to the present, and so is what had to wait behind that: however it was stamped,
//! it was not others who held it up, and a virtual interface that had gathered much in the network would otherwise be let in in lumps of that.

use std::collections::VecDeque;

use laxity_qos::virtual_clock::{FlowClock, Vtick};
use laxity_units::{Bytes, Rate, Span, Time};

use super::FirmwareCosts;

/// Something that waits.
#[derive(Debug, Clone, Copy)]
struct Waiting<T> {
    item: T,
    /// None counts as a message of the largest size that the bandwidth is for.
    size: Option<Bytes>,
    came: Time,
    /// Its sender let it in in turn, so that it goes in turn here.
    in_turn: bool,
}

/// What waits of one virtual interface.
#[derive(Debug, Clone)]
struct Lane<T> {
    process: u32,
    vtick: Option<Vtick>,
    clock: FlowClock,
    /// Let in in turn, and not done with nor given a stamp by its own clock.
    inside: u32,
    /// Of those, without a stamp.
    unstamped: u32,
    queue: VecDeque<Waiting<T>>,
    /// It is among those that have turns; it may have become empty since.
    has_turn: bool,
}

/// What was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Taken<T> {
    pub(super) item: T,
    /// When it came.
    pub(super) came: Time,
    pub(super) stamp: Time,
    /// If it was let in in turn: [`Apart::done`] is to be told when it is.
    pub(super) in_turn: Option<InTurn>,
}

/// What was let in in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InTurn {
    /// Of which queue it is.
    pub(super) lane: u32,
    /// By what it goes.
    pub(super) by: By,
}

/// By what something goes that was let in in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// What is left over, until it is given a stamp: by its own clock, if it has a bandwidth, and else by that of the rate that is set aside.
    Turn,
    /// A stamp of the rate that is set aside, so it is not one of those that may be ahead.
    Share,
}

/// A rate that all best effort has together.
#[derive(Debug, Clone, Copy)]
struct Share {
    rate: Rate,
    clock: FlowClock,
}

impl Share {
    /// Anything counts for what one programmed entry moves, at least: who could ring for nothing would have all of the rate.
    fn tick(&self, size: Bytes) -> Span {
        self.rate.time_for_ceil(size.max(FirmwareCosts::FRAGMENT))
    }
}

/// Queues that have something, by turns: those of a process in its turn.
type Turns = VecDeque<(u32, VecDeque<u32>)>;

/// What waits of all processes.
#[derive(Debug, Clone)]
pub(super) struct Apart<T> {
    lanes: Vec<Lane<T>>,
    /// Lanes with a bandwidth in which something waits.
    reserved: Vec<u32>,
    turns: Turns,
    /// Whether bandwidths are judged here, or were before.
    judges: bool,
    /// How many more may be let in in turn without a stamp, and how many are inside without one that have no bandwidth.
    room: u32,
    behind: u32,
    share: Option<Share>,
    len: usize,
    /// Since when something waits.
    since: Time,
}

impl<T: Copy> Apart<T> {
    /// Nothing, of which `ahead` may be inside that were let in in turn; best effort goes by stamps up to `share`.
    pub(super) fn new(ahead: u32, judges: bool, share: Option<Rate>) -> Self {
        let (lanes, reserved, turns) = (Vec::new(), Vec::new(), VecDeque::new());
        let share = share.map(|rate| Share { rate, clock: FlowClock::default() });
        Self { lanes, reserved, turns, judges, room: ahead, behind: 0, share, len: 0, since: Time::MAX }
    }

    /// Lane `lane` is that of a virtual interface of `process` from now on. Of what it was before nothing waits; what is inside still is counted until it is done.
    pub(super) fn open(&mut self, lane: u32, process: u32, vtick: Option<Vtick>) {
        let lane = lane as usize;
        while self.lanes.len() <= lane {
            let (clock, queue) = (FlowClock::default(), VecDeque::new());
            self.lanes.push(Lane { process, vtick, clock, inside: 0, unstamped: 0, queue, has_turn: false });
        }
        let place = &mut self.lanes[lane];
        debug_assert!(place.queue.is_empty(), "nothing waits of what was there");
        self.behind = self.behind + place.behind_with(vtick) - place.behind_with(place.vtick);
        (place.vtick, place.clock) = (vtick, FlowClock::default());
        if place.process != process {
            // Its turns, if it has some still, are another's.
            place.has_turn = false;
            let (before, lane) = (place.process, lane as u32);
            place.process = process;
            for (_, lanes) in self.turns.iter_mut().filter(|(other, _)| *other == before) {
                lanes.retain(|other| *other != lane);
            }
        }
    }

    /// Another bandwidth for a lane. What it has used up of the old one stays used up.
    pub(super) fn renegotiate(&mut self, lane: u32, vtick: Option<Vtick>) {
        let place = &mut self.lanes[lane as usize];
        self.behind = self.behind + place.behind_with(vtick) - place.behind_with(place.vtick);
        place.vtick = vtick;
        self.reserved.retain(|other| *other != lane);
        if vtick.is_some() && !place.queue.is_empty() {
            self.reserved.push(lane);
        }
    }

    /// Something has come.
    pub(super) fn push(&mut self, lane: u32, item: T, size: Option<Bytes>, came: Time, in_turn: bool) {
        if self.len == 0 {
            self.since = came;
        }
        self.len += 1;
        let place = &mut self.lanes[lane as usize];
        if place.queue.is_empty() && place.vtick.is_some() {
            self.reserved.push(lane);
        }
        let held_up = place.inside > 0 || place.queue.back().is_some_and(|last| last.in_turn);
        place.queue.push_back(Waiting { item, size, came, in_turn: in_turn || (held_up && !self.judges) });
        if !std::mem::replace(&mut place.has_turn, true) {
            let process = place.process;
            match self.turns.iter_mut().find(|(other, _)| *other == process) {
                Some((_, lanes)) => lanes.push_back(lane),
                None => self.turns.push_back((process, VecDeque::from([lane]))),
            }
        }
    }

    /// The stamp that something has which comes and goes at once, since nothing waits and nothing is inside; and whether it goes in turn.
    pub(super) fn pass(&mut self, lane: u32, size: Option<Bytes>, now: Time, in_turn: bool) -> (Time, bool) {
        let judges = self.judges;
        let lane = &mut self.lanes[lane as usize];
        match lane.kept_from(in_turn, judges).filter(|from| *from <= now) {
            Some(_) => (lane.stamp(size, now), false),
            None => (Time::MAX, true),
        }
    }

    /// From when on something may be taken, if nothing else happens; [`Time::MAX`] for never.
    pub(super) fn since(&self) -> Time {
        if self.len == 0 {
            return Time::MAX;
        }
        if self.room > 0 {
            return self.since;
        }
        let from = self.reserved.iter().filter_map(|lane| self.lanes[*lane as usize].from(self.judges));
        from.min().unwrap_or(Time::MAX).min(self.shares_from())
    }

    /// From when on the rate set aside lets something in that waits, if there is room for nothing else.
    fn shares_from(&self) -> Time {
        let Some(share) = self.share.filter(|_| self.behind == 0) else { return Time::MAX };
        let mut lanes =
            self.turns.iter().flat_map(|(_, lanes)| lanes).map(|lane| &self.lanes[*lane as usize]);
        let from = lanes.by_ref().filter_map(|lane| Some(lane.shares_from()?.max(lane.queue.front()?.came)));
        from.min().map_or(Time::MAX, |from| from.max(share.clock.reading()))
    }

    /// The stamp of what would be taken at `at`; none if nothing may be.
    pub(super) fn rank(&self, at: Time) -> Option<Time> {
        let stamp = self.by_stamp(at).map(|(stamp, ..)| stamp);
        let shared = self.by_share(at);
        stamp.into_iter().chain(shared).min().or((self.len > 0 && self.room > 0).then_some(Time::MAX))
    }

    /// Takes what is next, if something may be taken at `at`.
    pub(super) fn take(&mut self, at: Time) -> Option<Taken<T>> {
        let shared = self.by_share(at);
        let first = self.by_stamp(at).filter(|(stamp, ..)| shared.is_none_or(|shared| *stamp <= shared));
        if let Some((stamp, _, lane)) = first {
            let Waiting { item, size, came, .. } = self.pop(lane);
            self.lanes[lane as usize].stamp(size, came);
            return Some(Taken { item, came, stamp, in_turn: None });
        }
        if self.len == 0 || (self.room == 0 && shared.is_none()) {
            return None;
        }
        let lane = self.turn(|lane| shared.is_none() || lane.shares(at));
        let Waiting { item, size, came, .. } = self.pop(lane);
        let place = &mut self.lanes[lane as usize];
        place.inside += 1;
        if shared.is_some() {
            let stamp = self.stamp_of_share(lane, (size.unwrap_or(Bytes::ZERO), came));
            return Some(Taken { item, came, stamp, in_turn: Some(InTurn { lane, by: By::Share }) });
        }
        place.unstamped += 1;
        self.room -= 1;
        self.behind += u32::from(place.vtick.is_none());
        Some(Taken { item, came, stamp: Time::MAX, in_turn: Some(InTurn { lane, by: By::Turn }) })
    }

    /// What was let in in turn is done with.
    pub(super) fn done(&mut self, InTurn { lane, by }: InTurn) {
        self.lanes[lane as usize].inside -= 1;
        if by == By::Turn {
            self.has_stamp(lane);
        }
    }

    /// One of `lane` that was inside without a stamp is so no more, and none of those ahead.
    fn has_stamp(&mut self, lane: u32) {
        let place = &mut self.lanes[lane as usize];
        place.unstamped -= 1;
        self.behind -= u32::from(place.vtick.is_none());
        self.room += 1;
    }

    /// By which clock what is inside of a lane is given stamps: its own, or none if by the one of all best effort.
    pub(super) fn own_clock(&self, lane: u32) -> Option<u32> {
        self.lanes[lane as usize].vtick.map(|_| lane)
    }

    /// From when on the oldest of a lane that is inside without a stamp may be given one; [`Time::MAX`] for never.
    pub(super) fn gives_stamp_at(&self, lane: u32) -> Time {
        let place = &self.lanes[lane as usize];
        match (place.vtick, self.share) {
            // It would pass what has a stamp of another clock.
            (Some(_), _) if place.inside > place.unstamped => Time::MAX,
            (Some(_), _) => place.clock.reading(),
            (None, Some(share)) => share.clock.reading(),
            (None, None) => Time::MAX,
        }
    }

    /// The stamp of one of `lane` and of a size that came then and is inside, if it is given one at `at`.
    pub(super) fn given(&self, lane: u32, (size, came): (Option<Bytes>, Time), at: Time) -> Option<Time> {
        if self.gives_stamp_at(lane) > at {
            return None;
        }
        let place = &self.lanes[lane as usize];
        match place.vtick {
            Some(vtick) => Some(place.clock.next(came, tick(vtick, size))),
            None => {
                let share = self.share?;
                Some(self.behind_own(lane, share.clock.next(came, share.tick(size.unwrap_or(Bytes::ZERO)))))
            }
        }
    }

    /// It is given that stamp, and is one of those ahead no more; and by what it goes then, if that is not its own bandwidth.
    pub(super) fn give(&mut self, lane: u32, (size, came): (Option<Bytes>, Time)) -> (Time, Option<InTurn>) {
        self.has_stamp(lane);
        let place = &mut self.lanes[lane as usize];
        match place.vtick {
            Some(_) => {
                place.inside -= 1;
                (place.stamp(size, came), None)
            }
            None => {
                let stamp = self.stamp_of_share(lane, (size.unwrap_or(Bytes::ZERO), came));
                (stamp, Some(InTurn { lane, by: By::Share }))
            }
        }
    }

    fn stamp_of_share(&mut self, lane: u32, (size, came): (Bytes, Time)) -> Time {
        let share = self.share.as_mut().expect("a rate is set aside");
        let tick = share.tick(size);
        let stamp = share.clock.stamp(came, Some(tick));
        self.behind_own(lane, stamp)
    }

    /// What had a bandwidth before and has none does not pass what was within it.
    fn behind_own(&self, lane: u32, stamp: Time) -> Time {
        stamp.max(self.lanes[lane as usize].clock.reading())
    }

    /// The stamp of the next in turn, if the rate set aside allows it in and nothing is inside that is to have one before.
    fn by_share(&self, at: Time) -> Option<Time> {
        let share = self.share.filter(|share| self.behind == 0 && share.clock.reading() <= at)?;
        let mut lanes = self.turns.iter().flat_map(|(_, lanes)| lanes);
        let (lane, first) = lanes.find_map(|lane| {
            let place = &self.lanes[*lane as usize];
            Some((*lane, place.queue.front().filter(|_| place.shares(at))?))
        })?;
        let tick = share.tick(first.size.unwrap_or(Bytes::ZERO));
        Some(self.behind_own(lane, share.clock.next(first.came, tick)))
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Of those that keep their bandwidth at `at` the one with the first stamp; of equal ones the first that came.
    fn by_stamp(&self, at: Time) -> Option<(Time, Time, u32)> {
        let judges = self.judges;
        let keeping = self.reserved.iter().filter_map(|&number| {
            let lane = &self.lanes[number as usize];
            let first = lane.queue.front()?;
            let vtick = lane.vtick?;
            lane.kept_from(first.in_turn, judges).filter(|from| *from <= at)?;
            let stamp = lane.clock.next(first.came, tick(vtick, first.size));
            Some((stamp, first.came, number))
        });
        keeping.min()
    }

    /// The lane whose turn it is, of those that `may`; the next time it is another process's, and another lane's of this one.
    fn turn(&mut self, may: impl Fn(&Lane<T>) -> bool) -> u32 {
        let mut process = 0;
        loop {
            let lanes = &mut self.turns[process].1;
            let mut next = 0;
            while let Some(lane) = lanes.get(next) {
                let place = &mut self.lanes[*lane as usize];
                if place.queue.is_empty() {
                    place.has_turn = false;
                    lanes.remove(next);
                } else if may(place) {
                    break;
                } else {
                    next += 1;
                }
            }
            if let Some(lane) = lanes.remove(next) {
                let place = &mut self.lanes[lane as usize];
                place.has_turn = place.queue.len() > 1;
                if place.has_turn {
                    lanes.push_back(lane);
                }
                if let Some(turn) = self.turns.remove(process).filter(|(_, lanes)| !lanes.is_empty()) {
                    self.turns.push_back(turn);
                }
                return lane;
            }
            match lanes.is_empty() {
                true => drop(self.turns.remove(process)),
                false => process += 1,
            }
        }
    }

    fn pop(&mut self, lane: u32) -> Waiting<T> {
        let place = &mut self.lanes[lane as usize];
        let first = place.queue.pop_front().expect("something waits there");
        if place.queue.is_empty() {
            self.reserved.retain(|other| *other != lane);
        }
        self.len -= 1;
        first
    }
}

impl<T> Lane<T> {
    /// From when on its first is within its bandwidth, if it is to be sent by that.
    fn from(&self, judges: bool) -> Option<Time> {
        let first = self.queue.front()?;
        Some(self.kept_from(first.in_turn, judges)?.max(first.came))
    }

    /// Whether it has part in the rate that is set aside.
    fn shares(&self, at: Time) -> bool {
        self.shares_from().is_some_and(|from| from <= at)
    }

    /// From when on it has, if it has no bandwidth: when it has had none that it has used up.
    fn shares_from(&self) -> Option<Time> {
        self.vtick.is_none().then(|| self.clock.reading())
    }

    /// From when on anything that is there is within its bandwidth.
    fn kept_from(&self, in_turn: bool, judges: bool) -> Option<Time> {
        let vtick = self.vtick.filter(|_| self.inside == 0)?;
        Some(match (judges, in_turn) {
            (true, _) => self.clock.reading().saturating_sub(vtick.interval()),
            (false, true) => self.clock.reading(),
            (false, false) => Time::ZERO,
        })
    }

    /// How many of it would be inside without a stamp or a bandwidth, if that were its bandwidth.
    fn behind_with(&self, vtick: Option<Vtick>) -> u32 {
        if vtick.is_none() { self.unstamped } else { 0 }
    }

    fn stamp(&mut self, size: Option<Bytes>, came: Time) -> Time {
        let tick = self.vtick.map(|vtick| tick(vtick, size));
        self.clock.stamp(came, tick)
    }
}

/// What a message of `size` costs a bandwidth.
fn tick(vtick: Vtick, size: Option<Bytes>) -> Span {
    size.map_or(vtick.interval(), |size| vtick.of(size))
}

#[cfg(test)]
mod tests;
