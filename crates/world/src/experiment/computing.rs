//! Applications that compute at a host beside its communication.

use laxity_admission::{ApplicationWork, Request, RequestError};
use laxity_qos::channel::{Budget, ChannelId, Computing, CoreId};
use laxity_units::{Span, Time};

use super::HostSpec;

/// An application that computes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComputingSpec {
    /// Its name, unique at its host.
    pub name: String,
    /// Its core; `None` for the next in turn.
    pub core: Option<CoreId>,
    /// How long it keeps the CPU at most before others are asked; not zero.
    pub slice: Span,
    /// Its budget; `None` for the residual capacity.
    pub budget: Option<BudgetSpec>,
}

/// CPU time in each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetSpec {
    /// How much; not zero, at most `period`.
    pub time: Span,
    /// How often.
    pub period: Span,
    /// When the first period begins.
    pub start: Span,
    /// By when it is to be done, from the beginning of its period; not zero.
    pub deadline: Span,
    /// Level under fixed priority, 0 the most urgent.
    pub level: u8,
}

impl HostSpec {
    /// Whether an application has a budget there.
    pub fn has_budgets(&self) -> bool {
        self.computing.iter().any(|application| application.budget.is_some())
    }
}

impl ComputingSpec {
    /// The host's configuration of the application on `core`, which is called `flow` where the CPU
    /// is shared by rates.
    pub(crate) fn config(&self, flow: ChannelId, core: CoreId) -> Computing {
        let budget = self.budget.map(|budget| Budget {
            time: budget.time,
            period: budget.period,
            start: Time::ZERO + budget.start,
            deadline: budget.deadline,
            level: budget.level,
        });
        Computing { flow, core, slice: self.slice, budget }
    }

    /// Its request to admission; `None` for the residual capacity.
    pub(crate) fn request(&self) -> Option<Result<Request, RequestError>> {
        let BudgetSpec { time, period, deadline, level, start: _ } = self.budget?;
        let request = Request::computing(ApplicationWork { time, slice: self.slice }, period, deadline);
        Some(request.map(|request| request.on_level(level.into())))
    }
}
