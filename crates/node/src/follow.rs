//! The data path follows the manager, and does what is due.

use laxity_signalling::HeldContract;
use laxity_signalling::identity::{GlobalChannelId, Version};
use laxity_signalling::resources::ReservationId;
use laxity_units::Time;

use crate::faults::NodeFault;
use crate::flow::{Flow, Key};
use crate::node::Node;
use crate::receive::Receiver;
use crate::timers::Due;

impl Node {
    /// The data path has a flow for each contract that the manager holds, and no other. Only the
    /// channels that changed are looked at.
    pub(crate) fn follow(&mut self, now: Time) {
        let mut used = Vec::new();
        while let Some(channel) = self.manager.poll_changed() {
            if !self.broken(NodeFault::ChangeUnfollowed) {
                self.follow_channel(channel, &mut used);
            }
        }
        let early = self.broken(NodeFault::ReservationFreedEarly);
        for id in std::mem::take(&mut self.manager.resources_mut().ended) {
            let [used, queued] = used.iter().find(|(ended, _)| *ended == id).map_or([None; 2], |(_, at)| *at);
            let used = used.filter(|_| !early).unwrap_or(now);
            let queued = queued.filter(|_| !self.broken(NodeFault::MemoryFreedEarly));
            self.timers.set(&mut None, Some(used), Due::Free(id));
            self.timers.set(&mut None, Some(queued.unwrap_or(now)), Due::Memory(id));
            self.retained += 1;
        }
        self.run_due(now);
    }

    /// Follows one channel. `used` takes until when a flow without a contract uses link time and
    /// has packets in the queue.
    fn follow_channel(
        &mut self,
        channel: GlobalChannelId,
        used: &mut Vec<(ReservationId, [Option<Time>; 2])>,
    ) {
        let held: Vec<HeldContract> = self.manager.held_of(channel).collect();
        let all = (channel, Version(0))..=(channel, Version(u32::MAX));
        let over = |(key, flow): (&Key, &Flow)| {
            let same = |held: &HeldContract| held.version == key.1 && held.reservation == flow.reservation;
            (!held.iter().any(same)).then_some(*key)
        };
        for key in self.flows.range(all.clone()).filter_map(over).collect::<Vec<_>>() {
            let Some(flow) = self.flows.get_mut(&key) else { continue };
            self.timers.set(&mut flow.armed, None, Due::Partial(key));
            used.push((flow.reservation, [flow.used_until(), flow.queued_until()]));
            if !self.broken(NodeFault::FlowKept) {
                self.flows.remove(&key);
            }
        }
        let perfect = self.broken(NodeFault::DriftIgnored);
        for held in held {
            let key = (channel, held.version);
            match self.flows.get_mut(&key) {
                Some(flow) if flow.deadline.is_some() == held.deadline.is_some() => {}
                Some(flow) if held.place.to.is_some() => {
                    flow.deadline = held.deadline;
                    flow.total = held.total.unwrap_or_default();
                    flow.rest = held.rest.unwrap_or_default();
                }
                _ => {
                    if let Some(flow) = Flow::new(&held, &self.config, perfect) {
                        self.flows.insert(key, flow);
                    }
                }
            }
            if held.place.to.is_none() && held.deadline.is_some() {
                let receiver =
                    self.receivers.entry(channel).or_insert_with(|| Receiver::new(held.place.port));
                receiver.resize(held.version, &held.contract);
            }
        }
        if self.flows.range(all).next().is_none()
            && let Some(mut receiver) = self.receivers.remove(&channel)
        {
            self.timers.set(&mut receiver.armed, None, Due::Deliver(channel));
        }
    }

    /// Whether the data path has a flow for each contract that the manager holds, and no other; for
    /// simulations, since every contract is looked at.
    pub fn follows(&self) -> bool {
        let held = self.manager.held().filter(|held| Flow::new(held, &self.config, false).is_some());
        let mut count = 0;
        let each = held.inspect(|_| count += 1).all(|held| {
            self.flows.get(&(held.channel, held.version)).is_some_and(|flow| {
                let total = held.place.from.is_some() || flow.total == held.total.unwrap_or_default();
                flow.reservation == held.reservation && flow.deadline == held.deadline && total
            })
        });
        each && count == self.flows.len()
    }

    /// Does what is due at `now` in the data path.
    pub(crate) fn run_due(&mut self, now: Time) {
        if self.broken(NodeFault::TimerUnheeded) {
            return;
        }
        while let Some(due) = self.timers.take(now) {
            match due {
                Due::Partial(key) => {
                    let Some(flow) = self.flows.get_mut(&key) else { continue };
                    flow.armed = None;
                    let Some(reassembly) = &mut flow.reassembly else { continue };
                    reassembly.handle_timeout(now);
                    self.timers.set(&mut flow.armed, reassembly.poll_timeout(), Due::Partial(key));
                }
                Due::Deliver(channel) => {
                    if let Some(receiver) = self.receivers.get_mut(&channel) {
                        receiver.armed = None;
                    }
                    self.deliver(now, channel);
                }
                Due::Free(_) if self.broken(NodeFault::ReservationKept) => {}
                Due::Free(id) => {
                    self.retained -= 1;
                    self.manager.resources_mut().free(id);
                }
                Due::Memory(_) if self.broken(NodeFault::MemoryKept) => {}
                Due::Memory(id) => self.manager.resources_mut().free_memory(id),
            }
        }
    }
}
