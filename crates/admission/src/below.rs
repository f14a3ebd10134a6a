//! The wait of a channel for work below its level, where the file gives the levels.
//!
//! # The problem
//!
//! `W` of [`super::o1`] and its siblings is one value for all channels, since EDF needs that
//! ([`super::table`]). Under fixed priorities each level has a `W` of its own. The lowest level
//! waits for best effort only.
//!
//! # The CPU
//!
//! Take a message and its level as in [`super::trajectory`]: the level is every message of the same
//! or a higher priority. At `s` all level messages released before were through the CPU. So the
//! block in progress at `s`, if there is one, is of a channel below the level, of best effort, or of
//! an application that computes what is left. Without such work there is no block and no switch to
//! it. A handler that works ahead has early messages, which stand below all levels. Where handlers
//! do that, the block can be of any channel.
//!
//! The second phase keeps the packets that the adapter has at `τ`, of any channel. A packet of the
//! level that was made in `(s, τ]` is charged for the CPU, and may be with the adapter at `τ`.
//!
//! # A link alone
//!
//! Where the CPU takes no time, only the link remains, with one packet at a time: a port of a
//! switch, or a host without costs. There `s` is the last instant, no later than the selection of
//! the message's last packet, when no level packet released before waited or was on the link. From
//! then on a level packet waits or is on the link. A lower packet would be selected only where no
//! level packet is there, which is a later such instant. So the link has one lower packet at most,
//! the packet that it has at `s`, and
//!
//! ```text
//! W = max L(n) over the packets n of lower channels and of best effort.                   (1)
//! ```
//!
//! Every level packet sent since `s` was released at `s` or later, so (1) of [`super::trajectory`]
//! holds with this `W`. Where packets may leave ahead of their time, an early packet of any channel
//! can be on the link at `s`.
//!
//! The link does not stop for a higher packet while it sends the last packet of a message:
//! [`super::response::selected`] has the response time by the selection of that packet.

use laxity_units::Bytes;

use super::environment::{Counting, Environment, Formula, Request, ResourceModel};
use super::population::Population;

/// Work in progress when the work of a level begins, at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Below {
    /// The longest block of a lower handler, switches excluded; `None` without such a handler.
    pub(super) block: Option<u128>,
    /// The largest packet that the adapter may have; `None` without one.
    pub(super) packet: Option<Bytes>,
}

/// The work below a level.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lower {
    population: Population,
    /// There is some.
    any: bool,
}

impl Lower {
    /// Without channels.
    pub(super) fn of_best_effort(environment: &Environment) -> Self {
        let any = !environment.best_effort.is_empty() || !environment.slice.is_zero();
        Self { population: Population::of_best_effort(environment), any }
    }

    /// This and a channel.
    pub(super) fn with(self, environment: &Environment, request: &Request) -> Self {
        Self { population: self.population.with(environment, request), any: true }
    }

    /// The work in progress that the level above it finds, beside `all` channels.
    pub(super) fn found(&self, environment: &Environment, all: &Population) -> Below {
        let block = match environment.ahead {
            true => Some(all.block),
            false => self.any.then_some(self.population.block),
        };
        let packet = match is_link_alone(environment, all) && !environment.early {
            true => self.population.largest_packet,
            false => all.largest_packet,
        };
        Below { block, packet }
    }
}

/// Whether the CPU takes no time for `all` channels, and their packets have the link one by one.
pub(super) fn is_link_alone(environment: &Environment, all: &Population) -> bool {
    let by_packet = environment.depth == 1 && !environment.ahead;
    is_without_cpu(environment, all) && by_packet
}

/// Whether the CPU takes no time for `all` channels, on a host with one link.
pub(super) fn is_without_cpu(environment: &Environment, all: &Population) -> bool {
    let host = &environment.host;
    let at_once = matches!(environment.model, ResourceModel::Ideal | ResourceModel::O1)
        && !matches!(environment.counting, Counting::Polls(_));
    let calls = [host.switch(), host.interrupt, host.link_scheduling];
    let without_cpu = all.block == 0 && calls.iter().all(|cost| cost.is_zero());
    // The timers of a host without costs are there, and take no time.
    let above = environment.interference.iter().any(|it| !it.cost.is_zero() || !it.adapter.is_zero());
    let alone = environment.link.is_alone() && environment.others.is_empty() && !above;
    environment.formula == Formula::Corrected && at_once && without_cpu && alone
}
