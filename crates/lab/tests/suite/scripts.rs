//! Scenario files read by the reader of the format together with the compiler of scripts.

mod names;
mod wrong;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use laxity_scenario::Scenario;
use laxity_scenario::diagnostic::Diagnostics;
use proptest::prelude::*;

/// A scenario that is right, for tests to make wrong.
const RIGHT: &str = include_str!("../../../scenario/src/tests/right.toml");

fn read(text: &str) -> Result<Scenario, Diagnostics> {
    laxity_lab::from_text("experiments/test.toml", text)
}

/// [`RIGHT`] and more.
fn and(more: &str) -> String {
    format!("{RIGHT}\n{more}")
}

#[test]
fn a_slip_is_shown_at_its_place() {
    let text = and("[[claim]]\nid = \"a\"\nsays = \"b\"\nholds = '''\nlet x = 1;\nx +* 2 > 1\n'''");
    let errors = read(&text).expect_err("that is no script").to_string();
    insta::assert_snapshot!("a_slip_is_shown_at_its_place", errors);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever becomes of a file, it is read or refused.
    #[test]
    fn garbled_files_do_no_harm(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..40, 0u8..4, any::<u8>(), any::<prop::sample::Index>()), 1..6),
    ) {
        let whole = and(
            "[[sweep]]\nname = \"load\"\nkey = \"channel.*.source.multiple\"\nvalues = [1, 2.5]\n\
             [[claim]]\nid = \"a\"\nsays = \"b\"\nholds = \"runs.len() == 2\"\n\
             [[figure]]\nx = \"load\"\ny = \"throughput\"\nwhere = { load = \"1\" }\n",
        );
        let mut bytes = whole.into_bytes();
        for (at, length, edit, byte, to) in edits {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            let end = (at + length).min(bytes.len());
            match edit {
                0 => drop(bytes.drain(at..end)),
                1 => bytes[at] = byte,
                2 => {
                    let piece = bytes[at..end].to_vec();
                    let to = to.index(bytes.len());
                    bytes.splice(to..to, piece);
                }
                _ => bytes[at] = b"0\"[]{}=.-\n'9"[usize::from(byte) % 12],
            }
        }
        let files = BTreeMap::from([(PathBuf::from("experiments/test.toml"), bytes)]);
        match laxity_lab::read(Path::new("experiments/test.toml"), &files) {
            Ok(scenario) => scenario.points().for_each(|point| drop(scenario.experiment(&point))),
            Err(errors) => prop_assert!(!errors.is_empty() && !errors.render(true).is_empty()),
        }
    }
}
