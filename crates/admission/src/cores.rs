//! A host with several cores that share the way out.
//!
//! # The problem
//!
//! [`super::trajectory`] follows a message backwards through link and CPU; the instant at which it
//! changes from the one to the other has a packet made by a handler of *that* CPU. With several
//! cores any of them may have made the packet, and the state of the others is unknown: a message of
//! theirs may have arrived long before, and still have packets to make. So, as in
//! [`super::rated_host`], the two are separated. A message is made by `ℓ + R` on its core, which is
//! a CPU by itself; from then on it waits at a link for which all cores make packets.
//!
//! The cores also share the link scheduler. One core is in it at a time, for `C_l`; the others spin
//! in turn with interrupts masked ([`laxity_qos::channel`]). The obvious answer charges each call
//! with a section of each core (MSRP: Gai, Lipari and Di Natale 2001), and each interrupt with a
//! call, for whatever it is about it may find a place and a packet that another core has just made.
//! But a core spins only while another core is in there, and sections are as many as packets that
//! are started. So a core is busy with the link scheduler for no longer than *any* core is in it,
//! whatever calls.
//!
//! Completions of a link are `a` apart: what its shortest packet takes, and with depth 1, where the
//! next is started after the one before has been heard of, `C_i + C_l` more. In any `Δ` there are
//! at most `Δ/a + 1`, and up to `D` that are complete but not yet noticed. Each that is noticed
//! frees a slot, and up to `D` may have been free. So there are at most `Δ/a + D + 1` starts there,
//! and one section in progress: on each core the link scheduler takes for each link
//!
//! ```text
//! C_l (Δ/a + D + 2),   and where its completions are heard of   (C_i + C_l) (Δ/a + D + 2).
//! ```
//!
//! *By packets.* A fast adapter completes packets closer together than a core can hear of them. But each
//! that is started or heard of in `Δ` had one of the `B` buffers of that link at its beginning, or was
//! made since, by one of the `n` cores with handlers for it, each of which takes at least `C` for a packet.
//! So `a` may be `C/n`, with `B + n + 1` in place of `D + 2` ([`Counting::Packets`]).
//!
//! # A core
//!
//! Let `s` and `τ` be as in [`super::trajectory`], for the messages of one core, `τ` being when the
//! last packet of `m` waits at the link, or is through where it ends here. In `(s, τ]` the core is
//! taken by a lower block, level packets, a switch for each level block, work above the handlers,
//! and the link scheduler, as above. Let `c` be that of either and of the link whose completions
//! are closest together, and `α = a/(a − c)`. Starts and completions of other links are work above
//! the handlers; all else is the first phase of [`super::handed`]. A core that sleeps is called by
//! another at most once in it, for it has work from `s` on.
//!
//! EDF goes by the deadlines asked for, those of the whole stay; the demand test says what `R` is
//! ([`super::demand`]).
//!
//! # The link
//!
//! From then on a message waits at its link ([`way`]): it is through within `b` more, and `T = R +
//! b`.
//!
//! # Under O2
//!
//! If the link scheduler is a thread of one core, `c`, no core spins. That core has all the starts,
//! `C_l` each. Of the others, those that hear of completions have `C_i` for each. There are as many
//! as above, since there too a start is behind the completion that made room for it. After each
//! block of `c`, and after all that was above its handlers, there may be a run, which begins with a
//! switch: so a switch is charged twice there. The wait for the thread is part of the way out
//! ([`way`]).
//!
//! # Room
//!
//! A packet has its buffer until its completion has been heard of, which is another core's
//! business: no later than `Y` of that core after it, and after the wait of a moderated interrupt. So
//! a channel is admitted if `T + Y ≤ d`, and with buffers for what is under way in `d` no handler
//! waits for one.
//!
//! # What it takes for granted
//!
//! Guaranteed incoming messages are handled by the core that their adapter interrupts. Otherwise
//! the interrupt that brings one could be pending while its handler's core has time. The program
//! that takes a message is on its handler's core.

#[cfg(test)]
mod tests;
mod way;

use std::collections::BTreeMap;

use laxity_units::{Bytes, Span};

use super::decision::{AdmissionId, AdmissionRefusal, Bound, Claimant, Decision, Deficit, Reason, Scarce};
use super::environment::{Counting, Environment, Interference, Request, ResourceModel};
use super::least::least;
use super::rated_host::Unrated;
use super::station::Link;
use super::table::{AdmissionTable, Test};
use super::terms::{Breakdown, ps};
use laxity_qos::channel::{CoreId, LinkId};
use laxity_qos::costs::{HostCosts, LinkCosts};
use way::{Host, Way};

/// Every promise that a host with several cores has made.
#[derive(Debug, Clone)]
pub struct CoresTable {
    cores: Vec<AdmissionTable>,
    caller: Caller,
    /// By link.
    ways: Vec<Way>,
    reserved: BTreeMap<AdmissionId, Reserved>,
    next: u64,
}

/// A link, as all cores share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WayOut {
    /// Adapter and link: an adapter of stages interrupts once for each packet.
    pub link: Link,
    /// The core that the adapter interrupts.
    pub hears: CoreId,
    /// Other cores queue handlers or applications for that one, and so may call it whenever it
    /// sleeps.
    pub called: bool,
    /// The smallest and the largest packet that leaves by it; `None` if none does.
    pub sent: Option<(Bytes, Bytes)>,
    /// Packets that there may be between a handler and the completion; `None` if that has no end.
    pub buffers: Option<u64>,
    /// Cores with handlers that make packets for it.
    pub makers: u32,
}

/// The scheduler of the links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// The core on which packets are noticed that were held for their time, and that of the thread
    /// if there is one.
    pub core: CoreId,
    /// A thread of that core (O2), in place of handlers and interrupts (O1).
    pub is_thread: bool,
}

impl Caller {
    /// Whether `core` schedules links.
    fn calls(self, core: usize) -> bool {
        !self.is_thread || usize::from(self.core.0) == core
    }

    /// Whether a thread of `core` does.
    fn has_thread(self, core: usize) -> bool {
        self.is_thread && usize::from(self.core.0) == core
    }
}

/// Where a channel is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CorePlace {
    /// The core of its handler.
    pub core: CoreId,
    /// The link that it leaves by; of what ends here, any.
    pub link: LinkId,
}

#[derive(Debug, Clone, Copy)]
struct Reserved {
    at: CorePlace,
    /// Its identifier in the table of its core.
    there: AdmissionId,
    asked: Request,
}

/// Load of a link.
#[derive(Debug, Clone, Copy)]
struct Through {
    /// `D L_max + C_l + A`, and what an adapter of stages takes once.
    lower: Span,
    /// `b`.
    all: Span,
    /// By when a completion has been heard of: `Y` of the core that hears of it.
    heard: Span,
}

impl CoresTable {
    /// A host of cores that are, each by itself, as these environments say: with what is placed
    /// there, and what is above it; and of these links, at least one, which `caller` schedules.
    pub fn new(each: &[Environment], links: &[WayOut], caller: Caller) -> Result<Self, Unrated> {
        let host = Host::new(each, links, caller).ok_or(Unrated::NothingLeft)?;
        let alone = |(place, core): (usize, &Environment)| {
            let mut starts: Vec<Interference> = host.starts(place).collect();
            starts.sort_by_key(|start| start.interval);
            // By packets all are work above the handlers.
            let by_time = usize::from(core.counting != Counting::Packets);
            let closest = starts.first().filter(|_| by_time == 1);
            let (interrupt, apart) = closest.map(|start| (start.cost, start.interval)).unwrap_or_default();
            let others = starts.into_iter().skip(by_time);
            let switch = core.host.switch();
            let context_switch =
                if caller.has_thread(place) { switch.saturating_add(switch) } else { switch };
            let environment = Environment {
                host: HostCosts { interrupt, context_switch, cache_miss: Span::ZERO, ..core.host },
                // Of the link a core has to know how close together completions are.
                link: LinkCosts::new(apart, Span::ZERO).into(),
                model: ResourceModel::Core,
                interference: way::interference(core).chain(others).collect(),
                others: Vec::new(),
                ..core.clone()
            };
            AdmissionTable::with_test(environment, Test::Demand).map_err(Unrated::Environment)
        };
        let cores = each.iter().enumerate().map(alone).collect::<Result<_, _>>()?;
        let ways = (0..links.len()).map(|link| host.way(link)).collect();
        Ok(Self { cores, caller, ways, reserved: BTreeMap::new(), next: 0 })
    }

    /// Admits `asked` there, or says why not and leaves the table unchanged.
    pub fn request(&mut self, asked: Request, at: CorePlace) -> Decision {
        match self.admit(asked, at) {
            Ok((id, bound)) => Decision::Admitted { id, priority: 0, bound },
            Err(refusal) => Decision::Refused(refusal),
        }
    }

    fn admit(&mut self, asked: Request, at: CorePlace) -> Result<(AdmissionId, Span), AdmissionRefusal> {
        let there = match self.core(at.core).request(asked) {
            Decision::Admitted { id, .. } => id,
            Decision::Refused(refusal) => return Err(self.renamed(at.core, refusal)),
        };
        let id = AdmissionId(self.next);
        self.next += 1;
        self.reserved.insert(id, Reserved { at, there, asked });
        let kept = self.kept(id);
        if kept.is_err() {
            self.release(id);
        }
        kept.map(|bound| (id, bound))
    }

    /// Gives up a reservation; `false` if there is none.
    pub fn release(&mut self, id: AdmissionId) -> bool {
        let Some(Reserved { at, there, .. }) = self.reserved.remove(&id) else { return false };
        self.core(at.core).release(there)
    }

    /// The least deadline that could be promised in place of that of `asked`, within a
    /// two-hundredth.
    pub fn least_deadline(&self, asked: &Request, at: CorePlace) -> Result<Span, AdmissionRefusal> {
        let kept = |deadline| {
            let mut beside = self.clone();
            // Of what is asked for, whatever becomes of it: its own time, and all others' in time.
            beside.admit(asked.within(deadline), at).map(|(_, bound)| bound)
        };
        least(asked.deadline(), kept)
    }

    /// Every bound.
    pub fn bounds(&self) -> Vec<Bound> {
        let made = self.made();
        let (through, block) = (self.through(&made), self.block().unwrap_or_default());
        let of = |(id, reserved): (&AdmissionId, &Reserved)| {
            let own = Bound { id: *id, ..made[id] };
            if !reserved.asked.is_sent() {
                return own;
            }
            let link = usize::from(reserved.at.link.0);
            let Through { lower, all, .. } = through[link].expect("whoever has not is not admitted");
            own.and_then(lower, self.ways[link].service(&reserved.asked, block), all)
        };
        self.reserved.iter().map(of).collect()
    }

    /// A bound in words.
    pub fn terms(&self, bound: &Bound) -> Result<(Breakdown, Breakdown), AdmissionRefusal> {
        let Reserved { at, asked, .. } = &self.reserved[&bound.id];
        let table = &self.cores[usize::from(at.core.0)];
        if !asked.is_sent() {
            return Ok((table.wait_time(asked)?, table.service_time(asked)?));
        }
        let lower = self.lower(at.link).unwrap_or_default();
        let wait = Breakdown::default()
            .and("its core, until all of it waits at the link", ps(bound.wait.saturating_sub(lower)))
            .and("packets already with the adapter, and interrupts", ps(lower));
        let service = match self.caller.is_thread {
            false => "transmission, and for each packet a completion and two turns of the link scheduler",
            true => {
                "transmission, and for each packet a completion, a block before the link scheduler's thread, and its run"
            }
        };
        Ok((wait, Breakdown::default().and(service, ps(bound.service))))
    }

    fn core(&mut self, core: CoreId) -> &mut AdmissionTable {
        &mut self.cores[usize::from(core.0)]
    }

    /// The bounds of the cores, by channel.
    fn made(&self) -> BTreeMap<AdmissionId, Bound> {
        let of = |table: &AdmissionTable| {
            table.bounds().into_iter().map(|bound| (bound.id, bound)).collect::<BTreeMap<_, _>>()
        };
        let cores: Vec<BTreeMap<AdmissionId, Bound>> = self.cores.iter().map(of).collect();
        let bound = |reserved: &Reserved| cores[usize::from(reserved.at.core.0)][&reserved.there];
        self.reserved.iter().map(|(id, reserved)| (*id, bound(reserved))).collect()
    }

    /// By when the packets that wait at each link are through; `None` for links where that has no
    /// end.
    fn through(&self, made: &BTreeMap<AdmissionId, Bound>) -> Vec<Option<Through>> {
        let block = self.block();
        let of = |(link, way): (u8, &Way)| {
            let lower = self.lower(LinkId(link))?;
            let sent = self.sent_by(LinkId(link)).map(|(id, reserved)| (&reserved.asked, made[id].bound));
            Some(Through { lower, all: way.through((lower, block?), sent)?, heard: way.heard()? })
        };
        (0..).zip(&self.ways).map(of).collect()
    }

    /// `D L_max + C_l + A` of a link.
    fn lower(&self, link: LinkId) -> Option<Span> {
        let made_on = self.sent_by(link).map(|(_, reserved)| reserved.at.core);
        self.ways[usize::from(link.0)].lower(made_on)
    }

    /// The longest block that keeps a thread that schedules links from its core; `None` if there is
    /// no bound.
    fn block(&self) -> Option<Span> {
        match self.caller.is_thread {
            true => self.cores[usize::from(self.caller.core.0)].longest_block(),
            false => Some(Span::ZERO),
        }
    }

    fn sent_by(&self, link: LinkId) -> impl Iterator<Item = (&AdmissionId, &Reserved)> {
        self.sent().filter(move |(_, reserved)| reserved.at.link == link)
    }

    /// Those that leave here.
    fn sent(&self) -> impl Iterator<Item = (&AdmissionId, &Reserved)> {
        self.reserved.iter().filter(|(_, reserved)| reserved.asked.is_sent())
    }

    /// The bound of `newcomer`, if every channel is in time.
    fn kept(&self, newcomer: AdmissionId) -> Result<Span, AdmissionRefusal> {
        let made = self.made();
        let through = self.through(&made);
        let mut own = made[&newcomer].bound;
        for (id, reserved) in self.sent() {
            let link = usize::from(reserved.at.link.0);
            let (resource, reason) = match self.block() {
                Some(_) => (Scarce::Link, Reason::Overload),
                None => (Scarce::Cpu, Reason::BestEffortNeverYields),
            };
            let none = AdmissionRefusal::new(resource, Deficit::Unbounded, reason, Claimant::Newcomer);
            let Through { all, heard, .. } = through[link].ok_or(none)?;
            let through = made[id].bound.saturating_add(all);
            let late = through.saturating_add(heard).saturating_sub(reserved.asked.deadline());
            if !late.is_zero() {
                return Err(AdmissionRefusal::late(late, Claimant::of(*id, newcomer)));
            }
            if *id == newcomer {
                own = through;
            }
        }
        Ok(own)
    }

    /// A refusal of a core, with those in it as they are called here.
    fn renamed(&self, core: CoreId, refusal: AdmissionRefusal) -> AdmissionRefusal {
        let whose = |there: AdmissionId| {
            let is = |reserved: &Reserved| (reserved.at.core, reserved.there) == (core, there);
            self.reserved.iter().find(|(_, reserved)| is(reserved)).map(|(id, _)| *id)
        };
        let claimant = match refusal.claimant {
            Claimant::Newcomer => Claimant::Newcomer,
            Claimant::Channel(there) => whose(there).map_or(Claimant::Newcomer, Claimant::Channel),
        };
        AdmissionRefusal { claimant, blocked_by: refusal.blocked_by.and_then(whose), ..refusal }
    }
}
