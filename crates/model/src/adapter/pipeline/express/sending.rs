//! A frame that is alone at a medium which others share.
//!
//! Behind the stages where nobody sees a packet there is mostly but one more, which sends. Who comes there to an empty one needs no queue and no
//! server: it asks for the medium, has it for as long as its frame is, and is answered. The stage hears of it only if another comes while it is there, or anything that could
//! touch it.
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
use crate::adapter::pipeline::{Direction, StageReport, Station};
use crate::adapter::{Access, AdapterOutput, Passage, Response, Tells};
use crate::around::Around;

/// The one that is at the medium.
#[derive(Debug)]
pub(super) struct Sending {
    slot: Slot,
    joined: Time,
    /// How long it is on the medium.
    left: Span,
    /// Since when; `Time::MAX` while it waits for the medium, as below.
    since: Time,
    /// Until when.
    pub(super) ends: Time,
}

impl Pipeline {
    /// Whether all that stage `i` does is to send frames, one after the other, on a medium that others share, and it is the last one.
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

    /// What a frame of a packet of `size` takes in stage `i`.
    pub(super) fn time_of_frame(&self, i: usize, size: Bytes) -> Span {
        let phase = self.stations[i].stage.phases[0].time(size);
        phase.max(self.description.link.transmit(size)).max(self.shortest_frame)
    }

    /// Whether nobody is where frames are sent; who is there alone is told to its stage.
    #[inline]
    pub(super) fn is_free_to_send(&mut self, reach: Reach) -> bool {
        if self.express.sending.is_some() {
            self.stop_sending();
        }
        self.stations[reach.stage + 1].is_empty()
    }

    /// The first comes to where frames are sent, and asks for the medium.
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

    /// The medium answers; whether it was for the one that is alone there, and all of it.
    #[inline]
    pub(in crate::adapter::pipeline) fn is_granted_alone(&mut self, now: Time, access: Access) -> bool {
        let Some(sending) = &mut self.express.sending else { return false };
        // What takes no time is over before anybody could be asked to call again.
        if mostly(access == Access::Granted && !sending.left.is_zero()) {
            (sending.since, sending.ends) = (now, now + sending.left);
            self.due = self.due.min(sending.ends);
            return true;
        }
        self.stop_sending();
        false
    }

    /// The frame of the one that is alone at the medium has left, if it has by `now`.
    #[inline]
    pub(in crate::adapter::pipeline) fn send(
        &mut self,
        now: Time,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) {
        let ended = |sending: &mut Sending| sending.ends <= now;
        let Some(Sending { slot, joined, since, .. }) = self.express.sending.take_if(ended) else { return };
        let stage = self.transmitting - 1;
        // Else somebody would come at this instant from where others see him, and come first.
        debug_assert!(
            self.stations[..stage].iter().all(Station::is_empty),
            "who is alone has nobody before him"
        );
        self.requested = false;
        around.tell(AdapterOutput::Frame { packet: slot, more: self.has_more(stage, now) });
        self.stations[stage].has_carried(now.since(since));
        if self.recording {
            let (direction, began, ended) = (Direction::Transmit, joined, now);
            around.tell(AdapterOutput::Passed(Passage { direction, stage, joined, began, ended }));
        }
        self.transmit_buffers.give_back(slot, around.packets().at(slot));
        self.respond(Response::Transmitted(slot), around);
    }

    /// Who is alone at the medium is put where it would be.
    #[inline(never)]
    pub(super) fn stop_sending(&mut self) {
        let Some(Sending { slot, joined, left, since, ends }) = self.express.sending.take() else { return };
        let at = if ends == Time::MAX { At::Medium } else { At::Running { since, ends } };
        let station = &mut self.stations[self.transmitting - 1];
        station.jobs.push(Job::alone(slot, (joined, joined), (0, left), at));
        station.rest();
    }

    /// What stage `i` does for the one that is alone at the medium.
    pub(super) fn add_sending(&self, i: usize, report: &mut StageReport, now: Time) {
        if let Some(sending) = self.express.sending.as_ref().filter(|_| i + 1 == self.transmitting) {
            report.busy += now.min(sending.ends).saturating_since(sending.since);
        }
    }
}
