//! Random numbers: a stream per component, all from one seed.
//!
//! With one generator for a whole run, every component's draws depend on all others: adding a
//! source changes the arrivals of the existing ones, and two configurations cannot be compared
//! under the same traffic. Each component therefore has its own stream, identified by the
//! component's name. A stream depends only on the run's seed and on its name, not on the number of
//! streams or the order of their creation.
//!
//! Results must have the same bits on every machine and in ten years, so all algorithms are fixed
//! and written out here rather than taken from a crate that may change:
//!
//! ```text
//! name hash   h = FNV-1a of the name's UTF-8 bytes (offset cbf29ce484222325, prime 100000001b3)
//! state       four outputs of splitmix64 started at  seed + mix(h),  mix being splitmix64's finaliser
//! generator   xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021)
//! unit        the upper 53 bits times 2^-53
//! ```
//!
//! With FNV alone, names that differ in the last letter would have states that differ in few bits,
//! hence the finaliser. Logarithms are `libm`'s, since those of the standard library depend on the
//! platform in the last bit. The tests check values of all of this, so a dependency that changes a
//! bit fails there.

mod exponentials;

use laxity_units::Span;

pub use exponentials::Exponentials;

/// Seed of a run, from which the stream of every component is derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seed(u64);

/// Random numbers of a component.
#[derive(Debug, Clone)]
pub struct Stream {
    state: [u64; 4],
}

impl Seed {
    /// Seed `value`.
    pub const fn new(value: u64) -> Self {
        Self(value)
    }

    /// Number of the seed; part of every result.
    pub const fn value(self) -> u64 {
        self.0
    }

    /// Stream of the component `name`, from its start.
    pub fn stream(self, name: &str) -> Stream {
        let hash = name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        let start = self.0.wrapping_add(mix(hash));
        Stream {
            state: std::array::from_fn(|n| splitmix64(start.wrapping_add((n as u64).wrapping_mul(GAMMA)))),
        }
    }
}

impl Stream {
    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform number in `[0, 1)`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Bernoulli trial with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Uniform number in `0..n`, exactly; panics if `n` is zero.
    ///
    /// Lemire's method: the number is the upper half of `n` times 64 random bits; the few products
    /// that would bias it are drawn again.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "there is no number below zero");
        let mut product = u128::from(self.next_u64()) * u128::from(n);
        if (product as u64) < n {
            let favoured = n.wrapping_neg() % n;
            while (product as u64) < favoured {
                product = u128::from(self.next_u64()) * u128::from(n);
            }
        }
        (product >> 64) as u64
    }

    /// Uniform span from `least` to `greatest`, inclusively; panics if `least` is the longer one.
    pub fn uniform(&mut self, least: Span, greatest: Span) -> Span {
        let width = (greatest - least).as_ps();
        let drawn = if width == u64::MAX { self.next_u64() } else { self.below(width + 1) };
        least + Span::from_ps(drawn)
    }

    /// Exponentially distributed span, to the nearest picosecond; zero is possible.
    ///
    /// The maximum is 36.8 times `mean`, as the unit has 53 bits, or [`Span::MAX`] if that is less.
    pub fn exponential(&mut self, mean: Span) -> Span {
        whole(self.standard_exponential() * mean.as_ps() as f64)
    }

    #[inline]
    fn standard_exponential(&mut self) -> f64 {
        // One minus the unit is in (0, 1], so its logarithm is finite.
        -libm::log(1.0 - self.unit())
    }

    /// Normal variate of mean zero and deviation one.
    ///
    /// Marsaglia's polar method; the second number of each pair is discarded, so that a stream has
    /// no memory beside its state.
    pub fn standard_normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * libm::sqrt(-2.0 * libm::log(square) / square);
            }
        }
    }

    /// Normally distributed span, to the nearest picosecond; negative values become zero.
    pub fn normal(&mut self, mean: Span, deviation: Span) -> Span {
        whole(mean.as_ps() as f64 + self.standard_normal() * deviation.as_ps() as f64)
    }
}

/// Increment of splitmix64's counter.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// Output of splitmix64 after `counter`: its step, which scatters close inputs. Repeated exclusive
/// or of a word and this step make a digest.
#[inline]
pub const fn splitmix64(counter: u64) -> u64 {
    mix(counter.wrapping_add(GAMMA))
}

/// splitmix64's finaliser (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
#[inline]
const fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Span nearest to `ps` picoseconds, within the range.
fn whole(ps: f64) -> Span {
    Span::from_ps((ps + 0.5) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First draws of `source.video` under seed 42, by each method in turn; the first five were
    /// checked against an independent implementation of the header.
    const GOLDEN: (u64, u64, u64, u64, u64, u64) = (
        8_728_694_098_585_142_118,
        4_604_464_681_644_949_752,
        490,
        1_292_974_092,
        1_956_510,
        13_814_696_519_440_440_877,
    );

    /// Mean and deviation of `draws` numbers from `draw`.
    fn moments(draws: u32, mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..draws {
            let x = draw();
            sum += x;
            squares += x * x;
        }
        let mean = sum / f64::from(draws);
        (mean, (squares / f64::from(draws) - mean * mean).sqrt())
    }

    #[test]
    fn the_generator_is_xoshiro256_plus_plus() {
        // First outputs from state 1, 2, 3, 4, as in the reference implementation's test vectors.
        let mut stream = Stream { state: [1, 2, 3, 4] };
        let outputs: [u64; 5] = std::array::from_fn(|_| stream.next_u64());
        assert_eq!(
            outputs,
            [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386, 9_228_616_714_210_784_205]
        );
    }

    #[test]
    fn bits_stay_what_they_are() {
        let mut stream = Seed::new(42).stream("source.video");
        let drawn = (
            stream.next_u64(),
            stream.unit().to_bits(),
            stream.below(1000),
            stream.exponential(Span::from_ms(1)).as_ps(),
            stream.uniform(Span::from_us(1), Span::from_us(2)).as_ps(),
            stream.standard_normal().to_bits(),
        );
        assert_eq!(drawn, GOLDEN);
    }

    #[test]
    fn streams_differ_by_name_and_by_seed() {
        let first = |seed, name| Seed::new(seed).stream(name).next_u64();
        assert_eq!(first(1, "a"), first(1, "a"));
        let all = [first(1, "a"), first(1, "b"), first(1, "aa"), first(1, ""), first(2, "a")];
        for (i, x) in all.iter().enumerate() {
            assert!(!all[..i].contains(x));
        }
    }

    #[test]
    fn distributions_have_their_moments() {
        let mut stream = Seed::new(7).stream("moments");
        let (mean, deviation) =
            moments(200_000, || stream.exponential(Span::from_us(10)).as_ps() as f64 / 1e7);
        assert!((mean - 1.0).abs() < 0.01 && (deviation - 1.0).abs() < 0.015, "{mean} {deviation}");
        let (mean, deviation) = moments(200_000, || stream.standard_normal());
        assert!(mean.abs() < 0.01 && (deviation - 1.0).abs() < 0.01, "{mean} {deviation}");
        let (least, greatest) = (Span::from_ns(3), Span::from_ns(5));
        let (mean, _) = moments(200_000, || {
            let span = stream.uniform(least, greatest);
            assert!((least..=greatest).contains(&span));
            span.as_ps() as f64
        });
        assert!((mean - 4000.0).abs() < 3.0, "{mean}");
    }

    #[test]
    fn every_number_below_is_as_likely() {
        let mut stream = Seed::new(7).stream("below");
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[stream.below(6) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
        let half = u64::MAX / 2 + 2;
        assert!((0..1000).all(|_| stream.below(half) < half));
        assert_eq!(stream.below(1), 0);
    }

    #[test]
    fn the_ends_of_spans_are_possible() {
        let mut stream = Seed::new(7).stream("ends");
        assert_eq!(stream.uniform(Span::MAX, Span::MAX), Span::MAX);
        stream.uniform(Span::ZERO, Span::MAX);
        assert_eq!(stream.exponential(Span::ZERO), Span::ZERO);
        assert!((0..1000).any(|_| stream.normal(Span::from_ps(1), Span::from_ps(5)) == Span::ZERO));
        assert!((0..1000).any(|_| stream.exponential(Span::MAX) == Span::MAX));
    }
}
