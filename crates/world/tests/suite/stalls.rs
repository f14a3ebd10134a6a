//! Stalls that are declared are terms of bounds.

use laxity_admission::Formula;
use laxity_scenario::Scenario;
use laxity_units::Span;
use laxity_world::experiment::Experiment;
use laxity_world::promise::{Promise, promises};

/// Copying takes 100 us of a packet, the link 50.
fn text(fault: &str) -> String {
    let fault = if fault.is_empty() { String::new() } else { format!("[[fault]]\n{fault}\n") };
    format!(
        r#"
title = "a test"
[host]
profile = "mc68040"
[host.subsystem]
packet = "1 kB"
preemption = 2
link = {{ paradigm = "O1" }}
[adapter]
kind = "generic"
resource = [{{ name = "dma" }}]
[[adapter.transmit]]
name = "copy"
phase = [{{ fixed = "100 us", holds = ["dma"] }}]
[[adapter.transmit]]
name = "link"
phase = [{{ fixed = "50 us", medium = true }}]
[run]
time = "400 ms"
{fault}
[[channel]]
name = "film"
class = "real_time"
max_message = "3 kB"
burst = 2
min_interval = "7 ms"
deadline = "7 ms"
source = {{ kind = "periodic" }}
"#
    )
}

fn experiment(fault: &str) -> Experiment {
    Scenario::from_text("test.toml", text(fault)).unwrap_or_else(|errors| panic!("{errors}")).first()
}

fn bound(fault: &str) -> Result<Span, &'static str> {
    match promises(&experiment(fault), Formula::Corrected) {
        Ok(promises) => match &promises.channels[0] {
            Promise::Admitted(_) => Ok(promises.channels[0].bound().expect("it sends")),
            other => panic!("{other:?}"),
        },
        Err(uncovered) => Err(uncovered.sentence()),
    }
}

fn worst(fault: &str) -> Span {
    let run = laxity_world::run(&experiment(fault));
    let worst = run.channels[0].worst.and_then(Span::from_secs_f64);
    worst.expect("messages are completed")
}

/// One that happens once is 80 us more; one of 30 us each 730 is 30 more for each such time that the
/// bound has then, of which the last may be a part. One in progress is the rest of one.
#[test]
fn each_that_may_strike_is_counted() {
    let before = bound("").unwrap();
    let once = "kind = \"stall\"\nresource = \"dma\"\nat = \"100 ms\"\nfor = \"80 us\"";
    assert_eq!(bound(once), Ok(before + Span::from_us(80)));
    let often = "kind = \"stall\"\nresource = \"dma\"\nat = \"1 ms\"\nfor = \"30 us\"\nevery = \"730 us\"";
    let after = bound(often).unwrap();
    let strikes = after.div_ceil(Span::from_us(730));
    assert_eq!(after, before + Span::from_us(30) * strikes);
    // A period that the film's is no multiple of: it is struck in each of its places, and twice.
    let (alone, struck) = (worst(""), worst(often));
    assert!(alone <= before && struck <= after, "{alone} {before} {struck} {after}");
    assert!(struck >= alone + Span::from_us(30), "{struck} {alone}");
}

/// A message that is struck for 6.8 of its 7 ms is late: the first, or all, of which a third is
/// through in time to be counted.
#[test]
fn a_stall_comes_again() {
    let missed = |every: &str| {
        let fault =
            format!("kind = \"stall\"\nresource = \"dma\"\nat = \"0 ms\"\nfor = \"6800 us\"\n{every}");
        // No channel would be admitted beside it.
        let text = text(&fault).replace("[run]", "[admission]\nformula = \"off\"\n[run]");
        let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"));
        let run = laxity_world::run(&scenario.first());
        (run.channels[0].missed_messages, run.channels[0].messages)
    };
    let (once, _) = missed("");
    let (each, all) = missed("every = \"7 ms\"");
    assert!(once <= 1 && each >= 10 && all > 50, "{once} and {each} of {all}");
}

#[test]
fn what_is_not_bounded_says_so() {
    let nothing = Err("no bound covers the time that a fault takes");
    assert_eq!(bound("kind = \"stall\"\nresource = \"dma\"\nat = \"1 ms\""), nothing, "it never ends");
    assert_eq!(bound("kind = \"stop\"\nat = \"1 ms\"\nfor = \"1 us\""), nothing);
    assert_eq!(bound("kind = \"lost_interrupts\"\nat = \"1 ms\"\nfor = \"1 us\""), nothing);
    let resets = text("kind = \"stall\"\nresource = \"dma\"\nat = \"1 ms\"\nfor = \"1 us\"")
        .replace("[host.subsystem]", "[host.driver]\nreset_after = \"900 ms\"\n[host.subsystem]");
    let resets = Scenario::from_text("test.toml", resets).unwrap_or_else(|errors| panic!("{errors}")).first();
    let why = promises(&resets, Formula::Corrected).err();
    assert_eq!(
        why.map(|why| why.sentence()),
        Some("the driver may reset the adapter while a part of it stands still")
    );
    let refused =
        |fault: &str| Scenario::from_text("test.toml", text(fault)).err().map(|e| e.to_string()).unwrap();
    let again =
        refused("kind = \"stall\"\nresource = \"dma\"\nat = \"1 ms\"\nfor = \"1 ms\"\nevery = \"1 ms\"");
    assert!(again.contains("it would begin again before it is over"), "{again}");
    let endless = refused("kind = \"stall\"\nresource = \"dma\"\nat = \"1 ms\"\nevery = \"1 ms\"");
    assert!(endless.contains("say `for`"), "{endless}");
    let stop = refused("kind = \"stop\"\nat = \"1 ms\"\nfor = \"1 ms\"\nevery = \"2 ms\"");
    assert!(stop.contains("only a stall comes again"), "{stop}");
}
