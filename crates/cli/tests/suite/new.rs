//! `laxity new`: every scenario that it writes runs as it is, and no file is replaced.

use crate::common::Here;

const STARTS: [&str; 5] = ["camera", "office", "nic", "receiver", "cluster"];

#[test]
fn every_start_runs_and_its_claims_hold() {
    let here = Here::new("new-runs");
    for start in STARTS {
        let written = here.laxity(&format!("new {start}"));
        assert_eq!(written.status.code(), Some(0), "{}", String::from_utf8_lossy(&written.stderr));
        let text = here.read(&format!("{start}.toml"));
        assert!(text.starts_with("#:schema ./laxity.schema.json\nformat = 1\ntitle = "), "{text}");
        let output = here.laxity(&format!("run --no-report {start}.toml"));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let failed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{start}: {said}{failed}");
        assert!(said.contains("1 claim: 1 holds"), "{start}: {said}");
        let checked = here.laxity(&format!("admit {start}.toml"));
        // A host that only receives has no admission.
        assert_eq!(checked.status.code(), Some(0), "{start}: {}", String::from_utf8_lossy(&checked.stdout));
    }
    let schema: serde_json::Value = serde_json::from_str(&here.read("laxity.schema.json")).unwrap();
    assert_eq!(schema["title"], "Laxity scenario");
}

#[test]
fn what_is_there_is_left_alone() {
    let here = Here::new("new-refuses");
    here.write("camera.toml", "mine");
    here.write("laxity.schema.json", "mine, too");
    let refused = here.laxity("new camera");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("camera.toml exists"), "{said}");
    assert_eq!(here.read("camera.toml"), "mine");
    let written = here.laxity("new camera --out other.toml");
    assert_eq!(written.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&written.stdout).contains("kept laxity.schema.json"));
    assert_eq!(here.read("laxity.schema.json"), "mine, too");
    for (arguments, why) in
        [("new camera --out mine.json", "ends in .toml"), ("new kitchen", "invalid value 'kitchen'")]
    {
        let output = here.laxity(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(why), "{arguments}: {said}");
    }
    assert!(!here.path("mine.json").exists());
}
