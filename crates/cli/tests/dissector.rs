//! The dissector, run by tshark over a capture of a scenario. Where there is no tshark, it says so and passes over it.

mod support;

use std::path::Path;
use std::process::{Command, Stdio};

use support::{CAMERA, Here};

const BULK: &str = r#"
[[channel]]
name = "bulk"
class = "best_effort"
max_message = "60 KiB"
burst = 10
source = { kind = "continuous" }
"#;

#[test]
fn an_analyser_reads_what_a_run_has_sent() {
    let found = Command::new("tshark").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !found.is_ok_and(|status| status.success()) {
        eprintln!("passed over: there is no tshark here");
        return;
    }
    let here = Here::new("dissector");
    here.write("camera.toml", &format!("{CAMERA}{BULK}"));
    let traced = here.laxity("trace camera.toml --pcap camera.pcapng");
    assert_eq!(traced.status.code(), Some(0), "{}", String::from_utf8_lossy(&traced.stderr));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dissector/laxity.lua");
    let read = |arguments: &str| {
        let output = Command::new("tshark")
            .arg("-X")
            .arg(format!("lua_script:{}", script.display()))
            .args(["-o", "ip.check_checksum:TRUE", "-r", "camera.pcapng"])
            .args(arguments.split_whitespace())
            .current_dir(&here.0)
            .output()
            .expect("tshark was there a moment ago");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !said.contains("Lua"), "{said}");
        String::from_utf8(output.stdout).expect("tshark writes text")
    };
    let fields = "-T fields -e laxity.class -e laxity.channel -e laxity.fragment -e laxity.fragments -e laxity.payload_length \
                  -e laxity.laxity -e laxity.late -e ip.checksum.status -e ip.host -N n";
    let (mut real, mut other) = (0, 0);
    for line in read(fields).lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [class, channel, fragment, fragments, payload, laxity, late, sum, hosts] = fields[..] else {
            panic!("{line}: fields are missing")
        };
        assert_eq!((sum, hosts.starts_with("node0")), ("1", true), "{line}");
        assert!(fragment.parse::<u32>().unwrap() < fragments.parse().unwrap(), "{line}");
        assert!((1..=4096).contains(&payload.parse::<u32>().unwrap()), "{line}");
        if class == "0" {
            real += 1;
            // The claim of the scenario says the same of all of its frames.
            let laxity: f64 = laxity.parse().unwrap();
            assert!((0.0..0.03).contains(&laxity) && channel == "0", "{line}");
            assert!(["0", "False"].contains(&late), "{line}");
        } else {
            other += 1;
            assert_eq!((channel, laxity, late), ("1", "", ""), "{line}");
        }
    }
    assert!(real > 100 && other > 100, "{real} and {other} packets");
    assert_eq!(read("-Y laxity.malformed||_ws.malformed"), "");
    assert_eq!(read("-Y laxity&&laxity.late==1"), "");
}
