//! Fit of costs at several packet sizes by a cost per packet and a cost per byte.

/// Cost at one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Packet size in bytes; 0 if the cost has no size.
    pub size: u64,
    /// Median of the batches, in nanoseconds.
    pub median: f64,
    /// 10th percentile.
    pub low: f64,
    /// 90th percentile.
    pub high: f64,
}

/// Line through points, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FittedLine {
    /// Cost of a packet of no bytes, at least 0.
    pub fixed: f64,
    /// Cost per byte, at least 0; 0 if the effect of size is smaller than the noise.
    pub per_byte: f64,
}

impl FittedLine {
    /// Line with the median of the slopes between any two points as its slope: unlike a
    /// least-squares line, it tolerates one size at which the platform was busy.
    ///
    /// If the line would rise by less than half of the variation at one size, the largest median is
    /// the cost for every size: such a slope would be noise, and too small a cost is the worse
    /// error.
    pub fn through(points: &[Point]) -> FittedLine {
        let pairs = points.iter().enumerate().flat_map(|(i, a)| points[i + 1..].iter().map(move |b| (a, b)));
        let slopes = pairs
            .filter(|(a, b)| a.size != b.size)
            .map(|(a, b)| (b.median - a.median) / (b.size as f64 - a.size as f64));
        let per_byte = median(slopes.collect()).unwrap_or(0.0);
        let sizes = || points.iter().map(|point| point.size as f64);
        let range = sizes().fold(0.0, f64::max) - sizes().fold(f64::INFINITY, f64::min);
        let spread = median(points.iter().map(|point| point.high - point.low).collect()).unwrap_or(0.0);
        if per_byte * range <= spread / 2.0 {
            return FittedLine {
                fixed: points.iter().map(|point| point.median).fold(0.0, f64::max),
                per_byte: 0.0,
            };
        }
        let rest = points.iter().map(|point| point.median - per_byte * point.size as f64);
        FittedLine { fixed: median(rest.collect()).unwrap_or(0.0).max(0.0), per_byte }
    }

    /// Cost at `size`.
    pub fn at(&self, size: u64) -> f64 {
        self.fixed + self.per_byte * size as f64
    }

    /// Maximum error of the line over the points.
    pub fn residual(&self, points: &[Point]) -> f64 {
        points.iter().map(|point| (point.median - self.at(point.size)).abs()).fold(0.0, f64::max)
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(costs: &[(u64, f64)], spread: f64) -> Vec<Point> {
        let point = |(size, median): &(u64, f64)| Point {
            size: *size,
            median: *median,
            low: median - spread / 2.0,
            high: median + spread / 2.0,
        };
        costs.iter().map(point).collect()
    }

    #[test]
    fn a_line_is_found_in_spite_of_one_busy_moment() {
        let costs = [(64, 312.8), (512, 402.4), (1024, 504.8), (2048, 2000.0), (4096, 1119.2)];
        let line = FittedLine::through(&points(&costs, 20.0));
        assert!((line.per_byte - 0.2).abs() < 0.01 && (line.fixed - 300.0).abs() < 15.0, "{line:?}");
        assert!((line.residual(&points(&costs, 20.0)) - 1290.4).abs() < 30.0);
        assert!((line.at(4096) - 1119.2).abs() < 30.0);
    }

    #[test]
    fn chance_is_no_cost_per_byte() {
        let costs = [(64, 100.0), (1024, 104.0), (4096, 103.0)];
        assert_eq!(FittedLine::through(&points(&costs, 30.0)), FittedLine { fixed: 104.0, per_byte: 0.0 });
        assert_eq!(
            FittedLine::through(&points(&costs[..1], 0.0)),
            FittedLine { fixed: 100.0, per_byte: 0.0 }
        );
        // Nor does a falling cost have a slope.
        let falling = [(64, 100.0), (1024, 80.0), (4096, 20.0)];
        assert_eq!(FittedLine::through(&points(&falling, 1.0)).per_byte, 0.0);
    }

    #[test]
    fn nothing_costs_less_than_nothing() {
        let line = FittedLine::through(&points(&[(1000, 50.0), (2000, 150.0), (4000, 350.0)], 1.0));
        assert_eq!((line.fixed, line.per_byte), (0.0, 0.1));
    }
}
