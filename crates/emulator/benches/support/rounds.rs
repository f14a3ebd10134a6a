//! Rounds, medians and the rows of a table.
//!
//! Single runs on a shared virtual machine differ by a factor of two to four. Contestants therefore
//! alternate within a round, the first one changes from round to round, and medians over the rounds
//! are compared.

/// Number of rounds; `--quick` is for a functional check.
pub(crate) fn rounds() -> usize {
    if std::env::args().any(|argument| argument == "--quick") { 3 } else { 15 }
}

/// Runs every one of `contestants` once in each of `rounds` and returns their results, by
/// contestant.
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

/// Median of `of` over the results.
pub(crate) fn median<R>(results: &[R], of: impl Fn(&R) -> f64) -> f64 {
    let mut values: Vec<f64> = results.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}
