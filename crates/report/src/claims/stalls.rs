//! Which figures of a disturbed run a claim has read, and whether they leave it a verdict.
//!
//! A sweep has points in virtual time beside those in real time, and a claim reads some of them.
//! Refusing all claims of a file for one disturbed point would be as wrong as judging all; the
//! author of a claim can hardly list the points that it reads. So the records keep track: each
//! field of a run in real time has a kind of figure, and only the figures that a claim has read can
//! spoil it.

use std::cell::RefCell;
use std::rc::Rc;

use laxity_scenario::claim::Stalls;
use laxity_world::figures::plain;
use laxity_world::results::Run;

/// The events that decide a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decides {
    /// No event during a run.
    Nothing,
    /// One event can.
    One,
    /// All together do.
    All,
}

/// The events that decide a field of channels, their distributions, resources, stages and figures.
///
/// An unlisted field counts as one that a single event decides: that withholds more verdicts, never
/// fewer.
fn decides(field: &str) -> Decides {
    match field {
        "name" | "class" | "reserved" | "deadline" | "bound" | "bound_papers" | "delivery_bound"
        | "response_bound" | "response_found" | "delivery_found" | "round_bound"
        | "refused" | "no_bound" | "worst_found" | "reason" | "admissible" | "admissible_jitter"
        | "largest_term" | "largest" | "expected" | "channel" | "admitted" | "papers_throughput"
        | "corrected_throughput"
        // Fields of the platform itself.
        | "host_stalls" | "host_longest_stall"
        // Records that decide by their own fields.
        | "laxity" | "latency" | "sojourn" | "queueing" | "access" | "delivery" | "response" | "waited" | "served" => {
            Decides::Nothing
        }
        "offered" | "throughput" | "goodput" | "messages" | "completed" | "packets" | "delivered" | "count" | "mean" | "p50"
        | "utilisation" | "uses" | "read" | "written" | "waited_p50" | "of_contract" => Decides::All,
        _ => Decides::One,
    }
}

/// How far a run is spoilt for claims.
#[derive(Debug, Default)]
pub(super) struct Spoilt {
    one: Option<String>,
    all: Option<String>,
    /// More is missing than a script can allow for.
    hopeless: bool,
}

impl Spoilt {
    /// The spoilt figures of `run`, at the point with that `label`; `None` if there are none.
    pub(super) fn of(run: &Run, label: &str) -> Option<Rc<Spoilt>> {
        let fitness = &run.real_time.as_ref()?.fitness;
        let at = |why: String| if label.is_empty() { why } else { format!("at {label} {why}") };
        let (one, all) = (fitness.spoils_one().map(at), fitness.spoils_all().map(at));
        let hopeless = fitness.spoils_allowances().is_some();
        (one.is_some() || all.is_some()).then(|| Rc::new(Spoilt { one, all, hopeless }))
    }

    /// Why `field` must not be judged; `None` if it may be.
    fn why(&self, field: &str) -> Option<&String> {
        match decides(plain(field)) {
            Decides::Nothing => None,
            Decides::All => self.all.as_ref(),
            Decides::One => self.one.as_ref().or(self.all.as_ref()),
        }
    }
}

/// Remembers what a script read first that was spoilt.
#[derive(Debug, Clone, Default)]
pub(super) struct Witness(Rc<RefCell<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    /// Why what was read first is not to be judged by.
    first: Option<String>,
    /// Likewise for the first reading that no script can allow for.
    hopeless: Option<String>,
}

impl Witness {
    /// A script reads `field` of a run that is `spoilt`.
    pub(super) fn see(&self, spoilt: &Spoilt, field: &str) {
        let Some(why) = spoilt.why(field) else { return };
        let mut seen = self.0.borrow_mut();
        seen.first.get_or_insert_with(|| why.clone());
        if let (true, Some(why)) = (spoilt.hopeless, &spoilt.all) {
            seen.hopeless.get_or_insert_with(|| why.clone());
        }
    }

    /// Why a claim with those `stalls` is not judged, given what it has read since the last call;
    /// `None` if it is.
    pub(super) fn take(&self, stalls: Stalls) -> Option<String> {
        let Seen { first, hopeless } = self.0.take();
        match stalls {
            Stalls::Spoil => first.map(|why| format!("{why}, which may have decided it")),
            Stalls::Accounted => hopeless.map(|why| format!("{why}, more than a claim can allow for")),
        }
    }
}

#[cfg(test)]
mod tests {
    use laxity_scenario::Claim;

    use super::super::Judge;
    use super::*;
    use laxity_world::results::{
        Axis, AxisPoint, Channel, Fitness, FrameResults, Provenance, RealTime, Results, Ruling, Summary,
        Verdict,
    };

    /// A point in virtual time and one in real time, in which the platform stood still for 2 ms of
    /// 1 ms to spare.
    fn results() -> Results {
        let point = |text: &str| AxisPoint { text: text.into(), value: None };
        let clock = Axis {
            name: "clock".into(),
            label: "clock".into(),
            points: vec![point("virtual"), point("real")],
        };
        let summary = Summary { count: 3, ..Summary::default() };
        let channel = Channel {
            name: "a".into(),
            class: "real_time".into(),
            deadline: Some(5e-3),
            throughput: 100.0,
            messages: 3,
            completed: 3,
            packets: 3,
            laxity: Some(summary),
            drops: [("adapter".to_string(), 0)].into(),
            ..Channel::default()
        };
        let frames = FrameResults { channel: "a".into(), p50: 1.0, p99: 2.0, ..FrameResults::default() };
        let fitness =
            Fitness { longest_stop: 2e-3, slack: Some(1e-3), tightest: "a".into(), ..Fitness::default() };
        let real_time = RealTime { fitness, frames: vec![frames], ..RealTime::default() };
        let run = |point, real_time| Run {
            point: vec![point],
            simulated: 1.0,
            channels: vec![channel.clone()],
            figures: [("host_stalls".to_string(), 0.5)].into(),
            real_time,
            ..Run::default()
        };
        Results {
            provenance: Provenance::default(),
            axes: vec![clock],
            runs: vec![run(0, None), run(1, Some(real_time))],
        }
    }

    fn judged(results: &Results, holds: &str, stalls: Stalls) -> Verdict {
        let claim = Claim { id: "C".into(), holds: holds.into(), stalls, ..Claim::default() };
        let mut judgement = Judge::compile(&[claim]).unwrap().judge(results, None);
        assert!(judgement.errors.is_empty(), "{:?}", judgement.errors);
        judgement.verdicts.remove(0)
    }

    #[track_caller]
    fn spoilt(results: &Results, holds: &str) {
        let verdict = judged(results, holds, Stalls::Spoil);
        let Ruling::NotJudged { because } = &verdict.ruling else {
            panic!("judged as {:?}: {holds}", verdict.ruling)
        };
        assert!(verdict.spoilt && because.contains("at clock = real the platform stood still"), "{because}");
        let accounted = judged(results, holds, Stalls::Accounted);
        assert!(accounted.holds() && !accounted.spoilt, "{holds}");
    }

    #[track_caller]
    fn sound(results: &Results, holds: &str) {
        let verdict = judged(results, holds, Stalls::Spoil);
        assert!(verdict.holds() && !verdict.spoilt, "{:?}: {holds}", verdict.ruling);
    }

    #[test]
    fn a_claim_is_spoilt_by_what_one_stop_can_decide() {
        let results = results();
        for field in ["missed_messages", "missed_packets", "laxity.min", "laxity.p99", "drops.total"] {
            spoilt(&results, &format!("runs[1].channel(\"a\").{field} == 0"));
        }
        // Whichever way it is reached.
        spoilt(&results, "runs.all(|r| r.rt.all(|c| c.missed_messages == 0))");
        spoilt(&results, "max(where(\"clock\", \"real\").map(|r| r.channels[0].laxity.max)) == 0");
        spoilt(&results, "runs[1].real_time.frames[0].p99 == 2");
    }

    #[test]
    fn one_stop_leaves_means_and_what_did_not_run_in_real_time() {
        let results = results();
        for script in [
            "runs[0].rt[0].missed_messages == 0",
            "runs[1].rt[0].throughput == 100 && runs[1].rt[0].laxity.mean == 0",
            "runs[1].rt[0].deadline == 0.005 && runs[1].point.clock == \"real\"",
            "runs[1].real_time.frames[0].p50 == 1",
            "runs[1].real_time.stall_longest == 0 && runs[1].figures.host_stalls == 0.5",
            "runs[1].rt[0].laxity != ()",
        ] {
            sound(&results, script);
        }
    }

    #[test]
    fn missing_time_spoils_means_too() {
        let mut results = results();
        let Some(real_time) = &mut results.runs[1].real_time else { unreachable!() };
        real_time.fitness = Fitness { stalled_share: 0.02, ..Fitness::default() };
        spoilt(&results, "runs[1].rt[0].throughput == 100");
        spoilt(&results, "runs[1].rt[0].missed_messages == 0");
        let hopeless = Fitness { stalled_share: 0.2, ..Fitness::default() };
        let mut worse = results.clone();
        worse.runs[1].real_time = Some(RealTime { fitness: hopeless, ..RealTime::default() });
        let verdict = judged(&worse, "runs[1].rt[0].throughput == 100", Stalls::Accounted);
        assert!(verdict.spoilt && verdict.ruling.detail().contains("allow for"), "{:?}", verdict.ruling);
        sound(&results, "runs[1].rt[0].deadline == 0.005");
    }

    #[test]
    fn of_a_run_that_nobody_told_of_nothing_is_judged_that_a_stall_could_decide() {
        let mut results = results();
        results.runs[1].real_time = Some(RealTime { fitness: Fitness::untold(), ..RealTime::default() });
        for script in ["runs[1].rt[0].missed_messages == 0", "runs[1].rt[0].throughput == 100"] {
            for stalls in [Stalls::Spoil, Stalls::Accounted] {
                let verdict = judged(&results, script, stalls);
                let because = verdict.ruling.detail();
                assert!(verdict.spoilt && because.contains("the log was cut off"), "{script}: {because}");
            }
        }
        sound(&results, "runs[1].rt[0].deadline == 0.005 && runs[0].rt[0].missed_messages == 0");
    }

    #[test]
    fn a_contradicted_claim_is_no_better_and_an_unmeasured_one_keeps_its_reason() {
        let results = results();
        assert!(judged(&results, "runs[1].rt[0].laxity.min > 1", Stalls::Spoil).spoilt);
        let open = judged(&results, "runs[1].rt[0].worst > 0", Stalls::Spoil);
        assert!(!open.spoilt && open.ruling.detail().contains("has no `worst`"), "{:?}", open.ruling);
    }

    #[test]
    fn every_field_of_a_channel_is_known_or_withholds_the_verdict() {
        assert_eq!(decides("a new figure"), Decides::One);
        assert_eq!(decides("missed_messages"), Decides::One);
    }
}
