//! The README's statements about its own example.

use laxity_lab::campaign::{self, RunOptions};
use laxity_world::results::{Ruling, Run};

const README: &str = include_str!("../../../../README.md");

/// `camera.toml` as the README has it, but for what `changed` replaces.
fn camera(changed: &[(&str, &str)]) -> (Ruling, Run) {
    let start =
        README.find("```toml\ntitle = \"A camera").expect("the README has a camera") + "```toml\n".len();
    let length = README[start..].find("```").expect("the block ends");
    let mut text = README[start..start + length].to_string();
    for (old, new) in changed {
        assert!(text.contains(old), "the camera has no `{old}`");
        text = text.replacen(old, new, 1);
    }
    let scenario = laxity_lab::from_text("camera.toml", text).unwrap_or_else(|errors| panic!("{errors}"));
    let mut outcome = campaign::run(&scenario, &RunOptions::default(), &mut |_| {}).unwrap();
    assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
    (outcome.verdicts.remove(0).ruling, outcome.results.runs.remove(0))
}

#[test]
fn the_camera_is_on_time() {
    let (ruling, run) = camera(&[]);
    assert_eq!(ruling, Ruling::Holds);
    assert_eq!(run.channels[0].on_time, Some(1.0));
}

#[test]
fn a_camera_of_whose_frames_a_tenth_is_dropped_is_not() {
    let (ruling, run) = camera(&[("{ kind = \"periodic\" }", "{ kind = \"periodic\", multiple = 1.1 }")]);
    let camera = &run.channels[0];
    assert_eq!(ruling, Ruling::Contradicted, "{camera:?}");
    assert!(camera.missed_messages == 0 && camera.drops["message_queue"] > 20, "{camera:?}");
}

#[test]
fn every_column_of_a_row_counts_the_same_window() {
    let size = 16.0 * 1024.0;
    for (multiple, messages) in [("1", 225), ("1.1", 247)] {
        let source = format!("{{ kind = \"periodic\", multiple = {multiple} }}");
        let (_, run) = camera(&[("{ kind = \"periodic\" }", &source)]);
        let camera = &run.channels[0];
        // Of ten seconds the first is left out.
        assert!(camera.messages.abs_diff(messages) <= 1, "{multiple}: {camera:?}");
        assert!((camera.offered * run.window - camera.messages as f64 * size).abs() < 1.0);
        assert!((camera.throughput * run.window - camera.packets as f64 * 4096.0).abs() < 1.0, "{camera:?}");
        let drops: u64 = camera.drops.values().sum();
        // Messages in transit at an edge, two at most, left in another second.
        assert!(camera.messages.abs_diff(camera.completed + drops) <= 2, "{camera:?}");
        assert_eq!(camera.latency.as_ref().map(|latency| latency.count), Some(camera.completed));
        assert_eq!(camera.late_outside, 0);
    }
}

#[test]
fn what_is_late_outside_the_window_is_told_beside_it() {
    let script = "source = { kind = \"script\", messages = [{ at = \"500 ms\", size = \"16 KiB\" }] }";
    let (_, run) = camera(&[
        ("source = { kind = \"periodic\" }", script),
        ("deadline = \"30 ms\"", "deadline = \"1 ms\""),
        ("[run]", "[admission]\nformula = \"off\"\n[run]"),
    ]);
    let camera = &run.channels[0];
    assert_eq!((camera.messages, camera.missed_messages, camera.on_time), (0, 0, None), "{camera:?}");
    assert!(camera.late_outside == 1 && camera.worst > camera.deadline, "{camera:?}");
}
