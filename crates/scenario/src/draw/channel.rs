//! `[[channel]]`: contracts of a load that a host can take, deadlines of the order of their bounds,
//! and floods beside them.

use laxity_qos::channel::{MessageOverflow, PacketOverflow};
use laxity_qos::discipline::Class;
use laxity_units::{Bytes, Rate, Span};
use laxity_world::experiment::{MissesEffect, RefusalEffect};

use super::answers::{Answer, Answered, answer};
use super::dice::Dice;
use super::names::{HOSTS, HUB};
use super::nodes::switches_between;
use super::receivers::Receivers;
use super::reception::{Named, Plan};
use super::sketch::{
    Drafted, Drawn, SketchNode, name, names, part, parts, quantity, share, table, that, this, unsaid, when,
    whole, word,
};
use super::source::{Contract, source};
use super::theme::{GROUPS, Place, Scheduling, Theme};
use crate::leaf::Name;
use crate::raw::{NodeName, RawChannel, RawLimit, RawSource};
use crate::written::{List, Written};

/// The channels, and what the run's length has to know of them.
pub(super) struct Channels<'a> {
    /// The node at which most of them end, if that receives at interfaces.
    plan: Option<&'a Plan>,
    pub(super) drafted: Vec<Drafted<RawChannel>>,
    /// The first of the real-time channels, of which copies can be asked for.
    pub(super) guaranteed: Option<String>,
    /// `I_min` of each kind of real-time channel.
    pub(super) intervals: Vec<Span>,
    /// Packets a second that are offered within contracts.
    pub(super) rate: f64,
    /// Whether a channel sends as fast as the host accepts.
    pub(super) floods: bool,
    /// Whether any channel sends; a file in which none does is refused.
    pub(super) sends: bool,
}

pub(super) fn channels<'a>(dice: &mut Dice, theme: &Theme, plan: Option<&'a Plan>) -> Channels<'a> {
    let mut channels = Channels {
        plan,
        drafted: Vec::new(),
        guaranteed: None,
        intervals: Vec::new(),
        rate: 0.0,
        floods: false,
        sends: false,
    };
    let kinds = match dice.below(10) {
        0 => 1,
        1..7 => dice.between(2, 4),
        _ => dice.between(3, 7),
    };
    let sketches: Vec<Kind> = (0..kinds).map(|n| Kind::draw(dice, theme, n == 0 && theme.crowd)).collect();
    // Work of all channels if they start at once, and their share of the host over time.
    let mut all: Span = sketches.iter().map(|kind| kind.work * kind.count).sum();
    let mut floods: Vec<Flood> =
        (0..dice.pick(&[0, 1, 1, 1, 2, 3])).map(|_| Flood::draw(dice, theme)).collect();
    let beside = theme.leveled && !theme.free;
    if theme.fifo && !beside && dice.queues().chance(0.93) {
        floods.clear();
    }
    if dice.chance(0.7) {
        // And the longest flood message, for which they may have to wait.
        all += floods.iter().map(|flood| theme.work(flood.size)).max().unwrap_or_default();
    }
    let load = dice.pick(&[0.1, 0.3, 0.5, 0.7, 0.85]);
    let weights: f64 = sketches.iter().map(|kind| kind.weight).sum();
    for (n, kind) in sketches.iter().enumerate() {
        let each = load * kind.weight / weights;
        channels.real_time(dice, theme, kind, n, each, all);
    }
    for (n, flood) in floods.iter().enumerate() {
        channels.best_effort(dice, theme, flood, n);
    }
    channels
}

/// Parameters of real-time channels that are drawn before their intervals.
struct Kind {
    size: Bytes,
    count: u64,
    work: Span,
    weight: f64,
}

impl Kind {
    fn draw(dice: &mut Dice, theme: &Theme, crowd: bool) -> Self {
        let packets = if crowd || theme.ends { 1 } else { dice.pick(&[1, 1, 2, 4, 12]) };
        let size = dice.message(theme.packet, packets);
        let size = if theme.ends { size.min(theme.packet) } else { size };
        let count = match crowd {
            true => dice.between(32, 40),
            false => dice.pick(&[1, 1, 1, 1, 2, 3, 8]),
        };
        Self { size, count, work: theme.work(size), weight: 0.1 + dice.unit() }
    }
}

/// Further limits of a contract: a distance, a longer average, or both. Of a source that would
/// exceed them, few have any.
fn limits(
    dice: &mut Dice,
    theme: &Theme,
    (burst, interval): (u64, Span),
    source: &Drafted<RawSource>,
) -> Vec<Drafted<RawLimit>> {
    let keeps = matches!(source.table.at("kind"), Some(SketchNode::Word("adversary" | "none", _)));
    if !dice.chance(if theme.fifo && keeps { 0.6 } else { 0.05 }) {
        return Vec::new();
    }
    let limit =
        |burst, interval: Span| table!(RawLimit { burst: whole(burst), min_interval: quantity(interval) });
    let mut listed = Vec::new();
    if burst > 1 && dice.chance(0.8) {
        let part = interval / dice.pick(&[1, 2, 8, 50, 1000]);
        listed.push(limit(dice.between(1, burst - 1), part.max(Span::from_ns(10))));
    }
    if dice.chance(0.3) {
        let longer = interval + interval / dice.pick(&[1, 2, 8, 50]);
        listed.push(limit(burst + dice.between(1, 12), longer));
    }
    listed
}

/// Parameters of best-effort channels that are drawn before contracts.
struct Flood {
    packets: u64,
    size: Bytes,
}

impl Flood {
    fn draw(dice: &mut Dice, theme: &Theme) -> Self {
        let packets = if theme.ends { 1 } else { dice.pick(&[1, 2, 4, 15]) };
        let size = dice.message(theme.packet, packets);
        Self { packets, size: if theme.ends { size.min(theme.packet) } else { size } }
    }
}

impl Channels<'_> {
    fn real_time(&mut self, dice: &mut Dice, theme: &Theme, kind: &Kind, n: usize, load: f64, all: Span) {
        let own = Span::from_secs_f64(kind.work.as_secs_f64() * kind.count as f64 / load);
        let mut interval = own.unwrap_or(Span::from_secs(1)).clamp(Span::from_us(20), Span::from_secs(2));
        // An interval shorter than the work of all at once would admit no channel.
        if interval < all * 2 && dice.chance(0.85) {
            interval = all * 2 + dice.part_of(all * 3);
        }
        let interval = dice.rounded(interval);
        let deadline = self.deadline(dice, theme, interval, all);
        let burst = dice.pick(&[1, 1, 2, 3, 6]);
        let conforms = dice.chance(0.7) && !(theme.excess && dice.excess().chance(0.4));
        let conforms = conforms || theme.free && dice.queues().chance(0.9);
        let smallest = match dice.below(5) {
            0 => Some(Bytes::new(1)),
            1 => Some(Bytes::new(dice.between(1, kind.size.get()))),
            2 => Some(kind.size),
            _ => None,
        };
        let mut message_slots = dice.maybe(0.08, |dice| whole(dice.between(1, 2 * burst)));
        let packets = burst * kind.size.div_ceil(theme.packet);
        let mut packet_slots = dice.maybe(0.08, |dice| whole(dice.between(1, 2 * packets)));
        if theme.plain || theme.fifo {
            // Room for what there may be within a deadline of many intervals.
            let messages = burst + deadline.div_ceil(interval) + 2;
            message_slots = whole(messages);
            packet_slots = whole(messages * kind.size.div_ceil(theme.packet));
        }
        let packet_overflow = overflow(dice, theme);
        let contract = Contract {
            real_time: true,
            size: kind.size,
            smallest: smallest.unwrap_or(kind.size),
            burst,
            interval,
            message_slots: match message_slots.node {
                Some(SketchNode::Whole(slots)) => slots,
                _ => burst,
            },
            conforms,
            decays: packet_overflow == "decay",
            drops: packet_overflow == "drop" && !theme.careless,
        };
        let source = source(dice, theme, &contract);
        // The reader knows how small the frames of a trace are.
        let traced = matches!(source.table.at("kind"), Some(SketchNode::Word("recorded" | "mpeg", _)));
        let smallest = smallest.filter(|_| !traced || theme.careless);
        let called = format!("rt{n}");
        // Of named nodes there may be several by one name, and then several such channels.
        if kind.count == 1 && !matches!(theme.place, Place::Nodes { .. }) {
            self.guaranteed.get_or_insert_with(|| called.clone());
        }
        self.floods |= floods(&source);
        self.sends |= sends(&source);
        self.intervals.push(interval);
        self.rate += (kind.count * kind.size.div_ceil(theme.packet)) as f64 / interval.as_secs_f64()
            * if conforms { 1.0 } else { 3.0 };
        // As a rate, rounded down to bits, the interval is no shorter.
        let as_rate = dice.chance(0.1) && interval > Span::from_us(100);
        let by_hand = if theme.scheduling == Scheduling::Anything { 0.15 } else { 0.01 };
        let (from, to, route, (interface, program)) = self.end(dice, theme, true);
        let rate = Rate::from_bits_per_sec(Rate::of(kind.size, interval).bits_per_sec().max(2) - 1);
        let receivers = self.receivers(dice, theme, (&from, &to, &route));
        let answered = Answered {
            name: &called,
            ends: (&from, &to, &route),
            count: kind.count,
            size: kind.size,
            interval,
            deadline,
        };
        let answer = answer(dice, theme, &answered).filter(|_| self.plan.is_none());
        let (answer, back) = answer.map_or((None, None), |Answer { channel, back }| (Some(channel), back));
        // Rounds are answered by one receiver.
        let source = back.filter(|_| receivers.node.is_none()).unwrap_or(source);
        self.drafted.extend(answer);
        self.drafted.push(table!(RawChannel {
            name: name(called),
            class: word::<Class>("real_time"),
            from: from,
            to: to,
            route: route,
            receivers: receivers,
            count: if kind.count == 1 { unsaid() } else { whole(kind.count) },
            max_message: quantity(kind.size),
            min_message: smallest.map_or_else(unsaid, quantity),
            burst: whole(burst),
            min_interval: if as_rate { unsaid() } else { quantity(interval) },
            limits: match as_rate {
                true => unsaid(),
                false => parts(limits(dice.own("channel.limits"), theme, (burst, interval), &source)),
            },
            rate: when(as_rate, || quantity(rate)),
            deadline: quantity(deadline),
            share: unsaid(),
            group: group(dice.aside(), theme),
            level: match theme.leveled || theme.shaped {
                true => dice.queues().maybe(0.8, |dice| whole(dice.pick(&[0, 1, 1, 2, 5, 30]))),
                false => {
                    let some = dice.maybe(by_hand, |dice| whole(dice.below(32)));
                    if theme.by_hand { whole(dice.levels().pick(&[0, 1, 1, 2, 3, 5, 30])) } else { some }
                }
            },
            jitter: dice.requests().maybe(if theme.ends { 0.0 } else { 0.05 }, |dice| quantity(
                dice.part_of(deadline).max(Span::from_us(1))
            )),
            loss: dice
                .requests()
                .maybe(if theme.ends { 0.0 } else { 0.03 }, |dice| share(dice.pick(&[0.0, 0.01, 0.5]))),
            late: when(theme.chancy, || share(dice.requests().pick(&[0.0, 1e-6, 1e-3, 0.1, 1.0]))),
            mean_message: when(theme.chancy && dice.requests().chance(0.8), || quantity(Bytes::new(
                dice.requests().between(1, kind.size.get())
            ))),
            misses: dice.aside().any::<MissesEffect>(0.02),
            message_slots: message_slots,
            packet_slots: packet_slots,
            refusal: dice.any::<RefusalEffect>(0.1),
            message_overflow: match theme.excess {
                _ if theme.fifo && (theme.free || !theme.leveled) =>
                    dice.queues().maybe(0.4, |dice| word(dice.pick(&["block", "drop"]))),
                true => dice.excess().any::<MessageOverflow>(0.9),
                false => dice.any::<MessageOverflow>(0.5),
            },
            packet_overflow: word::<PacketOverflow>(packet_overflow),
            core: super::cores::core(dice, theme),
            reader: super::computing::reader(dice.aside(), theme, kind.work),
            // Frames of a port belong to an emulation.
            carries: unsaid(),
            interface: interface,
            importance: unsaid(),
            process: unsaid(),
            program: program,
            streams: unsaid(),
            playout: unsaid(),
            open: unsaid(),
            close: unsaid(),
            change: unsaid(),
            calls: unsaid(),
            owner: unsaid(),
            source: part(source),
        }));
    }

    /// Where a channel goes, and the interface at which it ends. A channel of `real_time` ends at the
    /// node that receives at interfaces, if there is one: its words have a bound or none.
    fn end(&self, dice: &mut Dice, theme: &Theme, real_time: bool) -> (End, End, Hops, (Named, Named)) {
        let (Some(plan), Place::Nodes { hosts, .. }) = (self.plan, theme.place) else {
            let (from, to, route) = way(dice, theme);
            return (from, to, route, (unsaid(), unsaid()));
        };
        let dice = dice.ends();
        let end = |n: u64| that(name(HOSTS[n as usize]));
        let from = dice.below(hosts - 1);
        if !real_time && hosts > 2 && dice.chance(0.15) {
            let to = (from + 1) % (hosts - 1);
            return (end(from), end(to), unsaid(), (unsaid(), unsaid()));
        }
        (end(from), end(hosts - 1), unsaid(), plan.end(dice))
    }

    /// The further receivers of a channel with those ends: none where a node receives at interfaces.
    fn receivers(&self, dice: &mut Dice, theme: &Theme, ends: (&End, &End, &Hops)) -> Receivers {
        match self.plan {
            None => super::receivers::receivers(dice, theme, ends),
            Some(_) => unsaid(),
        }
    }

    /// For each hop the interval, or of the order of what all of them take at once.
    fn deadline(&self, dice: &mut Dice, theme: &Theme, interval: Span, all: Span) -> Span {
        let along = self.deadline_of_hop(dice, theme, interval, all) * theme.hops();
        match theme.ends && theme.demand {
            true => along * dice.ends().pick(&[1, 1, 2, 4, 8]),
            false => along,
        }
    }

    fn deadline_of_hop(&self, dice: &mut Dice, theme: &Theme, interval: Span, all: Span) -> Span {
        let some = match dice.below(6) {
            0..5 if theme.demand && (theme.by_rate || theme.rated && theme.paradigm == "adapter") => {
                interval + dice.part_of(interval * 2)
            }
            0..3 if theme.demand && dice.chance(0.5) => interval + dice.part_of(interval * 2),
            0..3 => interval,
            3 => all * 2 + dice.part_of(all),
            4 => all + dice.part_of(all),
            _ => dice.part_of(interval),
        };
        if theme.row.is_some() && theme.demand && dice.rows().chance(0.8) {
            return super::row::deadline(dice.rows(), interval);
        }
        let most = if theme.off || theme.careless || theme.demand { interval * 3 } else { interval };
        some.clamp(Span::from_us(1).min(most), most)
    }

    fn best_effort(&mut self, dice: &mut Dice, theme: &Theme, flood: &Flood, n: usize) {
        let Flood { packets, size } = *flood;
        let burst = dice.pick(&[1, 2, 4, 10]);
        let flood = theme.work(size);
        let interval = flood / 2 + dice.part_of(flood * 6);
        let interval = dice.rounded(interval).max(Span::from_us(5));
        let packet_overflow = overflow(dice, theme);
        let smallest = match dice.chance(0.2) {
            true => Some(Bytes::new(dice.between(1, size.get()))),
            false => None,
        };
        let message_slots = dice.maybe(0.1, |dice| whole(dice.between(1, 2 * burst)));
        let contract = Contract {
            real_time: false,
            size,
            smallest: smallest.unwrap_or(size),
            burst,
            interval,
            message_slots: match message_slots.node {
                Some(SketchNode::Whole(slots)) => slots,
                _ => burst,
            },
            conforms: true,
            decays: packet_overflow == "decay",
            drops: packet_overflow == "drop" && !theme.careless,
        };
        let source = source(dice, theme, &contract);
        self.floods |= floods(&source);
        self.sends |= sends(&source);
        self.rate += packets as f64 / interval.as_secs_f64();
        let (from, to, route, (interface, program)) = self.end(dice, theme, false);
        let receivers = self.receivers(dice, theme, (&from, &to, &route));
        let count = dice.pick(&[1, 1, 1, 2, 3]);
        let share = match theme.scheduling == Scheduling::Anything {
            true => dice.maybe(0.4, |dice| quantity(Rate::of(size, interval * dice.between(1, 20)))),
            // A queue of the adapter may go by it.
            false if theme.rated && dice.further().chance(0.2) => {
                let interval = interval * dice.further().between(1, 20);
                quantity(Rate::of(size, interval))
            }
            false => unsaid(),
        };
        // Best effort has no level. It could name one, and what follows is drawn as it was then.
        if dice.chance(0.03) {
            dice.below(32);
        }
        self.drafted.push(table!(RawChannel {
            name: name(format!("be{n}")),
            class: word::<Class>("best_effort"),
            from: from,
            to: to,
            route: route,
            receivers: receivers,
            count: if count == 1 { unsaid() } else { whole(count) },
            max_message: quantity(size),
            min_message: smallest.map_or_else(unsaid, quantity),
            burst: whole(burst),
            // Only where rates are shared.
            group: when(share.node.is_some(), || group(dice.aside(), theme)),
            share: share,
            message_slots: message_slots,
            packet_slots: dice.maybe(0.1, |dice| whole(dice.between(1, 2 * packets * burst))),
            refusal: when(theme.careless, || dice.any::<RefusalEffect>(0.1)),
            message_overflow: dice.any::<MessageOverflow>(0.7),
            packet_overflow: word::<PacketOverflow>(packet_overflow),
            core: super::cores::core(dice, theme),
            reader: super::computing::reader(dice.aside(), theme, flood),
            interface: interface,
            program: program,
            source: part(source),
            ..
        }));
    }
}

/// The group that a channel with a rate is in.
fn group(dice: &mut Dice, theme: &Theme) -> Drawn<Option<Written<Name>>> {
    match theme.groups {
        0 => unsaid(),
        groups => dice.maybe(0.6, |dice| name(dice.pick(&GROUPS[..groups]))),
    }
}

/// Treatment of full packet buffers.
fn overflow(dice: &mut Dice, theme: &Theme) -> &'static str {
    match theme.decays {
        true => dice.word::<PacketOverflow>("decay", 0.3),
        false => dice.pick(&["block", "block", "drop"]),
    }
}

/// Whether the source keeps its host busy.
fn floods(source: &Drafted<crate::raw::RawSource>) -> bool {
    let kind = source.table.at("kind");
    matches!(kind, Some(SketchNode::Word("continuous" | "closed", _)))
}

fn sends(source: &Drafted<crate::raw::RawSource>) -> bool {
    !matches!(source.table.at("kind"), Some(SketchNode::Word("none", _)))
}

pub(super) type End = Drawn<Option<Written<NodeName>>>;
pub(super) type Hops = Drawn<Option<List<Written<Name>>>>;

/// Ends of the channel, or its route, which may pass a host again.
fn way(dice: &mut Dice, theme: &Theme) -> (End, End, Hops) {
    let (from, to) = ends(dice, theme);
    let Place::Nodes { hosts, switches, ring } = theme.place else { return (from, to, unsaid()) };
    let dice = dice.ways();
    // A channel that passes a port by rates twice has no bound.
    if !dice.chance(if theme.fifo || theme.plain && theme.by_rate { 0.01 } else { 0.1 }) {
        return (from, to, unsaid());
    }
    let mut host = dice.below(hosts) as usize;
    let mut way = vec![HOSTS[host]];
    for _ in 0..dice.between(1, 4) {
        let next = match switches {
            0 if theme.hub && host == HUB => dice.pick(&[0, 2, 3]),
            0 if theme.hub => HUB,
            // In a line.
            0 if !ring && host == 0 => 1,
            0 if !ring && host + 1 == hosts as usize => host - 1,
            0 if !ring => dice.pick(&[host - 1, host + 1]),
            0 => (host + dice.between(1, hosts - 1) as usize) % hosts as usize,
            _ if theme.row.is_some() => (host + dice.between(1, hosts - 1) as usize) % hosts as usize,
            // A frame returns by the link on which it went to the switch, too.
            _ => dice.below(hosts) as usize,
        };
        match theme.row {
            Some(row) => way.extend(row.between(host, next)),
            None => way.extend(switches_between((hosts, switches), host, next)),
        }
        way.push(HOSTS[next]);
        host = next;
    }
    (unsaid(), unsaid(), names(way.into_iter().map(String::from).collect()))
}

/// Where the channel begins and ends.
fn ends(dice: &mut Dice, theme: &Theme) -> (End, End) {
    let nodes = theme.nodes();
    let any = |dice: &mut Dice| dice.maybe(0.7, |dice| this(whole(dice.below(nodes))));
    match theme.place {
        Place::Nodes { hosts, .. } => {
            let (from, other) = (dice.below(hosts), dice.below(hosts - 1));
            let to = if other < from { other } else { other + 1 };
            let end = |n: u64| that(name(HOSTS[n as usize]));
            (end(from), end(to))
        }
        Place::Stations(_) | Place::Ring(_) | Place::Ethernet(_) => (any(dice), any(dice)),
        // With relays every channel takes the whole path.
        Place::Alone | Place::Path(_) if theme.careless => (any(dice), any(dice)),
        Place::Path(0) => dice.maybe_pair(0.1, |dice| (any(dice), any(dice))),
        Place::Alone | Place::Path(_) => dice.maybe_pair(0.05, |_| (this(whole(0)), this(whole(nodes - 1)))),
    }
}
