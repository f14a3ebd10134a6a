//! Total flow analysis: a delay bound for each level of each server.
//!
//! All frames of a level at a server have one bound, the horizontal deviation of all their arrivals
//! from the service (Cruz 1991; Le Boudec and Thiran 2001, theorem 1.4.2). Three facts make it
//! tighter than that theorem alone:
//!
//! - Frames that share a link upstream arrive one after the other (line shaping: Mifdaoui and
//!   Leydier 2017), and a faster link behind it brings them together only as far as its queue does
//!   ([`crate::upstream`]).
//! - A frame arrives with its last bit. The packetiser that makes it whole adds no delay to its
//!   frames (Le Boudec and Thiran 2001, theorem 1.7.1), so no term is paid for it at each hop.
//! - Frames of a flow are shifted against each other by the difference of longest and shortest
//!   delay, and no frame passes a link faster than in its transmission time.
//!
//! Servers on a ring depend on each other. Bounds that are reached from below, and that no further
//! round lengthens, hold (Thomas, Le Boudec and Mifdaoui 2019, theorem 5).

use std::collections::BTreeMap;
use std::rc::Rc;

use laxity_units::{Bytes, Rate, Span};

use crate::arrival::{Arrival, Bucket, Line, picobits};
use crate::credit::{self, Above};
use crate::cyclic::Sends;
use crate::gates::timetable::Timetable;
use crate::gates::{self, Gates, Stair, Steps};
use crate::network::{Flow, FramePreemption, QueueNetwork, Server, Visit};
use crate::output::Outputs;
use crate::preemption::{self, straddles};
use crate::service::Service;

/// Rounds over a ring before the analysis gives up.
const ROUNDS: usize = 2000;

/// Longest wait at a server that counts as a bound, eleven days: one that grows beyond has no end.
const LONGEST: Span = Span::from_secs(1_000_000);

/// Steps of arrivals at a level behind gates, up to which they are counted one by one.
const STEPS: usize = 4000;

/// The same times the flows of the level.
const MOST_STEPS: usize = 400_000;

/// Per-hop bounds of every flow.
#[derive(Debug, Clone)]
pub(crate) struct Total {
    /// By flow and hop: how far frames can be shifted against each other when they arrive there, or
    /// leave the regulator there.
    pub(crate) jitter: Vec<Vec<Span>>,
    /// By flow and hop: longest time from the arrival to the end of the transmission.
    pub(crate) delay: Vec<Vec<Span>>,
    /// By flow: hops from the source for which the bounds hold; those beyond have none.
    pub(crate) valid: Vec<usize>,
    /// By flow: whether the next hop has no bound because a regulator there is behind no FIFO system.
    pub(crate) disordered: Vec<bool>,
    /// By flow and hop: growth of the bound on the delay since the first server.
    pub(crate) growth: Vec<Vec<Span>>,
    /// By flow and hop: the part of the growth that is the wait in a regulator.
    pub(crate) waits: Vec<Vec<Span>>,
    /// By flow and hop: jitter at the first server that is in step with a cyclic one.
    pub(crate) base: Vec<Vec<Span>>,
    /// By server: time that the frames of a cycle take at cyclic levels.
    pub(crate) sends: Sends,
    /// By server: the limit of what each level with a shaper sends.
    pub(crate) sent: Vec<BTreeMap<u8, Line>>,
    /// By server: levels with windows at known times, at servers on and behind no ring.
    pub(crate) timetables: Vec<BTreeMap<u8, Rc<Timetable>>>,
    /// Limits of what servers on and behind no ring let out.
    pub(crate) outputs: Rc<Outputs>,
}

/// A level at a server: its traffic, what it gets, and its frames.
#[derive(Debug, Clone)]
pub(crate) struct Share {
    /// Visits of the level, as a range of the visits of the server.
    pub(crate) visits: std::ops::Range<usize>,
    pub(crate) arrival: Arrival,
    pub(crate) service: Option<Service>,
    pub(crate) longest: Bytes,
    /// The limit of what a level with a shaper sends.
    pub(crate) sent: Option<Line>,
    /// Windows of a level behind gates, and the steps of its arrivals.
    pub(crate) steps: Option<(Steps, Vec<Stair>)>,
    /// The rate of the link, if frames of the level can be interrupted.
    pub(crate) interrupted: Option<Rate>,
}

impl Share {
    /// A level without a shaper, gates and preemption.
    pub(crate) fn of(
        visits: std::ops::Range<usize>,
        arrival: Arrival,
        service: Option<Service>,
        longest: Bytes,
    ) -> Self {
        Self { visits, arrival, service, longest, sent: None, steps: None, interrupted: None }
    }

    /// Longest time until a frame of `own` begins to be sent; one of up to `most` begins as much sooner
    /// as it is longer. Where frames are interrupted it is the longest time until the end of the frame,
    /// less the time of the frame itself.
    pub(crate) fn start(&self, own: Bytes, most: Bytes) -> Option<Span> {
        if let Some(rate) = self.interrupted {
            let end = self.service.as_ref()?.start(&self.arrival, Bytes::ZERO)?;
            return Some(end.saturating_sub(rate.time_for_ceil(own)));
        }
        let straight = self.service.as_ref().and_then(|service| service.start(&self.arrival, own));
        let stepwise = self.steps.as_ref().and_then(|(steps, stairs)| steps.start(stairs, own, most));
        straight.into_iter().chain(stepwise).min()
    }
}

impl Total {
    /// Bounds of all flows of `network`; those of servers with gates in a row together, if `rows`.
    pub(crate) fn of(network: &QueueNetwork, rows: bool) -> Self {
        let per_hop = || network.flows.iter().map(|flow| vec![Span::ZERO; flow.path.len()]).collect();
        let valid = network.flows.iter().map(|flow| flow.path.len()).collect();
        let sent = vec![BTreeMap::new(); network.servers.len()];
        let sends = vec![BTreeMap::new(); network.servers.len()];
        let timetables = vec![BTreeMap::new(); network.servers.len()];
        let disordered = vec![false; network.flows.len()];
        let (jitter, delay, growth) = (per_hop(), per_hop(), per_hop());
        let (waits, base) = (per_hop(), per_hop());
        let outputs = Rc::new(Outputs::of(network));
        let mut total =
            Self { jitter, delay, valid, disordered, growth, waits, base, sends, sent, timetables, outputs };
        for (index, (jitter, flow)) in total.jitter.iter_mut().zip(&network.flows).enumerate() {
            jitter[0] = flow.jitter;
            for hop in (0..flow.path.len()).filter(|&hop| network.regulates(index, hop)) {
                jitter[hop] = flow.tolerance;
            }
        }
        let (order, ring) = network.order();
        for server in order {
            total.visit(network, server, Some(rows));
        }
        if !(0..ROUNDS).any(|_| !total.round(network, &ring)) {
            for server in ring {
                total.refuse(&network.visits[server]);
            }
        }
        total.release(network);
        total
    }

    /// Bounds at all `servers`, one after the other; whether one grew.
    fn round(&mut self, network: &QueueNetwork, servers: &[usize]) -> bool {
        let mut grew = false;
        for &server in servers {
            grew |= self.visit(network, server, None);
        }
        grew
    }

    /// Bounds at `server` from the arrivals there; whether one grew. `rows` says whether the server can be
    /// part of a row, if it has gates; `None` on and behind a ring.
    fn visit(&mut self, network: &QueueNetwork, server: usize, rows: Option<bool>) -> bool {
        let mut changed = self.turn(network, server);
        let Server { rate, peak, .. } = network.servers[server];
        let visits = &network.visits[server];
        for share in self.shares(network, server) {
            if network.servers[server].cycle(visits[share.visits.start].level).is_some() {
                continue;
            }
            if let Some(sent) = share.sent {
                self.sent[server].insert(visits[share.visits.start].level, sent);
            }
            if rows.is_some() {
                self.lets_out(network, server, &share);
            }
            if rows == Some(true)
                && let Some(table) = self.timetable(network, server, &share)
            {
                self.timetables[server].insert(visits[share.visits.start].level, Rc::new(table));
            }
            let visits = &visits[share.visits.clone()];
            let mut starts: BTreeMap<(Bytes, Bytes), Option<Span>> = BTreeMap::new();
            let mut grown: BTreeMap<(&[usize], Bytes, Bytes), Span> = BTreeMap::new();
            for visit in visits {
                let Flow { ref path, shortest: own, longest: most, .. } = network.flows[visit.flow];
                let start = *starts.entry((own, most)).or_insert_with(|| share.start(own, most));
                let Some(start) = start.filter(|start| *start <= LONGEST) else {
                    changed |= self.refuse(&[*visit]);
                    continue;
                };
                let (flow, hop) = (visit.flow, visit.hop);
                let (sending, before) = (rate.time_for_ceil(own), self.delay[flow][hop]);
                // Rounding must not shorten it again, or a ring would have no end.
                let delay = start.saturating_add(sending).max(before);
                changed |= delay > before;
                self.delay[flow][hop] = delay;
                // Flows of one level have the same times at the same servers.
                let in_row = grown.entry((&path[..=hop], own, most));
                self.growth[flow][hop] = *in_row.or_insert_with(|| self.growth_in_row(network, visit, delay));
                let start = self.growth[flow][hop] - sending;
                let fastest = peak.time_for_ceil(own).saturating_sub(Span::from_ps(1));
                let slower = if peak == rate { Span::ZERO } else { rate.time_for_ceil(own) - fastest };
                let jitter = self.jitter[flow][hop].saturating_add(start).saturating_add(slower);
                changed |= self.arrives(network, (flow, hop + 1), jitter);
            }
        }
        changed
    }

    /// Notes the jitter with which a flow arrives at a hop, if there is one without a regulator; whether
    /// the jitter grew.
    pub(crate) fn arrives(
        &mut self,
        network: &QueueNetwork,
        (flow, hop): (usize, usize),
        jitter: Span,
    ) -> bool {
        match self.jitter[flow].get_mut(hop).filter(|_| !network.regulates(flow, hop)) {
            Some(known) => std::mem::replace(known, jitter) < jitter,
            None => false,
        }
    }

    /// Whether the arrivals of `visits` have bounds. Behind a regulator they have, whatever came before.
    pub(crate) fn known(&self, network: &QueueNetwork, visits: &[Visit]) -> bool {
        visits.iter().all(|v| self.valid[v.flow] >= v.hop || network.regulates(v.flow, v.hop))
    }

    /// Takes the bounds from `visits` and from all hops behind them; whether there were bounds.
    pub(crate) fn refuse(&mut self, visits: &[Visit]) -> bool {
        let mut changed = false;
        for visit in visits {
            changed |= self.refuse_at(visit.flow, visit.hop);
        }
        changed
    }

    /// Takes the bounds of `flow` from `hop` on; whether it had one there.
    pub(crate) fn refuse_at(&mut self, flow: usize, hop: usize) -> bool {
        let had = self.valid[flow] > hop;
        self.valid[flow] = self.valid[flow].min(hop);
        had
    }

    /// The levels at `server`, the most urgent first.
    ///
    /// A level has no service if it or a more urgent level has an arrival without a bound.
    pub(crate) fn shares(&self, network: &QueueNetwork, server: usize) -> Vec<Share> {
        let spec = &network.servers[server];
        if let Some(gates) = &spec.gates {
            return self.gated(network, server, gates);
        }
        if let Some(preemption) = spec.preemption {
            return preemption::shares(self, network, server, preemption);
        }
        let visits = &network.visits[server];
        let mut shares = Vec::new();
        let (mut known, mut above, mut open) = (true, Above::none(), Vec::new());
        let mut cycled = Arrival::none();
        let mut end = 0;
        while let Some(first) = visits.get(end) {
            let start = end;
            end += visits[start..].partition_point(|visit| visit.level == first.level);
            let own = &visits[start..end];
            known &= self.known(network, own);
            let longest = longest(network, own);
            let lower = self::longest(network, &visits[end..]).max(spec.below);
            if let Some(cyclic) = spec.cycle(first.level) {
                // Frames of the cycle before can wait for their own.
                let stays = cyclic.cycle.saturating_add(cyclic.cycle);
                let arrival = self.arrivals(network, own);
                let late = arrival.clone().late(u128::from(stays.as_ps()));
                cycled = Arrival::sum([&cycled, &late]);
                above.open = cycled.clone();
                known &= self.sends[server].contains_key(&cyclic.level);
                shares.push(Share::of(start..end, arrival, None, longest));
                continue;
            }
            let slope = spec.idle_slope(first.level).map(|slope| u128::from(slope.bits_per_sec()));
            let (service, sent) = match slope.filter(|_| known) {
                Some(slope) => credit::class(spec, slope, longest, lower, &above).unzip(),
                None => {
                    let left = || Service::left(spec.rate, spec.latency, &above.all(), lower);
                    (known.then(left).flatten(), None)
                }
            };
            let arrival = self.arrivals(network, own);
            shares.push(Share { sent, ..Share::of(start..end, arrival, service, longest) });
            match slope {
                Some(slope) => above.add(spec, slope, longest),
                None => {
                    open.extend_from_slice(own);
                    above.open = Arrival::sum([&cycled, &self.arrivals(network, &open)]);
                }
            }
        }
        shares
    }

    /// The levels at `server` with `gates`, the most urgent first.
    fn gated(&self, network: &QueueNetwork, server: usize, gates: &Gates) -> Vec<Share> {
        let spec = &network.servers[server];
        let visits = &network.visits[server];
        let levels: Vec<&[Visit]> = visits.chunk_by(|one, other| one.level == other.level).collect();
        let mut lower: Vec<(u8, Bytes)> =
            levels.iter().map(|visits| (visits[0].level, longest(network, visits))).collect();
        lower.extend((!spec.below.is_zero()).then_some((Gates::BELOW, spec.below)));
        let mut shares: Vec<Share> = Vec::new();
        let mut start = 0;
        for (place, own) in levels.iter().enumerate() {
            let level = own[0].level;
            let cut = |level: u8| spec.preemption.filter(|preemption| level >= preemption.from);
            let higher =
                shares.iter().zip(&levels).filter(|(_, visits)| gates.together(level, visits[0].level));
            // The frames that they send have arrived no longer ago than their longest delay.
            let sends = |(share, visits): (&Share, &&[Visit])| {
                let begins = share.start(shortest(network, visits), share.longest)?;
                let delay = begins.saturating_add(spec.rate.time_for_ceil(share.longest));
                let express = cut(visits[0].level).is_none();
                let more = cut(level)
                    .filter(|_| express)
                    .map(|preemption| preemption::interruptions(self, network, visits, preemption.overhead));
                let sent = Arrival::sum([&share.arrival].into_iter().chain(&more));
                Some(sent.late(u128::from(delay.as_ps())))
            };
            let above: Option<Vec<Arrival>> = higher.map(sends).collect();
            let known = above.is_some() && self.known(network, own);
            let above = above.filter(|above| !above.is_empty()).map(|above| Arrival::sum(&above));
            let longest = longest(network, own);
            let slope = spec.idle_slope(level).map(|slope| u128::from(slope.bits_per_sec()));
            let lower = &lower[place + 1..];
            let waits =
                |(level, frame): &(u8, Bytes)| (*level, cut(*level).map_or(*frame, |it| it.wait.min(*frame)));
            // A frame that is cut loses less than the wait and an interruption in each window, and is itself
            // behind one frame below.
            let (lost, lower, above) = match cut(level) {
                None => (longest, lower.iter().map(waits).collect(), above),
                Some(FramePreemption { wait, overhead, .. }) => {
                    let below = lower.iter().map(|lower| picobits(lower.1)).max().unwrap_or(0);
                    let above = above.unwrap_or_else(Arrival::none).plus(Line { burst: below, rate: 0 });
                    (wait + overhead, Vec::new(), Some(above))
                }
            };
            let class = gates::Class { level, longest: lost, lower: &lower, above: above.as_ref(), slope };
            let timed = known.then(|| gates::class(spec, gates, &class));
            let interrupted = cut(level).map(|_| spec.rate);
            let arrival = self.arrivals(network, own);
            let (service, steps) = timed.map_or((None, None), |timed| (timed.service, timed.steps));
            let steps = steps.and_then(|steps| {
                let busy = steps.busy(&self.padded(network, own, longest))?;
                self.stairs(network, own, busy).map(|stairs| (steps, stairs))
            });
            let visits = start..start + own.len();
            start = visits.end;
            shares.push(Share { steps, interrupted, ..Share::of(visits, arrival, service, longest) });
        }
        shares
    }

    /// The traffic of `visits` if each frame were of `longest` bytes.
    pub(crate) fn padded(&self, network: &QueueNetwork, visits: &[Visit], longest: Bytes) -> Arrival {
        let flow = |visit: &Visit| {
            let flow = &network.flows[visit.flow];
            let padded = |bucket: Bucket| match bucket {
                Bucket::Fluid { .. } => bucket,
                Bucket::Frames { size, burst, interval } => {
                    let size = Bytes::new(longest.get().saturating_mul(size.div_ceil(flow.longest)));
                    Bucket::Frames { size, burst, interval }
                }
            };
            self.changed(network, visit, padded)
        };
        let flows: Vec<Arrival> = visits.iter().map(flow).collect();
        Arrival::sum(&flows)
    }

    /// The steps of all arrivals of `visits` in a window of `busy` picoseconds. `None` if traffic is not
    /// counted in frames, or if the steps are too many.
    pub(crate) fn stairs(&self, network: &QueueNetwork, visits: &[Visit], busy: u128) -> Option<Vec<Stair>> {
        let mut at = vec![0];
        let counted = || visits.iter().filter(|visit| network.counts(visit.flow, visit.hop));
        for visit in counted() {
            let jitter = u128::from(self.jitter[visit.flow][visit.hop].as_ps());
            for bucket in network.limits(visit.flow, visit.hop) {
                let Bucket::Frames { interval, .. } = bucket else { return None };
                let interval = u128::from(interval.as_ps());
                let first = interval - jitter % interval;
                let number = (busy / interval + 1).min(STEPS as u128 + 1);
                at.extend((0..number).map(|step| first + step * interval).filter(|at| *at <= busy));
                if at.len() > STEPS || at.len() * visits.len() > MOST_STEPS {
                    return None;
                }
            }
        }
        at.sort_unstable();
        at.dedup();
        let come = |at: u128| {
            let (mut bits, mut frames) = (0_u128, 0_u128);
            for visit in counted() {
                let (flow, jitter) = (&network.flows[visit.flow], self.jitter[visit.flow][visit.hop]);
                let messages = |bucket: &Bucket| match *bucket {
                    Bucket::Fluid { .. } => None,
                    Bucket::Frames { size, burst, interval } => {
                        let later = (at + u128::from(jitter.as_ps())) / u128::from(interval.as_ps());
                        let number = u128::from(burst) + later;
                        let all = u128::from(size.div_ceil(flow.longest));
                        Some((number.saturating_mul(picobits(size)), number.saturating_mul(all)))
                    }
                };
                let all: Vec<(u128, u128)> = flow.source.iter().filter_map(messages).collect();
                bits = bits.saturating_add(all.iter().map(|all| all.0).min()?);
                frames = frames.saturating_add(all.iter().map(|all| all.1).min()?);
            }
            Some((at, bits, frames))
        };
        at.into_iter().map(come).collect()
    }

    /// The arrival curve of a flow at a hop; zero where its frames count as those of another.
    pub(crate) fn arrival(&self, network: &QueueNetwork, visit: &Visit) -> Arrival {
        let arrival = self.changed(network, visit, |limit| limit);
        match network.counts(visit.flow, visit.hop) {
            true => arrival.within_all(self.outputs.flow(network, visit)),
            false => arrival,
        }
    }

    /// The arrival curve of a flow at a hop if `change` were its limits.
    pub(crate) fn changed(
        &self,
        network: &QueueNetwork,
        visit: &Visit,
        change: impl Fn(Bucket) -> Bucket,
    ) -> Arrival {
        if !network.counts(visit.flow, visit.hop) {
            return Arrival::none();
        }
        let limits = network.limits(visit.flow, visit.hop).iter().map(|bucket| change(*bucket));
        Arrival::of(&limits.collect::<Vec<_>>(), self.jitter[visit.flow][visit.hop])
    }

    /// The traffic of all `visits`, with those from one link limited by it.
    pub(crate) fn arrivals(&self, network: &QueueNetwork, visits: &[Visit]) -> Arrival {
        let mut links: BTreeMap<Option<usize>, Vec<Visit>> = BTreeMap::new();
        for visit in visits {
            links.entry(visit.from).or_default().push(*visit);
        }
        let links: Vec<Arrival> =
            links.iter().map(|(from, visits)| self.link(network, *from, visits)).collect();
        Arrival::sum(&links)
    }

    /// The sum of the curves of `visits`.
    pub(crate) fn flows(&self, network: &QueueNetwork, visits: &[Visit]) -> Arrival {
        let curves: Vec<Arrival> = visits.iter().map(|visit| self.arrival(network, visit)).collect();
        Arrival::sum(&curves)
    }

    /// The traffic of `visits`, all from one link or all from their sources.
    pub(crate) fn link(&self, network: &QueueNetwork, from: Option<usize>, visits: &[Visit]) -> Arrival {
        let Some(from) = from else { return self.flows(network, visits) };
        let flows = |visits: &[Visit]| {
            let limits = self.outputs.together(network, from, visits);
            self.behind_slow_links(network, from, visits).within_all(limits.iter().copied())
        };
        let (peak, longest) = (network.servers[from].peak, straddles(network, from, visits));
        if self.sent[from].is_empty() {
            return flows(visits).shaped(peak, longest);
        }
        let mut levels: BTreeMap<u8, Vec<Visit>> = BTreeMap::new();
        for visit in visits {
            levels.entry(self.level(network, from, visit)).or_default().push(*visit);
        }
        let limited = |(level, visits): (&u8, &Vec<Visit>)| match self.sent[from].get(level) {
            Some(line) => flows(visits).within(*line),
            None => flows(visits),
        };
        let levels: Vec<Arrival> = levels.iter().map(limited).collect();
        Arrival::sum(&levels).shaped(peak, longest)
    }

    /// The level of the flow of `visit` at server `from`.
    pub(crate) fn level(&self, network: &QueueNetwork, from: usize, visit: &Visit) -> u8 {
        if network.servers[from].fifo { 0 } else { network.flows[visit.flow].level }
    }
}

/// The shortest frame of `visits`.
pub(crate) fn shortest(network: &QueueNetwork, visits: &[Visit]) -> Bytes {
    visits.iter().map(|visit| network.flows[visit.flow].shortest).min().unwrap_or_default()
}

/// The longest frame of `visits`.
pub(crate) fn longest(network: &QueueNetwork, visits: &[Visit]) -> Bytes {
    visits.iter().map(|visit| network.flows[visit.flow].longest).max().unwrap_or_default()
}
