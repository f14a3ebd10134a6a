//! The bound beside the demand test, beside exact chances, and its laws.

use laxity_qos::costs::{HostCosts, LinkCosts};
use laxity_units::Span;

use super::*;
use crate::{AdmissionTable, Decision, ResourceModel, Test};

/// A host of which only the link takes time: 10 ns a byte, packets of 1000 B.
fn host() -> Environment {
    let link = LinkCosts::new(Span::ZERO, Span::from_ns(10));
    Environment::new(HostCosts::default(), link, Bytes::new(1000), ResourceModel::O1)
}

fn channel(interval_us: u64, (least, mean, most): (u64, u64, u64)) -> Varying {
    let spec = TrafficSpec {
        max_message: Bytes::new(most),
        min_message: Bytes::new(least),
        burst: 1,
        min_interval: Span::from_us(interval_us),
    };
    let request = Request::new(spec, Span::from_us(interval_us)).unwrap();
    Varying { request, mean_message: Bytes::new(mean) }
}

fn share(channel: Varying, copies: usize) -> f64 {
    share_late(&host(), &vec![channel; copies]).unwrap()[0]
}

/// Messages that are all of the largest size leave nothing to chance.
#[test]
fn of_fixed_sizes_it_is_the_demand_test() {
    let fixed = channel(1000, (8000, 8000, 8000));
    let mut table = AdmissionTable::with_test(host(), Test::Demand).unwrap();
    let mut admitted = 0;
    while let Decision::Admitted { .. } = table.request(fixed.request) {
        admitted += 1;
    }
    assert!(admitted > 5, "{admitted}");
    assert_eq!(share(fixed, admitted), 0.0);
    assert_eq!(share(fixed, admitted + 1), 1.0);
}

/// Two sizes, of which the distribution is the worst one: the chance in the first window is exact.
#[test]
fn it_is_above_the_exact_chance_and_near_it() {
    let (n, long, short) = (20, 80e-6, 10e-6);
    let film = channel(1000, (1000, 1700, 8000));
    let bound = share(film, n) / 2.0;
    let population = Population::of_best_effort(&host()).with(&host(), &film.request);
    let shared = Shared::new(&host(), &population).unwrap();
    let wait = seconds(shared.constant());
    // A message of 1001 B takes 20 us and one of 7001 B 80 us: 1700 B are 27 us on the line between.
    let q = Messages::of(&host(), &shared, &film).chance;
    assert!((q - 0.2427).abs() < 1e-3, "{q}");
    let mut chance = 0.0;
    let mut choose = 1.0;
    for k in 0..=n {
        let work = k as f64 * long + (n - k) as f64 * short;
        if wait + work > 1000e-6 {
            chance += choose * q.powi(k as i32) * (1.0 - q).powi((n - k) as i32);
        }
        choose *= (n - k) as f64 / (k + 1) as f64;
    }
    assert!(bound >= chance, "{bound} is below {chance}");
    assert!(chance > 1e-12 && bound < 1000.0 * chance, "{bound} for {chance}");
}

#[test]
fn more_channels_larger_means_and_shorter_deadlines_are_later() {
    let film = |mean| channel(1000, (1000, mean, 8000));
    let shares: Vec<f64> = (1..60).map(|n| share(film(1700), n)).collect();
    assert!(shares.is_sorted(), "{shares:?}");
    assert_eq!((shares[0], shares[58]), (0.0, 1.0));
    assert!(shares.iter().any(|share| (1e-6..1e-2).contains(share)), "{shares:?}");
    assert!(share(film(2000), 20) > share(film(1700), 20));
    let short = Varying { request: film(1700).request.within(Span::from_us(700)), ..film(1700) };
    assert!(share(short, 15) > share(film(1700), 15));
    // Best effort is waited for.
    let beside = Environment {
        best_effort: vec![crate::BestEffort {
            max_message: Bytes::new(1000),
            min_message: Bytes::new(1000),
            role: laxity_qos::channel::Role::Send,
            elsewhere: false,
            program: Span::ZERO,
        }],
        ..host()
    };
    assert!(share_late(&beside, &vec![film(1700); 20]).unwrap()[0] >= share(film(1700), 20));
}

#[test]
fn the_mean_of_a_service_is_that_of_the_worst_distribution() {
    // 1 B to 1000 B take 10, up to 2000 B take 30.
    let steps = [(1.0, 10.0), (1001.0, 30.0), (2000.0, 30.0)];
    assert_eq!(highest_mean(&steps, 1.0), 10.0);
    assert_eq!(highest_mean(&steps, 501.0), 20.0);
    assert_eq!(highest_mean(&steps, 1001.0), 30.0);
    assert_eq!(highest_mean(&steps, 1500.0), 30.0);
}

#[test]
fn handlers_that_never_yield_have_none() {
    let drains = Environment { block_real_time: Block::Never, ..host() };
    assert!(share_late(&drains, &[channel(1000, (1000, 1000, 1000))]).is_err());
}
