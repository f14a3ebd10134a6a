//! The settings of a manager, and the times that follow from them.

use laxity_units::Span;

use crate::division::Division;

/// The settings of a manager. Every node of a network has equal ones.
///
/// Each span goes by the clock of its own node. The stated times hold where clocks drift by at most
/// [`drift`](Self::drift).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How long a node keeps a channel without a message of the source.
    pub lease: Span,
    /// How long the source waits for the answer to a request before it gives up; at most `lease`.
    pub patience: Span,
    /// From one refresh of an established channel to the next; at most a quarter of `lease`.
    pub refresh: Span,
    /// How long a program keeps its channels without a renewal.
    pub program_lease: Span,
    /// The first retransmission is so long after the request; later ones are 2, 4, 8 … times as
    /// long after the one before.
    pub retry: Span,
    /// The longest time between retransmissions.
    pub longest_retry: Span,
    /// A retransmission is later by up to this part of its interval, in 1/256: so many sources do
    /// not keep step.
    pub jitter: u8,
    /// Channels that are over and still remembered, so that a late duplicate does not revive them.
    pub remembered: usize,
    /// Channels that may pass, begin or end at a node.
    pub entries: usize,
    /// The most nodes of which the epoch is remembered.
    pub peers: usize,
    /// Messages that may wait to be sent; further ones are lost, as on a link.
    pub waiting: usize,
    /// How slack is shared out.
    pub division: Division,
    /// The greatest drift of a clock against true time, in millionths.
    pub drift: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lease: Span::from_secs(30),
            patience: Span::from_secs(10),
            refresh: Span::from_secs(6),
            program_lease: Span::from_secs(60),
            retry: Span::from_ms(200),
            longest_retry: Span::from_secs(2),
            jitter: 64,
            remembered: 1024,
            entries: 65_536,
            peers: 1024,
            waiting: 65_536,
            division: Division::Proportional,
            drift: 200,
        }
    }
}

impl Settings {
    /// By when a request has its answer at the program, in true time.
    ///
    /// ```text
    /// patience × (1 + drift)
    /// ```
    pub fn request_ends(&self) -> Span {
        self.drifted(self.patience)
    }

    /// By when what a dead node, link or program are free everywhere, in true time, with `transit`
    /// for the longest stay of a message in the network.
    ///
    /// ```text
    /// (program_lease + 2 lease + patience) (1 + drift) + transit
    /// ```
    ///
    /// A dead program costs its lease. The source of a broken channel finds out within a lease of
    /// the last answer. It releases for up to its patience, and a node that no release reaches
    /// keeps the channel for a lease after the last message.
    pub fn all_free(&self, transit: Span) -> Span {
        let sum = self.program_lease.saturating_add(self.lease.saturating_mul(2));
        self.drifted(sum.saturating_add(self.patience)).saturating_add(transit)
    }

    /// The interval before retransmission number `attempt`, counted from 0, without jitter.
    pub fn backoff(&self, attempt: u32) -> Span {
        self.retry.saturating_mul(1 << attempt.min(32)).min(self.longest_retry)
    }

    /// The most messages that a request of one source is sent in.
    ///
    /// With `b_n` the interval before retransmission `n`, it is the largest `k` with `b_0 + … +
    /// b_{k−2} ≤ patience`.
    pub fn most_attempts(&self) -> u32 {
        let (mut attempts, mut passed) = (1, self.backoff(0));
        while passed <= self.patience && !self.backoff(attempts).is_zero() {
            passed = passed.saturating_add(self.backoff(attempts));
            attempts += 1;
        }
        attempts
    }

    fn drifted(&self, span: Span) -> Span {
        span.saturating_add(span.scale_ceil(u64::from(self.drift), 1_000_000))
    }
}
