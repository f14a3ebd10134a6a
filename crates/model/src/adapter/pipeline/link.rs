//! The medium, as the one phase sees it that is on it.

use laxity_qos::channel::Slot;
use laxity_units::{Span, Time};

use super::job::At;
use super::{PacketDirection, Pipeline};
use crate::adapter::{AdapterOutput, Loss, MediumAccess};
use crate::around::Around;

impl Pipeline {
    /// Frames on the medium take at least `span`, as its collisions ask for.
    pub fn pad_frames_to(&mut self, span: Span) {
        self.shortest_frame = span;
        self.look_how_far();
    }

    /// The medium is a link of this adapter's own, always free: no requests.
    pub fn own_the_link(&mut self) {
        self.owns_link = true;
        self.look_how_far();
    }

    /// Whether frames wait for a medium that they share.
    pub fn asks_for_medium(&self) -> bool {
        self.link.is_some() && !self.owns_link
    }

    pub(in crate::adapter) fn medium(
        &mut self,
        now: Time,
        access: MediumAccess,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) {
        if self.is_granted_alone(now, access) {
            return;
        }
        let link = *self.link.as_ref().expect("only a phase on the medium asks for it").end();
        let station = &mut self.stations[link];
        let Some(job) = station.jobs.first_mut() else { unreachable!("a request has a frame") };
        match access {
            // A job without other resources needs no allocation, and no other job is affected.
            MediumAccess::Granted
                if station.stage.phases[job.phase].holds.is_empty()
                    && !self.stopped
                    && !job.left.is_zero() =>
            {
                job.at = At::Running { since: now, ends: now + job.left };
                station.rest();
                self.due = self.due.min(station.ends);
                return;
            }
            MediumAccess::Granted => job.at = At::Phase,
            MediumAccess::Aborted => {
                station.busy += job.pause(now);
                let size = around.packets().at(job.slot).size;
                let whole = station.stage.phases[job.phase].time(size);
                job.left = whole.max(self.shortest_frame).max(self.description.link.transmit(size));
                job.at = At::Medium;
            }
            MediumAccess::Lost => {
                station.busy += job.pause(now);
                let slot = station.jobs.remove(0).slot;
                self.requested = false;
                self.make_way(link);
                self.lose(PacketDirection::Transmit, slot, Loss::Medium, around);
            }
        }
        self.stations[link].astir = true;
        self.unassigned = true;
        self.settle(now, around);
    }

    /// Whether more frames are at hand behind the one that station `i` has just sent.
    pub(super) fn has_more(&self, i: usize, now: Time) -> bool {
        let Some(link) = &self.link else { return false };
        if self.express.has_come_to(*link.start(), now) {
            return true;
        }
        let before = *link.start()..i;
        self.stations[i].waiting() > 0 || self.stations[before].iter().any(|station| !station.is_empty())
    }
}
