//! Channels that end at a host whose CPU takes no time.
//!
//! A message of such a channel is through the host when it arrives: there is no work on it, and no work that
//! it could wait for. It uses no link. So it is in no order, and no test is about it. Its bound is zero.
//!
//! A channel with a program that takes time, or an application that computes, may be admitted later. From
//! then on messages wait for the CPU, and those that were through have to keep their deadlines among the
//! others.

use std::borrow::Cow;

use super::super::below::is_without_cpu;
use super::*;
use laxity_qos::channel::Role;

impl AdmissionTable {
    /// Whether messages of `request` take no time here, beside the admitted channels.
    pub(super) fn is_through(&self, request: &Request) -> bool {
        request.role() == Role::Receive && self.is_without_cpu(request)
    }

    fn is_without_cpu(&self, request: &Request) -> bool {
        is_without_cpu(&self.environment, &self.population.with(&self.environment, request))
    }

    /// The table for a decision about `request`: the same, or with all channels in order, or why they
    /// cannot be; `None` if `request` is through.
    pub(super) fn in_order(&self, request: &Request) -> Result<Option<Cow<'_, Self>>, AdmissionRefusal> {
        let is_free = self.is_without_cpu(request);
        if is_free && request.role() == Role::Receive {
            return Ok(None);
        }
        if is_free || self.through.is_empty() {
            return Ok(Some(Cow::Borrowed(self)));
        }
        let mut ordered = Self { through: Vec::new(), ..self.clone() };
        for (id, request) in &self.through {
            ordered.next_id = id.0;
            if let Decision::Refused(refusal) = ordered.put_in_order(*request, 0) {
                return Err(AdmissionRefusal { claimant: Claimant::Channel(*id), ..refusal });
            }
        }
        ordered.next_id = self.next_id;
        Ok(Some(Cow::Owned(ordered)))
    }

    /// Admits a channel that is through.
    pub(super) fn let_through(&mut self, request: Request) -> Decision {
        if let Err(impossible) = buffers::check(&self.environment, &request) {
            return Decision::Refused(refused(impossible));
        }
        let id = AdmissionId(self.next_id);
        self.next_id += 1;
        self.through.push((id, request));
        Decision::Admitted { id, priority: 0, bound: Span::ZERO }
    }

    /// The place of a channel among those that are through.
    pub(super) fn place_through(&self, id: AdmissionId) -> Option<usize> {
        self.through.iter().position(|(other, _)| *other == id)
    }

    /// The bounds of the channels that are through.
    pub(super) fn bounds_through(&self) -> impl Iterator<Item = Bound> {
        let bound = |(id, request): &(AdmissionId, Request)| {
            let channel = Channel { id: *id, request: *request, at_deadline: 0 };
            let level = self.environment.levels.map(|levels| request.level().unwrap_or(levels - 1));
            let parts = Parts { wait: 0, service: 0, others: 0, above: 0 };
            channel.bound((0, level), Worst::at_once(0), parts)
        };
        self.through.iter().map(bound)
    }
}
