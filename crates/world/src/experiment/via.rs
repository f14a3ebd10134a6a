//! A cluster of which the adapters have virtual interfaces: each channel is one.

use std::collections::BTreeSet;

use laxity_model::via::{AdapterVi, ViaConfig};
use laxity_qos::discipline::Class;
use laxity_qos::virtual_clock::Vtick;
use laxity_units::{Rate, Span, Time};

use super::{ChannelSpec, Experiment};

/// Another bandwidth for a virtual interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renegotiation {
    /// From when on.
    pub at: Time,
    /// The channel.
    pub channel: usize,
    /// The interval that it has negotiated then, for one message of the largest size.
    pub interval: Span,
}

/// The nodes of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViaSpec {
    /// The configuration of every adapter.
    pub adapter: ViaConfig,
    /// A program's time to post a descriptor and ring its doorbell.
    pub post: Span,
    /// A program's time to see a completion.
    pub reap: Span,
    /// From the first bit out of one adapter to the first bit at another: wires, and a switch that
    /// cuts through.
    pub latency: Span,
    /// Receive descriptors that a program posts for each of its virtual interfaces at the start,
    /// and again when it has taken a message; `None` for always enough, without a doorbell.
    pub receives: Option<u32>,
    /// Messages of a virtual interface that may be sent and not yet taken, by a layer above that
    /// returns credits; `None` without one.
    pub credits: Option<u32>,
    /// The number of descriptors in the send queue of a virtual interface without a bandwidth, of
    /// which the program then waits; `None` for any number.
    pub depth: Option<u32>,
    /// Renegotiations during the run.
    pub renegotiations: Vec<Renegotiation>,
}

impl ViaSpec {
    /// The least inter-arrival time that `channel`, the `i`th, ever has.
    pub fn least_interval(&self, i: usize, channel: &ChannelSpec) -> Span {
        let later = self.renegotiations.iter().filter(|new| new.channel == i).map(|new| new.interval);
        later.fold(channel.spec.min_interval, Span::min)
    }
}

impl Experiment {
    /// The channel `i` as a virtual interface with `receives` receive descriptors posted.
    pub fn vi(&self, i: usize, receives: Option<u32>) -> AdapterVi {
        let channel = &self.channels[i];
        let of_process = |other: &ChannelSpec| channel.process.is_some() && other.process == channel.process;
        // A process is called by its first channel.
        let process = self.channels.iter().position(of_process).unwrap_or(i) as u32;
        AdapterVi { vtick: channel.vtick(), receives, share: channel.group.map(|_| channel.share), process }
    }
}

impl ChannelSpec {
    /// `Vtick` of the channel as a virtual interface; `None` for best effort.
    pub fn vtick(&self) -> Option<Vtick> {
        let reserved = self.class == Class::RealTime;
        reserved.then(|| self.spec.tick())
    }
}

impl Experiment {
    /// The sum of the rates at an adapter of all outermost groups with sending virtual interfaces
    /// there; `None` if there are none.
    pub fn grouped_rate(&self, node: usize) -> Option<Rate> {
        let outermost = |group: usize| {
            let outwards = std::iter::successors(Some(group), |group| self.groups[*group].within);
            outwards.last().unwrap_or(group)
        };
        let here = self.channels.iter().filter(|channel| channel.route.first() == Some(&node));
        let groups: BTreeSet<usize> = here.filter_map(|channel| channel.group).map(outermost).collect();
        let rates = groups.iter().map(|group| self.groups[*group].tick.rate().bits_per_sec());
        let rate = Rate::from_bits_per_sec(rates.fold(0, u64::saturating_add));
        (!groups.is_empty()).then_some(rate)
    }
}
