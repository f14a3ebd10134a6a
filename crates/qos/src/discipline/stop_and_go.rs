//! Stop-and-go: an item that arrives within a frame leaves in the next frame, and not before.
//!
//! ```text
//! frames of T        │ a   b │     c │       │
//! may go                     │ a b   │ c     │          within a frame of their own, in whatever order
//! ```
//!
//! Golestani ("A stop-and-go queueing framework for congestion management", SIGCOMM 1990;
//! "Congestion-free communication in high-speed packet networks", IEEE Trans. Comm. 39(12), 1991)
//! has frames of several lengths, each a multiple of the next shorter. An item becomes eligible at
//! the end of its flow's frame in which it arrived. Eligible items of shorter frames go first, in
//! order of arrival among those of one length, without preemption. So traffic that a source has
//! spread over its frames stays spread at every hop: bursts cannot build up, and an item is never
//! more than two frames from its position without queues.
//!
//! **Guarantee.** Let flows be *smooth*: the bytes that arrive in any frame of a flow are bounded.
//! If for each length `T_g`
//!
//! ```text
//! Σ_{T_p ≤ T_g} (T_g / T_p) · (arrivals in a frame of T_p) / C  +  L_max / C  ≤  T_g
//! ```
//!
//! (ibid., with `L_max` of an item with longer frames or none that may just have been begun), all
//! items that are eligible when a frame begins leave within it, so
//!
//! ```text
//! 0 < delay ≤ 2 T_g
//! ```
//!
//! at a hop: at most one frame until the next begins, and one within it. From hop to hop the frame
//! of departure is exactly one later, whatever the other traffic, so jitter over any number of hops
//! is less than `2 T_g` (ibid., Eq. 4).
//!
//! **Conditions.** The discipline does not enforce: a flow that exceeds its smoothness takes
//! capacity from all flows with frames of the same length or longer. Contracts must be enforced
//! before (in the papers, at the edge of the network). Frames begin with the simulation's zero
//! here, at every link. In the papers those of an outgoing link are a propagation delay later; the
//! difference adds at most one frame to a hop. Delay and rate are tied: a flow's frame is the
//! longest `2^k T` within the interval of its contract, and it reserves a contract's largest
//! message in each. Items without a rate are served when no item is eligible. Not work-conserving.
//! `O(log n)` an item.

use laxity_units::{Span, Time};

use super::frames::Frames;
use super::held::{Held, Holds};
use super::sharing::Sharing;
use super::{ItemRequest, ServerParameters};

/// Items until the ends of their frames, and a queue of released items for each length.
pub type StopAndGo<T> = Held<Frames, T>;

impl<T> StopAndGo<T> {
    /// An empty queue in front of `server`, which has the shortest frame.
    pub fn of(server: &ServerParameters) -> Self {
        Self::by(Frames::of(server.frame))
    }
}

impl Holds for Frames {
    fn hold(&mut self, now: Time, request: &ItemRequest) -> (Time, u8) {
        let level = self.within(request.tag.tick.interval());
        (self.end(level, now), level)
    }
}

/// `2 T_g`, if all flows are smooth and the frames that are not longer have capacity for their
/// arrivals; `None` if not.
///
/// A flow with a bucket `(σ, r)` is assumed to send `σ + r T` in a frame of `T`.
pub(super) fn bound(sharing: &Sharing, of: usize, frame: Span) -> Option<Span> {
    let frames = Frames::of(frame);
    let level = |flow: usize| frames.within(sharing.flows[flow].tick.interval());
    let comes = |flow: usize| sharing.work_in(flow, frames.length(level(flow)));
    let own = frames.length(level(of));
    frames.have_room(sharing, level(of), level, comes).then(|| own.saturating_mul(2))
}
