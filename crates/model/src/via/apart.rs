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
//! Alone, that lets best effort starve beside bandwidths of all there is. With a rate set aside ([`Share`]) all of it together is one more flow with a bandwidth: what comes in when that allows it has its
//! stamp, and of what is inside with the stamp ∞ the oldest is [given one](super::share) as soon as it does. Whoever has a stamp by the rate is none of the `ahead`, which are for what is beyond it. What
//! exceeds a bandwidth has no part of it.
//!
//! What comes from the network is told apart likewise, by lanes of which the engine takes the next. Whether a message was sent within a bandwidth is known where it was rung, and it carries that: who
//! judged it again would find some too early that were late on their way.

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
    /// What is left over: it exceeds a bandwidth.
    Excess,
    /// What is left over, until it is given a stamp.
    Turn,
    /// A stamp of the rate that is set aside, so it is not one of those that may be ahead.
    Share,
}

impl InTurn {
    /// The same, once it has been given a stamp.
    pub(super) fn with_stamp(self) -> Self {
        Self { by: By::Share, ..self }
    }
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
    /// How many more may be let in in turn without a stamp, and how many are inside that may be given one.
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
        let reserves = place.vtick.is_some();
        if shared.is_some() {
            let stamp = self.stamp_of_share(lane, (size.unwrap_or(Bytes::ZERO), came));
            return Some(Taken { item, came, stamp, in_turn: Some(InTurn { lane, by: By::Share }) });
        }
        self.room -= 1;
        self.behind += u32::from(!reserves);
        let by = if reserves { By::Excess } else { By::Turn };
        Some(Taken { item, came, stamp: Time::MAX, in_turn: Some(InTurn { lane, by }) })
    }

    /// What was let in in turn is done with.
    pub(super) fn done(&mut self, InTurn { lane, by }: InTurn) {
        self.lanes[lane as usize].inside -= 1;
        self.room += u32::from(by != By::Share);
        self.behind -= u32::from(by == By::Turn);
    }

    /// From when on one that is inside without a stamp may be given one; [`Time::MAX`] if none is.
    pub(super) fn gives_stamp_at(&self) -> Time {
        match self.share.filter(|_| self.behind > 0) {
            Some(share) => share.clock.reading(),
            None => Time::MAX,
        }
    }

    /// The stamp of one of `lane` and of `size` that came then and is inside, if it is given one at `at`.
    pub(super) fn given(&self, lane: u32, (size, came): (Bytes, Time), at: Time) -> Option<Time> {
        let share = self.share.filter(|_| self.gives_stamp_at() <= at)?;
        Some(self.behind_own(lane, share.clock.next(came, share.tick(size))))
    }

    /// It is given that stamp, and is one of those ahead no more.
    pub(super) fn give(&mut self, lane: u32, (size, came): (Bytes, Time)) -> Time {
        self.room += 1;
        self.behind -= 1;
        self.stamp_of_share(lane, (size, came))
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

    /// Whether it has part in the rate that is set aside: it has no bandwidth, and has had none that it has used up.
    fn shares(&self, at: Time) -> bool {
        self.vtick.is_none() && self.clock.reading() <= at
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
        let mut apart = Apart::new(ahead, true, None);
        (0..).zip(of).for_each(|(lane, (process, vtick))| apart.open(lane, *process, *vtick));
        apart
    }

    fn ring(apart: &mut Apart<u32>, at: u64, lane: u32, items: std::ops::Range<u32>) {
        items.for_each(|item| apart.push(lane, item, Some(Bytes::from_kib(1)), us(at), false));
    }

    fn turn_of(lane: u32) -> InTurn {
        InTurn { lane, by: By::Turn }
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
        apart.done(turn_of(0));
        // 2 has waited for longer, and 7 has had its turn.
        assert_eq!(all(&mut apart, 5), [2]);
        apart.done(turn_of(0));
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
        apart.done(InTurn { lane: 0, by: By::Excess });
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
    fn what_goes_in_turn_has_a_rate_together() {
        // A KiB in 100 us, beside one that has a KiB in 50.
        let mut apart = lanes(1, &[(7, None), (8, None), (9, every(50))]);
        let rate = Rate::from_bytes_per_sec(10_240_000);
        apart.share = Some(Share { rate, clock: FlowClock::default() });
        ring(&mut apart, 10, 0, 0..3);
        ring(&mut apart, 10, 1, 10..11);
        ring(&mut apart, 10, 2, 20..21);
        let taken = |apart: &mut Apart<u32>, at: u64| {
            apart.take(us(at)).map(|taken| (taken.item, taken.stamp, taken.in_turn.map(|turn| turn.by)))
        };
        // 110 by the rate, 60 by its own; then one beyond both.
        assert_eq!(taken(&mut apart, 10), Some((20, us(60), None)));
        assert_eq!(taken(&mut apart, 10), Some((0, us(110), Some(By::Share))));
        assert_eq!(taken(&mut apart, 10), Some((10, Time::MAX, Some(By::Turn))));
        assert_eq!((taken(&mut apart, 100), apart.gives_stamp_at()), (None, us(110)));
        let small = (Bytes::new(1), us(10));
        let given = |apart: &Apart<u32>, at: u64| apart.given(1, small, us(at));
        // It is given the next, from when the rate allows it and not from when somebody looks; what is smaller counts as 1 KiB.
        assert_eq!((given(&apart, 109), given(&apart, 130)), (None, Some(us(210))));
        assert_eq!(apart.give(1, small), us(210));
        assert_eq!((apart.gives_stamp_at(), apart.rank(us(130))), (Time::MAX, Some(Time::MAX)));
        // There is room, and at 210 the rate again.
        assert_eq!(
            (apart.rank(us(210)), taken(&mut apart, 210)),
            (Some(us(310)), Some((1, us(310), Some(By::Share))))
        );
        apart.done(InTurn { lane: 1, by: By::Share });
        assert_eq!(
            taken(&mut apart, 210),
            Some((2, Time::MAX, Some(By::Turn))),
            "one without a stamp at a time"
        );
    }

    #[test]
    fn what_was_judged_elsewhere_is_taken_as_that() {
        let mut apart = Apart::new(1, false, None);
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
        apart.done(turn_of(0));
        assert_eq!(all(&mut apart, 1), [1, 10]);
        apart.done(turn_of(1));
    }

    #[test]
    fn a_lane_may_become_another_processs() {
        let mut apart = lanes(9, &[(7, None), (7, None)]);
        ring(&mut apart, 0, 0, 0..2);
        ring(&mut apart, 0, 1, 10..12);
        assert_eq!(all(&mut apart, 0).len(), 4);
        (0..2).for_each(|_| apart.done(turn_of(0)));
        apart.open(0, 8, None);
        ring(&mut apart, 0, 1, 12..15);
        ring(&mut apart, 0, 0, 2..4);
        assert_eq!(all(&mut apart, 0), [12, 2, 13, 3, 14]);
    }
}
