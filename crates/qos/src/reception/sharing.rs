//! Sharing a quota between real time and the rest (paper polling, "Weighted round robin").
//!
//! An interface that separates classes has two queues. Each poll serves real time first, up to `q1`
//! packets, then the rest up to `q2`, with `q1 + q2 = Q`. Every poll starts anew: the unused quota
//! of a class is not carried over. (The paper prints "q1 + q1 = Quota", a slip.) The paper rejects
//! two alternatives, which are here for comparison. Serving real time as long as any waits starves
//! the rest, and turns of whole polls produce bursts.

use crate::discipline::Class;

/// The class from which a batch takes the next packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchSharing {
    /// One queue for all, in order of arrival.
    Common,
    /// Real time first, up to its part of the quota, then the rest up to theirs.
    Weighted {
        /// `q1`: at least 1.
        real_time: u32,
        /// `q2`: at least 1.
        best_effort: u32,
    },
    /// Real time as long as any waits.
    Exhaustive,
    /// Whole polls in turn: `real_time` polls, then `best_effort` polls.
    Turns {
        /// Polls for real time; at least 1.
        real_time: u32,
        /// Polls for the rest; at least 1.
        best_effort: u32,
    },
}

/// Waiting packets, by class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Real-time packets.
    pub real_time: u32,
    /// Packets of the rest.
    pub best_effort: u32,
}

/// Packets that a batch has taken so far, and the number of the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BatchTaken {
    /// Real-time packets.
    pub real_time: u32,
    /// Packets of the rest.
    pub best_effort: u32,
    /// Batches before this one.
    pub batches: u64,
}

impl BatchSharing {
    /// The class to take from next; `None` ends the batch. With a common queue the class is real
    /// time, under which all packets wait.
    pub fn next(self, waiting: Waiting, taken: BatchTaken) -> Option<Class> {
        let (real_time, best_effort) = (waiting.real_time > 0, waiting.best_effort > 0);
        match self {
            BatchSharing::Common | BatchSharing::Exhaustive if real_time => Some(Class::RealTime),
            BatchSharing::Exhaustive if best_effort => Some(Class::BestEffort),
            BatchSharing::Common | BatchSharing::Exhaustive => None,
            BatchSharing::Weighted { real_time: most, .. } if real_time && taken.real_time < most => {
                Some(Class::RealTime)
            }
            BatchSharing::Weighted { best_effort: most, .. } if best_effort && taken.best_effort < most => {
                Some(Class::BestEffort)
            }
            BatchSharing::Weighted { .. } => None,
            BatchSharing::Turns { real_time: first, best_effort: second } => {
                let turn = taken.batches % u64::from(first + second);
                let class = if turn < u64::from(first) { Class::RealTime } else { Class::BestEffort };
                let any = if class == Class::RealTime { real_time } else { best_effort };
                any.then_some(class)
            }
        }
    }

    /// Whether classes have queues of their own.
    #[inline]
    pub fn tells_classes_apart(self) -> bool {
        self != BatchSharing::Common
    }
}
