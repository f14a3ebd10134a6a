//! Linear programs with an optimum that is never underestimated.
//!
//! A solver in floating point can return less than the maximum, and then a bound would be wrong.
//! The solver therefore gets the dual program. Any of its solutions, multiplied with the rows,
//! proves an upper bound on the maximum (weak duality). The multipliers are rounded to integers and
//! the proof is evaluated in integers: what a multiplier misses is charged with the largest value
//! of the variable. A wrong solution of the solver gives a worse bound, never a wrong one.

use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};

/// Fractional bits of a multiplier.
const BITS: u32 = 64;

/// `Σ terms ≤ limit` over variables that are not negative.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) terms: Vec<(usize, i128)>,
    pub(crate) limit: i128,
}

/// A variable: from zero to `most`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    pub(crate) most: i128,
    /// Its usual size, for the solver.
    pub(crate) scale: f64,
}

/// Upper bound on variable `objective` under `rows`; `None` if the solver or the range of integers
/// fails.
pub(crate) fn maximum(ranges: &[Range], rows: &[Row], objective: usize) -> Option<i128> {
    let multipliers = dual(ranges, rows, objective)?;
    let mut missing: Vec<i128> = vec![0; ranges.len()];
    missing[objective] = 1 << BITS;
    let mut bound: i128 = 0;
    for (row, &multiplier) in rows.iter().zip(&multipliers) {
        if multiplier == 0 {
            continue;
        }
        bound = bound.checked_add(row.limit.checked_mul(multiplier)?)?;
        for &(variable, factor) in &row.terms {
            missing[variable] = missing[variable].checked_sub(factor.checked_mul(multiplier)?)?;
        }
    }
    for (missing, range) in missing.into_iter().zip(ranges) {
        if missing > 0 {
            bound = bound.checked_add(missing.checked_mul(range.most)?)?;
        }
    }
    let whole = bound >> BITS;
    Some(if whole << BITS == bound { whole } else { whole + 1 })
}

/// Multipliers of the rows with [`BITS`] fractional bits, none negative.
fn dual(ranges: &[Range], rows: &[Row], objective: usize) -> Option<Vec<i128>> {
    // Row i in units of its largest scaled term, so that the solver sees numbers about 1.
    let scaled = |&(variable, factor): &(usize, i128)| factor as f64 * ranges[variable].scale;
    let unit = |row: &Row| row.terms.iter().map(|term| scaled(term).abs()).fold(f64::MIN_POSITIVE, f64::max);
    let target = ranges[objective].scale;
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let mut columns: Vec<Vec<(Variable, f64)>> = vec![Vec::new(); ranges.len()];
    let mut multipliers = Vec::with_capacity(rows.len());
    for row in rows {
        let unit = unit(row);
        let variable = problem.add_var(row.limit as f64 / unit, (0.0, f64::INFINITY));
        multipliers.push((variable, unit));
        for term in &row.terms {
            columns[term.0].push((variable, scaled(term) / unit));
        }
    }
    for (index, column) in columns.iter().enumerate() {
        let least = if index == objective { 1.0 } else { 0.0 };
        problem.add_constraint(column.as_slice(), ComparisonOp::Ge, least);
    }
    let solution = problem.solve().ok()?.into_solution().ok()?;
    let scale = (BITS as f64).exp2();
    let integer = |(variable, unit): (Variable, f64)| {
        let multiplier = solution.var_value(variable) * target / unit * scale;
        // A multiplier beyond the range of integers is left out: its variable costs the whole range.
        if multiplier.is_finite() && multiplier < 1e36 { multiplier.max(0.0) as i128 } else { 0 }
    };
    Some(multipliers.into_iter().map(integer).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOMY: Range = Range { most: 1000, scale: 1.0 };

    fn row(terms: &[(usize, i128)], limit: i128) -> Row {
        Row { terms: terms.to_vec(), limit }
    }

    /// `x + y ≤ 10`, `3 x ≤ y + 4`: at most 3.5, where `y` is 6.5.
    #[test]
    fn the_maximum_is_rounded_up() {
        let rows = [row(&[(0, 1), (1, 1)], 10), row(&[(0, 3), (1, -1)], 4)];
        assert_eq!(maximum(&[ROOMY, ROOMY], &rows, 0), Some(4));
        assert_eq!(maximum(&[ROOMY, ROOMY], &rows, 1), Some(10));
    }

    /// The solver finds no multipliers for a variable that no row limits.
    #[test]
    fn a_variable_without_rows_has_no_maximum() {
        assert_eq!(maximum(&[ROOMY, ROOMY], &[row(&[(0, 1)], 5)], 1), None);
    }

    /// The proof in integers holds for any multipliers, so it is never below the maximum.
    #[test]
    fn large_numbers_do_not_lower_the_maximum() {
        let rate = 100_000_000;
        let most = Range { most: 1_000_000_000_000, scale: 1e9 };
        let counts = Range { most: i128::from(u64::MAX), scale: 1e17 };
        let rows = [row(&[(0, rate), (1, -1)], 333), row(&[(1, 1)], 12_345_678_901_234_567)];
        let exact = (12_345_678_901_234_567 + 333 + rate - 1) / rate;
        let found = maximum(&[most, counts], &rows, 0).expect("a maximum");
        assert!(found >= exact && found <= exact + 1, "{found} for {exact}");
    }
}
