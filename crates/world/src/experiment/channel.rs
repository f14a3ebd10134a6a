//! A channel and its traffic.

use laxity_engine::Stream;
use laxity_model::adapter::Delay;
use laxity_model::host::Endless;
use laxity_model::source::{RecordedParameters, Sizes, Source, SourceParameters, Start};
use laxity_qos::channel::{MessageOverflow, PacketOverflow, Reader};
use laxity_qos::discipline::Class;
use laxity_qos::limits::Limits;
use laxity_qos::traffic::TrafficSpec;
use laxity_qos::virtual_clock::Vtick;
use laxity_units::{Bytes, Span, Time};

use super::{
    AdapterSpec, AskedTimes, Asks, ByContract, Carries, ChannelCores, CopyOf, Experiment, MissesEffect,
    RefusalEffect,
};

/// One channel.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelSpec {
    /// Name, unique; copies are called `name-1`, `name-2` …
    pub name: String,
    /// The stations it passes, the sender first: a node, ports of switches, other nodes; one more
    /// than once if it turns back.
    pub route: Vec<usize>,
    /// The networks over which it goes from each of them to the next.
    pub ways: Vec<usize>,
    /// Whether the last of them receives its messages; else one ends with its last transmission.
    pub received: bool,
    /// The channel of a multicast that it is a copy of, for a further receiver. It has the source of that
    /// channel, which sends once for both.
    pub copy: Option<CopyOf>,
    /// Class of service.
    pub class: Class,
    /// Its contract. For best effort the interval is not used, and the sizes are those of its
    /// source.
    pub spec: TrafficSpec,
    /// Limits of its contract beside the burst and the interval of `spec`. Its source is to keep
    /// them; hosts and meters enforce `spec` only.
    pub limits: Limits,
    /// End-to-end deadline, from the logical arrival at the source to delivery, or to the end of
    /// the last transmission where no host receives; `None` for best effort.
    pub deadline: Option<Span>,
    /// Its requests beside the deadline.
    pub asks: Asks,
    /// The effect on the run if admission refuses it.
    pub refusal: RefusalEffect,
    /// The effect of its missed deadlines; `None` for what the experiment says.
    pub misses: Option<MissesEffect>,
    /// Its rate where resources are shared by rates: that of its contract, or what best effort is
    /// to have; [`Vtick::NONE`] for what is left.
    pub share: Vtick,
    /// The place of the group with which it shares a rate.
    pub group: Option<usize>,
    /// The process that has the virtual interface, by a name that several channels may share;
    /// `None` for a process of its own.
    pub process: Option<String>,
    /// Level under fixed priority, 0 the most urgent; `None` leaves it to admission.
    pub level: Option<u8>,
    /// Message queue slots; at least 1.
    pub message_slots: u32,
    /// Packet buffers; at least 1.
    pub packet_slots: u64,
    /// The numbers that follow from its contract, as its file does not set them.
    pub by_contract: ByContract,
    /// When the message queue is full.
    pub message_overflow: MessageOverflow,
    /// When the packet buffers are full.
    pub packet_overflow: PacketOverflow,
    /// The program that takes its messages where it ends, at the CPU's own speed of 1; `None` if
    /// they are delivered when they are whole.
    pub reader: Option<Reader>,
    /// Its cores, where hosts have several.
    pub cores: ChannelCores,
    /// The traffic of its sender's port that it carries in an emulation, in place of its source.
    pub carries: Option<Carries>,
    /// The interface at which it arrives, of those of the receiver at its last node; `None` for a
    /// channel that ends at none.
    pub interface: Option<usize>,
    /// The importance of its messages in turn, where an interface discards by it; empty for 0.
    pub importance: Vec<u8>,
    /// The program that takes its messages, of those of that receiver; 0 for a channel that ends at
    /// no interface.
    pub program: usize,
    /// The number of independent sources; 1 unless it is a virtual interface.
    pub streams: u32,
    /// A message is with its program no sooner than so long after it was sent, as a virtual
    /// interface may have it; `None` for at once.
    pub playout: Option<Span>,
    /// When it is asked for, where nodes with signalling admit it.
    pub asked: AskedTimes,
    /// Its owner among those with a quota; `None` for one without.
    pub owner: Option<usize>,
    /// Whether a file gives its route, so that nodes do not look for another.
    pub routed: bool,
    /// How far each of them starts further into its trace than the one before.
    pub stagger: Span,
    /// Its source.
    pub source: SourceSpec,
}

/// Why an endless source would send for ever at one instant: no part of the system slows it down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForEver {
    /// Its handler never waits for a buffer.
    Decays,
    /// It drops messages, and making a packet of them takes no time.
    Drops,
    /// Neither its host nor its adapter take any time.
    Free,
    /// Its host takes no time, and its adapter loses packets as it fetches them.
    Loses,
}

impl Experiment {
    /// Whether `channel` would send for ever at one instant if its source had no end.
    pub fn sends_for_ever(&self, channel: &ChannelSpec) -> Option<ForEver> {
        let sender = channel.route[0];
        let host = self.host(sender);
        let single = channel.source.largest_untimed().is_some_and(|most| most <= host.subsystem.packet);
        let free = if single { host.costs.single_packet } else { host.costs.first_packet }.is_zero();
        let adapter = self.adapter_of(sender, self.link_out(channel, 0));
        match (channel.packet_overflow, adapter) {
            (PacketOverflow::DecayDeadline, _) => Some(ForEver::Decays),
            (PacketOverflow::Drop, _) if free => Some(ForEver::Drops),
            (PacketOverflow::Block, AdapterSpec::Null(link))
                if free && link.transmit(channel.spec.max_message).is_zero() =>
            {
                Some(ForEver::Free)
            }
            (PacketOverflow::Block, AdapterSpec::Described(described))
                if free
                    && host.costs.hands_on_at_once(host.subsystem.link.paradigm)
                    && described.loses_at_once() =>
            {
                Some(ForEver::Loses)
            }
            (PacketOverflow::Drop | PacketOverflow::Block, _) => None,
        }
    }
}

impl ChannelSpec {
    /// Whether its host may send messages beyond its contract as best effort.
    pub fn sends_excess(&self) -> bool {
        self.class == Class::RealTime && self.message_overflow == MessageOverflow::BestEffort
    }

    /// The importance of its message of that number.
    #[inline]
    pub fn importance_of(&self, message: u64) -> u8 {
        match &self.importance[..] {
            [] => 0,
            turns => turns[(message % turns.len() as u64) as usize],
        }
    }

    /// The stations that send what it carries: all of its route but one that receives.
    pub fn senders(&self) -> &[usize] {
        &self.route[..self.route.len() - usize::from(self.received)]
    }

    /// The traffic of its source `stream` of several.
    pub fn source_of_stream(&self, stream: u32) -> SourceSpec {
        let mut spec = self.source.clone();
        if let SourceSpec::Timed { parameters: SourceParameters::Recorded(recorded), .. } = &mut spec
            && !self.stagger.is_zero()
        {
            let more = self.stagger.saturating_mul(u64::from(stream));
            recorded.from = match recorded.from {
                Start::After(first) => Start::After(first.saturating_add(more)),
                Start::Cut { within, further } => {
                    Start::Cut { within, further: further.saturating_add(more) }
                }
                Start::Frame(_) | Start::Random => Start::After(more),
            };
        }
        spec
    }

    /// The program that takes its messages at a host that is `speedup` times as fast.
    pub fn reader_at(&self, speedup: f64) -> Option<Reader> {
        let faster = |span: Span| Delay::fixed(span).divided(speedup).fixed;
        let reader = self.reader?;
        Some(Reader { work: faster(reader.work), per_byte: faster(reader.per_byte), ..reader })
    }
}

/// The traffic of a channel's application.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceSpec {
    /// No traffic.
    None,
    /// Keeps the message queue full: whenever a slot is free, a message of such a size.
    Continuous(Sizes),
    /// A number of messages of a size under way: whenever one is transmitted, or lost, the next is
    /// sent.
    Closed {
        /// Their sizes.
        sizes: Sizes,
        /// How many; at least 1, at most the message queue's slots.
        outstanding: u32,
    },
    /// Rounds of messages of a size, each sent at once when a round of another channel has arrived:
    /// ping-pong, ping-bulk, or answers. A guaranteed channel of a host sends each message as soon as the
    /// message conforms to its contract. Of channels that answer each other in a circle, the first in the
    /// file begins.
    Rounds {
        /// Their sizes.
        sizes: Sizes,
        /// Messages of a round; at least 1.
        window: u32,
        /// The other channel. It ends where this one begins.
        after: usize,
    },
    /// Messages at times of the source's own.
    Timed {
        /// The source.
        parameters: SourceParameters,
        /// Its start is later than the parameters say by a random time below this; zero draws no
        /// number.
        jitter: Span,
    },
}

impl SourceSpec {
    /// Whether there is always another message, sent when the host has room or has done with one
    /// before.
    pub fn is_endless(&self) -> bool {
        matches!(self, SourceSpec::Continuous(_) | SourceSpec::Closed { .. })
    }

    /// Whether its messages wait for others, and have no times of their own.
    pub fn is_untimed(&self) -> bool {
        self.is_endless() || self.is_answer()
    }

    /// Whether its messages answer others.
    pub fn is_answer(&self) -> bool {
        matches!(self, SourceSpec::Rounds { .. })
    }

    /// The largest of its messages, if they are endless or answers.
    pub fn largest_untimed(&self) -> Option<Bytes> {
        match self {
            SourceSpec::Continuous(sizes)
            | SourceSpec::Closed { sizes, .. }
            | SourceSpec::Rounds { sizes, .. } => Some(most(*sizes)),
            SourceSpec::None | SourceSpec::Timed { .. } => None,
        }
    }

    /// The endless messages, of sizes drawn from `random`; `None` for sources with times of their
    /// own, or without messages.
    pub fn endless(&self, random: Stream) -> Option<Endless> {
        match *self {
            SourceSpec::Continuous(sizes) => Some(Endless::new(sizes, random, None)),
            SourceSpec::Closed { sizes, outstanding } => Some(Endless::new(sizes, random, Some(outstanding))),
            // The world sends rounds itself.
            SourceSpec::Rounds { .. } | SourceSpec::None | SourceSpec::Timed { .. } => None,
        }
    }

    /// The trace that it sends, if it sends one.
    pub fn recorded(&self) -> Option<&RecordedParameters> {
        let SourceSpec::Timed { parameters: SourceParameters::Recorded(recorded), .. } = self else {
            return None;
        };
        Some(recorded)
    }

    pub(super) fn recorded_mut(&mut self) -> Option<&mut RecordedParameters> {
        let SourceSpec::Timed { parameters: SourceParameters::Recorded(recorded), .. } = self else {
            return None;
        };
        Some(recorded)
    }

    /// The source at its start, which draws what is left to chance from `random`; `None` for those
    /// without times of their own.
    pub fn source(&self, random: Stream) -> Option<Source> {
        self.source_from(Span::ZERO, random)
    }

    /// The same, all of it later by `at`.
    pub fn source_from(&self, at: Span, mut random: Stream) -> Option<Source> {
        let SourceSpec::Timed { parameters, jitter } = self else { return None };
        let mut parameters = parameters.clone();
        if !at.is_zero() {
            let start = start(&mut parameters);
            *start = start.saturating_add(at);
        }
        if !jitter.is_zero() {
            let late = Span::from_ps(random.below(jitter.as_ps()));
            let start = start(&mut parameters);
            *start = start.saturating_add(late);
        }
        Some(Source::new(parameters, random).expect("a scenario's sources are checked when it is read"))
    }
}

impl ChannelSpec {
    /// The smallest message that a virtual interface carries for this channel, in bytes.
    ///
    /// That is the smallest message of the contract. A message larger than the contract allows goes
    /// in pieces, and the last piece may have one byte; so the result is one byte for a source that
    /// may send such messages.
    pub fn smallest_piece(&self) -> Bytes {
        let TrafficSpec { max_message, min_message, .. } = self.spec;
        let largest = match &self.source {
            SourceSpec::None => Some(max_message),
            SourceSpec::Timed { parameters, .. } => match parameters {
                SourceParameters::Periodic(periodic) => Some(most(periodic.sizes)),
                SourceParameters::Bursty(bursty) => Some(most(bursty.sizes)),
                SourceParameters::Poisson(poisson) => Some(most(poisson.sizes)),
                SourceParameters::Script(script) => {
                    script.messages.iter().map(|message| message.size).max().or(Some(min_message))
                }
                SourceParameters::Adversary(_) | SourceParameters::Recorded(_) => None,
            },
            endless => endless.largest_untimed(),
        };
        if largest.is_some_and(|largest| largest <= max_message) { min_message } else { Bytes::new(1) }
    }
}

/// The largest of `sizes`.
///
/// Inlined into a test of the kind of source, rustc 1.95 reads the sizes before it knows that there
/// are some, beyond the end of the source (a crash of an attack's test).
#[inline(never)]
fn most(sizes: Sizes) -> Bytes {
    match sizes {
        Sizes::Fixed(size) => size,
        Sizes::Uniform { most, .. } => most,
    }
}

/// When the source starts.
fn start(parameters: &mut SourceParameters) -> &mut Time {
    match parameters {
        SourceParameters::Periodic(p) => &mut p.start,
        SourceParameters::Bursty(p) => &mut p.start,
        SourceParameters::Poisson(p) => &mut p.start,
        SourceParameters::Adversary(p) => &mut p.start,
        SourceParameters::Recorded(p) => &mut p.start,
        SourceParameters::Script(p) => &mut p.start,
    }
}
