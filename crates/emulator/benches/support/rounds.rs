//! Rounds, medians and the rows of a table.
//!
//! Single runs on a shared virtual machine differ by a factor of two to four. So contestants take turns within a
//! round, the one that begins changes from round to round, and what is compared are medians over the rounds.

/// How many rounds: `--quick` is for seeing that it works.
pub(crate) fn rounds() -> usize {
    if std::env::args().any(|argument| argument == "--quick") { 3 } else { 15 }
}

/// Lets every one of `contestants` run once in each of `rounds` and answers their results, by contestant.
pub(crate) fn interleaved<R>(rounds: usize, contestants: &mut [&mut dyn FnMut() -> R]) -> Vec<Vec<R>> {
    let mut results: Vec<Vec<R>> = contestants.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        for turn in 0..contestants.len() {
            let whose = (turn + round) % contestants.len();
            results[whose].push(contestants[whose]());
        }
    }
    results
}

/// The median of what `of` says of each.
pub(crate) fn median<R>(results: &[R], of: impl Fn(&R) -> f64) -> f64 {
    let mut values: Vec<f64> = results.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}
