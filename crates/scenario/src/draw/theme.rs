//! Values on which the tables of a scenario have to agree, drawn before any of them.
//!
//! Keys drawn one by one would be refused, or not admitted: a path with relays has fixed stations,
//! and a contract means something only beside the costs of its host. So the place, the costs and
//! the load are drawn first.

use laxity_qos::costs::{HostCosts, LinkCosts};
use laxity_units::{ByteTime, Bytes, Span};

use super::dice::Dice;
use super::row::Row;

/// Where the channels go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// One host without a receiver.
    Alone,
    /// A chain, with a number of relays.
    Path(u64),
    /// A number of hosts with links of their own, every channel from one to any.
    Stations(u64),
    /// A number of hosts at a token ring.
    Ring(u64),
    /// A number of hosts at an Ethernet.
    Ethernet(u64),
    /// Hosts by name, with a number of switches between them, or at a token ring.
    Nodes { hosts: u64, switches: u64, ring: bool },
}

/// Kind of the adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AdapterTheme {
    Null,
    /// A built-in adapter.
    Named(&'static str),
    Generic,
    Cim250,
}

/// Scheduler of the link, which decides the possible analyses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheduling {
    /// One of those that have an analysis, CPU and link in the same order.
    Analysed,
    /// Any word at any key.
    Anything,
}

/// The frame of a scenario.
pub(super) struct Theme {
    pub(super) place: Place,
    /// Its switches are in a row.
    pub(super) row: Option<Row>,
    /// Hosts at a row are such as have bounds mostly: one of many stations without leaves few of
    /// the others theirs.
    pub(super) plain: bool,
    pub(super) adapter: AdapterTheme,
    pub(super) scheduling: Scheduling,
    pub(super) paradigm: &'static str,
    pub(super) ideal: bool,
    /// Whether contracts are enforced; without, a queue has no end, and no source can keep it full.
    pub(super) enforced: bool,
    /// Whether admission is off, as it must be where the reader knows no analysis.
    pub(super) off: bool,
    /// Ports keep rates apart, which takes deadlines beyond intervals.
    pub(super) by_rate: bool,
    /// Number of groups of channels with a common rate.
    pub(super) groups: usize,
    /// Admission is by processor demand, and deadlines may be beyond intervals.
    pub(super) demand: bool,
    /// Channels accept late messages.
    pub(super) chancy: bool,
    /// Keys that do not go together are left as they were drawn: the reader is to refuse them.
    pub(super) careless: bool,
    /// All channels start at the same instant.
    pub(super) in_phase: bool,
    pub(super) packet: Bytes,
    /// The costs that `[host.costs]` says, of which `said` are.
    pub(super) costs: HostCosts,
    pub(super) said: bool,
    pub(super) link: LinkCosts,
    /// Handlers may work ahead of time.
    pub(super) ahead: bool,
    /// Channels exceed their contracts in every way, hosts have horizons of many intervals, and
    /// ports go by any order with a bound. One without the others exceeded no bound.
    pub(super) excess: bool,
    /// Ports have FIFO queues, which no best effort and no cost of a packet keeps from a bound.
    pub(super) fifo: bool,
    /// And hosts take no time, with FIFO queues at their links.
    pub(super) free: bool,
    /// Or ports go by strict priority, beside best effort.
    pub(super) leveled: bool,
    /// And have regulators.
    pub(super) regulated: bool,
    /// Whether switches by strict priority may interrupt frames: their links have those of Ethernet.
    pub(super) preempts: bool,
    /// All real-time channels name their levels.
    pub(super) by_hand: bool,
    /// Channels may let deadlines decay when packet buffers are full.
    pub(super) decays: bool,
    /// The scenario has more channels than there are levels.
    pub(super) crowd: bool,
    /// A described adapter has priorities.
    pub(super) tidy: bool,
    /// Queues of a described adapter that knows that go by an order of their own among what has a deadline.
    pub(super) rated: bool,
    /// Hosts have a bus, and described adapters are at it.
    pub(super) bused: bool,
    /// A host has an adapter of another kind than the rest, which may be one that no analysis covers.
    pub(super) mixed: bool,
    /// The second host of a line has an adapter for each side.
    pub(super) divided: bool,
    /// It has one more for a third, so that hosts are around it and not in a line.
    pub(super) hub: bool,
    /// Cores of each host.
    pub(super) cores: u64,
    /// The last of the hosts by name receives at interfaces, and most channels end there.
    pub(super) ends: bool,
    /// Real-time packets have launch times.
    pub(super) launches: bool,
    /// Adapters have credit-based shapers.
    pub(super) shaped: bool,
    /// Channels may answer each other in a circle.
    pub(super) loops: bool,
}

/// Adapters of hosts in a line of which one has several.
const BESIDE: [AdapterTheme; 6] = [
    AdapterTheme::Generic,
    AdapterTheme::Generic,
    AdapterTheme::Null,
    AdapterTheme::Named("end-edd"),
    AdapterTheme::Named("tsn-1g"),
    AdapterTheme::Named("nic-25g"),
];

/// Names of groups.
pub(super) const GROUPS: [&str; 3] = ["red", "green", "blue"];

/// The 25 MHz MC68040 of the papers, `profiles/mc68040.toml`.
const MC68040: [u64; 11] = [55, 90, 420, 170, 160, 68, 0, 60, 170, 250, 50];

impl Theme {
    pub(super) fn draw(dice: &mut Dice) -> Self {
        let place = match dice.below(100) {
            0..40 => Place::Alone,
            40..60 => Place::Path(dice.pick(&[0, 1, 1, 1, 2, 2, 3])),
            60..78 => Place::Stations(dice.between(2, 4)),
            78..82 => Place::Ring(dice.between(1, 4)),
            82..85 => Place::Ethernet(dice.between(1, 4)),
            85 => Place::Nodes { hosts: dice.between(2, 4), switches: 0, ring: true },
            _ => Place::Nodes { hosts: dice.between(2, 4), switches: dice.pick(&[0, 1, 1, 2]), ring: false },
        };
        // Rows are drawn in place of lone hosts, of which there are most, and of stars.
        let row = match place {
            Place::Alone => dice.rows().chance(0.12),
            Place::Nodes { switches: 1.., .. } => dice.rows().chance(0.3),
            _ => false,
        };
        let row = row.then(|| Row::draw(dice.rows()));
        let place =
            row.map_or(place, |Row { hosts, switches, .. }| Place::Nodes { hosts, switches, ring: false });
        // So are hosts in a line, of which one has several adapters, and some with stages.
        let beside = place == Place::Alone && dice.beside().chance(0.08);
        let place = match beside {
            true => Place::Nodes { hosts: dice.beside().between(3, 4), switches: 0, ring: false },
            false => place,
        };
        let shared =
            ["ring-edf", "ring-fifo", "ring-two-queues", "ring-edf-unoptimised", "end-edd", "end-fifo"];
        let others = ["null", "template", "cim250", "cim250-simple", "cim250-dual", "cim250-simple-dual"];
        let adapter = match (place, dice.below(20)) {
            (Place::Nodes { ring: true, .. }, _) => AdapterTheme::Named(dice.pick(&shared)),
            (Place::Ring(_) | Place::Ethernet(_), 0..8) => AdapterTheme::Generic,
            (Place::Ring(_) | Place::Ethernet(_), 8) => AdapterTheme::Named("template"),
            (Place::Ring(_) | Place::Ethernet(_), _) => AdapterTheme::Named(dice.pick(&shared)),
            (_, 0..4) => match dice.below(6) {
                0..3 => AdapterTheme::Generic,
                3 => AdapterTheme::Cim250,
                4 => AdapterTheme::Named(dice.pick(&others)),
                _ => AdapterTheme::Named(dice.pick(&shared)),
            },
            _ => AdapterTheme::Null,
        };
        let plain = row.is_some() && !dice.rows().chance(0.1);
        let adapter = if plain { AdapterTheme::Null } else { adapter };
        let adapter = if beside { dice.beside().pick(&BESIDE) } else { adapter };
        // A host with several adapters is where several may be at one bus.
        let line = matches!(place, Place::Nodes { hosts: 3.., switches: 0, ring: false });
        let seated = line && !beside && dice.buses().chance(0.4);
        let adapter = if seated { AdapterTheme::Generic } else { adapter };
        let scheduling = match dice.chance(0.87) || plain {
            true => Scheduling::Analysed,
            false => Scheduling::Anything,
        };
        let ideal = dice.chance(0.12);
        let null = matches!(adapter, AdapterTheme::Null | AdapterTheme::Named("null"));
        let paradigm = match scheduling {
            Scheduling::Analysed if ideal => "O1",
            Scheduling::Analysed if beside => dice.beside().pick(&["O1", "O1", "O2", "O2", "O3"]),
            Scheduling::Analysed if null => dice.pick(&["O1", "O2"]),
            // One that has stages may schedule the link itself.
            Scheduling::Analysed => dice.pick(&["O1", "O2", "adapter"]),
            Scheduling::Anything => dice.pick(&["O1", "O2", "O3", "adapter"]),
        };
        // Rare combinations by chance: threads that are created for packets, and adapters that get
        // each packet as it is made.
        let seldom = scheduling == Scheduling::Analysed && !ideal && !beside && dice.newest().chance(0.12);
        let handed = seldom && (!null || dice.newest().chance(0.6));
        let was = paradigm;
        let threads = scheduling == Scheduling::Analysed && !null && was == "O2" && dice.newest().chance(0.4);
        let paradigm = match (seldom, handed) {
            (true, true) => "adapter",
            (true, false) => "O3",
            (false, _) if threads => "O3",
            (false, _) => was,
        };
        let careless = dice.chance(0.02);
        let lawless = if scheduling == Scheduling::Analysed { 0.02 } else { 0.2 };
        // Combinations that once had no analysis, so their draws are kept apart.
        let unanalysed = (was == "O3" || was == "adapter" && null) && !ideal;
        let off = match unanalysed {
            true => !careless && dice.newest().chance(0.3),
            false => dice.chance(if null { 0.02 } else { 0.1 }),
        };
        let (said, mut costs) = costs(dice, place);
        if plain && dice.rows().chance(0.7) {
            costs.interrupt = Span::ZERO;
        }
        let by_rate = matches!(place, Place::Nodes { switches: 1.., .. }) && dice.chance(0.35);
        let often = if by_rate || scheduling == Scheduling::Anything { 0.5 } else { 0.1 };
        let grouped = dice.aside().chance(often);
        let groups = if grouped { dice.aside().between(1, GROUPS.len() as u64) as usize } else { 0 };
        let mut link = LinkCosts::new(dice.cost(120), Span::ZERO);
        if dice.chance(0.85) {
            link.per_byte = ByteTime::from_ns(dice.pick(&[1, 5, 8, 20, 50, 80, 100, 200]));
        }
        if link.startup.is_zero() && (link.per_byte.is_zero() || costs.packet.is_zero()) {
            // Costs of zero everywhere would send without end at one instant.
            link.startup = Span::from_us(10);
        }
        let packet = dice.pick(&[100, 512, 1024, 1024, 1500, 4096, 4096, 4096, 16384]);
        if paradigm == "adapter" && dice.newest().chance(0.75) {
            // A host that makes packets no faster than its adapter is done with them.
            let stages = Span::from_us(150) + Span::from_ns(60) * packet;
            let least = if null { link.transmit(Bytes::new(packet)) } else { stages };
            if said {
                let HostCosts { first_packet, single_packet, packet, receive_packet, .. } = &mut costs;
                for cost in [first_packet, single_packet, packet, receive_packet] {
                    *cost = (*cost).max(least);
                }
            } else if null {
                link.startup = link.startup.min(Span::from_us(20));
                link.per_byte = link.per_byte.min(ByteTime::from_ns((150_000 / packet).max(1)));
            }
        }
        // By the demand test such an adapter has a bound only if it keeps rates apart and has each
        // packet at once; then deadlines are mostly beyond intervals.
        let rated = adapter == AdapterTheme::Generic && dice.further().chance(0.4);
        let tested = match (rated, paradigm) {
            (false, _) => None,
            (true, "adapter") => Some(dice.further().chance(0.7)),
            (true, _) => Some(false).filter(|_| dice.further().chance(0.9)),
        };
        let stages_of_cores = scheduling == Scheduling::Analysed && dice.stages().chance(0.12);
        let theme = Self {
            place,
            row,
            plain,
            adapter,
            scheduling,
            paradigm,
            ideal,
            enforced: !dice.chance(lawless),
            off,
            by_rate,
            groups,
            demand: {
                let drawn = !off && dice.chance(if by_rate || row.is_some() { 0.8 } else { 0.3 });
                tested.map_or(drawn, |tested| !off && tested)
            },
            chancy: false,
            careless,
            in_phase: dice.chance(0.5),
            packet: Bytes::new(packet),
            costs,
            said,
            link,
            ahead: dice.chance(if paradigm == "adapter" || plain { 0.15 } else { 0.4 }),
            excess: false,
            fifo: false,
            free: false,
            leveled: false,
            regulated: false,
            preempts: false,
            by_hand: scheduling == Scheduling::Analysed && dice.levels().chance(0.25),
            decays: dice.chance(if plain { 0.05 } else { 0.2 }),
            crowd: dice.chance(0.04),
            tidy: dice.chance(if paradigm == "adapter" { 0.7 } else { 0.4 }),
            rated,
            bused: seated || adapter == AdapterTheme::Generic && dice.buses().chance(0.3),
            mixed: matches!(place, Place::Nodes { ring: false, .. })
                && dice.chance(if beside { 0.7 } else { 0.3 })
                && !plain,
            divided: line && dice.chance(0.4) | seated | beside,
            hub: false,
            // Where anything is drawn there is mostly no bound. At first several had none anywhere.
            cores: match !plain
                && dice.latest().chance(if scheduling == Scheduling::Anything { 0.4 } else { 0.06 })
            {
                true => dice.latest().pick(&[2, 2, 3, 4, 64]),
                false if plain => 1,
                false if paradigm == "O1" && null && !ideal && dice.newest().chance(0.2) => {
                    dice.newest().pick(&[2, 2, 3])
                }
                false if paradigm == "O2" && null && dice.hubs().chance(0.25) => dice.hubs().pick(&[2, 2, 3]),
                false if !null && paradigm != "O3" && stages_of_cores => dice.stages().pick(&[2, 2, 3]),
                false => 1,
            },
            ends: false,
            launches: false,
            shaped: false,
            loops: dice.own("channel.loops").chance(0.12),
        };
        let hub = theme.divided && matches!(place, Place::Nodes { hosts: 4, .. });
        let theme = Self { hub: hub && dice.hubs().chance(0.5), ..theme };
        let switched = matches!(place, Place::Nodes { switches: 1.., .. });
        let excess =
            switched && theme.null() && !theme.mixed && !theme.careless && dice.excess().chance(0.35);
        let theme = Self { excess, ahead: theme.ahead || excess, ..theme };
        let analysed = theme.scheduling == Scheduling::Analysed && !theme.off && theme.enforced;
        let calm = analysed && switched && theme.null() && !theme.mixed && !theme.careless && !excess;
        let chancy = theme.demand && theme.place == Place::Alone && dice.requests().chance(0.2);
        let theme = Self { chancy, ..theme };
        let alike = theme.null() && theme.cores == 1 && !(theme.mixed || theme.divided || theme.crowd);
        let joined = matches!(place, Place::Nodes { ring: false, .. }) && theme.row.is_none();
        let ends = alike && joined && dice.ends().chance(0.6);
        // Deadlines beyond intervals leave time for turns of the receiver.
        let late = ends && !theme.off && dice.ends().chance(0.6);
        let theme = Self { ends, demand: theme.demand || late, ..theme };
        let theme = if calm && dice.queues().chance(0.3) { theme.with_queues(dice.queues()) } else { theme };
        let stages = theme.row.is_some_and(|row| row.tells_late);
        let launchable = analysed && alike && !(stages || theme.ideal || theme.free || theme.careless);
        if launchable && dice.launches().chance(0.08) {
            // Hosts that work ahead have as many launch times as others: the adapter holds what is early.
            return Self { launches: true, paradigm: "adapter", chancy: false, ..theme };
        }
        match launchable && dice.shapers().chance(0.09) {
            true => theme.with_shapers(dice.shapers()),
            false => theme,
        }
    }

    /// The same with credit-based shapers in adapters, on links where each byte takes its time.
    fn with_shapers(self, dice: &mut Dice) -> Self {
        let startup = if dice.chance(0.97) { Span::ZERO } else { self.link.startup };
        let per_byte = match self.link.per_byte.is_zero() {
            true => ByteTime::from_ns(dice.pick(&[5, 8, 80])),
            false => self.link.per_byte,
        };
        let link = LinkCosts { startup, per_byte, ..self.link };
        let ahead = self.ahead && dice.chance(0.1);
        Self { shaped: true, paradigm: "adapter", chancy: false, link, ahead, ..self }
    }

    /// The same with FIFO queues at ports, and perhaps at the links of hosts that take no time.
    fn with_queues(self, dice: &mut Dice) -> Self {
        let per_byte = match self.link.per_byte.is_zero() {
            true => ByteTime::from_ns(dice.pick(&[5, 8, 80])),
            false => self.link.per_byte,
        };
        let link = LinkCosts { startup: Span::ZERO, per_byte, ..self.link };
        let leveled = dice.chance(0.4);
        let regulated = leveled && dice.chance(0.4);
        let preempts = leveled && !regulated && dice.chance(0.4);
        let with_queues =
            Self { fifo: true, leveled, regulated, preempts, by_rate: false, groups: 0, link, ..self };
        if !dice.chance(0.4) {
            return with_queues;
        }
        let costs = HostCosts::default();
        Self { free: true, said: true, costs, ideal: false, paradigm: "O1", cores: 1, ..with_queues }
    }

    /// Hosts that there are.
    pub(super) fn nodes(&self) -> u64 {
        match self.place {
            Place::Alone => 1,
            Place::Path(relays) => relays + 2,
            Place::Stations(n) | Place::Ring(n) | Place::Ethernet(n) => n,
            Place::Nodes { hosts, switches, .. } => hosts + switches,
        }
    }

    /// Hops of a typical path.
    pub(super) fn hops(&self) -> u64 {
        match self.place {
            // Of stations without names none receives.
            Place::Alone | Place::Stations(_) | Place::Ring(_) | Place::Ethernet(_) => 1,
            Place::Path(relays) => relays + 1,
            Place::Nodes { switches, .. } => 2 + switches,
        }
    }

    /// Whether the adapter is one that admission analyses.
    pub(super) fn null(&self) -> bool {
        matches!(self.adapter, AdapterTheme::Null | AdapterTheme::Named("null"))
    }

    /// CPU and link time of a message of `size`, roughly: what it takes of the busier of the two.
    pub(super) fn work(&self, size: Bytes) -> Span {
        let packets = size.div_ceil(self.packet).max(1);
        let switch = if self.ideal { Span::ZERO } else { self.costs.context_switch + self.costs.cache_miss };
        let per_packet = self.costs.link_scheduling + if self.paradigm == "O1" { Span::ZERO } else { switch };
        let first = self.costs.first_packet + switch + self.costs.interrupt;
        let cpu = first + (self.costs.packet + self.costs.interrupt) * (packets - 1) + per_packet * packets;
        let received = self.costs.receive_packet * packets + self.costs.receive_message + switch;
        let link = self.link.startup * packets + self.link.per_byte.time(size);
        let slow = if self.null() { Span::ZERO } else { Span::from_us(400) * packets };
        cpu.max(link)
            .max(slow)
            .max(if self.nodes() > 1 { received } else { Span::ZERO })
            .max(Span::from_us(1))
    }

    /// From one packet to the next of a flood, at least.
    pub(super) fn pace(&self) -> Span {
        let link = self.link.transmit(self.packet);
        (self.costs.packet + self.costs.link_scheduling).max(link).max(Span::from_us(2))
    }
}

/// Costs of a host, and whether the file says them: those of the profile, or anything, receiving
/// dearer than sending and further packets dearer than first ones among it.
fn costs(dice: &mut Dice, place: Place) -> (bool, HostCosts) {
    let said = !dice.chance(0.3);
    let mut us = MC68040.map(Span::from_us);
    if said {
        let most = dice.pick(&[30, 200, 400]);
        us = std::array::from_fn(|_| dice.cost(most));
        // Interrupts of their own, and receiving that costs more than sending, are not analysed at a relay.
        if dice.chance(0.6) {
            us[6] = Span::ZERO;
        }
        if dice.chance(0.7) && us[2] < us[3] {
            us.swap(2, 3);
        }
        if matches!(place, Place::Path(_) | Place::Stations(_) | Place::Nodes { .. }) && dice.chance(0.6) {
            us[8] = us[8].min(us[3]);
        }
    }
    let [context_switch, cache_miss, first_packet, packet, link_scheduling, hand_over, interrupt, ..] = us;
    let [.., thread_creation, receive_packet, receive_message, send_call] = us;
    // Up to what a packet costs otherwise, for one of a few KiB.
    let byte = |dice: &mut Dice| {
        if said && dice.chance(0.2) { Span::from_ps(dice.pick(&[250, 2_000, 20_000])) } else { Span::ZERO }
    };
    let costs = HostCosts {
        context_switch,
        cache_miss,
        first_packet,
        packet,
        link_scheduling,
        hand_over,
        interrupt,
        poll: if said { dice.cost(40) } else { interrupt },
        response: if said && dice.chance(0.3) { dice.cost(10) } else { Span::ZERO },
        // At first they had no bound, and were seldom drawn.
        timer: match said && dice.latest().chance(0.04) {
            true => dice.latest().cost(20),
            false if said && dice.newest().chance(0.12) => dice.newest().cost(60),
            false => Span::ZERO,
        },
        ipi: if said && dice.latest().chance(0.3) { dice.latest().cost(20) } else { Span::ZERO },
        thread_creation,
        receive_packet,
        receive_message,
        send_call,
        send_byte: byte(dice),
        receive_byte: byte(dice),
        transfer_byte: byte(dice),
        real_time_packet: match said && dice.requests().chance(0.1) {
            true => dice.requests().cost(100),
            false => Span::ZERO,
        },
        single_packet: match said && dice.newest().chance(0.2) {
            true => first_packet.min(packet),
            false => first_packet,
        },
    };
    (said, costs)
}
