//! The delays of a log beside the bounds of the channels that carried its packets.

use laxity_qos::traffic::TrafficSpec;
use laxity_units::Span;

use super::{Log, Measurement, Missing, Stretch, Worst};

/// A channel with its prediction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedChannel {
    /// Its name.
    pub name: String,
    /// Its contract.
    pub spec: TrafficSpec,
    /// The bound on the delay from the logical arrival to the delivery.
    pub bound: Option<Span>,
    /// Whether the bound ends with the last transmission, since no host receives.
    pub ends_early: bool,
    /// The longest such delay of the simulation.
    pub simulated: Option<Span>,
    /// How late its sender may wake up.
    pub wake_up: Option<Span>,
}

/// The channels that carried the packets of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair<'a> {
    /// The channel, or the one to the mirror.
    pub there: &'a ComparedChannel,
    /// The channel from the mirror.
    pub back: Option<&'a ComparedChannel>,
    /// How long the mirror keeps a packet at most.
    pub turnaround: Option<Span>,
}

/// A measured delay beside what bounds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuredRow {
    /// The channel, or both of a round trip.
    pub channel: String,
    /// The bound.
    pub bound: Option<Span>,
    /// The longest delay of the simulation. A round trip is not simulated.
    pub simulated: Option<Span>,
    /// The delays.
    pub measured: Measurement,
    /// The judgement.
    pub verdict: MeasuredVerdict,
}

/// The judgement of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MeasuredVerdict {
    /// No delay is above the bound, and no packet was lost for certain.
    Within,
    /// A delay is above the bound.
    Above,
    /// Packets were lost: this number.
    Lost(u64),
    /// Why there is no judgement.
    NotJudged(&'static str),
}

/// The rows of `log`, and notes on it. `class` is the traffic class that the channels carried.
///
/// # Errors
///
/// A sentence, if the log has no such class, or measures another number of channels.
pub fn rows(
    log: &Log,
    class: Option<&str>,
    pair: Pair<'_>,
) -> Result<(Vec<MeasuredRow>, Vec<String>), String> {
    let there = pair.there;
    match log {
        Log::Isochron(_) if class.is_some() => Err("a log of isochron has no traffic classes".into()),
        Log::Isochron(_) if pair.back.is_some() => {
            Err("isochron measures one way: a log is of one channel".into())
        }
        Log::Isochron(log) => {
            let (whole, beyond) = log.whole(there.spec);
            let measured = [Some(whole), log.between_adapters()].into_iter().flatten();
            Ok(of_contract(there, measured, beyond, log.notes()))
        }
        Log::Captures(_) if class.is_some() => Err("captures have no traffic classes".into()),
        Log::Captures(_) if pair.back.is_some() => {
            Err("captures measure one way: two captures are of one channel".into())
        }
        Log::Captures(log) => {
            let (measured, beyond) = log.delays(there.spec);
            let (mut rows, notes) = of_contract(there, [measured], beyond, log.notes());
            let open = there.bound.is_some_and(|bound| log.may_have_lost(bound));
            for row in rows.iter_mut().filter(|row| open && row.verdict == MeasuredVerdict::Within) {
                row.verdict = MeasuredVerdict::NotJudged("packets at an end of the captures may be lost");
            }
            Ok((rows, notes))
        }
        Log::Cyclictest(_) if pair.back.is_some() => {
            Err("cyclictest measures one host: a log is of the channel that it sends".into())
        }
        Log::Cyclictest(log) => {
            let measured = log.measurement(class)?;
            let verdict = judge(measured, there.wake_up.ok_or("the channel has no bound"), false);
            let (channel, bound) = (there.name.clone(), there.wake_up);
            Ok((vec![MeasuredRow { channel, bound, simulated: None, measured, verdict }], log.notes()))
        }
        Log::Testbench(log) => {
            let measured = log.measurements(class)?;
            // The reference receives packets of the mirror, and the mirror those of the reference.
            let ends = if measured.round_trip.is_some() { pair.back.unwrap_or(there) } else { there };
            let one_way = measured.one_way.map(|measured| row(ends, measured));
            let round_trip = measured.round_trip.map(|measured| round_trip(pair, measured));
            let rows: Vec<MeasuredRow> = one_way.into_iter().chain(round_trip).collect();
            match rows.is_empty() {
                true => Err("no packet was sent or received".into()),
                false => Ok((rows, log.notes())),
            }
        }
        Log::Histogram(log) => Ok((vec![round_trip(pair, log.measurement(class)?)], log.notes())),
    }
}

/// The rows of delays from logical arrivals, and notes. There is no judgement if packets were `beyond` the
/// contract.
fn of_contract(
    channel: &ComparedChannel,
    measured: impl IntoIterator<Item = Measurement>,
    beyond: u64,
    mut notes: Vec<String>,
) -> (Vec<MeasuredRow>, Vec<String>) {
    let mut rows: Vec<_> = measured.into_iter().map(|measured| row(channel, measured)).collect();
    if beyond > 0 && channel.bound.is_some() {
        notes.push(format!("{beyond} packets are beyond the contract of `{}`", channel.name));
        // Too many packets delay those of the contract, too.
        for row in rows.iter_mut().filter(|row| !matches!(row.verdict, MeasuredVerdict::Lost(_))) {
            row.verdict = MeasuredVerdict::NotJudged("packets are beyond the contract");
        }
    }
    (rows, notes)
}

/// The row of a delay over one channel.
fn row(channel: &ComparedChannel, measured: Measurement) -> MeasuredRow {
    let verdict = judge(measured, channel.bound.ok_or("the channel has no bound"), channel.ends_early);
    let (bound, simulated) = (channel.bound, channel.simulated);
    MeasuredRow { channel: channel.name.clone(), bound, simulated, measured, verdict }
}

/// The row of round trips: the bound is the sum of both channels and of the time in between.
fn round_trip(pair: Pair<'_>, measured: Measurement) -> MeasuredRow {
    debug_assert_eq!(measured.stretch, Stretch::RoundTrip);
    let bound = || {
        let back = pair.back.ok_or("a round trip is two channels: `THERE,BACK=FILE` names them")?;
        let bounds = pair.there.bound.zip(back.bound).ok_or("a channel has no bound")?;
        let kept = pair.turnaround.ok_or("`--turnaround` says how long the mirror keeps a packet")?;
        Ok(bounds.0.saturating_add(bounds.1).saturating_add(kept))
    };
    let bound = bound();
    let channel = match pair.back {
        Some(back) => format!("{} + {}", pair.there.name, back.name),
        None => pair.there.name.clone(),
    };
    let ends_early = [Some(pair.there), pair.back].into_iter().flatten().any(|channel| channel.ends_early);
    let verdict = judge(measured, bound, ends_early);
    MeasuredRow { channel, bound: bound.ok(), simulated: None, measured, verdict }
}

/// A measured delay has its end at the receiving program: it can be above a bound that `ends_early`, and
/// the bound still holds.
fn judge(measured: Measurement, bound: Result<Span, &'static str>, ends_early: bool) -> MeasuredVerdict {
    let lost = match measured.missing {
        Missing::Lost(lost) | Missing::Between { least: lost, .. } => lost,
        Missing::Unknown => 0,
    };
    let above = |worst: Span| bound.is_ok_and(|bound| worst > bound);
    match (measured.worst, bound) {
        (Worst::Is(worst) | Worst::Above(worst), _) if above(worst) && !ends_early => MeasuredVerdict::Above,
        _ if lost > 0 => MeasuredVerdict::Lost(lost),
        (Worst::Is(worst) | Worst::Above(worst), _) if above(worst) => {
            MeasuredVerdict::NotJudged("the bound ends with the last transmission")
        }
        (Worst::Clocks(_), _) => {
            MeasuredVerdict::NotJudged("a packet arrived before it was sent: clocks differ")
        }
        (Worst::None, _) => MeasuredVerdict::NotJudged("no packet arrived"),
        (_, Err(why)) => MeasuredVerdict::NotJudged(why),
        (Worst::Above(_), Ok(_)) => MeasuredVerdict::NotJudged("the longest is beyond the histogram"),
        (Worst::Is(_), Ok(_)) => MeasuredVerdict::Within,
    }
}

#[cfg(test)]
mod tests {
    use laxity_units::Bytes;

    use super::*;

    pub(crate) fn channel(name: &str, bound: Option<u64>) -> ComparedChannel {
        let size = Bytes::new(100);
        let spec =
            TrafficSpec { max_message: size, min_message: size, burst: 1, min_interval: Span::from_ms(1) };
        let (bound, simulated) = (bound.map(Span::from_us), Some(Span::from_us(7)));
        ComparedChannel { name: name.into(), spec, bound, ends_early: false, simulated, wake_up: None }
    }

    fn measured(stretch: Stretch, missing: Missing, worst: Worst) -> Measurement {
        Measurement { stretch, received: 10, missing, worst }
    }

    #[test]
    fn a_delay_is_judged_by_its_bound_and_then_by_what_is_lost() {
        let us = Span::from_us;
        let verdict = |bound, missing, worst| {
            row(&channel("a", bound), measured(Stretch::OneWay, missing, worst)).verdict
        };
        let none = Missing::Lost(0);
        assert_eq!(verdict(Some(10), none, Worst::Is(us(10))), MeasuredVerdict::Within);
        assert_eq!(verdict(Some(10), none, Worst::Is(us(11))), MeasuredVerdict::Above);
        assert_eq!(verdict(Some(10), Missing::Lost(2), Worst::Is(us(11))), MeasuredVerdict::Above);
        assert_eq!(verdict(Some(10), Missing::Lost(2), Worst::Is(us(9))), MeasuredVerdict::Lost(2));
        assert_eq!(verdict(None, Missing::Lost(2), Worst::None), MeasuredVerdict::Lost(2));
        let between = |least| Missing::Between { least, most: 4 };
        assert_eq!(verdict(Some(10), between(0), Worst::Is(us(9))), MeasuredVerdict::Within);
        assert_eq!(verdict(Some(10), between(1), Worst::Is(us(9))), MeasuredVerdict::Lost(1));
        assert_eq!(verdict(Some(10), Missing::Unknown, Worst::Above(us(11))), MeasuredVerdict::Above);
        let early = ComparedChannel { ends_early: true, ..channel("a", Some(10)) };
        let verdict_of = |worst| row(&early, measured(Stretch::OneWay, none, Worst::Is(us(worst)))).verdict;
        assert_eq!(verdict_of(10), MeasuredVerdict::Within);
        let why = "the bound ends with the last transmission";
        assert_eq!(verdict_of(11), MeasuredVerdict::NotJudged(why));
        for (bound, worst, why) in [
            (None, Worst::Is(us(9)), "no bound"),
            (Some(10), Worst::Above(us(10)), "beyond the histogram"),
            (Some(10), Worst::Clocks(us(1)), "clocks differ"),
            (Some(10), Worst::None, "no packet"),
        ] {
            let MeasuredVerdict::NotJudged(said) = verdict(bound, none, worst) else { panic!("{why}") };
            assert!(said.contains(why), "{said}");
        }
    }

    #[test]
    fn a_round_trip_is_bounded_by_both_channels_and_the_time_between() {
        let (there, back, unbounded) =
            (channel("there", Some(10)), channel("back", Some(20)), channel("open", None));
        let trip = |back, turnaround: Option<u64>, worst| {
            let pair = Pair { there: &there, back, turnaround: turnaround.map(Span::from_us) };
            round_trip(pair, measured(Stretch::RoundTrip, Missing::Unknown, Worst::Is(Span::from_us(worst))))
        };
        let within = trip(Some(&back), Some(1000), 1030);
        assert_eq!((&within.channel[..], within.bound), ("there + back", Some(Span::from_us(1030))));
        assert_eq!((within.verdict, within.simulated), (MeasuredVerdict::Within, None));
        assert_eq!(trip(Some(&back), Some(1000), 1031).verdict, MeasuredVerdict::Above);
        for (back, turnaround, why) in [
            (None, Some(1000), "two channels"),
            (Some(&unbounded), Some(1000), "no bound"),
            (Some(&back), None, "--turnaround"),
        ] {
            let row = trip(back, turnaround, 1);
            let MeasuredVerdict::NotJudged(said) = row.verdict else { panic!("{why}") };
            assert!(said.contains(why) && row.bound.is_none(), "{said}");
        }
    }
}
