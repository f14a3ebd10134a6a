//! Frame preemption (IEEE 802.1Qbu, and the MAC merge sublayer of IEEE 802.3br).
//!
//! A port has *express* levels, the most urgent ones, and *preemptable* ones. An express frame
//! interrupts a preemptable one, which leaves in fragments:
//!
//! ```text
//! first          preamble 8 │ p bytes of the frame      │ check 4 │ gap 12
//! continuation   preamble 8 │ the rest, with its own check sequence │ gap 12
//! ```
//!
//! Every fragment has 64 bytes at least with its check sequence. So one of which `p` bytes have left
//! can be cut if `p ≥ 60`, and if 64 bytes or more remain. No more than one frame is interrupted at a
//! time: preemptable frames do not interrupt each other, and the interrupted one goes on before they do.
//!
//! # How long an express frame waits
//!
//! Let a fragment have `r` bytes when it begins, and let an express frame arrive when `b` of them
//! have left (zero during the preamble). The fragment is cut at `p = max(60, b)` if `r − p ≥ 64`.
//! Then the wait is at most the preamble, 60 bytes, a check sequence and a gap: 84 bytes. Else
//! `r ≤ p + 63`. With `b ≤ 60` the wait is at most the preamble, 123 bytes and a gap: 143 bytes
//! ([`LONGEST_WAIT`]). With `b > 60` at most 63 bytes and a gap remain. A frame that is shorter than
//! that makes an express frame wait for its own length at most.
//!
//! Each express frame interrupts one fragment at most, which costs a check sequence, a gap and a
//! preamble: 24 bytes ([`OVERHEAD`]).

use laxity_qos::costs::LinkCosts;
use laxity_units::{Bytes, Time};

use super::Frame;

const PREAMBLE: u64 = 8;
const CHECK: u64 = 4;
const GAP: u64 = 12;
/// The shortest fragment, its check sequence included.
const SHORTEST: u64 = 64;

/// Bytes on the link for which a preemptable frame keeps an express frame waiting at most.
pub const LONGEST_WAIT: Bytes = Bytes::new(PREAMBLE + 2 * SHORTEST - 1 - CHECK + GAP);

/// Bytes on the link that an interruption adds.
pub const OVERHEAD: Bytes = Bytes::new(CHECK + GAP + PREAMBLE);

/// Preemption at a port.
#[derive(Debug, Clone)]
pub(super) struct Preemption {
    /// The most urgent preemptable level.
    from: u8,
    /// The fragment that is being sent, if its frame is preemptable.
    sending: Option<Fragment>,
    /// The interrupted frame, and how much of it is left.
    interrupted: Option<(Frame, u64)>,
}

/// A fragment of a preemptable frame that is being sent.
#[derive(Debug, Clone, Copy)]
struct Fragment {
    /// When its preamble began.
    begun: Time,
    /// Bytes of the frame from its destination address to its check sequence that were left then.
    left: u64,
    /// Bytes after which it is cut, if it is.
    cut: Option<u64>,
}

impl Preemption {
    pub(super) fn new(from: u8) -> Self {
        Self { from, sending: None, interrupted: None }
    }

    /// Whether frames of `level` are express.
    pub(super) fn is_express(&self, level: u8) -> bool {
        level < self.from
    }

    /// A whole frame of `level` and `size` begins `now`.
    pub(super) fn begin(&mut self, now: Time, level: u8, size: Bytes, link: &LinkCosts) {
        let left = link.on_link(size).get().saturating_sub(PREAMBLE + GAP);
        let fragment = Fragment { begun: now + link.startup, left, cut: None };
        self.sending = (!self.is_express(level)).then_some(fragment);
    }

    /// An express frame waits `now`. Returns when the link is free for it, if what is being sent can
    /// be cut and is not yet.
    pub(super) fn interrupt(&mut self, now: Time, link: &LinkCosts) -> Option<Time> {
        let fragment = self.sending.as_mut().filter(|fragment| fragment.cut.is_none())?;
        let sent = fragment.sent(now, link);
        if fragment.left < sent + SHORTEST {
            return None;
        }
        fragment.cut = Some(sent);
        Some(fragment.begun + link.per_byte.time(Bytes::new(PREAMBLE + sent + CHECK + GAP)))
    }

    /// The fragment that was being sent ends. Returns whether its frame was interrupted.
    pub(super) fn end(&mut self, frame: Frame) -> bool {
        let Some(Fragment { left, cut: Some(cut), .. }) = self.sending.take() else { return false };
        self.interrupted = Some((frame, left - cut));
        true
    }

    /// The interrupted frame goes on `now`, unless there is none. Returns when its last bit has left.
    pub(super) fn resume(&mut self, now: Time, link: &LinkCosts) -> Option<(Frame, Time)> {
        let (frame, left) = self.interrupted.take()?;
        self.sending = Some(Fragment { begun: now, left, cut: None });
        Some((frame, now + link.per_byte.time(Bytes::new(PREAMBLE + left + GAP))))
    }
}

impl Fragment {
    /// The least number of bytes, enough for a fragment, of which the last has left `now` or later.
    fn sent(&self, now: Time, link: &LinkCosts) -> u64 {
        const LEAST: u64 = SHORTEST - CHECK;
        let ends = |sent: u64| self.begun + link.per_byte.time(Bytes::new(PREAMBLE + sent));
        let (mut low, mut high) = (LEAST, self.left.max(LEAST));
        while low < high {
            let middle = low + (high - low) / 2;
            (low, high) = if ends(middle) < now { (middle + 1, high) } else { (low, middle) };
        }
        low
    }
}
