//! Flow meters of switches (IEEE 802.1Qci, per-stream filtering and policing).
//!
//! A switch with meters has one for each real-time channel that enters it from a host. Its bucket
//! contains what the contract of the channel allows at once, and has a tolerance for the jitter of frames
//! in the host. Frames beyond it are dropped, so that no host takes more of a network than its contracts.

use laxity_qos::discipline::Class;
use laxity_qos::token_bucket::TokenBucket;
use laxity_qos::traffic::TrafficSpec;
use laxity_units::Span;

use super::{ChannelSpec, Experiment};

impl Experiment {
    /// The tolerance of the flow meter that frames of `channel` pass at `hop` of its route; `None` without
    /// a meter.
    pub(crate) fn meter_tolerance(&self, channel: &ChannelSpec, hop: usize) -> Option<Span> {
        let outlet = self.outlet(channel.route[hop])?;
        let from_host = hop.checked_sub(1).is_some_and(|before| channel.route[before] < self.nodes.len());
        self.switches[outlet.switch].policing.filter(|_| from_host && channel.class == Class::RealTime)
    }

    /// That flow meter.
    pub(crate) fn meter(&self, channel: &ChannelSpec, hop: usize) -> Option<TokenBucket> {
        let tolerance = self.meter_tolerance(channel, hop)?;
        let max_message = self.message_on_link(channel.route[hop], channel);
        let spec = TrafficSpec { max_message, min_message: max_message, ..channel.spec };
        Some(TokenBucket::new(&spec, tolerance))
    }
}
