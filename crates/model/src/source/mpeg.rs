//! Synthetic video streams: sequences of MPEG frame sizes that match the summary of a recorded one.
//!
//! The thesis replays six of Rose's traces (1995; thesis, §6.4.3) and prints of each the minimum,
//! maximum, mean and deviation of the frame size (Table 6.4) and the cycle IBBPBBPBBPBB. A
//! generator that draws every frame from one distribution with these four lacks what makes video
//! hard: every twelfth frame is several times as large as the others, and a scene that needs many
//! bits needs them for seconds, so that a channel is above its mean, and its reservation, for as
//! long.
//!
//! # The model
//!
//! Frame k, of kind c (I, P or B) in cycle g, has exp(μ_c + s z) bits, where
//!
//! ```text
//! μ_I − μ_P = μ_P − μ_B = ln r                                                   (1)
//! z = √0.38 long(g) + √0.55 scene(g) + √0.07 noise(k)                             (2)
//! ```
//!
//! *Lognormal sizes within a kind* are what Krunz and Tripathi (1995) found for P and B frames and
//! for the mean of the I frames of a scene, and what Rose offers beside the Gamma distribution.
//!
//! *(1)* With a table of four numbers the three means must be one parameter. That P lies in the
//! geometric middle is a choice: of the MPEG-1 traces in `traces/` and the stream below, P is at
//! 0.51, 0.52, 0.17 and 0.39 of the distance from B to I.
//!
//! *(2)* `scene` and `long` are normal autoregressive processes of order one from cycle to cycle
//! with time constants of 8 and 150 cycles (3 s and a minute), common to all kinds, and `noise` is
//! each frame's own. This is fitted to the one long film at hand, *Jurassic Park* in MPEG-4 (89 998
//! frames; Fitzek and Reisslein's library, 2001). Its logarithms of I-frame sizes are correlated
//! over 1, 5, 10, 20, 50, 100 and 200 cycles by 0.91, 0.69, 0.54, 0.40, 0.30, 0.21 and 0.14. Those
//! of the model are correlated by 0.86, 0.66, 0.51, 0.38, 0.27, 0.19 and 0.10. Logarithms of the P
//! and the B frames' means of a cycle are correlated by 0.97 there, of P and I by 0.79; in common
//! components of the model by 1. Beyond minutes films depend on themselves more than this (Rose finds Hurst
//! parameters above one half), but then their length is what counts.
//!
//! # The fit
//!
//! The random numbers of (2) are drawn first, from a stream named by the parameters: a stream is
//! the same in every run, whatever its seed. Then μ_B, r and s are solved for, by bisection, so
//! that *this sequence* has the mean, the deviation, and as its largest frame the maximum. Fitting
//! expectations instead would miss: in 40 000 frames there are some twenty minutes, with few
//! independent values of `long`, so that a sequence's mean is off by several per cent. Sizes below
//! the minimum are raised to it, and the smallest frame in any case, since a minimum describes one
//! frame only. Bits are rounded to bytes.
//!
//! The streams of Table 6.4 are met over 40 000 frames: minimum and maximum exactly; mean and
//! deviation to 0.1 % (a test holds this; run it with `--nocapture` for the table). Properties
//! outside the table, such as the share of each kind, are the model's and not the film's.

use std::fmt;

use laxity_engine::{Seed, Stream};
use laxity_units::{Bytes, Span, Time};

use super::SourceError;
use super::trace::{Frame, FrameKind, Trace};

/// Frames of a film; as many as each of Rose's traces has.
pub const FRAMES: usize = 40_000;
/// From one frame to the next, as in the thesis (§6.4.3).
pub const INTERVAL: Span = Span::from_ms(33);
/// The cycle of frame kinds of the films of Table 6.4.
pub const PATTERN: &str = "IBBPBBPBBPBB";

/// Weights of the components of (2), which sum to one, and how the slow ones decay, in cycles.
const LONG: (f64, f64) = (0.38, 150.0);
const SCENE: (f64, f64) = (0.55, 8.0);
const NOISE: f64 = 0.07;
/// Farther apart than this no two kinds are.
const MOST_RATIO: f64 = 1000.0;
/// More spread than this within a kind none has.
const MOST_SPREAD: f64 = 4.0;
/// Relative error of mean and deviation at which parameters count as met.
const TOLERANCE: f64 = 0.01;

/// Summary of a recorded video stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilmParameters {
    /// The smallest frame in bits; at least 8.
    pub min: u64,
    /// The largest frame in bits.
    pub max: u64,
    /// The mean frame size in bits.
    pub mean: u64,
    /// The standard deviation of the frame size in bits, over all kinds of frames.
    pub deviation: u64,
    /// The cycle of frame kinds, in the order of sending.
    pub pattern: Pattern,
}

/// A film of the thesis's Table 6.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Film {
    /// A movie, *Jurassic Park*.
    Dino,
    /// A movie, *The Silence of the Lambs*.
    Lambs,
    /// Sports: tennis.
    Atp,
    /// Sports: a car race.
    Race,
    /// News.
    News,
    /// A talk show.
    Talk,
}

impl Film {
    /// All of them, in the order of the table.
    pub const ALL: [Film; 6] = [Film::Dino, Film::Lambs, Film::Atp, Film::Race, Film::News, Film::Talk];

    /// Its row of the table.
    pub fn parameters(self) -> FilmParameters {
        let (min, max, mean, deviation) = match self {
            Film::Dino => (880, 119_632, 13_078, 14_749),
            Film::Lambs => (288, 134_224, 7_311, 11_195),
            Film::Atp => (280, 190_856, 21_889, 20_408),
            Film::Race => (4_192, 202_416, 30_749, 21_167),
            Film::News => (16, 194_416, 20_664, 25_992),
            Film::Talk => (2_080, 106_768, 14_536, 16_519),
        };
        let pattern = Pattern::new(PATTERN).expect("the films' pattern is one");
        FilmParameters { min, max, mean, deviation, pattern }
    }

    /// s of the fit to these parameters: the search for it evaluates all frames 48 times.
    fn spread(self) -> f64 {
        match self {
            Film::Dino => 0.208_620_981_970_284_45,
            Film::Lambs => 0.437_370_887_880_803_14,
            Film::Atp => 0.256_341_009_031_061_16,
            Film::Race => 0.306_384_591_503_686_47,
            Film::News => 0.210_346_050_510_636_93,
            Film::Talk => 0.139_848_116_642_596_66,
        }
    }

    /// The film with its parameters, as [`FilmParameters::film`] makes it.
    pub fn film(self) -> Trace {
        let fitted = self.parameters().with(|_| self.spread());
        fitted.expect("the films of the table can be fitted")
    }
}

/// A cycle of frame kinds; has an I frame, the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Vec<FrameKind>);

impl Pattern {
    /// The cycle that `text` spells.
    pub fn new(text: &str) -> Result<Pattern, SourceError> {
        let valid = "a cycle of the letters I, P and B from an I on, such as `IBBPBBPBBPBB`, at most 100";
        let bad = |reason: String| SourceError::new("pattern", reason, valid);
        let kinds = text.chars().map(|letter| match letter {
            'I' => Ok(FrameKind::I),
            'P' => Ok(FrameKind::P),
            'B' => Ok(FrameKind::B),
            other => Err(bad(format!("has a frame of kind `{}`", other.escape_debug()))),
        });
        let kinds: Vec<FrameKind> = kinds.collect::<Result<_, _>>()?;
        if kinds.first() != Some(&FrameKind::I) {
            return Err(bad("does not begin with an I frame".into()));
        }
        if kinds.len() > 100 {
            return Err(bad(format!("has {} frames", kinds.len())));
        }
        Ok(Pattern(kinds))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|kind| kind.fmt(f))
    }
}

impl FilmParameters {
    /// Checks the parameters; the error names the first invalid one.
    pub fn check(&self) -> Result<(), SourceError> {
        let FilmParameters { min, max, mean, deviation, .. } = *self;
        if min < 8 {
            return Err(SourceError::new("min", format!("is {}", both(min)), "at least 8 bits, a byte"));
        }
        if max > 1 << 40 {
            return Err(SourceError::new("max", format!("is {}", both(max)), "at most 128 GiB"));
        }
        if !(min < mean && mean < max) {
            let reason = format!("of {} is not between {} and {}", both(mean), both(min), both(max));
            return Err(SourceError::new("mean", reason, "a mean above the minimum and below the maximum"));
        }
        // Bhatia and Davis (2000): no distribution on an interval deviates more.
        let most = libm::sqrt((max - mean) as f64 * (mean - min) as f64);
        if deviation == 0 || deviation as f64 > most {
            let reason = format!(
                "is {}; with these extremes and mean it is up to {}",
                both(deviation),
                both(most as u64)
            );
            return Err(SourceError::new(
                "deviation",
                reason,
                "a deviation above zero and no more than that",
            ));
        }
        Ok(())
    }

    /// The film: [`FRAMES`] frames, [`INTERVAL`] apart, always the same for the same parameters.
    pub fn film(&self) -> Result<Trace, SourceError> {
        self.with(|draft| draft.spread(self.max as f64, self.mean as f64, self.deviation as f64))
    }

    /// The film with the spread that `spread` finds.
    fn with(&self, spread: impl Fn(&Draft) -> f64) -> Result<Trace, SourceError> {
        self.check()?;
        let mut random = Seed::new(0).stream(&format!("film of {self}"));
        let draft = Draft::draw(&self.pattern, &mut random);
        let sizes = self.limit(draft.sizes(spread(&draft), self.mean as f64, self.deviation as f64));
        self.check_fit(&sizes)?;
        let frames = sizes.iter().zip(self.pattern.0.iter().cycle()).zip(0..);
        let frames = frames.map(|((size, kind), k)| Frame {
            size: Bytes::new(*size),
            header: 0,
            at: Some(Time::ZERO + INTERVAL * k),
            kind: Some(*kind),
        });
        Ok(Trace::generated(format!("film of {self}"), frames.collect(), INTERVAL))
    }

    /// Sizes in bytes from sizes in bits: between the extremes, and one frame each at them.
    fn limit(&self, bits: Vec<f64>) -> Vec<u64> {
        let (min, max) = (self.min.div_ceil(8), self.max / 8);
        let mut bytes: Vec<u64> =
            bits.into_iter().map(|bits| (libm::round(bits / 8.0) as u64).clamp(min, max.max(min))).collect();
        // The first of equals, so that the choice is defined.
        let place = |best: fn(&u64, &u64) -> bool| {
            (1..bytes.len()).fold(0, |found, i| if best(&bytes[i], &bytes[found]) { i } else { found })
        };
        let (smallest, largest) = (place(|a, b| a < b), place(|a, b| a > b));
        bytes[smallest] = min;
        bytes[largest] = max.max(min);
        bytes
    }

    fn check_fit(&self, bytes: &[u64]) -> Result<(), SourceError> {
        let (mean, deviation) = moments(bytes);
        let (wanted_mean, wanted) = (self.mean as f64 / 8.0, self.deviation as f64 / 8.0);
        if (mean / wanted_mean - 1.0).abs() > TOLERANCE || (deviation / wanted - 1.0).abs() > TOLERANCE {
            let reason = format!(
                "of {} goes with no film of this kind: the nearest has mean {} and deviation {}",
                both(self.deviation),
                both((mean * 8.0) as u64),
                both((deviation * 8.0) as u64)
            );
            let valid = "a deviation nearer to the mean, or a larger maximum";
            return Err(SourceError::new("deviation", reason, valid));
        }
        Ok(())
    }
}

impl fmt::Display for FilmParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FilmParameters { min, max, mean, deviation, pattern } = self;
        write!(f, "{pattern} frames of {min} to {max} bits, {mean} ± {deviation}")
    }
}

/// In the unit of the literature and in that of everything else here.
fn both(bits: u64) -> String {
    format!("{bits} bits ({})", Bytes::new(bits / 8))
}

/// Mean and standard deviation.
fn moments(bytes: &[u64]) -> (f64, f64) {
    let n = bytes.len() as f64;
    let mean = bytes.iter().sum::<u64>() as f64 / n;
    let square = bytes.iter().map(|size| (*size as f64 - mean) * (*size as f64 - mean)).sum::<f64>() / n;
    (mean, libm::sqrt(square))
}

/// A sequence before it has a scale: z of (2) and the rank of each frame, B 0, P 1, I 2.
struct Draft {
    frames: Vec<(usize, f64)>,
}

/// Sums over the frames of each rank, in units of B's median.
struct Sums {
    frames: f64,
    first: [f64; 3],
    second: [f64; 3],
    largest: [f64; 3],
}

impl Draft {
    fn draw(pattern: &Pattern, random: &mut Stream) -> Draft {
        let mut slow = [(LONG, random.standard_normal()), (SCENE, random.standard_normal())];
        let ranks = pattern.0.iter().map(|kind| match kind {
            FrameKind::B => 0,
            FrameKind::P => 1,
            FrameKind::I => 2,
        });
        let ranks: Vec<usize> = ranks.collect();
        let frames = (0..FRAMES).map(|k| {
            if k > 0 && k % ranks.len() == 0 {
                for ((_, constant), value) in &mut slow {
                    let kept = libm::exp(-1.0 / *constant);
                    *value = kept * *value + libm::sqrt(1.0 - kept * kept) * random.standard_normal();
                }
            }
            let common: f64 = slow.iter().map(|((weight, _), value)| libm::sqrt(*weight) * value).sum();
            (ranks[k % ranks.len()], common + libm::sqrt(NOISE) * random.standard_normal())
        });
        Draft { frames: frames.collect() }
    }

    /// s with which the frames have this deviation and this largest frame, as near as can be.
    fn spread(&self, max: f64, mean: f64, deviation: f64) -> f64 {
        let wanted = deviation / mean;
        // The more spread there is within kinds the larger is the largest frame, although the kinds then are
        // less far apart: a lognormal tail goes farther than the mean of the I frames.
        bisect(0.0, MOST_SPREAD, |spread| {
            let sums = self.sums(spread);
            if sums.variation(1.0) > wanted {
                return true;
            }
            if sums.variation(MOST_RATIO) < wanted {
                return false;
            }
            let ratio = sums.ratio(wanted);
            sums.largest(ratio) / sums.mean(ratio) > max / mean
        })
    }

    /// The sizes of the frames with this spread, this mean, and this deviation as near as can be.
    fn sizes(&self, spread: f64, mean: f64, deviation: f64) -> Vec<f64> {
        let sums = self.sums(spread);
        let ratio = sums.ratio(deviation / mean);
        let unit = mean / sums.mean(ratio);
        let size = |(rank, z): &(usize, f64)| unit * power(ratio, *rank) * libm::exp(spread * z);
        self.frames.iter().map(size).collect()
    }

    fn sums(&self, spread: f64) -> Sums {
        let mut sums =
            Sums { frames: self.frames.len() as f64, first: [0.0; 3], second: [0.0; 3], largest: [0.0; 3] };
        for (rank, z) in &self.frames {
            let size = libm::exp(spread * z);
            sums.first[*rank] += size;
            sums.second[*rank] += size * size;
            sums.largest[*rank] = sums.largest[*rank].max(size);
        }
        sums
    }
}

impl Sums {
    fn mean(&self, ratio: f64) -> f64 {
        (0..3).map(|rank| power(ratio, rank) * self.first[rank]).sum::<f64>() / self.frames
    }

    fn largest(&self, ratio: f64) -> f64 {
        (0..3).map(|rank| power(ratio, rank) * self.largest[rank]).fold(0.0, f64::max)
    }

    /// The coefficient of variation.
    fn variation(&self, ratio: f64) -> f64 {
        let square = (0..3).map(|rank| power(ratio * ratio, rank) * self.second[rank]).sum::<f64>();
        let mean = self.mean(ratio);
        libm::sqrt((square / self.frames / (mean * mean) - 1.0).max(0.0))
    }

    /// r of (1) at which the variation is the wanted one, or the nearest.
    fn ratio(&self, wanted: f64) -> f64 {
        bisect(1.0, MOST_RATIO, |ratio| self.variation(ratio) > wanted)
    }
}

fn power(base: f64, exponent: usize) -> f64 {
    (0..exponent).fold(1.0, |product, _| product * base)
}

/// The place between `low` and `high` from which on it is `above`.
fn bisect(mut low: f64, mut high: f64, above: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..48 {
        let middle = (low + high) / 2.0;
        match above(middle) {
            true => high = middle,
            false => low = middle,
        }
    }
    low
}

#[cfg(test)]
mod tests;
