//! A frame that is alone at a shared medium.
//!
//! The express path usually leads to one more stage, which sends. A packet that finds it empty
//! needs neither queue nor server: it requests the medium, occupies it for its frame time, and
//! completes. The stage takes the packet over only if another arrives meanwhile, or an input could
//! interfere.
//!
//! ```text
//!  way unseen      send_first       granted         has_sent
//!  ─ ─ ─ ─ ─ ─ ─ ─ ┤ asks ───────── │ ends = now + frame │ frame, response
//! ```

use laxity_qos::channel::Slot;
use laxity_qos::seldom::mostly;
use laxity_units::{Bytes, Span, Time};

use super::times::only_takes_time;
use super::{Pipeline, Reach};
use crate::adapter::pipeline::job::{At, Job};
use crate::adapter::pipeline::{PacketDirection, StageReport, Station, identity};
use crate::adapter::{AdapterOutput, AdapterResponse, MediumAccess, Passage, Tells};
use crate::around::Around;

/// The packet at the medium.
#[derive(Debug)]
pub(super) struct Sending {
    slot: Slot,
    joined: Time,
    /// Its frame time.
    left: Span,
    /// Start of the frame; `Time::MAX` while it waits for the medium, as below.
    since: Time,
    /// End of the frame.
    pub(super) ends: Time,
}

impl Pipeline {
    /// Whether stage `i` is the last one and only sends frames, one after the other, on a shared
    /// medium.
    pub(super) fn only_sends(&self, i: usize) -> bool {
        let station = &self.stations[i];
        let [phase] = &station.stage.phases[..] else { return false };
        let sends = phase.medium && phase.tells == Tells::Nothing && phase.holds.is_empty();
        sends
            && station.takes_at_once()
            && only_takes_time(phase)
            && !self.owns_link
            && i + 1 == self.transmitting
    }

    /// Frame time of a packet of `size` in stage `i`.
    pub(super) fn time_of_frame(&self, i: usize, size: Bytes) -> Span {
        let phase = self.stations[i].stage.phases[0].time(size);
        phase.max(self.description.link.transmit(size)).max(self.shortest_frame)
    }

    /// Whether the sending stage is empty; moves a lone packet there into its station.
    #[inline]
    pub(super) fn is_free_to_send(&mut self, reach: Reach) -> bool {
        if self.express.sending.is_some() {
            self.stop_sending();
        }
        self.stations[reach.stage + 1].is_empty()
    }

    /// Moves the first packet to the medium, and requests it.
    #[inline]
    pub(super) fn send_first(
        &mut self,
        reach: Reach,
        now: Time,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) {
        let (slot, _) = self.take_through(reach, around);
        self.look_how_long(reach, around.packets().at(slot).size);
        self.stations[reach.stage + 1].has_seen(1);
        let left = self.express.times.frame;
        self.express.sending = Some(Sending { slot, joined: now, left, since: Time::MAX, ends: Time::MAX });
        self.requested = true;
        around.tell(AdapterOutput::Request);
    }

    /// The medium replies; returns whether the reply was for the lone packet and is fully handled.
    #[inline]
    pub(in crate::adapter::pipeline) fn is_granted_alone(&mut self, now: Time, access: MediumAccess) -> bool {
        let Some(sending) = &mut self.express.sending else { return false };
        // A frame of zero time ends before another call could be scheduled.
        if mostly(access == MediumAccess::Granted && !sending.left.is_zero()) {
            (sending.since, sending.ends) = (now, now + sending.left);
            self.due = self.due.min(sending.ends);
            return true;
        }
        self.stop_sending();
        false
    }

    /// Completes the lone packet's frame, if it has left by `now`.
    #[inline]
    pub(in crate::adapter::pipeline) fn send(
        &mut self,
        now: Time,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) {
        let ended = |sending: &mut Sending| sending.ends <= now;
        let Some(Sending { slot, joined, since, .. }) = self.express.sending.take_if(ended) else { return };
        let stage = self.transmitting - 1;
        // Otherwise a packet would arrive at this instant from an observable station, and go first.
        debug_assert!(
            self.stations[..stage].iter().all(Station::is_empty),
            "who is alone has nobody before him"
        );
        self.requested = false;
        around.tell(AdapterOutput::Frame { packet: slot, more: self.has_more(stage, now) });
        self.stations[stage].has_carried(now.since(since));
        if self.recording {
            let (direction, packet) = (PacketDirection::Transmit, identity(around.packets().at(slot)));
            let passage = Passage { direction, stage, packet, joined, began: joined, ended: now };
            around.tell(AdapterOutput::Passed(passage));
        }
        self.transmit_buffers.give_back(slot, around.packets().at(slot));
        self.respond(AdapterResponse::Transmitted(slot), around);
    }

    /// Moves the lone packet at the medium into its station.
    #[inline(never)]
    pub(super) fn stop_sending(&mut self) {
        let Some(Sending { slot, joined, left, since, ends }) = self.express.sending.take() else { return };
        let at = if ends == Time::MAX { At::Medium } else { At::Running { since, ends } };
        let station = &mut self.stations[self.transmitting - 1];
        station.jobs.push(Job::alone(slot, (joined, joined), (0, left), at));
        station.rest();
    }

    /// Adds the lone packet's part to the statistics of stage `i`.
    pub(super) fn add_sending(&self, i: usize, report: &mut StageReport, now: Time) {
        if let Some(sending) = self.express.sending.as_ref().filter(|_| i + 1 == self.transmitting) {
            report.busy += now.min(sending.ends).saturating_since(sending.since);
        }
    }
}
