//! `W` and `S` of a request, and the packets that a link alone has in the way of it.

use super::super::below::is_link_alone;
use super::super::terms::ps;
use super::*;

impl AdmissionTable {
    /// `S` of a message of `request`, as if it were admitted now: `M/S` is the throughput the
    /// formula predicts.
    pub fn service_time(&self, request: &Request) -> Result<Breakdown, AdmissionRefusal> {
        let shared = self.shared_with(request)?;
        Ok(shared.service(&self.environment, request))
    }

    /// `W`, as if `request` were admitted now; the bursts of work above the handlers are not in it.
    pub fn wait_time(&self, request: &Request) -> Result<Breakdown, AdmissionRefusal> {
        if self.is_through(request) {
            return Ok(Breakdown::default());
        }
        let shared = self.shared_with(request)?;
        Ok(match self.by_hand(request) {
            Some(_) => self.wait_above(request, &shared, |other| other.level() > request.level()),
            None if self.test == Test::Demand && self.is_link_alone(&self.found_with(request)) => {
                self.wait_above(request, &shared, |other| other.deadline() > request.deadline())
            }
            None => shared.wait,
        })
    }

    /// `W` and `S` of the admitted `request` that has this bound.
    pub fn terms(
        &self,
        request: &Request,
        bound: &Bound,
    ) -> Result<(Breakdown, Breakdown), AdmissionRefusal> {
        let by_place = self.test == Test::DOrder && self.is_link_alone(&self.found_with(request));
        let packet = || Breakdown::default().and("packets already with the adapter", ps(bound.wait));
        let wait = if by_place { packet() } else { self.wait_time(request)? };
        Ok((wait, self.service_time(request)?))
    }

    /// `W` and the bursts without the packet below, where `shared` is of `population`; `None` where `W` is
    /// the same for all.
    pub(super) fn without_packet(&self, shared: &Shared, population: &Population) -> Option<u128> {
        let largest = population.with_adapter().filter(|_| self.is_link_alone(population))?;
        Some(shared.constant() - self.on_link(largest))
    }

    /// Whether `W` differs between channels: with the window by (2) of [`super::super::demand`], or with
    /// the place (`on_levels.rs`).
    pub(super) fn is_link_alone(&self, population: &Population) -> bool {
        let differs = self.test == Test::Demand || self.environment.levels.is_some();
        differs && !self.environment.early && is_link_alone(&self.environment, population)
    }

    /// Time of the longest packet of a channel that is sent; else zero.
    pub(super) fn longest_packet(&self, request: &Request) -> u128 {
        let size = request.spec().largest_packet(self.environment.packet);
        if request.is_sent() { self.on_link(size) } else { 0 }
    }

    /// Time of a packet on the link.
    pub(super) fn on_link(&self, size: Bytes) -> u128 {
        ps(self.environment.link.transmit(size))
    }
}
