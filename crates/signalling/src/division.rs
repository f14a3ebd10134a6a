//! Shares an end-to-end deadline out among the hops of a path.
//!
//! A deadline counts from the logical arrival of a message at its source to its delivery (thesis
//! 3.2.2). EDF needs a deadline at each hop, so establishment has two phases, as in Kandlur, Shin
//! and Ferrari (1994). The forward phase asks each hop `n` for the least deadline that it can
//! promise, `l_n`. With `w_n` for the longest time between the end of the transmission at hop `n`
//! and the time at which the next hop knows of the packet, the channel fits if
//!
//! ```text
//! Σ l_n + Σ w_n ≤ D.
//! ```
//!
//! The reverse phase shares out the slack `D − Σ l_n − Σ w_n`, so that later requests find room
//! everywhere. In proportion (resource management, section 2.2) hop `n` gets
//!
//! ```text
//! d_n = l_n (D − Σ w) / Σ l.
//! ```
//!
//! A hop that needs hardly any time would get hardly any, and could then take no later channel, however
//! short its packets. So each hop counts as a tenth of the mean `l` at the least.
//!
//! Some hops cannot use a deadline beyond a latest one: `D_order` knows none beyond `I_min`. Such a
//! hop leaves the rest of its part to the others. Static scenarios and the manager share this
//! component.

use laxity_units::Span;

/// How the slack of an end-to-end deadline is shared out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Division {
    /// In proportion to `l_n` (resource management, section 2.2).
    #[default]
    Proportional,
    /// In equal parts (thesis 3.2.2; Kandlur, Shin and Ferrari 1994).
    Equal,
    /// All to the hop with the largest `l_n`.
    Slowest,
    /// So that every hop has the same local deadline.
    Alike,
}

/// The deadlines that one hop can promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// The least deadline that it can promise.
    pub least: Span,
    /// The latest deadline that it can use.
    pub latest: Span,
}

/// The hops need more than there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HopsTooLate {
    /// The slowest hop, counted from the source.
    pub hop: usize,
    /// How much more time would do.
    pub missing: Span,
}

/// The deadline of each of `hops`, which have `budget` together.
///
/// The deadlines add up to `budget` at most.
///
/// # Errors
/// The slowest hop and the time that is missing, where the hops need more than `budget`.
pub fn divide(hops: &[Needs], budget: Span, division: Division) -> Result<Vec<Span>, HopsTooLate> {
    let mut deadlines: Vec<Span> = hops.iter().map(|needs| needs.least).collect();
    let taken = sum(hops);
    if taken > budget {
        return Err(late(hops, taken - budget));
    }
    let mut slack = budget - taken;
    if division == Division::Alike {
        let each = budget / hops.len().max(1) as u64;
        // The slowest hop is short of the difference.
        return match hops.iter().map(|needs| needs.least).max() {
            Some(least) if least > each => Err(late(hops, least - each)),
            _ => Ok(hops.iter().map(|needs| each.min(needs.latest).max(needs.least)).collect()),
        };
    }
    // Where no hop needs any time, each counts as one.
    let floor = (taken / (10 * hops.len().max(1) as u64)).max(Span::from_ps(1));
    let weights: Vec<u128> = hops.iter().map(|needs| needs.least.max(floor).as_ps().into()).collect();
    let mut open: Vec<usize> = (0..hops.len()).collect();
    match division {
        // A hop with little room for its weight leaves a rest. With such hops first, one pass
        // shares all of it out.
        Division::Proportional => {
            open.sort_by(|a, b| (room(&hops[*a]) * weights[*b]).cmp(&(room(&hops[*b]) * weights[*a])));
        }
        Division::Equal => open.sort_by_key(|n| room(&hops[*n])),
        Division::Slowest | Division::Alike => open.sort_by_key(|n| std::cmp::Reverse(hops[*n].least)),
    }
    let mut left: u128 = weights.iter().sum();
    for (done, n) in open.iter().enumerate() {
        let part = match division {
            Division::Proportional => u128::from(slack.as_ps()) * weights[*n] / left.max(1),
            Division::Equal => u128::from(slack.as_ps()) / (open.len() - done) as u128,
            Division::Slowest | Division::Alike => u128::from(slack.as_ps()),
        };
        let part = part.min(room(&hops[*n])).min(u128::from(slack.as_ps()));
        let part = Span::from_ps(part as u64);
        deadlines[*n] += part;
        slack -= part;
        left -= weights[*n];
    }
    Ok(deadlines)
}

/// The least budget that [`divide`] shares out among `hops`.
pub fn least(hops: &[Needs], division: Division) -> Span {
    match division {
        Division::Alike => {
            let slowest = hops.iter().map(|needs| needs.least).max().unwrap_or_default();
            slowest.saturating_mul(hops.len() as u64)
        }
        Division::Proportional | Division::Equal | Division::Slowest => sum(hops),
    }
}

/// The slowest hop is short of `missing`; of several that are slowest, the last.
fn late(hops: &[Needs], missing: Span) -> HopsTooLate {
    let hop = (0..hops.len()).max_by_key(|hop| hops[*hop].least).unwrap_or(0);
    HopsTooLate { hop, missing }
}

fn room(needs: &Needs) -> u128 {
    u128::from(needs.latest.saturating_sub(needs.least).as_ps())
}

fn sum(hops: &[Needs]) -> Span {
    total(hops.iter().map(|needs| needs.least))
}

/// The spans together, or the longest span that there is.
pub(crate) fn total(spans: impl Iterator<Item = Span>) -> Span {
    spans.fold(Span::ZERO, Span::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Span {
        Span::from_us(us)
    }

    fn hop(least: u64, latest: u64) -> Needs {
        Needs { least: us(least), latest: us(latest) }
    }

    fn divided(hops: &[Needs], budget: u64, division: Division) -> Option<Vec<u64>> {
        let deadlines = divide(hops, us(budget), division).ok()?;
        assert!(deadlines.iter().fold(Span::ZERO, |sum, deadline| sum + *deadline) <= us(budget));
        Some(deadlines.iter().map(|deadline| deadline.div_floor(us(1))).collect())
    }

    /// Of 90 the hops need 8 + 48 + 16, so 18 are shared out. In proportion each hop has 90/72 of
    /// its least.
    #[test]
    fn slack_is_shared_out_in_each_way() {
        let hops = [hop(8, 99), hop(48, 99), hop(16, 99)];
        assert_eq!(divided(&hops, 90, Division::Proportional), Some(vec![10, 60, 20]));
        assert_eq!(divided(&hops, 90, Division::Equal), Some(vec![14, 54, 22]));
        assert_eq!(divided(&hops, 90, Division::Slowest), Some(vec![8, 66, 16]));
        assert_eq!(divided(&hops, 90, Division::Alike), None);
        assert_eq!(divided(&hops, 150, Division::Alike), Some(vec![50, 50, 50]));
    }

    /// 120 are needed, so each counts as 4 at the least, and the slack of 124 is shared out as 4, 60, 60.
    #[test]
    fn a_hop_that_needs_no_time_gets_a_part() {
        let hops = [hop(0, 999), hop(60, 999), hop(60, 999)];
        assert_eq!(divided(&hops, 244, Division::Proportional), Some(vec![4, 120, 120]));
    }

    /// The second hop can use 4 more at most: the other 14 go to the first and the third, 1 to 2 in
    /// proportion.
    #[test]
    fn a_hop_that_can_use_no_more_leaves_the_rest_to_the_others() {
        let hops = [hop(8, 99), hop(48, 52), hop(16, 99)];
        assert_eq!(divided(&hops, 91, Division::Proportional), Some(vec![13, 52, 26]));
        assert_eq!(divided(&hops, 90, Division::Equal), Some(vec![15, 52, 23]));
        assert_eq!(divided(&hops, 90, Division::Slowest), Some(vec![8, 52, 30]));
    }

    /// 72 are needed. The slowest hop is named, with the time that is missing.
    #[test]
    fn a_path_that_needs_more_is_refused_by_its_slowest_hop() {
        let all = [hop(10, 99), hop(50, 99), hop(12, 99)];
        assert_eq!((least(&all, Division::Proportional), least(&all, Division::Alike)), (us(72), us(150)));
        for division in [Division::Proportional, Division::Equal, Division::Slowest] {
            assert!(divide(&all, us(72), division).is_ok());
            assert_eq!(divide(&all, us(69), division), Err(HopsTooLate { hop: 1, missing: us(3) }));
        }
        assert_eq!(divide(&all, us(147), Division::Alike), Err(HopsTooLate { hop: 1, missing: us(1) }));
    }

    /// All of the slack is shared out where hops can use it, but for rounding.
    #[test]
    fn no_slack_is_left_where_it_can_be_used() {
        let hops = [hop(0, 1_000_000), hop(0, 1_000_000), hop(7, 9)];
        for division in [Division::Proportional, Division::Equal, Division::Slowest] {
            let deadlines = divide(&hops, us(1000), division).unwrap();
            let sum = deadlines.iter().fold(Span::ZERO, |sum, deadline| sum + *deadline);
            assert!(sum <= us(1000) && us(1000) - sum <= Span::from_ps(3), "{division:?} {sum}");
        }
    }
}
