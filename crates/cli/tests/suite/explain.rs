//! `laxity explain`, and the reference of the format: what they print, and that its examples run.

use std::fs;
use std::path::Path;

use crate::common::Here;

#[test]
fn a_key_is_explained_with_unit_range_default_and_example() {
    let here = Here::new("explain-key");
    for (word, says) in [
        ("channel.min_interval", &["a time with its unit", "1 ns to 1 h", "min_interval = \"40 ms\""][..]),
        ("host.cores", &["a whole number", "1 to 64", "default  1"]),
        ("host.poll", &["host.costs.poll"]),
        ("node.camera.host.speedup", &["host.speedup", "above 0, to 1000000"]),
        ("adapter.stage.phase", &["adapter.receive.phase", "adapter.transmit.phase", "per_byte"]),
        ("interface.policy", &["napi", "needed   always"]),
        ("deadline", &["channel.deadline", "host.compute.NAME.deadline", "a column of the table"]),
        ("refused", &["a verdict"]),
    ] {
        let output = here.laxity(&format!("explain {word}"));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{word}: {said}");
        says.iter().for_each(|text| assert!(said.contains(text), "{word} has no `{text}`: {said}"));
    }
    for (word, near) in [("channel.dedline", "channel.deadline"), ("speedupp", "host.speedup")] {
        let output = here.laxity(&format!("explain {word}"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(near), "{word}: {said}");
    }
}

#[test]
fn every_example_of_the_reference_runs() {
    let here = Here::new("explain-examples");
    let pages = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenario"));
    let mut examples = 0;
    for page in fs::read_dir(pages).unwrap() {
        let page = page.unwrap().path();
        let name = page.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&page).unwrap();
        let (_, rest) = text.split_once("```toml\n").unwrap_or_else(|| panic!("{name} has no example"));
        let (example, _) = rest.split_once("```").unwrap();
        here.write(&format!("{name}.toml"), example);
        let output = here.laxity(&format!("run --no-report {name}.toml"));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let failed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{name}: {said}{failed}");
        examples += 1;
    }
    assert!(examples >= 20, "{examples} examples");
}
