//! Refusals of newcomers that are late, or make an admitted channel late.

use super::*;

impl AdmissionTable {
    /// The refusal of a newcomer with a response time of `late` beside `tasks`.
    pub(super) fn late(
        &self,
        request: &Request,
        service: u128,
        tasks: &[Task],
        late: Late,
        blocked_by: Option<AdmissionId>,
    ) -> AdmissionRefusal {
        let share = |cost: u128, request: &Request| {
            cost.saturating_mul(Task::WHOLE) / u128::from(request.spec().min_interval.as_ps())
        };
        let others: u128 = tasks.iter().map(|task| u128::from(task.weight)).sum();
        let reserved = others.saturating_add(share(service, request));
        let refusal = |resource, deficit, reason| AdmissionRefusal {
            blocked_by,
            ..AdmissionRefusal::new(resource, deficit, reason, Claimant::Newcomer)
        };
        match late {
            Late::AtLeast(at_least) if reserved < Task::WHOLE => {
                let late = at_least.saturating_sub(u128::from(request.deadline().as_ps()));
                return refusal(Scarce::Deadline, Deficit::Time(span(late)), Reason::Late);
            }
            Late::Untold if reserved < Task::WHOLE => {
                return refusal(Scarce::Deadline, Deficit::Unbounded, Reason::Untold);
            }
            Late::AtLeast(_) | Late::Untold | Late::Never => {}
        }
        let all = self.channels.iter().map(|channel| &channel.request).chain([request]);
        let (cpu, link) = all.fold((0u128, 0u128), |(cpu, link), request| {
            let (on_cpu, on_link) = shares(&self.environment, request);
            (cpu.saturating_add(share(on_cpu, request)), link.saturating_add(share(on_link, request)))
        });
        let resource = if cpu >= link { Scarce::Cpu } else { Scarce::Link };
        // A share of nothing would be no refusal.
        let excess = Deficit::share_beyond(reserved.max(Task::WHOLE + 1), Task::WHOLE);
        refusal(resource, excess, Reason::Overload)
    }

    /// The refusal of a newcomer that would make channel `at` late wherever it stands.
    pub(super) fn breaks(
        &self,
        at: usize,
        (constant, above): (u128, &[Task]),
        channels: &[Task],
        effort: &Effort,
    ) -> AdmissionRefusal {
        let higher: Vec<Task> = above.iter().chain(&channels[..at]).copied().collect();
        let own = constant.saturating_add(channels[at].service());
        self.is_late(at, diagnosed(Late::Untold, (own, &higher), self.channels[at].deadline(), effort))
    }

    /// The refusal of a newcomer beside which channel `at` is so late.
    pub(super) fn is_late(&self, at: usize, late: Late) -> AdmissionRefusal {
        let channel = &self.channels[at];
        let deadline = u128::from(channel.deadline());
        let (deficit, reason) = match late {
            Late::AtLeast(r) if r > deadline => (Deficit::Time(span(r - deadline)), Reason::Late),
            // It is in time, which took longer to find out than a request may.
            Late::AtLeast(_) | Late::Untold => (Deficit::Unbounded, Reason::Untold),
            Late::Never => (Deficit::Unbounded, Reason::Late),
        };
        AdmissionRefusal::new(Scarce::Deadline, deficit, reason, Claimant::Channel(channel.id))
    }
}
