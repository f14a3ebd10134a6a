//! `laxity admit --fix`: the least changes with which every channel is admitted.

use laxity_lab::fix::{self, Fix, FixProgress, Fixes, Turned};
use laxity_scenario::{Change, PointIndex, Scenario};
use laxity_world::experiment::Experiment;
use laxity_world::text::clean;
use serde_json::{Value, json};

use super::{Answer, View};
use crate::Exit;
use crate::arguments::Admit;
use crate::check::counted;
use crate::columns;
use crate::terminal::{Bar, Terminal};

pub(super) fn fix(scenario: &Scenario, arguments: &Admit, terminal: &mut Terminal) -> Exit {
    // Points with one answer need one change.
    let mut answers: Vec<(Answer, PointIndex, usize)> = Vec::new();
    for point in scenario.points() {
        let experiment: Experiment = scenario.experiment(&point);
        let view = View { terms: true, rooms: false, channel: None, hints: &[] };
        let answer = Answer::to(&experiment, &view);
        match answers.iter_mut().find(|(other, ..)| other.reads_as(&answer)) {
            Some((.., points)) => *points += 1,
            None => answers.push((answer, point, 1)),
        }
    }
    let several = answers.len() > 1;
    let (mut exit, mut all) = (Exit::Holds, Vec::new());
    for (_, point, points) in &answers {
        let title = match (several, points) {
            (false, _) => String::new(),
            (true, 1) => format!("at {}", clean(&scenario.describe(point))),
            (true, n) => {
                let more = counted(n - 1, "point");
                format!("at {} and at {more} more", clean(&scenario.describe(point)))
            }
        };
        let bar = Bar::new(&format!("{}: changes", clean(&scenario.name)));
        let mut observe = |FixProgress { done, total }: FixProgress| bar.reach(done as u64, total as u64);
        let fixes = fix::fix(scenario, point, arguments.threads, &mut observe);
        drop(bar);
        if fixes.lacking > 0 && fixes.fixes.is_empty() {
            exit = exit.max(Exit::Fails);
        }
        if arguments.json {
            all.push(as_json(&scenario.describe(point), &fixes));
            continue;
        }
        if several {
            terminal.line(&title);
        }
        show(&fixes, terminal);
    }
    if arguments.json {
        let text = serde_json::to_string_pretty(&json!({ "points": all })).expect("JSON is text");
        terminal.line(&text);
    }
    exit
}

fn show(fixes: &Fixes, terminal: &mut Terminal) {
    let channels = counted(fixes.asked, "channel");
    if fixes.lacking == 0 {
        terminal.line(&format!("nothing to change: {channels} with a guarantee, and none is refused"));
        return;
    }
    let verb = if fixes.lacking == 1 { "has" } else { "have" };
    let tried = match fixes.pairs {
        0 => counted(fixes.things, "change"),
        pairs => format!("{} and {}", counted(fixes.things, "change"), counted(pairs, "pair")),
    };
    terminal.line(&format!("{} of {channels} {verb} no bound; {tried} tried", fixes.lacking));
    if fixes.fixes.is_empty() {
        terminal.line("no change of one or two things admits every channel");
        if let Some((nearest, left)) = &fixes.nearest {
            let left = counted(*left, "channel");
            terminal.line(&format!("\nnearest: {left} without a bound are left with this change"));
            table(std::slice::from_ref(nearest), terminal);
        }
        return;
    }
    terminal.line(&format!("each of these changes admits {}\n", all(fixes.asked)));
    table(&fixes.fixes, terminal);
}

fn all(channels: usize) -> String {
    match channels {
        1 => "the channel".into(),
        channels => format!("all {channels} channels"),
    }
}

fn table(fixes: &[Fix], terminal: &mut Terminal) {
    let heading = ["change", "of", "now", "in the file"].map(String::from);
    let mut rows = vec![heading];
    for fix in fixes {
        for (n, thing) in fix.things.iter().enumerate() {
            let change = relative(thing);
            let change = if n == 0 { change } else { format!("and {change}") };
            let lines: Vec<String> = thing.changes.iter().map(line).collect();
            rows.push([change, clean(&thing.what), clean(&thing.now), clean(&lines.join("; "))]);
        }
    }
    for line in columns::lines(&rows, [false; 4]) {
        terminal.line(&format!("  {line}"));
    }
}

/// By how much a thing is changed: `+5.2 %`, or that it is a setting.
fn relative(thing: &Turned) -> String {
    let Some(factor) = thing.factor else { return "setting".into() };
    let percent = if thing.up { factor - 1.0 } else { 1.0 / factor - 1.0 } * 100.0;
    format!("{percent:+.1} %")
}

/// A change as a line of the file, behind the table that it belongs to: `[node.recorder.host] speedup = 1.5`.
fn line(change: &Change) -> String {
    let (table, key) = place(&change.key);
    format!("{table} {key} = {}", change.value)
}

/// The table of a key, as it stands in a file, and the key in that table.
fn place(key: &str) -> (String, String) {
    let parts: Vec<&str> = key.split('.').collect();
    let (last, tables) = parts.split_last().expect("a key has a part");
    if let [list @ ("channel" | "interface" | "program"), name, rest @ ..] = tables {
        let key = rest.iter().chain([last]).copied().collect::<Vec<_>>().join(".");
        return (format!("[[{list}]] {name}:"), key);
    }
    (format!("[{}]", tables.join(".")), (*last).to_string())
}

fn as_json(point: &str, fixes: &Fixes) -> Value {
    let fix = |fix: &Fix| {
        let thing = |thing: &Turned| {
            let change = |change: &Change| {
                let (table, key) = place(&change.key);
                json!({ "key": change.key, "value": change.value, "table": table, "line": format!("{key} = {}", change.value) })
            };
            json!({
                "what": thing.what, "now": thing.now, "then": thing.then, "factor": thing.factor,
                "changes": thing.changes.iter().map(change).collect::<Vec<_>>(),
            })
        };
        json!({
            "factor": fix.factor(), "wide": fix.wide,
            "things": fix.things.iter().map(thing).collect::<Vec<_>>(),
        })
    };
    let nearest = fixes.nearest.as_ref();
    json!({
        "point": point, "asked": fixes.asked, "lacking": fixes.lacking,
        "things": fixes.things, "pairs": fixes.pairs,
        "fixes": fixes.fixes.iter().map(fix).collect::<Vec<_>>(),
        "nearest": nearest.map(|(nearest, left)| json!({ "fix": fix(nearest), "left": left })),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_a_line_of_a_table() {
        for (key, value, expected) in [
            ("node.recorder.host.speedup", "1.5", "[node.recorder.host] speedup = 1.5"),
            ("channel.video.deadline", "\"35 ms\"", "[[channel]] video: deadline = \"35 ms\""),
            ("admission.test", "\"demand\"", "[admission] test = \"demand\""),
        ] {
            assert_eq!(line(&Change { key: key.into(), value: value.into() }), expected);
        }
    }
}
