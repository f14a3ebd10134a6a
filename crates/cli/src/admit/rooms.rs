//! The room that channels with a bound need so that none of their packets is lost: at stations, in
//! the slots of interfaces, and in receive buffers.

use std::collections::{BTreeMap, BTreeSet};

use laxity_qos::discipline::Class;
use laxity_units::Bytes;
use laxity_world::experiment::{ChannelSpec, Experiment, InterfaceSpec};
use laxity_world::promise::{Promise, Promises, ReceptionRoom};
use laxity_world::text::clean;

use crate::columns;

/// A table of what each place needs, and has where a file says so.
pub(super) fn table(experiment: &Experiment, promises: &Promises) -> String {
    let mut rows = vec![["place", "room for real time", "needs", "has"].map(String::from)];
    rows.extend(stations(experiment, promises));
    rows.extend(interfaces(experiment, promises));
    if rows.len() == 1 {
        return "\nno channel has a bound that says how much room it needs\n".into();
    }
    let lines = columns::lines(&rows, [false, false, true, true]).map(|line| line + "\n");
    format!("\n{}", lines.collect::<String>())
}

/// Packets of all channels at each station but those that receive at interfaces, and their memory.
fn stations(experiment: &Experiment, promises: &Promises) -> Vec<[String; 4]> {
    let mut needs: BTreeMap<usize, Option<(u64, u64)>> = BTreeMap::new();
    let mut counted = BTreeSet::new();
    for (i, (channel, promise)) in experiment.channels.iter().zip(&promises.channels).enumerate() {
        let Promise::Admitted(hops) = promise else { continue };
        let packet = channel.spec.largest_packet(experiment.packet()).get();
        for hop in hops.iter().filter(|hop| hop.room.is_none()) {
            // A packet of a multicast is once where it has not been copied.
            if !counted.insert((experiment.known_as(i, hop.hop), hop.hop)) {
                continue;
            }
            let sum = needs.entry(hop.node).or_insert(Some((0, 0)));
            let more = |(packets, bytes): (u64, u64)| {
                let backlog = hop.backlog_bound()?;
                Some((packets.saturating_add(backlog), bytes.saturating_add(backlog.saturating_mul(packet))))
            };
            *sum = sum.and_then(more);
        }
    }
    let row = |(station, needs): (usize, Option<(u64, u64)>)| {
        let place = clean(&experiment.place(station));
        match needs {
            Some((packets, bytes)) => {
                let what = format!("packets in queues, {}", Bytes::new(bytes));
                [place, what, packets.to_string(), "set aside".into()]
            }
            None => [place, "packets in queues".into(), "no bound".into(), "no limit".into()],
        }
    };
    needs.into_iter().map(row).collect()
}

/// Slots and buffers of each interface at which a channel with a bound ends.
fn interfaces(experiment: &Experiment, promises: &Promises) -> Vec<[String; 4]> {
    let mut rows = Vec::new();
    for receiver in experiment.receivers() {
        for (i, InterfaceSpec { name, config }) in receiver.interfaces.iter().enumerate() {
            let here = |channel: &ChannelSpec| receiver.entry(channel) == Some(i);
            let each = experiment.channels.iter().zip(&promises.channels);
            let Some(ReceptionRoom { slots, buffers }) = each
                .filter(|(channel, _)| here(channel))
                .find_map(|(_, promise)| promise.room_at_interface())
            else {
                continue;
            };
            let place = match experiment.schedules() {
                true => clean(&format!("{}.{name}", experiment.name(receiver.node))),
                false => clean(name),
            };
            rows.push([
                place.clone(),
                "slots of the adapter".into(),
                slots.to_string(),
                config.slots.to_string(),
            ]);
            // Best effort may have all that real time does not have to itself.
            let beside = experiment.arrives(receiver, Class::BestEffort, here);
            let has = if beside { Some(config.buffers_real_time) } else { config.buffers };
            if let Some((needs, has)) = buffers.zip(has) {
                rows.push([place, "receive buffers".into(), needs.to_string(), has.to_string()]);
            }
        }
    }
    rows
}
