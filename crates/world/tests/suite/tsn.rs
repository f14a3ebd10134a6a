//! Shapers and gates of ports by strict priority: bounds beside exact timelines by hand.

use super::fifo::{HEAD, STAR, bound_and_worst, channel};

/// A channel of level 0 that sends at each of these times in us.
fn sends(name: &str, at: &[f64]) -> String {
    let at: Vec<String> = at.iter().map(|us| format!("{{ at = \"{us} us\" }}")).collect();
    let script = format!("script\", messages = [{}]", at.join(", "));
    channel(name, name, "r", "462 B", "4 ms").replace("periodic\"", &script)
}

fn star(keys: &str) -> String {
    STAR.replace("order = \"fifo\"", &format!("order = \"strict_priority\"\n{keys}"))
}

/// Both frames are at the port after 40 us. The first leaves it after 80 us. The class then has spent
/// 4000 bits and earned 2000 of them, and earns the others by 120 us: the second frame leaves after
/// 160 us, and not after 120 us.
#[test]
fn a_shaped_class_pauses_until_it_has_earned_its_frame() {
    let star = star("shapers = [{ level = 0, idle_slope = \"50 Mbit/s\" }]");
    let found = bound_and_worst(&[HEAD, &star, &sends("a", &[0.0]), &sends("b", &[0.0])].concat());
    assert_eq!(found.iter().map(|(bound, _)| *bound).collect::<Vec<_>>(), [160.0, 160.0]);
    assert_eq!(found.iter().map(|(_, worst)| *worst).fold(0.0, f64::max), 160.0);
}

/// With an idle slope of the link's rate or more the credit never falls: 40 us at the host, and 40 us
/// for each frame at the port, as without a shaper.
#[test]
fn a_slope_as_fast_as_the_link_holds_nothing_back() {
    let sends = [sends("a", &[0.0]), sends("b", &[0.0])].concat();
    for shaper in [
        "",
        "shapers = [{ level = 0, idle_slope = \"100 Mbit/s\" }]",
        "shapers = [{ level = 0, idle_slope = \"175 Mbit/s\" }]",
    ] {
        let found = bound_and_worst(&[HEAD, &star(shaper), &sends].concat());
        assert_eq!(found.iter().map(|(bound, _)| *bound).collect::<Vec<_>>(), [120.0, 120.0], "{shaper}");
        assert_eq!(found.iter().map(|(_, worst)| *worst).fold(0.0, f64::max), 120.0, "{shaper}");
    }
}

/// Level 0 is open from 200 to 300 us of each ms. A frame that is at the port a nanosecond after 260 us
/// would not end in time: it begins at 1200 us and leaves at 1240 us, 1019.999 us after it was sent.
/// Another, sent with it, follows.
#[test]
fn a_frame_behind_a_gate_waits_for_the_window_in_which_it_fits() {
    let star = star(
        "gates = [{ for = \"200 us\", best_effort = true }, { for = \"100 us\", levels = [0] }, { for = \"700 us\", best_effort = true }]",
    );
    let alone = bound_and_worst(&[HEAD, &star, &sends("a", &[220.001])].concat());
    assert_eq!(alone, [(1020.0, 1019.999)]);
    let both = [sends("a", &[220.001, 8220.001]), sends("b", &[220.001, 8220.002])].concat();
    let found = bound_and_worst(&[HEAD, &star, &both].concat());
    assert_eq!(found, [(1060.0, 1019.999), (1060.0, 1059.999)]);
}

/// The same windows half a cycle later.
#[test]
fn the_offset_moves_all_windows() {
    let star = star(
        "gate_offset = \"500 us\"\ngates = [{ for = \"200 us\" }, { for = \"100 us\", levels = [0] }, { for = \"700 us\" }]",
    );
    assert_eq!(bound_and_worst(&[HEAD, &star, &sends("a", &[0.0])].concat()), [(1020.0, 740.0)]);
}

/// A level that is always open waits for one frame of a lower level that is open in the same window,
/// and a level without windows has no bound.
#[test]
fn a_window_is_shared_by_level() {
    let star = star("gates = [{ for = \"500 us\", levels = [0, 1] }, { for = \"500 us\", levels = [0] }]");
    let low = sends("b", &[0.0]).replace("burst", "level = 1\nburst");
    let found = bound_and_worst(&[HEAD, &star, &sends("a", &[0.001]), &low].concat());
    assert_eq!(found[0], (120.0, 119.999));
    // 40 us at the host, 40 us in which no frame fits, 500 us closed, 40 us for each of both frames. The
    // frame above counts at the mean rate of the windows, which is 46 % of the link.
    assert!(found[1].0 >= 40.0 + 40.0 + 500.0 + 80.0 && found[1].0 < 730.0, "{found:?}");
    assert_eq!(found[1].1, 80.0);
}

/// With cycles of 500 us a frame that reaches the port a nanosecond after one has begun leaves it in the
/// next: 540 us after the end of its own cycle began. A second port takes a cycle more.
#[test]
fn a_cyclic_class_takes_a_cycle_for_each_port() {
    let star = star("cyclic = [{ level = 0, cycle = \"500 us\" }]");
    let alone = bound_and_worst(&[HEAD, &star, &sends("a", &[460.001])].concat());
    assert_eq!(alone, [(40.0 + 500.0 + 40.0, 579.999)]);
    let both = [sends("a", &[460.001, 8460.001]), sends("b", &[460.002, 8460.0011])].concat();
    let found = bound_and_worst(&[HEAD, &star, &both].concat());
    assert_eq!(found.iter().map(|(bound, _)| *bound).collect::<Vec<_>>(), [620.0, 620.0]);
    assert_eq!(found.iter().map(|(_, worst)| *worst).fold(0.0, f64::max), 619.999);
    let line = star.replace("[node.s]", "[node.t]\nkind = \"switch\"\norder = \"strict_priority\"\ncyclic = [{ level = 0, cycle = \"500 us\" }]\n[node.s]");
    let line = line.replace(
        "\"b\", \"r\"]",
        "\"b\"]\n[network.trunk]\njoins = [\"s\", \"t\"]\n[network.end]\njoins = [\"t\", \"r\"]",
    );
    let alone = bound_and_worst(&[HEAD, &line, &sends("a", &[460.001])].concat());
    assert_eq!(alone, [(40.0 + 1000.0 + 40.0, 1079.999)]);
}

/// A frame of the class below arrives a nanosecond after the first cyclic frame has begun, and leaves
/// 80 us later. The bound counts cyclic frames of two cycles, at a mean rate of 40 us each 4 ms.
#[test]
fn a_class_below_a_cyclic_one_waits_for_what_the_cycles_release() {
    let star = star("cyclic = [{ level = 0, cycle = \"500 us\" }]");
    let low = sends("b", &[460.001]).replace("burst", "level = 1\nburst");
    let found = bound_and_worst(&[HEAD, &star, &sends("a", &[0.0]), &low].concat());
    assert_eq!(found[0], (620.0, 540.0), "a lower frame may have begun");
    assert!(found[1].0 >= 120.0 && found[1].0 < 131.0, "{found:?}");
    assert_eq!(found[1].1, 119.999);
}

/// The frame of level 1 takes 120 us and is at the port after as much. 10 us later 117 of its bytes have
/// left behind a preamble, and 16 more make the first part. So the frame of level 0 begins at 131.28 us,
/// and ends 81.28 us after it was sent. The other has taken both frames' time and 24 bytes. Less than 143
/// bytes, 11.44 us, keep no frame of level 0 waiting.
#[test]
fn an_express_frame_interrupts_a_long_one() {
    let low = channel("b", "b", "r", "1462 B", "4 ms").replace("burst", "level = 1\nburst");
    let low = low.replace("periodic\"", "script\", messages = [{ at = \"0 us\" }]");
    let found = |from: u8| {
        let star = star(&format!("preemptable_from = {from}"));
        bound_and_worst(&[HEAD, &star, &sends("a", &[90.0]), &low].concat())
    };
    let preempted = found(1);
    assert_eq!(preempted[0], (40.0 + 11.44 + 40.0, 81.28));
    // The frame of level 0 counts at its rate, too: 1 % of the link.
    assert!(preempted[1].0 >= 281.92 && preempted[1].0 < 285.0, "{preempted:?}");
    assert_eq!(preempted[1].1, 281.92);
    let whole = found(2);
    assert_eq!(whole[0], (200.0, 190.0));
    assert_eq!(whole[1].1, 240.0);
    assert!(whole[1].0 < preempted[1].0, "an interrupted frame has the later end");
}

/// A frame of 80 us is cut when 64 of its bytes are left, at 153.92 us. The first part ends at 155.2, the
/// express frame at 195.2, and the other at 201.92: both arrive at the next switch within 6.72 us, though
/// the link would take 80 for the second. It waits there for the first one, until 235.2 us, which is
/// 121.28 us after that was sent.
#[test]
fn an_interrupted_frame_follows_the_other_at_once() {
    let star = star("preemptable_from = 1");
    let line = star.replace("[node.s]", "[node.t]\nkind = \"switch\"\norder = \"fifo\"\n[node.s]");
    let line = line.replace(
        "\"b\", \"r\"]",
        "\"b\"]\n[network.trunk]\njoins = [\"s\", \"t\"]\n[network.end]\njoins = [\"t\", \"r\"]",
    );
    let low = sends("b", &[0.0]).replace("462 B", "962 B").replace("burst", "level = 1\nburst");
    let found = bound_and_worst(&[HEAD, &line, &sends("a", &[113.92]), &low].concat());
    assert_eq!((found[0].1, found[1].1), (121.28, 315.2));
    assert!(found.iter().all(|(bound, worst)| worst <= bound), "{found:?}");
}

/// Level 0 has 50 Mbit/s in 400 us of each 500 us. A frame that is at the port a nanosecond after 360
/// us would not end in time: it begins at 500 us and leaves at 540 us. Until 400 us its class has
/// earned 1999.95 bits, which are kept until 500 us. So the second frame begins at 540.001 us.
///
/// The bound of two: 140 us and 4000 bits at 50 · 360 / 460 Mbit/s, which the credit earns from the end
/// of a window until 40 us before that of the next, and 40 us at the port and the host each.
#[test]
fn a_shaped_class_behind_gates_keeps_its_credit() {
    let star = star(
        "gates = [{ for = \"400 us\", levels = [0] }, { for = \"100 us\" }]\nshapers = [{ level = 0, idle_slope = \"50 Mbit/s\" }]",
    );
    let near = |found: f64, wanted: f64| (found - wanted).abs() < 0.002;
    let alone = bound_and_worst(&[HEAD, &star, &sends("a", &[320.001])].concat());
    assert!(near(alone[0].0, 220.0) && near(alone[0].1, 219.999), "{alone:?}");
    let both = [sends("a", &[320.001]), sends("b", &[320.002])].concat();
    let found = bound_and_worst(&[HEAD, &star, &both].concat());
    let bound = 140.0 + 4000.0 / (50.0 * 360.0 / 460.0) + 80.0;
    assert!(
        found.iter().all(|(found, _)| *found > bound - 0.002 && *found < bound + 0.2),
        "{found:?} {bound}"
    );
    assert!(near(found[0].1, 219.999) && near(found[1].1, 580.001 - 320.002), "{found:?}");
}
