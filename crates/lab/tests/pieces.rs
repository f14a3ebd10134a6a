//! Scenarios whose runs once hung on how they were taken forward: at once, or in pieces.
//!
//! What a station has asked for before it is called without being asked for stands in the calendar, and what else falls on that instant must not come before it or
//! behind it for how it was called; and a run by packets that has no more to come is over, whoever waits for more.

use std::fs;
use std::path::Path;

use laxity_lab::property::{Property, Verdict};

#[test]
fn a_run_in_pieces_is_the_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pieces");
    let in_pieces_too = Property { twice: true, ..Property::default() };
    let mut files = 0;
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.unwrap().path();
        let verdict = in_pieces_too.check(&fs::read_to_string(&path).expect("it is text"));
        assert!(matches!(verdict, Verdict::Kept(_)), "{}: {verdict:?}", path.display());
        files += 1;
    }
    assert!(files >= 4, "{files} files");
}
