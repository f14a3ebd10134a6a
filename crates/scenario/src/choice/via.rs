//! The words of `[via]`.

use crate::leaf::Choice;

/// A firmware; see [`laxity_model::via`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirmwareKind {
    /// One operation at a time.
    Sequential,
    /// All units in turn.
    Parallel,
    /// The same by VirtualClock's stamps.
    QualityOfService,
}

impl Choice for FirmwareKind {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("svia", FirmwareKind::Sequential, "One message after the other, and each transfer is waited for."),
        (
            "pvia",
            FirmwareKind::Parallel,
            "All units are looked at in turn and kept busy; queues in order of arrival.",
        ),
        (
            "qosvia",
            FirmwareKind::QualityOfService,
            "The same, with queues in the order of VirtualClock's stamps.",
        ),
    ];
}
