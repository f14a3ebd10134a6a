//! Where the time of a CPU went.

use laxity_qos::channel::Slot;
use laxity_units::{Span, Time};

use super::Output;
use super::activity::{Activity, Kind, Use, Uses};
use crate::around::Around;

/// Where CPU time went.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) uses: Uses,
    /// Of what was computed, whose it is.
    pub(super) computed: Vec<Span>,
    /// Whether each stretch of it is put out, too.
    pub(super) recording: bool,
}

impl Account {
    /// Accounts for what `activity` has done since it began or resumed: the switch to its thread, then the work.
    pub(super) fn log(&mut self, activity: &mut Activity, now: Time, around: &mut impl Around<Output<Slot>>) {
        let (began, switched) = (activity.began, activity.switched(now));
        self.uses.add(Use::Switch, switched.since(began));
        self.uses.add(activity.used, now.since(switched));
        if let Kind::Compute(application) = activity.kind {
            self.computed[application as usize] += now.since(switched);
        }
        if self.recording {
            let stretches = [(Use::Switch, began, switched), (activity.used, switched, now)];
            for (used, from, to) in stretches.into_iter().filter(|(_, from, to)| from < to) {
                around.tell(Output::Busy(activity.busy(used, from, to)));
            }
        }
    }
}
