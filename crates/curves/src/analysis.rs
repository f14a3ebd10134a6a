//! The least bound of all analyses, flow by flow.

use laxity_units::Span;

use crate::network::QueueNetwork;
use crate::total::Total;
use crate::tree::{Shares, Tree};
use crate::{logical, program, separate};

/// The analysis that gives a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnalysisMethod {
    /// Total flow analysis with line shaping and packetisers.
    Total,
    /// The same from the logical arrivals of the flow.
    Logical,
    /// Separate flow analysis.
    Separate,
    /// The linear program over the tree of the flow.
    Program,
}

/// A proved upper bound on the delay of a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowBound {
    /// From the logical arrival of a message at its first server, or behind a regulator there from
    /// the latest arrival that its jitter allows, until its last bit has arrived behind the last
    /// one; rounded up to picoseconds. The logical arrival is the earliest instant, no sooner than
    /// the arrival, at which messages are an interval apart, by the first limit of the flow. If
    /// that counts bits, the delay counts from the arrival.
    pub delay: Span,
    /// The analysis with the least bound.
    pub method: AnalysisMethod,
    /// By hop: bound from the arrival at the first server until the last bit has arrived behind
    /// the server of the hop. The last one is `delay`.
    pub passed: Vec<Span>,
    /// By hop: bound on the delay from the arrival at the server until the last bit has left it, the
    /// wait in a regulator included.
    pub stays: Vec<Span>,
    /// By hop: how far frames can be shifted against their source when they arrive at the server.
    pub jitter: Vec<Span>,
}

/// Why a flow has no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unbounded {
    /// The first hop without a bound.
    pub hop: usize,
    /// Whether the cause is a regulator there: the system before it is no FIFO system for its flows,
    /// or one of them is not within its limits where the system begins.
    pub disordered: bool,
}

/// How much work an analysis can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Flows up to which a network gets separate flow analysis, and total flow analysis from logical
    /// arrivals; beyond it, each flow has the bound of the total flow analysis.
    pub flows: usize,
    /// Flows up to which a network gets a linear program for each flow.
    pub programs: usize,
    /// Servers in the tree of a linear program; traffic from servers beyond enters with its curve.
    pub servers: usize,
    /// Whether servers with gates in a row are looked at together, which takes long.
    pub rows: bool,
}

impl Default for Effort {
    fn default() -> Self {
        Self { flows: 200, programs: 40, servers: 16, rows: true }
    }
}

/// Bounds of all flows of `network`, `None` where no analysis has a bound.
///
/// Each analysis is valid by itself, so the least counts.
pub fn bounds(network: &QueueNetwork, effort: Effort) -> Vec<Option<FlowBound>> {
    bounds_where(network, effort, |_, _| true).into_iter().map(Result::ok).collect()
}

/// The same, with total flow analysis alone for each flow that is not `wanted`, by its index and its
/// bound from that; in place of a bound why there is none.
pub fn bounds_where(
    network: &QueueNetwork,
    effort: Effort,
    wanted: impl Fn(usize, Span) -> bool,
) -> Vec<Result<FlowBound, Unbounded>> {
    let total = Total::of(network, effort.rows);
    let mut shares = Shares::new(network, &total);
    // Analyses of a copy need its frames to count at all of its hops.
    let led = |flow: usize| {
        let further = network.flows.len() <= effort.flows.max(effort.programs);
        (further && network.flows[flow].copy.is_some()).then(|| network.led_by(flow))
    };
    let of = |flow: usize| match led(flow) {
        Some(led) => bound(&mut Shares::new(&led, &total), flow, effort, &wanted),
        None => bound(&mut shares, flow, effort, &wanted),
    };
    (0..network.flows.len()).map(of).collect()
}

fn bound(
    shares: &mut Shares<'_>,
    flow: usize,
    effort: Effort,
    wanted: &impl Fn(usize, Span) -> bool,
) -> Result<FlowBound, Unbounded> {
    let (network, total) = (shares.network, shares.total);
    let path = &network.flows[flow].path;
    if total.valid[flow] < path.len() {
        return Err(Unbounded { hop: total.valid[flow], disordered: total.disordered[flow] });
    }
    let propagation: Vec<Span> = path.iter().map(|&server| network.servers[server].propagation).collect();
    let sums = |delays: &[Span]| {
        let sum = |before: &mut Span, (delay, way): (&Span, &Span)| {
            *before = before.saturating_add(*delay).saturating_add(*way);
            Some(*before)
        };
        delays.iter().zip(&propagation).scan(Span::ZERO, sum).collect::<Vec<Span>>()
    };
    let end = |passed: &[Span]| passed.last().copied().unwrap_or_default();
    let mut passed = sums(&total.growth[flow]);
    let mut least = (end(&passed), AnalysisMethod::Total);
    // Further analyses need servers without a regulator.
    let regulated = (0..path.len()).any(|hop| network.regulates(flow, hop));
    let within = |most: usize| network.flows.len() <= most;
    if within(effort.flows)
        && !regulated
        && wanted(flow, least.0)
        && let Some(logical) = logical::delays(network, total, flow)
    {
        let logical = sums(&logical);
        if end(&logical) < least.0 {
            least = (end(&logical), AnalysisMethod::Logical);
        }
        passed.iter_mut().zip(logical).for_each(|(passed, logical)| *passed = logical.min(*passed));
    }
    if path.len() > 1 && !regulated && wanted(flow, least.0) {
        let separate = if within(effort.flows) { separate::bound(shares, flow) } else { None };
        let tree = if within(effort.programs) { Tree::of(shares, flow, effort.servers) } else { None };
        let program = tree.and_then(|tree| program::bound(&tree));
        let further = propagation.iter().fold(Span::ZERO, |sum, &one| sum.saturating_add(one));
        for (delay, method) in [(separate, AnalysisMethod::Separate), (program, AnalysisMethod::Program)] {
            let delay = delay.map(|delay| delay.saturating_add(further));
            least = delay.map_or(least, |delay| if delay < least.0 { (delay, method) } else { least });
        }
    }
    let (delay, method) = least;
    // A frame has passed each server when it has passed the last.
    passed.iter_mut().for_each(|passed| *passed = delay.min(*passed));
    let waits = total.delay[flow].iter().zip(&total.waits[flow]);
    let stays = waits.map(|(delay, waits)| delay.saturating_add(*waits)).collect();
    let jitter = if regulated { total.since_source(network, flow) } else { total.jitter[flow].clone() };
    Ok(FlowBound { delay, method, passed, stays, jitter })
}
