//! The arithmetic behind the helpers: shapes of columns of numbers, and numbers in words.
//!
//! Every function refuses what it cannot answer (too few numbers, a number that is not finite, a metric
//! that was not measured) with a message, because a guess here would become a verdict.

use rhai::Dynamic;

use super::absent::{Absent, Fault};

/// The finite number that `value` is.
pub(super) fn number(value: &Dynamic) -> Result<f64, Fault> {
    if let Some(why) = Absent::of(value) {
        return Err(Fault::Absent(why));
    }
    let number = match value {
        v if v.is_int() => v.as_int().unwrap_or_default() as f64,
        v if v.is_float() => v.as_float().unwrap_or(f64::NAN),
        v => return Err(Fault::Slip(format!("a {} where a number is needed", kind(v)))),
    };
    if number.is_finite() {
        Ok(number)
    } else {
        Err(Fault::Absent(format!("`{number}` is not a finite number")))
    }
}

/// The kind of the value, in a word.
fn kind(value: &Dynamic) -> &'static str {
    match value {
        v if v.is_string() => "text",
        v if v.is_array() => "list",
        v if v.is_bool() => "truth value",
        v if v.is_fnptr() => "function",
        _ => "record",
    }
}

/// The numbers of a list, at least `least` of them.
pub(super) fn numbers(values: &[Dynamic], least: usize) -> Result<Vec<f64>, Fault> {
    if values.len() < least {
        let count = values.len();
        return Err(Fault::Absent(format!("a list of {count} where at least {least} numbers are needed")));
    }
    let read = |(i, value)| {
        number(value).map_err(|fault| match fault {
            Fault::Absent(why) => Fault::Absent(format!("{why}, at position {i} of the list")),
            Fault::Slip(why) => Fault::Slip(format!("{why}, at position {i} of the list")),
        })
    };
    values.iter().enumerate().map(read).collect()
}

/// Whether `a` lies within the share `tolerance` of `b`.
pub(super) fn near(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * b.abs()
}

/// The largest magnitude, against which tolerances of a column count.
fn scale(xs: &[f64]) -> f64 {
    xs.iter().fold(0.0, |largest, x| x.abs().max(largest))
}

/// Whether no step falls by more than `tolerance` of the largest magnitude. Steps are counted from
/// the highest value so far: a slow decrease in small steps is a fall.
pub(super) fn never_falling(xs: &[f64], tolerance: f64) -> bool {
    let slack = tolerance * scale(xs);
    let mut highest = f64::NEG_INFINITY;
    xs.iter().all(|x| {
        highest = highest.max(*x);
        highest - x <= slack
    })
}

/// [`never_falling`], and the last is above the first by more than the tolerance.
pub(super) fn rising(xs: &[f64], tolerance: f64) -> bool {
    let net = xs[xs.len() - 1] - xs[0];
    never_falling(xs, tolerance) && net > tolerance * scale(xs)
}

/// Whether all lie within `tolerance` of the largest magnitude of each other.
pub(super) fn flat(xs: &[f64], tolerance: f64) -> bool {
    max(xs) - min(xs) <= tolerance * scale(xs)
}

/// The largest.
pub(super) fn max(xs: &[f64]) -> f64 {
    xs.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// The smallest.
pub(super) fn min(xs: &[f64]) -> f64 {
    xs.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The arithmetic mean.
pub(super) fn mean(xs: &[f64]) -> f64 {
    xs.iter().sum::<f64>() / xs.len() as f64
}

/// The position of the first largest.
pub(super) fn argmax(xs: &[f64]) -> usize {
    let largest = max(xs);
    xs.iter().position(|x| *x == largest).unwrap_or_default()
}

/// A straight line fitted by least squares.
pub(super) struct Line {
    pub(super) slope: f64,
    /// The share of the variance of `ys` that the line explains; 1 if there is none to explain.
    pub(super) r2: f64,
}

/// Fits `ys` over `xs`.
pub(super) fn fit(xs: &[f64], ys: &[f64]) -> Result<Line, Fault> {
    if xs.len() != ys.len() {
        let (xs, ys) = (xs.len(), ys.len());
        return Err(Fault::Absent(format!("{xs} positions and {ys} values: a line needs as many of each")));
    }
    let (x_mean, y_mean) = (mean(xs), mean(ys));
    let pairs = || xs.iter().zip(ys).map(|(x, y)| (x - x_mean, y - y_mean));
    let (sxx, sxy, syy) =
        pairs().fold((0.0, 0.0, 0.0), |(sxx, sxy, syy), (x, y)| (sxx + x * x, sxy + x * y, syy + y * y));
    if sxx == 0.0 {
        return Err(Fault::Absent("all positions are the same: no line passes through them".into()));
    }
    let r2 = if syy == 0.0 { 1.0 } else { sxy * sxy / (sxx * syy) };
    Ok(Line { slope: sxy / sxx, r2 })
}

/// `x` with at most `digits` decimals and no trailing zeros.
pub(super) fn decimal(x: f64, digits: usize) -> String {
    let text = format!("{x:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".into() } else { text.into() }
}

/// The result of `shows`, as one line of text.
pub(super) fn words(value: &Dynamic) -> Result<String, Fault> {
    if Absent::of(value).is_some() {
        return Ok("not measured".into());
    }
    if value.is_string() {
        return Ok(value.to_string().split_whitespace().collect::<Vec<_>>().join(" "));
    }
    if let Ok(list) = value.as_array_ref() {
        return list.iter().map(words).collect::<Result<Vec<_>, _>>().map(|all| all.join(", "));
    }
    if value.is_bool() {
        return Ok(value.to_string());
    }
    let x = number(value).map_err(|fault| match fault {
        Fault::Slip(why) => Fault::Slip(format!("it must end in text, a number or a list of them: {why}")),
        absent @ Fault::Absent(_) => absent,
    })?;
    // Six significant digits: enough to compare with a paper, few enough to read.
    let digits = if x == 0.0 { 0 } else { (5 - x.abs().log10().floor() as i64).clamp(0, 12) as usize };
    Ok(decimal(x, digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_slide_is_a_fall() {
        let slide: Vec<f64> = (0..100).map(|i| 100.0 - f64::from(i) * 0.5).collect();
        assert!(!never_falling(&slide, 0.01));
        assert!(never_falling(&[1.0, 0.995, 2.0, 1.985], 0.01));
    }

    #[test]
    fn standing_still_is_not_rising() {
        assert!(never_falling(&[5.0, 5.0], 0.0));
        assert!(!rising(&[5.0, 5.0], 0.0));
        assert!(!rising(&[5.0, 5.01], 0.01));
        assert!(rising(&[5.0, 6.0], 0.01));
        assert!(rising(&[-6.0, -5.0], 0.01));
    }

    #[test]
    fn flatness_counts_against_the_largest() {
        assert!(flat(&[100.0, 99.0, 100.0], 0.01));
        assert!(!flat(&[100.0, 98.9], 0.01));
        assert!(flat(&[0.0, 0.0], 0.0));
    }

    #[test]
    fn lines_fit() {
        let line = fit(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]).unwrap();
        assert!((line.slope - 2.0).abs() < 1e-12 && (line.r2 - 1.0).abs() < 1e-12);
        assert_eq!(fit(&[1.0, 2.0], &[3.0, 3.0]).unwrap().r2, 1.0);
        assert!(fit(&[1.0, 2.0, 3.0, 4.0], &[1.0, -1.0, 1.0, -1.0]).unwrap().r2 < 0.3);
        assert!(fit(&[1.0, 1.0], &[1.0, 2.0]).is_err());
        assert!(fit(&[1.0], &[1.0, 2.0]).is_err());
    }

    #[test]
    fn numbers_in_words_are_short() {
        let say = |x: f64| words(&Dynamic::from_float(x)).unwrap();
        assert_eq!(say(1_843_200.0), "1843200");
        assert_eq!(say(0.012_345_678), "0.0123457");
        assert_eq!(say(0.5), "0.5");
        assert_eq!(say(0.0), "0");
        assert!(words(&Dynamic::from_float(f64::NAN)).is_err());
        assert_eq!(decimal(-0.000_1, 2), "0");
    }
}
