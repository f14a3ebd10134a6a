//! A script: a list of messages, recorded or worked out as a worst case, to be sent again.
//!
//! Other sources draw or compute their times. A search for the worst case ends in times without a
//! rule, and its reader needs to replay them.

use std::sync::Arc;

use laxity_engine::Stream;
use laxity_units::{Span, Time};

use super::{Arrival, Envelope, SourceError};

/// Parameters of a [`Script`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptParameters {
    /// The messages, not decreasing in time; shared and not copied.
    pub messages: Arc<[Arrival]>,
    /// Origin of all times in the list.
    pub start: Time,
}

impl ScriptParameters {
    /// At most one time per smallest gap between two times, and as many messages as at the fullest of them.
    pub(super) fn envelope(&self) -> Option<Envelope> {
        let mut batch = 0u32;
        let mut every = Span::MAX;
        for together in self.messages.chunk_by(|a, b| a.at == b.at) {
            batch = batch.max(u32::try_from(together.len()).ok()?);
        }
        for pair in self.messages.windows(2).filter(|pair| pair[0].at < pair[1].at) {
            every = every.min(pair[1].at.since(pair[0].at));
        }
        Some(Envelope { batch, every, extra: 0 })
    }
}

/// Sends the messages of a list.
#[derive(Debug, Clone)]
pub struct Script {
    parameters: ScriptParameters,
    next: usize,
}

impl Script {
    /// The source with `parameters`; it is deterministic.
    pub fn new(parameters: ScriptParameters, _: Stream) -> Result<Script, SourceError> {
        let messages = &parameters.messages;
        if let Some(pair) = messages.windows(2).find(|pair| pair[1].at < pair[0].at) {
            let reason = format!("go back from {} to {}", pair[0].at, pair[1].at);
            return Err(SourceError::new("messages", reason, "a list in the order of its times"));
        }
        if messages.iter().any(|message| message.size.is_zero()) {
            return Err(SourceError::new("messages", "have one of no bytes", "a size of at least 1 B"));
        }
        Ok(Script { parameters, next: 0 })
    }

    /// The next message; `None` after the last of the list, or past the last instant.
    pub fn next_arrival(&mut self) -> Option<Arrival> {
        let message = self.parameters.messages.get(self.next)?;
        self.next += 1;
        let at = self.parameters.start.as_ps().checked_add(message.at.as_ps()).map(Time::from_ps)?;
        Some(Arrival { at, ..*message })
    }
}

#[cfg(test)]
mod tests {
    use laxity_engine::Seed;
    use laxity_units::Bytes;

    use super::super::{Source, SourceParameters};
    use super::*;

    fn script(messages: &[(u64, u64)]) -> ScriptParameters {
        let message =
            |&(us, size): &(u64, u64)| Arrival { at: Time::ZERO + Span::from_us(us), size: Bytes::new(size) };
        ScriptParameters { messages: messages.iter().map(message).collect(), start: Time::ZERO }
    }

    fn made(parameters: ScriptParameters) -> Result<Source, SourceError> {
        Source::new(SourceParameters::Script(parameters), Seed::new(1).stream("script"))
    }

    #[test]
    fn it_sends_what_the_list_says_from_its_start_on() {
        let start = Time::ZERO + Span::from_us(5);
        let mut source = made(ScriptParameters { start, ..script(&[(0, 7), (0, 8), (30, 9)]) }).unwrap();
        let sent: Vec<_> = std::iter::from_fn(|| source.next_arrival()).collect();
        let at = |us| Time::ZERO + Span::from_us(us);
        let expected = [(5, 7), (5, 8), (35, 9)];
        assert_eq!(sent, expected.map(|(us, size)| Arrival { at: at(us), size: Bytes::new(size) }));
    }

    #[test]
    fn a_list_out_of_order_or_of_nothing_is_refused() {
        assert_eq!(made(script(&[(5, 1), (4, 1)])).unwrap_err().reason(), "go back from 5 us to 4 us");
        assert_eq!(made(script(&[(5, 0)])).unwrap_err().reason(), "have one of no bytes");
    }

    #[test]
    fn its_envelope_is_its_smallest_gap_and_its_fullest_time() {
        let parameters = SourceParameters::Script(script(&[(0, 1), (20, 1), (20, 1), (60, 1)]));
        let expected = Envelope { batch: 2, every: Span::from_us(20), extra: 0 };
        assert_eq!(parameters.envelope(), Some(expected));
    }
}
