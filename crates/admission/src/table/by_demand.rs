//! The table under the demand test: [`super::super::demand`] asked about the channels that are in
//! it.
//!
//! A newcomer that leaves what all have in common as it is costs one walk, down to its own
//! deadline: a few dozen passes over all channels. One that changes it costs another walk over all
//! the others, which may fail.

use laxity_units::Span;

use super::super::demand::{self, Failure, Host, Stair, Stream};
use super::super::response::demand;
use super::*;

impl AdmissionTable {
    pub(super) fn least_by_demand(&self, request: &Request) -> Result<Span, AdmissionRefusal> {
        let joined = self.joined(&request.loosest())?;
        let least = request.within(Span::from_ps(joined.least));
        self.within_reach(&least).map(|()| least.deadline())
    }

    pub(super) fn place_by_demand(&self, request: &Request) -> Result<Placed, AdmissionRefusal> {
        let Joined { least, told, task, service, shared, tasks } = self.joined(request)?;
        let deadline = request.deadline().as_ps();
        if least > deadline {
            let all = tasks.as_deref().unwrap_or(&self.tasks);
            let late = if told { Late::AtLeast(least.into()) } else { Late::Untold };
            return Err(self.late(request, service, all, late, None));
        }
        let place = self.channels.partition_point(|channel| channel.deadline() <= deadline);
        Ok(Placed { place, bound: deadline, least, task, shared, tasks })
    }

    /// The changes that `request` would make, and the least deadline it could have.
    fn joined(&self, request: &Request) -> Result<Joined, AdmissionRefusal> {
        let shared = self.shared_with(request)?;
        let service = shared.demand(&self.environment, request);
        let Some(task) = Task::new(request.spec().min_interval.as_ps(), service) else {
            return Err(self.late(request, service, &shared.activations, Late::Never, None));
        };
        let changed = self.shared.as_ref() != Some(&shared);
        let tasks = if changed { Some(self.tasks_under(&shared)?) } else { None };
        let all = tasks.as_deref().unwrap_or(&self.tasks);
        let (activations, channels) = all.split_at(shared.activations.len());
        let effort = Effort::of(MOST_LOOKS);
        let (constant, stairs) = self.waits(&shared, &self.found_with(request));
        let raised = stairs.as_deref().and_then(|stairs| self.raised(stairs, request));
        let host =
            Host { constant, stairs: stairs.as_deref().unwrap_or_default(), activations, effort: &effort };
        let without = |late| self.late(request, service, all, late, None);
        let made = changed.then(|| self.streams_of(channels));
        let streams = made.as_deref().unwrap_or(&self.streams);
        if changed || raised.is_some() {
            let host = Host { stairs: raised.as_deref().unwrap_or(host.stairs), ..host };
            match demand::feasible(host, streams) {
                Ok(()) => {}
                Err(Failure::Untold) if demand::feasible_by_lines(host, streams) => {}
                Err(Failure::Untold) => return Err(without(Late::Untold)),
                Err(failure) => {
                    return Err(self.fails(streams, failure).unwrap_or_else(|| without(Late::Never)));
                }
            }
        }
        let (least, told) = match demand::least_deadline(host, streams, &task) {
            Ok(least) => (least, true),
            Err(Failure::Untold) => {
                let least = demand::least_deadline_by_lines(host, streams, &task);
                (least.ok_or_else(|| without(Late::Untold))?, false)
            }
            // The admitted channels keep their deadlines, so there is no other cause.
            Err(Failure::Overload | Failure::Late { .. }) => return Err(without(Late::Never)),
        };
        Ok(Joined { least, told, task, service, shared: changed.then_some(shared), tasks })
    }

    /// `W` and the bursts without the packet below, and the stairs of that packet, where `shared` is of
    /// `population`; `None` where `W` is the same for all windows.
    pub(super) fn waits(&self, shared: &Shared, population: &Population) -> (u128, Option<Vec<Stair>>) {
        let Some(constant) = self.without_packet(shared, population) else {
            return (shared.constant(), None);
        };
        let packets = self.channels.iter().map(|channel| self.packet(&channel.request));
        let rest = self.best_effort.largest_packet;
        let rest = rest.map(|size| Stair { before: u64::MAX, wait: self.on_link(size) });
        (constant, Some(demand::stairs(packets.chain(rest).collect())))
    }

    /// The stairs with `request` below all others; `None` if that makes no difference.
    fn raised(&self, stairs: &[Stair], request: &Request) -> Option<Vec<Stair>> {
        let below = Stair { before: u64::MAX, ..self.packet(request) };
        let differs = demand::wait_below(stairs, u64::MAX - 1) < below.wait;
        differs.then(|| demand::stairs(stairs.iter().copied().chain([below]).collect()))
    }

    fn packet(&self, request: &Request) -> Stair {
        Stair { before: request.deadline().as_ps(), wait: self.longest_packet(request) }
    }

    /// The refusal of a newcomer with which `streams` would fail whatever its deadline; `None` for
    /// want of time itself.
    fn fails(&self, streams: &[Stream], failure: Failure) -> Option<AdmissionRefusal> {
        let Failure::Late { t, done } = failure else { return None };
        let last = |place: &usize| streams[*place].last_before(t.saturating_add(1));
        let late = (0..streams.len()).max_by_key(last).expect("something is due");
        let deficit = done.map_or(Deficit::Unbounded, |done| Deficit::Time(span(done - u128::from(t))));
        let claimant = Claimant::Channel(self.channels[late].id);
        Some(AdmissionRefusal::new(Scarce::Deadline, deficit, Reason::Late, claimant))
    }

    /// The channels, with the demand of `tasks`.
    pub(super) fn streams_of(&self, tasks: &[Task]) -> Vec<Stream> {
        tasks
            .iter()
            .zip(&self.channels)
            .map(|(task, channel)| Stream::new(task, channel.deadline()))
            .collect()
    }

    /// Bound of each channel beside the others. Where that takes too long to find out, its earlier
    /// promise.
    pub(super) fn bounds_by_demand(
        &self,
        shared: &Shared,
        above: &[Task],
        tasks: &[Task],
        effort: &Effort,
    ) -> Vec<Bound> {
        let (constant, stairs) = self.waits(shared, &self.found_for);
        let stairs = stairs.unwrap_or_default();
        let host = Host { constant, stairs: &stairs, activations: above, effort };
        let worst = demand::responses(host, &self.streams, tasks);
        let bound = |(priority, channel): (usize, &Channel)| {
            let promised = Worst::at_once(channel.deadline());
            let worst = worst.as_ref().map_or(promised, |worst| worst[priority]);
            let window = worst.window;
            let wait = constant - shared.bursts + demand::wait_below(&stairs, channel.deadline());
            let service = tasks[priority].service();
            let others = u128::from(window) - wait - service;
            let parts = Parts { wait, service, others, above: shared.bursts + demand(above, window) };
            channel.bound((priority, None), worst, parts)
        };
        self.channels.iter().enumerate().map(bound).collect()
    }
}

/// Result of [`AdmissionTable::joined`].
struct Joined {
    least: u64,
    /// Else there may be less than that, which would have taken too long to find out.
    told: bool,
    task: Task,
    service: u128,
    shared: Option<Shared>,
    tasks: Option<Vec<Task>>,
}
