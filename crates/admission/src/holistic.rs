//! Response times where one message visits the same servers several times.
//!
//! A pipeline with a loop, such as an adapter whose one processor has work between any two
//! transfers, cannot be analysed server by server. The lateness of a message at one server depends
//! on its time at another, and vice versa. *Holistic* analysis (Tindell and Clark, "Holistic
//! schedulability analysis for distributed hard real-time systems", Microprocessing and
//! Microprogramming 40, 1994) starts with a bound on each server's response for given lumps. It
//! then takes the lumps that these responses allow, and so on until neither grows.
//!
//! **Flows.** A flow has `w` slots. No two messages of a slot arrive less than `I` apart. A message
//! goes through stages. Each is a request to a server, which costs it `C` at most, and arrives when
//! the stage before is done (its *parent*); a stage without a parent arrives with the message. If
//! its arrival varies by `J`, then in a closed interval of length `t` there arrive no more than
//!
//! ```text
//! n(t) = w (1 + ⌊(t + J) / I⌋)        J = Σ over the stages before it (response − C_least)
//! ```
//!
//! **Servers.** A server is *busy* while a request waits or is served. All that is used of it is
//! that it works then: in whatever order it takes requests, a busy period that begins with the
//! coming of one is over by the least `B` with
//!
//! ```text
//! B = blocked + Σ_stages n(B) · C        response ≤ B
//! ```
//!
//! since work not done by `B` would exceed the arrivals. `C` may grow with what waits at another
//! server (a place that is looked for in its queue). `n` and so `B` do not shrink when responses
//! grow, so the iteration from below ends at the least fixed point or goes beyond any limit.
//!
//! **Urgent first.** A server may take the requests of urgent flows before those of others,
//! whatever order it has among them, but for `g` requests at the head of its queue that stay where
//! they are. In a period in which urgent requests wait or are served it then does, of others, no
//! more than the request in hand and, for each urgent request that came in it, the `g` that stayed
//! before that one:
//!
//! ```text
//! B = blocked + C_other + Σ_urgent n(B) · (C + g · C_other)        C_other, the longest request of others
//! ```
//!
//! Both hold, so an urgent request has the smaller; others have the first. A response that is not
//! asked for needs no end: a server that is overloaded by others serves its urgent requests no
//! worse.
//!
//! **Several servers as one.** Consider servers that never all rest while one of them has work.
//! Requests that pass several of them one after the other may be taken as one request to all of
//! them. It costs the sum, and no lumps arise in between ([`HolisticFlow::through`]). This gives up the
//! servers' parallel work, but gains much more in many cases where a message returns to a server.
//!
//! **Along the way.** A busy period at each visit counts all arrivals in it at each of them. Take a
//! message of an urgent flow that makes its requests one after the other, to servers that take the
//! urgent first. It waits at each visit for no more than the request in hand and the `g` that stay;
//! all else that it waits for is urgent, and each such request is done once. So if it is on its way
//! for `D`,
//!
//! ```text
//! D = Σ_visits (C + blocked + (1 + g) · C_other) + Σ_urgent requests to those servers n(D + response) · C
//! ```
//!
//! its own not among them: a request that is served in a window of length `D` came in it or was not
//! done when it began, and that one came no longer before than its response is. Both bounds hold
//! ([`along`]): by itself a message has the time that it takes, and at each visit one request of
//! others.
//!
//! **Why the fixed point is a bound** although lumps are what is being bounded: let the first
//! response that is longer than its bound end at `T`. Every response that ended before kept its
//! bound, so until `T` no stage came in larger lumps than `J`, and the busy period in which that
//! response lies is over by `B`: a contradiction.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use laxity_units::Span;

/// The longest response that is promised.
pub const LIMIT: Span = Span::from_ms(100);

/// Arrivals of messages.
///
/// The completion of [those without end](ArrivalSlots::ENDLESS) is not asked for. So they are of flows
/// that are not urgent and whose stages have no parents, and only the one in hand delays others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrivalSlots {
    /// How many.
    pub count: u64,
    /// The least between two messages of one; not zero.
    pub interval: Span,
}

impl ArrivalSlots {
    /// More than any server can do.
    pub const ENDLESS: Self = Self { count: u32::MAX as u64, interval: Span::from_ns(1) };
}

/// A request that each message of a flow makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowStage {
    /// To which server.
    pub server: usize,
    /// Its least cost there, once it is served.
    pub least: Span,
    /// And at most.
    pub most: Span,
    /// The stage that precedes it, of the same flow and before it in the list; `None` if it arrives
    /// with the message.
    pub parent: Option<usize>,
    /// It searches the queues of these servers for its position, from the nearer end; each request
    /// passed costs this time.
    pub scans: Vec<(usize, Span)>,
}

/// A flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HolisticFlow {
    /// Arrivals of its messages.
    pub slots: ArrivalSlots,
    /// Whether servers with an order take it first.
    pub urgent: bool,
    /// Requests of each message.
    pub stages: Vec<FlowStage>,
}

impl HolisticFlow {
    /// The same with server `s` as a part of `of[s]`: consecutive requests to one server are one.
    /// And of which each is a part.
    pub fn through(&self, of: &[usize]) -> (HolisticFlow, Vec<usize>) {
        let mut merged: Vec<FlowStage> = Vec::new();
        // The merged request of each stage, and the least until the stage is done, from that one's
        // coming.
        let mut part: Vec<(usize, Span)> = Vec::new();
        let mut least: Vec<Option<Span>> = Vec::new();
        for stage in &self.stages {
            let server = of[stage.server];
            let before = stage.parent.map(|parent| part[parent]);
            let (into, begun) = match before.filter(|(into, _)| merged[*into].server == server) {
                Some(whole) => whole,
                None => {
                    if let Some((into, done)) = before {
                        least[into] = Some(least[into].map_or(done, |known| known.min(done)));
                    }
                    let parent = before.map(|(into, _)| into);
                    let (zero, scans) = (Span::ZERO, Vec::new());
                    merged.push(FlowStage { server, least: zero, most: zero, parent, scans });
                    least.push(None);
                    (merged.len() - 1, zero)
                }
            };
            merged[into].most = merged[into].most.saturating_add(stage.most);
            merged[into].scans.extend(stage.scans.iter().map(|(queue, each)| (of[*queue], *each)));
            part.push((into, begun.saturating_add(stage.least)));
        }
        for (stage, least) in merged.iter_mut().zip(least) {
            // A stage without a successor needs no earliest end.
            stage.least = least.unwrap_or_default();
        }
        let flow = HolisticFlow { slots: self.slots, urgent: self.urgent, stages: merged };
        (flow, part.into_iter().map(|(into, _)| into).collect())
    }
}

/// A server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HolisticServer {
    /// Blocking before the first request of a busy period.
    pub blocked: Span,
    /// If it takes urgent flows first: how many requests at the head of its queue stay before one
    /// of them all the same (`g`).
    pub urgent_first: Option<u32>,
    /// If only urgent requests are passed by the search for a position in its queue: how many
    /// others may be among them.
    pub urgent_passed: Option<u32>,
}

/// Which server cannot do what is asked of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overloaded {
    /// The server.
    pub server: usize,
    /// The share of its time that the flows that have an end ask for in the long run, without
    /// searches: how much these cost follows from responses, of which there is no bound. Below 1 the
    /// server has time for all but the searches, and no end of a busy period was found within the limit.
    pub utilisation: f64,
    /// Whether requests to it search queues for their position.
    pub searches: bool,
    /// Whether flows [without end](ArrivalSlots::ENDLESS) ask it besides, in whatever order it takes
    /// requests.
    pub endless: bool,
}

/// The longest response of a server, to urgent flows and to others; zero where it is not needed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerResponse {
    /// To a flow that is urgent.
    pub urgent: Span,
    /// To one that is not.
    pub other: Span,
}

impl ServerResponse {
    /// That to a flow, which is urgent or not.
    pub fn to(self, urgent: bool) -> Span {
        if urgent { self.urgent } else { self.other }
    }
}

/// The longest response of each of `servers` to the requests of `flows`, from a start at or below
/// it, such as what a part of the flows led to.
pub fn responses(
    servers: &[HolisticServer],
    flows: &[HolisticFlow],
    start: &[ServerResponse],
) -> Result<Vec<ServerResponse>, Overloaded> {
    let responses = (0..servers.len()).map(|s| start.get(s).copied().unwrap_or_default()).collect();
    let mut analysis = Analysis { servers, flows, responses };
    let asked: Vec<(usize, bool)> = (0..servers.len())
        .flat_map(|server| [(server, true), (server, false)])
        .filter(|(server, urgent)| analysis.is_asked(*server, *urgent))
        .collect();
    let mut pending: BTreeSet<(usize, bool)> = asked.iter().copied().collect();
    // A server is looked at again if a response that it hangs on has grown; all of them, as nearly
    // all hang together.
    while let Some((server, urgent)) = pending.pop_first() {
        let grown = analysis.response(server, urgent)?;
        let response = &mut analysis.responses[server];
        let known = if urgent { &mut response.urgent } else { &mut response.other };
        if grown > *known {
            *known = grown;
            pending.extend(&asked);
        }
    }
    Ok(analysis.responses)
}

/// The longest time of a message of `flows[flow]` on its way through its stages `way`, each of
/// which follows the one before; where these are the `responses` of the servers. `None` if it is
/// not urgent, if some server on its way has no urgent order and serves others, or if it is longer
/// than any promise.
pub fn along(
    servers: &[HolisticServer],
    flows: &[HolisticFlow],
    responses: &[ServerResponse],
    flow: usize,
    way: &[usize],
) -> Option<Span> {
    let own = flows.get(flow).filter(|own| own.urgent)?;
    let analysis = Analysis { servers, flows, responses: responses.to_vec() };
    let mut passed: BTreeMap<usize, u64> = BTreeMap::new();
    let mut cost = |stage: &FlowStage| analysis.cost(stage, &mut passed);
    let mut visited: BTreeSet<usize> = BTreeSet::new();
    let mut alone = Span::ZERO;
    for &k in way {
        let stage = &own.stages[k];
        let HolisticServer { blocked, urgent_first, urgent_passed: _ } = servers[stage.server];
        let longest = analysis.longest_of_others(stage.server);
        let before = match urgent_first {
            _ if longest.is_zero() => Span::ZERO,
            Some(stay) => longest.saturating_mul(1 + u64::from(stay)),
            None => return None,
        };
        alone = [cost(stage), blocked, before].into_iter().fold(alone, Span::saturating_add);
        visited.insert(stage.server);
    }
    // Other urgent requests at those servers: arrivals, lumps, response there, cost, and how many
    // of them are the message's own.
    let mut urgent = Vec::new();
    for (number, other) in flows.iter().enumerate().filter(|(_, other)| other.urgent) {
        for (k, stage) in other.stages.iter().enumerate().filter(|(_, stage)| visited.contains(&stage.server))
        {
            let is_own = u64::from(number == flow && way.contains(&k));
            let late = analysis.lump(other, k).saturating_add(responses[stage.server].urgent);
            urgent.push((other.slots, late, cost(stage), is_own));
        }
    }
    let mut length = alone;
    loop {
        let sum = urgent.iter().fold(alone, |sum, (slots, late, cost, own)| {
            let count = requests(*slots, length.saturating_add(*late)).saturating_sub(*own);
            sum.saturating_add(cost.saturating_mul(count))
        });
        if sum <= length {
            return Some(length);
        }
        if sum > LIMIT {
            return None;
        }
        length = sum;
    }
}

fn requests(slots: ArrivalSlots, within: Span) -> u64 {
    slots.count.saturating_mul(1 + within.div_floor(slots.interval))
}

/// Load of one stage on a server: how often, in which lumps, and the cost of each.
struct Load {
    slots: ArrivalSlots,
    lump: Span,
    cost: Span,
}

struct Analysis<'a> {
    servers: &'a [HolisticServer],
    flows: &'a [HolisticFlow],
    /// As far as they are known.
    responses: Vec<ServerResponse>,
}

impl Analysis<'_> {
    /// Whether any result depends on the response of `server` to flows that are urgent, or are not:
    /// for the latter only later stages, and searches for a position among them.
    fn is_asked(&self, server: usize, urgent: bool) -> bool {
        let scans = |stage: &FlowStage| stage.scans.iter().any(|(queue, _)| *queue == server);
        let among_all = self.servers[server].urgent_passed.is_none();
        if among_all && self.flows.iter().any(|flow| flow.stages.iter().any(scans)) {
            return true;
        }
        let mut flows = self.flows.iter().filter(|flow| flow.urgent == urgent);
        flows.any(|flow| {
            let here = |k: usize| flow.stages[k].server == server;
            let leads_on = flow.stages.iter().any(|stage| stage.parent.is_some_and(here));
            leads_on || (urgent && (0..flow.stages.len()).any(here))
        })
    }

    /// The variation of the arrival of stage `k` of `flow`.
    fn lump(&self, flow: &HolisticFlow, k: usize) -> Span {
        let mut lump = Span::ZERO;
        let mut before = flow.stages[k].parent;
        while let Some(parent) = before {
            let stage = &flow.stages[parent];
            let response = self.responses[stage.server].to(flow.urgent);
            lump = lump.saturating_add(response.saturating_sub(stage.least));
            before = stage.parent;
        }
        lump
    }

    /// Requests at `server`, of urgent flows only or of all.
    fn stages_at(&self, server: usize, urgent_only: bool) -> impl Iterator<Item = (&HolisticFlow, usize)> {
        let flows = self.flows.iter().filter(move |flow| flow.urgent || !urgent_only);
        flows.flat_map(move |flow| {
            let here = flow.stages.iter().enumerate().filter(move |(_, stage)| stage.server == server);
            here.map(move |(k, _)| (flow, k))
        })
    }

    /// How many are passed at most on the way to a place among what waits at `server`, from the
    /// nearer end.
    fn passed(&self, server: usize) -> u64 {
        let first = self.servers[server].urgent_passed;
        let waiting = |(flow, k): (&HolisticFlow, usize)| {
            let response = self.responses[server].to(flow.urgent);
            requests(flow.slots, response.saturating_add(self.lump(flow, k)))
        };
        let all: u64 = self.stages_at(server, first.is_some()).map(waiting).sum();
        (all + u64::from(first.unwrap_or(0))) / 2
    }

    /// The largest cost of a request of `stage`: its own, and a look at each request passed on the
    /// way to its position. How many those are at a queue is found once for all that `passed` is
    /// kept for.
    fn cost(&self, stage: &FlowStage, passed: &mut BTreeMap<usize, u64>) -> Span {
        let scans = stage.scans.iter().map(|&(queue, each)| {
            each.saturating_mul(*passed.entry(queue).or_insert_with(|| self.passed(queue)))
        });
        scans.fold(stage.most, Span::saturating_add)
    }

    fn loads(&self, server: usize, urgent_only: bool) -> Vec<Load> {
        let mut passed: BTreeMap<usize, u64> = BTreeMap::new();
        let load = |(flow, k): (&HolisticFlow, usize)| {
            let cost = self.cost(&flow.stages[k], &mut passed);
            Load { slots: flow.slots, lump: self.lump(flow, k), cost }
        };
        self.stages_at(server, urgent_only).map(load).collect()
    }

    /// The largest cost of a request to `server` that is not urgent.
    fn longest_of_others(&self, server: usize) -> Span {
        let mut passed = BTreeMap::new();
        let others = self.stages_at(server, false).filter(|(flow, _)| !flow.urgent);
        others.map(|(flow, k)| self.cost(&flow.stages[k], &mut passed)).max().unwrap_or_default()
    }

    fn response(&self, server: usize, urgent: bool) -> Result<Span, Overloaded> {
        let HolisticServer { blocked, urgent_first, urgent_passed: _ } = self.servers[server];
        let all = self.loads(server, false);
        let in_any_order = busy_period(blocked, &all);
        let Some(stay) = urgent_first.filter(|_| urgent) else {
            return in_any_order.ok_or_else(|| self.overloaded(server, true));
        };
        let longest = self.longest_of_others(server);
        let mut first = self.loads(server, true);
        for load in &mut first {
            load.cost = load.cost.saturating_add(longest.saturating_mul(u64::from(stay)));
        }
        match (busy_period(blocked.saturating_add(longest), &first), in_any_order) {
            (Some(one), Some(other)) => Ok(one.min(other)),
            (Some(one), None) | (None, Some(one)) => Ok(one),
            (None, None) => Err(self.overloaded(server, false)),
        }
    }

    /// The work that is asked of `server`, of which no busy period has an end that is known.
    ///
    /// Lumps and searches hang on where the iteration stopped, so the share has neither. Flows without
    /// end count `in_any_order`.
    fn overloaded(&self, server: usize, in_any_order: bool) -> Overloaded {
        let has_end = |flow: &HolisticFlow| flow.slots.count < ArrivalSlots::ENDLESS.count;
        let all = || self.stages_at(server, false);
        let share = |(flow, k): (&HolisticFlow, usize)| {
            let ArrivalSlots { count, interval } = flow.slots;
            count as f64 * flow.stages[k].most.as_secs_f64() / interval.as_secs_f64()
        };
        Overloaded {
            server,
            utilisation: all().filter(|(flow, _)| has_end(flow)).map(share).sum(),
            searches: all().any(|(flow, k)| !flow.stages[k].scans.is_empty()),
            endless: in_any_order && all().any(|(flow, _)| !has_end(flow)),
        }
    }
}

/// The least `B`; `None` if it has no end, or none within the limit.
fn busy_period(blocked: Span, loads: &[Load]) -> Option<Span> {
    let share =
        |load: &Load| load.slots.count as f64 * load.cost.as_secs_f64() / load.slots.interval.as_secs_f64();
    let endless = loads.iter().any(|load| load.slots.count >= ArrivalSlots::ENDLESS.count);
    if endless || loads.iter().map(share).sum::<f64>() >= 1.0 {
        return None;
    }
    let mut length = Span::ZERO;
    loop {
        let sum = loads.iter().fold(blocked, |sum, load| {
            let count = requests(load.slots, length.saturating_add(load.lump));
            sum.saturating_add(load.cost.saturating_mul(count))
        });
        if sum > LIMIT {
            return None;
        }
        if sum <= length {
            return Some(length);
        }
        length = sum;
    }
}
