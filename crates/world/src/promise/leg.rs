//! The requests of a channel to the stations of its path, one after the other.
//!
//! A request has the contract and a deadline. For rate-based links two values are passed on from
//! the stations before. The first is the rest of a burst that was paid for there (or zero, where
//! each station pays for all of it: [`Tables::pays_once`](super::table::Tables)). The second is how
//! early messages may arrive ([`Ahead`]): a message leaves by its logical arrival plus the local
//! deadline, which is at most the requested one.

use laxity_admission::{Buffers, Pays, RateRequest, ReceivingProgram, Request};
use laxity_model::network::{ImpairmentParameters, Probability};
use laxity_qos::channel::{ChannelId, CoreId, PacketOverflow, Role};
use laxity_units::Span;

use super::asked::Asked;
use super::environment::reader;
use super::table::behind;
use crate::experiment::{AdapterSpec, ChannelSpec, Experiment, Network, Placement};
use crate::traffic::ahead::Ahead;

/// The position of a channel on its path.
pub(super) struct Leg<'a> {
    experiment: &'a Experiment,
    placement: &'a Placement,
    channel: &'a ChannelSpec,
    /// A burst is paid for at the first of a row of links that are shared by rates.
    once: bool,
    hop: usize,
    pays: Pays,
    ahead: Ahead,
}

impl<'a> Leg<'a> {
    /// Where it starts.
    pub(super) fn first(
        (experiment, placement): (&'a Experiment, &'a Placement),
        channel: &'a ChannelSpec,
        once: bool,
    ) -> Self {
        let pays = behind(once, None);
        Self { experiment, placement, channel, once, hop: 0, pays, ahead: Ahead::first(experiment, channel) }
    }

    /// Its request to the station at its position, for `request` and with that role there. Past the
    /// first host it gets the buffers that it needs.
    pub(super) fn asked(&self, (node, role): (usize, Role), request: Request) -> Asked {
        let (experiment, channel) = (self.experiment, self.channel);
        let request = match role {
            Role::Send => request.with_buffers(Buffers {
                messages: channel.message_slots,
                packets: channel.packet_slots,
                waits: channel.packet_overflow == PacketOverflow::Block,
            }),
            Role::Relay => request.at(role),
            Role::Receive => match reader(experiment, channel, node) {
                Some(reader) => {
                    let work = reader.takes(channel.spec.max_message);
                    request.at(role).read_by(ReceivingProgram { work, slots: reader.slots })
                }
                None => request.at(role),
            },
        };
        let request = channel.level.map_or(request, |level| request.on_level(level.into()));
        let (level, group) = (channel.level.unwrap_or(0), channel.group);
        Asked {
            rate: RateRequest {
                request,
                level,
                group,
                pays: self.pays,
                early: match self.hop {
                    // Bursts at links by rates are paid for.
                    0 if !experiment.holds(node) => self.ahead.sent(),
                    _ => self.ahead.early(),
                },
                whole: self.whole(),
            },
            link: experiment.link_out(channel, self.hop),
            core: self.core(node),
        }
    }

    /// Whether its packets come to a link as whole messages, in order and none lost: the sender
    /// enforces contracts and waits rather than drops a packet of a message, no network loses,
    /// repeats or reorders frames, and no adapter serves packets side by side.
    fn whole(&self) -> bool {
        let orderly = |network: &Network| {
            let ImpairmentParameters { delay: _, jitter: _, loss, corruption, duplication, reordering } =
                &network.impairments;
            [*loss, *corruption, *duplication, reordering.probability]
                .iter()
                .all(|p| *p == Probability::NEVER)
        };
        let one_by_one = |adapter: &AdapterSpec| match adapter {
            AdapterSpec::Null(_) => true,
            AdapterSpec::Described(it) => {
                it.transmit.iter().chain(&it.receive).all(|stage| stage.servers == 1)
            }
        };
        let (experiment, sender) = (self.experiment, self.channel.route[0]);
        experiment.host(sender).subsystem.enforcement
            && self.channel.packet_overflow == PacketOverflow::Block
            && experiment.networks.iter().all(orderly)
            && experiment.adapters.iter().all(one_by_one)
    }

    /// Where its handlers are at `node`.
    fn core(&self, node: usize) -> CoreId {
        let (experiment, channel) = (self.experiment, self.channel);
        if experiment.cores(node) == 1 {
            return CoreId::FIRST;
        }
        // A channel of which is asked what another rate would do is a copy of that of its name.
        let itself = |other: &ChannelSpec| std::ptr::eq(other, channel);
        let place = experiment.channels.iter().position(itself);
        let place = place.or_else(|| experiment.channels.iter().position(|other| other.name == channel.name));
        place.map_or(CoreId::FIRST, |place| self.placement.of(node, ChannelId(place as u32)).handler)
    }

    /// It goes on from the station, which leaves `handed_on` to be paid and may take it `most`.
    pub(super) fn leaves(&mut self, handed_on: Option<Span>, most: Span) {
        let (experiment, channel, hop) = (self.experiment, self.channel, self.hop);
        self.pays = behind(self.once, handed_on);
        self.hop += 1;
        if self.hop < channel.route.len() {
            self.ahead = self.ahead.past(experiment, channel, hop, most);
        }
    }
}
