//! The request to a station.

use laxity_admission::{CorePlace, RateRequest, Request};
use laxity_qos::channel::{CoreId, LinkId};

/// A request to a station.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) rate: RateRequest,
    /// By which of its links; of what ends there, the first.
    pub(super) link: LinkId,
    /// At which of its cores.
    pub(super) core: CoreId,
}

impl Asked {
    /// Where it is among several cores.
    pub(super) fn place(&self) -> CorePlace {
        CorePlace { core: self.core, link: self.link }
    }

    /// The request to the table of a link.
    pub(super) fn of_link(&self, link: LinkId) -> Request {
        if link == self.link { self.rate.request } else { self.rate.request.by_another_link() }
    }
}
