//! The reference's side of clock synchronisation.

use std::collections::VecDeque;

use laxity_units::Time;

use crate::message::ClockMessage;

/// Answers requests for the time of a reference clock.
///
/// `A` is the address of a node, which the caller chooses. A request waits for its reply to be
/// sent. The reply has both instants, so that the wait costs no accuracy. Requests beyond the
/// capacity are dropped and counted: many requests take no more memory than few.
#[derive(Debug, Clone)]
pub struct Responder<A> {
    waiting: VecDeque<(A, u64, Time)>,
    capacity: usize,
    dropped: u64,
}

impl<A: Copy> Responder<A> {
    /// A responder that holds at most `capacity` requests.
    pub fn new(capacity: usize) -> Self {
        Self { waiting: VecDeque::with_capacity(capacity), capacity, dropped: 0 }
    }

    /// Takes a message that arrived from `from` when the local clock showed `now`; replies are
    /// ignored.
    pub fn handle(&mut self, now: Time, from: A, message: ClockMessage) {
        if let ClockMessage::Request { number } = message {
            if self.waiting.len() < self.capacity {
                self.waiting.push_back((from, number, now));
            } else {
                self.dropped += 1;
            }
        }
    }

    /// The next reply, which leaves now, and its destination.
    ///
    /// A request that arrived after `now` by the local clock is dropped: the clock stepped back in
    /// between.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(A, ClockMessage)> {
        while let Some((to, number, received)) = self.waiting.pop_front() {
            if received <= now {
                return Some((to, ClockMessage::Reply { number, received, answered: now }));
            }
            self.dropped += 1;
        }
        None
    }

    /// Requests that were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_answered_in_order_and_in_bounded_memory() {
        let (mut responder, at) = (Responder::new(2), Time::from_ns);
        responder.handle(at(5), 'b', ClockMessage::Reply { number: 8, received: at(1), answered: at(2) });
        for (number, from) in [(7, 'a'), (8, 'b'), (9, 'c')] {
            responder.handle(at(number), from, ClockMessage::Request { number });
        }
        let reply = |number| ClockMessage::Reply { number, received: at(number), answered: at(20) };
        assert_eq!(responder.poll_transmit(at(20)), Some(('a', reply(7))));
        assert_eq!(responder.poll_transmit(at(20)), Some(('b', reply(8))));
        assert_eq!((responder.poll_transmit(at(20)), responder.dropped()), (None, 1));
    }

    #[test]
    fn a_clock_that_steps_back_answers_what_follows() {
        let (mut responder, at) = (Responder::new(2), Time::from_ns);
        responder.handle(at(10), 'a', ClockMessage::Request { number: 1 });
        responder.handle(at(4), 'b', ClockMessage::Request { number: 2 });
        let reply = ClockMessage::Reply { number: 2, received: at(4), answered: at(4) };
        assert_eq!((responder.poll_transmit(at(4)), responder.dropped()), (Some(('b', reply)), 1));
    }
}
