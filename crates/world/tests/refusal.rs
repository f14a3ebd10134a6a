//! What a refused channel is told that it would have needed.

use laxity_qos::admission::Formula;
use laxity_scenario::Scenario;
use laxity_units::Span;
use laxity_world::experiment::Experiment;
use laxity_world::promise::{self, Promise, shortfall};

/// Three equal channels on a slow host, the last with a deadline of its own.
fn scenario(deadline: &str) -> Experiment {
    let channel = |name: &str, deadline: &str| {
        format!(
            "[[channel]]\nname = \"{name}\"\nclass = \"real_time\"\nmax_message = \"16 KiB\"\nburst = 1\n\
             min_interval = \"40 ms\"\ndeadline = \"{deadline}\"\nsource = {{ kind = \"periodic\" }}\n"
        )
    };
    let text = format!(
        "title = \"a test\"\n[host]\nprofile = \"mc68040\"\n[adapter]\nkind = \"null\"\nstartup = \"40 us\"\n\
         per_byte = \"50 ns\"\n[run]\ntime = \"1 s\"\n{}{}{}",
        channel("a", "30 ms"),
        channel("b", "30 ms"),
        channel("c", deadline)
    );
    let scenario = Scenario::from_text("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}"));
    scenario.first()
}

fn answer(experiment: &Experiment) -> Promise {
    promise::promises(experiment, Formula::Corrected).unwrap().channels.remove(2)
}

#[test]
fn the_deadline_that_is_named_is_admitted_and_a_shorter_one_is_not() {
    let experiment = scenario("1 ms");
    assert!(matches!(answer(&experiment), Promise::Refused(_)));
    let shortfall = shortfall(&experiment, Formula::Corrected, 2);
    let least = shortfall.admissible.expect("40 ms is enough");
    let asking = |deadline: Span| {
        let mut experiment = experiment.clone();
        experiment.channels[2].deadline = Some(deadline);
        answer(&experiment)
    };
    assert!(matches!(asking(least), Promise::Admitted { .. }), "{least}");
    assert!(matches!(asking(least - Span::from_ps(1)), Promise::Refused(_)), "{least}");
    let largest = shortfall.largest.expect("a response time has terms");
    assert!(largest.cost < least && largest.cost * 8 > least, "{largest:?} of {least}");
}

/// Refused for its deadline or for its rate, it is told at which interval it would be admitted; so it is, and a hundredth sooner it is not, unless that is all that it asked for.
#[test]
fn the_rate_that_is_named_is_admitted_and_a_higher_one_is_not() {
    for asked in [Span::from_ms(40), Span::from_ms(2)] {
        let mut experiment = scenario("1 ms");
        experiment.channels[2].spec.min_interval = asked;
        let (interval, deadline) = promise::least_interval(&experiment, Formula::Corrected, 2)
            .unwrap_or_else(|| panic!("at some rate below {asked} there is room"));
        let asking = |interval: Span| {
            let mut experiment = experiment.clone();
            experiment.channels[2].spec.min_interval = interval;
            experiment.channels[2].deadline = Some(interval);
            answer(&experiment)
        };
        assert_eq!(deadline, Some(interval), "1 ms is too short at any rate");
        assert!(matches!(asking(interval), Promise::Admitted { .. }), "{interval}");
        let sooner = interval - interval / 100;
        assert!(sooner < asked || matches!(asking(sooner), Promise::Refused(_)), "{sooner}");
        assert_eq!(interval == asked, asked == Span::from_ms(40), "{interval}");
    }
}
