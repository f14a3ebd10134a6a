//! Confidence in a mean of repetitions.
//!
//! Runs that differ only in their seed are independent draws of the same figure. Student's
//! distribution gives the confidence in their mean: `x̄ ± t(0.975, n − 1) · s / √n`, for 95 of 100
//! such intervals to hold the true mean. The figure has to be about normal: the mean of many
//! messages is, a maximum is not, so of a maximum the interval is a hint. Messages of *one* run are
//! correlated and are no repetitions.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// How sure an interval is.
pub const CONFIDENCE: f64 = 0.95;

/// A mean, and the half width of its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConfidenceInterval {
    /// Of the values.
    pub mean: f64,
    /// Half the width of the interval around it, in the unit of the values.
    pub half: f64,
}

/// The interval of the mean of `values`; `None` for fewer than two values, which have no variance.
pub fn interval(values: &[f64]) -> Option<ConfidenceInterval> {
    let n = values.len() as f64;
    let freedom = values.len().checked_sub(1).filter(|freedom| *freedom > 0)? as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / freedom;
    let t =
        StudentsT::new(0.0, 1.0, freedom).expect("there is freedom").inverse_cdf((1.0 + CONFIDENCE) / 2.0);
    Some(ConfidenceInterval { mean, half: t * (variance / n).sqrt() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table values: t(0.975, 1) = 12.706, t(0.975, 4) = 2.776, t(0.975, 100) = 1.984.
    #[test]
    fn intervals_are_students() {
        assert_eq!((interval(&[]), interval(&[3.0])), (None, None));
        let two = interval(&[1.0, 3.0]).unwrap();
        assert!(two.mean == 2.0 && (two.half - 12.706).abs() < 1e-3, "{two:?}");
        let five = interval(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!(five.mean == 3.0 && (five.half - 2.776 * (2.5f64 / 5.0).sqrt()).abs() < 1e-3, "{five:?}");
        let many: Vec<f64> = (0..101).map(|i| f64::from(i % 2)).collect();
        let many = interval(&many).unwrap();
        let variance = 51.0 * 50.0 / 101.0 / 100.0;
        assert!((many.half - 1.984 * (variance / 101.0f64).sqrt()).abs() < 1e-4, "{many:?}");
        assert_eq!(interval(&[7.0; 4]), Some(ConfidenceInterval { mean: 7.0, half: 0.0 }));
    }
}
