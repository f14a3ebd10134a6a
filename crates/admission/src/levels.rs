//! Channels in order on a host that distinguishes a limited number of priorities.
//!
//! Channels that share a level are served in the order of arrival, so each counts as above the
//! other: all channels of a level have the response time of its lowest. A channel that asks for
//! little is therefore late beside one that asks for much, even if both are admitted one by one,
//! and whether the levels suffice is part of admission.
//!
//! With `r` the response times in order, a level of the places `[a, b)` keeps its promises if
//! `r_{b−1} ≤ min d_i` over it. A property of a range holds for each part of it, so taking as many
//! as go, from the top, needs the fewest levels for this order. Those left over then part the
//! largest levels, which can only shorten response times.

/// A channel that would be late on the last level, if that had to hold all that the levels above do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooFew {
    /// The place of the channel with the least limit there.
    pub(super) place: usize,
    /// The response time of the level less that limit.
    pub(super) by: u64,
}

/// The level of every channel, from the response time `r` and the limit of each in priority order;
/// or one that is late if `levels`, at least 1, do not suffice.
pub(super) fn assign(channels: &[(u64, u64)], levels: u32) -> Result<Vec<u32>, TooFew> {
    if channels.len() <= levels as usize {
        return Ok((0..channels.len() as u32).collect());
    }
    let mut starts = vec![0];
    let mut least = u64::MAX;
    for (place, &(response, limit)) in channels.iter().enumerate() {
        least = least.min(limit);
        if response > least {
            starts.push(place);
            least = limit;
        }
    }
    if starts.len() > levels as usize {
        let first = starts[levels as usize - 1];
        let least = (first..channels.len()).min_by_key(|place| channels[*place].1);
        let place = least.expect("a level has a channel");
        return Err(TooFew { place, by: channels[channels.len() - 1].0 - channels[place].1 });
    }
    while starts.len() < levels as usize {
        let end = |i: usize| starts.get(i + 1).copied().unwrap_or(channels.len());
        let largest = (0..starts.len()).max_by_key(|&i| (end(i) - starts[i], usize::MAX - i));
        let largest = largest.expect("there is a level");
        starts.insert(largest + 1, starts[largest] + (end(largest) - starts[largest]).div_ceil(2));
    }
    let level = |place| starts.partition_point(|start| *start <= place) as u32 - 1;
    Ok((0..channels.len()).map(level).collect())
}

/// The place of the lowest channel on the level of `place`; all of that level have its response
/// time.
pub(super) fn lowest_beside(levels: &[u32], place: usize) -> usize {
    levels.partition_point(|level| *level <= levels[place]) - 1
}

#[cfg(test)]
mod tests {
    use super::{TooFew, assign, lowest_beside};

    #[test]
    fn each_channel_has_a_level_while_there_are_enough() {
        assert_eq!(assign(&[(1, 9), (2, 9), (3, 9)], 3), Ok(vec![0, 1, 2]));
        assert_eq!(assign(&[], 3), Ok(vec![]));
    }

    #[test]
    fn a_channel_waits_for_all_of_its_level() {
        let levels = [0, 4, 4, 7];
        assert_eq!([0, 1, 2, 3].map(|place| lowest_beside(&levels, place)), [0, 2, 2, 3]);
    }

    #[test]
    fn what_is_done_at_its_limit_is_in_time() {
        assert_eq!(assign(&[(2, 4), (4, 9)], 1), Ok(vec![0, 0]));
        assert_eq!(assign(&[(2, 4), (5, 9)], 1), Err(TooFew { place: 0, by: 1 }));
    }

    #[test]
    fn whoever_asks_for_little_time_shares_with_nobody_who_takes_much() {
        // The first has 4 to be through, and would wait 9 with all, 5 with one other.
        let channels = [(3, 4), (5, 90), (7, 90), (9, 90)];
        assert_eq!(assign(&channels, 2), Ok(vec![0, 1, 1, 1]));
        assert_eq!(assign(&channels, 3), Ok(vec![0, 1, 1, 2]));
        assert_eq!(assign(&channels, 1), Err(TooFew { place: 0, by: 5 }));
        // Three that cannot share a level.
        assert_eq!(assign(&[(3, 4), (5, 6), (7, 8)], 2), Err(TooFew { place: 1, by: 1 }));
    }
}
