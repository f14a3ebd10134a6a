//! Buses that adapters of a host share, and with them its CPU: who has which.
//!
//! Packets of several adapters contend for the I/O bus between them and the host's memory (thesis §4.2.2), so whether one may go on hangs on what is in other
//! adapters. Yet an adapter knows none but itself, and a phase holds all its resources or none: an adapter that took its processor and then asked
//! for the bus would keep the processor from others while it waits. So what the phases of all adapters want lies here, in one
//! table of the node, which is passed along with each call as its packets are. Who wants something else than before says so, has all decided anew, and
//! does what concerns itself at once; the others are told when the call is over, at that instant.
//!
//! ```text
//!   adapter ──what its phases want──▶ ┌─────────┐ ──which of them go on──▶ the same adapter
//!                                     │  Buses  │
//!                                     └─────────┘ ──untold──▶ Node::settle ──▶ the other adapters
//! ```
//!
//! *The order* is that of an adapter's own resources (`adapter/pipeline/resources.rs`), over all adapters at the bus: who may not be interrupted keeps what it
//! has; then the phase's priority; then, at a bus that goes by that, how urgent the packet is; then who has it already. Among equals adapters take turns, as at the arbiter of a PCI bus, which hears one
//! line of each: first who has wanted it for longest since it last gave it up. Turns are the adapter's and not the packet's, so one with many servers gets no more than another, and which of its own phases goes
//! first is what it always was. Hence who is alone at a bus passes it, bit by bit, as a resource of its own. A phase that yields gives the bus up after each segment; who is interrupted keeps its turn.
//!
//! *The CPU* steals cycles: while it copies, a bus that it shares is nobody else's. *What is broken lets go*: an adapter that stops, or whose end of the bus stalls, has lost it, as the latency timer of a bus
//! takes it away, and goes on with what it had left; one that is reset has nothing left.
//!
//! *It does not matter who is told first.* What is decided hangs on nothing but what all want and who goes on so far, by one order, greedily. Whoever does as he is told goes up in that order if he goes on
//! and down if he stops. Who goes on stands in nobody's way who does, and who stops still has those before him that stood in his way; so what was decided is decided again.

use laxity_qos::channel::LinkId;
use laxity_units::{Span, Time};

use crate::adapter::{Description, Ranked, Resource};

/// The buses of a node.
#[derive(Debug, Default)]
pub struct Buses {
    names: Vec<String>,
    seats: Vec<Seat>,
    /// Turns given so far.
    turns: u64,
    /// Some adapter may have to be told of what was decided.
    untold: bool,
    /// Until when the CPU copies, and for how long it will have when that is over.
    copying: Time,
    copied: Span,
    /// Empty between two calls; kept for its memory.
    order: Vec<Placed>,
}

/// An adapter at a bus.
#[derive(Debug)]
struct Seat {
    link: LinkId,
    bus: usize,
    /// Its resource that is the bus.
    place: usize,
    resources: Vec<Resource>,
    /// What its phases hold, by stages.
    holds: Vec<Vec<Vec<usize>>>,
    /// What they want, as it said last.
    claims: Vec<Claim>,
    /// Per resource: it does nothing.
    stalled: Vec<bool>,
    stopped: bool,
    /// Some phase wants the bus, or has it.
    wants: bool,
    /// The smaller, the sooner it is its turn.
    turn: u64,
    /// Since when it has the bus.
    since: Option<Time>,
    /// For how long it had it before that.
    busy: Span,
    /// What was decided is not what it does.
    untold: bool,
}

/// A phase that wants resources, or is stopped.
#[derive(Debug, Clone, Copy)]
struct Claim {
    ranked: Ranked,
    /// Its number in its stage.
    phase: usize,
    /// It has what it wants.
    runs: bool,
    /// It was decided that it has.
    goes_on: bool,
}

/// What a claim is before others for: by its rank, its adapter's turn, that, and its place there; and its number there.
type Placed = ((bool, u8, (bool, Time), bool), u64, usize, (usize, usize), usize);

/// How long a bus was whose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusReport {
    /// Its name.
    pub name: String,
    /// Adapters had it, which their links name.
    pub held: Vec<(LinkId, Span)>,
    /// The CPU had it.
    pub copied: Span,
}

impl Buses {
    /// The adapter of `link` is such a one, before the run; answers its seat if it is at a bus.
    pub(crate) fn join(&mut self, link: LinkId, description: &Description) -> Option<usize> {
        let (place, name) = description.bus()?;
        let known = self.names.iter().position(|known| known == name);
        let bus = known.unwrap_or_else(|| {
            self.names.push(name.to_string());
            self.names.len() - 1
        });
        let stages = description.transmit.iter().chain(&description.receive);
        let holds = stages.map(|stage| stage.phases.iter().map(|phase| phase.holds.clone()).collect());
        self.seats.push(Seat {
            link,
            bus,
            place,
            holds: holds.collect(),
            stalled: vec![false; description.resources.len()],
            resources: description.resources.clone(),
            claims: Vec::new(),
            stopped: false,
            wants: false,
            turn: 0,
            since: None,
            busy: Span::ZERO,
            untold: false,
        });
        Some(self.seats.len() - 1)
    }

    /// An adapter that has to be told that something else is decided of it than what it does.
    #[inline]
    pub(crate) fn untold(&mut self) -> Option<LinkId> {
        if !self.untold {
            return None;
        }
        let first = self.seats.iter().find(|seat| seat.untold).map(|seat| seat.link);
        self.untold = first.is_some();
        first
    }

    /// The CPU copies from now on for so long, after what it had to copy before.
    pub(crate) fn copies(&mut self, now: Time, span: Span) {
        self.copying = self.copying.max(now) + span;
        self.copied += span;
    }

    /// Decides anew who goes on, since at `seat` these phases want something now, and which resources do nothing there is so.
    pub(crate) fn contend(
        &mut self,
        seat: usize,
        now: Time,
        (stopped, stalled): (bool, &[bool]),
        wants: impl Iterator<Item = (Ranked, usize)>,
    ) {
        let here = &mut self.seats[seat];
        here.stopped = stopped;
        here.stalled.copy_from_slice(stalled);
        here.claims.clear();
        here.claims.extend(wants.map(|(ranked, phase)| {
            let (_, _, _, waits, ..) = ranked;
            Claim { ranked, phase, runs: !waits, goes_on: false }
        }));
        let wants = here.claims.iter().any(|claim| here.has_bus(claim));
        let wanted = std::mem::replace(&mut here.wants, wants);
        let gave_up = here.since.is_some() && !here.claims.iter().any(|c| c.runs && here.has_bus(c));
        if gave_up || wants && !wanted {
            self.turns += 1;
            here.turn = self.turns;
        }
        let bus = here.bus;
        self.decide(bus, now);
        let here = &mut self.seats[seat];
        here.untold = false;
        here.claims.iter_mut().for_each(|claim| claim.runs = claim.goes_on);
        let has = here.claims.iter().any(|claim| claim.runs && here.has_bus(claim));
        if let Some(since) = here.since.take_if(|_| gave_up || !has) {
            here.busy += now.since(since);
        }
        if has {
            here.since.get_or_insert(now);
        }
    }

    /// Whether it was decided that the phase goes on which `seat` named in that place.
    pub(crate) fn goes_on(&self, seat: usize, place: usize) -> bool {
        self.seats[seat].claims[place].goes_on
    }

    fn decide(&mut self, bus: usize, now: Time) {
        let mut order = std::mem::take(&mut self.order);
        for (s, seat) in self.seats.iter().enumerate().filter(|(_, seat)| seat.bus == bus) {
            order.extend(seat.claims.iter().enumerate().map(|(n, claim)| {
                let (_, priority, urgency, _, stage, job) = claim.ranked;
                let keeps = claim.runs && seat.held(claim).iter().any(|r| !seat.resources[*r].preemptive);
                ((!keeps, priority, urgency, !claim.runs), seat.turn, s, (stage, job), n)
            }));
        }
        order.sort_unstable();
        for turn in 0..order.len() {
            let (.., s, _, n) = order[turn];
            let seat = &self.seats[s];
            let taken = |resource: usize| {
                let others = order[..turn].iter().filter(|(.., of, _, n)| {
                    let other = &self.seats[*of];
                    let claim = &other.claims[*n];
                    let same = if *of == s { resource } else { other.place };
                    claim.goes_on && (*of == s || resource == seat.place) && other.held(claim).contains(&same)
                });
                others.count() >= seat.resources[resource].servers as usize
            };
            let free = |resource: usize| {
                let copied = seat.resources[resource].host && self.copying > now;
                !seat.stalled[resource] && !copied && !taken(resource)
            };
            let goes_on = !seat.stopped && seat.held(&seat.claims[n]).iter().all(|resource| free(*resource));
            self.seats[s].claims[n].goes_on = goes_on;
        }
        order.clear();
        self.order = order;
        for seat in self.seats.iter_mut().filter(|seat| seat.bus == bus) {
            seat.untold = seat.claims.iter().any(|claim| claim.goes_on != claim.runs);
            self.untold |= seat.untold;
        }
    }

    /// What came of each bus by `now`.
    pub fn reports(&self, now: Time) -> impl Iterator<Item = BusReport> {
        self.names.iter().enumerate().map(move |(bus, name)| {
            let seats = || self.seats.iter().filter(move |seat| seat.bus == bus);
            let under_way = |seat: &Seat| seat.since.map_or(Span::ZERO, |since| now.since(since));
            let shared = seats().any(|seat| seat.resources[seat.place].host);
            let copied = self.copied.saturating_sub(self.copying.saturating_since(now));
            BusReport {
                name: name.clone(),
                held: seats().map(|seat| (seat.link, seat.busy + under_way(seat))).collect(),
                copied: if shared { copied } else { Span::ZERO },
            }
        })
    }
}

impl Seat {
    /// What a phase holds if it goes on.
    fn held(&self, claim: &Claim) -> &[usize] {
        let (.., stage, _) = claim.ranked;
        &self.holds[usize::MAX - stage][claim.phase]
    }

    /// Whether the bus is among that.
    fn has_bus(&self, claim: &Claim) -> bool {
        self.held(claim).contains(&self.place)
    }
}
