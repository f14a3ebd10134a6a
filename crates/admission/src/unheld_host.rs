//! A host that serves messages as they arrive: real time before best effort, in any order.
//!
//! Most orders hold no early message: FIFO, plain EDF, strict priority, orders by rates. A message that
//! arrives before its logical arrival competes at once, so the tables that count one message an interval
//! have no bound. The argument of [`super::trajectory`] has one all the same. It asks of the order only
//! that no work outside the level goes before a message of the level. Take all of real time for the level,
//! and take a message as released when it arrives:
//!
//! ```text
//! x − s < W + Σ_j n_j(x) S_j + G(x − s)   for all x in (s, f),                             (1)
//! ```
//!
//! with `s` no later than the arrival of the message, and `n_j(x)` the messages of `j` that arrive in
//! `[s, x)`. Messages arrive at most `E_j` before their logical arrivals, which are `I_j` apart, but for
//! `a_j` that went ahead. So `n_j(x) ≤ ⌈(x − s + E_j)/I_j⌉ + a_j`, and (1) is the inequality of
//! `rates/together.rs`, with `lower = W`. Messages of a channel keep their order there, too.
//!
//! `W` is that of the lowest level: a block in progress at `s` is of best effort, and without best effort
//! there is none ([`super::below`]).
//!
//! At the host where a channel starts `E = 0`, and `a` counts the messages that its source sends ahead:
//! `B_max − 1` if it keeps its contract.
//!
//! Handlers make packets of early messages, too. A handler that waited for a buffer would leave the CPU
//! idle in `(s, τ]`, so there are buffers for all messages that are not finished, early ones included.

use std::collections::BTreeMap;

use laxity_units::Span;

use super::below::Lower;
use super::buffers;
use super::decision::{
    AdmissionId, AdmissionRefusal, Bound, Claimant, Decision, Deficit, Impossible, Reason, Scarce, refused,
};
use super::environment::{Buffers, Environment, Formula, ResourceModel};
use super::model::Shared;
use super::population::Population;
use super::rated_host::Unrated;
use super::rates::{Coming, Early, RateRequest, Together, arrive};
use super::terms::{Breakdown, span};

/// Every promise that such a host has made.
#[derive(Debug, Clone)]
pub struct UnheldHost {
    environment: Environment,
    channels: Vec<(AdmissionId, RateRequest)>,
    next_id: u64,
}

impl UnheldHost {
    /// A host without channels, under O1, O2 or O3, and with the corrected formulas.
    pub fn new(environment: Environment) -> Result<Self, Unrated> {
        environment.check().map_err(Unrated::Environment)?;
        let shared = matches!(environment.model, ResourceModel::O1 | ResourceModel::O2 | ResourceModel::O3);
        if !shared || environment.formula != Formula::Corrected {
            return Err(Unrated::Order);
        }
        Ok(Self { environment, channels: Vec::new(), next_id: 0 })
    }

    /// Admits `asked`, or says why not and leaves the table unchanged.
    pub fn request(&mut self, asked: RateRequest) -> Decision {
        match self.joined(&asked) {
            Ok(bound) if bound <= asked.request.deadline() => {
                let id = AdmissionId(self.next_id);
                self.next_id += 1;
                self.channels.push((id, asked));
                Decision::Admitted { id, priority: 0, bound }
            }
            Ok(bound) => {
                let late = bound.saturating_sub(asked.request.deadline());
                Decision::Refused(AdmissionRefusal::late(late, Claimant::Newcomer))
            }
            Err(refusal) => Decision::Refused(refusal),
        }
    }

    /// Gives up a reservation; `false` if there is none.
    pub fn release(&mut self, id: AdmissionId) -> bool {
        let before = self.channels.len();
        self.channels.retain(|(other, _)| *other != id);
        self.channels.len() < before
    }

    /// From now on the messages of those channels arrive so early. Answers whether that is new.
    pub fn arrive(&mut self, early: &BTreeMap<AdmissionId, Early>) -> bool {
        arrive(self.channels.iter_mut().map(|(id, asked)| (*id, asked)), early)
    }

    /// The least deadline that could be promised in place of that of `asked`.
    pub fn least_deadline(&self, asked: &RateRequest) -> Result<Span, AdmissionRefusal> {
        self.joined(asked)
    }

    /// Every bound.
    pub fn bounds(&self) -> Vec<Bound> {
        let Ok((shared, together)) = self.all(None) else { return Vec::new() };
        let of = |(place, (id, asked)): (usize, &(AdmissionId, RateRequest))| {
            let bound = together.of(place).unwrap_or(Span::MAX);
            let service = span(shared.demand(&self.environment, &asked.request));
            let wait = span(shared.wait.picoseconds());
            let rest = bound.saturating_sub(service).saturating_sub(wait);
            let interference = rest.min(span(self.above(&shared, bound)));
            Bound {
                id: *id,
                priority: 0,
                level: None,
                deadline: asked.request.deadline(),
                bound,
                wait,
                service,
                higher: rest.saturating_sub(interference),
                interference,
                head_start: Span::ZERO,
            }
        };
        self.channels.iter().enumerate().map(of).collect()
    }

    /// `W` and `S` of a request, as if it were admitted now.
    pub fn terms(&self, asked: &RateRequest) -> Result<(Breakdown, Breakdown), AdmissionRefusal> {
        let shared = self.shared(Some(asked)).map_err(refused)?;
        let service = shared.service(&self.environment, &asked.request);
        Ok((shared.wait, service))
    }

    /// The bound of `asked` beside the admitted channels, of which all keep their deadlines.
    fn joined(&self, asked: &RateRequest) -> Result<Span, AdmissionRefusal> {
        let buffers = asked.request.buffers().map(|buffers| Buffers { waits: false, ..buffers });
        let request = buffers.map_or(asked.request, |buffers| asked.request.with_buffers(buffers));
        // As far as buffers are concerned handlers work ahead.
        let ahead = Environment { ahead: true, ..self.environment.clone() };
        buffers::check(&ahead, &request).map_err(refused)?;
        let (_, together) = self.all(Some(asked)).map_err(refused)?;
        let endless = || AdmissionRefusal::endless(Claimant::Newcomer);
        for (place, (id, admitted)) in self.channels.iter().enumerate() {
            let bound = together.of(place).ok_or_else(endless)?;
            let late = bound.saturating_sub(admitted.request.deadline());
            if !late.is_zero() {
                return Err(AdmissionRefusal::late(late, Claimant::Channel(*id)));
            }
        }
        together.of(self.channels.len()).ok_or_else(endless)
    }

    /// The part of bounds that all channels have in common, with one more.
    fn shared(&self, one: Option<&RateRequest>) -> Result<Shared, Impossible> {
        let all = self.channels.iter().map(|(_, asked)| asked).chain(one);
        let none = Population::of_best_effort(&self.environment);
        let population = all.fold(none, |all, asked| all.with(&self.environment, &asked.request));
        let below = Lower::of_best_effort(&self.environment).found(&self.environment, &population);
        Shared::new(&self.environment, &Population { below: Some(below), ..population })
    }

    /// All arrivals after `W`, with one more at the end of the channels.
    fn all(&self, one: Option<&RateRequest>) -> Result<(Shared, Together), Impossible> {
        let shared = self.shared(one)?;
        let asked = self.channels.iter().map(|(_, asked)| asked).chain(one);
        let of = |asked: &RateRequest| {
            let service = shared.demand(&self.environment, &asked.request);
            let service = u64::try_from(service).map(Span::from_ps).map_err(|_| NO_END)?;
            let own = Coming::of(&asked.request, service, asked.early.by);
            Ok(Coming { ahead: asked.early.ahead, ..own })
        };
        let above = shared.activations.iter().map(|task| {
            let (service, interval) = (span(task.service()), Span::from_ps(task.interval()));
            Ok(Coming { service, interval, early: Span::ZERO, ahead: 0 })
        });
        let all = asked.map(of).chain(above).collect::<Result<Vec<_>, Impossible>>()?;
        let together = Together::new(span(shared.constant()), all);
        Ok((shared, together))
    }

    /// Work above the handlers in a window of that length.
    fn above(&self, shared: &Shared, window: Span) -> u128 {
        let tasks = shared.activations.iter().map(|task| task.demand(window.as_ps()));
        tasks.fold(shared.bursts, u128::saturating_add)
    }
}

/// Messages that take longer than any time.
const NO_END: Impossible = (Scarce::Cpu, Deficit::Unbounded, Reason::Overload);

#[cfg(test)]
mod tests {
    use laxity_qos::channel::Role;
    use laxity_qos::traffic::TrafficSpec;
    use laxity_units::Bytes;

    use super::*;
    use crate::Request;
    use crate::rates::Pays;
    use crate::tests::{decided, of_round_figures};

    fn us(us: u64) -> Span {
        Span::from_us(us)
    }

    /// 20 us for a packet of 1000 B on the link, 10 to make one, 2 to start it and 1 to hear of its
    /// completion.
    fn table() -> UnheldHost {
        let environment = of_round_figures(ResourceModel::O1, Span::from_ns(20));
        UnheldHost::new(environment).expect("it is a host")
    }

    fn asks(interval: u64, deadline: u64, early: Early) -> RateRequest {
        let size = Bytes::new(1000);
        let spec = TrafficSpec { max_message: size, min_message: size, burst: 1, min_interval: us(interval) };
        let request = Request::new(spec, us(deadline)).unwrap();
        RateRequest { request, level: 0, group: None, pays: Pays::Everywhere, early, whole: true }
    }

    fn bounds(table: &UnheldHost) -> Vec<Span> {
        table.bounds().into_iter().map(|bound| bound.bound).collect()
    }

    /// The table has the bound of channels that share a level by hand, as long as each has one message in the
    /// time.
    #[test]
    fn messages_on_time_have_the_bound_of_one_level() {
        let environment = of_round_figures(ResourceModel::O1, Span::from_ns(20));
        let environment = Environment { levels: Some(2), ..environment };
        let mut level = crate::AdmissionTable::new(environment).expect("it is a host");
        let mut table = table();
        for interval in [1000, 1200, 1500] {
            let asked = asks(interval, 1000, Early::default());
            decided::admitted(table.request(asked));
            decided::admitted(level.request(asked.request.on_level(0)));
        }
        let by_level: Vec<Span> = level.bounds().into_iter().map(|bound| bound.bound).collect();
        assert_eq!(bounds(&table), by_level);
        let [first, ..] = table.bounds()[..] else { panic!("three channels") };
        assert_eq!(first.wait + first.service + first.higher + first.interference, first.bound);
    }

    /// A message that arrives 1 ms early has the next one of its channel behind it, and a message ahead is
    /// one more: each takes the time of one.
    #[test]
    fn early_messages_are_in_the_way_of_others() {
        let bound = |early| {
            let mut table = table();
            decided::admitted(table.request(asks(5000, 5000, Early::default())));
            decided::admitted(table.request(asks(1000, 1000, early)));
            bounds(&table)
        };
        let on_time = bound(Early::default());
        let alone = {
            let mut table = table();
            decided::admitted(table.request(asks(5000, 5000, Early::default())));
            bounds(&table)[0]
        };
        let each = on_time[0] - alone;
        assert_eq!(bound(Early { by: us(1000), ahead: 0 })[0], on_time[0] + each);
        assert_eq!(bound(Early { by: us(1), ahead: 3 })[0], on_time[0] + each * 3);
        // However early, a channel is no hindrance to itself.
        assert_eq!(bound(Early { by: us(1000), ahead: 2 })[1], on_time[1]);
    }

    /// The newcomer is refused for its own deadline, for that of another channel, for want of a buffer, and
    /// for want of time.
    #[test]
    fn a_refusal_says_for_whom() {
        let mut table = table();
        let (first, bound) = decided::admitted(table.request(asks(1000, 1000, Early::default())));
        let own = decided::refused(table.request(asks(1000, 1, Early::default())));
        assert_eq!((own.claimant, own.resource), (Claimant::Newcomer, Scarce::Deadline));
        assert!(table.release(first) && !table.release(first));
        let tight = asks(1000, bound.as_ps().div_ceil(1_000_000), Early::default());
        let (first, _) = decided::admitted(table.request(tight));
        let other = decided::refused(table.request(asks(1000, 1000, Early::default())));
        assert_eq!(other.claimant, Claimant::Channel(first));
        table.release(first);
        let room = Buffers { messages: 2, packets: 1, waits: true };
        let asked = asks(1000, 1000, Early { by: Span::ZERO, ahead: 1 });
        let spec = TrafficSpec { burst: 2, ..*asked.request.spec() };
        let request = Request::new(spec, us(1000)).unwrap().with_buffers(room);
        let buffers = decided::refused(table.request(RateRequest { request, ..asked }));
        assert_eq!((buffers.resource, buffers.deficit), (Scarce::Packets, Deficit::Places(1)));
        let endless = decided::refused(table.request(asks(20, 1000, Early::default())));
        assert_eq!(endless.deficit, Deficit::Unbounded);
        assert!(table.bounds().is_empty());
    }

    /// A message that ends here takes no link.
    #[test]
    fn what_ends_here_takes_the_cpu_only() {
        let mut table = table();
        let asked = asks(1000, 1000, Early::default());
        let (_, sent) = decided::admitted(table.request(asked));
        let mut table = self::table();
        let ends = RateRequest { request: asked.request.at(Role::Receive), ..asked };
        let (_, taken) = decided::admitted(table.request(ends));
        assert!(taken < sent, "{taken} of {sent}");
        let (wait, service) = table.terms(&ends).unwrap();
        assert_eq!(span(wait.picoseconds() + service.picoseconds()), taken);
    }
}
