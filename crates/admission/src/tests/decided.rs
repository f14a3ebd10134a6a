//! Decisions that tests expect.

use super::*;

/// The channel that is admitted, and its bound.
pub(crate) fn admitted(decision: Decision) -> (AdmissionId, Span) {
    match decision {
        Decision::Admitted { id, bound, .. } => (id, bound),
        Decision::Refused(refusal) => panic!("it should fit: {refusal}"),
    }
}

/// The refusal.
pub(crate) fn refused(decision: Decision) -> AdmissionRefusal {
    match decision {
        Decision::Refused(refusal) => refusal,
        Decision::Admitted { .. } => panic!("it should not fit: {decision:?}"),
    }
}
