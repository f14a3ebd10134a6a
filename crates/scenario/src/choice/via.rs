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

/// How doorbells wait; see [`laxity_model::via::Doorbells`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DoorbellsKind {
    /// In one queue.
    Merged,
    /// By virtual interfaces and processes.
    Apart,
}

impl Choice for DoorbellsKind {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "merged",
            DoorbellsKind::Merged,
            "In one queue, first come, first served, as the paper's hardware merges them.",
        ),
        (
            "apart",
            DoorbellsKind::Apart,
            "By virtual interfaces: who keeps its bandwidth goes first, by stamps, and processes take turns with the rest. So nobody who keeps a bandwidth waits for more of others than is in hand.",
        ),
    ];
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
