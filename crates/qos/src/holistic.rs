//! Response times where one message comes to the same servers several times.
//!
//! A pipeline that leads back, such as an adapter whose one processor has something to do between any two transfers, cannot be
//! analysed server by server: how late a message comes to one depends on how long another took, and the other way round. *Holistic*
//! analysis (Tindell and Clark, "Holistic schedulability analysis for distributed hard real-time systems", Microprocessing and
//! Microprogramming 40, 1994) takes a bound on each server's response for given lumps, then the lumps that these responses allow, and
//! so on until neither grows.
//!
//! **Flows.** A flow has `w` slots. Of the messages of a slot no two come less than `I` apart. A message goes through stages: each is a
//! request to a server, which costs it `C` at most, and comes when the stage before is done (its *parent*); a stage without one comes
//! with the message. If it comes `J` later at most than at least, then in a closed interval of length `t` there come no more than
//!
//! ```text
//! n(t) = w (1 + ⌊(t + J) / I⌋)        J = Σ over the stages before it (response − C_least)
//! ```
//!
//! **Servers.** A server is *busy* while a request waits or is served. All that is used of it is that it works then: in whatever order
//! it takes requests, a busy period that begins with the coming of one is over by the least `B` with
//!
//! ```text
//! B = blocked + Σ_stages n(B) · C        response ≤ B
//! ```
//!
//! since what is not done by `B` would be more than has come. `C` may grow with what waits at another server (a place that is looked for
//! in its queue). `n` and so `B` do not shrink when responses grow, so the iteration from below ends at the least fixed point or goes
//! beyond any limit.
//!
//! **Urgent first.** A server may take the requests of urgent flows before those of others, whatever order it has among them, but for
//! `g` requests at the head of its queue that stay where they are. Of others it then does in a period in which urgent requests wait or are served no more
//! than what it had in hand and, for each urgent request that came in it, the `g` that stayed before that one:
//!
//! ```text
//! B = blocked + C_other + Σ_urgent n(B) · (C + g · C_other)        C_other, the longest request of others
//! ```
//!
//! Both hold, so an urgent request has the smaller; others have the first. Whoever's response nobody asks for needs no end to it: a server
//! that has too much to do for others is none the worse for those whom it takes first.
//!
//! **Several servers as one.** Of servers that never all rest while one of them has something to do, what comes through several one after the other may be
//! taken as one request to all of them: it costs the sum, and nothing comes in lumps in between ([`Flow::through`]). What they could do at the
//! same time is lost by it, and where a message comes back to a server often much more is won.
//!
//! **Why the fixed point is a bound** although lumps are what is being bounded: let the first response that is longer than its bound end at
//! `T`. Every response that ended before kept its bound, so until `T` no stage came in larger lumps than `J`, and the busy period in
//! which that response lies is over by `B`: a contradiction.

use std::collections::{BTreeMap, BTreeSet};

use laxity_units::Span;

/// Beyond this nobody is promised anything.
const LIMIT: Span = Span::from_ms(100);

/// How messages come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slots {
    /// How many.
    pub count: u64,
    /// The least between two messages of one; not zero.
    pub interval: Span,
}

/// A request that each message of a flow makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// To which server.
    pub server: usize,
    /// What it costs there at least, once it is served.
    pub least: Span,
    /// And at most.
    pub most: Span,
    /// The stage that it comes after, of the same flow and before it in the list; `None` if it comes with the message.
    pub parent: Option<usize>,
    /// It looks for a place among what waits at these servers, from the nearer end, which costs so much more for each that it passes.
    pub scans: Vec<(usize, Span)>,
}

/// A flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// How its messages come.
    pub slots: Slots,
    /// Whether servers that take somebody first take it first.
    pub urgent: bool,
    /// What each of them asks for.
    pub stages: Vec<Stage>,
}

impl Flow {
    /// The same with server `s` as a part of `of[s]`: requests to one that come after each other are one. And of which each is a part.
    pub fn through(&self, of: &[usize]) -> (Flow, Vec<usize>) {
        let mut merged: Vec<Stage> = Vec::new();
        // The merged request of each stage, and the least until the stage is done, from that one's coming.
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
                    merged.push(Stage { server, least: zero, most: zero, parent, scans });
                    least.push(None);
                    (merged.len() - 1, zero)
                }
            };
            merged[into].most = merged[into].most.saturating_add(stage.most);
            merged[into].scans.extend(stage.scans.iter().map(|(queue, each)| (of[*queue], *each)));
            part.push((into, begun.saturating_add(stage.least)));
        }
        for (stage, least) in merged.iter_mut().zip(least) {
            // What nothing comes after is not asked how early it may be done.
            stage.least = least.unwrap_or_default();
        }
        let flow = Flow { slots: self.slots, urgent: self.urgent, stages: merged };
        (flow, part.into_iter().map(|(into, _)| into).collect())
    }
}

/// A server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Server {
    /// What may keep it from the first request of a busy period.
    pub blocked: Span,
    /// If it takes urgent flows first: how many requests at the head of its queue stay before one of them all the same (`g`).
    pub urgent_first: Option<u32>,
    /// If only urgent requests are passed by who looks for a place in its queue: how many others may be among them.
    pub urgent_passed: Option<u32>,
}

/// Which server cannot do what is asked of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overloaded {
    /// The server.
    pub server: usize,
    /// The share of its time that is asked for, responses of others included as far as they were followed.
    pub utilisation: f64,
}

/// The longest response of a server, to urgent flows and to others; zero where nobody asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Response {
    /// To a flow that is urgent.
    pub urgent: Span,
    /// To one that is not.
    pub other: Span,
}

impl Response {
    /// That to a flow, which is urgent or not.
    pub fn to(self, urgent: bool) -> Span {
        if urgent { self.urgent } else { self.other }
    }
}

/// The longest response of each of `servers` to the requests of `flows`, from a start at or below it, such as what a part of the flows
/// led to.
pub fn responses(
    servers: &[Server],
    flows: &[Flow],
    start: &[Response],
) -> Result<Vec<Response>, Overloaded> {
    let responses = (0..servers.len()).map(|s| start.get(s).copied().unwrap_or_default()).collect();
    let mut analysis = Analysis { servers, flows, responses };
    let asked: Vec<(usize, bool)> = (0..servers.len())
        .flat_map(|server| [(server, true), (server, false)])
        .filter(|(server, urgent)| analysis.is_asked(*server, *urgent))
        .collect();
    let mut pending: BTreeSet<(usize, bool)> = asked.iter().copied().collect();
    // A server is looked at again if a response that it hangs on has grown; all of them, as nearly all hang together.
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

fn requests(slots: Slots, within: Span) -> u64 {
    slots.count.saturating_mul(1 + within.div_floor(slots.interval))
}

/// What comes to a server of one stage: how often, in which lumps, and what each costs.
struct Load {
    slots: Slots,
    lump: Span,
    cost: Span,
}

struct Analysis<'a> {
    servers: &'a [Server],
    flows: &'a [Flow],
    /// As far as they are known.
    responses: Vec<Response>,
}

impl Analysis<'_> {
    /// Whether anything hangs on the response of `server` to flows that are urgent, or are not: of those who are not only what comes after it,
    /// and who looks for a place among them.
    fn is_asked(&self, server: usize, urgent: bool) -> bool {
        let scans = |stage: &Stage| stage.scans.iter().any(|(queue, _)| *queue == server);
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

    /// How much later stage `k` of `flow` may come than it comes at least.
    fn lump(&self, flow: &Flow, k: usize) -> Span {
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
    fn stages_at(&self, server: usize, urgent_only: bool) -> impl Iterator<Item = (&Flow, usize)> {
        let flows = self.flows.iter().filter(move |flow| flow.urgent || !urgent_only);
        flows.flat_map(move |flow| {
            let here = flow.stages.iter().enumerate().filter(move |(_, stage)| stage.server == server);
            here.map(move |(k, _)| (flow, k))
        })
    }

    /// How many are passed at most on the way to a place among what waits at `server`, from the nearer end.
    fn passed(&self, server: usize) -> u64 {
        let first = self.servers[server].urgent_passed;
        let waiting = |(flow, k): (&Flow, usize)| {
            let response = self.responses[server].to(flow.urgent);
            requests(flow.slots, response.saturating_add(self.lump(flow, k)))
        };
        let all: u64 = self.stages_at(server, first.is_some()).map(waiting).sum();
        (all + u64::from(first.unwrap_or(0))) / 2
    }

    fn loads(&self, server: usize, urgent_only: bool) -> Vec<Load> {
        let mut passed: BTreeMap<usize, u64> = BTreeMap::new();
        let load = |(flow, k): (&Flow, usize)| {
            let stage = &flow.stages[k];
            let mut cost = stage.most;
            for &(other, each) in &stage.scans {
                let count = *passed.entry(other).or_insert_with(|| self.passed(other));
                cost = cost.saturating_add(each.saturating_mul(count));
            }
            Load { slots: flow.slots, lump: self.lump(flow, k), cost }
        };
        self.stages_at(server, urgent_only).map(load).collect()
    }

    fn response(&self, server: usize, urgent: bool) -> Result<Span, Overloaded> {
        let Server { blocked, urgent_first, urgent_passed: _ } = self.servers[server];
        let all = self.loads(server, false);
        let in_any_order = busy_period(blocked, &all);
        let Some(stay) = urgent_first.filter(|_| urgent) else {
            return in_any_order.map_err(|utilisation| Overloaded { server, utilisation });
        };
        let others = self.stages_at(server, false).filter(|(flow, _)| !flow.urgent);
        let longest = others.map(|(flow, k)| flow.stages[k].most).max().unwrap_or_default();
        let mut first = self.loads(server, true);
        for load in &mut first {
            load.cost = load.cost.saturating_add(longest.saturating_mul(u64::from(stay)));
        }
        match (busy_period(blocked.saturating_add(longest), &first), in_any_order) {
            (Ok(one), Ok(other)) => Ok(one.min(other)),
            (Ok(one), Err(_)) | (Err(_), Ok(one)) => Ok(one),
            (Err(utilisation), Err(_)) => Err(Overloaded { server, utilisation }),
        }
    }
}

/// The least `B`, or the share of its time that the server is asked for.
fn busy_period(blocked: Span, loads: &[Load]) -> Result<Span, f64> {
    let share =
        |load: &Load| load.slots.count as f64 * load.cost.as_secs_f64() / load.slots.interval.as_secs_f64();
    let utilisation: f64 = loads.iter().map(share).sum();
    if utilisation >= 1.0 {
        return Err(utilisation);
    }
    let mut length = Span::ZERO;
    loop {
        let sum = loads.iter().fold(blocked, |sum, load| {
            let count = requests(load.slots, length.saturating_add(load.lump));
            sum.saturating_add(load.cost.saturating_mul(count))
        });
        if sum > LIMIT {
            return Err(utilisation);
        }
        if sum <= length {
            return Ok(length);
        }
        length = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Span {
        Span::from_us(us)
    }

    fn stage(server: usize, cost: u64, parent: Option<usize>) -> Stage {
        Stage { server, least: us(cost), most: us(cost), parent, scans: Vec::new() }
    }

    fn flow(count: u64, interval: u64, stages: &[Stage]) -> Flow {
        Flow { slots: Slots { count, interval: us(interval) }, urgent: true, stages: stages.to_vec() }
    }

    /// Of flows that are all urgent.
    fn urgent(servers: &[Server], flows: &[Flow]) -> Vec<Span> {
        responses(servers, flows, &[]).unwrap().iter().map(|response| response.urgent).collect()
    }

    #[test]
    fn one_server_is_busy_until_what_has_come_is_done() {
        // 3 every 10 and 4 every 20: at once 7, and 7 later nothing has come.
        let flows = [flow(1, 10, &[stage(0, 3, None)]), flow(1, 20, &[stage(0, 4, None)])];
        assert_eq!(urgent(&[Server::default()], &flows), vec![us(7)]);
        // With 4 more every 20: 11 at once, and the first comes again: 14.
        let more = [flows[0].clone(), flows[1].clone(), flows[1].clone()];
        assert_eq!(urgent(&[Server::default()], &more), vec![us(14)]);
        // Two slots come twice at once.
        assert_eq!(urgent(&[Server::default()], &[flow(2, 10, &[stage(0, 3, None)])]), vec![us(6)]);
    }

    #[test]
    fn what_comes_in_lumps_is_counted_in_lumps() {
        // At the first server 6 and 3 are 9 at the most, so the first flow comes to the second 3 later at the most than at least; two of
        // it, 10 apart, may lie 7 apart there, and its 8 are not done by then.
        let flows =
            [flow(1, 10, &[stage(0, 6, None), stage(1, 8, Some(0))]), flow(1, 1000, &[stage(0, 3, None)])];
        assert_eq!(urgent(&[Server::default(); 2], &flows), vec![us(9), us(16)]);
        // Without the other nothing comes together: 8 in every 10.
        assert_eq!(urgent(&[Server::default(); 2], &flows[..1]), vec![us(6), us(8)]);
    }

    #[test]
    fn who_cannot_is_named() {
        let flows = [flow(1, 10, &[stage(0, 1, None), stage(1, 11, Some(0))])];
        let Err(Overloaded { server, utilisation }) = responses(&[Server::default(); 2], &flows, &[]) else {
            panic!("11 in every 10")
        };
        assert_eq!((server, (utilisation * 10.0).round()), (1, 11.0));
    }

    #[test]
    fn a_place_costs_more_the_more_may_wait() {
        let scanning = Stage { scans: vec![(1, us(1))], ..stage(0, 5, None) };
        let flows = [flow(1, 100, &[scanning, stage(1, 20, Some(0)), stage(1, 2, Some(0))])];
        // Two may wait at the other server, and whoever looks from the nearer end passes one.
        assert_eq!(urgent(&[Server::default(); 2], &flows), vec![us(6), us(22)]);
        let blocked = [Server::default(), Server { blocked: us(3), ..Server::default() }];
        assert_eq!(urgent(&blocked, &flows), vec![us(6), us(25)]);
    }

    #[test]
    fn a_start_below_changes_nothing() {
        let flows = [
            flow(1, 100, &[stage(0, 6, None), stage(1, 20, Some(0)), stage(0, 9, Some(1))]),
            flow(1, 150, &[stage(1, 30, None), stage(0, 5, Some(0))]),
        ];
        let servers = [Server::default(), Server { blocked: us(7), ..Server::default() }];
        let part = responses(&servers, &flows[..1], &[]).unwrap();
        assert_eq!(responses(&servers, &flows, &part), responses(&servers, &flows, &[]));
        assert!(responses(&servers, &flows, &[]).unwrap()[0].urgent > part[0].urgent);
    }

    #[test]
    fn who_is_urgent_waits_for_what_is_in_hand_and_what_stays() {
        let bulk = Flow { urgent: false, ..flow(1, 20, &[stage(0, 15, None), stage(1, 15, Some(0))]) };
        let flows = [flow(1, 50, &[stage(0, 4, None)]), flow(1, 60, &[stage(0, 5, None)]), bulk];
        let order = |stay| Server { blocked: us(1), urgent_first: Some(stay), ..Server::default() };
        // One in hand, and both: 1 + 15 + 4 + 5; others have all that comes: three of theirs, the first twice, the second.
        let found = responses(&[order(0), Server::default()], &flows, &[]).unwrap();
        assert_eq!(found[0], Response { urgent: us(25), other: us(59) });
        // One stays before each of the two: 25 + 30 = 55, within which the first comes again: 74, and the second: 94, and so on without
        // end; in any order it is over by 59.
        let found = responses(&[order(1), Server::default()], &flows, &[]).unwrap();
        assert_eq!(found[0].urgent, us(59));
        // Without an order there is the same for all.
        let found =
            responses(&[Server { blocked: us(1), ..Server::default() }, Server::default()], &flows, &[]);
        assert_eq!(found.unwrap()[0].urgent, us(59));
    }

    #[test]
    fn others_may_ask_too_much_where_nothing_hangs_on_it() {
        let others = |stages: &[Stage]| Flow { urgent: false, ..flow(1, 10, stages) };
        let order = Server { urgent_first: Some(0), ..Server::default() };
        let mine = flow(1, 50, &[stage(0, 4, None)]);
        let flows = [mine.clone(), others(&[stage(0, 12, None)])];
        assert_eq!(urgent(&[order], &flows), vec![us(16)]);
        // Something comes after it, in lumps that have no end.
        let flows = [mine, others(&[stage(0, 12, None), stage(1, 1, Some(0))])];
        assert!(responses(&[order, Server::default()], &flows, &[]).is_err());
    }

    #[test]
    fn servers_as_one_are_asked_for_the_sum_and_once() {
        // To and fro between two, then to a third, and back.
        let there = [(0, 5, None), (1, 20, Some(0)), (0, 9, Some(1)), (2, 7, Some(1)), (1, 3, Some(3))];
        let stages = there.map(|(server, cost, parent)| stage(server, cost, parent));
        let (merged, parts) = flow(1, 100, &stages).through(&[0, 0, 2]);
        assert_eq!(parts, [0, 0, 0, 1, 2]);
        let of = |server, least, most, parent| Stage {
            server,
            least: us(least),
            most: us(most),
            parent,
            scans: Vec::new(),
        };
        // What goes on to the third does so after 25 at the earliest, when 9 may be left.
        assert_eq!(merged.stages, [of(0, 25, 34, None), of(2, 7, 7, Some(0)), of(0, 0, 3, Some(1))]);
        // Two flows of these are at once 68 and twice 3, and 6 once more: what comes back may do so (80 − 25) + (14 − 7) later than at least, so
        // that the last of the time before and the next are within 80.
        let both = [merged.clone(), merged];
        assert_eq!(urgent(&[Server::default(); 3], &both), [us(80), us(0), us(14)]);
    }
}
