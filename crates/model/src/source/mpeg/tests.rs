use super::*;
use proptest::prelude::*;

fn sizes(trace: &Trace) -> Vec<u64> {
    trace.frames().iter().map(|frame| frame.size.get()).collect()
}

/// Correlation of the logarithms of `sizes` over `lag`.
fn correlation(sizes: &[u64], lag: usize) -> f64 {
    let logs: Vec<f64> = sizes.iter().map(|size| libm::log(*size as f64)).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let products = |lag: usize| {
        let pairs = logs.iter().zip(&logs[lag..]);
        pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / (logs.len() - lag) as f64
    };
    products(lag) / products(0)
}

/// Table 6.4: extremes exactly, mean and deviation to 0.1 %.
#[test]
fn the_films_of_the_thesis_are_met() {
    println!("{:<6} {:>15} {:>17} {:>15} {:>15}  mean I / P / B", "film", "min", "max", "mean", "deviation");
    for film in Film::ALL {
        let wanted = film.parameters();
        let trace = wanted.film().unwrap();
        let is = trace.statistics();
        let (mean, deviation) = (is.mean * 8.0, is.standard_deviation * 8.0);
        let kinds = is.kinds.iter().map(|(_, _, mean)| format!("{:.0}", mean * 8.0)).collect::<Vec<_>>();
        println!(
            "{:<6} {:>7} {:>7} {:>8} {:>8} {:>6} {:>8.0} {:>6} {:>8.0}  {}",
            format!("{film:?}"),
            wanted.min,
            is.min.get() * 8,
            wanted.max,
            is.max.get() * 8,
            wanted.mean,
            mean,
            wanted.deviation,
            deviation,
            kinds.join(" / ")
        );
        assert_eq!((is.frames, is.pattern.as_deref()), (FRAMES, Some(PATTERN)));
        assert_eq!((is.min.get() * 8, is.max.get() * 8), (wanted.min, wanted.max));
        assert!((mean / wanted.mean as f64 - 1.0).abs() < 1e-3, "{film:?}: {mean}");
        assert!((deviation / wanted.deviation as f64 - 1.0).abs() < 1e-3, "{film:?}: {deviation}");
        // Kinds differ as they do in films, and the largest frame is one that codes a picture by itself.
        assert!(is.kinds[0].2 > 1.5 * is.kinds[1].2 && is.kinds[1].2 > 1.3 * is.kinds[2].2, "{film:?}");
        let largest = trace.frames().iter().find(|frame| frame.size == is.max).unwrap();
        assert_eq!(largest.kind, Some(FrameKind::I));
    }
}

/// Streams generated here have the correlations that the header gives for one long film: scenes
/// last.
#[test]
fn scenes_last_for_seconds_and_minutes() {
    let lags = [1, 5, 10, 20, 50, 100, 200];
    let film = [0.91, 0.69, 0.54, 0.40, 0.30, 0.21, 0.14];
    let mut mean = [0.0; 7];
    for kind in Film::ALL {
        let frames = sizes(&kind.parameters().film().unwrap());
        let large: Vec<u64> = frames.iter().step_by(12).copied().collect();
        for (mean, lag) in mean.iter_mut().zip(lags) {
            *mean += correlation(&large, lag) / 6.0;
        }
    }
    println!("{mean:.2?} where the film has {film:.2?}");
    // Few independent minutes make a film: its own correlation differs from its model's by a deviation of
    // about sqrt(2 * 0.38^2 * 150 / 3333) = 0.1 at the longer lags, the mean of six films by 0.05; and it is
    // lower, as the mean that it is taken about is the film's own.
    assert!(mean.iter().zip(film).all(|(mean, film)| (mean - film).abs() < 0.15), "{mean:.2?}");
}

#[test]
fn a_film_is_the_same_in_every_run_and_unlike_others() {
    let dino = Film::Dino.parameters();
    assert_eq!(dino.film().unwrap(), dino.film().unwrap());
    let other = FilmParameters { max: dino.max + 8, ..dino.clone() };
    let (dino, other) = (sizes(&dino.film().unwrap()), sizes(&other.film().unwrap()));
    let alike = dino.iter().zip(&other).filter(|(a, b)| a == b).count();
    assert!(alike < FRAMES / 100, "{alike}");
}

/// Bits that must not change with a dependency, a machine or a compiler.
#[test]
fn films_stay_what_they_are() {
    let frames = sizes(&Film::News.parameters().film().unwrap());
    let hash = frames.iter().fold(0u64, |hash, size| hash.wrapping_mul(0x0100_0000_01B3) ^ size);
    assert_eq!(
        (&frames[..6], hash),
        (&[12473, 1159, 1040, 3769, 1143, 1095][..], 16_824_396_722_418_719_105)
    );
}

/// The spreads that are written down are those that the search finds.
#[test]
fn known_films_are_those_of_their_parameters() {
    for film in Film::ALL {
        let FilmParameters { max, mean, deviation, pattern, .. } = &film.parameters();
        let mut random = Seed::new(0).stream(&format!("film of {}", film.parameters()));
        let found = Draft::draw(pattern, &mut random).spread(*max as f64, *mean as f64, *deviation as f64);
        assert_eq!(film.spread(), found, "{film:?}");
        assert_eq!(film.film(), film.parameters().film().unwrap(), "{film:?}");
    }
}

#[test]
fn what_makes_no_film_is_refused() {
    let dino = Film::Dino.parameters();
    let error = |parameters: FilmParameters| parameters.film().unwrap_err().to_string();
    assert!(error(FilmParameters { min: 7, ..dino.clone() }).contains("min is 7 bits"));
    assert!(error(FilmParameters { mean: 880, ..dino.clone() }).contains("880 bits (110 B) is not between"));
    assert!(error(FilmParameters { deviation: 40_000, ..dino.clone() }).contains("up to 36"));
    assert!(error(FilmParameters { deviation: 0, ..dino.clone() }).contains("above zero"));
    // Possible, but only with frames of two sizes.
    assert!(error(FilmParameters { deviation: 36_000, ..dino }).contains("no film of this kind"));
    for pattern in ["", "BIP", "IXP", "ibb"] {
        assert_eq!(Pattern::new(pattern).unwrap_err().parameter(), "pattern", "{pattern}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever is asked for is met to a per cent or refused, and nothing is ever outside the extremes.
    #[test]
    fn a_film_is_as_asked_or_refused(
        mean in 2_000u64..100_000, peak in 2u64..20, spread in 5u64..200, pattern in "I[PB]{0,14}"
    ) {
        let (min, max, deviation) = (mean / 20, mean * peak, mean * spread / 100);
        let pattern = Pattern::new(&pattern).unwrap();
        let parameters = FilmParameters { min, max, mean, deviation, pattern };
        let Ok(trace) = parameters.film() else { return Ok(()) };
        let is = trace.statistics();
        prop_assert!((is.mean * 8.0 / mean as f64 - 1.0).abs() <= 0.01);
        prop_assert!((is.standard_deviation * 8.0 / deviation as f64 - 1.0).abs() <= 0.01);
        prop_assert_eq!((is.min.get(), is.max.get()), (min.div_ceil(8), max / 8));
    }
}

/// Frames of `min` to `max` bits.
fn asked(min: u64, max: u64, mean: u64, deviation: u64) -> FilmParameters {
    FilmParameters { min, max, mean, deviation, pattern: Pattern::new("I").unwrap() }
}

#[test]
fn what_is_just_a_film_is_not_refused() {
    let wrong = |parameters: FilmParameters| parameters.check().err().map(|error| error.parameter());
    // √((24 − 16) (16 − 8)) = 8.
    assert_eq!(wrong(asked(8, 24, 16, 8)), None);
    assert_eq!(wrong(asked(8, 24, 16, 9)), Some("deviation"));
    assert_eq!(wrong(asked(7, 24, 16, 8)), Some("min"));
    assert_eq!(wrong(asked(8, 1 << 40, 16, 8)), None);
    assert_eq!(wrong(asked(8, (1 << 40) + 1, 16, 8)), Some("max"));
    assert_eq!(wrong(asked(16, 24, 16, 8)), Some("mean"));
    assert_eq!(wrong(asked(8, 16, 16, 8)), Some("mean"));
}

/// Of frames alike the first is the one at the extreme.
#[test]
fn one_frame_each_is_at_the_extremes() {
    let bits = vec![240.0, 160.0, 160.0, 320.0, 320.0];
    assert_eq!(asked(80, 400, 200, 80).limit(bits), [30, 10, 20, 50, 40]);
}

#[test]
fn a_film_has_both_its_mean_and_its_deviation() {
    // Mean 20 and deviation 10 B.
    let film = asked(80, 400, 160, 80);
    assert!(film.check_fit(&[10, 30]).is_ok());
    assert!(film.check_fit(&[20, 40]).is_err() && film.check_fit(&[15, 25]).is_err());
}
