//! `laxity admit`: what each channel is promised, and what the promise is made of.

mod applications;
mod exchanges;
mod fix;
mod json;
mod nodes;
mod rooms;
mod rows;

use std::fmt::Write;
use std::ops::Range;

use laxity_admission::Test;
use laxity_lab::answer::place;
use laxity_lab::fix::Setting;
use laxity_qos::channel::Order;
use laxity_qos::traffic::TrafficSpec;
use laxity_scenario::PointIndex;
use laxity_units::Span;
use laxity_world::experiment::{Experiment, RefusalEffect, Task};
use laxity_world::promise::{self, Advice, Fit, Hop, Promise, ReceptionRoom, Room, Uncovered};
use laxity_world::text::clean;
use serde_json::Value;

use crate::arguments::Admit;
use crate::terminal::Terminal;
use crate::{Exit, files};

pub(crate) fn admit(arguments: &Admit, terminal: &mut Terminal) -> Exit {
    let scenario = match files::load(&arguments.file, &arguments.settings) {
        Ok(scenario) => scenario,
        Err(diagnostics) => {
            terminal.note(&diagnostics.render(terminal.error_colour()));
            return Exit::BadInput;
        }
    };
    if arguments.fix {
        return fix::fix(&scenario, arguments, terminal);
    }
    let (terms, rooms) = (arguments.terms, arguments.rooms);
    let view = View { terms, rooms, channel: arguments.channel.as_deref(), hints: &[] };
    let first = scenario.first();
    if let Some(name) =
        view.channel.filter(|_| !first.channels.iter().any(|channel| view.shows(&channel.name)))
    {
        terminal.error(&format!("there is no channel called `{}`", clean(name)));
        return Exit::BadInput;
    }
    // Most sweeps vary what admission does not ask for; points with one answer share it.
    let mut answers: Vec<(Answer, Vec<PointIndex>)> = Vec::new();
    for point in scenario.points() {
        let answer = Answer::to(&scenario.experiment(&point), &view);
        match answers.iter_mut().find(|(other, _)| other.reads_as(&answer)) {
            Some((_, points)) => points.push(point),
            None => answers.push((answer, vec![point])),
        }
    }
    let exit = answers.iter().map(|(answer, _)| answer.exit).max().unwrap_or(Exit::Holds);
    if arguments.json {
        terminal.line(&json::points(&scenario, &answers, &view));
        return exit;
    }
    let several = answers.len() > 1;
    for (i, (answer, points)) in answers.into_iter().enumerate() {
        if several {
            let words = clean(&scenario.describe(&points[0]));
            let more = match points.len() {
                1 => String::new(),
                n => format!(" and at {} more", crate::check::counted(n - 1, "point")),
            };
            terminal.line(&format!("{}at {words}{more}", if i == 0 { "" } else { "\n" }));
        }
        // Settings are tried once for each answer with a refusal.
        let text = match answer.exit {
            Exit::Fails if scenario.first().signalling().is_none() => {
                let hints = laxity_lab::fix::settings(&scenario, &points[0], None);
                Answer::to(&scenario.experiment(&points[0]), &View { hints: &hints, ..view }).text
            }
            _ => answer.text,
        };
        terminal.print(&text);
    }
    exit
}

/// The part of an answer that is shown.
#[derive(Clone, Copy)]
struct View<'a> {
    /// Whether the terms of each bound are shown.
    terms: bool,
    /// Whether the room that channels need is shown.
    rooms: bool,
    /// Only this channel, or its copies.
    channel: Option<&'a str>,
    /// Settings that are proposed for a refused channel.
    hints: &'a [Setting],
}

impl View<'_> {
    fn shows(&self, name: &str) -> bool {
        let copy = |wanted: &str| name.strip_prefix(wanted)?.strip_prefix('-')?.parse::<u32>().ok();
        self.channel.is_none_or(|wanted| wanted == name || copy(wanted).is_some())
    }
}

struct Answer {
    text: String,
    exit: Exit,
    /// The answers of nodes with signalling, which a run gave.
    of_nodes: Option<Value>,
}

impl Answer {
    fn reads_as(&self, other: &Answer) -> bool {
        self.text == other.text && self.exit == other.exit
    }

    fn to(experiment: &Experiment, view: &View<'_>) -> Answer {
        if let Some(answer) = nodes::answer(experiment, view) {
            return answer;
        }
        let Some(formula) = experiment.admission.formula else {
            // A file without deadlines asks for no bound, so a missing bound is fine.
            let asked = experiment.channels.iter().any(|channel| experiment.asks_for_bound(channel));
            let exit = if asked { Exit::NotJudged } else { Exit::Holds };
            let text = "admission is off: every channel is taken, and nothing is promised";
            return Answer { exit, ..Answer::none(text) };
        };
        if let Task::Fill(_) = experiment.task {
            let text = "this scenario fills the host with copies of a channel: `laxity run` counts them";
            return Answer { exit: Exit::NotJudged, ..Answer::none(text) };
        }
        match promise::promises(experiment, formula) {
            Ok(promises) => Answer::from_promises(experiment, &promises, view),
            Err(uncovered) => {
                let text = format!("nothing can be promised: {}", in_words(uncovered));
                let exit = match uncovered {
                    // A refusal of budgets, which leaves channels without an answer.
                    Uncovered::Budgets => refused_budgets(experiment).max(Exit::NotJudged),
                    _ => Exit::NotJudged,
                };
                Answer { exit, ..Answer::none(&text) }
            }
        }
    }

    fn none(text: &str) -> Answer {
        Answer { text: format!("{text}\n"), exit: Exit::Holds, of_nodes: None }
    }

    fn from_promises(experiment: &Experiment, promises: &promise::Promises, view: &View<'_>) -> Answer {
        let mut text = rows::table(experiment, promises, view);
        text += &applications::table(experiment, promises);
        text += &exchanges::table(experiment, promises);
        if view.rooms {
            text += &rooms::table(experiment, promises);
        }
        text += &format!("\nby the {:?} formulas", promises.formula).to_lowercase();
        text += if by_demand(experiment) { " and the demand test\n" } else { "\n" };
        if experiment.schedules() && !in_force(experiment) {
            text += "EDF goes by the requested deadlines here, and those are what is promised; each bound is what\n\
                     `local_deadline = \"bound\"` would promise instead\n";
        }
        let mut exit = Exit::Holds;
        for (place, why) in applications::without_bound(experiment, promises) {
            exit = exit.max(match why {
                Uncovered::Budgets => refused_budgets(experiment),
                _ => Exit::NotJudged,
            });
            text += &format!("\n{place}: {}\n", in_words(why));
        }
        let undelivered = promise::undelivered(experiment, promises.formula);
        let mut advice = Advice::of(experiment, promises.formula);
        let each = experiment.channels.iter().zip(&promises.channels);
        let lacking =
            each.filter(|(channel, promise)| view.shows(&channel.name) && promise.is_refused()).count();
        for (i, (channel, answer)) in experiment.channels.iter().zip(&promises.channels).enumerate() {
            let name = clean(&channel.name);
            if !view.shows(&channel.name) {
                continue;
            }
            if ends_early(answer, undelivered[i]).is_some() {
                exit = exit.max(Exit::NotJudged);
            }
            let brief = matches!(answer, Promise::Connected(_) | Promise::Received(_) | Promise::Admitted(_));
            if brief && !view.terms {
                let above = if text.ends_with(": admitted\n") { "" } else { "\n" };
                text += &format!("{above}channel {name}: admitted\n");
                if let Promise::Admitted(_) = answer {
                    text += &to_the_last_transmission(answer, undelivered[i]);
                }
                continue;
            }
            match answer {
                Promise::BestEffort => text += &format!("\nchannel {name}: best effort, promised nothing\n"),
                Promise::Refused(_)
                | Promise::Unreceived(_)
                | Promise::Unconnected(_)
                | Promise::Unkept(_) => {
                    exit = exit.max(refused(&mut text, (experiment, view), &mut advice, i, answer));
                }
                Promise::Likely(share) => {
                    text += &format!(
                        "\nchannel {name}: admitted\n  at most {share:.2e} of its messages are late\n"
                    );
                }
                Promise::Connected(connection) => {
                    text += &format!("\nchannel {name}: admitted\n");
                    term(
                        &mut text,
                        2,
                        connection.longest,
                        "bound from its logical arrival to the receiving program",
                    );
                    term(&mut text, 2, connection.shortest, "the shortest");
                    let fraction = connection.jitter_fraction;
                    text +=
                        &format!("  jitter fraction at most {fraction:.3}, sent at the rate that it has\n");
                }
                Promise::Received(received) => {
                    text += &format!("\nchannel {name}: admitted\n");
                    let deadline = channel.deadline.unwrap_or(received.bound);
                    let what = format!("bound from arrival to its program, of a deadline of {deadline}");
                    term(&mut text, 2, received.bound, &what);
                    for part in &received.terms {
                        term(&mut text, 4, part.cost, part.name);
                    }
                }
                Promise::Unbounded(why, hops) => {
                    exit = exit.max(Exit::NotJudged);
                    text += &format!("\nchannel {name}: nothing can be promised: {}\n", in_words(*why));
                    at_hosts(&mut text, experiment, hops, true);
                }
                Promise::Admitted(hops) => {
                    text += &format!("\nchannel {name}: admitted\n");
                    if let [_, _, ..] = hops[..] {
                        along_the_way(&mut text, experiment, answer, hops);
                    }
                    text += &to_the_last_transmission(answer, undelivered[i]);
                    at_hosts(&mut text, experiment, hops, hops.len() > 1);
                }
            }
        }
        if lacking > 1 {
            text += "\nThe advice for a channel assumes the admitted channels, and no other refused one. `laxity admit\n\
                     --fix` looks for a change that admits all.\n";
        }
        Answer { text, exit, of_nodes: None }
    }
}

/// The meaning for the exit code of budgets that a CPU cannot keep.
fn refused_budgets(experiment: &Experiment) -> Exit {
    match experiment.admission.refusal {
        RefusalEffect::Expected => Exit::Holds,
        RefusalEffect::Fails => Exit::Fails,
    }
}

/// Why an admitted channel has no bound on its delivery, which is what its deadline is for.
fn ends_early(answer: &Promise, undelivered: Option<Uncovered>) -> Option<Uncovered> {
    undelivered.filter(|_| matches!(answer, Promise::Admitted(_)) && answer.delivery_bound().is_none())
}

/// A line on a channel whose bound ends early.
fn to_the_last_transmission(answer: &Promise, undelivered: Option<Uncovered>) -> String {
    let line = |why| format!("  to the last transmission, and not to the receiving host: {why}\n");
    ends_early(answer, undelivered).map(line).unwrap_or_default()
}

/// The reason, and the key to read about.
fn in_words(why: Uncovered) -> String {
    format!("{why} (`laxity explain {}`)", why.key())
}

/// Why channel `i` is refused, and what would fit.
fn refused(
    text: &mut String,
    (experiment, view): (&Experiment, &View<'_>),
    advice: &mut Advice<'_>,
    i: usize,
    answer: &Promise,
) -> Exit {
    let channel = &experiment.channels[i];
    let reason = clean(&answer.refusal(experiment, i).unwrap_or_default());
    *text += &format!("\nchannel {}: refused\n  {reason}\n", clean(&channel.name));
    let Fit { shortfall, interval, room, untried, unanalysed } = advice.fit(i, answer);
    if !room.is_empty() {
        let least = |Room { key, has, least }: &Room| format!("`{key} = {least}` in place of {has}");
        let all: Vec<String> = room.iter().map(least).collect();
        *text += &format!("  with {} it would be admitted\n", all.join(", and "));
    }
    // Buffers are for a contract, and another deadline or rate keeps no request beside the deadline.
    let other_reason = answer.lacks_room() || answer.is_unkept();
    match shortfall.proposal(channel) {
        Some(proposal) => {
            let follows = channel.by_contract.messages && channel.by_contract.beyond;
            let default = if follows { ", which is the default with that deadline" } else { "" };
            let message = shortfall.slots.map(|slots| format!("`message_slots = {slots}`{default}"));
            let packet = shortfall.packet_slots.map(|slots| format!("`packet_slots = {slots}`"));
            let slots: Vec<String> = message.into_iter().chain(packet).collect();
            let slots =
                if slots.is_empty() { String::new() } else { format!(", with {}", slots.join(", and ")) };
            *text += &format!("  {proposal} would be admitted{slots}\n");
        }
        None if other_reason || channel.deadline.is_none() => {}
        None if untried => *text += "  not all deadlines and rates were tried: many channels are refused\n",
        None if is_limited(experiment, advice, answer) => {
            *text += &format!(
                "  no deadline up to its interval, {}, was found that would be admitted beside the others, and the test in use \
                 covers no longer one\n",
                channel.spec.min_interval
            );
        }
        None => {
            *text += &format!(
                "  no deadline was found that would be admitted beside the others (its interval is {})\n",
                channel.spec.min_interval
            );
        }
    }
    match interval {
        Some((least, deadline)) => {
            let rate = TrafficSpec { min_interval: least, ..channel.spec }.rate();
            let due = if deadline == channel.deadline {
                "with the deadline that it asks for"
            } else {
                "with a deadline of the same length"
            };
            *text += &format!("  a message each {least} would be admitted {due}, {rate}\n");
        }
        None if other_reason || untried => {}
        None => *text += "  no rate was found at which it would be admitted beside the others\n",
    }
    if let Some(why) = unanalysed {
        *text += &format!("  where no station refuses it, it has no bound: {}\n", in_words(why));
    }
    if let Some(largest) = shortfall.largest {
        let at = shortfall.station.map_or_else(String::new, |at| format!(" at {}", experiment.place(at)));
        term(text, 2, largest.cost, &format!("{}, the most of it{at}", largest.name));
    }
    if let Some(hint) = hint(view.hints, experiment.multicast(i)) {
        *text += &format!("  with {hint} it would be admitted\n");
    }
    match channel.refusal {
        RefusalEffect::Expected => {
            *text += "  as expected: `refusal = \"expected\"`\n";
            Exit::Holds
        }
        RefusalEffect::Fails => Exit::Fails,
    }
}

/// Whether the station that refuses admits by a test that knows no deadline beyond the interval.
fn is_limited(experiment: &Experiment, advice: &mut Advice<'_>, answer: &Promise) -> bool {
    let Promise::Refused(refused) = answer else { return false };
    experiment.schedules() && advice.test(refused.node) == Some(Test::DOrder)
}

/// The first setting with which all of `channels` would have a bound, and no other channel would lose one, as
/// the file would say it.
fn hint(hints: &[Setting], channels: Range<usize>) -> Option<String> {
    let admits = |setting: &&Setting| {
        let bounded = |i: usize| setting.bounded.get(i) == Some(&true);
        channels.clone().all(bounded) && !setting.loses
    };
    let setting = hints.iter().find(admits)?;
    let lines = setting.thing.changes.iter().map(|change| format!("`{} = {}`", change.key, change.value));
    Some(clean(&lines.collect::<Vec<_>>().join(" and ")))
}

/// The bound from end to end, host by host.
fn along_the_way(text: &mut String, experiment: &Experiment, promise: &Promise, hops: &[Hop]) {
    let ends = [("delivered", promise.delivery_bound()), ("through the last link", promise.bound())];
    for (end, bound) in ends {
        if let Some(bound) = bound {
            term(text, 2, bound, &format!("delay bound until a message is {end}"));
        }
    }
    for (i, hop) in hops.iter().enumerate() {
        let order = match hop.local_deadline == hop.kept {
            true => String::new(),
            false => format!(" (it orders by a local deadline of {})", hop.local_deadline),
        };
        term(text, 4, hop.kept, &format!("bound at {}{order}", place(experiment, hops, i)));
        if !hop.way.is_zero() {
            term(text, 4, hop.way, "propagation and latency to the next station, at most");
        }
    }
}

/// The promise of each host, by its name if they are several.
fn at_hosts(text: &mut String, experiment: &Experiment, hops: &[Hop], several: bool) {
    for (i, hop) in hops.iter().enumerate() {
        let place = if several { format!(" at {}", place(experiment, hops, i)) } else { String::new() };
        at_host(text, experiment, hop, &place);
    }
}

/// The promise of one host. The printed parts add up line by line: each sum first, its parts below.
fn at_host(text: &mut String, experiment: &Experiment, hop: &Hop, place: &str) {
    let Hop { bound, wait, service, .. } = hop;
    if let Some(room) = hop.room {
        return at_interface(text, hop, room, place);
    }
    let level = bound.level.map_or_else(String::new, |level| format!(", on level {level}"));
    term(text, 2, bound.bound, &format!("bound{place}, of a deadline of {}{level}", bound.deadline));
    let others = match by_demand(experiment) && bound.level.is_none() {
        true => "other messages due before it",
        false => "messages of channels above",
    };
    for (sum, what, parts) in [
        (bound.wait, "waiting for what is below", wait.terms()),
        (bound.service, "the message itself", service.terms()),
        (bound.higher, others, &[]),
        (bound.interference, "work above all handlers", &[]),
    ] {
        if !sum.is_zero() {
            term(text, 4, sum, what);
        }
        for part in parts {
            term(text, 6, part.cost, part.name);
        }
    }
    let at_a_time = "of the channel at the station at a time";
    match hop.backlog_bound() {
        Some(1) => writeln!(text, "    {:>14}  packet {at_a_time}, at most", 1),
        Some(backlog) => writeln!(text, "    {backlog:>14}  packets {at_a_time}, at most"),
        None => writeln!(text, "    {:>14}  on the packets {at_a_time}", "no bound"),
    }
    .expect("text takes text");
    if let Some(frames) = hop.frames {
        let what = if frames == 1 { "frame" } else { "frames" };
        writeln!(text, "    {frames:>14}  incoming {what} of all channels in its adapter at a time, at most")
            .expect("text takes text");
    }
    if !bound.head_start.is_zero() {
        term(text, 4, bound.head_start, "less, for what was over when it came");
    }
}

/// The promise of a host that receives at an interface.
fn at_interface(text: &mut String, hop: &Hop, room: ReceptionRoom, place: &str) {
    let Hop { bound, wait, service, .. } = hop;
    let what =
        format!("bound{place}, from its interface to its program, of a deadline of {}", bound.deadline);
    term(text, 2, bound.bound, &what);
    for part in wait.terms().iter().chain(service.terms()) {
        term(text, 4, part.cost, part.name);
    }
    let mut count = |number: u64, what: &str| {
        writeln!(text, "    {number:>14}  {what}").expect("text takes text");
    };
    let packets = if hop.backlog == 1 { "packet" } else { "packets" };
    count(hop.backlog, &format!("{packets} of the channel there at a time, at most"));
    count(room.slots, "slots for real time that its interface needs");
    if let Some(buffers) = room.buffers {
        count(buffers, "receive buffers for real time that its interface needs");
    }
}

/// Whether the demand test admitted where EDF decides, so that the bounds are those of EDF by the
/// requested deadlines.
fn by_demand(experiment: &Experiment) -> bool {
    let admission = &experiment.admission;
    admission.formula.is_some_and(|formula| admission.test_with(formula) == Test::Demand)
}

/// Whether the order of service is the one that the bounds are proved for. EDF by the requested
/// deadlines keeps those and may let a message take all of its deadline.
fn in_force(experiment: &Experiment) -> bool {
    experiment.host(0).subsystem.order == Order::FixedPriority
        || experiment.admission.orders_by_bounds()
        || by_demand(experiment)
}

fn term(text: &mut String, indent: usize, cost: Span, what: &str) {
    let cost = in_microseconds(cost);
    writeln!(text, "{:indent$}{cost:>14}  {what}", "").expect("text takes text");
}

/// One unit for all, so that a column can be added up by eye; rounded up, as bounds are.
fn in_microseconds(cost: Span) -> String {
    let tenths = cost.as_ps().div_ceil(100_000);
    format!("{}.{} us", tenths / 10, tenths % 10)
}
