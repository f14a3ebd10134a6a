//! Flow meters of switches: what a host sends beyond its contracts burdens no queue behind them.

use laxity_units::Span;

use super::fifo::{HEAD, bounds_and_channels, channel, why};

/// Two hosts at a switch with meters, and a second switch before the receiver.
const LINE: &str = r#"[node.a]
[node.b]
[node.r]
[node.s]
kind = "switch"
order = "fifo"
policing = "1 us"
[node.t]
kind = "switch"
order = "fifo"
policing = "0 us"
[network.in]
joins = ["s", "a", "b"]
[network.between]
joins = ["s", "t"]
[network.out]
joins = ["t", "r"]
"#;

fn babbler(name: &str) -> String {
    channel(name, "b", "r", "462 B", "4 ms").replace("\"periodic\"", "\"periodic\", interval = \"100 us\"")
}

/// The bounds of all channels until delivery in us, which they keep, and the lost packets of each.
fn bounds_and_losses(text: &str) -> Vec<(Option<f64>, u64)> {
    let each = bounds_and_channels(text).into_iter().map(|(bound, channel)| {
        if let (Some(bound), Some(worst)) = (bound, channel.delivery_worst) {
            assert!(worst * 1e6 <= bound, "{worst} of {bound}");
        }
        (bound, channel.lost_packets)
    });
    each.collect()
}

/// A frame takes 40 us at its host, 80 us at the first port with a frame of the other host before it, and
/// 40 us at the second port, where frames arrive one after the other. The second switch is not at an edge
/// of the network, so its meters drop no frame.
#[test]
fn a_host_beyond_its_contract_takes_one_frame() {
    let frame = channel("a", "a", "r", "462 B", "4 ms");
    let found = bounds_and_losses(&[HEAD, LINE, &frame, &babbler("b")].concat());
    let (bound, lost) = found[0];
    assert!(bound.is_some_and(|bound| (160.0..162.0).contains(&bound)) && lost == 0, "{found:?}");
    let (none, dropped) = found[1];
    assert!(none.is_none() && dropped > 380, "39 of 40 frames: {found:?}");
    let without = [HEAD, &LINE.replace("policing = \"1 us\"\n", ""), &frame, &babbler("b")].concat();
    assert!(why(&without).contains("passes excess on"));
}

/// A channel that keeps its contract shares the host of one that does not. It has no bound there, and the
/// channel of the other host has one.
#[test]
fn a_channel_beside_excess_at_its_host_burdens_others_by_its_contract() {
    let channels =
        [channel("a", "a", "r", "462 B", "4 ms"), babbler("b"), channel("c", "b", "r", "462 B", "4 ms")];
    let found = bounds_and_losses(&[HEAD, LINE, &channels.concat()].concat());
    assert!(found[0].0.is_some_and(|bound| (160.0..205.0).contains(&bound)), "{found:?}");
    assert_eq!([found[1].0, found[2].0], [None, None]);
}

/// The second of two frames waits for the first at the host, so it is 40 us later against its arrival.
#[test]
fn a_meter_tolerates_the_jitter_of_a_host_or_there_is_no_bound() {
    let two = channel("a", "a", "r", "462 B", "4 ms").replace("burst = 1", "burst = 2");
    let two = two.replace("\"periodic\"", "\"bursty\", burst = 2");
    let with = |tolerance: &str| [HEAD, &LINE.replace("\"1 us\"", tolerance), &two].concat();
    assert!(why(&with("\"39 us\"")).contains("flow meters"));
    let [(bound, lost)] = bounds_and_losses(&with("\"41 us\""))[..] else { panic!("one channel") };
    assert!(bound.is_some() && lost == 0, "{bound:?} {lost}");
}

/// Each channel with a bound keeps it and loses no frame at any phases and excess of the babblers.
#[test]
fn no_excess_reaches_a_channel_with_a_bound() {
    for seed in 0..40_u64 {
        let interval = Span::from_us(50 + 37 * (seed % 11)).as_ps() / 1_000_000;
        let babblers = ["b", "c", "d"].map(|name| {
            channel(name, "b", "r", "462 B", "4 ms")
                .replace("\"periodic\"", &format!("\"poisson\", interval = \"{interval} us\""))
        });
        let kept = ["v", "w"].map(|name| {
            channel(name, "a", "r", "300 B", "4 ms")
                .replace("\"periodic\"", "\"periodic\", phase = \"random\"")
        });
        let text = [&format!("seed = {seed}\n"), HEAD, &LINE.replace("\"1 us\"", "\"90 us\"")].concat();
        let found = bounds_and_losses(&[text, kept.concat(), babblers.concat()].concat());
        assert!(found[..2].iter().all(|(bound, lost)| bound.is_some() && *lost == 0), "{seed}: {found:?}");
        assert!(found[2..].iter().all(|(bound, _)| bound.is_none()), "{seed}: {found:?}");
    }
}

/// A meter restores a contract for a path of queues, each once. A path that returns to a queue has no bound
/// behind its meter either, and it takes that of another channel at the port.
#[test]
fn a_path_that_comes_back_has_no_bound_behind_its_meter() {
    let back = channel("b", "b", "r", "462 B", "4 ms")
        .replace("from = \"b\"\nto = \"r\"", "route = [\"b\", \"s\", \"a\", \"s\", \"a\"]");
    let star = LINE
        .replace("joins = [\"s\", \"a\", \"b\"]", "joins = [\"s\", \"a\", \"b\", \"c\"]")
        .replace("[node.r]", "[node.r]\n[node.c]");
    let beside = channel("c", "c", "a", "462 B", "4 ms");
    assert!(why(&[HEAD, &star, &back, &beside].concat()).contains("passes a FIFO queue twice"));
}
