//! The state of a channel at its source, which drives the channel.

use laxity_units::Time;

use crate::contract::ChannelContract;
use crate::identity::{Epoch, NodeId, Owner, Port, Program, Version};
use crate::settings::Settings;

/// A channel at its source.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) program: Program,
    pub(crate) owner: Owner,
    pub(crate) port: Port,
    pub(crate) route: Box<[NodeId]>,
    /// The number of the last message.
    pub(crate) sequence: u32,
    /// The last version that was asked for.
    pub(crate) last: Version,
    pub(crate) state: State,
    /// When the manager's timer for it is set.
    pub(crate) timer: Time,
}

#[derive(Debug, Clone)]
pub(crate) enum State {
    /// The request is under way.
    Opening { contract: ChannelContract, attempts: Attempts },
    /// The channel is in use.
    Established(Established),
    /// The release is under way.
    Closing {
        attempts: Attempts,
        /// The program awaits the end.
        told: bool,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct Established {
    pub(crate) version: Version,
    /// The life of the destination that committed it.
    pub(crate) life: Epoch,
    pub(crate) contract: ChannelContract,
    /// The last answer of the destination.
    pub(crate) heard: Time,
    /// The destination answered to a refresh with this version.
    pub(crate) confirmed: bool,
    /// The number of the last refresh that was answered. A late copy of an answer says nothing of
    /// the leases now.
    pub(crate) answered: u32,
    /// When the last refresh was sent.
    pub(crate) sent: Time,
    /// Refreshes without an answer.
    pub(crate) unheard: u32,
    pub(crate) refresh: Time,
    /// The contract that is being established beside.
    pub(crate) change: Option<(Version, ChannelContract, Attempts)>,
    /// The contract before, and when the last message under it is delivered.
    pub(crate) retiring: Option<(Version, Time)>,
}

/// Retransmissions of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempts {
    /// How many there were.
    pub(crate) made: u32,
    /// When the next one is due.
    pub(crate) next: Time,
    /// When the request is given up.
    pub(crate) until: Time,
}

impl Attempts {
    /// The first attempt is made now.
    pub(crate) fn begin(now: Time, settings: &Settings, jitter: u64) -> Self {
        let until = now.saturating_add(settings.patience);
        let mut attempts = Self { made: 0, next: now, until };
        attempts.made(now, settings, jitter);
        attempts
    }

    /// Another attempt is made now; `jitter` is any number.
    pub(crate) fn made(&mut self, now: Time, settings: &Settings, jitter: u64) {
        self.next = retry_at(now, settings, self.made, jitter);
        self.made += 1;
    }

    /// When there is something to do.
    pub(crate) fn due(&self) -> Time {
        self.next.min(self.until)
    }
}

/// When an attempt is due after `made` others.
pub(crate) fn retry_at(now: Time, settings: &Settings, made: u32, jitter: u64) -> Time {
    let interval = settings.backoff(made);
    let part = jitter % (u64::from(settings.jitter) + 1);
    now.saturating_add(interval).saturating_add(interval.scale_floor(part, 256))
}

impl Call {
    /// When there is something to do.
    pub(crate) fn due(&self, settings: &Settings) -> Time {
        match &self.state {
            State::Opening { attempts, .. } | State::Closing { attempts, .. } => attempts.due(),
            State::Established(established) => {
                let change = established.change.map_or(Time::MAX, |(_, _, attempts)| attempts.due());
                let retiring = established.retiring.map_or(Time::MAX, |(_, at)| at);
                let lost = established.heard.saturating_add(settings.lease);
                established.refresh.min(change).min(retiring).min(lost)
            }
        }
    }
}
