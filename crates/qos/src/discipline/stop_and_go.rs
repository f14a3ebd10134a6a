//! Stop-and-go: what comes within a frame goes in the next, and not before.
//!
//! ```text
//! frames of T        │ a   b │     c │       │
//! may go                     │ a b   │ c     │          within a frame of their own, in whatever order
//! ```
//!
//! Golestani ("A stop-and-go queueing framework for congestion management", SIGCOMM 1990; "Congestion-free communication in high-speed
//! packet networks", IEEE Trans. Comm. 39(12), 1991) has frames of several lengths, each a multiple of the next shorter; an item
//! becomes eligible when the frame of its flow ends in which it came. Eligible ones of shorter frames go first, in order of arrival
//! among those of one length, and nobody is stopped. So what a source has spread over its frames stays spread over them at every hop: bursts cannot
//! build up, and an item is never more than two frames from where it would be without any queue.
//!
//! **Guarantee.** Let flows be *smooth*: no more than so many bytes come in any of its frames. If for each length `T_g`
//!
//! ```text
//! Σ_{T_p ≤ T_g} (T_g / T_p) · (what comes in a frame of T_p) / C  +  L_max / C  ≤  T_g
//! ```
//!
//! (ibid., with `L_max` of what has longer frames or none and may just have been begun), all that is eligible when a frame begins leaves within it, so
//!
//! ```text
//! 0 < delay ≤ 2 T_g
//! ```
//!
//! at a hop: one frame at most until the next begins, one within it. From hop to hop the frame in which it leaves is one more, no matter how
//! much else there is, so jitter over any number of hops is less than `2 T_g` (ibid., Eq. 4).
//!
//! **Its conditions.** It does not enforce: who sends more than is smooth takes it from all whose frames are as long or longer, so contracts must be enforced before
//! (in print, at the edge of the network). Frames begin with the simulation's zero here, at every link, where in print those of an outgoing link are a propagation
//! later; that adds to a hop at most one frame. Delay and rate are tied: a flow's frame is the longest `2^k T` within the interval of its contract, and it is
//! reserved for as if it sent a contract's largest message in each. What has no rate goes when nothing is eligible. Not work-conserving. `O(log n)` an item.

use laxity_units::{Span, Time};

use super::frames::Frames;
use super::held::{Held, Holds};
use super::sharing::Sharing;
use super::{Request, Server};

/// Items until their frames end, and those of each length whose have.
pub type StopAndGo<T> = Held<Frames, T>;

impl<T> StopAndGo<T> {
    /// An empty queue before `server`, whose frame is the shortest.
    pub fn of(server: &Server) -> Self {
        Self::by(Frames::of(server.frame))
    }
}

impl Holds for Frames {
    fn hold(&mut self, now: Time, request: &Request) -> (Time, u8) {
        let level = self.within(request.tag.tick.interval());
        (self.end(level, now), level)
    }
}

/// `2 T_g`, if all flows are smooth and the frames that are not longer have room for what comes in them; nothing if they have not.
///
/// A flow with a bucket `(σ, r)` is taken to send `σ + r T` in a frame of `T`.
pub(super) fn bound(sharing: &Sharing, of: usize, frame: Span) -> Option<Span> {
    let frames = Frames::of(frame);
    let level = |flow: usize| frames.within(sharing.flows[flow].tick.interval());
    let comes = |flow: usize| sharing.work_in(flow, frames.length(level(flow)));
    let own = frames.length(level(of));
    frames.have_room(sharing, level(of), level, comes).then(|| own.saturating_mul(2))
}
