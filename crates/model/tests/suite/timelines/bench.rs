//! A host alone, with an adapter that takes so long for each packet, one after the other.

use std::collections::VecDeque;

use laxity_model::host::{Applications, Busy, Endless, Host, Interrupt, Output, Uses};
use laxity_model::told::Told;
use laxity_qos::channel::{
    Block, ChannelConfig, ChannelId, Computed, Config, CoreId, LinkConfig, LinkParadigm, Order, Oversize,
    Packet, Preemption, Processing, Thread,
};
use laxity_qos::costs::{HostCosts, LinkCosts};
use laxity_qos::discipline::EarlyPolicy;
use laxity_qos::traffic::TrafficSpec;
use laxity_units::{Bytes, Span, Time};

/// Switching to a thread takes 3 us in all.
pub(crate) const COSTS: HostCosts = HostCosts {
    context_switch: Span::from_us(1),
    cache_miss: Span::from_us(2),
    first_packet: Span::from_us(40),
    single_packet: Span::from_us(40),
    packet: Span::from_us(20),
    link_scheduling: Span::from_us(10),
    hand_over: Span::from_us(7),
    interrupt: Span::from_us(5),
    poll: Span::ZERO,
    response: Span::ZERO,
    timer: Span::ZERO,
    ipi: Span::ZERO,
    thread_creation: Span::from_us(100),
    receive_packet: Span::from_us(30),
    receive_message: Span::from_us(8),
    send_call: Span::from_us(15),
    send_byte: Span::ZERO,
    receive_byte: Span::ZERO,
    transfer_byte: Span::ZERO,
    real_time_packet: Span::ZERO,
};

/// `S`.
pub(crate) const PACKET: Bytes = Bytes::new(1000);

/// The adapter's time for a packet unless a test says otherwise.
pub(crate) const LINK: Span = Span::from_us(50);

pub(crate) fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Blocks of two packets, one packet at the adapter, early work held.
pub(crate) fn config(paradigm: LinkParadigm) -> Config {
    let block = Block::Packets(2);
    Config {
        cores: 1,
        processing: Processing::PerChannel,
        order: Order::MultiClassEdf,
        early: EarlyPolicy::HOLD,
        preemption: Preemption { real_time: block, early: block, best_effort: block, immediate: false },
        link: LinkConfig {
            core: CoreId::FIRST,
            paradigm,
            order: Order::MultiClassEdf,
            early: EarlyPolicy::HOLD,
            depth: 1,
            launch: None,
            speed: LinkCosts::default(),
            frame: Span::ZERO,
        },
        packet: PACKET,
        enforcement: true,
        oversize: Oversize::Intervals,
    }
}

/// Messages of up to eight packets every 10 ms, with a deadline.
pub(crate) fn real_time(deadline_us: u64) -> ChannelConfig {
    let spec = TrafficSpec {
        max_message: PACKET * 8,
        min_message: Bytes::new(1),
        burst: 4,
        min_interval: Span::from_ms(10),
    };
    ChannelConfig::real_time(spec, Span::from_us(deadline_us), PACKET)
}

/// Messages of up to eight packets, eight of them queued.
pub(crate) fn best_effort() -> ChannelConfig {
    let channel = ChannelConfig::best_effort(PACKET * 8, 8, PACKET);
    ChannelConfig { spec: TrafficSpec { min_message: Bytes::new(1), ..channel.spec }, ..channel }
}

/// An input to the host.
#[derive(Clone, Copy)]
pub(crate) enum Input {
    /// The application of a channel has a message of that many packets.
    Offer(u32, u64),
    /// From now on it always has a message of one packet; with that many outstanding at most.
    Endless(u32, Option<u32>),
    /// Something interrupts.
    Interrupt(Interrupt),
}

pub(crate) use Input::Offer;

pub(crate) struct Bench {
    pub(crate) host: Told<Host, Output>,
    link: Span,
    /// At the adapter, and when each is done.
    flying: VecDeque<(Time, Packet)>,
    /// All that the host handed over.
    pub(crate) sent: Vec<Packet>,
}

impl Bench {
    pub(crate) fn new(config: Config, applications: Applications, channels: &[ChannelConfig]) -> Self {
        Self::with_link(config, applications, channels, LINK)
    }

    pub(crate) fn with_link(
        config: Config,
        applications: Applications,
        channels: &[ChannelConfig],
        link: Span,
    ) -> Self {
        Self::with_costs(COSTS, config, applications, channels, link)
    }

    pub(crate) fn with_costs(
        costs: HostCosts,
        config: Config,
        applications: Applications,
        channels: &[ChannelConfig],
        link: Span,
    ) -> Self {
        let mut host = Told::new(Host::new(costs, config, applications));
        host.record();
        for channel in channels {
            host.open(*channel);
        }
        Self { host, link, flying: VecDeque::new(), sent: Vec::new() }
    }

    /// Runs until no event is left; returns the activities with their start and end, and the
    /// outputs.
    pub(crate) fn run(&mut self, inputs: Vec<(u64, Input)>) -> Vec<String> {
        self.run_until(u64::MAX / 1_000_000, inputs)
    }

    /// The same, until an instant.
    pub(crate) fn run_until(&mut self, until: u64, inputs: Vec<(u64, Input)>) -> Vec<String> {
        let mut inputs = inputs.into_iter().peekable();
        let mut log = Vec::new();
        loop {
            let input = inputs.peek().map(|(us, _)| at(*us));
            let done = self.flying.front().map(|(done, _)| *done);
            let next = [input, done, self.host.next_deadline()].into_iter().flatten().min();
            let Some(now) = next.filter(|now| *now <= at(until)) else { break };
            if done == Some(now) {
                let (_, packet) = self.flying.pop_front().expect("it was looked at");
                self.host.interrupt(now, Interrupt::Transmitted(packet));
            } else if self.host.next_deadline() == Some(now) {
                self.host.timer(now);
            } else {
                let (_, input) = inputs.next().expect("it was peeked");
                self.apply(now, input);
            }
            while let Some(output) = self.host.poll_output() {
                log.push(self.word(now, &output));
            }
            let there = |uses: &Uses| uses.total() <= now.since(Time::ZERO);
            assert!(self.host.uses().iter().all(there), "busy for longer than it was there");
        }
        log
    }

    fn apply(&mut self, now: Time, input: Input) {
        match input {
            Offer(channel, packets) => self.host.offer(now, ChannelId(channel), PACKET * packets),
            Input::Endless(channel, most) => {
                let sizes = laxity_model::source::Sizes::Fixed(PACKET);
                let random = laxity_engine::Seed::new(0).stream("endless");
                self.host.send_without_end(now, ChannelId(channel), Endless::new(sizes, random, most));
            }
            Input::Interrupt(interrupt) => self.host.interrupt(now, interrupt),
        }
    }

    fn word(&mut self, now: Time, output: &Output) -> String {
        let us = |at: Time| at.since(Time::ZERO).as_ps() / 1_000_000;
        match *output {
            Output::Read(..) | Output::Copies(_) => unreachable!("the driver has heard it"),
            Output::Transmit(_, packet) => {
                let begins = self.flying.back().map_or(now, |(done, _)| now.max(*done));
                self.flying.push_back((begins + self.link, packet));
                self.sent.push(packet);
                let Packet { channel, message, index, .. } = packet;
                format!("{} sent {}.{message}.{index}", us(now), channel.0)
            }
            Output::Proceed(_, packet) => {
                format!("{} proceed {}.{}", us(now), packet.channel.0, packet.message)
            }
            Output::Answered { channel, answer, .. } => format!("{} {answer:?} {}", us(now), channel.0),
            Output::Delivered(ref delivery) => {
                format!("{} delivered {}.{}", us(now), delivery.channel.0, delivery.message)
            }
            Output::Lost { channel, message } => format!("{} lost {}.{message}", us(now), channel.0),
            Output::Computed(Computed { application, from, due }) => {
                format!("{} computed {application}: {}-{}", us(now), us(from), us(due))
            }
            Output::Busy(Busy { core, thread, used, began, ended, .. }) => {
                let who = match thread {
                    None => "interrupt".into(),
                    Some(Thread::Handler(n)) => format!("handler {n}"),
                    Some(Thread::Proxy(n)) => format!("proxy {n}"),
                    Some(Thread::LinkScheduler) => "link".into(),
                    Some(Thread::LinkThread(n)) => format!("link thread {n}"),
                    Some(Thread::Application(channel)) => format!("application {}", channel.0),
                    Some(Thread::Computing(n)) => format!("computing {n}"),
                    Some(Thread::Reader(channel)) => format!("program {}", channel.0),
                };
                let core = if core == CoreId::FIRST { String::new() } else { format!("core {}, ", core.0) };
                format!("{}-{} {core}{who}: {}", us(began), us(ended), used.name())
            }
        }
    }
}
