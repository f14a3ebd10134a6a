//! The log of a daemon, repeated.

use std::process::Output;

use super::net::Net;
use super::steady::{beside_a_stream, numbered};
use super::{MS, film, until};

/// The number of a message that is waited for: of those that are posted some are refused.
const ACCEPTED: u64 = 100;

fn replayed(net: &Net, log: &str) -> Output {
    net.laxity().args(["replay", log]).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &*String::from_utf8_lossy(&output.stderr)
}

/// The relay of three nodes: signalling, packets of channels, a program that is refused messages, and
/// a neighbour that is killed, each frame as in the run.
#[test]
fn a_log_repeats_all_that_a_daemon_did() {
    let net = Net::loopback(160, &["a", "b", "c"]);
    net.stop("b");
    net.set_text("b", &format!("log = \"b.log.bin\"\n{}", net.text("b")));
    net.start("b");
    let _listener = net.client("c").listen("film").unwrap();
    net.know("a", "film");
    let mut through = None;
    let client = net.client("a");
    until("the relay is back", || {
        through = client.open("film", film()).ok();
        through.is_some()
    });
    let mut through = through.unwrap();
    beside_a_stream(&net, "a", "b", || {
        let program = net.client("b");
        let mut own = program.open("film", film()).unwrap();
        own.send(&numbered(ACCEPTED, 800)).unwrap();
        for number in 0..20 {
            through.send(&numbered(number, 1000)).unwrap();
            let _ = own.post(&numbered(number, 800));
            let _ = own.post(&numbered(number, 800));
        }
        net.kill("c");
        std::thread::park_timeout(300 * MS);
    });
    let status = net.client("b").status().unwrap();
    net.stop("b");
    let output = replayed(&net, "b.log.bin");
    let text = said(&output);
    // Late packets are those of a run on a busy machine: 1 says that there were some.
    assert!(output.status.code().is_some_and(|code| code < 2), "{text}");
    let sent = text.split(" frames arrived, and ").nth(1).and_then(|rest| rest.split(' ').next());
    let sent: u64 = sent.and_then(|sent| sent.parse().ok()).unwrap_or_else(|| panic!("{text}"));
    assert!(sent >= super::steady::count(&status, "frames_sent"), "{text}");
    // A changed byte of a message is another frame.
    let mut bytes = std::fs::read(net.path("b.log.bin")).unwrap();
    let message = numbered(ACCEPTED, 800);
    let at = bytes.windows(message.len()).position(|window| window == message).unwrap();
    bytes[at + 100] ^= 1;
    std::fs::write(net.path("changed.bin"), &bytes).unwrap();
    let output = replayed(&net, "changed.bin");
    assert!(said(&output).contains("another frame leaves"), "{}", said(&output));
    // A log that a crash cut off is repeated as far as it goes.
    std::fs::write(net.path("cut.bin"), &std::fs::read(net.path("b.log.bin")).unwrap()[..bytes.len() / 2])
        .unwrap();
    let output = replayed(&net, "cut.bin");
    assert!(output.status.code().is_some_and(|code| code < 2), "{}", said(&output));
}
