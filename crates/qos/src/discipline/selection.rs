//! Transmission selection of IEEE 802.1Q (8.6.8): which class of a port by strict priority can send.
//!
//! Without a [`Selection`] the most urgent class with a frame sends. A selection adds conditions to
//! single classes, and the most urgent class that meets its own conditions sends:
//!
//! - **Credit-based shaper** (802.1Qav, 8.6.8.2). A class has a credit and sends while the credit is
//!   not negative. The credit grows at the idle slope while a frame of the class waits, and falls at
//!   the send slope (idle slope less the rate of the link) while one is sent. An empty queue loses a
//!   positive credit, and a negative one grows to zero.
//! - **Gates** (802.1Qbv, 8.6.8.4). A list of windows, repeated each cycle, opens and closes the
//!   gates of classes. A frame begins only if its gate stays open until its end, which is the guard
//!   band of each class. Frames that can be preempted are cut when their gate closes (see [`Hold`]).
//!
//!   A class can have a shaper and gates. Its credit then changes while its gate is open only
//!   (802.1Q-2018, 8.6.8.2 d): the idle slope is the rate of change while the class does not send *and*
//!   its gate is open). It keeps its value while the gate is closed. The gate is open in the guard
//!   band, so the credit of a class grows there. The standard derives the slope from the reserved rate
//!   `operIdleSlope`, times the cycle over the open time in it. A [`Shaper`] has the slope itself.
//!
//! - **Cyclic queueing and forwarding** (802.1Qch). A frame that arrives in a cycle can be sent from
//!   the next cycle on. Cycles of all ports begin together, at multiples of their length.
//!
//! - **Asynchronous traffic shaping** (802.1Qcr). A frame joins the queue of its class when the
//!   regulator before that queue releases it (see [`Committed`]).
//!
//! Time is an argument, and all ports have one clock. A credit is counted in picobits: the idle
//! slope in bit/s times picoseconds, less the bits of each frame with all that surrounds it.

mod credit;
mod gates;
mod regulators;

pub use gates::{GateList, Hold, Window};
pub use regulators::Committed;

use laxity_units::{Bytes, Rate, Span, Time};

use self::credit::Credit;
use self::regulators::Regulators;
use super::ItemRequest;
use crate::costs::LinkCosts;
use crate::names::ChannelId;

/// Conditions under which the classes of a port can send.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Classes with a credit-based shaper, each level once.
    pub shapers: Vec<Shaper>,
    /// The gates of the port; `None` if all classes are open.
    pub gates: Option<GateList>,
    /// Classes with cyclic queueing, each level once.
    pub cyclic: Vec<CyclicClass>,
    /// Levels of the classes with asynchronous traffic shaping, each once.
    pub ats: Vec<u8>,
}

/// A class with cyclic queueing and forwarding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CyclicClass {
    /// Priority level of the class.
    pub level: u8,
    /// Length of a cycle; not zero.
    pub cycle: Span,
}

impl Selection {
    /// All classes can always send.
    pub const NONE: Selection =
        Selection { shapers: Vec::new(), gates: None, cyclic: Vec::new(), ats: Vec::new() };

    /// Whether frames of `level` pass a regulator.
    pub fn regulates(&self, level: u8) -> bool {
        self.ats.contains(&level)
    }
}

/// A class with a credit-based shaper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shaper {
    /// Priority level of the class.
    pub level: u8,
    /// Rate reserved for the class; not zero. The send slope is this less the rate of the link.
    pub idle_slope: Rate,
}

/// The first frame of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) level: u8,
    pub(super) size: Bytes,
    /// When it joined the queue of its class.
    pub(super) joined: Time,
}

/// A [`Selection`] at work.
#[derive(Debug, Clone)]
pub(super) struct Selecting {
    speed: LinkCosts,
    credits: Vec<Credit>,
    gates: Option<GateList>,
    cyclic: Vec<CyclicClass>,
    ats: Vec<u8>,
    regulators: Regulators,
    /// The class of the last frame, and the end of that frame.
    sending: (u8, Time),
    /// Instant up to which credits are known.
    known: Time,
}

impl Selecting {
    pub(super) fn new(selection: &Selection, speed: LinkCosts) -> Self {
        Self {
            speed,
            credits: selection.shapers.iter().map(|shaper| Credit::of(*shaper)).collect(),
            gates: selection.gates.clone(),
            cyclic: selection.cyclic.clone(),
            ats: selection.ats.clone(),
            regulators: Regulators::default(),
            sending: (0, Time::ZERO),
            known: Time::ZERO,
        }
    }

    /// Regulates `flow` where its class has asynchronous traffic shaping.
    pub(super) fn regulate(&mut self, flow: ChannelId, committed: Committed) {
        self.regulators.add(flow, committed);
    }

    /// When a frame that arrives `now` joins the queue of its class.
    pub(super) fn joins(&mut self, now: Time, request: &ItemRequest) -> Time {
        match self.ats.contains(&request.tag.level) {
            true => self.regulators.release(now, request.flow, self.speed.on_link(request.size)),
            false => now,
        }
    }

    /// Brings the credits to `now`. Call it before the queues change; `waits` says whether a frame
    /// of a level has waited since the last change.
    pub(super) fn advance(&mut self, now: Time, waits: impl Fn(u8) -> bool) {
        let (level, end) = self.sending;
        let until = end.clamp(self.known, now.max(self.known));
        for credit in &mut self.credits {
            let (own, waits) = (credit.level() == level, waits(credit.level()));
            let open = |from, to: Time| match &self.gates {
                Some(gates) => gates.open_for(credit.level(), from, to),
                None => to.saturating_since(from),
            };
            let (first, second) = (open(self.known, until), open(until, now));
            credit.pass(first, waits || own && end > self.known);
            // A class that has sent its last frame loses what is above zero.
            credit.pass(second, waits || own && end > now);
        }
        self.known = self.known.max(now);
    }

    /// Whether `head` can begin `now`, for which the credits are known.
    pub(super) fn admits(&self, now: Time, head: Head) -> bool {
        let earned = self.credit(head.level).is_none_or(Credit::is_positive);
        earned && self.released(head) <= now && self.open(now, head) == Some(now)
    }

    /// `head` begins `now`.
    pub(super) fn begin(&mut self, now: Time, head: Head) {
        self.sending = (head.level, now + self.speed.transmit(head.size));
        if let Some(credit) = self.credits.iter_mut().find(|credit| credit.level() == head.level) {
            credit.spend(self.speed.on_link(head.size));
        }
    }

    /// When `head` can begin if its class alone waits from `now` on; `None` if never.
    pub(super) fn ready(&self, now: Time, head: Head) -> Option<Time> {
        let missing = self.credit(head.level).map_or(Span::ZERO, Credit::until_positive);
        let earned = match &self.gates {
            Some(gates) => gates.opened_for(head.level, now, missing)?,
            None => now.saturating_add(missing),
        };
        self.open(earned.max(self.released(head)), head)
    }

    /// When the cycle after that of its arrival begins, or when it joins the queue of its class.
    fn released(&self, head: Head) -> Time {
        let cyclic = self.cyclic.iter().find(|cyclic| cyclic.level == head.level);
        cyclic.map_or(head.joined, |cyclic| head.joined.next_multiple_of(cyclic.cycle))
    }

    fn credit(&self, level: u8) -> Option<&Credit> {
        self.credits.iter().find(|credit| credit.level() == level)
    }

    /// The first instant from `from` on at which the gate of `head` stays open for all of it, or for
    /// what has to fit.
    fn open(&self, from: Time, head: Head) -> Option<Time> {
        let Some(gates) = &self.gates else { return Some(from) };
        let whole = self.speed.transmit(head.size);
        let least = gates.least(head.level).map(|least| self.speed.startup + self.speed.per_byte.time(least));
        gates.open(from, head.level, least.map_or(whole, |least| least.min(whole)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{EarlyPolicy, ItemRequest, Order, ServerParameters, Tag};
    use super::*;
    use crate::names::ChannelId;
    use crate::packet::Carried;
    use crate::virtual_clock::Vtick;

    const US: fn(u64) -> Span = Span::from_us;

    fn at(us: u64) -> Time {
        Time::ZERO + US(us)
    }

    /// Frames of 125 B at a link of 100 Mbit/s, which take 10 us each, with level and arrival in us, and
    /// when each begins.
    fn begins(selection: Selection, frames: &[(u8, u64)]) -> Vec<(u64, u8)> {
        let frames: Vec<(u8, u64, u32)> = frames.iter().map(|&(level, us)| (level, us, 0)).collect();
        begin_of(selection, &[], &frames).into_iter().map(|(us, level, _)| (us, level)).collect()
    }

    /// The same for frames with a flow behind the arrival, and flows with what is committed to each.
    fn begin_of(selection: Selection, flows: &[Committed], frames: &[(u8, u64, u32)]) -> Vec<(u64, u8, u32)> {
        let speed = LinkCosts::new(Span::ZERO, Span::from_ns(80));
        let server = ServerParameters {
            speed,
            selection: Some(Arc::new(selection)),
            ..ServerParameters::with(EarlyPolicy::HOLD)
        };
        let mut queue = Order::StrictPriority.discipline(&server);
        for (flow, committed) in (0..).zip(flows) {
            queue.regulate(ChannelId(flow), *committed);
        }
        let mut arrivals = frames.to_vec();
        arrivals.sort_by_key(|frame| frame.1);
        let mut arrivals = arrivals.into_iter().peekable();
        let (mut now, mut free, mut begun) = (at(0), at(0), Vec::new());
        loop {
            while let Some((level, _, flow)) = arrivals.next_if(|frame| at(frame.1) <= now) {
                let tag = Tag::real_time(now, US(9), Vtick::NONE, level);
                let size = Bytes::new(125);
                let request = ItemRequest { flow: ChannelId(flow), size, tag, carried: Carried::NOTHING };
                queue.enqueue(now, &request, flow);
            }
            if free <= now
                && let Some((tag, flow)) = queue.select(now)
            {
                begun.push((now.as_ps() / 1_000_000, tag.level, flow));
                free = now + US(10);
            }
            let eligible = if free > now { Some(free) } else { queue.next_eligible(now) };
            let next = arrivals.peek().map(|frame| at(frame.1));
            match Time::earlier(eligible, next) {
                Some(next) => now = next,
                None => return begun,
            }
        }
    }

    /// A frame costs 1000 bits, and 25 Mbit/s earn 250 bits in its 10 us: the class pauses 30 us after
    /// each, in which lower classes send. A frame that waits 4 us for a lower one saves up 100 bits, so
    /// the class pauses 26 us after it only. An empty queue keeps no credit.
    #[test]
    fn a_class_spends_its_credit() {
        let shaper = Shaper { level: 0, idle_slope: Rate::from_bits_per_sec(25_000_000) };
        let shaped = || Selection { shapers: vec![shaper], ..Selection::NONE };
        let found = begins(shaped(), &[(0, 0), (0, 0), (0, 0), (1, 0)]);
        assert_eq!(found, [(0, 0), (10, 1), (40, 0), (80, 0)]);
        let found = begins(shaped(), &[(1, 0), (0, 6), (0, 6)]);
        assert_eq!(found, [(0, 1), (10, 0), (46, 0)]);
        let found = begins(shaped(), &[(0, 0), (0, 500), (0, 500)]);
        assert_eq!(found, [(0, 0), (500, 0), (540, 0)]);
    }

    #[test]
    fn a_lower_class_sends_while_a_gate_is_closed() {
        let window = |us, open| Window { length: US(us), open };
        let gates = GateList::new(US(0), vec![window(25, 1), window(75, 2)]);
        let gated = Selection { gates: Some(gates), ..Selection::NONE };
        let found = begins(gated, &[(0, 0), (0, 0), (0, 0), (1, 0), (2, 0)]);
        assert_eq!(found, [(0, 0), (10, 0), (25, 1), (100, 0)], "level 2 is never open");
    }

    /// Level 0 earns 50 Mbit/s from 0 to 30 us and from 60 us on. A frame costs 1000 bits and earns 500 on
    /// the link, so the next can begin 10 us of open time behind its end. After the second the credit is
    /// -500 at 30 us, and 0 at 70 us. The fourth frame waits for 10 us of it as well.
    #[test]
    fn a_credit_does_not_change_behind_a_closed_gate() {
        let shaper =
            |level, mbit: u64| Shaper { level, idle_slope: Rate::from_bits_per_sec(mbit * 1_000_000) };
        let window = |us, open| Window { length: US(us), open };
        let selection = |shapers: Vec<Shaper>, windows| {
            let gates = Some(GateList::new(US(0), windows));
            Selection { shapers, gates, ..Selection::NONE }
        };
        let windows = vec![window(30, 1), window(30, 2), window(40, 1)];
        let found =
            begins(selection(vec![shaper(0, 50)], windows), &[(0, 0), (0, 0), (0, 0), (0, 0), (1, 0)]);
        assert_eq!(found, [(0, 0), (20, 0), (30, 1), (70, 0), (90, 0)]);
        // A frame that waits for a gate earns nothing. It goes on the credit of its queue, which is zero.
        let windows = vec![window(50, 2), window(50, 3)];
        let found = begins(selection(vec![shaper(0, 50)], windows), &[(0, 10), (0, 10), (0, 10)]);
        assert_eq!(found, [(50, 0), (70, 0), (90, 0)]);
        // From 1 to 10 us a frame of level 1 is on the link, then none of level 0 fits until 15 us. So
        // it has 14 us of credit, 700 bits, and behind 60 us the second frame has to wait for none.
        let windows = vec![window(15, 3), window(45, 4), window(40, 1)];
        let found = begins(selection(vec![shaper(0, 50)], windows), &[(1, 0), (0, 1), (0, 1), (0, 1)]);
        assert_eq!(found, [(0, 1), (60, 0), (70, 0), (86, 0)]);
    }

    #[test]
    fn a_cyclic_class_sends_in_the_next_cycle() {
        let cyclic = vec![CyclicClass { level: 0, cycle: US(50) }];
        let found = begins(Selection { cyclic, ..Selection::NONE }, &[(0, 0), (0, 49), (0, 50), (1, 45)]);
        assert_eq!(found, [(45, 1), (55, 0), (65, 0), (100, 0)]);
    }

    fn regulated(levels: &[u8]) -> Selection {
        Selection { ats: levels.to_vec(), ..Selection::NONE }
    }

    fn committed(regulator: u32, burst: u32, us: u64) -> Committed {
        let (message, interval) = (Bytes::new(125), US(us));
        Committed { regulator, message, burst, interval, tolerance: Span::ZERO }
    }

    /// One frame each 100 us, or two at once: the next frame is released when the bucket contains it.
    #[test]
    fn a_flow_has_its_bucket() {
        let of = |burst, at: &[u64]| {
            let frames: Vec<(u8, u64, u32)> = at.iter().map(|&us| (0, us, 0)).collect();
            let found = begin_of(regulated(&[0]), &[committed(0, burst, 100)], &frames);
            found.into_iter().map(|(us, _, _)| us).collect::<Vec<_>>()
        };
        assert_eq!(of(1, &[0, 0, 0]), [0, 100, 200]);
        assert_eq!(
            of(1, &[0, 150, 210]),
            [0, 150, 250],
            "an interval after the frame, and not after its slot"
        );
        assert_eq!(of(2, &[0, 0, 0, 120]), [0, 10, 100, 200]);
        assert_eq!(of(2, &[0, 500, 500, 500]), [0, 500, 510, 600], "a full bucket gets no fuller");
    }

    /// The second frame of flow 0 waits until 100 us. A frame of flow 1 behind it in the regulator waits
    /// as well, but not one that has a regulator of its own, nor best effort.
    #[test]
    fn the_first_frame_of_a_regulator_holds_those_behind_it() {
        let frames = [(0, 0, 0), (0, 20, 0), (0, 30, 1), (0, 40, 2), (31, 50, 3)];
        let flows = [committed(0, 1, 100), committed(0, 1, 100), committed(1, 1, 100)];
        let found = begin_of(regulated(&[0]), &flows, &frames);
        assert_eq!(found, [(0, 0, 0), (40, 0, 2), (50, 31, 3), (100, 0, 0), (110, 0, 1)]);
        // A third frame of flow 0 waits until 200 us. One of flow 2 that is released before goes before.
        let frames = [(0, 0, 0), (0, 20, 0), (0, 30, 0), (0, 40, 2), (0, 41, 2)];
        let found = begin_of(regulated(&[0]), &flows, &frames);
        assert_eq!(found, [(0, 0, 0), (40, 0, 2), (100, 0, 0), (140, 0, 2), (200, 0, 0)]);
        let found = begin_of(regulated(&[1]), &flows, &frames);
        assert_eq!(
            found.iter().map(|begun| begun.0).collect::<Vec<_>>(),
            [0, 20, 30, 40, 50],
            "other levels"
        );
    }

    /// Both frames are released at 100 us, while a lower frame is sent until 104 us.
    #[test]
    fn a_released_frame_waits_for_the_frame_on_the_link() {
        let frames = [(0, 0, 0), (1, 5, 1), (0, 10, 0), (2, 94, 2), (1, 95, 1)];
        let flows = [committed(0, 1, 100), committed(1, 1, 95)];
        let found = begin_of(regulated(&[0, 1]), &flows, &frames);
        assert_eq!(found, [(0, 0, 0), (10, 1, 1), (94, 2, 2), (104, 0, 0), (114, 1, 1)]);
    }

    /// A tolerance of 4 us lets a frame pass that is early by 4 us.
    #[test]
    fn a_tolerance_lets_early_frames_pass() {
        let flow = Committed { tolerance: US(4), ..committed(0, 1, 100) };
        let begun = |at| begin_of(regulated(&[0]), &[flow], &[(0, 0, 0), (0, at, 0), (0, at + 100, 0)]);
        assert_eq!(begun(96), [(0, 0, 0), (96, 0, 0), (196, 0, 0)]);
        assert_eq!(begun(90), [(0, 0, 0), (96, 0, 0), (196, 0, 0)]);
    }
}
