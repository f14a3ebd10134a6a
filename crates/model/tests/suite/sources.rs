//! Specifications of sources, checked against the definitions and not against their own arithmetic.

use std::sync::Arc;

use laxity_engine::{Seed, Stream};
use laxity_model::source::trace::{Trace, TraceLimits, parse};
use laxity_model::source::*;
use laxity_qos::limits::{Limits, MessageLimit};
use laxity_units::{Bytes, Span, Time};
use proptest::prelude::*;

const MESSAGES: usize = 240;

fn random(seed: u64) -> Stream {
    Seed::new(seed).stream("source")
}

fn arrivals(parameters: SourceParameters, seed: u64) -> Vec<Arrival> {
    let mut source = Source::new(parameters, random(seed)).unwrap();
    std::iter::from_fn(|| source.next_arrival()).take(MESSAGES).collect()
}

/// Whether every interval of every length holds at most `burst + length / interval` messages: the definition
/// itself, tried on every pair of messages, since an interval that holds most begins and ends with one.
fn conforms(arrivals: &[Arrival], burst: u32, interval: Span) -> bool {
    arrivals.iter().enumerate().all(|(first, from)| {
        arrivals[first..].iter().zip(1u128..).all(|(to, messages)| {
            let length = u128::from(to.at.since(from.at).as_ps());
            messages * u128::from(interval.as_ps())
                <= u128::from(burst) * u128::from(interval.as_ps()) + length
        })
    })
}

fn sizes() -> impl Strategy<Value = Sizes> {
    prop_oneof![
        (1u64..100_000).prop_map(|size| Sizes::Fixed(Bytes::new(size))),
        (1u64..1000, 0u64..100_000).prop_map(|(least, more)| Sizes::Uniform {
            least: Bytes::new(least),
            most: Bytes::new(least + more)
        }),
    ]
}

fn intervals() -> impl Strategy<Value = Span> {
    prop_oneof![1u64..50, 1u64..1_000_000_000_000].prop_map(Span::from_ps)
}

fn starts() -> impl Strategy<Value = Time> {
    (0u64..10_000_000_000_000).prop_map(Time::from_ps)
}

fn recording() -> Arc<Trace> {
    let rows: String =
        (0..50).map(|k| format!("packet,{}.{:03}000,{}\n", k * k / 10, k, 100 + k * k % 37)).collect();
    Arc::new(parse("made up", &mut rows.as_bytes(), TraceLimits::DEFAULT).unwrap())
}

fn multiples() -> impl Strategy<Value = Multiple> {
    (1u32..20, 1u32..20).prop_map(|(n, d)| Multiple::new(n, d).unwrap())
}

fn any_source() -> impl Strategy<Value = SourceParameters> {
    prop_oneof![
        (intervals(), multiples(), sizes(), starts()).prop_map(|(interval, multiple, sizes, start)| {
            SourceParameters::Periodic(PeriodicParameters { interval, multiple, sizes, start })
        }),
        (1u32..20, intervals(), multiples(), sizes(), starts()).prop_map(
            |(burst, interval, multiple, sizes, start)| {
                SourceParameters::Bursty(BurstyParameters { burst, interval, multiple, sizes, start })
            }
        ),
        (intervals(), sizes(), starts()).prop_map(|(mean_interval, sizes, start)| {
            SourceParameters::Poisson(PoissonParameters { mean_interval, sizes, start })
        }),
        (1u32..20, intervals(), sizes(), starts(), any::<bool>()).prop_map(
            |(burst, interval, sizes, start, greedy)| {
                let allowance = if greedy { Allowance::Greedy } else { Allowance::Saving };
                SourceParameters::Adversary(AdversaryParameters {
                    burst,
                    interval,
                    limits: Limits::NONE,
                    sizes,
                    start,
                    allowance,
                })
            }
        ),
        (multiples(), any::<bool>(), starts(), 0u64..3, 0u64..100).prop_map(
            |(pace, repeat, start, from, at)| {
                let from = match from {
                    0 => Start::Frame(at),
                    1 => Start::After(Span::from_secs(at)),
                    _ => Start::Random,
                };
                SourceParameters::Recorded(RecordedParameters {
                    trace: recording(),
                    timing: TraceTiming::Recorded,
                    from,
                    repeat,
                    pace,
                    start,
                    jitter: Span::from_ms(at),
                })
            }
        ),
    ]
}

proptest! {
    #[test]
    fn time_never_goes_back_and_the_seed_decides(parameters in any_source(), seed: u64) {
        let first = arrivals(parameters.clone(), seed);
        prop_assert!(!first.is_empty());
        prop_assert!(first.windows(2).all(|pair| pair[0].at <= pair[1].at));
        prop_assert!(first.iter().all(|arrival| !arrival.size.is_zero()));
        prop_assert_eq!(first, arrivals(parameters, seed));
    }

    #[test]
    fn an_adversary_conforms(
        burst in 1u32..20, interval in intervals(), sizes in sizes(), start in starts(), saving: bool, seed: u64,
        further in prop::collection::vec((1u32..20, intervals()), 0..3),
    ) {
        let allowance = if saving { Allowance::Saving } else { Allowance::Greedy };
        let limits = further.iter().map(|&(burst, min_interval)| MessageLimit { burst, min_interval });
        let limits = Limits::new(&limits.collect::<Vec<_>>()).unwrap();
        let parameters = AdversaryParameters { burst, interval, limits, sizes, start, allowance };
        let sent = arrivals(SourceParameters::Adversary(parameters), seed);
        prop_assert!(conforms(&sent, burst, interval));
        prop_assert!(further.iter().all(|(burst, interval)| conforms(&sent, *burst, *interval)));
        let (least, most) = match sizes {
            Sizes::Fixed(size) => (size, size),
            Sizes::Uniform { least, most } => (least, most),
        };
        prop_assert!(sent.iter().all(|arrival| least <= arrival.size && arrival.size <= most));
    }

    #[test]
    fn a_greedy_adversary_leaves_nothing_over(
        burst in 1u32..20, interval in intervals(), start in starts(), further in (1u32..20, intervals())
    ) {
        let sizes = Sizes::Fixed(Bytes::new(1));
        let limits = Limits::new(&[MessageLimit { burst: further.0, min_interval: further.1 }]).unwrap();
        let allowance = Allowance::Greedy;
        let parameters = AdversaryParameters { burst, interval, limits, sizes, start, allowance };
        let sent = arrivals(SourceParameters::Adversary(parameters), 0);
        for earlier in (burst.min(further.0) as usize..sent.len()).step_by(7) {
            let mut moved = sent.clone();
            moved[earlier].at = Time::from_ps(moved[earlier].at.as_ps() - 1);
            let keeps = |(burst, interval)| conforms(&moved[..=earlier], burst, interval);
            prop_assert!(!(keeps((burst, interval)) && keeps(further)));
        }
    }

    #[test]
    fn bursts_conform_up_to_their_rate_and_not_above(
        burst in 1u32..20, interval in 50u64..1_000_000_000, start in starts(), n in 1u32..20, d in 1u32..20
    ) {
        let interval = Span::from_ps(interval);
        let multiple = Multiple::new(n, d).unwrap();
        let sizes = Sizes::Fixed(Bytes::new(1));
        let parameters = BurstyParameters { burst, interval, multiple, sizes, start };
        let sent = arrivals(SourceParameters::Bursty(parameters), 0);
        prop_assert_eq!(conforms(&sent, burst, interval), n <= d);
    }
}

/// Four each 40 ms, of which two are 10 ms apart at least: one each 10 ms until the first 40 ms are over,
/// and then one each 40 ms. After a pause of two intervals, two are 10 ms apart again.
#[test]
fn a_further_limit_spreads_a_burst() {
    let ms = Span::from_ms;
    let (sizes, start) = (Sizes::Fixed(Bytes::new(1)), Time::ZERO);
    let limits = Limits::new(&[MessageLimit { burst: 1, min_interval: ms(10) }]).unwrap();
    let greedy = AdversaryParameters {
        burst: 4,
        interval: ms(40),
        limits,
        sizes,
        start,
        allowance: Allowance::Greedy,
    };
    let of = |parameters, seed| {
        let mut source = Adversary::new(parameters, random(seed)).unwrap();
        std::iter::from_fn(move || source.next_arrival()).map(|arrival| arrival.at)
    };
    let sent: Vec<Time> = of(greedy, 7).take(8).collect();
    assert_eq!(sent, [0, 10, 20, 30, 40, 80, 120, 160].map(|at| start + ms(at)));
    let saving = AdversaryParameters { allowance: Allowance::Saving, ..greedy };
    let sent: Vec<Time> = of(saving, 7).take(2000).collect();
    let mut trains = [0; 5];
    for train in sent.chunk_by(|a, b| b.since(*a) == ms(10)) {
        trains[train.len().min(4)] += 1;
    }
    assert!(trains[1..].iter().all(|count| *count > 50), "{trains:?}");
}

#[test]
fn a_saving_adversary_uses_what_it_is_allowed() {
    let (burst, interval) = (8, Span::from_ms(10));
    let sizes = Sizes::Fixed(Bytes::new(1));
    let parameters = AdversaryParameters {
        burst,
        interval,
        limits: Limits::NONE,
        sizes,
        start: Time::ZERO,
        allowance: Allowance::Saving,
    };
    let mut source = Adversary::new(parameters, random(7)).unwrap();
    let sent: Vec<Arrival> = std::iter::from_fn(|| source.next_arrival()).take(20_000).collect();
    let mut bursts = vec![0u32; 9];
    for burst in sent.chunk_by(|a, b| a.at == b.at) {
        bursts[burst.len()] += 1;
    }
    assert!(bursts[1..].iter().all(|count| *count > 100), "{bursts:?}");
    let mean = sent.last().unwrap().at.as_secs_f64() / sent.len() as f64;
    assert!(mean < 0.0105, "on average it sends every {mean} s of the 0.01 s it is allowed");
}

#[test]
fn poisson_has_its_mean_and_its_spread() {
    let mean_interval = Span::from_us(250);
    let sizes = Sizes::Uniform { least: Bytes::new(100), most: Bytes::new(300) };
    let parameters = PoissonParameters { mean_interval, sizes, start: Time::ZERO };
    let mut source = Poisson::new(parameters, random(1)).unwrap();
    let sent: Vec<Arrival> = std::iter::from_fn(|| source.next_arrival()).take(200_000).collect();
    let n = sent.len() as f64;
    let gaps: Vec<f64> = sent.windows(2).map(|pair| pair[1].at.since(pair[0].at).as_secs_f64()).collect();
    let mean = gaps.iter().sum::<f64>() / n;
    let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n).sqrt();
    // Four standard errors of 200 000 draws are under a per cent.
    assert!((mean / 250e-6 - 1.0).abs() < 0.01, "mean {mean}");
    assert!((deviation / 250e-6 - 1.0).abs() < 0.015, "deviation {deviation}");
    let size = sent.iter().map(|arrival| arrival.size.get()).sum::<u64>() as f64 / n;
    assert!((size - 200.0).abs() < 1.0, "mean size {size}");
}

fn recorded(parameters: RecordedParameters, count: usize) -> Vec<(u64, u64)> {
    let mut source = RecordedSource::new(parameters, random(3)).unwrap();
    let sent = std::iter::from_fn(|| source.next_arrival()).take(count);
    sent.map(|arrival| (arrival.at.as_ps() / 1_000_000_000, arrival.size.get())).collect()
}

#[test]
fn a_recording_is_sent_as_it_was_made() {
    let rows = "frame,0.000,10\nframe,0.010,20\nframe,0.050,30\n";
    let trace = Arc::new(parse("t", &mut rows.as_bytes(), TraceLimits::DEFAULT).unwrap());
    let plain = RecordedParameters {
        trace,
        timing: TraceTiming::Recorded,
        from: Start::Frame(0),
        repeat: false,
        pace: Multiple::ONE,
        start: Time::from_ns(1_000_000),
        jitter: Span::ZERO,
    };
    assert_eq!(recorded(plain.clone(), 9), [(1, 10), (11, 20), (51, 30)]);
    let late = RecordedParameters { from: Start::After(Span::from_ms(5)), repeat: true, ..plain.clone() };
    assert_eq!(recorded(late, 5), [(1, 20), (41, 30), (66, 10), (76, 20), (116, 30)]);
    let fast = RecordedParameters { pace: Multiple::new(2, 1).unwrap(), ..plain.clone() };
    assert_eq!(recorded(fast, 9), [(1, 10), (6, 20), (26, 30)]);
    let steady = RecordedParameters {
        timing: TraceTiming::Interval(Span::from_ms(33)),
        from: Start::Frame(5),
        repeat: true,
        ..plain.clone()
    };
    assert_eq!(recorded(steady, 3), [(1, 30), (34, 10), (67, 20)]);
    let end = RecordedParameters { from: Start::Frame(2), ..plain };
    assert_eq!(recorded(end, 3), [(1, 30)]);
}

/// A packet of 60 B in a capture of Ethernet, at each of the times in seconds.
fn capture(times: &[u32]) -> Arc<Trace> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut file = words(&[0xa1b2_c3d4, 2 | 4 << 16, 0, 0, 0, 1]);
    times.iter().for_each(|at| file.extend(words(&[*at, 0, 0, 60])));
    Arc::new(parse("c.pcap", &mut file.as_slice(), TraceLimits::DEFAULT).unwrap())
}

#[test]
fn a_capture_of_one_instant_is_sent_once() {
    let once = |trace| RecordedParameters {
        trace,
        timing: TraceTiming::Recorded,
        from: Start::Frame(0),
        repeat: false,
        pace: Multiple::ONE,
        start: Time::from_ns(1_000_000),
        jitter: Span::ZERO,
    };
    assert_eq!(recorded(once(capture(&[7])), 3), [(1, 60)]);
    assert_eq!(recorded(once(capture(&[7, 7, 7])), 9), [(1, 60); 3]);
    for times in [&[7][..], &[7, 7]] {
        let again = RecordedParameters { repeat: true, ..once(capture(times)) };
        let error = RecordedSource::new(again, random(0)).unwrap_err();
        assert!(error.parameter() == "timing" && error.to_string().contains("`repeat = false`"), "{error}");
    }
    let packets = capture(&[7, 8]).without_link_headers().expect("it is of Ethernet");
    assert_eq!(recorded(once(Arc::new(packets)), 3), [(1, 46), (1001, 46)]);
}

#[test]
fn parameters_that_make_no_source_are_refused() {
    let sizes = Sizes::Fixed(Bytes::new(1));
    let periodic =
        PeriodicParameters { interval: Span::ZERO, multiple: Multiple::ONE, sizes, start: Time::ZERO };
    assert_eq!(Periodic::new(periodic, random(0)).unwrap_err().parameter(), "interval");
    let empty = PeriodicParameters { interval: Span::MAX, sizes: Sizes::Fixed(Bytes::ZERO), ..periodic };
    assert_eq!(Periodic::new(empty, random(0)).unwrap_err().parameter(), "sizes");
    let trace = Arc::new(parse("list.txt", &mut "1\n2\n".as_bytes(), TraceLimits::DEFAULT).unwrap());
    let timeless = RecordedParameters {
        trace,
        timing: TraceTiming::Recorded,
        from: Start::Random,
        repeat: true,
        pace: Multiple::ONE,
        start: Time::ZERO,
        jitter: Span::ZERO,
    };
    let error = RecordedSource::new(timeless, random(0)).unwrap_err();
    assert!(error.to_string().contains("list.txt has no times"), "{error}");
}

/// One message at a time, so every wait is seen: of a saving adversary's one in four is longer than
/// it has to be.
#[test]
fn a_saving_adversary_waits_longer_at_times() {
    let interval = Span::from_us(10);
    let sizes = Sizes::Fixed(Bytes::new(1));
    let adversary = AdversaryParameters {
        burst: 1,
        interval,
        limits: Limits::NONE,
        sizes,
        start: Time::ZERO,
        allowance: Allowance::Saving,
    };
    let all = arrivals(SourceParameters::Adversary(adversary), 1);
    let waits = all.windows(2).map(|pair| pair[1].at.since(pair[0].at)).collect::<Vec<_>>();
    assert!(waits.iter().all(|wait| *wait >= interval && *wait < interval * 2));
    let longer = waits.iter().filter(|wait| **wait > interval).count();
    assert!((MESSAGES / 6..MESSAGES / 3).contains(&longer), "{longer}");
}

#[test]
fn an_error_says_what_would_be_valid() {
    let sizes = Sizes::Fixed(Bytes::new(1));
    let periodic =
        PeriodicParameters { interval: Span::ZERO, multiple: Multiple::ONE, sizes, start: Time::ZERO };
    let error = Periodic::new(periodic, random(0)).unwrap_err();
    assert!(!error.valid().is_empty() && error.to_string().ends_with(error.valid()), "{error}");
    assert!(error.to_string().contains(error.reason()), "{error}");
}

#[test]
fn the_last_instant_ends_a_source() {
    let sizes = Sizes::Fixed(Bytes::new(1));
    let start = Time::from_ps(u64::MAX - 10);
    let interval = Span::from_ps(4);
    let periodic = PeriodicParameters { interval, multiple: Multiple::ONE, sizes, start };
    assert_eq!(arrivals(SourceParameters::Periodic(periodic), 0).len(), 3);
    for allowance in [Allowance::Greedy, Allowance::Saving] {
        let adversary =
            AdversaryParameters { burst: 2, interval, limits: Limits::NONE, sizes, start, allowance };
        assert!(arrivals(SourceParameters::Adversary(adversary), 0).len() <= 4);
    }
}
