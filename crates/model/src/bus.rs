//! Arbitration of the buses that the adapters of a host share with each other and with its CPU.
//!
//! Packets of several adapters contend for the I/O bus between them and the host's memory (thesis
//! §4.2.2), so whether a phase may run depends on the other adapters. An adapter knows only itself,
//! and a phase holds all its resources or none: an adapter that took its processor and then waited
//! for the bus would block its other work meanwhile. Therefore one table of the node holds the
//! claims of the phases of all adapters, and each call passes it along with the packets. An adapter
//! whose claims change reports them, has the allocation recomputed, and applies its own part at
//! once; the other adapters apply theirs when the call is over, at the same instant.
//!
//! ```text
//!   adapter ──claims of its phases──▶ ┌─────────┐ ──which phases run──▶ the same adapter
//!                                     │  Buses  │
//!                                     └─────────┘ ──untold──▶ Node::settle ──▶ the other adapters
//! ```
//!
//! *The order* is that of an adapter's own resources (`adapter/pipeline/resources.rs`), over all
//! adapters at the bus: first a phase that is not preemptible keeps its resources; then the phase's
//! priority; then, at a bus that goes by it, the packet's urgency; then the current holder. Equal
//! adapters take turns, as at the arbiter of a PCI bus, which has one request line for each: the
//! adapter goes first that has requested the bus for longest since it last released it. Turns
//! belong to the adapter and not to the packet, so an adapter with many servers gets no larger
//! share, and the order among its own phases is unchanged. Hence an adapter alone at a bus behaves
//! exactly as if the bus were its own resource. A phase that yields releases the bus after each
//! segment; a preempted phase keeps its turn.
//!
//! *The CPU* steals cycles: while it copies, no adapter can use a bus that the CPU shares. *A
//! failed adapter releases the bus*: an adapter that stops, or whose end of the bus stalls, loses
//! it, as the latency timer of a bus takes it away, and resumes with its remaining work; a reset
//! adapter has none left.
//!
//! *The order of notification does not matter.* The allocation depends only on all claims and on
//! which of them run, by one order, greedily. An adapter that applies the allocation moves up in
//! that order if it starts and down if it stops. A started claim conflicts with no other allocated
//! claim, and a stopped claim still has the conflicting claims before it. Recomputing therefore
//! yields the same allocation.

use laxity_qos::channel::LinkId;
use laxity_units::{Span, Time};

use crate::adapter::{Description, Ranked, Resource};

/// The buses of a node.
#[derive(Debug, Default)]
pub struct Buses {
    names: Vec<String>,
    seats: Vec<Seat>,
    /// Number of turns given so far.
    turns: u64,
    /// Some adapter may not have applied the allocation yet.
    untold: bool,
    /// End of the CPU's current copy, and total copy time once that has ended.
    copying: Time,
    copied: Span,
    /// Empty between two calls; kept to reuse its memory.
    order: Vec<Placed>,
}

#[derive(Debug)]
struct Seat {
    link: LinkId,
    bus: usize,
    /// Index of the adapter's resource that is the bus.
    place: usize,
    resources: Vec<Resource>,
    /// Resources held by each phase, by stage.
    holds: Vec<Vec<Vec<usize>>>,
    /// Claims of its phases, as last reported.
    claims: Vec<Claim>,
    /// Per resource: stalled, so it serves no phase.
    stalled: Vec<bool>,
    stopped: bool,
    /// Some phase claims or holds the bus.
    wants: bool,
    /// The adapter with the smallest number has the next turn.
    turn: u64,
    /// Since when the adapter holds the bus.
    since: Option<Time>,
    /// Time for which it held the bus before `since`.
    busy: Span,
    /// The allocation differs from the claims that run.
    untold: bool,
}

/// A phase that claims resources, or is stopped.
#[derive(Debug, Clone, Copy)]
struct Claim {
    ranked: Ranked,
    /// Its index in its stage.
    phase: usize,
    /// The phase runs.
    runs: bool,
    /// The allocation lets the phase run.
    goes_on: bool,
}

/// Sort key of a claim: its rank, its adapter's turn, its seat, its stage and job, and its index at
/// the seat.
type Placed = ((bool, u8, (bool, Time), bool), u64, usize, (usize, usize), usize);

/// For how long each holder had a bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusReport {
    /// Name of the bus.
    pub name: String,
    /// Time for which each adapter held it, by the adapter's link.
    pub held: Vec<(LinkId, Span)>,
    /// Time for which the CPU held it.
    pub copied: Span,
}

impl Buses {
    /// Registers the adapter of `link` before the run; returns its seat if it is at a bus.
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

    /// Returns an adapter with running phases that differ from the allocation.
    #[inline]
    pub(crate) fn untold(&mut self) -> Option<LinkId> {
        if !self.untold {
            return None;
        }
        let first = self.seats.iter().find(|seat| seat.untold).map(|seat| seat.link);
        self.untold = first.is_some();
        first
    }

    /// The CPU copies for `span` from now on, after any copy still in progress.
    pub(crate) fn copies(&mut self, now: Time, span: Span) {
        self.copying = self.copying.max(now) + span;
        self.copied += span;
    }

    /// Recomputes the allocation for new claims at `seat`, with its stopped and stalled state.
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

    /// Whether the allocation lets claim `place` of `seat` run.
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

    /// Usage of each bus until `now`.
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
    /// Resources that a phase holds while it runs.
    fn held(&self, claim: &Claim) -> &[usize] {
        let (.., stage, _) = claim.ranked;
        &self.holds[usize::MAX - stage][claim.phase]
    }

    /// Whether the bus is among those resources.
    fn has_bus(&self, claim: &Claim) -> bool {
        self.held(claim).contains(&self.place)
    }
}
