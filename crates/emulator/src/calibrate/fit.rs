//! From costs at several sizes of packet to a cost of the packet and one of each byte.

/// A cost at one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Bytes of the packet; 0 for what has none.
    pub size: u64,
    /// The median of the batches, in nanoseconds.
    pub median: f64,
    /// The 10th percentile.
    pub low: f64,
    /// The 90th percentile.
    pub high: f64,
}

/// A line through points: nanoseconds of a packet of no bytes, and of each byte.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Of a packet of no bytes, not negative.
    pub fixed: f64,
    /// Of each byte, not negative; 0 where size makes less difference than chance does.
    pub per_byte: f64,
}

impl Line {
    /// The line whose slope is the median of those between any two points: one size at which the platform was busy does
    /// not turn it, as it would a line of least squares.
    ///
    /// Where the line would rise by less than half of what measurements at one size differ by, the largest of all
    /// medians is taken for every size: a slope would be chance, and too small a cost is the worse mistake.
    pub fn through(points: &[Point]) -> Line {
        let pairs = points.iter().enumerate().flat_map(|(i, a)| points[i + 1..].iter().map(move |b| (a, b)));
        let slopes = pairs
            .filter(|(a, b)| a.size != b.size)
            .map(|(a, b)| (b.median - a.median) / (b.size as f64 - a.size as f64));
        let per_byte = median(slopes.collect()).unwrap_or(0.0);
        let sizes = || points.iter().map(|point| point.size as f64);
        let range = sizes().fold(0.0, f64::max) - sizes().fold(f64::INFINITY, f64::min);
        let spread = median(points.iter().map(|point| point.high - point.low).collect()).unwrap_or(0.0);
        if per_byte * range <= spread / 2.0 {
            return Line {
                fixed: points.iter().map(|point| point.median).fold(0.0, f64::max),
                per_byte: 0.0,
            };
        }
        let rest = points.iter().map(|point| point.median - per_byte * point.size as f64);
        Line { fixed: median(rest.collect()).unwrap_or(0.0).max(0.0), per_byte }
    }

    /// The cost at `size`.
    pub fn at(&self, size: u64) -> f64 {
        self.fixed + self.per_byte * size as f64
    }

    /// By how much the line is off at the point where it is most.
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
        let line = Line::through(&points(&costs, 20.0));
        assert!((line.per_byte - 0.2).abs() < 0.01 && (line.fixed - 300.0).abs() < 15.0, "{line:?}");
        assert!((line.residual(&points(&costs, 20.0)) - 1290.4).abs() < 30.0);
        assert!((line.at(4096) - 1119.2).abs() < 30.0);
    }

    #[test]
    fn chance_is_no_cost_per_byte() {
        let costs = [(64, 100.0), (1024, 104.0), (4096, 103.0)];
        assert_eq!(Line::through(&points(&costs, 30.0)), Line { fixed: 104.0, per_byte: 0.0 });
        assert_eq!(Line::through(&points(&costs[..1], 0.0)), Line { fixed: 100.0, per_byte: 0.0 });
        // Nor is a cost that falls.
        let falling = [(64, 100.0), (1024, 80.0), (4096, 20.0)];
        assert_eq!(Line::through(&points(&falling, 1.0)).per_byte, 0.0);
    }

    #[test]
    fn nothing_costs_less_than_nothing() {
        let line = Line::through(&points(&[(1000, 50.0), (2000, 150.0), (4000, 350.0)], 1.0));
        assert_eq!((line.fixed, line.per_byte), (0.0, 0.1));
    }
}
