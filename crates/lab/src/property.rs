//! Properties of every scenario: each bound holds, and no packet of a channel that keeps its
//! contract is lost.

mod tally;

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use laxity_admission::Formula;
use laxity_model::network::Probability;
use laxity_model::source::{Sizes, SourceParameters};
use laxity_qos::channel::PacketOverflow;
use laxity_qos::discipline::Class;
use laxity_qos::traffic::TrafficSpec;
use laxity_units::{Span, Time};

use laxity_scenario::Scenario;
use laxity_scenario::draw::files;
use laxity_world::experiment::{ChannelSpec, Experiment, ReceptionCommand, RunLength, SourceSpec, Task};
use laxity_world::promise::{Promise, Uncovered, promises};
use laxity_world::results::{Channel, Judged, Kind, Run};
use laxity_world::{Steps, conforms, run};

pub use tally::PropertyTally;

/// The number of pieces of a run before the rest of it.
const PIECES: u64 = 200;

/// How a scenario is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Property {
    /// The limit of a message's response as a share of its bound: 1, or less to test that excesses
    /// are found.
    pub share: f64,
    /// Events after which a run is given up.
    pub events: u64,
    /// Runs everything twice, the second time in pieces; both results must be equal.
    pub twice: bool,
    /// Skips scenarios without a bound.
    pub promised: bool,
}

impl Default for Property {
    fn default() -> Self {
        Self { share: 1.0, events: 400_000, twice: false, promised: false }
    }
}

/// The result for a scenario.
#[derive(Debug, Clone)]
pub enum Checked {
    /// It is not valid; the error message.
    Invalid(String),
    /// It did not end within the limit of events.
    Endless,
    /// All is as it must be.
    Kept(Kept),
    /// Something is not.
    Broken(Defect),
}

/// The evidence of a scenario that keeps all properties.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    /// Channels with a bound of which a message completed.
    pub bounds: usize,
    /// The largest response as a share of its bound.
    pub closest: f64,
    /// Why there is none, if so.
    pub unbounded: Option<&'static str>,
}

/// A broken property.
#[derive(Debug, Clone, PartialEq)]
pub enum Defect {
    /// A response exceeded the bound of its channel, or a budget that of its application.
    Exceeded {
        /// The channel, or the application.
        channel: String,
        /// Its bound in seconds.
        bound: f64,
        /// The longest that a message of it took.
        worst: f64,
    },
    /// A channel that has a bound and keeps its contract lost messages at a full queue.
    Lost {
        /// The channel.
        channel: String,
        /// Of what there was too little.
        cause: String,
        /// How many messages.
        count: u64,
    },
    /// A channel had more packets at a station than its bound allows.
    Crowded {
        /// The channel.
        channel: String,
        /// How many there can be.
        bound: u64,
        /// How many there were.
        most: u64,
    },
    /// The jitter of a channel at its negotiated rate was above the bound.
    Jittered {
        /// The channel.
        channel: String,
        /// The bound on the jitter fraction.
        bound: f64,
        /// The jitter fraction.
        fraction: f64,
    },
    /// Fewer messages of a channel came to their end than its contract guarantees, because of what
    /// exceeds the contract.
    Displaced {
        /// The channel.
        channel: String,
        /// How many its contract guarantees.
        guaranteed: u64,
        /// How many came.
        came: u64,
    },
    /// More messages of a channel that has a bound and keeps its contract are under way at the end
    /// than can be.
    Starved {
        /// The channel.
        channel: String,
        /// How many.
        under_way: u64,
    },
    /// Nodes with signalling broke rules.
    Rules {
        /// How often.
        count: u64,
        /// The first of them, and where.
        first: String,
    },
    /// Nodes lost messages of a channel within its contract, or delivered them late, without a
    /// fault.
    Unkept {
        /// The channel.
        channel: String,
        /// How many messages.
        count: u64,
    },
    /// Nodes lost a channel without a fault.
    Dropped {
        /// The channel.
        channel: String,
    },
    /// The same file, run at once, in pieces, or until its last request, gave different results.
    Differs,
    /// Reading, running or saying what is wrong panicked.
    Panicked(String),
    /// It is not valid, and no error message says why.
    Wordless,
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Defect::Exceeded { channel, bound, worst } => {
                let (bound, worst) = (bound * 1e3, worst * 1e3);
                write!(f, "{channel}: bound {bound:.6} ms, worst {worst:.6} ms")
            }
            Defect::Lost { channel, cause, count } => {
                write!(f, "{channel} keeps its contract and lost {count} messages: {cause}")
            }
            Defect::Crowded { channel, bound, most } => {
                write!(f, "{channel}: {most} packets at a station, of which there can be {bound}")
            }
            Defect::Jittered { channel, bound, fraction } => {
                write!(f, "{channel}: jitter fraction {fraction}, of which the bound is {bound}")
            }
            Defect::Displaced { channel, guaranteed, came } => {
                write!(f, "{channel}: {came} messages came, of {guaranteed} that its contract guarantees")
            }
            Defect::Starved { channel, under_way } => {
                write!(f, "{channel} keeps its contract and has {under_way} messages under way at the end")
            }
            Defect::Rules { count, first } => {
                write!(f, "{count} rules of nodes are broken: {first}")
            }
            Defect::Unkept { channel, count } => {
                write!(f, "{channel}: {count} messages within the contract were late or lost without a fault")
            }
            Defect::Dropped { channel } => write!(f, "{channel} was lost without a fault"),
            Defect::Differs => f.write_str(
                "the same file, run at once, in pieces, or until its last request, gives different results",
            ),
            Defect::Panicked(message) => write!(f, "panicked: {message}"),
            Defect::Wordless => f.write_str("refused without a word"),
        }
    }
}

impl Defect {
    /// Whether `other` is of the same kind.
    pub fn is_like(&self, other: &Defect) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl Property {
    /// Reads and runs the scenario `text`, and judges it.
    pub fn check(&self, text: &str) -> Checked {
        catch_unwind(AssertUnwindSafe(|| self.look(text)))
            .unwrap_or_else(|panic| Checked::Broken(Defect::Panicked(message(&*panic))))
    }

    fn look(&self, text: &str) -> Checked {
        let experiment = match experiment_of(text) {
            Ok(experiment) => experiment,
            Err(message) if message.trim().is_empty() => {
                return Checked::Broken(Defect::Wordless);
            }
            Err(message) => return Checked::Invalid(message),
        };
        if self.promised && !is_promised_anything(&experiment) {
            return Checked::Kept(Kept { unbounded: Some("nothing was promised"), ..Kept::default() });
        }
        let Some(run) = run_within(&experiment, self.events) else { return Checked::Endless };
        if self.twice {
            let again =
                experiment_of(text).ok().and_then(|experiment| run_in_pieces(&experiment, self.events));
            if again.as_ref() != Some(&run) {
                return Checked::Broken(Defect::Differs);
            }
            // `laxity admit` has the answers of the run.
            if laxity_world::answered(&experiment)
                .is_some_and(|first| !run.answers.starts_with(&first.answers))
            {
                return Checked::Broken(Defect::Differs);
            }
        }
        match experiment.task {
            Task::Fill(_) => Checked::Kept(Kept { unbounded: Some("nothing was run"), ..Kept::default() }),
            // The papers' formulas are printed beside the valid bounds.
            Task::Simulate(_) if experiment.admission.formula.is_some_and(Formula::is_published) => {
                Checked::Kept(Kept { unbounded: Some("the papers' formulas"), ..Kept::default() })
            }
            Task::Simulate(_) => self.judge(&experiment, &run),
        }
    }

    fn judge(&self, experiment: &Experiment, run: &Run) -> Checked {
        let mut kept = Kept::default();
        if let Some(failure) = experiment.signalling().and_then(|_| by_nodes(run)) {
            return Checked::Broken(failure);
        }
        if let Some(failure) = run.judged().find_map(|(of, judged)| self.exceeded(of, judged)) {
            return Checked::Broken(failure);
        }
        for (spec, channel) in experiment.channels.iter().zip(&run.channels) {
            let times = || channel.judged().filter(|judged| judged.kind == Kind::Time);
            for Judged { measured, bound, .. } in times() {
                kept.closest = kept.closest.max(if bound > 0.0 { measured / bound } else { 1.0 });
            }
            kept.bounds += usize::from(times().next().is_some());
            let Some(bound) = channel.bound else { continue };
            if let Some(failure) = unkept(experiment, spec, channel, bound) {
                return Checked::Broken(failure);
            }
        }
        kept.unbounded = (kept.bounds == 0).then(|| why_unbounded(experiment));
        Checked::Kept(kept)
    }
}

/// The first property that nodes with signalling did not keep.
fn by_nodes(run: &Run) -> Option<Defect> {
    if let Some(count) = run.figures.get("broken_rules") {
        let rule = run.answers.iter().find(|answer| answer.answer.contains(' ') && answer.took.is_none());
        let first = rule.map(|rule| format!("{} ({} {})", rule.answer, rule.channel, rule.detail));
        return Some(Defect::Rules { count: *count as u64, first: first.unwrap_or_default() });
    }
    let name = |channel: &Channel| channel.name.clone();
    let failed = |channel: &&Channel| channel.fails();
    if let Some(channel) = run.channels.iter().find(failed) {
        let count = channel.failed_messages.unwrap_or_default();
        return Some(Defect::Unkept { channel: name(channel), count });
    }
    let dropped = run.channels.iter().find(|channel| channel.unexpected > Some(0))?;
    Some(Defect::Dropped { channel: name(dropped) })
}

/// The message of a panic.
pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<String>().map(String::as_str);
    message.or(panic.downcast_ref::<&str>().copied()).unwrap_or("without a word").to_string()
}

impl Property {
    /// Whether `judged`, a measurement of `of`, is above its bound.
    fn exceeded(&self, of: &str, judged: Judged) -> Option<Defect> {
        let (channel, Judged { bound, measured, .. }) = (of.to_string(), judged);
        match judged.kind {
            Kind::Time if measured > bound * self.share => {
                Some(Defect::Exceeded { channel, bound, worst: measured })
            }
            Kind::Time => None,
            Kind::Count if judged.is_exceeded() => {
                Some(Defect::Crowded { channel, bound: bound as u64, most: measured as u64 })
            }
            _ if judged.is_exceeded() => Some(Defect::Jittered { channel, bound, fraction: measured }),
            _ => None,
        }
    }
}

/// Whether some channel has a bound.
fn is_promised_anything(experiment: &Experiment) -> bool {
    let promises = experiment.admission.formula.and_then(|formula| promises(experiment, formula).ok());
    promises.is_some_and(|promises| promises.channels.iter().any(Promise::is_bound))
}

fn why_unbounded(experiment: &Experiment) -> &'static str {
    match experiment.admission.formula.map(|formula| promises(experiment, formula)) {
        None => "admission is off",
        Some(Err(uncovered)) => uncovered.sentence(),
        Some(Ok(promises)) => {
            let some = |promise: &Promise| {
                matches!(promise, Promise::Admitted(_) | Promise::Received(_) | Promise::Connected(_))
            };
            let unbounded = promises.channels.iter().find_map(Promise::uncovered).map(Uncovered::sentence);
            match promises.channels.iter().any(some) {
                true => "no message of an admitted channel completed",
                false => unbounded.unwrap_or("every channel is refused"),
            }
        }
    }
}

/// Further guarantees of a channel with a bound that keeps its contract.
fn unkept(experiment: &Experiment, spec: &ChannelSpec, channel: &Channel, bound: f64) -> Option<Defect> {
    let enforced = experiment.host(spec.route[0]).subsystem.enforcement;
    // Losses on a lossy network are not counted here, nor those of an adapter behind which there is
    // no guarantee.
    let loses = |way: &usize| {
        let impairments = &experiment.networks[*way].impairments;
        impairments.loss > Probability::NEVER || impairments.corruption > Probability::NEVER
    };
    let lost = channel.lost_packets > 0 || channel.drops.contains_key("adapter");
    let excused = channel.delivery_bound.is_none() || spec.ways.iter().any(loses);
    if lost && !excused && enforced && conforms(spec) && !begins_again(experiment, spec) {
        let (channel, cause, count) = (channel.name.clone(), "adapter".into(), channel.lost_packets);
        return Some(Defect::Lost { channel, cause, count });
    }
    if !excused
        && enforced
        && let Some(failure) = displaced(experiment, spec, channel, bound)
    {
        return Some(failure);
    }
    let intact = !lost;
    // Losses of a broken receiver without a guarantee are not counted either.
    let receiver = spec.route.last().copied().filter(|_| channel.delivery_bound.is_none());
    let intact = intact && !experiment.faults.iter().any(|fault| Some(fault.node) == receiver);
    if spec.class != Class::RealTime
        || !enforced
        || !intact
        || !conforms(spec)
        || begins_again(experiment, spec)
    {
        return None;
    }
    let name = channel.name.clone();
    // A message that a later one overtakes on the way is given up where it is received, and that is
    // the way's doing.
    let reorders =
        |way: &usize| experiment.networks[*way].impairments.reordering.probability > Probability::NEVER;
    let overtaken = spec.ways.iter().any(reorders);
    // A receiver that no analysis covers may have no time for it; its own bound ends with the last
    // transmission.
    let forlorn = spec.received && channel.delivery_bound.is_none();
    let at_receiver = |cause: &str| ["packet_queue", "program_queue"].contains(&cause);
    let lost = |(cause, count): &(&String, &u64)| **count > 0 && !(forlorn && at_receiver(cause));
    if let Some((cause, count)) = channel.drops.iter().find(lost) {
        return Some(Defect::Lost { channel: name, cause: cause.clone(), count: *count });
    }
    if channel.incomplete > 0 && !overtaken && !forlorn {
        return Some(Defect::Lost { channel: name, cause: "incomplete".into(), count: channel.incomplete });
    }
    // All of a burst may be early, and the last messages before may not be due yet.
    let due = (bound / spec.spec.min_interval.as_secs_f64()).ceil() as u64 + 1;
    let under_way = channel.messages.saturating_sub(channel.completed);
    (under_way > u64::from(spec.spec.burst) + due).then_some(Defect::Starved { channel: name, under_way })
}

/// Whether the excess of a channel displaced what its contract guarantees. Of a source that never
/// pauses for longer than `I_min`, the contract guarantees one message in each `I_min` from the
/// first on, and each message by the bound.
fn displaced(experiment: &Experiment, spec: &ChannelSpec, channel: &Channel, bound: f64) -> Option<Defect> {
    let SourceSpec::Timed { parameters, .. } = &spec.source else { return None };
    let (start, sizes) = match parameters {
        SourceParameters::Periodic(p) => (p.start, p.sizes),
        SourceParameters::Bursty(p) => (p.start, p.sizes),
        _ => return None,
    };
    let envelope = parameters.envelope()?;
    let TrafficSpec { burst, min_interval, min_message, max_message } = spec.spec;
    let slow = envelope.batch > burst || envelope.every > min_interval * u64::from(envelope.batch);
    let fits = matches!(sizes, Sizes::Fixed(size) if (min_message..=max_message).contains(&size));
    let blocks = spec.packet_overflow == PacketOverflow::Block;
    if spec.class != Class::RealTime || !fits || slow || !blocks || begins_again(experiment, spec) {
        return None;
    }
    let RunLength::Time { total, .. } = whole(experiment)? else { return None };
    let bound = Span::from_secs_f64(bound.max(channel.delivery_bound.unwrap_or_default()))?;
    let time = total.saturating_sub(start.since(Time::ZERO)).saturating_sub(bound);
    // The last burst may be sent up to a burst's time before the end of the run.
    let intervals = time.as_ps() / min_interval.as_ps();
    let guaranteed = intervals.saturating_sub(u64::from(burst));
    let came = channel.completed;
    (came < guaranteed).then(|| Defect::Displaced { channel: channel.name.clone(), guaranteed, came })
}

/// Whether commands let what a channel's source says begin more than once: the last message before
/// and the first after it may be nearer to each other than its contract has them.
fn begins_again(experiment: &Experiment, spec: &ChannelSpec) -> bool {
    let creates = experiment.commands.iter().filter(|command| match command.command {
        ReceptionCommand::Create(channel) => experiment.channels[channel].name == spec.name,
        ReceptionCommand::Clear(_) | ReceptionCommand::Mode(..) => false,
    });
    creates.count() > 1
}

/// The run of a scenario that may not end by itself: `None` if it has not ended after this number
/// of `events`.
fn run_within(experiment: &Experiment, events: u64) -> Option<Run> {
    match whole(experiment) {
        Some(length) => laxity_world::run_within(experiment, length, events),
        None => Some(run(experiment)),
    }
}

/// Likewise in pieces, by time and by events in turn, with growing lengths, and the rest at once.
fn run_in_pieces(experiment: &Experiment, events: u64) -> Option<Run> {
    let Some(length) = whole(experiment) else { return Some(run(experiment)) };
    let mut steps = Steps::of_length(experiment, length);
    for piece in 1..=PIECES {
        let until = steps.now().saturating_add(Span::from_us(piece));
        if !steps.until(until) || steps.finish_within(piece) {
            return Some(steps.close());
        }
    }
    steps.finish_within(events).then(|| steps.close())
}

/// The length of a run without warm-up and cool-down: guarantees hold in all of it.
fn whole(experiment: &Experiment) -> Option<RunLength> {
    match experiment.task {
        Task::Simulate(RunLength::Time { total, .. }) => {
            Some(RunLength::Time { total, warmup: Span::ZERO, cooldown: Span::ZERO })
        }
        Task::Simulate(RunLength::Packets { total, .. }) => {
            Some(RunLength::Packets { total, warmup: 0, cooldown: 0 })
        }
        Task::Fill(_) => None,
    }
}

/// The scenario in `text`, which may name the files of drawn ones; or the error message.
pub fn drawn(text: &str) -> Result<Scenario, String> {
    let path = Path::new("drawn.toml");
    let mut files = files();
    files.insert(path.to_path_buf(), text.as_bytes().to_vec());
    crate::read(path, &files).map_err(|errors| errors.render(false))
}

/// The experiment in `text`, or the error message.
pub(crate) fn experiment_of(text: &str) -> Result<Experiment, String> {
    let scenario = drawn(text)?;
    let point = scenario.points().next().expect("a file without a sweep has one point");
    Ok(scenario.experiment(&point))
}
