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
//! A virtual interface whose excess is inside sends no more by its bandwidth until that is done, so its messages keep their order.
//!
//! What comes from the network is told apart likewise, by lanes of which the engine takes the next. Whether a message was sent within a bandwidth is known where it was rung, and it carries that: who
//! judged it again would find some too early that were late on their way.

use std::collections::VecDeque;

use laxity_qos::virtual_clock::{FlowClock, Vtick};
use laxity_units::{Bytes, Span, Time};

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
    /// Let in in turn, and not done with.
    inside: u32,
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
    /// Of which queue it is, if it was let in in turn: [`Apart::done`] is to be told when it is.
    pub(super) in_turn: Option<u32>,
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
    /// How many more may be let in in turn.
    room: u32,
    len: usize,
    /// Since when something waits.
    since: Time,
}

impl<T: Copy> Apart<T> {
    /// Nothing, of which `ahead` may be inside that were let in in turn.
    pub(super) fn new(ahead: u32, judges: bool) -> Self {
        let (lanes, reserved, turns) = (Vec::new(), Vec::new(), VecDeque::new());
        Self { lanes, reserved, turns, judges, room: ahead, len: 0, since: Time::MAX }
    }

    /// Lane `lane` is that of a virtual interface of `process` from now on. Of what it was before nothing waits; what is inside still is counted until it is done.
    pub(super) fn open(&mut self, lane: u32, process: u32, vtick: Option<Vtick>) {
        let lane = lane as usize;
        while self.lanes.len() <= lane {
            let (clock, queue) = (FlowClock::default(), VecDeque::new());
            self.lanes.push(Lane { process, vtick, clock, inside: 0, queue, has_turn: false });
        }
        let place = &mut self.lanes[lane];
        debug_assert!(place.queue.is_empty(), "nothing waits of what was there");
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
        place.queue.push_back(Waiting { item, size, came, in_turn });
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
        from.min().unwrap_or(Time::MAX)
    }

    /// The stamp of what would be taken at `at`; none if nothing may be.
    pub(super) fn rank(&self, at: Time) -> Option<Time> {
        let stamp = self.by_stamp(at).map(|(stamp, ..)| stamp);
        stamp.or((self.len > 0 && self.room > 0).then_some(Time::MAX))
    }

    /// Takes what is next, if something may be taken at `at`.
    pub(super) fn take(&mut self, at: Time) -> Option<Taken<T>> {
        if let Some((stamp, _, lane)) = self.by_stamp(at) {
            let Waiting { item, size, came, .. } = self.pop(lane);
            self.lanes[lane as usize].stamp(size, came);
            return Some(Taken { item, came, stamp, in_turn: None });
        }
        if self.len == 0 || self.room == 0 {
            return None;
        }
        let lane = self.turn();
        let Waiting { item, came, .. } = self.pop(lane);
        self.lanes[lane as usize].inside += 1;
        self.room -= 1;
        Some(Taken { item, came, stamp: Time::MAX, in_turn: Some(lane) })
    }

    /// What was let in in turn is done with.
    pub(super) fn done(&mut self, lane: u32) {
        self.lanes[lane as usize].inside -= 1;
        self.room += 1;
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

    /// The lane whose turn it is; the next time it is another process's, and another lane's of this one.
    fn turn(&mut self) -> u32 {
        loop {
            let (process, mut lanes) = self.turns.pop_front().expect("something waits");
            while let Some(lane) = lanes.pop_front() {
                let place = &mut self.lanes[lane as usize];
                match place.queue.len() {
                    0 => place.has_turn = false,
                    1 => {
                        place.has_turn = false;
                        if !lanes.is_empty() {
                            self.turns.push_back((process, lanes));
                        }
                        return lane;
                    }
                    _ => {
                        lanes.push_back(lane);
                        self.turns.push_back((process, lanes));
                        return lane;
                    }
                }
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

    /// The same of anything that is there.
    fn kept_from(&self, in_turn: bool, judges: bool) -> Option<Time> {
        let vtick = self.vtick.filter(|_| !in_turn && self.inside == 0)?;
        Some(if judges { self.clock.reading().saturating_sub(vtick.interval) } else { Time::ZERO })
    }

    fn stamp(&mut self, size: Option<Bytes>, came: Time) -> Time {
        let tick = self.vtick.map(|vtick| tick(vtick, size));
        self.clock.stamp(came, tick)
    }
}

/// What a message of `size` costs a bandwidth.
fn tick(vtick: Vtick, size: Option<Bytes>) -> Span {
    size.map_or(vtick.interval, |size| vtick.of(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// A KiB in so many microseconds.
    fn every(us: u64) -> Option<Vtick> {
        Some(Vtick { interval: Span::from_us(us), size: Bytes::from_kib(1) })
    }

    /// Lanes of processes, with a bandwidth or none, of which so many may be inside.
    fn lanes(ahead: u32, of: &[(u32, Option<Vtick>)]) -> Apart<u32> {
        let mut apart = Apart::new(ahead, true);
        (0..).zip(of).for_each(|(lane, (process, vtick))| apart.open(lane, *process, *vtick));
        apart
    }

    fn ring(apart: &mut Apart<u32>, at: u64, lane: u32, items: std::ops::Range<u32>) {
        items.for_each(|item| apart.push(lane, item, Some(Bytes::from_kib(1)), us(at), false));
    }

    fn all(apart: &mut Apart<u32>, at: u64) -> Vec<u32> {
        std::iter::from_fn(|| apart.take(us(at)).map(|taken| taken.item)).collect()
    }

    #[test]
    fn processes_have_turns_and_in_them_their_virtual_interfaces() {
        let mut apart = lanes(9, &[(7, None), (7, None), (8, None)]);
        ring(&mut apart, 0, 0, 0..3);
        ring(&mut apart, 0, 1, 10..12);
        ring(&mut apart, 0, 2, 20..24);
        assert_eq!(all(&mut apart, 0), [0, 20, 10, 21, 1, 22, 11, 23, 2]);
    }

    #[test]
    fn so_many_are_inside_and_the_next_when_one_is_done() {
        let mut apart = lanes(2, &[(7, None), (8, None)]);
        ring(&mut apart, 0, 0, 0..3);
        assert_eq!(all(&mut apart, 0), [0, 1]);
        assert_eq!((apart.rank(us(0)), apart.since()), (None, Time::MAX));
        ring(&mut apart, 5, 1, 10..11);
        apart.done(0);
        // 2 has waited for longer, and 7 has had its turn.
        assert_eq!(all(&mut apart, 5), [2]);
        apart.done(0);
        assert_eq!(all(&mut apart, 5), [10]);
        assert_eq!(apart.len(), 0);
    }

    #[test]
    fn who_keeps_a_bandwidth_goes_first_and_by_its_stamp() {
        let mut apart = lanes(1, &[(7, None), (8, every(100)), (9, every(50))]);
        ring(&mut apart, 0, 0, 0..2);
        ring(&mut apart, 1, 1, 10..11);
        ring(&mut apart, 2, 2, 20..21);
        // 101 and 52; then the turn, and no room for another.
        assert_eq!(apart.rank(us(2)), Some(us(52)));
        assert_eq!(all(&mut apart, 2), [20, 10, 0]);
        // What has a bandwidth needs no room.
        ring(&mut apart, 60, 2, 21..22);
        assert_eq!((apart.since(), apart.rank(us(60))), (us(60), Some(us(110))));
    }

    #[test]
    fn what_exceeds_a_bandwidth_goes_in_turn_and_costs_it_nothing() {
        let mut apart = lanes(1, &[(8, every(100))]);
        ring(&mut apart, 0, 0, 0..5);
        let taken: Vec<_> = std::iter::from_fn(|| apart.take(us(0))).collect();
        // The clock goes to 100 and 200, an interval ahead and then two; the third goes in turn, and the fourth finds no room.
        assert_eq!(taken.iter().map(|taken| taken.stamp).collect::<Vec<_>>(), [us(100), us(200), Time::MAX]);
        // While the third is inside, the fourth does not pass it.
        assert_eq!((apart.take(us(500)), apart.since()), (None, Time::MAX));
        apart.done(0);
        let next = apart.take(us(500)).unwrap();
        assert_eq!((next.item, next.stamp, next.in_turn), (3, us(300), None), "by when it was rung");
    }

    #[test]
    fn a_bandwidth_is_found_kept_when_time_has_come() {
        let mut apart = lanes(0, &[(8, every(100))]);
        ring(&mut apart, 0, 0, 0..3);
        assert_eq!(all(&mut apart, 0), [0, 1]);
        assert_eq!((apart.since(), apart.rank(us(99))), (us(100), None));
        assert_eq!(apart.take(us(100)).map(|taken| taken.stamp), Some(us(300)));
    }

    #[test]
    fn who_is_late_in_turn_does_not_lose_its_rate() {
        // One in every 100 us, each noticed 80 us after it was rung: as if it were noticed at once.
        let mut apart = lanes(0, &[(8, every(100))]);
        for number in 0..20 {
            ring(&mut apart, number * 100, 0, 0..1);
            let taken = apart.take(us(number * 100 + 80)).unwrap();
            assert_eq!(taken.stamp, us(number * 100 + 100));
        }
    }

    #[test]
    fn what_was_judged_elsewhere_is_taken_as_that() {
        let mut apart = Apart::new(1, false);
        apart.open(0, 7, every(100));
        for (item, in_turn) in [(0, false), (1, false), (2, false), (3, true), (4, false)] {
            apart.push(0, item, Some(Bytes::from_kib(1)), us(0), in_turn);
        }
        let taken: Vec<_> = std::iter::from_fn(|| apart.take(us(0))).map(|taken| taken.stamp).collect();
        assert_eq!(taken, [us(100), us(200), us(300), Time::MAX], "and the last is not to pass it");
    }

    #[test]
    fn what_is_inside_of_one_that_is_gone_is_counted_until_it_is_done() {
        let mut apart = lanes(1, &[(7, None), (9, None)]);
        ring(&mut apart, 0, 0, 0..1);
        assert_eq!(all(&mut apart, 0), [0]);
        apart.open(0, 8, every(100));
        ring(&mut apart, 1, 0, 1..2);
        ring(&mut apart, 1, 1, 10..11);
        // It would pass what is inside.
        assert_eq!(apart.rank(us(1)), None);
        apart.done(0);
        assert_eq!(all(&mut apart, 1), [1, 10]);
        apart.done(1);
    }

    #[test]
    fn a_lane_may_become_another_processs() {
        let mut apart = lanes(9, &[(7, None), (7, None)]);
        ring(&mut apart, 0, 0, 0..2);
        ring(&mut apart, 0, 1, 10..12);
        assert_eq!(all(&mut apart, 0).len(), 4);
        (0..2).for_each(|_| apart.done(0));
        apart.open(0, 8, None);
        ring(&mut apart, 0, 1, 12..15);
        ring(&mut apart, 0, 0, 2..4);
        assert_eq!(all(&mut apart, 0), [12, 2, 13, 3, 14]);
    }
}
