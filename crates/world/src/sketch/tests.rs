use proptest::prelude::*;

use super::*;

/// A sketch of values in batches of `batch`.
fn sketch(values: &[i64], batch: usize) -> Sketch {
    let mut sketch = Sketch::default();
    values.chunks(batch).for_each(|values| sketch.add(values.iter().copied()));
    sketch
}

/// The value of that rank of sorted values, in seconds.
fn nearest_rank(sorted: &[i64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    seconds(sorted[rank.clamp(1, sorted.len()) - 1])
}

#[test]
fn buckets_are_in_order_and_no_wider_than_stated() {
    let sizes = (0..63).flat_map(|e| [0, 1, 2, 3, 5, 1023, 1024, 1025].map(|more| (1_i64 << e) + more));
    let mut values: Vec<i64> = sizes.flat_map(|size| [size, size - 1]).chain([0, i64::MAX]).collect();
    values.retain(|value| *value >= 0);
    values.extend(values.clone().iter().map(|value| -value));
    values.sort_unstable();
    for pair in values.windows(2) {
        assert!(bucket_of(pair[0]) <= bucket_of(pair[1]), "{} and {}", pair[0], pair[1]);
    }
    for value in values {
        let middle = middle(bucket_of(value));
        assert_eq!(bucket_of(middle), bucket_of(value), "{value}");
        let error = (middle as f64 - value as f64).abs();
        assert!(error <= RELATIVE_ERROR * (value as f64).abs(), "{value}: {middle}");
        assert!(value.abs() >= 2048 || middle == value, "{value} has a bucket of its own");
    }
    assert_eq!(RELATIVE_ERROR, 1.0 / 2048.0);
}

/// Of 10.001 to 11.001 ms evenly the median is 10.501, the 1st percentile 10.011, the 99.99th
/// 11.0009, of a thousand values and of a million.
#[test]
fn percentiles_mean_the_same_however_many_values_there_are() {
    for each in [1, 1000] {
        let values: Vec<i64> =
            (0..=1000).flat_map(|us| std::iter::repeat_n((10_001 + us) * 1_000_000, each)).collect();
        let ranks = sketch(&values, 64).ranks();
        for (share, exact) in [(0.01, 10.011e-3), (0.5, 10.501e-3), (0.99, 10.991e-3), (0.9999, 11.0009e-3)] {
            let found = ranks.at(share);
            assert!((found - exact).abs() <= exact / 2048.0 + 1e-6, "{share} of {each}: {found}");
        }
        assert_eq!((ranks.at(0.0), ranks.at(1.0)), (10.001e-3, 11.001e-3), "extremes are exact");
    }
}

/// Of 30 days of a constant latency of 0.9 s: a sum of squares would be off by 1e-8 of it.
#[test]
fn a_constant_has_no_deviation_and_is_its_own_percentile() {
    for value in [900_000_000_000, 900_000_000_001, 1, 3_600_000_000_000_001, -7_000_000_001] {
        let constant = sketch(&vec![value; 100_000], 63);
        assert_eq!((constant.deviation(), constant.mean()), (0.0, seconds(value)));
        assert_eq!((constant.min(), constant.max()), (seconds(value), seconds(value)));
        assert_eq!(constant.ranks().at(0.5), seconds(value));
    }
}

/// The deviation of two values that are 2 ps apart is 1 ps, at an hour, and however they are
/// batched.
#[test]
fn a_deviation_is_that_of_the_values_and_not_of_their_size() {
    let hour = 3_600_000_000_000_000;
    let values: Vec<i64> = (0..10_000).map(|i| hour + 2 * (i % 2)).collect();
    for batch in [2, 7, 64, 10_000] {
        let deviation = sketch(&values, batch).deviation();
        assert!((deviation - 1e-12).abs() < 1e-14, "{deviation}");
    }
}

#[test]
fn nothing_is_nothing() {
    let mut none = Sketch::default();
    none.merge(&Sketch::default());
    none.add(std::iter::empty());
    assert_eq!(none, Sketch::default());
    assert_eq!(
        (none.count(), none.min(), none.max(), none.mean(), none.deviation()),
        (0, 0.0, 0.0, 0.0, 0.0)
    );
    assert_eq!(none.ranks().at(0.5), 0.0);
}

/// A million values at random over ten thousand times the least fill 13 powers of two and a table
/// of them, which stays.
#[test]
fn memory_ends_where_the_buckets_are_filled() {
    let mut state = 1_u64;
    let mut sketch = Sketch::default();
    for _ in 0..10_000 {
        let values: [i64; 100] = std::array::from_fn(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            1_000_000 + (state >> 30) as i64 % 10_000_000_000
        });
        sketch.add(values.into_iter());
    }
    assert!(sketch.buckets.filled <= 14 * 1024, "{}", sketch.buckets.filled);
    assert!(sketch.buckets.slots.len() <= 32 * 1024, "{}", sketch.buckets.slots.len());
    // A constant takes the first table.
    let mut constant = Sketch::default();
    (0..1000).for_each(|_| constant.add([5_000_000].into_iter()));
    assert_eq!((constant.buckets.filled, constant.buckets.slots.len()), (1, FIRST));
}

#[test]
fn an_instant_before_the_other_is_negative_and_no_distance_overflows() {
    let at = |ps| Time::ZERO + laxity_units::Span::from_ps(ps);
    assert_eq!((picoseconds(at(5), at(7)), picoseconds(at(7), at(5))), (2, -2));
    assert_eq!(picoseconds(Time::ZERO, Time::MAX), i64::MAX);
    assert_eq!(picoseconds(Time::MAX, Time::ZERO), -i64::MAX);
    let ends = sketch(&[i64::MAX, -i64::MAX], 2);
    assert_eq!((ends.mean(), ends.ranks().at(0.0)), (0.0, -(i64::MAX as f64) / 1e12));
}

/// Values of any size, as many small as large, of either sign.
fn values() -> impl Strategy<Value = Vec<i64>> {
    let value = (0_u32..52, any::<i64>()).prop_map(|(shift, value)| value >> (shift + 11));
    prop::collection::vec(value, 1..300)
}

proptest! {
    /// Every percentile is within the stated error of the value of the nearest rank, in both tails.
    #[test]
    fn percentiles_are_within_the_stated_error(values in values(), batch in 1_usize..70) {
        let sketch = sketch(&values, batch);
        let mut sorted = values.clone();
        sorted.sort_unstable();
        let ranks = sketch.ranks();
        for share in [0.0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0] {
            let (exact, found) = (nearest_rank(&sorted, share), ranks.at(share));
            prop_assert!((found - exact).abs() <= exact.abs() * RELATIVE_ERROR * (1.0 + 1e-12), "{share}: {found} for {exact}");
            prop_assert!(exact == 0.0 || found * exact > 0.0, "{share}: {found} has the sign of {exact}");
        }
        prop_assert_eq!(sketch.count(), values.len() as u64);
        prop_assert_eq!((sketch.min(), sketch.max()), (seconds(sorted[0]), seconds(*sorted.last().unwrap())));
        let sum: i128 = values.iter().map(|value| i128::from(*value)).sum();
        let mean = sum as f64 / values.len() as f64 / PER_SECOND;
        prop_assert!((sketch.mean() - mean).abs() <= 1e-15 * mean.abs() + 1e-27, "{} for {mean}", sketch.mean());
        let mean = sum as f64 / values.len() as f64;
        let squares: f64 = values.iter().map(|value| (*value as f64 - mean).powi(2)).sum();
        let deviation = (squares / values.len() as f64).sqrt() / PER_SECOND;
        prop_assert!((sketch.deviation() - deviation).abs() <= 1e-9 * deviation + 1e-24);
    }

    /// Two sketches together are the sketch of all values.
    #[test]
    fn a_merged_sketch_is_that_of_all_values(left in values(), right in values()) {
        let all = sketch(&[left.clone(), right.clone()].concat(), 64);
        let mut merged = sketch(&left, 64);
        merged.merge(&sketch(&right, 64));
        prop_assert_eq!((merged.count, merged.sum, merged.min, merged.max), (all.count, all.sum, all.min, all.max));
        prop_assert_eq!(&merged.buckets, &all.buckets);
        prop_assert!((merged.deviation() - all.deviation()).abs() <= 1e-9 * all.deviation() + 1e-24);
        let mut from_none = Sketch::default();
        from_none.merge(&all);
        prop_assert_eq!(&from_none, &all);
        from_none.merge(&Sketch::default());
        prop_assert_eq!(&from_none, &all);
    }
}
