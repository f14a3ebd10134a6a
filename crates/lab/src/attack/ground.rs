//! The ground of a search: the experiment without its own traffic, and the channels that may send.

use laxity_model::host::Applications;
use laxity_qos::channel::{Block, Order};
use laxity_qos::discipline::Class;
use laxity_qos::limits::Limits;
use laxity_qos::traffic::{LogicalClock, TrafficSpec};
use laxity_units::{Bytes, Span, Time};
use laxity_world::Steps;
use laxity_world::experiment::{ChannelSpec, ClockKind, Experiment, RunLength, SourceSpec, Task};
use laxity_world::kept_limits;
use laxity_world::results::{Channel, Run};
use serde::{Deserialize, Serialize};

use super::scene::{Play, Scene, conforms};
use super::sight::Sight;

/// Longest lead before the critical instant: whatever is set up there takes no longer, and every
/// run pays for it.
const LONGEST_LEAD: Span = Span::from_ms(200);

/// Packets of a flood at an interface in a run.
const FLOOD: u64 = 4000;

/// A channel, as the search sees it.
#[derive(Debug, Clone)]
pub(super) struct Player {
    pub(super) name: String,
    /// Its contract; of best effort only the sizes count.
    pub(super) spec: TrafficSpec,
    /// Its further limits.
    pub(super) limits: Limits,
    pub(super) real_time: bool,
    /// Whether it may send at all: not if admission refused it.
    pub(super) sends: bool,
    /// Admission refused it.
    pub(super) refused: bool,
    /// The channel's bound.
    pub(super) bound: Option<Span>,
    /// By what deadline EDF orders it.
    pub(super) local: Span,
    /// The stations that send it, and after what time a packet is at each if it waits nowhere.
    pub(super) reach: Vec<(usize, Span)>,
    /// Bytes of a full block of its handler.
    pub(super) block: Bytes,
    /// The window of its rounds and the channel that they respond to, if every scene keeps them.
    pub(super) rounds: Option<(u32, usize)>,
}

/// `experiment` with its contracts as its bounds take them.
///
/// The bounds of virtual interfaces count the pieces of messages that are larger than a contract
/// allows. A scene has no such messages, and its contract has to allow the same pieces, so that its
/// bounds are the same.
///
/// Bounds use those limits that the source keeps. A scene has another source, so the other limits go.
pub(super) fn as_counted(mut experiment: Experiment) -> Experiment {
    for channel in &mut experiment.channels {
        channel.limits = Limits::new(&kept_limits(channel).collect::<Vec<_>>()).unwrap_or_default();
    }
    if experiment.virtual_interfaces().is_some() {
        for channel in &mut experiment.channels {
            channel.spec.min_message = channel.smallest_piece();
        }
    }
    experiment
}

/// The window of the rounds of `channel` and the channel that they answer, if a scene must keep
/// them.
///
/// A program that answers what it receives is one server for both channels, and a bound of either
/// counts that server. Programs of scripts are two servers, so the bound would be another.
fn rounds(experiment: &Experiment, channel: &ChannelSpec) -> Option<(u32, usize)> {
    experiment.virtual_interfaces()?;
    let SourceSpec::Rounds { window, after, .. } = channel.source else { return None };
    let real_time = |channel: &ChannelSpec| channel.class == Class::RealTime;
    (real_time(channel) || real_time(&experiment.channels[after])).then_some((window, after))
}

/// The stations that send `channel`, and after what time a packet is at each if it waits nowhere. The time of
/// the CPU does not count.
fn reach(experiment: &Experiment, channel: &ChannelSpec) -> Vec<(usize, Span)> {
    let packet = channel.spec.largest_packet(experiment.packet());
    let next = |after: &mut Span, (hop, &station): (usize, &usize)| {
        let at = *after;
        if hop + 1 < channel.route.len() {
            let link = experiment.link(station, experiment.link_out(channel, hop)).unwrap_or_default();
            let way = link.transmit(packet).saturating_add(experiment.longest_way(channel, hop));
            *after = after.saturating_add(way);
        }
        Some((station, at))
    };
    channel.senders().iter().enumerate().scan(Span::ZERO, next).collect()
}

/// A time with a bound that is searched for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// The end-to-end delay of a channel.
    #[default]
    Delivery,
    /// The delay to the end of the last transmission, of a channel without a bound to delivery.
    Sent,
    /// The exchange that ends with a message of the channel.
    Exchange,
}

impl Goal {
    /// The bound of `channel`.
    pub(super) fn bound(self, channel: &Channel) -> Option<Span> {
        let bound = match self {
            Goal::Delivery => channel.delivery_bound,
            Goal::Sent => channel.bound,
            Goal::Exchange => channel.response_bound,
        };
        bound.and_then(Span::from_secs_f64)
    }

    /// The worst that was seen of `channel`.
    pub(super) fn worst(self, channel: &Channel) -> Option<Span> {
        let seen = match self {
            Goal::Delivery => channel.delivery_worst.or(channel.worst),
            Goal::Sent => channel.worst,
            Goal::Exchange => channel.response_worst,
        };
        seen.and_then(Span::from_secs_f64)
    }
}

/// A goal of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) channel: usize,
    pub(super) goal: Goal,
    pub(super) bound: Span,
}

/// The experiment, ready to be played on.
#[derive(Debug, Clone)]
pub(super) struct Ground {
    pub(super) experiment: Experiment,
    pub(super) players: Vec<Player>,
    /// Of each channel the end-to-end delay or else that to its last transmission, if it has a bound;
    /// then the exchanges.
    pub(super) targets: Vec<Target>,
    /// `S`, the largest packet.
    pub(super) packet: Bytes,
    /// Whether deadlines decide the order.
    pub(super) by_deadline: bool,
    /// Whether channels meet at stations behind their first.
    pub(super) meets: bool,
    /// Where openings put the critical instant.
    pub(super) release: Time,
    /// Events after which a scene is given up.
    events: u64,
}

impl Ground {
    /// The ground of `experiment`, given its own run; or why there is no bound to attack.
    pub(super) fn new(experiment: &Experiment, plain: &Run, events: u64) -> Result<Self, &'static str> {
        if let Task::Fill(_) = experiment.task {
            return Err("channels are only counted here, and none of them sends");
        }
        let first = |goals: &'static [Goal]| {
            plain.channels.iter().enumerate().filter_map(move |(channel, ran)| {
                goals.iter().find_map(|goal| Some(Target { channel, goal: *goal, bound: goal.bound(ran)? }))
            })
        };
        let targets: Vec<Target> =
            first(&[Goal::Delivery, Goal::Sent]).chain(first(&[Goal::Exchange])).collect();
        if targets.is_empty() {
            return Err("no channel has a bound that could be exceeded");
        }
        let experiment = as_counted(Experiment { clock: ClockKind::Virtual, ..experiment.clone() });
        let sender = |channel: &ChannelSpec| experiment.host(channel.route[0]);
        if experiment.channels.iter().any(|channel| sender(channel).applications == Applications::Shared) {
            return Err("with shared applications each bound rests on when the sources say they send, and \
                        other times would have other bounds");
        }
        let subsystem = &experiment.host(0).subsystem;
        let by_bound = experiment.admission.orders_by_bounds();
        let player = |(channel, ran): (&ChannelSpec, &laxity_world::results::Channel)| {
            let real_time = channel.class == Class::RealTime;
            let bound = Goal::Sent.bound(ran).or(Goal::Delivery.bound(ran));
            let subsystem = &sender(channel).subsystem;
            // The first host's part of the bound; all hosts have equal parts.
            let hosts = channel.senders().len() as u64;
            let block =
                if real_time { subsystem.preemption.real_time } else { subsystem.preemption.best_effort };
            let packets = match block {
                Block::Packets(n) => u64::from(n),
                Block::Message | Block::Never => u64::MAX,
            };
            let block = subsystem.packet.get().saturating_mul(packets).min(channel.spec.max_message.get());
            Player {
                name: channel.name.clone(),
                spec: channel.spec,
                limits: channel.limits,
                real_time,
                // Bounds of virtual interfaces count only what has a source.
                sends: match experiment.virtual_interfaces() {
                    Some(_) if !real_time => !matches!(channel.source, SourceSpec::None),
                    // A copy is sent by the channel of which it is one.
                    _ => channel.copy.is_none() && (!real_time || bound.is_some()),
                },
                refused: ran.refused.is_some(),
                bound,
                local: bound
                    .filter(|_| by_bound)
                    .map(|bound| bound / hosts)
                    .or(channel.deadline)
                    .unwrap_or(Span::MAX),
                reach: reach(&experiment, channel),
                block: Bytes::new(block),
                rounds: rounds(&experiment, channel),
            }
        };
        let players: Vec<Player> = experiment.channels.iter().zip(&plain.channels).map(player).collect();
        // Long enough for every channel to have sent once before, so that the CPU switches from its
        // thread.
        let sends = |player: &&Player| player.sends && player.real_time;
        let interval = players.iter().filter(sends).map(|player| player.spec.min_interval).max();
        let longest = targets.iter().map(|target| target.bound).chain(interval).max();
        let longest = longest.unwrap_or(Span::ZERO);
        Ok(Self {
            packet: subsystem.packet,
            by_deadline: subsystem.order == Order::MultiClassEdf,
            meets: players.iter().any(|player| player.reach.len() > 1),
            release: Time::ZERO + longest.min(LONGEST_LEAD),
            players,
            targets,
            events,
            experiment,
        })
    }

    /// The ground of a search for `target`, and the channel of which a message is critical. The answers of
    /// an exchange are sent as the experiment has them, and its first message is critical.
    pub(super) fn against(&self, target: &Target) -> (Self, usize) {
        let mut ground = self.clone();
        let exchange = self.exchange(target).unwrap_or_default();
        for &channel in &exchange {
            if let SourceSpec::Rounds { window, after, .. } = self.experiment.channels[channel].source {
                ground.players[channel].rounds = Some((window, after));
            }
        }
        let first = self.sender(*exchange.first().unwrap_or(&target.channel));
        ground.players[first].bound = Some(target.bound);
        (ground, first)
    }

    /// The name of the channel of `target`.
    pub(super) fn name(&self, target: usize) -> &str {
        &self.players[self.targets[target].channel].name
    }

    /// The channels of the exchange that is the goal of `target`; `None` if that is a delay.
    fn exchange(&self, target: &Target) -> Option<Vec<usize>> {
        let exchange = self.experiment.exchange(target.channel).filter(|_| target.goal == Goal::Exchange)?;
        Some(exchange.channels)
    }

    /// Endless best effort of messages of `size` on `channel`, in a run of `length`. Traffic
    /// arriving at an interface leaves it without an empty slot for most of the time, and a virtual
    /// interface has its send queue full. Without back-pressure on the sender, time would not
    /// advance.
    pub(super) fn flood(&self, channel: usize, size: Bytes, length: Span) -> Play {
        let experiment = &self.experiment;
        let endless = || experiment.sends_for_ever(&experiment.channels[channel]).is_some();
        let slowed = || experiment.receivers().is_empty() && !endless();
        match experiment.virtual_interfaces() {
            Some(via) => Play::Window(size, via.depth.unwrap_or(1).max(1)),
            None if slowed() => Play::Flood(size),
            None => Play::Stream(size, (length / FLOOD).max(Span::from_ns(1))),
        }
    }

    /// How long a run against channel `target` is: until well after its bound, so that an excess is
    /// seen as large as it is.
    pub(super) fn length(&self, target: usize) -> Span {
        let bounds = self.players[self.experiment.multicast(target)].iter().filter_map(|player| player.bound);
        let bound = bounds.max().unwrap_or(Span::ZERO);
        self.release.since(Time::ZERO).saturating_add(bound.saturating_mul(2))
    }

    /// Runs `scene` while `go_on` says so: the longest time of each target; `None` if the run does not
    /// end.
    pub(super) fn play(&mut self, scene: &Scene, go_on: &dyn Fn() -> bool) -> Option<Vec<Option<Span>>> {
        let length = self.put_on(scene);
        let mut steps = Steps::of_length(&self.experiment, length);
        let ended = steps.finish_while(self.events, go_on);
        let longest = |run: Run| {
            self.targets.iter().map(|target| target.goal.worst(&run.channels[target.channel])).collect()
        };
        ended.then(|| longest(steps.close()))
    }

    /// Runs `scene` and records its events; `None` if the run does not end.
    pub(super) fn watch(&mut self, scene: &Scene, target: usize, go_on: &dyn Fn() -> bool) -> Option<Sight> {
        let length = self.put_on(scene);
        let mut sight = Sight::of(&self.players[target].name);
        let mut steps = Steps::observed(&self.experiment, length, &mut sight, None);
        let ended = steps.finish_while(u64::MAX, go_on);
        steps.close();
        sight.sort();
        ended.then_some(sight)
    }

    /// The channel that sends the messages of `channel`: the first of a multicast.
    pub(super) fn sender(&self, channel: usize) -> usize {
        self.experiment.multicast(channel).start
    }

    fn put_on(&mut self, scene: &Scene) -> RunLength {
        let length = RunLength::Time { total: scene.length, warmup: Span::ZERO, cooldown: Span::ZERO };
        self.experiment.task = Task::Simulate(length);
        let senders: Vec<usize> = (0..self.players.len()).map(|channel| self.sender(channel)).collect();
        for (channel, (sender, player)) in
            self.experiment.channels.iter_mut().zip(senders.into_iter().zip(&self.players))
        {
            let play = &scene.plays[sender];
            // A refused channel has no packets. With another source it may be admitted.
            if player.refused {
                continue;
            }
            // Traffic outside the contract may exceed the bound without contradicting it.
            assert!(
                !player.real_time || conforms(play.messages(), &player.spec, player.limits),
                "a scene leaves the contract of {}: {play:?}",
                player.name
            );
            // A channel without messages keeps its source: a bound may count that it has one.
            if player.sends || !matches!(channel.source, SourceSpec::None) {
                channel.source = play.source();
            }
        }
        length
    }

    /// Logical arrival and end of the target's message with the longest response, as far as `sight`
    /// shows it.
    pub(super) fn critical(&self, scene: &Scene, sight: &Sight, target: usize) -> (Time, Time) {
        let player = &self.players[target];
        let mut clock = LogicalClock::new(player.spec);
        let messages = scene.plays[self.sender(target)].messages();
        let logical: Vec<Time> = messages.iter().map(|m| clock.arrive(m.at, m.size).at).collect();
        let taken = sight.left.iter().filter_map(|&(number, left)| {
            let from = *logical.get(number as usize)?;
            Some((from, left))
        });
        let longest = taken.max_by_key(|&(from, left)| (left.saturating_since(from), from));
        longest.unwrap_or_else(|| {
            let from = logical.last().copied().unwrap_or(self.release);
            (from, from + player.bound.unwrap_or(Span::ZERO))
        })
    }

    /// A scene in which only channels that respond to each other in rounds send.
    pub(super) fn empty(&self, target: usize) -> Scene {
        let play = |player: &Player| match player.rounds {
            Some((window, after)) => Play::Rounds { size: player.spec.max_message, window, after },
            None => Play::silence(),
        };
        Scene { plays: self.players.iter().map(play).collect(), length: self.length(target) }
    }
}
