//! Edits: where they take effect, and where their errors are shown.

use laxity_units::Span;

use super::*;

const SWEPT: &str = "[[sweep]]\nname = \"speed\"\nkey = \"host.speedup\"\nvalues = [1.0, 2.0]\n";

fn change(key: &str, value: &str) -> Change {
    Change { key: key.into(), value: value.into() }
}

fn edited(text: &str, sweep: &str, changes: &[(&str, &str)]) -> Result<Scenario, Diagnostics> {
    let mut edits = Edits { sweep: sweep.into(), ..Edits::default() };
    changes.iter().for_each(|(key, value)| edits.set(change(key, value)));
    Scenario::edited(Path::new("experiments/test.toml"), &memory(text), &Unread, &edits)
}

#[track_caller]
fn refused(text: &str, sweep: &str, changes: &[(&str, &str)]) -> String {
    edited(text, sweep, changes).expect_err("it is wrong").to_string()
}

fn deadlines(scenario: &Scenario) -> Vec<Option<Span>> {
    scenario.points().map(|point| scenario.experiment(&point).channels[0].deadline).collect()
}

/// The name of the first channel of [`RIGHT`].
fn first() -> String {
    right(RIGHT).first().channels[0].name.clone()
}

#[test]
fn a_changed_value_holds_at_every_point() {
    let key = format!("channel.{}.deadline", first());
    let plain = right(&and(SWEPT));
    let scenario =
        edited(&and(SWEPT), "", &[(&key, "\"50 ms\""), (&key, "\"44 ms\""), ("seed", "9")]).unwrap();
    assert_eq!(deadlines(&scenario), [Some(Span::from_ms(44)); 2]);
    assert_eq!((scenario.seed, scenario.first().seed), (9, 9));
    assert_ne!(scenario.hash, plain.hash);
    assert_eq!(scenario.axes, plain.axes);
    let again = scenario.changed(&PointIndex::at(&[1]), &[change(&key, "\"45 ms\"")]).unwrap();
    assert_eq!(again.channels[0].deadline, Some(Span::from_ms(45)));
}

#[test]
fn an_edited_sweep_is_the_sweep_of_the_file() {
    let axis = format!(
        "[[sweep]]\nname = \"d\"\nkey = \"channel.{}.deadline\"\nvalues = [\"44 ms\", \"45 ms\"]",
        first()
    );
    let written = right(&format!("{}{axis}\n", and(SWEPT)));
    let laid = edited(&and(SWEPT), &axis, &[]).unwrap();
    assert_eq!(laid.axes, written.axes);
    assert_eq!(deadlines(&laid), deadlines(&written));
    assert_eq!(edited(RIGHT, SWEPT, &[]).unwrap().axes, right(&and(SWEPT)).axes);
    let texts =
        |scenario: Scenario| scenario.axes[0].points.iter().map(|p| p.text.clone()).collect::<Vec<_>>();
    assert_eq!(texts(edited(RIGHT, SWEPT, &[]).unwrap()), ["1.0", "2.0"]);
}

#[test]
fn errors_are_shown_in_the_edits() {
    let key = format!("channel.{}.deadline", first());
    let unit = refused(RIGHT, "", &[("host.speedup", "2.0"), (&key, "\"5 parsec\"")]);
    assert!(unit.contains("settings:2:") && unit.contains("5 parsec"), "{unit}");
    let unknown = refused(RIGHT, "", &[("host.sped", "2.0")]);
    assert!(unknown.contains("settings:1:1") && unknown.contains("speedup"), "{unknown}");
    let value = refused(RIGHT, "", &[("host.speedup", "2.0 2")]);
    assert!(value.contains("settings:1:16") && value.contains("not a value"), "{value}");
    let axis = refused(RIGHT, "[[sweep]]\nname = \"s\"\nkey = \"host.sped\"\nvalues = [1.0]", &[]);
    assert!(axis.contains("settings:3:7"), "{axis}");
    let other = refused(RIGHT, "title = \"x\"", &[]);
    assert!(other.contains("settings:1:1") && other.contains("no axis"), "{other}");
    let twice = refused(&and(SWEPT), "", &[("host.speedup", "2.0")]);
    assert!(twice.contains("an axis of the sweep sets `host.speedup` too"), "{twice}");
    assert!(twice.contains("test.toml"), "{twice}");
}
