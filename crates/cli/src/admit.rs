//! `laxity admit`: what each channel is promised, and what the promise is made of.

mod fix;

use std::fmt::Write;

use laxity_qos::admission::Test;
use laxity_qos::channel::Order;
use laxity_qos::traffic::TrafficSpec;
use laxity_units::Span;
use laxity_world::experiment::{Experiment, LocalDeadline, Refusal, Task};
use laxity_world::promise::{self, Advice, Fit, Hop, Promise, Room};
use laxity_world::text::clean;

use crate::Exit;
use crate::arguments::Admit;
use crate::terminal::Terminal;

pub(crate) fn admit(arguments: &Admit, terminal: &mut Terminal) -> Exit {
    let scenario = match laxity_lab::load(&arguments.file) {
        Ok(scenario) => scenario,
        Err(diagnostics) => {
            terminal.note(&diagnostics.render(terminal.error_colour()));
            return Exit::BadInput;
        }
    };
    if arguments.fix {
        return fix::fix(&scenario, arguments, terminal);
    }
    // Most sweeps vary what admission does not ask for; points with one answer share it.
    let mut answers: Vec<(Answer, Vec<String>)> = Vec::new();
    for point in scenario.points() {
        let answer = Answer::to(&scenario.experiment(&point));
        let words = scenario.describe(&point);
        match answers.iter_mut().find(|(other, _)| *other == answer) {
            Some((_, points)) => points.push(words),
            None => answers.push((answer, vec![words])),
        }
    }
    let several = answers.len() > 1;
    for (i, (answer, points)) in answers.iter().enumerate() {
        if several {
            let more = match points.len() {
                1 => String::new(),
                n => format!(" and at {} more", crate::check::counted(n - 1, "point")),
            };
            terminal.line(&format!("{}at {}{more}", if i == 0 { "" } else { "\n" }, clean(&points[0])));
        }
        terminal.print(&answer.text);
    }
    answers.iter().map(|(answer, _)| answer.exit).max().unwrap_or(Exit::Holds)
}

#[derive(PartialEq, Eq)]
struct Answer {
    text: String,
    exit: Exit,
}

impl Answer {
    fn to(experiment: &Experiment) -> Answer {
        let Some(formula) = experiment.admission.formula else {
            // Whoever asks for no deadline is content with that.
            let asked = experiment.channels.iter().any(|channel| channel.deadline.is_some());
            let exit = if asked { Exit::NotJudged } else { Exit::Holds };
            let text = "admission is off: every channel is taken, and nothing is promised";
            return Answer { exit, ..Answer::none(text) };
        };
        if let Task::Fill(_) = experiment.task {
            let text = "this scenario fills the host with copies of a channel: `laxity run` counts them";
            return Answer { exit: Exit::NotJudged, ..Answer::none(text) };
        }
        match promise::promises(experiment, formula) {
            Ok(promises) => Answer::from_promises(experiment, &promises),
            Err(uncovered) => {
                let text = format!("nothing can be promised: {}", uncovered.0);
                Answer { exit: Exit::NotJudged, ..Answer::none(&text) }
            }
        }
    }

    fn none(text: &str) -> Answer {
        Answer { text: format!("{text}\n"), exit: Exit::Holds }
    }

    fn from_promises(experiment: &Experiment, promises: &promise::Promises) -> Answer {
        let mut text = format!("by the {:?} formulas", promises.formula).to_lowercase();
        text += if by_demand(experiment) { " and the demand test\n" } else { "\n" };
        if !in_force(experiment) && experiment.interfaces.is_empty() && experiment.via.is_none() {
            text += "EDF goes by the requested deadlines here, and those are what is promised; each bound is what\n\
                     `local_deadline = \"bound\"` would promise instead\n";
        }
        let mut exit = Exit::Holds;
        let undelivered = promise::undelivered(experiment, promises.formula);
        let mut advice = Advice::of(experiment, promises.formula);
        for (i, (channel, answer)) in experiment.channels.iter().zip(&promises.channels).enumerate() {
            let name = clean(&channel.name);
            match answer {
                Promise::BestEffort => text += &format!("\nchannel {name}: best effort, promised nothing\n"),
                Promise::Refused(refusal) => {
                    exit = exit.max(refused(
                        &mut text,
                        experiment,
                        &mut advice,
                        i,
                        (&refusal.in_words(experiment), answer),
                    ));
                }
                Promise::Unreceived(refusal) => {
                    let reason = match refusal.whose == i {
                        true => refusal.missing.to_string(),
                        false => format!(
                            "with it the promise of {} would not hold: {}",
                            clean(&experiment.channels[refusal.whose].name),
                            refusal.missing
                        ),
                    };
                    exit = exit.max(refused(&mut text, experiment, &mut advice, i, (&reason, answer)));
                }
                Promise::Unconnected(reason) => {
                    exit = exit.max(refused(&mut text, experiment, &mut advice, i, (reason, answer)));
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
                    text += &format!("\nchannel {name}: nothing can be promised: {}\n", why.0);
                    at_hosts(&mut text, experiment, hops, true);
                }
                Promise::Admitted(hops) => {
                    text += &format!("\nchannel {name}: admitted\n");
                    if let [_, _, ..] = hops[..] {
                        along_the_way(&mut text, experiment, answer, hops);
                    }
                    if let (None, Some(why)) = (answer.delivery_bound(), undelivered[i]) {
                        text += &format!(
                            "  to the last transmission, and not to the receiving host: {}\n",
                            why.0
                        );
                    }
                    at_hosts(&mut text, experiment, hops, hops.len() > 1);
                }
            }
        }
        Answer { text, exit }
    }
}

/// Why channel `i` is refused, and what would fit.
fn refused(
    text: &mut String,
    experiment: &Experiment,
    advice: &mut Advice<'_>,
    i: usize,
    (reason, answer): (&str, &Promise),
) -> Exit {
    let channel = &experiment.channels[i];
    *text += &format!("\nchannel {}: refused\n  {reason}\n", clean(&channel.name));
    let Fit { shortfall, interval, room } = advice.fit(i, answer);
    if !room.is_empty() {
        let least = |Room { key, has, least }: &Room| format!("`{key} = {least}`, which is {has}");
        let all: Vec<String> = room.iter().map(least).collect();
        *text += &format!("  with {} it would be admitted\n", all.join(", and "));
    }
    let no_room = answer.lacks_room();
    match shortfall.admissible {
        Some(least) => *text += &format!("  a deadline of {least} would be admitted\n"),
        // Buffers are for a contract and not for a deadline.
        None if no_room => {}
        None if channel.deadline.is_none() => {}
        None => {
            *text += &format!(
                "  no deadline, however long, would be admitted beside the others (its interval is {})\n",
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
                "with as long a deadline"
            };
            *text +=
                &format!("  a message each {} would be admitted {due}, {rate}\n", in_microseconds(least));
        }
        None if no_room => {}
        None => *text += "  at no rate, however small, would it be admitted beside the others\n",
    }
    if let Some(largest) = shortfall.largest {
        term(text, 2, largest.cost, &format!("{}, the most of it", largest.name));
    }
    match channel.refusal {
        Refusal::Expected => {
            *text += "  as expected: `refusal = \"expected\"`\n";
            Exit::Holds
        }
        Refusal::Fails => Exit::Fails,
    }
}

/// The bound from end to end, host by host.
fn along_the_way(text: &mut String, experiment: &Experiment, promise: &Promise, hops: &[Hop]) {
    let ends = [("delivered", promise.delivery_bound()), ("through the last link", promise.bound())];
    for (end, bound) in ends {
        if let Some(bound) = bound {
            term(text, 2, bound, &format!("bound until a message is {end}"));
        }
    }
    let last = hops.len() - 1;
    for (i, hop) in hops.iter().enumerate() {
        let (cost, what) = match i == last {
            true => (hop.kept, "bound"),
            false => (hop.local_deadline, "local deadline"),
        };
        term(text, 4, cost, &format!("{what} at {}", place(experiment, hops, i)));
        if !hop.way.is_zero() {
            term(text, 4, hop.way, "longest way to the next");
        }
    }
}

/// Where one of the `hops` of a channel is, and the how-manyth time if it has been there before.
fn place(experiment: &Experiment, hops: &[Hop], i: usize) -> String {
    let place = experiment.place(hops[i].node);
    match hops[..i].iter().filter(|before| before.node == hops[i].node).count() {
        0 => place,
        before => format!("{place}, time {}", before + 1),
    }
}

/// What each host promises, by its name if they are several.
fn at_hosts(text: &mut String, experiment: &Experiment, hops: &[Hop], several: bool) {
    for (i, hop) in hops.iter().enumerate() {
        let place = if several { format!(" at {}", place(experiment, hops, i)) } else { String::new() };
        at_host(text, experiment, hop, &place);
    }
}

/// What one host promises: the printed parts add up line by line, each sum first, what it is made of below it.
fn at_host(text: &mut String, experiment: &Experiment, hop: &Hop, place: &str) {
    let Hop { bound, wait, service, .. } = hop;
    let level = bound.level.map_or_else(String::new, |level| format!(", on level {level}"));
    term(text, 2, bound.bound, &format!("bound{place}, of a deadline of {}{level}", bound.deadline));
    let others =
        if by_demand(experiment) { "other messages due before it" } else { "messages of channels above" };
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
    let packets = if hop.backlog == 1 { "packet" } else { "packets" };
    writeln!(text, "    {:>14}  {packets} of it there at a time, at most", hop.backlog)
        .expect("text takes text");
    if let Some(frames) = hop.frames {
        let what = if frames == 1 { "frame" } else { "frames" };
        writeln!(text, "    {frames:>14}  {what} of all that come in in its adapter at a time, at most")
            .expect("text takes text");
    }
    if !bound.head_start.is_zero() {
        term(text, 4, bound.head_start, "less, for what was over when it came");
    }
}

/// Whether the demand test admitted, so that the bounds are those of EDF by the requested deadlines.
fn by_demand(experiment: &Experiment) -> bool {
    let admission = &experiment.admission;
    admission.formula.is_some_and(|formula| admission.test_with(formula) == Test::Demand)
}

/// Whether the order of service is the one that the bounds are proved for. EDF by the requested deadlines keeps
/// those and may let a message take all of its deadline.
fn in_force(experiment: &Experiment) -> bool {
    experiment.host(0).subsystem.order == Order::FixedPriority
        || experiment.admission.local_deadline == LocalDeadline::Bound
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
