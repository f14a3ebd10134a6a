//! A case: a host, the channels that ask for it, how they are ordered and by which bound, and what
//! admission says to that.

use laxity_admission::{
    AdmissionId, AdmissionTable, ApplicationWork, BestEffort, Counting, Decision, Environment, Formula,
    Interference, Request, ResourceModel, Test, Timers,
};
use laxity_qos::channel::{
    Block, Budget, ChannelId, Computing, Config, CoreId, LinkConfig, LinkParadigm, Order, Oversize,
    Preemption, Processing, Role,
};
use laxity_qos::costs::{HostCosts, LinkCosts};
use laxity_qos::discipline::EarlyPolicy;
use laxity_qos::traffic::TrafficSpec;
use laxity_units::{ByteTime, Bytes, Span, Time};
use proptest::prelude::*;

/// How handlers and packets are ordered, and by which bound.
#[derive(Debug, Clone, Copy)]
pub(super) enum Schedule {
    /// EDF with the bound as the local deadline: the bound holds.
    EdfByBound,
    /// EDF with the deadline that was asked for: the deadline holds.
    EdfByDeadline,
    /// Fixed priorities, CPU and link: the bound holds.
    FixedPriority,
    /// EDF with the deadline that was asked for, admitted by the demand test, with several messages
    /// of a channel under way: its bound holds.
    EdfByDemand,
}

#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) host: HostCosts,
    pub(super) link: LinkCosts,
    pub(super) packet: Bytes,
    pub(super) model: ResourceModel,
    pub(super) block: u32,
    pub(super) best_effort_block: u32,
    pub(super) depth: u32,
    pub(super) schedule: Schedule,
    pub(super) early: EarlyPolicy,
    pub(super) link_early: EarlyPolicy,
    pub(super) processing: Processing,
    pub(super) channels: Vec<(TrafficSpec, Span)>,
    pub(super) best_effort: Vec<Bytes>,
    /// Applications that compute what is left, and with a budget.
    pub(super) computing: Vec<Computing>,
    /// Raw randomness for arrivals, so that a case shrinks as one value.
    pub(super) dice: Vec<u32>,
}

pub(super) fn span_us(range: std::ops::Range<u64>) -> impl Strategy<Value = Span> {
    range.prop_map(Span::from_us)
}

pub(super) fn host() -> impl Strategy<Value = HostCosts> {
    (
        span_us(0..120),
        span_us(0..120),
        span_us(1..600),
        span_us(1..400),
        span_us(0..250),
        span_us(0..40),
        span_us(0..60),
    )
        .prop_map(
            |(context_switch, cache_miss, first, packet, link_scheduling, interrupt, thread_creation)| {
                HostCosts {
                    context_switch,
                    cache_miss,
                    first_packet: first.max(packet),
                    single_packet: first.max(packet),
                    packet,
                    link_scheduling,
                    interrupt,
                    thread_creation,
                    ..HostCosts::default()
                }
            },
        )
}

pub(super) fn channel(packet: u64) -> impl Strategy<Value = (TrafficSpec, Span)> {
    (1..packet * 6, 1u64..=4, 1u32..6, 20u64..400, 30u64..=100).prop_map(
        |(max, part, burst, interval, percent)| {
            let max_message = Bytes::new(max);
            let spec = TrafficSpec {
                max_message,
                // Half of the channels vary their sizes, down to a quarter.
                min_message: if part > 2 { max_message } else { Bytes::new((max * part / 4).max(1)) },
                burst,
                min_interval: Span::from_us(interval * 250),
            };
            (spec, (spec.min_interval * percent) / 100)
        },
    )
}

/// Whatever early messages and packets may do, they stand below all that is current.
pub(super) fn early() -> impl Strategy<Value = EarlyPolicy> {
    let ahead = (0u64..20_000, any::<bool>())
        .prop_map(|(us, above_best_effort)| EarlyPolicy { horizon: Span::from_us(us), above_best_effort });
    prop_oneof![2 => Just(EarlyPolicy::HOLD), 1 => Just(EarlyPolicy::CONSERVE), 1 => ahead]
}

/// Up to a quarter of the CPU each, or what is left.
pub(super) fn computing() -> impl Strategy<Value = Computing> {
    let budget =
        (20u64..400, 1u64..=25, 30u64..=100, 0u64..1000).prop_map(|(period, percent, within, start)| {
            let period = Span::from_us(period * 250);
            let (time, deadline) = (period * percent / 100, period * within / 100);
            Budget { time, period, start: Time::ZERO + Span::from_us(start), deadline, level: 0 }
        });
    (10u64..800, prop::option::of(budget)).prop_map(|(slice, budget)| Computing {
        flow: ChannelId(1000),
        core: CoreId::FIRST,
        slice: Span::from_us(slice),
        budget,
    })
}

pub(super) fn case() -> impl Strategy<Value = Case> {
    let model = prop_oneof![
        Just(ResourceModel::Ideal),
        Just(ResourceModel::O1),
        Just(ResourceModel::O2),
        Just(ResourceModel::O3)
    ];
    let schedule = prop_oneof![
        Just(Schedule::EdfByBound),
        Just(Schedule::EdfByDeadline),
        Just(Schedule::FixedPriority),
        Just(Schedule::EdfByDemand),
    ];
    (host(), 1u64..200, 0u64..120, 256u64..6000, model, schedule).prop_flat_map(
        |(host, startup, per_byte, packet, model, schedule)| {
            (
                prop::collection::vec(channel(packet), 1..9),
                prop::collection::vec(1..packet * 5, 0..4),
                1u32..8,
                1u32..8,
                prop_oneof![4 => Just(1u32), 1 => 2u32..4],
                (early(), early(), any::<bool>()),
                prop_oneof![1 => Just(Vec::new()), 1 => prop::collection::vec(computing(), 1..4)],
                prop::collection::vec(any::<u32>(), 64),
            )
                .prop_map(
                    move |(
                        channels,
                        best_effort,
                        block,
                        be_block,
                        depth,
                        (early, link_early, threads),
                        computing,
                        dice,
                    )| Case {
                        host,
                        // Bytes that take whole picoseconds, and thirds and fifths of some.
                        link: LinkCosts {
                            startup: Span::from_us(startup),
                            per_byte: ByteTime::ratio(
                                u128::from(per_byte) * 1000,
                                u128::from(startup % 3 * 2 + 1),
                            ),
                            ..LinkCosts::default()
                        },
                        packet: Bytes::new(packet),
                        model,
                        block,
                        best_effort_block: be_block,
                        depth,
                        schedule,
                        early,
                        link_early,
                        processing: if threads { Processing::PerMessage } else { Processing::PerChannel },
                        channels,
                        best_effort: best_effort.into_iter().map(Bytes::new).collect(),
                        computing,
                        dice,
                    },
                )
        },
    )
}

impl Case {
    pub(super) fn host(&self) -> HostCosts {
        // Of one case in three, timers cost something.
        let timer = match self.dice[63].is_multiple_of(3) {
            true => Span::from_us(u64::from(self.dice[62] % 100)),
            false => Span::ZERO,
        };
        let host = HostCosts { timer, ..self.host };
        match self.model {
            ResourceModel::Ideal => HostCosts { context_switch: Span::ZERO, cache_miss: Span::ZERO, ..host },
            _ => host,
        }
    }

    /// Computations without a budget.
    pub(super) fn left(&self) -> impl Iterator<Item = &Computing> {
        self.computing.iter().filter(|application| application.budget.is_none())
    }

    /// Reserves for budgets in `table`; returns the computations, each budget with its reservation.
    pub(super) fn reserve(&self, table: &mut AdmissionTable) -> Vec<(Computing, Option<AdmissionId>)> {
        let reserved = |application: &Computing| {
            let Some(budget) = application.budget else { return Some((*application, None)) };
            // Levels of budgets are not those of the proof.
            if let Schedule::FixedPriority = self.schedule {
                return None;
            }
            let work = ApplicationWork { time: budget.time, slice: application.slice };
            let request = Request::computing(work, budget.period, budget.deadline).expect("it is a budget");
            match table.request(request) {
                Decision::Admitted { id, .. } => Some((*application, Some(id))),
                Decision::Refused(_) => None,
            }
        };
        self.computing.iter().filter_map(reserved).collect()
    }

    pub(super) fn environment(&self, formula: Formula) -> Environment {
        Environment {
            host: self.host(),
            link: self.link.into(),
            packet: self.packet,
            model: self.model,
            block_real_time: Block::Packets(self.block),
            block_best_effort: Block::Packets(self.best_effort_block),
            depth: self.depth,
            thread_per_message: self.processing == Processing::PerMessage,
            makes: Some(self.host.first_packet.min(self.host.packet)),
            buffers: None,
            ahead: self.early != EarlyPolicy::HOLD,
            early: [self.early, self.link_early].iter().any(|early| *early != EarlyPolicy::HOLD),
            levels: matches!(self.schedule, Schedule::FixedPriority).then_some(31),
            counting: Counting::default(),
            best_effort: self
                .best_effort
                .iter()
                .map(|size| BestEffort {
                    max_message: *size,
                    min_message: *size,
                    role: Role::Send,
                    elsewhere: false,
                    program: Span::ZERO,
                })
                .collect(),
            slice: self.left().map(|application| application.slice).max().unwrap_or_default(),
            interference: self.timers(),
            others: Vec::new(),
            counting_others: Default::default(),
            formula,
        }
    }

    /// Timers of all requests, admitted or not.
    pub(super) fn timers(&self) -> Vec<Interference> {
        let intervals = (0..self.channels.len()).map(|i| self.request(i).spec().min_interval);
        let periods = self.computing.iter().filter_map(|application| Some(application.budget?.period));
        Timers::new(self.host().timer, &[self.early, self.link_early]).interference(intervals, periods)
    }

    pub(super) fn config(&self) -> Config {
        let order = match self.schedule {
            Schedule::FixedPriority => Order::FixedPriority,
            _ => Order::MultiClassEdf,
        };
        let paradigm = match self.model {
            ResourceModel::O2 => LinkParadigm::O2,
            ResourceModel::O3 => LinkParadigm::O3,
            _ => LinkParadigm::O1,
        };
        Config {
            cores: 1,
            processing: self.processing,
            order,
            early: self.early,
            preemption: Preemption {
                real_time: Block::Packets(self.block),
                early: Block::Packets(self.block),
                best_effort: Block::Packets(self.best_effort_block),
                immediate: self.model == ResourceModel::Ideal,
            },
            link: LinkConfig {
                core: CoreId::FIRST,
                paradigm,
                order,
                early: self.link_early,
                depth: self.depth,
                launch: None,
                speed: LinkCosts::default(),
                frame: Span::ZERO,
            },
            packet: self.packet,
            enforcement: true,
            oversize: Oversize::Intervals,
        }
    }

    /// Request of channel `i`: under the demand test, up to six messages within its deadline.
    pub(super) fn request(&self, i: usize) -> Request {
        let (mut spec, deadline) = self.channels[i];
        if let Schedule::EdfByDemand = self.schedule {
            spec.min_interval = spec.min_interval / (1 + u64::from(self.dice[i] % 6));
        }
        Request::new(spec, deadline).expect("a case is a contract")
    }

    /// Admits what can be admitted; answers each admitted channel with its bound.
    pub(super) fn admit(&self, formula: Formula) -> (Vec<Admitted>, Vec<(Computing, Option<Span>)>) {
        let test = match self.schedule {
            Schedule::EdfByDemand => Test::Demand,
            _ => Test::DOrder,
        };
        let environment = self.environment(formula);
        let mut table = AdmissionTable::with_test(environment, test).expect("a case is a host");
        let computing = self.reserve(&mut table);
        let mut ids: Vec<(AdmissionId, usize)> = Vec::new();
        for i in 0..self.channels.len() {
            let request = self.request(i);
            if let Decision::Admitted { id, .. } = table.request(request) {
                ids.push((id, i));
            }
        }
        let index = |id| ids.iter().find(|(other, _)| *other == id).map(|(_, index)| *index);
        let bounds = table.bounds();
        let channel = |b: &laxity_admission::Bound| {
            let request = self.request(index(b.id)?);
            Some(Admitted { request, bound: b.bound, priority: b.priority })
        };
        let kept = |id: AdmissionId| {
            let bound = bounds.iter().find(|bound| bound.id == id).expect("it was admitted");
            if test == Test::Demand { bound.bound } else { bound.deadline }
        };
        let computing = computing.into_iter().map(|(application, id)| (application, id.map(kept))).collect();
        (bounds.iter().filter_map(channel).collect(), computing)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Admitted {
    pub(super) request: Request,
    pub(super) bound: Span,
    pub(super) priority: usize,
}

impl Admitted {
    pub(super) fn spec(&self) -> &TrafficSpec {
        self.request.spec()
    }
}
