//! Scenarios whose runs once hung on how they were taken forward: at once, or in pieces.
//!
//! What a station has asked for before it is called without being asked for stands in the calendar, and what else falls on that instant must not come before it or
//! behind it for how it was called; and a run by packets that has no more to come is over, whoever waits for more.

use std::fs;
use std::path::Path;

use laxity_units::Span;
use laxity_world::Steps;

#[test]
fn a_run_in_pieces_is_the_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pieces");
    let mut files = 0;
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.unwrap().path();
        let scenario = laxity_lab::load(&path).unwrap_or_else(|errors| panic!("{errors}"));
        let experiment = scenario.first();
        let open = || Steps::open(&experiment).expect("it is a run");
        let mut whole = open();
        whole.finish();
        let whole = format!("{:#?}", whole.close());
        for longest in [1, 64] {
            let mut pieces = open();
            for piece in (1..=longest).cycle().take(400) {
                let until = pieces.now().saturating_add(Span::from_us(piece));
                if !pieces.until(until) || pieces.finish_within(piece) {
                    break;
                }
            }
            pieces.finish();
            assert_eq!(format!("{:#?}", pieces.close()), whole, "{}, {longest}", path.display());
        }
        files += 1;
    }
    assert!(files >= 4, "{files} files");
}
