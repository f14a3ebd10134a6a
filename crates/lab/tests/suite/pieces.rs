//! Scenarios whose runs once depended on how they were advanced: at once, or in pieces.
//!
//! The calendar holds the calls that a station has requested. Another event of the same instant
//! must keep its order relative to them, whether or not the station was called without a request
//! before. A run by packets ends when no packet remains, whatever still waits for one.

use std::fs;
use std::path::Path;

use laxity_lab::property::{Checked, Property};

#[test]
fn a_run_in_pieces_is_the_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pieces");
    let in_pieces_too = Property { twice: true, ..Property::default() };
    let mut files = 0;
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.unwrap().path();
        let verdict = in_pieces_too.check(&fs::read_to_string(&path).expect("it is text"));
        assert!(matches!(verdict, Checked::Kept(_)), "{}: {verdict:?}", path.display());
        files += 1;
    }
    assert!(files >= 4, "{files} files");
}
