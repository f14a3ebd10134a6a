//! What the program ends with where nothing was looked at.

mod support;

use support::{CAMERA, Here};

/// Who has asked for an attack and had none, for want of a bound that could be exceeded, knows no more than before.
#[test]
fn an_attack_of_nothing_is_not_judged() {
    let here = Here::new("attack-of-nothing");
    let refused = CAMERA.replace("deadline = \"30 ms\"", "deadline = \"1 us\"\nrefusal = \"expected\"");
    assert_ne!(refused, CAMERA);
    here.write("refused.toml", &refused);
    let output = here.laxity("attack refused.toml");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("not attacked"), "{said}");
    assert_eq!(output.status.code(), Some(4), "{said}");
}
