//! Where the time of a host's cores went.

use laxity_qos::ahead::fetch;
use laxity_qos::channel::{CoreId, Slot};
use laxity_units::{Span, Time};

use super::Output;
use super::activity::{Activity, Kind, Use, Uses};
use crate::around::Around;

/// Where CPU time went.
#[derive(Debug)]
pub(super) struct Account {
    /// Of each core.
    pub(super) uses: Vec<Uses>,
    /// Time of each computing application.
    pub(super) computed: Vec<Span>,
    /// Whether each stretch of it is put out, too.
    pub(super) recording: bool,
}

impl Account {
    /// An empty account for `cores` cores.
    pub(super) fn new(cores: usize) -> Self {
        Self { uses: vec![Uses::default(); cores], computed: Vec::new(), recording: false }
    }

    /// A core is to have something to do.
    #[inline]
    pub(super) fn fetch(&self) {
        self.uses.first().map(fetch);
    }

    /// Accounts for what `activity` has done on `core` since it began or resumed: the switch to its
    /// thread, then the work.
    // Four intervals per packet, nearly all without a trace: those are a sum, added at their end.
    #[inline(always)]
    pub(super) fn log(
        &mut self,
        core: CoreId,
        activity: &mut Activity,
        now: Time,
        around: &mut impl Around<Output<Slot>>,
    ) {
        let is_work_alone = activity.switch.is_zero() && !matches!(activity.kind, Kind::Compute(_));
        if is_work_alone && !self.recording {
            let uses = &mut self.uses[usize::from(core.0)];
            uses.add(activity.used, now.since(activity.began));
        } else {
            self.log_parts(core, activity, now, around);
        }
    }

    /// The same of any.
    #[inline(never)]
    fn log_parts(
        &mut self,
        core: CoreId,
        activity: &mut Activity,
        now: Time,
        around: &mut impl Around<Output<Slot>>,
    ) {
        let uses = &mut self.uses[usize::from(core.0)];
        let began = activity.began;
        let switched = activity.switched(now);
        if switched > began {
            uses.add(Use::Switch, switched.since(began));
        }
        uses.add(activity.used, now.since(switched));
        if let Kind::Compute(application) = activity.kind {
            self.computed[application as usize] += now.since(switched);
        }
        if self.recording {
            let stretches = [(Use::Switch, began, switched), (activity.used, switched, now)];
            for (used, from, to) in stretches.into_iter().filter(|(_, from, to)| from < to) {
                around.tell(Output::Busy(activity.busy(core, used, from, to)));
            }
        }
    }
}
