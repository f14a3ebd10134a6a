//! A stage at work: its waiting packets, its jobs and their progress.

use laxity_qos::channel::{Order, Packet, Slot};
use laxity_qos::discipline::{Class, Discipline, EarlyPolicy, Groups, ItemRequest, ServerParameters, Tag};
use laxity_qos::seldom::{mostly, seldom};
use laxity_units::{Span, Time};

use super::job::{At, Job};
use super::{PacketDirection, StageReport};
use crate::adapter::description::spread_over;
use crate::adapter::{LatePolicy, Loss, Overload, Queue, QueueSelection, Stage};

/// An adapter holds no early packets: the sender of a packet has released it.
const AT_ONCE: EarlyPolicy = EarlyPolicy { horizon: Span::MAX, above_best_effort: true };

/// Result of a packet's arrival at a stage.
pub(super) enum Joined {
    /// It waits, perhaps in place of another packet.
    Yes(Option<Slot>),
    /// The queue is full, and the packet has to wait where it is.
    Blocked,
    /// It is lost, since the queue is full or it is late.
    Lost(Loss),
}

/// A queue at work.
#[derive(Debug)]
struct Line {
    queue: Queue,
    /// Index among its equals.
    number: usize,
    waiting: Discipline<Waiting>,
}

/// A waiting packet.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    slot: Slot,
    joined: Time,
    /// Time after which it is dropped as late; [`Time::MAX`] for never.
    until: Time,
}

/// A stage at work.
#[derive(Debug)]
pub(super) struct Station {
    pub(super) stage: Stage,
    pub(super) direction: PacketDirection,
    /// In the order in which they are served.
    lines: Vec<Line>,
    /// Service is FIFO, whatever arrives at the same instant.
    first_come: bool,
    /// All of its phases apply to all packets.
    pub(super) for_all: bool,
    /// Packets in all lines.
    waiting: usize,
    /// Some line drops late packets.
    drops_late: bool,
    /// Time alone makes no room: no packet becomes late or eligible, or waits for a batch.
    is_steady: bool,
    /// Packets found late, already removed from their lines.
    pub(super) late: Vec<Slot>,
    /// Maximum number of packets in service, given the state of the next stage.
    gate: usize,
    /// The line after the one served last, for taking turns.
    turn: usize,
    /// The same among equal lines, by the first of them.
    turns: Vec<usize>,
    /// Since when a server waits for a full batch.
    lingers: Option<Time>,
    /// When the first waiting packet becomes eligible, if none is now.
    held: Option<Time>,
    pub(super) jobs: Vec<Job>,
    /// First end of the running phases; `Time::MAX` if none runs.
    pub(super) ends: Time,
    /// It may have work before `ends`: an arrival, or a packet that the next stage may have room for.
    pub(super) astir: bool,
    /// The next stage has no room for a packet that leaves, and has had no change since.
    pub(super) blocked: bool,
    pub(super) busy: Span,
    pub(super) passed: u64,
    longest: usize,
}

impl Station {
    pub(super) fn new(stage: Stage, direction: PacketDirection) -> Self {
        let speed = stage.speed();
        let line = |(queue, number): (&Queue, u32)| {
            let server = ServerParameters { early: AT_ONCE, speed, frame: queue.frame, selection: None };
            Line { queue: queue.clone(), number: number as usize, waiting: queue.order.discipline(&server) }
        };
        let each = stage.queues.iter().flat_map(|queue| (0..queue.spread).map(move |number| (queue, number)));
        let mut lines: Vec<Line> = each.map(line).collect();
        lines.sort_by_key(|line| line.queue.priority);
        let turns = vec![0; lines.len()];
        let drops_late = lines.iter().any(|line| line.queue.late == LatePolicy::Drop);
        let first_come = matches!(lines[..], [Line { queue: Queue { order: Order::Fifo, .. }, .. }]);
        let first_come = first_come && stage.batch == 1;
        let waits = drops_late || lines.iter().any(|line| line.queue.order.holds());
        let is_steady = !waits && stage.linger.is_zero() && stage.ahead.is_none();
        let for_all = stage.phases.iter().all(|phase| phase.is_for_all() && phase.from.is_zero());
        Self {
            stage,
            direction,
            lines,
            first_come,
            for_all,
            waiting: 0,
            drops_late,
            is_steady,
            late: Vec::new(),
            gate: usize::MAX,
            turn: 0,
            turns,
            lingers: None,
            held: None,
            jobs: Vec::new(),
            ends: Time::MAX,
            astir: false,
            blocked: false,
            busy: Span::ZERO,
            passed: 0,
            longest: 0,
        }
    }

    pub(super) fn group(&mut self, groups: &Groups) {
        self.lines.iter_mut().for_each(|line| line.waiting.group(groups));
    }

    #[inline]
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Whether it has work at `now`.
    #[inline]
    pub(super) fn stirs(&self, now: Time) -> bool {
        self.astir || self.ends <= now
    }

    /// Sets its next event after all work is done.
    #[inline]
    pub(super) fn rest(&mut self) {
        (self.ends, self.astir) = match (self.lingers, self.held) {
            (Some(since), _) => (since + self.stage.linger, false),
            (None, Some(at)) => (if self.has_free_server() { at } else { Time::MAX }, false),
            (None, None) => (Time::MAX, self.waiting > 0 && self.has_free_server()),
        };
        for job in &self.jobs {
            match job.at {
                At::Running { ends, .. } => self.ends = self.ends.min(ends),
                At::Leaving => self.astir |= !self.blocked,
                At::Next(_) | At::Telling => self.astir = true,
                At::Phase | At::Medium | At::Host => {}
            }
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.waiting == 0
    }

    /// Whether it has no room for a packet before another leaves a line or a server.
    pub(super) fn stays_full(&self) -> bool {
        self.is_steady && !self.has_free_server()
    }

    pub(super) fn report(&self, now: Time) -> StageReport {
        let prefix = if self.direction == PacketDirection::Receive { "rx " } else { "" };
        let under_way = |job: &Job| match job.at {
            At::Running { since, ends } => now.min(ends).saturating_since(since),
            At::Phase | At::Medium | At::Host | At::Telling | At::Next(_) | At::Leaving => Span::ZERO,
        };
        StageReport {
            name: format!("{prefix}{}", self.stage.name),
            busy: self.busy + self.jobs.iter().map(under_way).sum(),
            waiting: self.waiting(),
            longest: self.longest,
            passed: self.passed,
        }
    }

    /// Packets in it.
    pub(super) fn held(&self) -> usize {
        self.waiting + self.jobs.iter().map(|job| 1 + job.others.len()).sum::<usize>()
    }

    /// The line in which `packet` waits.
    fn line_of(&self, packet: &Packet) -> usize {
        let takes = |line: &Line| line.queue.takes.admits(&packet.tag);
        let first = self.lines.iter().position(takes).expect("every packet has a queue that takes it");
        match self.lines[first].queue.spread {
            1 => first,
            several => {
                let by_flow = spread_over([(true, several)].into_iter(), packet.channel);
                first + by_flow.expect("they take it")
            }
        }
    }

    /// Time after which `packet` is late in its queue; `Time::MAX` if it has no deadline, or its
    /// queue keeps late packets.
    fn late_after(&self, packet: &Packet) -> Time {
        let line = &self.lines[self.line_of(packet)].queue;
        match packet.carried.due {
            due if line.late == LatePolicy::Drop && due < Time::MAX => due.saturating_sub(line.margin),
            _ => Time::MAX,
        }
    }

    /// A packet arrives at the stage.
    #[inline]
    pub(super) fn join(&mut self, now: Time, slot: Slot, packet: &Packet) -> Joined {
        // A free server takes it at once, so a full queue does not block it.
        let serves = self.has_free_server() && self.waiting == 0;
        (self.astir, self.held) = (true, None);
        if mostly(serves && self.first_come && !self.drops_late) {
            self.longest = self.longest.max(1);
            self.serve(now, slot, now);
            return Joined::Yes(None);
        }
        self.line_up(now, slot, packet, serves)
    }

    /// A packet that is not served at once joins a line, if that has a free slot.
    #[inline(never)]
    fn line_up(&mut self, now: Time, slot: Slot, packet: &Packet, serves: bool) -> Joined {
        let tag = &packet.tag;
        if self.drops_late && self.late_after(packet) < now {
            return Joined::Lost(Loss::Late);
        }
        if serves && self.first_come {
            self.longest = self.longest.max(1);
            self.serve(now, slot, now);
            return Joined::Yes(None);
        }
        let line = self.line_of(packet);
        let mut evicted = None;
        if !serves && self.lines[line].is_full() {
            // Arrivals of this instant have not been served yet; a free server may make room.
            self.take(now);
        }
        if !serves && self.lines[line].is_full() {
            let line = &mut self.lines[line];
            match line.queue.overload {
                Overload::Block => return Joined::Blocked,
                Overload::Drop => return Joined::Lost(Loss::Overload),
                Overload::Priority | Overload::Importance => {
                    evicted = line.gives_way_to(tag);
                    if evicted.is_none() {
                        return Joined::Lost(Loss::Overload);
                    }
                }
            }
        }
        let until = if self.drops_late { self.late_after(packet) } else { Time::MAX };
        let line = &mut self.lines[line];
        line.waiting.enqueue(now, &ItemRequest::of(packet), Waiting { slot, joined: now, until });
        self.waiting += 1;
        self.waiting -= usize::from(evicted.is_some());
        self.longest = self.longest.max(self.waiting);
        Joined::Yes(evicted)
    }

    #[inline]
    fn has_free_server(&self) -> bool {
        self.jobs.len() < self.gate.min(self.stage.servers as usize)
    }

    /// Sets the maximum number of packets in service.
    pub(super) fn open(&mut self, gate: usize) {
        if self.gate != gate {
            self.gate = gate;
            self.rest();
        }
    }

    /// Free servers take packets; returns whether any did.
    #[inline]
    pub(super) fn take(&mut self, now: Time) -> bool {
        seldom(self.waiting > 0 && self.has_free_server())
            && !self.waits_for_company(now)
            && self.take_waiting(now)
    }

    /// Whether a free server waits for a full batch.
    fn waits_for_company(&mut self, now: Time) -> bool {
        if self.stage.linger.is_zero() || self.waiting >= self.stage.batch as usize {
            self.lingers = None;
            return false;
        }
        let since = *self.lingers.get_or_insert(now);
        let waits = now < since + self.stage.linger;
        self.lingers = self.lingers.filter(|_| waits);
        waits
    }

    #[inline(never)]
    fn take_waiting(&mut self, now: Time) -> bool {
        let mut any = false;
        while self.has_free_server() {
            let Some((slot, joined)) = self.select(now) else { break };
            self.serve(now, slot, joined);
            for _ in 1..self.stage.batch {
                let Some(other) = self.select(now) else { break };
                self.jobs.last_mut().expect("it was just begun").others.push(other);
            }
            any = true;
            // The remaining packets wait for a batch of their own.
            if self.waiting == 0 || self.has_free_server() && self.waits_for_company(now) {
                break;
            }
        }
        any
    }

    #[inline]
    fn serve(&mut self, now: Time, slot: Slot, joined: Time) {
        self.jobs.push(Job::alone(slot, (joined, now), (0, Span::ZERO), At::Next(0)));
    }

    /// Whether a packet that arrives when it is empty is served at that instant, and alone.
    pub(super) fn takes_at_once(&self) -> bool {
        self.first_come && !self.drops_late && self.stage.linger.is_zero()
    }

    /// Whether it is FIFO, one packet at a time, with an unlimited queue.
    pub(super) fn serves_all_in_turn(&self) -> bool {
        self.takes_at_once() && self.stage.servers == 1 && self.lines[0].queue.slots.is_none()
    }

    /// Records the number of waiting packets.
    #[inline]
    pub(super) fn has_seen(&mut self, waiting: usize) {
        self.longest = self.longest.max(waiting);
    }

    /// Records a passed packet and its service time.
    #[inline]
    pub(super) fn has_carried(&mut self, span: Span) {
        self.busy += span;
        self.passed += 1;
    }

    /// Adds the only job, which runs until `ends` and has run for `busy` before.
    pub(super) fn resume(&mut self, job: Job, busy: Span, ends: Time) {
        self.busy += busy;
        self.jobs.push(job);
        self.ends = ends;
    }

    /// Adds the only packet, which is finished.
    #[inline]
    pub(super) fn hold_done(&mut self, slot: Slot, times: (Time, Time)) {
        let last = self.stage.phases.len() - 1;
        self.jobs.push(Job::alone(slot, times, (last, Span::ZERO), At::Leaving));
        self.astir = true;
    }

    /// Queues a packet that arrived at `joined`.
    pub(super) fn line_up_behind(&mut self, slot: Slot, joined: Time, packet: &Packet) {
        let waiting = Waiting { slot, joined, until: Time::MAX };
        self.lines[0].waiting.enqueue(joined, &ItemRequest::of(packet), waiting);
        self.waiting += 1;
    }

    /// Removes the packet of job `n`; the packets behind it keep their order, and the rest of its
    /// batch goes next.
    #[inline]
    pub(super) fn let_go(&mut self, n: usize) {
        let one = self.jobs.len() == 1 && self.jobs[0].others.is_empty();
        if one && self.first_come {
            self.jobs.clear();
        } else {
            self.let_one_go(n);
        }
    }

    #[inline(never)]
    fn let_one_go(&mut self, n: usize) {
        let job = &mut self.jobs[n];
        if !job.others.is_empty() {
            (job.slot, job.joined) = job.others.remove(0);
        } else {
            self.jobs.remove(n);
        }
        if self.jobs.is_empty() && self.waiting == 0 {
            self.lines.iter_mut().for_each(|line| line.waiting.idle());
        }
    }

    /// Removes the next packet to serve; late packets found on the way go to `late`.
    fn select(&mut self, now: Time) -> Option<(Slot, Time)> {
        loop {
            let Waiting { slot, joined, until } = self.next(now)?;
            if now <= until {
                return Some((slot, joined));
            }
            self.late.push(slot);
            if self.waiting == 0 && self.jobs.is_empty() {
                self.lines.iter_mut().for_each(|line| line.waiting.idle());
            }
        }
    }

    fn next(&mut self, now: Time) -> Option<Waiting> {
        if self.waiting == 0 {
            return None;
        }
        self.held = None;
        let count = self.lines.len();
        let first = if self.stage.selection == QueueSelection::RoundRobin { self.turn } else { 0 };
        let ready = (0..count).map(|n| (first + n) % count).find(|n| self.lines[*n].is_ready(now));
        let Some(line) = ready else {
            self.held = self.lines.iter_mut().filter_map(|line| line.waiting.next_eligible(now)).min();
            return None;
        };
        let line =
            if self.stage.selection == QueueSelection::Priority { self.in_turn(line, now) } else { line };
        self.turn = (line + 1) % count;
        self.waiting -= 1;
        self.lines[line].waiting.select(now).map(|(_, item)| item)
    }

    /// The line that has its turn, among those equal to `line`, which is the first of them and
    /// ready.
    fn in_turn(&mut self, line: usize, now: Time) -> usize {
        let several = self.lines[line].queue.spread as usize;
        if several == 1 {
            return line;
        }
        let first = line - self.lines[line].number;
        let turns = (0..several).map(|n| first + (self.turns[first] + n) % several);
        let line = turns.into_iter().find(|n| self.lines[*n].is_ready(now)).unwrap_or(line);
        self.turns[first] = (line - first + 1) % several;
        line
    }

    /// Removes the best-effort packet that would be served last.
    pub(super) fn evict(&mut self) -> Option<Slot> {
        let evicted = self.lines.iter_mut().rev().find_map(Line::evict);
        self.waiting -= usize::from(evicted.is_some());
        if self.waiting == 0 && (self.lingers.is_some() || self.held.is_some()) {
            (self.lingers, self.held) = (None, None);
            self.rest();
        }
        evicted
    }

    /// Removes every packet, served or waiting.
    pub(super) fn sweep(&mut self, now: Time) -> Vec<Slot> {
        let mut swept = Vec::new();
        for mut job in self.jobs.drain(..) {
            self.busy += job.pause(now);
            swept.extend(job.all().map(|(slot, _)| slot));
        }
        for line in &mut self.lines {
            swept.extend(line.waiting.drain().into_iter().map(|waiting| waiting.slot));
            line.waiting.idle();
        }
        (self.waiting, self.lingers, self.held, self.blocked) = (0, None, None, false);
        self.rest();
        swept
    }
}

impl Line {
    /// Whether an eligible packet waits; an adapter itself holds none.
    fn is_ready(&mut self, now: Time) -> bool {
        !self.waiting.is_empty() && (!self.queue.order.holds() || self.waiting.best(now).is_some())
    }

    fn is_full(&self) -> bool {
        self.queue.slots.is_some_and(|slots| self.waiting.len() >= slots as usize)
    }

    fn evict(&mut self) -> Option<Slot> {
        self.waiting.evict().map(|waiting| waiting.slot)
    }

    /// Removes the packet that one with this tag replaces, if any gives way to it.
    fn gives_way_to(&mut self, tag: &Tag) -> Option<Slot> {
        if tag.class == Class::BestEffort {
            return None;
        }
        let later = |line: &mut Self| {
            let important = line.queue.overload == Overload::Importance;
            if important { line.waiting.displace(tag.deadline).map(|waiting| waiting.slot) } else { None }
        };
        self.evict().or_else(|| later(self))
    }
}
