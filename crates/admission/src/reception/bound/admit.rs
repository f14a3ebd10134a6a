//! Promises to channels one after the other, each beside those before it.

use std::cell::OnceCell;
use std::fmt;

use laxity_units::Span;

use super::ReceptionHost;
use super::turns::{Arrivals, Turns, count, ps};
use crate::terms::Term;
use laxity_qos::traffic::TrafficSpec;

/// Request of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceptionRequest {
    /// The interface at which it arrives.
    pub interface: usize,
    /// The program that takes it.
    pub program: usize,
    /// Its contract, a packet being a message.
    pub spec: TrafficSpec,
    /// How much closer than by its contract packets may arrive, as a time: `J_c` where it enters.
    /// Zero for a source at the interface.
    pub jitter: Span,
    /// From arrival to delivery.
    pub deadline: Span,
}

/// Promise to a channel: how long a packet takes at most, and the terms of that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceptionBound {
    /// `D` of (4).
    pub bound: Span,
    /// Its terms.
    pub terms: Vec<Term>,
    /// Those of `terms` that end with the protocol; the rest is the program's.
    pub received: usize,
    /// Packets of the channel at the host at a time, at most.
    pub packets: u64,
    /// Slots and buffers for real time that the channels of its interface need.
    pub room: ReceptionRoom,
}

/// Slots and buffers for real time that an interface needs so that no packet is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceptionRoom {
    /// Slots of the adapter.
    pub slots: u64,
    /// Receive buffers; `None` where packets are delivered without a program.
    pub buffers: Option<u64>,
}

/// The missing resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// The interface's turns are not done before the next: there is not enough CPU for one packet.
    Turn,
    /// The interface takes `packets` of real time every `every`, fewer than arrive.
    Taken {
        /// Packets in a turn.
        packets: u64,
        /// Between turns.
        every: Span,
    },
    /// No CPU time is reserved for the program, which is one of several.
    Reservation {
        /// Receive buffers that only real time may have.
        buffers: u32,
    },
    /// Turns of the interfaces and the real time of the host's only program take all of the CPU.
    Left,
    /// The program's budget does not fit beside what goes before it: there is not enough CPU for
    /// one packet.
    Budget,
    /// The program does `packets` of real time every `every`, fewer than arrive.
    Done {
        /// Packets in a period.
        packets: u64,
        /// The period.
        every: Span,
    },
    /// Slots for real time at the interface.
    Slots {
        /// Number needed.
        needed: u64,
        /// Number available.
        has: u32,
    },
    /// Receive buffers that only real time may have.
    Buffers {
        /// Number needed.
        needed: u64,
        /// Number available.
        has: u32,
    },
    /// Time: this would be the bound.
    Time(Span),
}

/// A channel that is not admitted, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceptionRefusal {
    /// The channel that lacks something: the place of the channel that asks, or of one before it.
    pub whose: usize,
    /// The missing resource.
    pub missing: Missing,
}

impl Missing {
    /// The least deadline that would be admitted, all else being as it is.
    pub fn admissible(&self) -> Option<Span> {
        match self {
            Missing::Time(bound) => Some(*bound),
            _ => None,
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::Turn => f.write_str(
                "the CPU has not enough left for one packet in each turn of its interface; turns further apart, or smaller quotas, \
                 would leave more",
            ),
            Missing::Taken { packets, every } => write!(
                f,
                "its interface takes {packets} packets of real time every {every}, and more come; a larger quota for real time, or \
                 shorter intervals, would take them"
            ),
            Missing::Reservation { buffers } => {
                f.write_str(
                    "several programs share the CPU and nothing is reserved for its own; `budget` and `period` under \
                     `[[program]]` reserve it",
                )?;
                match buffers {
                    0 => f.write_str(", and `buffers_real_time` of its interface reserves receive buffers"),
                    _ => Ok(()),
                }
            }
            Missing::Left => f.write_str(
                "turns of the interfaces and packets of real time take all of the CPU; turns further apart, or smaller \
                 quotas, would leave more",
            ),
            Missing::Budget => f.write_str(
                "the CPU has not enough left for one packet in each period of its program; a longer period, or smaller quotas of \
                 interfaces, would leave more",
            ),
            Missing::Done { packets, every } => write!(
                f,
                "its program does {packets} packets of real time every {every} for sure, and more come; a larger budget, if the CPU \
                 has it, would do them"
            ),
            Missing::Slots { needed, has } => {
                write!(f, "its interface needs {needed} slots for real time and has {has}")
            }
            Missing::Buffers { needed, has } => write!(
                f,
                "its interface needs {needed} receive buffers for real time and has {has}; see `buffers_real_time`"
            ),
            Missing::Time(bound) => write!(f, "a packet may take {bound}, longer than its deadline"),
        }
    }
}

/// Admits `requests` to `host` in order: the bound of each beside all admitted ones, or why it is
/// not.
pub fn admit(
    host: &ReceptionHost,
    requests: &[ReceptionRequest],
) -> Vec<Result<ReceptionBound, ReceptionRefusal>> {
    let turns: Vec<Vec<(u64, Span)>> = (0..host.interfaces.len()).map(|i| host.turns(i)).collect();
    let periods: Vec<Vec<(u64, Span)>> = (0..host.programs.len()).map(|p| host.periods(p)).collect();
    let all = Reservations { host, turns, periods };
    let mut admitted: Vec<usize> = Vec::new();
    let mut refused: Vec<Option<ReceptionRefusal>> = vec![None; requests.len()];
    for (i, refusal) in refused.iter_mut().enumerate() {
        admitted.push(i);
        let asked: Vec<ReceptionRequest> = admitted.iter().map(|&n| requests[n]).collect();
        let beside = Beside::new(&all, &asked);
        // Of what is missing, the newcomer's own first.
        let found = admitted.iter().rev().find_map(|&whose| {
            beside.bound(&requests[whose]).err().map(|missing| ReceptionRefusal { whose, missing })
        });
        if found.is_some() {
            admitted.pop();
            *refusal = found;
        }
    }
    let asked: Vec<ReceptionRequest> = admitted.iter().map(|&n| requests[n]).collect();
    let beside = Beside::new(&all, &asked);
    let answer = |(request, refusal): (&ReceptionRequest, Option<ReceptionRefusal>)| match refusal {
        Some(refusal) => Err(refusal),
        None => Ok(beside.bound(request).expect("it was admitted beside these")),
    };
    requests.iter().zip(refused).map(answer).collect()
}

/// The turns that interfaces and programs have for sure.
struct Reservations<'a> {
    host: &'a ReceptionHost,
    turns: Vec<Vec<(u64, Span)>>,
    periods: Vec<Vec<(u64, Span)>>,
}

/// Channels beside each other. The waits that they share are found once, since they are equal for all
/// of them.
struct Beside<'a> {
    all: &'a Reservations<'a>,
    asked: &'a [ReceptionRequest],
    receptions: Vec<OnceCell<Result<[Span; 3], Missing>>>,
    works: Vec<OnceCell<Result<[Span; 3], Missing>>>,
}

impl<'a> Beside<'a> {
    fn new(all: &'a Reservations<'a>, asked: &'a [ReceptionRequest]) -> Self {
        let Reservations { host, .. } = all;
        let receptions = vec![OnceCell::new(); host.interfaces.len()];
        Self { all, asked, receptions, works: vec![OnceCell::new(); host.programs.len()] }
    }

    /// `I + F + R` of an interface at which all of them arrive, or the missing resource.
    fn reception(&self, interface: usize) -> Result<[Span; 3], Missing> {
        *self.receptions[interface].get_or_init(|| self.find_reception(interface))
    }

    /// `P + F + V` of a program, or what is missing.
    fn work(&self, p: usize) -> Result<[Span; 3], Missing> {
        *self.works[p].get_or_init(|| self.find_work(p))
    }

    fn find_reception(&self, interface: usize) -> Result<[Span; 3], Missing> {
        let Self { all: Reservations { host, turns, .. }, asked, .. } = self;
        let service = &host.interfaces[interface];
        let (packets, within) = *turns[interface].last().ok_or(Missing::Turn)?;
        let arrivals: Vec<Arrivals> =
            asked.iter().filter(|r| r.interface == interface).map(|r| held_up(r, Span::ZERO)).collect();
        let of = |within| service.every(within);
        let parts = least_parts(&turns[interface], of, &arrivals);
        let parts = parts.ok_or(Missing::Taken { packets, every: service.every(within) })?;
        let needed = room(&arrivals, total(parts));
        match needed > u64::from(service.slots) {
            true => Err(Missing::Slots { needed, has: service.slots }),
            false => Ok(parts),
        }
    }

    fn find_work(&self, p: usize) -> Result<[Span; 3], Missing> {
        let Self { all: Reservations { host, periods, .. }, asked, .. } = self;
        let mut arrivals = Vec::new();
        for other in asked.iter().filter(|other| other.program == p && self.has_program(other)) {
            arrivals.push(held_up(other, total(self.reception(other.interface)?)));
        }
        let every = host.programs[p].reserved.map(|(_, period)| period);
        let turns = every.and_then(|every| least_parts(&periods[p], |_| every, &arrivals));
        let longest = [host.unspent(p, &arrivals), host.alone(&arrivals)];
        let longest = longest.into_iter().flatten().map(|longest| [Span::ZERO, Span::ZERO, longest]);
        // Of equal ones that by turns.
        turns.into_iter().chain(longest).min_by_key(|parts| total(*parts)).ok_or_else(|| {
            match (every, periods[p].last()) {
                (None, _) if host.programs.len() == 1 => Missing::Left,
                (None, _) => Missing::Reservation { buffers: self.least_buffers(p) },
                (Some(_), None) => Missing::Budget,
                (Some(every), Some((packets, _))) => Missing::Done { packets: *packets, every },
            }
        })
    }

    /// Buffers for real time of the interface that has the fewest, of those with channels of program
    /// `p`.
    fn least_buffers(&self, p: usize) -> u32 {
        let of = |request: &ReceptionRequest| self.all.host.interfaces[request.interface].buffers;
        self.asked.iter().filter(|request| request.program == p).filter_map(of).min().unwrap_or(0)
    }

    fn bound(&self, request: &ReceptionRequest) -> Result<ReceptionBound, Missing> {
        let received = self.reception(request.interface)?;
        let mut terms = vec![
            Term { name: "until the interface's next turn", cost: received[0] },
            Term { name: "further turns, for real time before it", cost: received[1] },
            Term { name: "from then to the end of the protocol", cost: received[2] },
        ];
        let here: Vec<Arrivals> = self
            .asked
            .iter()
            .filter(|other| other.interface == request.interface)
            .map(|other| held_up(other, Span::ZERO))
            .collect();
        let mut needs = ReceptionRoom { slots: room(&here, total(received)), buffers: None };
        if let Some(has) = self.all.host.interfaces[request.interface].buffers {
            let worked = self.work(request.program)?;
            terms.extend([
                Term { name: "until the program's next period", cost: worked[0] },
                Term { name: "further periods, for real time before it", cost: worked[1] },
                Term { name: "from then to delivery", cost: worked[2] },
            ]);
            let mut longest = Span::ZERO;
            for other in self.asked.iter().filter(|other| other.interface == request.interface) {
                longest = longest.max(total(self.work(other.program)?));
            }
            let needed = room(&here, total(received).saturating_add(longest));
            if needed > u64::from(has) {
                return Err(Missing::Buffers { needed, has });
            }
            needs.buffers = Some(needed);
        }
        let bound = terms.iter().fold(Span::ZERO, |all, term| all.saturating_add(term.cost));
        let said = |term: &Term| !term.cost.is_zero();
        let received = terms.iter().take(received.len()).filter(|term| said(term)).count();
        terms.retain(said);
        let packets = room(&[held_up(request, Span::ZERO)], bound);
        match bound > request.deadline {
            true => Err(Missing::Time(bound)),
            false => Ok(ReceptionBound { bound, terms, received, packets, room: needs }),
        }
    }

    fn has_program(&self, request: &ReceptionRequest) -> bool {
        self.all.host.interfaces[request.interface].buffers.is_some()
    }
}

/// `I + F + R` of the number of packets for which it is least; `None` if no number keeps up with
/// `arrivals`.
fn least_parts(
    numbers: &[(u64, Span)],
    every: impl Fn(Span) -> Span,
    arrivals: &[Arrivals],
) -> Option<[Span; 3]> {
    let of = |(packets, within): &(u64, Span)| {
        let turns = Turns { every: every(*within), packets: *packets, within: *within };
        Some([turns.every, turns.further(arrivals)?, turns.within])
    };
    // Of equal sums the one with the most packets.
    numbers.iter().rev().filter_map(of).min_by_key(|parts| total(*parts))
}

/// The packets of a channel that were held up by `span` since they entered the host.
fn held_up(request: &ReceptionRequest, span: Span) -> Arrivals {
    let jitter = request.jitter.saturating_add(span);
    Arrivals { burst: request.spec.burst, interval: request.spec.min_interval, jitter }
}

fn total(parts: [Span; 3]) -> Span {
    parts.into_iter().fold(Span::ZERO, Span::saturating_add)
}

/// Packets that may be there at once if each stays for `span` at most.
fn room(arrivals: &[Arrivals], span: Span) -> u64 {
    u64::try_from(count(arrivals, ps(span))).unwrap_or(u64::MAX)
}
