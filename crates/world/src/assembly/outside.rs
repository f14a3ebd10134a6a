//! The outside of a world: real software that sends into the world and receives from it.
//!
//! A simulation has no outside. The outside of an emulation is a network interface, a host on
//! another core, or the log of an earlier run. The world is the same for all, and takes an input
//! only when its clock was woken: a log of inputs and times reproduces a run.

use laxity_model::adapter::{AdapterResponse, Directive};
use laxity_qos::channel::{Dropped, Packet};
use laxity_units::{Bytes, Time};

/// An input from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// An application sends a message of `size` on `channel`, which `handle` names from then on.
    Message {
        /// The channel's place in the experiment.
        channel: usize,
        /// How long the message is.
        size: Bytes,
        /// The sender's own name for it.
        handle: u32,
    },
    /// A host that is elsewhere writes a command.
    Command {
        /// At which node.
        node: usize,
        /// The command.
        command: Directive,
    },
    /// A host that is elsewhere resets its adapter.
    Reset {
        /// At which node.
        node: usize,
    },
    /// The run is to end.
    Stop,
}

/// The fate of an input from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice<'a> {
    /// A message was taken, and has a number within its channel.
    Taken {
        /// The channel's place in the experiment.
        channel: usize,
        /// The sender's name for it.
        handle: u32,
        /// The number.
        message: u64,
    },
    /// A message was dropped when it was sent.
    Refused {
        /// The channel's place in the experiment.
        channel: usize,
        /// The sender's name for it.
        handle: u32,
        /// Why; none if the channel was not admitted.
        cause: Option<Dropped>,
    },
    /// A message reached its end, whole.
    Delivered {
        /// The channel's place in the experiment.
        channel: usize,
        /// Its number.
        message: u64,
    },
    /// A response for a host that is elsewhere.
    Response {
        /// From which node.
        node: usize,
        /// The response.
        response: AdapterResponse<&'a Packet>,
        /// An interrupt announces it.
        announced: bool,
    },
    /// The window opens, or closes: what happens between is counted.
    Window {
        /// It opens.
        opens: bool,
    },
}

/// The outside, as a world sees it.
pub trait Outside {
    /// Whether its messages have handles and their fate is reported.
    const TELLS: bool = true;

    /// The next input, if there is one.
    fn next_input(&mut self, now: Time) -> Option<Input>;

    /// The read time of the last input, which is the time of the event.
    ///
    /// A world that lags behind is at an earlier `now`. An input at `now` would have its effects
    /// too early by the lag: a frame would arrive before its delay is over. Times do not decrease
    /// from one input to the next; a time before `now` counts as `now`.
    fn read_at(&self, now: Time) -> Time {
        now
    }

    /// Reports `notice`.
    fn notice(&mut self, now: Time, notice: Notice<'_>);
}

/// No outside.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nothing;

impl Outside for Nothing {
    const TELLS: bool = false;

    fn next_input(&mut self, _now: Time) -> Option<Input> {
        None
    }

    fn notice(&mut self, _now: Time, _notice: Notice<'_>) {}
}
