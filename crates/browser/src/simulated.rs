//! A run of one point, with queue lengths and the timelines of the worst messages.

use laxity_engine::trace::NoTrace;
use laxity_world::Steps;
use laxity_world::experiment::{Experiment, RunLength, Task};
use laxity_world::results::{Channel, Run, StageResults, Summary};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::design;
use crate::timeline::Watch;

pub(crate) fn run(text: &str, point: usize, events: Option<u64>, watch: bool) -> Result<Value, String> {
    let scenario = design::scenario(text).map_err(|errors| errors.to_string())?;
    let experiment = Experiment { curves: true, ..design::experiment(&scenario, point)? };
    let Task::Simulate(length) = experiment.task else {
        return Err("this scenario counts copies of a channel; it has no run".into());
    };
    let events = events.unwrap_or(u64::MAX);
    let mut watched = watch.then(|| Watch::of(&experiment));
    let (run, whole, now) = match &mut watched {
        Some(watch) => course(Steps::observed(&experiment, length, watch, None), events),
        None => course(Steps::observed(&experiment, length, &mut NoTrace, None), events),
    };
    Ok(json!({
        "whole": whole,
        "simulated": now,
        "length": match length {
            RunLength::Time { total, .. } => Some(total.as_secs_f64()),
            RunLength::Packets { .. } => None,
        },
        "given_up": run.is_given_up(),
        "digest": digest(&run)?,
        "channels": run.channels.iter().map(channel).collect::<Vec<_>>(),
        "stages": run.stages.iter().map(stage).collect::<Vec<_>>(),
        "resources": run.resources.iter().map(|resource| json!({
            "name": resource.name,
            "utilisation": resource.utilisation,
            "longest_queue": resource.longest_queue,
        })).collect::<Vec<_>>(),
        "watched": watched.map(|watch| watch.finish(now)),
    }))
}

/// The results of a run of at most that number of events, whether it reached its end, and its time
/// in seconds.
fn course(mut steps: Steps<'_>, events: u64) -> (Run, bool, f64) {
    let whole = steps.finish_within(events);
    let now = steps.now().as_ps() as f64 / 1e12;
    (steps.close(), whole, now)
}

/// The first eight bytes of the SHA-256 of the results as JSON: equal on all platforms.
fn digest(run: &Run) -> Result<String, String> {
    let json = serde_json::to_vec(run).map_err(|error| error.to_string())?;
    Ok(Sha256::digest(json)[..8].iter().map(|byte| format!("{byte:02x}")).collect())
}

fn channel(channel: &Channel) -> Value {
    // The bound on delivery where a host receives; else on the last transmission.
    let (worst, delays) = match (channel.delivery_bound, &channel.delivery) {
        (Some(_), delivery) => (channel.delivery_worst, delivery),
        (None, Some(delivery)) if channel.bound.is_none() => {
            (channel.delivery_worst, &Some(delivery.clone()))
        }
        (None, _) => (channel.worst, &channel.latency),
    };
    json!({
        "name": channel.name,
        "guaranteed": channel.class == "real_time",
        "deadline": channel.deadline,
        "bound": channel.end_to_end_bound(),
        "worst": worst,
        "refused": channel.refused.is_some(),
        "no_bound": channel.no_bound,
        "messages": channel.messages,
        "completed": channel.completed,
        "failed": channel.failed_messages,
        "fails": channel.fails(),
        "on_time": channel.on_time,
        "offered": channel.offered,
        "throughput": channel.throughput,
        "reserved": channel.reserved,
        "dropped": channel.dropped_packets,
        "lost": channel.lost_packets,
        "delays": delays.as_ref().map(summary),
    })
}

fn stage(stage: &StageResults) -> Value {
    json!({
        "name": stage.name,
        "packets": stage.packets,
        "utilisation": stage.utilisation,
        "longest_queue": stage.longest_queue,
        "waited": stage.waited.as_ref().map(|waited| waited.max),
        "served": stage.served.as_ref().map(|served| served.max),
    })
}

fn summary(summary: &Summary) -> Value {
    json!({
        "count": summary.count,
        "min": summary.min,
        "mean": summary.mean,
        "p50": summary.p50,
        "p99": summary.p99,
        "max": summary.max,
        "curve": summary.curve,
    })
}
