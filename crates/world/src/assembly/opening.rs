//! The channels of an assembly, opened before the run.

use laxity_engine::trace::TraceSink;
use laxity_qos::channel::{ChannelId, Label, Oversize};
use laxity_qos::traffic::LogicalClock;
use laxity_units::Span;

use super::rounds::Rounds;
use super::surroundings::Surroundings;
use super::{Assembly, Elsewhere, Outside, parts};
use crate::experiment::{Chance, Placement};
use crate::measure::{Meter, Punctuality};

impl<T: TraceSink, O: Outside> Assembly<'_, '_, T, O> {
    /// Has stations say where they keep channels, when all are open.
    pub(super) fn ask_for_labels(&mut self) {
        let Self { around: Surroundings { legs, laps, .. }, nodes, switches, coming, .. } = self;
        let experiment = self.experiment;
        let label = |station, number| match switches.has(station) {
            // Another channel passes there, of which this is a copy.
            _ if !experiment.channels[laps.channel(number)].is_at(station) => Label::NONE,
            true => switches.label(station, number),
            false => nodes[station].label(number),
        };
        legs.label(laps, label);
        for (channel, coming) in coming.iter_mut().enumerate() {
            coming.label = label(coming.station as usize, ChannelId(channel as u32));
        }
    }

    pub(super) fn open_channels(
        &mut self,
        placement: &Placement,
        notices: &[Span],
        elsewhere: Elsewhere<'_>,
    ) {
        let experiment = self.experiment;
        let mut sending = Vec::new();
        for (i, spec) in experiment.channels.iter().enumerate() {
            let found = (placement, &self.around.laps);
            parts::open(&mut self.nodes, experiment, found, i, &self.promises[i], notices);
            let by_programs = elsewhere.channels.contains(&i);
            let subsystem = &experiment.host(spec.route[0]).subsystem;
            let clock = |spec| match subsystem.oversize {
                Oversize::Intervals => LogicalClock::new(spec),
                Oversize::Packets => LogicalClock::new(spec).by_packets(subsystem.packet),
            };
            let contract = subsystem.enforcement.then(|| clock(spec.spec));
            let limits = || spec.limits.contracts(spec.spec).map(clock).collect::<Vec<_>>();
            let host_is_here = self.nodes[spec.route[0]].host().is_some();
            let punctuality =
                spec.deadline.map(|deadline| Punctuality::new(deadline, contract).within(limits()));
            let punctuality = match host_is_here {
                true => punctuality,
                false => punctuality.map(Punctuality::told_later),
            };
            let endless = spec.source.is_endless();
            let meter = Meter {
                deadline: spec.deadline,
                received: spec.received,
                endless,
                punctuality,
                ..Meter::default()
            };
            self.around.meters.push(meter);
            let sends = host_is_here && !by_programs && spec.copy.is_none() && self.is_established(i);
            let chance = || experiment.chance(Chance::Source(i));
            self.sources.push(experiment.source(i, 0).filter(|_| sends));
            self.endless.push(spec.source.endless(chance()).filter(|_| sends));
            sending.push(sends);
        }
        self.around.rounds = Rounds::new(experiment, |i| sending[i]);
    }
}
