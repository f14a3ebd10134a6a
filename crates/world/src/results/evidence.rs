//! Whether a run is evidence of anything.
//!
//! A channel without traffic misses no deadline, exceeds no bound and leaves the CPU free, so an
//! empty run looks better than any other. Claims are checked for traffic in the channels that they
//! name ([`crate::metric::went`]). A run without claims must still carry its channels within their
//! bounds, and that is open where none had traffic. A message that was transmitted and lost behind
//! the last transmission was not carried.

use super::{Channel, Run};

impl Channel {
    /// Whether anything of it came to its end in the window: messages at its receiver, or packets
    /// at the end of the last link where no host receives.
    ///
    /// A link behind the last transmission can lose all that was transmitted.
    pub(crate) fn carried(&self) -> bool {
        match self.delivered {
            Some(delivered) => delivered > 0,
            None => self.packets > 0 || self.completed > 0,
        }
    }

    /// Whether it has a bound that no message was ever held against, in the whole run.
    fn is_untried(&self) -> bool {
        let bound = self.bound.or(self.delivery_bound);
        let worst = match self.delivered {
            Some(_) => self.delivery_worst,
            None => self.worst.or(self.delivery_worst),
        };
        bound.is_some() && self.refused.is_none() && worst.is_none()
    }

    /// Whether it sent messages with a deadline, of which none came to its end in the window.
    ///
    /// Such a channel need not miss a deadline: impairments of the file may have lost its messages,
    /// or the deadlines lie behind the end of the run.
    fn is_in_vain(&self) -> bool {
        let guaranteed = self.deadline.is_some() && self.refused.is_none() && !self.misses_expected;
        guaranteed && self.messages > 0 && !self.carried()
    }
}

impl Run {
    /// Whether it only counted admissions, without a run.
    fn is_count(&self) -> bool {
        self.channels.is_empty() && self.figures.contains_key("admitted")
    }

    /// Whether its window was empty: no traffic was offered or carried, and no application
    /// computed.
    pub fn is_idle(&self) -> bool {
        let sent = self.channels.iter().any(|channel| channel.messages > 0 || channel.carried());
        !sent && !self.has_computed() && !self.is_count()
    }

    fn has_computed(&self) -> bool {
        self.computations.iter().any(|computation| computation.budgets > 0 || computation.progress > 0.0)
    }

    /// Why it does not show that its channels are carried within their bounds; `None` if it does.
    pub fn shows_nothing(&self) -> Option<String> {
        if self.is_count() {
            return None;
        }
        if !self.channels.iter().any(Channel::carried) && !self.has_computed() {
            return Some(match self.channels.iter().map(|channel| channel.messages).sum() {
                0 => "nothing was sent in the window".into(),
                sent @ 1u64.. => {
                    format!("nothing was carried in the window, of {sent} messages that were sent")
                }
            });
        }
        if let Some(untried) = self.channels.iter().find(|channel| channel.is_untried()) {
            let name = &untried.name;
            return Some(format!("channel `{name}` has a bound, and carried nothing that could keep it"));
        }
        let Channel { name, messages, .. } = self.channels.iter().find(|channel| channel.is_in_vain())?;
        Some(format!("channel `{name}` has a deadline, and carried none of its {messages} messages"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Computation;

    fn run(channels: &[Channel]) -> Run {
        Run { channels: channels.to_vec(), ..Run::default() }
    }

    #[test]
    fn a_run_shows_something_once_something_was_carried() {
        let (silent, lost) = (Channel::default(), Channel { messages: 3, ..Channel::default() });
        let carried = Channel { messages: 3, packets: 1, ..Channel::default() };
        assert!(run(&[]).is_idle() && run(std::slice::from_ref(&silent)).is_idle());
        assert!(run(std::slice::from_ref(&silent)).shows_nothing().unwrap().contains("nothing was sent"));
        assert!(!run(std::slice::from_ref(&lost)).is_idle());
        assert!(run(std::slice::from_ref(&lost)).shows_nothing().unwrap().contains("of 3 messages"));
        assert_eq!(run(&[silent, lost, carried]).shows_nothing(), None);
    }

    #[test]
    fn a_bound_shows_something_once_it_was_tried() {
        let other = Channel { packets: 1, ..Channel::default() };
        let open = Channel { name: "film".into(), bound: Some(0.1), ..Channel::default() };
        assert!(run(&[other.clone(), open.clone()]).shows_nothing().unwrap().contains("`film`"));
        let tried = Channel { worst: Some(0.05), ..open.clone() };
        assert_eq!(run(&[other.clone(), tried]).shows_nothing(), None);
        let refused = Channel { refused: Some(crate::results::RefusedChannel::default()), ..open };
        assert_eq!(run(&[other, refused]).shows_nothing(), None);
    }

    /// A channel with a receiver has carried what its receiver has, and not what left the last
    /// adapter.
    #[test]
    fn what_was_transmitted_and_not_delivered_was_not_carried() {
        let sent = Channel { messages: 3, packets: 3, completed: 3, ..Channel::default() };
        let (lost, came) =
            (Channel { delivered: Some(0), ..sent.clone() }, Channel { delivered: Some(1), ..sent.clone() });
        assert!(run(std::slice::from_ref(&lost)).shows_nothing().unwrap().contains("of 3 messages"));
        assert_eq!(run(&[lost.clone(), came.clone()]).shows_nothing(), None);
        assert_eq!(run(&[sent]).shows_nothing(), None);
        // The response time ends with the last transmission.
        let bounds = [(Some(0.1), None), (None, Some(0.1)), (Some(0.1), Some(0.1))];
        for (bound, delivery_bound) in bounds {
            let lost = Channel { bound, delivery_bound, worst: Some(0.05), ..lost.clone() };
            assert!(run(&[lost.clone(), came.clone()]).shows_nothing().unwrap().contains("has a bound"));
            let tried = Channel { delivery_worst: Some(0.07), ..lost };
            assert_eq!(run(&[tried, came.clone()]).shows_nothing(), None);
        }
    }

    #[test]
    fn a_deadline_shows_nothing_if_no_message_came() {
        let came = Channel { messages: 3, delivered: Some(1), ..Channel::default() };
        let vain = Channel { messages: 3, deadline: Some(0.1), delivered: Some(0), ..Channel::default() };
        let says = |channel: &Channel| run(&[came.clone(), channel.clone()]).shows_nothing();
        assert!(says(&vain).unwrap().contains("none of its 3 messages"));
        let refused = Some(crate::results::RefusedChannel::default());
        for excused in [
            Channel { misses_expected: true, ..vain.clone() },
            Channel { refused, ..vain.clone() },
            Channel { messages: 0, ..vain.clone() },
            Channel { deadline: None, ..vain },
        ] {
            assert_eq!(says(&excused), None);
        }
    }

    #[test]
    fn what_computes_or_counts_shows_something_without_messages() {
        let computation = Computation { progress: 0.5, ..Computation::default() };
        let computing = Run { computations: vec![computation], ..Run::default() };
        let count = Run { figures: [("admitted".to_string(), 0.0)].into(), ..Run::default() };
        for run in [computing, count] {
            assert!(!run.is_idle() && run.shows_nothing().is_none());
        }
    }
}
