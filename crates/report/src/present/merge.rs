//! Many channels as one, for tables and figures that would not fit otherwise.
//!
//! The worst case of a merged channel is a worst case of its members. Rates and counts add up; a
//! smallest laxity is the smallest of all. Deadline, bound and worst response are those of *one*
//! channel, the tightest, because the worst response of one channel cannot be compared with the
//! bound of another.

use laxity_world::metric::used;
use laxity_world::results::{Channel, RefusedChannel, Summary};

/// The channels of each class as one, in order of the classes' first appearance.
pub(crate) fn by_class(channels: &[Channel]) -> Vec<Channel> {
    let mut classes: Vec<(&str, Vec<&Channel>)> = Vec::new();
    for channel in channels {
        match classes.iter_mut().find(|(class, _)| *class == channel.class) {
            Some((_, members)) => members.push(channel),
            None => classes.push((&channel.class, vec![channel])),
        }
    }
    classes.into_iter().map(|(_, members)| merged(&members)).collect()
}

/// How a class is written for people.
pub(crate) fn class_name(class: &str) -> String {
    class.replace('_', "-")
}

/// How close a channel came to its bound, or to its deadline if it has no bound.
pub(crate) fn tightness(channel: &Channel) -> f64 {
    let of_deadline = || channel.worst.zip(channel.deadline).map(|(worst, deadline)| worst / deadline);
    used(channel).or_else(of_deadline).filter(|t| t.is_finite()).unwrap_or(f64::NEG_INFINITY)
}

fn merged(members: &[&Channel]) -> Channel {
    if let [only] = members {
        return (*only).clone();
    }
    let first = members[0];
    let key = |c: &Channel| (tightness(c), c.worst.unwrap_or(f64::NEG_INFINITY));
    let tightest = members.iter().fold(first, |best, c| if key(c) > key(best) { c } else { best });
    // A measurement and its bound are of one channel: of the one that came closest to its bound.
    let closest = |measured: fn(&Channel) -> Option<f64>, bound: fn(&Channel) -> Option<f64>| {
        let share = |c: &Channel| measured(c).zip(bound(c)).map_or(f64::NEG_INFINITY, |(m, b)| m / b);
        members.iter().fold(first, |best, c| if share(c) > share(best) { c } else { best })
    };
    let delivered = closest(|c| c.delivery_worst, |c| c.delivery_bound);
    let crowded = closest(|c| c.backlog.map(|n| n as f64), |c| c.backlog_bound.map(|n| n as f64));
    let jittery = closest(|c| c.jitter_fraction, |c| c.jitter_fraction_bound);
    let spread = closest(|c| c.delay_jitter, |c| c.delay_jitter_bound);
    let exchanged = closest(|c| c.response_worst, |c| c.response_bound);
    let slowest = closest(|c| c.round_mean, |c| c.round_bound);
    let total = |read: fn(&Channel) -> u64| members.iter().map(|c| read(c)).sum();
    let answered = closest(|c| c.establishment_worst, |c| c.establishment_bound);
    let blocked = closest(|c| c.blocking, |c| c.blocking.map(|_| 1.0));
    let added =
        |read: fn(&Channel) -> Option<u64>| members.iter().filter_map(|c| read(c)).reduce(|a, b| a + b);
    let mut refusals = std::collections::BTreeMap::new();
    for (by, n) in members.iter().flat_map(|c| &c.refusals) {
        *refusals.entry(by.clone()).or_insert(0) += n;
    }
    let mut drops = std::collections::BTreeMap::new();
    for (cause, n) in members.iter().flat_map(|c| &c.drops) {
        *drops.entry(cause.clone()).or_insert(0) += n;
    }
    Channel {
        name: format!("{} {}", members.len(), class_name(&first.class)),
        class: first.class.clone(),
        reserved: members.iter().filter_map(|c| c.reserved).reduce(|a, b| a + b),
        deadline: tightest.deadline,
        bound: tightest.bound,
        bound_papers: tightest.bound_papers,
        refused: refused(members),
        no_bound: members
            .iter()
            .map(|c| &c.no_bound)
            .find(|why| !why.is_empty())
            .cloned()
            .unwrap_or_default(),
        worst: tightest.worst,
        worst_found: tightest.worst_found,
        offered: members.iter().map(|c| c.offered).sum(),
        throughput: members.iter().map(|c| c.throughput).sum(),
        goodput: members.iter().map(|c| c.goodput).sum(),
        messages: total(|c| c.messages),
        completed: total(|c| c.completed),
        packets: total(|c| c.packets),
        missed_packets: total(|c| c.missed_packets),
        missed_messages: total(|c| c.missed_messages),
        late_outside: total(|c| c.late_outside),
        // The worst of them: a share of shares would hide it.
        due_messages: members.iter().filter_map(|c| c.due_messages).reduce(|a, b| a + b),
        failed_messages: members.iter().filter_map(|c| c.failed_messages).reduce(|a, b| a + b),
        impaired_messages: total(|c| c.impaired_messages),
        misses_expected: members.iter().all(|c| c.misses_expected),
        on_time: members.iter().filter_map(|c| c.on_time).reduce(f64::min),
        drops,
        incomplete: total(|c| c.incomplete),
        dropped_packets: total(|c| c.dropped_packets),
        lost_packets: total(|c| c.lost_packets),
        impaired_packets: total(|c| c.impaired_packets),
        delivered: members.iter().filter_map(|c| c.delivered).reduce(|a, b| a + b),
        delivered_late: members.iter().filter_map(|c| c.delivered_late).reduce(|a, b| a + b),
        delivery_bound: delivered.delivery_bound,
        delivery_worst: delivered.delivery_worst,
        delivery_found: delivered.delivery_found,
        delivery: pooled(members, |c| c.delivery.as_ref()),
        delay_jitter: spread.delay_jitter,
        delay_jitter_bound: spread.delay_jitter_bound,
        response: pooled(members, |c| c.response.as_ref()),
        response_worst: exchanged.response_worst,
        response_found: exchanged.response_found,
        response_bound: exchanged.response_bound,
        round_mean: slowest.round_mean,
        round_bound: slowest.round_bound,
        round_stopped: members.iter().filter_map(|c| c.round_stopped).reduce(f64::min),
        lost_bound: members.iter().filter_map(|c| c.lost_bound).reduce(f64::max),
        late_bound: members.iter().filter_map(|c| c.late_bound).reduce(f64::max),
        // The worst of them, as of shares.
        jitter_duration: members.iter().filter_map(|c| c.jitter_duration).reduce(f64::max),
        jitter_fraction: match jittery.jitter_fraction_bound {
            Some(_) => jittery.jitter_fraction,
            None => members.iter().filter_map(|c| c.jitter_fraction).reduce(f64::max),
        },
        backlog: crowded.backlog,
        backlog_bound: crowded.backlog_bound,
        jitter_fraction_bound: jittery.jitter_fraction_bound,
        jittered: members.iter().filter_map(|c| c.jittered).reduce(f64::max),
        laxity: pooled(members, |c| c.laxity.as_ref()),
        latency: pooled(members, |c| c.latency.as_ref()),
        sojourn: pooled(members, |c| c.sojourn.as_ref()),
        queueing: pooled(members, |c| c.queueing.as_ref()),
        access: pooled(members, |c| c.access.as_ref()),
        requests: added(|c| c.requests),
        established: added(|c| c.established),
        refused_requests: added(|c| c.refused_requests),
        refusals,
        changed: added(|c| c.changed),
        refused_changes: added(|c| c.refused_changes),
        lost: added(|c| c.lost),
        unexpected: added(|c| c.unexpected),
        // The worst of them, as of shares.
        blocking: blocked.blocking,
        blocking_half: blocked.blocking_half,
        establishment: pooled(members, |c| c.establishment.as_ref()),
        establishment_worst: answered.establishment_worst,
        establishment_bound: answered.establishment_bound,
        establishment_queue: answered.establishment_queue,
    }
}

/// The most important refusal of the members: an unexpected refusal, if there is one.
fn refused(members: &[&Channel]) -> Option<RefusedChannel> {
    let all = || members.iter().filter_map(|c| c.refused.as_ref());
    all().find(|refused| !refused.expected).or_else(|| all().next()).cloned()
}

/// The distribution of all messages together. Count, extremes, mean and deviation are exact.
/// Percentiles cannot be computed from percentiles, so the outer ones are the worst of any member
/// and the median is a mean.
fn pooled(members: &[&Channel], read: fn(&Channel) -> Option<&Summary>) -> Option<Summary> {
    let parts: Vec<&Summary> = members.iter().filter_map(|c| read(c)).filter(|s| s.count > 0).collect();
    let count: u64 = parts.iter().map(|s| s.count).sum();
    if count == 0 {
        return None;
    }
    let weighted = |read: fn(&Summary) -> f64| {
        parts.iter().map(|s| read(s) * s.count as f64).sum::<f64>() / count as f64
    };
    let least = |read: fn(&Summary) -> f64| parts.iter().map(|s| read(s)).fold(f64::INFINITY, f64::min);
    let most = |read: fn(&Summary) -> f64| parts.iter().map(|s| read(s)).fold(f64::NEG_INFINITY, f64::max);
    let mean = weighted(|s| s.mean);
    let square = weighted(|s| s.deviation * s.deviation + s.mean * s.mean);
    Some(Summary {
        count,
        min: least(|s| s.min),
        mean,
        deviation: (square - mean * mean).max(0.0).sqrt(),
        p1: least(|s| s.p1),
        p50: weighted(|s| s.p50),
        p99: most(|s| s.p99),
        p999: parts.iter().filter_map(|s| s.p999).reduce(f64::max),
        p9999: parts.iter().filter_map(|s| s.p9999).reduce(f64::max),
        max: most(|s| s.max),
        curve: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_and_worst_stay_of_one_channel() {
        let channel = |bound, worst, offered| Channel {
            class: "real_time".into(),
            bound: Some(bound),
            worst: Some(worst),
            offered,
            ..Channel::default()
        };
        let merged = by_class(&[channel(0.04, 0.02, 1.0), channel(0.01, 0.009, 2.0)]);
        assert_eq!(merged.len(), 1);
        assert_eq!((merged[0].bound, merged[0].worst), (Some(0.01), Some(0.009)));
        assert_eq!(merged[0].offered, 3.0);
        assert_eq!(merged[0].name, "2 real-time");
    }

    #[test]
    fn pooling_is_exact_where_it_can_be() {
        let part = |count, mean| Channel {
            class: "c".into(),
            laxity: Some(Summary { count, min: mean, mean, max: mean, ..Summary::default() }),
            ..Channel::default()
        };
        let pooled = by_class(&[part(1, 0.0), part(3, 4.0)])[0].laxity.clone().unwrap();
        assert_eq!((pooled.count, pooled.min, pooled.mean, pooled.max), (4, 0.0, 3.0, 4.0));
        assert!((pooled.deviation - 3f64.sqrt()).abs() < 1e-12);
    }
}
