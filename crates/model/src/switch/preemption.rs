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
//!
//! # Hold and release
//!
//! At a port with gates all preemptable levels have one gate. Where it closes, the MAC *holds*: no
//! preemptable fragment is on the link when the window of express frames begins. 802.1Q-2018 has that
//! as the operation Set-And-Hold-MAC of a window (table 8-7), which takes effect by `holdAdvance`
//! before the window (12.30.1). A MAC has that advance as a constant. The model has the least with which
//! every fragment has left, the longest wait above. Where the gate opens, the MAC releases, and the
//! interrupted frame goes on first.
//!
//! So a preemptable frame begins or goes on if its gate stays open for the rest of it, or for
//! [`LONGEST_WAIT`]. In the latter case it is cut behind as many bytes as fit: with `y ≥ 143` bytes
//! left and `r > y − 20` bytes to send, `p = min(y − 24, r − 64)` is 60 at least. The gate loses no
//! more than `LONGEST_WAIT` of each window, and not a whole frame.

use std::sync::Arc;

use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::{GateList, LOWEST, Selection};
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
    /// The gates of the port, if it has any.
    selection: Option<Arc<Selection>>,
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
    pub(super) fn new(from: u8, selection: Option<Arc<Selection>>) -> Self {
        Self { from, sending: None, interrupted: None, selection }
    }

    /// Whether frames of `level` are express.
    pub(super) fn is_express(&self, level: u8) -> bool {
        level < self.from
    }

    /// A whole frame of `level` and `size` begins `now`. Returns when the link is free.
    pub(super) fn begin(&mut self, now: Time, level: u8, size: Bytes, link: &LinkCosts) -> Time {
        let left = link.on_link(size).get().saturating_sub(PREAMBLE + GAP);
        match self.is_express(level) {
            true => {
                self.sending = None;
                now + link.transmit(size)
            }
            false => self.send(Fragment { begun: now + link.startup, left, cut: None }, link),
        }
    }

    /// The gates of the port. All preemptable frames have that of best effort.
    fn gates(&self) -> Option<&GateList> {
        self.selection.as_ref()?.gates.as_ref()
    }

    /// A fragment begins. It is cut when the gate closes, if that is before its end.
    fn send(&mut self, mut fragment: Fragment, link: &LinkCosts) -> Time {
        let closes = self.gates().and_then(|gates| gates.closes(LOWEST, fragment.begun));
        fragment.cut =
            closes.filter(|closes| fragment.end(link) > *closes).map(|closes| fragment.fits(closes, link));
        self.sending = Some(fragment);
        fragment.end(link)
    }

    /// An express frame waits `now`. Returns when the link is free for it, if what is being sent can
    /// be cut and is not yet.
    pub(super) fn interrupt(&mut self, now: Time, link: &LinkCosts) -> Option<Time> {
        let fragment = self.sending.as_mut()?;
        let sent = fragment.sent(now, link);
        if fragment.left < sent + SHORTEST || fragment.cut.is_some_and(|cut| cut <= sent) {
            return None;
        }
        fragment.cut = Some(sent);
        Some(fragment.end(link))
    }

    /// The fragment that was being sent ends. Returns whether its frame was interrupted.
    pub(super) fn end(&mut self, frame: Frame) -> bool {
        let Some(Fragment { left, cut: Some(cut), .. }) = self.sending.take() else { return false };
        self.interrupted = Some((frame, left - cut));
        true
    }

    /// When the interrupted frame can go on from `now` on, if there is one.
    pub(super) fn resumes(&self, now: Time, link: &LinkCosts) -> Option<Time> {
        let (_, left) = self.interrupted?;
        let Some(gates) = self.gates() else { return Some(now) };
        let rest = Bytes::new(PREAMBLE + left + GAP).min(gates.least(LOWEST).unwrap_or(Bytes::new(u64::MAX)));
        Some(gates.open(now, LOWEST, link.per_byte.time(rest)).unwrap_or(Time::MAX))
    }

    /// The interrupted frame, of which there is one, goes on `now`. Returns when the link is free.
    pub(super) fn resume(&mut self, now: Time, link: &LinkCosts) -> (Frame, Time) {
        let (frame, left) = self.interrupted.take().expect("a frame is interrupted");
        (frame, self.send(Fragment { begun: now, left, cut: None }, link))
    }
}

impl Fragment {
    /// When its last bit has left, or the last one before it is cut, with the gap behind.
    fn end(&self, link: &LinkCosts) -> Time {
        let bytes = self.cut.map_or(self.left, |cut| cut + CHECK);
        self.begun + link.per_byte.time(Bytes::new(PREAMBLE + bytes + GAP))
    }

    /// The most bytes behind which it can be cut so that it ends by `closes`.
    fn fits(&self, closes: Time, link: &LinkCosts) -> u64 {
        let ends = |cut: u64| Self { cut: Some(cut), ..*self }.end(link);
        let (mut low, mut high) = (SHORTEST - CHECK, self.left.saturating_sub(SHORTEST));
        debug_assert!(low <= high && ends(low) <= closes, "a fragment that begins can be cut");
        while low < high {
            let middle = high - (high - low) / 2;
            (low, high) = if ends(middle) <= closes { (middle, high) } else { (low, middle - 1) };
        }
        low
    }

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
