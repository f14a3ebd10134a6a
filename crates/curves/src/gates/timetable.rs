//! When a frame behind gates has left, by the instant at which it arrived.
//!
//! All servers have one clock, so the windows of two servers have a known phase. The module above looks
//! for the worst begin of a backlog at each server alone. Here the time is absolute.
//!
//! **The latest end.** Let a frame arrive at `t`. Let `s ≤ t` be the last instant just before which no
//! frame of its class was at the server. Until the frame leaves, the class has a backlog. So the class
//! sends in its windows from `s` on, as the module above says: it waits for one lower frame, and in
//! each window it sends until its first frame does not fit. Before the frame are those that arrived
//! from `s` to `t`, since the class is FIFO. The latest end `E(t)` is the maximum over all `s`.
//!
//! **Arrivals from `s` to `t`.** Two limits hold for the frames of each link before the server: the steps
//! of all flows in a window of `t − s`, and what the link sends in the time between. The class leaves that
//! link only in its windows there. So the time with an open gate counts, from the longest frame before `s`
//! on: the first frame can have begun before `s`, in the same window.
//!
//! **`E` is monotone.** A frame that arrives before `t` has left by `E(t)`. If its backlog began so long
//! before `t` that the longest busy period has passed, it has left by `t`. Otherwise the same `s` is one
//! of those that count for `t`, with no less arrivals.
//!
//! **Instants that count.** Between two steps of the arrivals, and two edges of the windows of links and
//! of the server, both arrivals and begins of frames are linear in `s`, so the highest value is at an
//! end. Counted in frames, arrivals are constant between two steps, and the last `s` counts.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::transmissions::{Transmissions, Windows};
use super::{Sent, Stair, Step, Steps};
use crate::arrival::picobits;
use crate::network::{QueueNetwork, Server, Visit};
use crate::preemption::straddles;

/// Steps, frames and windows of a backlog up to which a class is examined.
const MOST: u128 = 300;

/// Longest busy period in picoseconds: eleven days.
const LONGEST: u128 = 1_000_000_000_000_000_000;

/// Cycles of the shortest windows after which those of several servers have to repeat.
const CYCLES: u128 = 16;

/// The time after which two cycles begin together again, if it is not too long.
pub(crate) fn common(one: u128, other: u128) -> Option<u128> {
    let (mut divisor, mut rest) = (one, other);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    let all = one / divisor * other;
    (all <= CYCLES * one.min(other)).then_some(all)
}

/// The windows of `level` at `server`, and how much later its frames arrive at the next one. `None` if a
/// frame can begin in one window and end in another one: it is cut where its gate closes.
fn sends(server: &Server, level: u8) -> Option<Windows> {
    let cut = server.preemption.is_some_and(|preemption| level >= preemption.from);
    let gates = server.gates.as_ref().filter(|_| !server.fifo && !cut)?;
    Some(Windows::later(gates.cycle, gates.of(level)?, server.behind()?))
}

impl Server {
    /// Picoseconds from the end of a transmission to the arrival at the next server, if they are known to be
    /// always the same.
    pub(crate) fn behind(&self) -> Option<i128> {
        let behind = self.gates.as_ref()?.behind?;
        Some(i128::from(behind) + i128::from(self.propagation.as_ps()))
    }
}

/// Frames that come from one link, or from their sources.
#[derive(Debug, Clone)]
struct Origin {
    steps: Vec<Stair>,
    /// `None` for frames that arrive in any number at once.
    link: Option<Transmissions>,
}

impl Origin {
    /// Picobits and frames that arrive from `from` to `to`.
    fn come(&self, from: u128, to: u128) -> (u128, u128) {
        let next = self.steps.partition_point(|step| step.0 <= to - from);
        let (_, bits, frames) = next.checked_sub(1).map_or((0, 0, 0), |last| self.steps[last]);
        let Some(link) = &self.link else { return (bits, frames) };
        let sent = link.bits(from, to);
        (bits.min(sent), frames.min(sent / link.sizes.0))
    }

    /// Frames of the longest busy period.
    fn frames(&self) -> u128 {
        self.steps.last().map_or(0, |step| step.2)
    }

    /// Instants at which what arrives until `to` changes its slope.
    fn turns(&self, from: u128, to: u128, found: &mut Vec<u128>) {
        found.extend(self.steps.iter().filter_map(|step| to.checked_sub(step.0)));
        let Some(link) = &self.link else { return };
        let all = self.steps.iter().filter_map(|step| link.since(to, step.1));
        found.extend(all.flat_map(|at| [at, at + 1]));
        found.extend((1..=self.frames()).map_while(|number| link.since(to, number * link.sizes.0)));
        link.edges(from, to, found);
    }
}

/// The latest of what begins at one of `instants`, which are in order; `None` if something never does.
///
/// `begins` gets the instant from which arrivals count and the one from which the class sends. It falls with
/// the former and rises with the latter, so it limits all instants between two.
fn latest(instants: &[u128], begins: impl Fn(u128, u128) -> Option<u128>) -> Option<u128> {
    let (mut latest, mut ranges) = (0, vec![instants]);
    while let Some(range) = ranges.pop() {
        let (Some(first), Some(last)) = (range.first(), range.last()) else { continue };
        let most = begins(*first, *last)?;
        if most > latest {
            if range.len() == 1 {
                latest = most;
            } else {
                ranges.extend(<[_; 2]>::from(range.split_at(range.len() / 2)));
            }
        }
    }
    Some(latest)
}

/// The phase of an arrival, and the shortest and longest frame in picobits.
type Arriving = (u128, (u128, u128));

/// A class at a server, by the time.
#[derive(Debug, Clone)]
pub(crate) struct Timetable {
    steps: Steps,
    origins: Vec<Origin>,
    /// Longest busy period.
    busy: u128,
    /// After which everything repeats.
    pub(crate) period: u128,
    /// How much later frames have left, if they do.
    known: RefCell<BTreeMap<Arriving, Option<u128>>>,
}

impl Timetable {
    /// The class of `visits` with windows `steps` and a longest busy period `busy`, of which `stairs` are the
    /// steps of arrivals. `None` if there is too much of them.
    pub(crate) fn of(
        network: &QueueNetwork,
        visits: &[Visit],
        (steps, busy): (Steps, u128),
        stairs: impl Fn(&[Visit]) -> Option<Vec<Stair>>,
    ) -> Option<Self> {
        let (mut period, mut origins) = (steps.cycle, Vec::new());
        for own in visits.chunk_by(|one, other| one.from == other.from) {
            let link = own[0].from.map(|from| {
                let frames = own.iter().map(|visit| network.flows[visit.flow].shortest);
                let shortest = picobits(frames.min().unwrap_or_default()).max(1);
                let windows = sends(&network.servers[from], own[0].level).filter(|windows| {
                    let repeats = common(period, windows.cycle());
                    period = repeats.unwrap_or(period);
                    repeats.is_some()
                });
                let rate = u128::from(network.servers[from].peak.bits_per_sec());
                Transmissions { rate, sizes: (shortest, picobits(straddles(network, from, own))), windows }
            });
            origins.push(Origin { steps: stairs(own)?, link });
        }
        let cycles = busy / steps.cycle * steps.steps.len() as u128;
        let frames = origins.iter().map(|origin| origin.frames() + origin.steps.len() as u128);
        (cycles + frames.sum::<u128>() <= MOST && busy < LONGEST).then(|| Self {
            steps,
            origins,
            busy,
            period,
            known: RefCell::default(),
        })
    }

    /// After which the windows begin again.
    pub(crate) fn cycle(&self) -> u128 {
        self.steps.cycle
    }

    /// An instant at which a period begins, and before which no time is needed.
    pub(crate) fn begin(&self) -> u128 {
        let begun = self.origins.iter().filter_map(|origin| Some(origin.link.as_ref()?.begun()));
        self.busy + 2 * self.steps.cycle + begun.max().unwrap_or(0)
    }

    /// The latest end of a frame of `own` to `most` picobits that arrives at `at`; `None` if it never leaves.
    pub(crate) fn latest(&self, at: u128, sizes: (u128, u128)) -> Option<u128> {
        let phase = at % self.period;
        let known = self.known.borrow().get(&(phase, sizes)).copied();
        let later = known.unwrap_or_else(|| {
            let at = phase + self.begin().next_multiple_of(self.period);
            let later = self.examined(at, sizes).map(|end| end - at);
            self.known.borrow_mut().insert((phase, sizes), later);
            later
        });
        Some(at + later?)
    }

    fn examined(&self, at: u128, (own, most): (u128, u128)) -> Option<u128> {
        let Steps { link, longest, .. } = self.steps;
        let instants = self.instants(at);
        let come = |from: u128| {
            let come = self.origins.iter().map(|origin| origin.come(from, at));
            come.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        };
        // Of the room before the last frame, in bits and in frames.
        let in_bits = |room: u128| Sent { fits: room, all: room };
        let in_frames = |room: u128| {
            let fits = room / longest * longest;
            Sent { fits, all: fits + longest }
        };
        let by_bits = latest(&instants, |before, from| {
            self.steps.begins_from(from, come(before).0.saturating_sub(own), in_bits, |step| step.bits)
        });
        let by_frames = latest(&instants, |before, from| {
            let before = come(before).1.saturating_sub(1) * longest;
            self.steps.begins_from(from, before, in_frames, |step| step.frames)
        });
        let by_bits = by_bits.map(|begins| begins + own.div_ceil(link));
        let by_frames = by_frames.map(|begins| begins + most.div_ceil(link));
        by_bits.into_iter().chain(by_frames).min()
    }

    /// Begins of a backlog that count for a frame that arrives at `at`.
    fn instants(&self, at: u128) -> Vec<u128> {
        let first = at - self.busy;
        let mut found = vec![first];
        self.origins.iter().for_each(|origin| origin.turns(first, at, &mut found));
        let Steps { cycle, latency, ref steps, .. } = self.steps;
        for begin in (first / cycle - 1..=(at + latency) / cycle).map(|number| number * cycle) {
            for step in steps {
                // The last instant at which a frame surely fits.
                let last = (begin + step.begin + step.open).saturating_sub(step.missed);
                found.extend([begin + step.begin, last, last + 1].map(|edge| edge.saturating_sub(latency)));
            }
        }
        found.retain(|from| (first..=at).contains(from));
        found.sort_unstable();
        found.dedup();
        found
    }
}

impl Step {
    /// Longest wait for a lower frame in this window, where a frame of the class takes `longest`.
    fn blocked(&self, longest: u128) -> u128 {
        self.missed - longest
    }
}

impl Steps {
    /// Latest begin of a frame that has `amount` before it, in a backlog that begins at `from`; `None` if it
    /// never begins.
    ///
    /// `part` is the traffic of a window by its room before a last frame of the longest size, and `whole`
    /// that of a whole window.
    fn begins_from(
        &self,
        from: u128,
        amount: u128,
        part: impl Fn(u128) -> Sent,
        whole: impl Fn(&Step) -> Sent,
    ) -> Option<u128> {
        let (at, mut left) = (from + self.latency, amount);
        let each: u128 = self.steps.iter().map(|step| whole(step).all).sum();
        if left > 0 && each == 0 {
            return None;
        }
        // A window of the cycle before can go on.
        let mut cycle = (at / self.cycle - 1) * self.cycle;
        loop {
            if at < cycle && left > each {
                // Cycles of whole windows, all of which are sent before.
                let passed = (left - 1) / each;
                left -= passed * each;
                cycle += passed * self.cycle;
            }
            for step in &self.steps {
                let begin = cycle + step.begin;
                let end = begin + step.open;
                let (first, Sent { fits, all }) = if at < begin {
                    (end - step.length, whole(step))
                } else {
                    let first = at + step.blocked(self.longest.div_ceil(self.link));
                    let room = |time: u128| (time * self.link).checked_sub(self.longest);
                    let Some(room) = end.checked_sub(first).and_then(room).filter(|_| at < end) else {
                        continue;
                    };
                    (first, part(room))
                };
                if left <= fits {
                    return Some(first + left.div_ceil(self.link));
                }
                left = left.saturating_sub(all);
            }
            cycle += self.cycle;
        }
    }
}
