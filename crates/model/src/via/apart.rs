//! Separated processes: waiting items take turns by process, and those within their bandwidth go
//! first.
//!
//! If the doorbells of all processes share one FIFO queue, as the paper's hardware merges them,
//! stamps take effect too late: they order only the work behind the doorbells, and a process that
//! rings without end delays all others by its whole backlog. A limit per process bounds that delay
//! by the limit times the number of processes. Therefore each virtual interface has a queue of its
//! own here, and the next item is chosen when there is room for it:
//!
//! * **By stamps**, items within their bandwidth. Each queue has a clock, `auxVC ←
//!   max(came, auxVC) + Vtick`, as in VirtualClock. `came` is the time at which a doorbell *was
//!   rung*, not the time at which it is noticed. (Otherwise a message that waited would advance the
//!   clock of all that follow, and a sender within its rate would get less.) An item is within the bandwidth while `auxVC` is at
//!   most one message interval ahead of time. So a sender of one message per interval, each up to
//!   an interval later than the one before, is always within it, and precedes all excess.
//! * **In turn**, all other items: processes take turns, and the queues of a process take turns in
//!   its turn. These are best effort and the excess over a bandwidth, which is not charged to the
//!   bandwidth. They have the stamp ∞ and so wait in each queue behind stamped items. At most
//!   `ahead` of them, over all processes, are inside at a time, so the next admitted item finds no
//!   more than those before it.
//!
//! A virtual interface whose excess is inside sends no more by its bandwidth until that excess is
//! done or has a stamp, which keeps its messages in order. Were it to wait until the excess is
//! done, it would get less than its bandwidth beside heavy load, and zero beside bandwidths that
//! fill the capacity. Therefore the oldest of its excess is [given a stamp](super::stamps) as soon
//! as its clock has reached the present, and from then on counts as within the bandwidth.
//!
//! Best effort has no bandwidth, and alone would starve. With a reserved rate ([`Share`]) all best
//! effort together is one more flow with a bandwidth: an item admitted by that rate has its stamp,
//! and the oldest item inside with the stamp ∞ is given one likewise. Stamped items do not count
//! among the `ahead`, which are for traffic beyond all rates. The excess over a bandwidth has no
//! part in the reserved rate.
//!
//! Messages from the network are separated likewise, by lanes from which the engine takes the next.
//! Whether a message was sent within a bandwidth is decided where it was rung, and the message
//! carries the decision: a second decision would find some messages early that were late on their
//! path. A message sent in turn is judged here, when the clock has reached the present, and so are
//! messages that waited behind it. Its own virtual interface and not other traffic delayed them;
//! otherwise a virtual interface with a large backlog in the network would be admitted in bursts of
//! that size.

use std::collections::VecDeque;

use laxity_qos::virtual_clock::{FlowClock, Vtick};
use laxity_units::{Bytes, Rate, Span, Time};

use super::FirmwareCosts;

/// A waiting item.
#[derive(Debug, Clone, Copy)]
struct Waiting<T> {
    item: T,
    /// Without a size it counts as a message of the largest size that the bandwidth is for.
    size: Option<Bytes>,
    came: Time,
    /// Its sender admitted it in turn, so it goes in turn here.
    in_turn: bool,
}

/// Waiting items of one virtual interface.
#[derive(Debug, Clone)]
struct Lane<T> {
    process: u32,
    vtick: Option<Vtick>,
    clock: FlowClock,
    /// Items admitted in turn that are not done and have no stamp by the lane's own clock.
    inside: u32,
    /// Those of `inside` without a stamp.
    unstamped: u32,
    queue: VecDeque<Waiting<T>>,
    /// The lane is in `turns`; its queue may have become empty since.
    has_turn: bool,
}

/// An item taken from a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Taken<T> {
    pub(super) item: T,
    /// Its arrival time.
    pub(super) came: Time,
    pub(super) stamp: Time,
    /// Set if it was admitted in turn: [`Apart::done`] is to be called when it is done.
    pub(super) in_turn: Option<InTurn>,
}

/// An item admitted in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InTurn {
    /// Its lane.
    pub(super) lane: u32,
    /// Its current order.
    pub(super) by: By,
}

/// How an item admitted in turn is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// By residual capacity, until it is given a stamp: by its lane's clock if the lane has a
    /// bandwidth, else by the clock of the reserved rate.
    Turn,
    /// By a stamp of the reserved rate, so it does not count among the `ahead`.
    Share,
}

/// A rate that all best effort has together.
#[derive(Debug, Clone, Copy)]
struct Share {
    rate: Rate,
    clock: FlowClock,
}

impl Share {
    /// Each item counts for at least one programmed entry's data: items of size zero would
    /// otherwise get the whole rate.
    fn tick(&self, size: Bytes) -> Span {
        self.rate.time_for_ceil(size.max(FirmwareCosts::FRAGMENT))
    }
}

/// Non-empty queues in the order of turns, by process.
type Turns = VecDeque<(u32, VecDeque<u32>)>;

/// Waiting items of all processes.
#[derive(Debug, Clone)]
pub(super) struct Apart<T> {
    lanes: Vec<Lane<T>>,
    /// Lanes with a bandwidth and a waiting item.
    reserved: Vec<u32>,
    turns: Turns,
    /// Whether bandwidths are judged here, or were upstream.
    judges: bool,
    /// How many more items may be admitted in turn without a stamp, and how many are inside without
    /// a stamp and without a bandwidth.
    room: u32,
    behind: u32,
    share: Option<Share>,
    len: usize,
    /// Since when an item waits.
    since: Time,
}

impl<T: Copy> Apart<T> {
    /// Empty queues, with at most `ahead` items inside that were admitted in turn; best effort goes
    /// by stamps up to the rate `share`.
    pub(super) fn new(ahead: u32, judges: bool, share: Option<Rate>) -> Self {
        let (lanes, reserved, turns) = (Vec::new(), Vec::new(), VecDeque::new());
        let share = share.map(|rate| Share { rate, clock: FlowClock::default() });
        Self { lanes, reserved, turns, judges, room: ahead, behind: 0, share, len: 0, since: Time::MAX }
    }

    /// Assigns `lane` to a virtual interface of `process`. No item of its former owner waits; items
    /// inside are counted until they are done.
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
            // Its former process no longer has turns for it.
            place.has_turn = false;
            let (before, lane) = (place.process, lane as u32);
            place.process = process;
            for (_, lanes) in self.turns.iter_mut().filter(|(other, _)| *other == before) {
                lanes.retain(|other| *other != lane);
            }
        }
    }

    /// Changes the bandwidth of a lane. Its use of the old bandwidth still counts.
    pub(super) fn renegotiate(&mut self, lane: u32, vtick: Option<Vtick>) {
        let place = &mut self.lanes[lane as usize];
        self.behind = self.behind + place.behind_with(vtick) - place.behind_with(place.vtick);
        place.vtick = vtick;
        self.reserved.retain(|other| *other != lane);
        if vtick.is_some() && !place.queue.is_empty() {
            self.reserved.push(lane);
        }
    }

    /// An item arrives.
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

    /// Stamp of an item that arrives and is taken at once, since all is empty; and whether it goes
    /// in turn.
    pub(super) fn pass(&mut self, lane: u32, size: Option<Bytes>, now: Time, in_turn: bool) -> (Time, bool) {
        let judges = self.judges;
        let lane = &mut self.lanes[lane as usize];
        match lane.kept_from(in_turn, judges).filter(|from| *from <= now) {
            Some(_) => (lane.stamp(size, now), false),
            None => (Time::MAX, true),
        }
    }

    /// Earliest time at which an item may be taken, without further input; [`Time::MAX`] for never.
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

    /// Earliest time at which the reserved rate admits a waiting item, if no room is left
    /// otherwise.
    fn shares_from(&self) -> Time {
        let Some(share) = self.share.filter(|_| self.behind == 0) else { return Time::MAX };
        let mut lanes =
            self.turns.iter().flat_map(|(_, lanes)| lanes).map(|lane| &self.lanes[*lane as usize]);
        let from = lanes.by_ref().filter_map(|lane| Some(lane.shares_from()?.max(lane.queue.front()?.came)));
        from.min().map_or(Time::MAX, |from| from.max(share.clock.reading()))
    }

    /// Stamp of the item that would be taken at `at`; none if no item may be.
    pub(super) fn rank(&self, at: Time) -> Option<Time> {
        let stamp = self.by_stamp(at).map(|(stamp, ..)| stamp);
        let shared = self.by_share(at);
        stamp.into_iter().chain(shared).min().or((self.len > 0 && self.room > 0).then_some(Time::MAX))
    }

    /// Takes the next item, if one may be taken at `at`.
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

    /// An item admitted in turn is done.
    pub(super) fn done(&mut self, InTurn { lane, by }: InTurn) {
        self.lanes[lane as usize].inside -= 1;
        if by == By::Turn {
            self.has_stamp(lane);
        }
    }

    /// An item of `lane` inside is no longer unstamped, and no longer counts among the `ahead`.
    fn has_stamp(&mut self, lane: u32) {
        let place = &mut self.lanes[lane as usize];
        place.unstamped -= 1;
        self.behind -= u32::from(place.vtick.is_none());
        self.room += 1;
    }

    /// The lane with its own clock for stamps of items inside; none for the common clock of best
    /// effort.
    pub(super) fn own_clock(&self, lane: u32) -> Option<u32> {
        self.lanes[lane as usize].vtick.map(|_| lane)
    }

    /// Earliest time at which the oldest unstamped item of a lane inside may be given a stamp;
    /// [`Time::MAX`] for never.
    pub(super) fn gives_stamp_at(&self, lane: u32) -> Time {
        let place = &self.lanes[lane as usize];
        match (place.vtick, self.share) {
            // It would overtake an item that has a stamp of another clock.
            (Some(_), _) if place.inside > place.unstamped => Time::MAX,
            (Some(_), _) => place.clock.reading(),
            (None, Some(share)) => share.clock.reading(),
            (None, None) => Time::MAX,
        }
    }

    /// Stamp of an item of `lane` inside with this size and arrival time, if it may be given one at
    /// `at`.
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

    /// Gives that stamp, and removes the item from the `ahead`; also returns its new order, if that
    /// is not its own bandwidth.
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

    /// An item of a lane that lost its bandwidth does not overtake items that were within it.
    fn behind_own(&self, lane: u32, stamp: Time) -> Time {
        stamp.max(self.lanes[lane as usize].clock.reading())
    }

    /// Stamp of the next item in turn, if the reserved rate admits it and no item inside is to have
    /// a stamp before.
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

    /// Of the lanes within their bandwidth at `at` the one with the smallest stamp; ties go to the
    /// earliest arrival.
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

    /// The lane that has its turn, of those that `may`; the next turn is another process's, and
    /// another lane's of this process.
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
    /// Earliest time at which its first item is within its bandwidth, if it is to be sent by that.
    fn from(&self, judges: bool) -> Option<Time> {
        let first = self.queue.front()?;
        Some(self.kept_from(first.in_turn, judges)?.max(first.came))
    }

    /// Whether it takes part in the reserved rate at `at`.
    fn shares(&self, at: Time) -> bool {
        self.shares_from().is_some_and(|from| from <= at)
    }

    /// Earliest time at which it does, if it has no bandwidth: when the use of a former bandwidth
    /// has passed.
    fn shares_from(&self) -> Option<Time> {
        self.vtick.is_none().then(|| self.clock.reading())
    }

    /// Earliest time at which a present item is within its bandwidth.
    fn kept_from(&self, in_turn: bool, judges: bool) -> Option<Time> {
        let vtick = self.vtick.filter(|_| self.inside == 0)?;
        Some(match (judges, in_turn) {
            (true, _) => self.clock.reading().saturating_sub(vtick.interval()),
            (false, true) => self.clock.reading(),
            (false, false) => Time::ZERO,
        })
    }

    /// Number of its items inside without a stamp or a bandwidth, if `vtick` were its bandwidth.
    fn behind_with(&self, vtick: Option<Vtick>) -> u32 {
        if vtick.is_none() { self.unstamped } else { 0 }
    }

    fn stamp(&mut self, size: Option<Bytes>, came: Time) -> Time {
        let tick = self.vtick.map(|vtick| tick(vtick, size));
        self.clock.stamp(came, tick)
    }
}

/// Charge of a message of `size` to a bandwidth.
fn tick(vtick: Vtick, size: Option<Bytes>) -> Span {
    size.map_or(vtick.interval(), |size| vtick.of(size))
}

#[cfg(test)]
mod tests;
