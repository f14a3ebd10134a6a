//! The channels that share the host, as far as others depend on them: the longest and the shortest
//! that may arrive.

use laxity_units::{Bytes, Span};

use super::below::Below;
use super::environment::{Environment, Request};
use super::terms::ps;
use laxity_qos::channel::{Block, Role};
use laxity_qos::traffic::TrafficSpec;

/// Extremes over the admitted channels, the newcomer and the declared best effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Population {
    /// Largest message of any kind.
    pub(super) largest_message: Bytes,
    /// Largest packet of any kind that is transmitted here; `None` if no packet is.
    pub(super) largest_packet: Option<Bytes>,
    /// Largest packet of a real-time channel that is transmitted here; `None` if none is.
    pub(super) largest_real_time: Option<Bytes>,
    /// Smallest packet of any kind that is transmitted here.
    pub(super) smallest_packet: Bytes,
    /// Longest work on one packet of a real-time channel that is transmitted here, switches
    /// excluded.
    pub(super) longest_work: u128,
    /// Longest work between two preemption points of any handler, thread creation included, or
    /// application that computes, switches excluded.
    pub(super) block: u128,
    /// The same of one packet of any handler: from there to when it asks whether the link is free,
    /// where handlers do.
    pub(super) step: u128,
    /// The longest block of work without calls: of an application that computes, or a program that
    /// takes messages.
    pub(super) silent: u128,
    /// A best-effort handler may never yield.
    pub(super) never_yields: bool,
    /// Blocks and packets that a level may find in progress; `None` where that is any of them.
    pub(super) below: Option<Below>,
}

impl Population {
    /// The best effort alone.
    pub(super) fn of_best_effort(environment: &Environment) -> Self {
        let mut all = Self {
            largest_message: Bytes::ZERO,
            largest_packet: None,
            largest_real_time: None,
            smallest_packet: environment.packet,
            longest_work: 0,
            block: ps(environment.slice),
            step: 0,
            silent: ps(environment.slice),
            never_yields: false,
            below: None,
        };
        for class in &environment.best_effort {
            let spec = TrafficSpec {
                max_message: class.max_message,
                min_message: class.min_message,
                burst: 1,
                min_interval: Span::from_ps(1),
            };
            let block = environment.block_best_effort;
            all.never_yields |= block == Block::Never;
            all.add(environment, &spec, class.role != Role::Receive && !class.elsewhere);
            // A block of received packets goes on past the end of a message if more have arrived.
            let packets = spec.fragmentation(environment.packet).packets();
            all.add_block(environment, class.role, block, packets, Completions::Each);
            all.add_silent(ps(class.program));
        }
        all
    }

    /// This and a real-time channel, or an application with a budget.
    pub(super) fn with(mut self, environment: &Environment, request: &Request) -> Self {
        if let Some(work) = request.work() {
            self.add_silent(ps(work.slice.min(work.time)));
            return self;
        }
        let (spec, role) = (request.spec(), request.role());
        self.add(environment, spec, request.is_sent());
        let packets = spec.fragmentation(environment.packet).packets();
        self.add_block(environment, role, environment.block_real_time, packets, Completions::One);
        self.add_silent(request.program().map_or(0, |program| ps(program.work)));
        if request.is_sent() {
            let packet = spec.largest_packet(environment.packet);
            self.largest_real_time = self.largest_real_time.max(Some(packet));
            let further = if packets > 1 { ps(environment.host.packet) } else { 0 };
            let first = protocol(environment, role, (1, packets));
            let work = match role {
                Role::Send => first.max(further),
                Role::Relay | Role::Receive => first,
            };
            self.longest_work = self.longest_work.max(work);
        }
        self
    }

    /// The switch to the block that a message waits for, and that block; zero without such a block.
    pub(super) fn lower_block(&self, environment: &Environment) -> (u128, u128) {
        match self.below {
            Some(Below { block: None, .. }) => (0, 0),
            Some(Below { block: Some(block), .. }) => (ps(environment.host.switch()), block),
            None => (ps(environment.host.switch()), self.block),
        }
    }

    /// The largest packet that a message finds with the adapter; `None` without one.
    pub(super) fn with_adapter(&self) -> Option<Bytes> {
        self.below.map_or(self.largest_packet, |below| below.packet)
    }

    /// Every figure as a number, to be compared for equality.
    fn extremes(&self) -> [u128; 8] {
        let Self {
            largest_message,
            largest_packet,
            largest_real_time,
            smallest_packet,
            longest_work,
            block,
            step,
            silent,
            // That of best effort.
            never_yields: _,
            below: _,
        } = *self;
        let bytes = |size: Bytes| u128::from(size.get());
        let sent = |size: Option<Bytes>| size.map_or(0, |size| bytes(size) + 1);
        let (packet, real_time) = (sent(largest_packet), sent(largest_real_time));
        [bytes(largest_message), packet, real_time, bytes(smallest_packet), longest_work, block, step, silent]
    }

    /// Whether `self`, one channel beside `best_effort`, reaches a figure of `all` that best effort
    /// does not reach. The population is `all` without such a channel too.
    pub(super) fn may_decide(&self, all: &Self, best_effort: &Self) -> bool {
        let (own, before) = (self.extremes(), best_effort.extremes());
        let figures = own.into_iter().zip(all.extremes()).zip(before);
        figures.into_iter().any(|((own, of_all), before)| own == of_all && own != before)
    }

    /// Packets, and work with the block in progress, that are assumed ahead of a message: several
    /// of the largest messages. Two ways of counting both hold, and these figures only decide which
    /// is less.
    pub(super) fn ahead(&self, environment: &Environment) -> (u128, u128) {
        const SEVERAL: u128 = 4;
        let packets = u128::from(self.largest_message.div_ceil(environment.packet)) * SEVERAL;
        (packets, self.block + packets * ps(environment.host.packet))
    }

    fn add(&mut self, environment: &Environment, spec: &TrafficSpec, sent: bool) {
        self.largest_message = self.largest_message.max(spec.max_message);
        if sent {
            self.largest_packet = self.largest_packet.max(Some(spec.largest_packet(environment.packet)));
            self.smallest_packet = self.smallest_packet.min(spec.smallest_packet(environment.packet));
        }
    }

    fn add_silent(&mut self, block: u128) {
        self.block = self.block.max(block);
        self.silent = self.silent.max(block);
    }

    fn add_block(
        &mut self,
        environment: &Environment,
        role: Role,
        block: Block,
        packets: u64,
        completions: Completions,
    ) {
        let host = &environment.host;
        let in_block = match (role, completions, block) {
            (Role::Relay | Role::Receive, Completions::Each, Block::Packets(p)) => u64::from(p),
            _ => packets_per_block(block, packets),
        };
        let work = match (role, completions) {
            (Role::Receive, Completions::Each) => {
                (ps(host.receive_packet) + ps(host.receive_message)) * u128::from(in_block)
            }
            (Role::Receive, Completions::One) => {
                ps(host.receive_packet) * u128::from(in_block) + ps(host.receive_message)
            }
            (Role::Relay, _) => protocol(environment, role, (in_block, packets)),
            (Role::Send, _) => {
                // Only where a further packet costs more than a first one is a later block the
                // longer one.
                let later = if in_block < packets { ps(host.packet) * u128::from(in_block) } else { 0 };
                protocol(environment, role, (in_block, packets)).max(later)
            }
        };
        self.block = self.block.max(work.min(u128::from(u64::MAX)));
        let completion = if role == Role::Receive { ps(host.receive_message) } else { 0 };
        let further = if role == Role::Send && packets > 1 { ps(host.packet) } else { 0 };
        let first = protocol(environment, role, (1, packets));
        self.step = self.step.max(first + completion).max(further);
    }
}

/// How many messages may be completed within one block of received packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Completions {
    /// The block ends with the message.
    One,
    /// As many as there are packets.
    Each,
}

/// How many packets of a message of `packets` are processed before the next preemption point.
///
/// A guaranteed handler that never yields ends its block with its message all the same, for the
/// next one is ahead of its time.
pub(super) fn packets_per_block(block: Block, packets: u64) -> u64 {
    match block {
        Block::Packets(p) => u64::from(p).min(packets),
        Block::Message | Block::Never => packets,
    }
}

/// Protocol work on the first `n` packets of a message that has at most `of`, thread creation
/// included, completion excluded.
pub(super) fn protocol(environment: &Environment, role: Role, (n, of): (u64, u64)) -> u128 {
    let host = &environment.host;
    let creation = if environment.thread_per_message { ps(host.thread_creation) } else { 0 };
    match (role, n) {
        (_, 0) => 0,
        (Role::Send, n) => ps(host.first_of(of)) + creation + ps(host.packet) * u128::from(n - 1),
        (Role::Relay | Role::Receive, n) => ps(host.receive_packet) * u128::from(n),
    }
}
