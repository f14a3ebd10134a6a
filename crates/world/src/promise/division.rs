//! A deadline over a whole way, shared out among its stations.
//!
//! Asking each station for the same local delay refuses a channel for the sake of one that is slow, while others could do with less. Thesis 3.2.2 does it in two phases, as Kandlur, Shin and Ferrari
//! (1994) do: on the way forward each station is asked for the least that it can promise, `l_n`; at the end, if
//!
//! ```text
//! Σ l_n ≤ D,        D = k d for the k stations of the way
//! ```
//!
//! what is left is shared out on the way back, equal parts for all, `d_n = l_n + (D − Σ l_n)/k`, so that later channels find room everywhere. A station that can use no more (`D_order`
//! knows no deadline beyond `I_min`) leaves it to the others.
//!
//! A host that receives is asked for no less than `d`, and so the stations that send have no more than `d` each in the mean: what is said of a transmission is by that deadline.

use laxity_qos::admission::{Claimant, Deficit, Reason, Refusal, Resource};
use laxity_units::Span;

use super::answer::Refused;

/// What a station of a way can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Needs {
    pub(super) node: usize,
    pub(super) receives: bool,
    /// The least that it can promise.
    pub(super) least: Span,
    /// The most that it can be asked for.
    pub(super) latest: Span,
}

/// What each of `stations` is asked for, if the channel has `each` in the mean; or who is most in its way.
pub(super) fn divide(stations: &[Needs], each: Span) -> Result<Vec<Span>, Refused> {
    let all = each.saturating_mul(stations.len() as u64);
    let least = |needs: &Needs| if needs.receives { needs.least.max(each) } else { needs.least };
    let mut deadlines: Vec<Span> = stations.iter().map(least).collect();
    let taken = sum(&deadlines);
    if let (true, Some(slowest)) = (taken > all, stations.iter().max_by_key(|needs| needs.least)) {
        let late = Deficit::Time(taken - all);
        let refusal = Refusal::new(Resource::Deadline, late, Reason::LateTogether, Claimant::Newcomer);
        return Err(Refused { node: slowest.node, refusal });
    }
    let mut left = all - taken;
    // Whoever needs least of what is left first, so that what it leaves is shared out as well.
    let mut open: Vec<usize> = (0..stations.len()).filter(|n| !stations[*n].receives).collect();
    open.sort_by_key(|n| stations[*n].latest.saturating_sub(stations[*n].least));
    for (done, n) in open.iter().enumerate() {
        let room = stations[*n].latest.saturating_sub(stations[*n].least);
        // In whole microseconds, to be read; the last may have the rest.
        let part = left / (open.len() - done) as u64;
        let part =
            if done + 1 < open.len() { Span::from_us(1) * part.div_floor(Span::from_us(1)) } else { part };
        let more = part.min(room);
        deadlines[*n] += more;
        left -= more;
    }
    Ok(deadlines)
}

/// The least that a channel could have in the mean, so that [`divide`] finds enough.
pub(super) fn least(stations: &[Needs]) -> Span {
    let of = |receives: bool| -> Vec<Span> {
        stations.iter().filter(|needs| needs.receives == receives).map(|needs| needs.least).collect()
    };
    let (senders, receivers) = (of(false), of(true));
    let mean = |of: Span, parts: usize| Span::from_ps(of.as_ps().div_ceil(parts.max(1) as u64));
    let by_senders = mean(sum(&senders), senders.len());
    match receivers.first() {
        Some(receiver) if *receiver > by_senders || senders.is_empty() => {
            mean(sum(&senders).saturating_add(*receiver), stations.len())
        }
        _ => by_senders,
    }
}

fn sum(spans: &[Span]) -> Span {
    spans.iter().fold(Span::ZERO, |sum, span| sum.saturating_add(*span))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Span {
        Span::from_us(us)
    }

    fn station(node: usize, least: u64, latest: u64) -> Needs {
        Needs { node, receives: false, least: us(least), latest: us(latest) }
    }

    fn divided(stations: &[Needs], each: u64) -> Option<Vec<u64>> {
        let deadlines = divide(stations, us(each)).ok()?;
        Some(deadlines.iter().map(|deadline| deadline.div_floor(us(1))).collect())
    }

    /// 90 in all, of which 10 + 50 + 12 are needed: 6 more for each. The second may be asked for no more than 52: 8 more for the others.
    #[test]
    fn what_is_left_is_shared_out_in_equal_parts() {
        let (fast, slow, faster) = (station(0, 10, 99), station(1, 50, 99), station(2, 12, 99));
        assert_eq!(divided(&[fast, slow, faster], 30), Some(vec![16, 56, 18]));
        let slow = Needs { latest: us(52), ..slow };
        assert_eq!(divided(&[fast, slow, faster], 30), Some(vec![18, 52, 20]));
    }

    /// 72 are needed: 24 for each of three, and not less. The slowest is told, and how much is missing.
    #[test]
    fn a_way_that_needs_more_is_refused_where_it_is_slowest() {
        let all = [station(0, 10, 99), station(1, 50, 99), station(2, 12, 99)];
        assert_eq!((least(&all), divided(&all, 24)), (us(24), Some(vec![10, 50, 12])));
        let Refused { node, refusal } = divide(&all, us(23)).unwrap_err();
        assert_eq!((node, refusal.deficit), (1, Deficit::Time(us(3))));
    }

    /// A receiver that needs 5 of 30 leaves nothing to those who send: with 10 and 50 they need 30 each. One that needs 60 takes 30 of theirs.
    #[test]
    fn a_receiver_has_no_less_than_the_others_in_the_mean() {
        let receiver = |least| Needs { receives: true, ..station(2, least, 99) };
        let senders = |last| [station(0, 10, 99), station(1, 50, 99), receiver(last)];
        assert_eq!((least(&senders(5)), divided(&senders(5), 30)), (us(30), Some(vec![10, 50, 30])));
        assert_eq!((least(&senders(60)), divided(&senders(60), 40)), (us(40), Some(vec![10, 50, 60])));
        assert_eq!(divided(&senders(60), 39), None);
    }
}
