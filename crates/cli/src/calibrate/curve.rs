//! `laxity calibrate --adapter`: the parameters of an adapter from its throughput by packet size.
//!
//! One packet at a time takes `L_x(s) = C_x + s/B_x` (structuring §3.3), so the time `s/throughput` is a
//! line of `s`, fitted by least squares. Where DMA is slower for small packets, two lines that meet
//! fit better (thesis Eq. 5.3); they meet at one of the measured sizes.

use laxity_report::present::figure;
use laxity_scenario::figure::{FigureSpec, Marks};
use laxity_world::results::{Axis, AxisPoint, Results, Run};

/// A measured point: bytes, and seconds for a packet of so many.
type Point = (f64, f64);

/// The fit of one or two lines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fit {
    /// `C_x` in seconds.
    pub(super) startup: f64,
    /// Seconds a byte up to `bend`.
    pub(super) per_byte: f64,
    /// The size at which the lines meet, and the seconds a byte beyond it.
    pub(super) bend: Option<(f64, f64)>,
    /// The largest difference of a point from the fit, as a share of the point.
    pub(super) worst: f64,
    /// The mean of these differences.
    pub(super) mean: f64,
}

/// The points of a file: a line of headings, `size` and `throughput` or `time`, and a line for each
/// size, in bytes, bytes per second and seconds.
pub(super) fn read(text: &str) -> Result<Vec<Point>, String> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let valid = "valid is a first line `size,throughput` or `size,time`";
    let (_, heading) = lines.next().ok_or(format!("the file is empty; {valid}"))?;
    let columns: Vec<&str> = heading.split(',').map(str::trim).collect();
    let place = |name: &str| columns.iter().position(|column| *column == name);
    let size = place("size").ok_or(format!("there is no column `size`; {valid}"))?;
    let (value, is_time) = match (place("time"), place("throughput")) {
        (Some(time), None) => (time, true),
        (None, Some(throughput)) => (throughput, false),
        _ => return Err(format!("there is neither `throughput` nor `time`, or both; {valid}")),
    };
    let mut points = Vec::new();
    for (number, line) in lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let cell = |place: usize| {
            let number: Option<f64> = cells.get(place).and_then(|cell| cell.parse().ok());
            number.filter(|number| number.is_finite() && *number > 0.0)
        };
        let (Some(size), Some(value)) = (cell(size), cell(value)) else {
            return Err(format!("line {}: `{}` has no two numbers above zero", number + 1, line.trim()));
        };
        points.push((size, if is_time { value } else { size / value }));
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by(|a, b| a.0 == b.0);
    match points.len() {
        0..3 => Err(format!("there are {} sizes; a fit takes three at least", points.len())),
        _ => Ok(points),
    }
}

/// The line of least squares through the differences as shares of each point.
pub(super) fn one(points: &[Point]) -> Fit {
    let basis: Vec<Vec<f64>> = points.iter().map(|(size, _)| vec![1.0, *size]).collect();
    let found = solve(&basis, points).unwrap_or(vec![0.0, 0.0]);
    judged(Fit { startup: found[0], per_byte: found[1], bend: None, worst: 0.0, mean: 0.0 }, points)
}

/// The two lines with the least mean difference, which meet at a measured size; `None` of fewer than
/// five sizes.
pub(super) fn two(points: &[Point]) -> Option<Fit> {
    let bends = points.get(1..points.len() - 2).filter(|_| points.len() >= 5)?;
    let at = |(bend, _): &Point| {
        let basis: Vec<Vec<f64>> =
            points.iter().map(|(size, _)| vec![1.0, size.min(*bend), (size - bend).max(0.0)]).collect();
        let found = solve(&basis, points)?;
        let bend = Some((*bend, found[2]));
        Some(judged(Fit { startup: found[0], per_byte: found[1], bend, worst: 0.0, mean: 0.0 }, points))
    };
    bends.iter().filter_map(at).min_by(|a, b| a.mean.total_cmp(&b.mean))
}

fn judged(fit: Fit, points: &[Point]) -> Fit {
    let off = |(size, time): &Point| (fit.at(*size) / time - 1.0).abs();
    let worst = points.iter().map(off).fold(0.0, f64::max);
    let mean = points.iter().map(off).sum::<f64>() / points.len() as f64;
    Fit { worst, mean, ..fit }
}

impl Fit {
    /// Seconds for a packet of `size` bytes.
    pub(super) fn at(&self, size: f64) -> f64 {
        match self.bend {
            Some((bend, beyond)) => {
                self.startup + self.per_byte * size.min(bend) + beyond * (size - bend).max(0.0)
            }
            None => self.startup + self.per_byte * size,
        }
    }
}

/// The coefficients of least squares, each point weighted by the inverse of its time; `None` if the
/// points do not decide them.
fn solve(basis: &[Vec<f64>], points: &[Point]) -> Option<Vec<f64>> {
    let n = basis.first()?.len();
    let mut matrix = vec![vec![0.0; n + 1]; n];
    for (row, (_, time)) in basis.iter().zip(points) {
        let weight = 1.0 / (time * time);
        for i in 0..n {
            for j in 0..n {
                matrix[i][j] += weight * row[i] * row[j];
            }
            matrix[i][n] += weight * row[i] * time;
        }
    }
    for i in 0..n {
        let pivot = (i..n).max_by(|a, b| matrix[*a][i].abs().total_cmp(&matrix[*b][i].abs()))?;
        matrix.swap(i, pivot);
        if matrix[i][i] == 0.0 {
            return None;
        }
        for k in (0..n).filter(|k| *k != i) {
            let factor = matrix[k][i] / matrix[i][i];
            let above = matrix[i].clone();
            for (entry, above) in matrix[k].iter_mut().zip(above).skip(i) {
                *entry -= factor * above;
            }
        }
    }
    Some((0..n).map(|i| matrix[i][n] / matrix[i][i]).collect())
}

/// An adapter file with the fit of one line, which is what a null adapter has.
pub(super) fn adapter(name: &str, points: &[Point], fit: &Fit) -> String {
    format!(
        "# Measured by `laxity calibrate`\n\
         title = \"An adapter by its throughput in {name}\"\n\
         about = \"\"\"\n\
         A line through the times of {} packets of {} to {} B, one at a time: C_x and B_x of structuring §3.3. The fit\n\
         is off by {:.1} % on average and by {:.1} % at most.\"\"\"\n\n\
         [adapter]\n\
         kind = \"null\"\n\
         startup = \"{} ns\"\n\
         per_byte = \"{} ps\"\n\
         source = \"fitted to {name}\"\n",
        points.len(),
        points[0].0,
        points[points.len() - 1].0,
        100.0 * fit.mean,
        100.0 * fit.worst,
        (fit.startup.max(0.0) * 1e9).round(),
        (fit.per_byte.max(0.0) * 1e12).round(),
    )
}

/// The fits as lines by packet size, and the points as marks.
pub(super) fn drawing(name: &str, points: &[Point], fits: &[(&str, Fit)]) -> String {
    let point = |text: String, value| AxisPoint { text, value };
    let axes = vec![
        Axis {
            name: "fit".into(),
            label: "fit".into(),
            points: fits.iter().map(|(name, _)| point((*name).into(), None)).collect(),
        },
        Axis {
            name: "size".into(),
            label: "packet (B)".into(),
            points: points.iter().map(|(size, _)| point(size.to_string(), Some(*size))).collect(),
        },
    ];
    let mut runs = Vec::new();
    for (f, (_, fit)) in fits.iter().enumerate() {
        for (p, (size, _)) in points.iter().enumerate() {
            let figures = [("packet_time".to_string(), fit.at(*size))].into();
            runs.push(Run { point: vec![f, p], figures, ..Run::default() });
        }
    }
    let (x, y) = points.iter().copied().unzip();
    let spec = FigureSpec {
        title: format!("Time of a packet in {name}, measured and fitted"),
        by: Some("fit".into()),
        log_x: true,
        marks: vec![Marks { name: "measured".into(), panel: String::new(), x, y }],
        ..FigureSpec::new("size", "figure:packet_time".parse().expect("a figure of this name is a metric"))
    };
    let results = Results { provenance: Default::default(), axes, runs };
    figure::svg(&results, &spec).expect("the figure names axes that are there")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The CIM of thesis Table 5.1: 0.42 us a byte up to 4 KiB and 0.31 us beyond.
    fn cim(size: f64) -> f64 {
        0.00263 + 0.42e-6 * size.min(4096.0) + 0.31e-6 * (size - 4096.0).max(0.0)
    }

    const SIZES: [f64; 8] = [64.0, 256.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0, 65536.0];

    #[test]
    fn a_line_is_found_again() {
        let points = SIZES.map(|size| (size, 40e-6 + 50e-9 * size));
        let fit = one(&points);
        assert!((fit.startup - 40e-6).abs() < 1e-12 && (fit.per_byte - 50e-9).abs() < 1e-15, "{fit:?}");
        assert!(fit.worst < 1e-9);
    }

    #[test]
    fn two_lines_are_found_again_and_one_is_off() {
        let points = SIZES.map(|size| (size, cim(size)));
        let (line, lines) = (one(&points), two(&points).unwrap());
        assert_eq!(lines.bend.map(|(bend, _)| bend), Some(4096.0));
        assert!((lines.per_byte - 0.42e-6).abs() < 1e-12 && lines.worst < 1e-6, "{lines:?}");
        assert!(line.worst > 0.02, "{line:?}");
        assert_eq!(two(&points[..4]), None);
    }

    #[test]
    fn a_file_of_throughput_is_read_and_a_slip_is_named() {
        let text = "size, throughput\n1000, 1e7\n2000,2e7\n\n4000,2.5e7\n";
        assert_eq!(read(text).unwrap(), [(1000.0, 1e-4), (2000.0, 1e-4), (4000.0, 1.6e-4)]);
        assert_eq!(read("time,size\n1e-4,1000\n2e-4,2000\n3e-4,3000").unwrap()[2], (3000.0, 3e-4));
        let why = |text: &str| read(text).unwrap_err();
        assert!(why("").contains("empty"));
        assert!(why("bytes,throughput\n").contains("no column `size`"));
        assert!(why("size,rate\n").contains("neither"));
        assert!(why("size,time\n1,2\nx,3\n").starts_with("line 3: `x,3`"));
        assert!(why("size,time\n1,2\n2,3\n").contains("three at least"));
    }

    #[test]
    fn the_adapter_is_an_adapter_and_the_figure_a_figure() {
        let points = SIZES.map(|size| (size, cim(size)));
        let (line, lines) = (one(&points), two(&points).unwrap());
        let text = adapter("cim.csv", &points, &line);
        assert!(text.contains("startup = \"") && text.starts_with("# Measured by `laxity calibrate`"));
        let svg = drawing("cim.csv", &points, &[("one line", line), ("two lines", lines)]);
        assert!(svg.starts_with("<svg") && svg.contains("measured"));
    }
}
