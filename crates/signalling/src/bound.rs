//! How long establishment takes at most.
//!
//! Each link carries signalling on a small channel of its own, which is admitted like every other
//! before any program asks. The paper has signalling among best effort (structuring, section 2.1).
//! There a flood of best effort, or a full pool of buffers, delays a request without bound, and a
//! release too: what a dead program held would stay as long as the flood lasts. With a reserved
//! channel the leases of the manager end in a known time, and establishment has a bound. The price
//! is the reservation, `M / I` of each link.
//!
//! # The bound
//!
//! The channel of link `n` promises a message delivery by `d_n + w_n` after its logical arrival,
//! and logical arrivals are `I_n` apart. At most `q_n` messages before ours wait for the link or
//! left within the last `I_n`; where at most one message of each kind about a channel waits,
//! `q_n` follows from the number of channels. Messages that wait may share frames, and then `q_n`
//! counts frames. Ours has its logical arrival within `q_n I_n`. A manager handles
//! a message within `p`. A request
//! over the links `1 … h` is handled at `h + 1` nodes on the way out and at `h` on the way back:
//!
//! ```text
//! T = 2 Σ (q_n I_n + d_n + w_n) + (2 h + 1) p
//! ```
//!
//! That is where no message is lost. With `k` losses of the request or of its answer,
//! retransmission `k` leaves after the first `k` intervals of the backoff, each longer by the
//! jitter `j` at most:
//!
//! ```text
//! T_k = T + Σ_{m<k} b_m (1 + j),   b_m = min(b_0 2^m, b_max)
//! ```

use laxity_units::Span;

use crate::division::total;
use crate::settings::Settings;

/// The reserved channel of signalling on a link, one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignallingChannel {
    /// `I`: the least spacing of messages.
    pub interval: Span,
    /// `d`: the local deadline of the channel.
    pub deadline: Span,
    /// `w`: from the end of the transmission until the next node has the message.
    pub way: Span,
    /// `q`: messages, or frames of them, that wait before one or left within the last interval, at most.
    pub before: u64,
}

impl SignallingChannel {
    /// The longest time that a message takes over the link.
    fn crossing(&self) -> Span {
        let queue = self.interval.saturating_mul(self.before);
        queue.saturating_add(self.deadline).saturating_add(self.way)
    }
}

/// `T_k`: the longest time from a request to its answer over `links`, out and back alike, with
/// `processing` for each message at a manager and `losses` retransmissions.
pub fn establishment(
    links: &[SignallingChannel],
    processing: Span,
    losses: u32,
    settings: &Settings,
) -> Span {
    let once = total(links.iter().map(SignallingChannel::crossing));
    let handled = processing.saturating_mul(2 * links.len() as u64 + 1);
    let jitter = u64::from(settings.jitter);
    let again = (0..losses).map(|attempt| settings.backoff(attempt)).fold(Span::ZERO, |sum, interval| {
        sum.saturating_add(interval).saturating_add(interval.scale_ceil(jitter, 256))
    });
    once.saturating_mul(2).saturating_add(handled).saturating_add(again)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three links of 1 ms deadline and 100 µs way, messages 2 ms apart and one before ours: 3.1 ms
    /// a link, out and back 18.6 ms, seven times 50 µs at managers.
    #[test]
    fn three_hops_by_hand() {
        let us = Span::from_us;
        let link = SignallingChannel { interval: us(2000), deadline: us(1000), way: us(100), before: 1 };
        let settings =
            Settings { retry: us(200_000), longest_retry: us(300_000), jitter: 64, ..Settings::default() };
        assert_eq!(establishment(&[link; 3], us(50), 0, &settings), us(18_950));
        // Two losses: 200 and 300 ms, a quarter longer each.
        assert_eq!(establishment(&[link; 3], us(50), 2, &settings), us(18_950 + 625_000));
    }
}
