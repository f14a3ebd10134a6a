//! Whether a run in real time is a basis for claims, or only measures its machine.
//!
//! A simulation keeps its clock by construction. An emulation shares a machine. A stop of the
//! machine beyond a message's slack makes the message late: other programs there then decide a
//! claim about deadlines, and a verdict would be random. Two kinds of figures are spoilt in two
//! ways.
//!
//! * A figure that one event decides (misses, drops, a worst case, a 99th percentile) is spoilt by
//!   *one* stop that is longer than the slack. The slack of a channel is how far its median message
//!   is from its deadline, on either side: a shorter stop turns no ordinary message from early to
//!   late or back.
//! * A figure that all events decide together (a rate, a mean, a median) is spoilt by the *share*
//!   of time that is missing: with 1 % of it, the figure is off by 1 %, which is exact enough in
//!   real time.
//!
//! Time is missing when the platform stood still, and also when the emulation fell behind because
//! the machine is too slow for it.
//!
//! A replay is as fit as the emulation that it repeats, which the end of the log records. Without
//! that end the fitness is unknown, and the run is no basis for claims.

use laxity_engine::{Lateness, LatenessBucket};
use laxity_units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Run;
use crate::figures::plain;
use crate::text::in_words;

/// More than this share of a run, and its rates and means are not those of what was emulated.
const SHARE: f64 = 0.01;

/// More than this, and what is left is no emulation: not even a claim that allows for stalls says
/// anything.
const HOPELESS: f64 = 0.1;

/// Why the fitness is unknown.
const UNTOLD: &str = "the log was cut off before it told how long the platform stood still";

/// How far a run in real time can be judged by; times in seconds of the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fitness {
    /// Share of the run for which the emulation or its host stood still.
    pub stalled_share: f64,
    /// The longest stop of either.
    pub longest_stop: f64,
    /// How late the latest event was.
    pub latest: f64,
    /// The same as a share of the run.
    pub latest_share: f64,
    /// The tightest slack: the least distance of a channel's median message from its deadline;
    /// `None` without deadlines.
    pub slack: Option<f64>,
    /// The channel that has it; empty without deadlines.
    pub tightest: String,
    /// Events later than the tightest slack.
    pub later: u64,
    /// Whether the fitness is unknown: the run repeats one of which the log was cut off before its
    /// end.
    #[serde(default)]
    pub untold: bool,
}

/// The stops of a run, in its own time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stops {
    /// All stops added up.
    pub total: Span,
    /// The longest of them.
    pub longest: Span,
}

impl Fitness {
    /// The fitness of `run`, whose own thread had the stops `stops` and the event lateness
    /// `lateness`.
    pub fn of(run: &Run, stops: Stops, lateness: &Lateness) -> Fitness {
        let hosts = |name: &str| {
            let here = run.figures.iter().filter(|(figure, _)| plain(figure) == name);
            here.map(|(_, seconds)| *seconds).collect::<Vec<f64>>()
        };
        let tightest = run.channels.iter().filter_map(|channel| {
            let laxity = channel.laxity.as_ref().filter(|laxity| laxity.count > 0)?;
            // No message has more to spare than its deadline, however late all were.
            let most = channel.deadline.unwrap_or(f64::INFINITY);
            Some((laxity.p50.abs().min(most), channel.name.clone()))
        });
        let tightest = tightest.min_by(|a, b| a.0.total_cmp(&b.0));
        let share = |seconds: f64| if run.simulated > 0.0 { (seconds / run.simulated).min(1.0) } else { 0.0 };
        let latest = lateness.max().as_secs_f64();
        let later = tightest.as_ref().map_or(0, |(slack, _)| {
            let most = |bucket: &LatenessBucket| bucket.to.min(lateness.max()).as_secs_f64();
            let later = lateness.buckets().filter(|bucket| most(bucket) > *slack);
            later.map(|bucket| bucket.count).sum()
        });
        Fitness {
            stalled_share: share(stops.total.as_secs_f64() + hosts("host_stalls").iter().sum::<f64>()),
            longest_stop: hosts("host_longest_stall").into_iter().fold(stops.longest.as_secs_f64(), f64::max),
            latest,
            latest_share: share(latest),
            slack: tightest.as_ref().map(|(slack, _)| *slack),
            tightest: tightest.map(|(_, name)| name).unwrap_or_default(),
            later,
            untold: false,
        }
    }

    /// The fitness of a run that repeats one of unknown fitness.
    pub fn untold() -> Fitness {
        Fitness { untold: true, ..Fitness::default() }
    }

    /// How unfit it is: up to 1 it is fit; the run with the least is the fittest.
    pub fn strain(&self) -> f64 {
        if self.untold { f64::INFINITY } else { self.strain_of_one().max(self.strain_of_all()) }
    }

    /// Whether the platform decided no figure that a claim could be about.
    pub fn is_fit(&self) -> bool {
        self.strain() <= 1.0
    }

    /// Why figures that one event decides are not to be judged by; `None` if they are.
    pub fn spoils_one(&self) -> Option<String> {
        if self.untold {
            return Some(UNTOLD.into());
        }
        (self.strain_of_one() > 1.0).then(|| {
            let slack = in_words(self.slack.unwrap_or_default());
            let of = &self.tightest;
            match self.slack.is_some_and(|slack| self.longest_stop > slack) {
                true => format!(
                    "the platform stood still for {}, longer than the slack of {slack} of channel `{of}`",
                    in_words(self.longest_stop)
                ),
                false => format!(
                    "{} events were later than the slack of {slack} of channel `{of}`, up to {}",
                    self.later,
                    in_words(self.latest)
                ),
            }
        })
    }

    /// Why figures that all events decide together are not to be judged by; `None` if they are.
    pub fn spoils_all(&self) -> Option<String> {
        if self.untold {
            return Some(UNTOLD.into());
        }
        (self.strain_of_all() > 1.0).then(|| match self.stalled_share > SHARE {
            true => format!("the platform stood still for {} of the run", percent(self.stalled_share)),
            false => {
                format!("the emulation was behind by up to {}, {} of the run", in_words(self.latest), {
                    percent(self.latest_share)
                })
            }
        })
    }

    /// Why not even figures beside the time that is missing are to be judged by; `None` if they
    /// are.
    pub fn spoils_allowances(&self) -> Option<String> {
        self.spoils_all().filter(|_| self.untold || self.stalled_share.max(self.latest_share) > HOPELESS)
    }

    /// All that speaks against it; empty if it is fit.
    pub fn faults(&self) -> Vec<String> {
        let mut faults: Vec<String> = [self.spoils_all(), self.spoils_one()].into_iter().flatten().collect();
        faults.dedup();
        faults
    }

    /// How fit it is, in a sentence.
    pub fn words(&self) -> String {
        if self.untold {
            return format!("NOT KNOWN to be fit to be judged by: {UNTOLD}");
        }
        let stops = match self.longest_stop {
            0.0 => "the platform did not stand still".to_string(),
            longest => format!(
                "the platform stood still for {} of the time, for up to {}",
                percent(self.stalled_share),
                in_words(longest)
            ),
        };
        let slack = self.slack.map_or(String::new(), |slack| {
            let later = match self.later {
                0 => "no event was".to_string(),
                1 => "1 event was".to_string(),
                later => format!("{later} events were"),
            };
            format!("; {later} later than the tightest slack, {} of `{}`", in_words(slack), self.tightest)
        });
        let fit = match (self.spoils_all(), self.spoils_one()) {
            (None, None) => "fit to be judged by",
            (Some(_), None) => "NOT FIT for rates and means",
            (None, Some(_)) => "NOT FIT for deadlines and extremes",
            (Some(_), Some(_)) => "NOT FIT to be judged by",
        };
        format!("{fit}: {stops}{slack}; the latest event was {} late", in_words(self.latest))
    }

    fn strain_of_one(&self) -> f64 {
        let Some(slack) = self.slack else { return 0.0 };
        // A median message exactly at its deadline has no slack at all.
        self.longest_stop.max(self.latest) / slack.max(f64::MIN_POSITIVE)
    }

    fn strain_of_all(&self) -> f64 {
        self.stalled_share.max(self.latest_share) / SHARE
    }
}

fn percent(share: f64) -> String {
    let digits = if share < 0.01 { 3 } else { 1 };
    format!("{:.digits$} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Channel, Summary};

    fn channel(name: &str, median: f64) -> Channel {
        let laxity = Some(Summary { count: 9, p50: median, ..Summary::default() });
        Channel { name: name.into(), laxity, ..Channel::default() }
    }

    fn run() -> Run {
        let channels = vec![channel("a", 9e-3), channel("b", -4e-3), Channel::default()];
        Run { simulated: 10.0, channels, ..Run::default() }
    }

    fn late(lates: &[Span]) -> Lateness {
        let mut lateness = Lateness::default();
        lates.iter().for_each(|late| lateness.record(*late));
        lateness
    }

    fn stops(total: Span, longest: Span) -> Stops {
        Stops { total, longest }
    }

    #[test]
    fn a_run_that_was_hardly_disturbed_is_fit() {
        let lateness = late(&[Span::from_us(3), Span::from_us(3999)]);
        let fitness = Fitness::of(&run(), stops(Span::from_ms(90), Span::from_us(3999)), &lateness);
        assert_eq!((fitness.slack, fitness.tightest.as_str(), fitness.later), (Some(4e-3), "b", 0));
        assert!(fitness.is_fit() && fitness.faults().is_empty(), "{fitness:?}");
        assert!(fitness.words().starts_with("fit to be judged by: the platform stood still for 0.900 %"));
    }

    #[test]
    fn one_stop_longer_than_the_slack_spoils_extremes_and_leaves_means() {
        let fitness = Fitness::of(&run(), stops(Span::from_ms(5), Span::from_ms(5)), &late(&[]));
        assert!(fitness.spoils_all().is_none() && !fitness.is_fit());
        let why = fitness.spoils_one().unwrap();
        assert_eq!(
            why,
            "the platform stood still for 5.00 ms, longer than the slack of 4.00 ms of channel `b`"
        );
    }

    #[test]
    fn events_that_were_late_without_a_stop_count_alike() {
        let lateness = late(&[Span::from_ms(1), Span::from_ms(5), Span::from_ms(6)]);
        let fitness = Fitness::of(&run(), Stops::default(), &lateness);
        assert_eq!(fitness.later, 2);
        assert!(fitness.spoils_one().unwrap().starts_with("2 events were later than the slack of 4.00 ms"));
    }

    #[test]
    fn missing_time_spoils_means_whoever_missed_it() {
        let mut with_host = run();
        with_host.figures.insert("host_stalls@1".into(), 0.06);
        let fitness = Fitness::of(&with_host, stops(Span::from_ms(50), Span::from_us(90)), &late(&[]));
        assert_eq!(fitness.faults(), ["the platform stood still for 1.1 % of the run"]);
        // A machine that is too slow never stands still, and is ever later.
        let no_deadlines = Run { simulated: 10.0, ..Run::default() };
        let fitness = Fitness::of(&no_deadlines, Stops::default(), &late(&[Span::from_ms(200)]));
        assert_eq!(fitness.faults(), ["the emulation was behind by up to 200.00 ms, 2.0 % of the run"]);
    }

    #[test]
    fn the_host_may_be_the_one_that_stood_still() {
        let mut with_host = run();
        with_host.figures.insert("host_longest_stall".into(), 7e-3);
        let fitness = Fitness::of(&with_host, Stops::default(), &late(&[]));
        assert!((fitness.strain() - 1.75).abs() < 1e-9 && fitness.spoils_one().is_some());
    }

    #[test]
    fn what_is_late_throughout_has_no_more_slack_than_its_deadline() {
        let late_by_itself = Channel { deadline: Some(40e-3), ..channel("late", -3.0) };
        let run = Run { channels: vec![late_by_itself], simulated: 10.0, ..Run::default() };
        let fitness = Fitness::of(&run, stops(Span::from_ms(50), Span::from_ms(50)), &late(&[]));
        assert_eq!(fitness.slack, Some(40e-3));
        assert!(fitness.spoils_one().is_some() && fitness.spoils_allowances().is_none());
        let hopeless = Fitness::of(&run, stops(Span::from_ms(1100), Span::from_ms(1)), &late(&[]));
        assert!(hopeless.spoils_allowances().is_some());
    }

    #[test]
    fn what_is_not_told_is_not_fit() {
        let fitness = Fitness::untold();
        assert!(!fitness.is_fit() && fitness.spoils_one().is_some() && fitness.spoils_allowances().is_some());
        assert_eq!(fitness.faults(), [UNTOLD]);
        assert!(fitness.words().starts_with("NOT KNOWN to be fit"));
    }

    #[test]
    fn without_slack_any_stop_is_too_long() {
        let exact = Run { channels: vec![channel("exact", 0.0)], simulated: 1.0, ..Run::default() };
        assert!(Fitness::of(&exact, Stops::default(), &late(&[])).is_fit());
        assert!(!Fitness::of(&exact, Stops::default(), &late(&[Span::from_ns(1)])).is_fit());
    }
}
