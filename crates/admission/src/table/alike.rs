//! Copies of one channel by the thousand, each where a request of its own would put it.
//!
//! A request looks at all channels, so a table that is filled with copies one by one takes the
//! square of their number: 100 000 took a minute and a half. Of copies that change no common
//! property, the next has the same answer as the last as long as the deciding values hold.
//!
//! Under `D_order` a newcomer's place is found from the lowest channel up. A channel that tolerates
//! it by the kept demand at its own deadline tolerates `n` of them if it has that much to spare
//! there `n` times; so do copies that stand there by then. The first that does not is looked at
//! more closely, with the channels above it, and copies below it do not change that. With the
//! newest of them on top, they do not change the wait of the next either.
//!
//! By the demand test, where lines (`demand/lines.rs`) say that all `n` keep their deadlines
//! together, fewer do. The least deadline that is found for the next is then no later than its own:
//! the walk's since none that is feasible lies below that, and the lines' since fewer ask for less.
//! A horizon with all of them is one with fewer, too.

use super::super::demand::{Host, Stream, feasible_by_lines};
use super::*;

impl AdmissionTable {
    /// How many copies of `request`, and of `most`, would surely be admitted one after the other:
    /// computed at once, and there may be more.
    pub fn alike(&self, request: &Request, most: u64) -> u64 {
        self.several(request, most).map_or(0, |several| several.number)
    }

    /// Admits `number` copies of `request`, no more than [`alike`](Self::alike) says: the same ones
    /// in the same places as one by one.
    pub fn request_alike(&mut self, request: Request, number: u64) {
        if number == 0 {
            return;
        }
        let several = self.several(&request, number).filter(|several| several.number == number);
        let Several { place, task, .. } = several.expect("no more than was said");
        self.found_for = self.found_with(&request);
        self.population = self.population.with(&self.environment, &request);
        let number = number as usize;
        let first = self.next_id;
        self.next_id += number as u64;
        let above = self.above() + place;
        let mut channel = Channel { id: AdmissionId(first), request, at_deadline: 0 };
        let copies: Vec<Channel> = match self.test {
            Test::DOrder => {
                let deadline = channel.deadline();
                let each = task.demand(deadline);
                channel.at_deadline = self.at_own_deadline(above, &task, deadline);
                for lower in &mut self.channels[place..] {
                    lower.at_deadline += number as u128 * task.demand(lower.deadline());
                }
                // The newest on top.
                let copy = |n: usize| Channel {
                    id: AdmissionId(first + (number - 1 - n) as u64),
                    at_deadline: channel.at_deadline + n as u128 * each,
                    ..channel
                };
                (0..number).map(copy).collect()
            }
            Test::Demand => {
                let stream = Stream::new(&task, channel.deadline());
                self.streams.splice(place..place, std::iter::repeat_n(stream, number));
                (0..number).map(|n| Channel { id: AdmissionId(first + n as u64), ..channel }).collect()
            }
        };
        self.channels.splice(place..place, copies);
        self.tasks.splice(above..above, std::iter::repeat_n(task, number));
    }

    fn several(&self, request: &Request, most: u64) -> Option<Several> {
        self.within_reach(request).ok()?;
        if self.is_through(request) {
            return None;
        }
        let shared = self.shared_with(request).ok().filter(|shared| self.shared.as_ref() == Some(shared))?;
        let task = Task::new(request.spec().min_interval.as_ps(), shared.demand(&self.environment, request))?;
        match self.test {
            // The channels of a level change with each.
            Test::DOrder if self.environment.levels.is_some() => None,
            Test::DOrder => self.several_by_order(&shared, request, task, most),
            Test::Demand => self.several_by_demand(&shared, request, task, most),
        }
    }

    fn several_by_order(&self, shared: &Shared, request: &Request, task: Task, most: u64) -> Option<Several> {
        let (above, channels) = self.tasks.split_at(self.above());
        // The same looks in the same order as a request takes them.
        let (effort, due) = (Effort::of(MOST_LOOKS), request.deadline().as_ps());
        let own = shared.constant().saturating_add(task.service());
        response_or_line(own, above, due, &effort).ok()?;
        let (mut number, mut place) = (u128::from(most), 0);
        for (at, channel) in self.channels.iter().enumerate().rev() {
            let deadline = channel.deadline();
            let spare = u128::from(deadline).checked_sub(channel.at_deadline);
            let each = task.demand(deadline);
            if let Some(spare) = spare.filter(|spare| *spare >= each) {
                number = number.min(spare.checked_div(each).unwrap_or(number));
                continue;
            }
            let higher: Vec<Task> = above.iter().chain(&channels[..at]).copied().chain([task]).collect();
            let theirs = shared.constant().saturating_add(channels[at].service());
            if response_or_line(theirs, &higher, deadline, &effort).is_ok() {
                // It has to be looked at closely for each.
                return None;
            }
            place = at + 1;
            break;
        }
        let higher = &self.tasks[..above.len() + place];
        response_or_line(own, higher, due, &effort).ok()?;
        // The lowest copy has all others above it.
        let spare = u128::from(due).saturating_sub(self.at_own_deadline(higher.len(), &task, due));
        let others = spare.checked_div(task.demand(due)).unwrap_or(number);
        number = number.min(others.saturating_add(1));
        Some(Several { number: number as u64, place, task })
    }

    fn several_by_demand(
        &self,
        shared: &Shared,
        request: &Request,
        task: Task,
        most: u64,
    ) -> Option<Several> {
        let deadline = request.deadline().as_ps();
        let effort = Effort::of(0);
        let activations = &self.tasks[..self.above()];
        let host = Host { constant: shared.constant(), stairs: &[], activations, effort: &effort };
        let stream = Stream::new(&task, deadline);
        let keep = |number: u64| {
            let mut all = self.streams.clone();
            all.extend(std::iter::repeat_n(stream, number as usize));
            host.horizon(all.iter()).is_some() && feasible_by_lines(host, &all)
        };
        let (mut few, mut many) = (0, most + 1);
        while many - few > 1 {
            let middle = few + (many - few) / 2;
            *(if keep(middle) { &mut few } else { &mut many }) = middle;
        }
        let place = self.channels.partition_point(|channel| channel.deadline() <= deadline);
        Some(Several { number: few, place, task })
    }
}

/// Copies that are admitted together.
struct Several {
    number: u64,
    /// Where each of them goes; under `D_order` above those before it.
    place: usize,
    task: Task,
}

#[cfg(test)]
mod tests {
    use laxity_units::{Bytes, Span};

    use super::*;
    use crate::Formula;
    use crate::tests::{mc68040, spec};
    use crate::{Above, Decision, Interference, ResourceModel};
    use laxity_qos::traffic::TrafficSpec;

    /// The same table by requests one by one and by copies at once: all that there is to it,
    /// places, numbers and what is kept of each.
    #[test]
    fn copies_at_once_are_those_one_by_one() {
        let mut at_once = 0;
        for (case, test) in (0..400u64).flat_map(|case| [(case, Test::DOrder), (case, Test::Demand)]) {
            // Sets that differ in everything, by a generator of numbers that is its own.
            let mut state = case * 0x9E37_79B9 + 1;
            let mut draw = |most: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % most
            };
            let model = [ResourceModel::Ideal, ResourceModel::O1, ResourceModel::O2][draw(3) as usize];
            let mut environment = mc68040(model, 4, Formula::Corrected);
            if draw(2) == 0 {
                environment.interference = vec![Interference {
                    above: Above::Interrupt,
                    cost: Span::from_us(1 + draw(200)),
                    adapter: Span::ZERO,
                    burst: 1 + draw(3) as u32,
                    interval: Span::from_ms(1 + draw(30)),
                }];
            }
            environment.levels = (test == Test::DOrder && draw(6) == 0).then(|| 1 + draw(8) as u32);
            let mut table = AdmissionTable::with_test(environment, test).unwrap();
            for _ in 0..draw(8) {
                let interval = Span::from_ms(20 + draw(400));
                let deadline = interval / (1 + draw(4));
                let _ = table.request(Request::new(spec(1 + draw(40), interval), deadline).unwrap());
            }
            let interval = Span::from_ms(100 + draw(900));
            let spec = TrafficSpec {
                max_message: Bytes::new(64 + draw(4000)),
                min_message: Bytes::new(1 + draw(64)),
                ..spec(1, interval)
            };
            let request = Request::new(spec, interval / (1 + draw(3))).unwrap();
            let mut one_by_one = table.clone();
            for _ in 0..2000 {
                let most = table.alike(&request, 1 + draw(700));
                table.request_alike(request, most);
                for _ in 0..most {
                    assert!(matches!(one_by_one.request(request), Decision::Admitted { .. }), "case {case}");
                }
                at_once += most;
                for (a, b) in table.channels.iter().zip(&one_by_one.channels) {
                    assert_eq!(
                        (a.id, a.request, a.at_deadline),
                        (b.id, b.request, b.at_deadline),
                        "case {case}"
                    );
                }
                assert!(format!("{table:?}") == format!("{one_by_one:?}"), "case {case}");
                let next = table.request(request);
                assert_eq!(next, one_by_one.request(request));
                if let Decision::Refused(_) = next {
                    assert_eq!(table.alike(&request, 10), 0, "case {case}");
                    break;
                }
            }
        }
        assert!(at_once > 10_000, "{at_once}");
    }
}
