//! Prediction and measurement side by side, channel by channel.

use std::collections::BTreeMap;

use laxity_client::{ChannelName, NodeStatus, Row};
use laxity_units::Span;

use crate::network::{NetworkChannel, NodeNetwork};
use crate::predict::Predicted;
use crate::serve::shown;

/// What daemons counted of a channel at its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// Messages that were delivered.
    pub messages: u64,
    /// Messages later than the bound.
    pub missed: u64,
    /// Messages that did not arrive.
    pub lost: u64,
    /// The longest delay.
    pub worst: Span,
}

/// The judgement of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComparedVerdict {
    /// No message is later than the bound, simulated or measured, and none is lost.
    Within,
    /// Messages did not arrive.
    Lost(u64),
    /// Messages are late by no more than the longest stop of each node on the route since the channel was
    /// opened: name and stop.
    Stopped(Vec<(String, Span)>),
    /// Messages are later than what explains it: a bug.
    Bug,
    /// The prediction refuses the channel.
    Refused,
    /// No daemon has the channel.
    Unmeasured,
    /// The program asked for this contract, and not for that of the file.
    Another(laxity_client::Contract),
}

/// Judges each channel of the network by its prediction and the states of its nodes.
pub fn compare(
    network: &NodeNetwork,
    predicted: &[Predicted],
    states: &[NodeStatus],
) -> Vec<(Option<Measured>, ComparedVerdict)> {
    let each = network.channels.iter().zip(predicted);
    each.map(|(channel, predicted)| judge(network, channel, predicted, states)).collect()
}

fn judge(
    network: &NodeNetwork,
    channel: &NetworkChannel,
    predicted: &Predicted,
    states: &[NodeStatus],
) -> (Option<Measured>, ComparedVerdict) {
    let from = network.node(&channel.from).map(|node| node.id);
    let is_it = |row: &&Row| {
        row.direction.is_destination() && row.name == channel.name && Some(row.channel.node) == from
    };
    let at = states.iter().filter(|state| state.name == channel.to).flat_map(|state| &state.rows);
    // During a change of its contract a channel has two rows, with the same counts.
    let rows: BTreeMap<ChannelName, &Row> = at.filter(is_it).map(|row| (row.channel, row)).collect();
    let rows: Vec<&Row> = rows.into_values().collect();
    let measured = (!rows.is_empty()).then(|| Measured {
        messages: rows.iter().map(|row| row.messages).sum(),
        missed: rows.iter().map(|row| row.missed).sum(),
        lost: rows.iter().map(|row| row.lost).sum(),
        worst: Span::from_ns(rows.iter().map(|row| row.worst_ns).max().unwrap_or(0)),
    });
    let late = |worst: Span| worst.saturating_sub(channel.deadline);
    let of_file = shown(&channel.contract());
    let another = rows.iter().map(|row| row.contract).find(|contract| *contract != of_file);
    let verdict = match measured {
        _ if predicted.delivered.1 > 0 => ComparedVerdict::Bug,
        None if predicted.refused.is_some() => ComparedVerdict::Refused,
        None => ComparedVerdict::Unmeasured,
        Some(measured) => match another {
            Some(contract) => ComparedVerdict::Another(contract),
            None if measured.lost > 0 => ComparedVerdict::Lost(measured.lost),
            None if late(measured.worst).is_zero() => ComparedVerdict::Within,
            None => explained(late(measured.worst), &rows, predicted, states),
        },
    };
    (measured, verdict)
}

/// Whether stops of the nodes on the route explain that a message is `late`.
fn explained(late: Span, rows: &[&Row], predicted: &Predicted, states: &[NodeStatus]) -> ComparedVerdict {
    let on_route: Vec<&NodeStatus> =
        states.iter().filter(|state| predicted.route.contains(&state.name)).collect();
    let without_stop = ["late_unexplained", "late_by_overruns"];
    let unexplained: u64 =
        without_stop.iter().flat_map(|name| on_route.iter().map(|state| state.counter(name))).sum();
    let longest = |state: &&NodeStatus| {
        let is_it = |row: &&Row| rows.iter().any(|at_end| at_end.channel == row.channel);
        let since = state.rows.iter().filter(is_it).map(|row| row.since_ns).min();
        longest_stop(state, since.unwrap_or(0))
    };
    let stops: Vec<(String, Span)> = on_route
        .iter()
        .map(|state| (state.name.clone(), longest(state)))
        .filter(|(_, stop)| !stop.is_zero())
        .collect();
    let all = stops.iter().map(|(_, stop)| *stop).fold(Span::ZERO, Span::saturating_add);
    if unexplained == 0 && late <= all { ComparedVerdict::Stopped(stops) } else { ComparedVerdict::Bug }
}

/// The longest stop of a node since an instant of its clock, in nanoseconds. Of stops that the status does
/// not have any more the longest of all is assumed.
fn longest_stop(state: &NodeStatus, since: u64) -> Span {
    let has_all = state.counter("stalls") <= state.stalls.len() as u64;
    if !has_all && state.stalls.last().is_none_or(|(at, _)| *at > since) {
        return Span::from_us(state.counter("stall_longest_us"));
    }
    let behind = |(at, length): &&(u64, u64)| at.saturating_add(*length) > since;
    let longest = state.stalls.iter().filter(behind).map(|(_, length)| *length).max();
    Span::from_ns(longest.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use laxity_client::Direction;
    use laxity_client::protocol::ChannelName;

    use super::*;
    use crate::network::tests::row;
    use crate::predict::predict;

    const FILM: &str = "time = \"100 ms\"\n[[channel]]\nfrom = \"n1\"\nto = \"n3\"\nname = \"film\"\nsize = 1000\n\
        interval = \"10 ms\"\ndeadline = \"40 ms\"\n";

    fn state(name: &str, worst: Option<u64>, counters: &[(&str, u64)]) -> NodeStatus {
        let contract = laxity_client::Contract::periodic(
            1000,
            std::time::Duration::from_millis(10),
            std::time::Duration::from_millis(40),
        );
        let row = |ms: u64| Row {
            channel: ChannelName { node: 1, epoch: 7, local: 0 },
            direction: Direction::Destination,
            name: "film".to_owned(),
            contract,
            local_ns: 0,
            messages: 10,
            excess: 0,
            worst_ns: ms * 1_000_000,
            missed: u64::from(ms > 40),
            attributed: 0,
            lost: 0,
            since_ns: 5_000_000,
        };
        NodeStatus {
            name: name.to_owned(),
            id: 0,
            uptime_s: 0,
            channels: 0,
            rows: worst.map(row).into_iter().collect(),
            links: Vec::new(),
            processor: 0,
            packet_ns: 0,
            owners: Vec::new(),
            names: Vec::new(),
            counters: counters.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
            stalls: Vec::new(),
            began_ns: 0,
            clocks: Vec::new(),
        }
    }

    #[test]
    fn what_stops_do_not_cover_is_a_bug() {
        let network = row(FILM).unwrap();
        let predicted = predict(&network).unwrap();
        let verdict = |states: &[NodeStatus]| compare(&network, &predicted, states)[0].1.clone();
        assert_eq!(verdict(&[state("n1", Some(9), &[])]), ComparedVerdict::Unmeasured, "it ends at n3");
        assert_eq!(verdict(&[state("n3", Some(40), &[])]), ComparedVerdict::Within);
        assert_eq!(verdict(&[state("n3", Some(41), &[])]), ComparedVerdict::Bug);
        let stopped = state("n2", None, &[("stalls", 40), ("stall_longest_us", 1000)]);
        let stops = vec![("n2".to_owned(), Span::from_ms(1))];
        assert_eq!(verdict(&[state("n3", Some(41), &[]), stopped.clone()]), ComparedVerdict::Stopped(stops));
        assert_eq!(verdict(&[state("n3", Some(42), &[]), stopped.clone()]), ComparedVerdict::Bug);
        let mut before = state("n3", Some(41), &[("stalls", 1), ("stall_longest_us", 2000)]);
        before.stalls = vec![(3_000_000, 2_000_000)];
        assert_eq!(verdict(&[before.clone()]), ComparedVerdict::Bug, "it ended as the channel was opened");
        before.stalls = vec![(3_000_001, 2_000_000)];
        let stops = vec![("n3".to_owned(), Span::from_ms(2))];
        assert_eq!(verdict(&[before.clone()]), ComparedVerdict::Stopped(stops));
        before.rows[0].lost = 3;
        assert_eq!(verdict(&[before]), ComparedVerdict::Lost(3));
        let late = state("n3", Some(41), &[("late_unexplained", 1)]);
        assert_eq!(verdict(&[late, stopped]), ComparedVerdict::Bug);
        for change in [
            |contract: &mut laxity_client::Contract| contract.deadline_ns = 20_000_000,
            |contract: &mut laxity_client::Contract| contract.interval_ns += 1,
            |contract: &mut laxity_client::Contract| contract.burst = 3,
            |contract: &mut laxity_client::Contract| contract.max_message = 999,
        ] {
            let mut another = state("n3", Some(9), &[]);
            change(&mut another.rows[0].contract);
            let asked = another.rows[0].contract;
            assert_eq!(verdict(&[another]), ComparedVerdict::Another(asked));
        }
        let refused = row(&FILM.replace("40 ms", "1 ms")).unwrap();
        let predicted = predict(&refused).unwrap();
        assert_eq!(compare(&refused, &predicted, &[])[0], (None, ComparedVerdict::Refused));
    }
}
