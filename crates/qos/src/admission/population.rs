//! Who shares the host, as far as others have to know: the longest and the shortest that may come.

use laxity_units::{Bytes, Span};

use super::environment::Environment;
use super::terms::ps;
use crate::channel::Block;
use crate::fragment::Fragmentation;
use crate::traffic::TrafficSpec;

/// Extremes over the admitted channels, the newcomer and the declared best effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Population {
    /// Largest message of any kind.
    pub(super) largest_message: Bytes,
    /// Largest packet of any kind.
    pub(super) largest_packet: Bytes,
    /// Largest packet of a real-time channel.
    pub(super) largest_real_time: Bytes,
    /// Smallest packet of any kind.
    pub(super) smallest_packet: Bytes,
    /// Longest protocol work between two preemption points of any handler, thread creation included,
    /// switches excluded.
    pub(super) block: u128,
    /// A best-effort handler may never yield.
    pub(super) never_yields: bool,
}

impl Population {
    /// The best effort alone.
    pub(super) fn of_best_effort(environment: &Environment) -> Self {
        let mut all = Self {
            largest_message: Bytes::ZERO,
            largest_packet: Bytes::ZERO,
            largest_real_time: Bytes::ZERO,
            smallest_packet: environment.packet,
            block: 0,
            never_yields: false,
        };
        for class in &environment.best_effort {
            let spec = TrafficSpec {
                max_message: class.max_message,
                min_message: class.min_message,
                burst: 1,
                min_interval: Span::from_ps(1),
            };
            all.never_yields |= environment.block_best_effort == Block::Never;
            all.add(environment, &spec, environment.block_best_effort);
        }
        all
    }

    /// This and a real-time channel of `spec`.
    pub(super) fn with(mut self, environment: &Environment, spec: &TrafficSpec) -> Self {
        self.add(environment, spec, environment.block_real_time);
        self.largest_real_time = self.largest_real_time.max(spec.max_message.min(environment.packet));
        self
    }

    fn add(&mut self, environment: &Environment, spec: &TrafficSpec, block: Block) {
        self.largest_message = self.largest_message.max(spec.max_message);
        self.largest_packet = self.largest_packet.max(spec.max_message.min(environment.packet));
        self.smallest_packet = self.smallest_packet.min(spec.smallest_packet(environment.packet));
        let packets = Fragmentation::new(spec.max_message, environment.packet).packets();
        let messages = if block == Block::Never { u128::from(spec.burst) } else { 1 };
        let in_block = packets_per_block(block, packets);
        let first = protocol(environment, in_block);
        // Only where a further packet costs more than a first one is a later block the longer one.
        let later = if in_block < packets { ps(environment.host.packet) * u128::from(in_block) } else { 0 };
        self.block = self.block.max(first.max(later).saturating_mul(messages).min(u128::from(u64::MAX)));
    }
}

/// How many packets of a message of `packets` are processed before the next preemption point.
pub(super) fn packets_per_block(block: Block, packets: u64) -> u64 {
    match block {
        Block::Packets(p) => u64::from(p).min(packets),
        Block::Message | Block::Never => packets,
    }
}

/// Protocol work of the first `n` packets of a message, thread creation included.
pub(super) fn protocol(environment: &Environment, n: u64) -> u128 {
    let host = &environment.host;
    let creation = if environment.thread_per_message { ps(host.thread_creation) } else { 0 };
    match n {
        0 => 0,
        n => ps(host.first_packet) + creation + ps(host.packet) * u128::from(n - 1),
    }
}
