use laxity_units::{Bytes, Rate};

use crate::{Bucket, Effort, Flow, FramePreemption, Gates, Server, bounds};

use super::*;

/// 1 Gbit/s: a frame of 500 B takes 4 us.
const LINK: Rate = Rate::from_bits_per_sec(1_000_000_000);

fn us(us: u64) -> Span {
    Span::from_us(us)
}

/// A server on which `level` has a window from `begin` for `length` us of each `cycle` us, and frames of
/// 1250 B (10 us) below have the rest. A frame needs 1 us to the next server.
fn server(cycle: u64, level: u8, (begin, length): (u64, u64)) -> Server {
    let rest = vec![(us((begin + length) % cycle), us(cycle - length))];
    let open = vec![(level, vec![(us(begin), us(length))]), (Gates::BELOW, rest)];
    let gates = Gates { cycle: us(cycle), open, behind: Some(1_000_000) };
    Server { below: Bytes::new(1250), gates: Some(gates), ..Server::by_level(LINK) }
}

/// A flow of `burst` frames of 500 B at once, and of one each `interval` us.
fn flow(path: &[usize], burst: u64, interval: u64) -> Flow {
    let size = Bytes::new(500);
    let source = vec![Bucket::Frames { size, burst, interval: us(interval) }];
    Flow::of_frames(path.to_vec(), source, size)
}

/// Bounds in us, without the paths between the servers.
fn of(servers: Vec<Server>, flows: Vec<Flow>) -> Vec<f64> {
    let network = QueueNetwork::new(servers, flows).expect("a network");
    let found = bounds(&network, Effort::default()).into_iter();
    found.map(|bound| bound.expect("a bound").delay.as_ps() as f64 / 1e6).collect()
}

#[track_caller]
fn near(found: f64, exact: f64) {
    assert!((found - exact).abs() < 0.001, "{found} for {exact}");
}

/// A frame that just does not fit any more into a window of 50 us waits for 454 us. From the begin of the
/// next window on it takes 5 us at each of six servers.
#[test]
fn a_row_waits_for_one_window() {
    let row = vec![server(500, 0, (0, 50)); 6];
    near(of(row.clone(), vec![flow(&[0, 1, 2, 3, 4, 5], 1, 500)])[0], 454.0 + 6.0 * 4.0);
    // A window of 15 us has room for the frame at three servers. At the fourth it has 15 us behind it.
    let row = vec![server(500, 0, (0, 15)); 4];
    near(of(row, vec![flow(&[0, 1, 2, 3], 1, 500)])[0], 489.0 + 4.0 * 4.0 + 485.0);
}

/// Windows of 12 us that are staggered by a frame and the path, 5 us. Two flows have one frame each in
/// them. Both arrive 4 us and a moment before the end of the first window. The second of them leaves 8 us
/// behind the begin of the next one, and waits nowhere else.
#[test]
fn staggered_windows_let_frames_pass() {
    let staggered = |by: u64| (0..8).map(|hop| server(500, 0, (by * hop % 500, 12))).collect::<Vec<_>>();
    let path: Vec<usize> = (0..8).collect();
    let flows = || vec![flow(&path, 1, 500), flow(&path, 1, 500)];
    near(of(staggered(5), flows())[0], 492.0 + 8.0 + 7.0 * 4.0);
    // A window that begins sooner than frames arrive is missed for the most part: its last 4 us begin 1 us
    // before the second frame arrives.
    near(of(staggered(500 - 4), flows())[0], 492.0 + 8.0 + 7.0 * 495.0);
}

/// Flow 1 joins at the second server from a row of its own, with a window from 20 us on. So its frames arrive
/// from 25 us on, and those of flow 0 from 5 to 11 us. They do not meet in the window from 5 to 40 us.
/// Without windows flow 1 can arrive with flow 0.
#[test]
fn flows_from_windows_at_other_times_do_not_meet() {
    let servers = vec![server(500, 0, (0, 10)), server(500, 0, (5, 35)), server(500, 0, (20, 10))];
    let found = of(servers.clone(), vec![flow(&[0, 1], 1, 500), flow(&[2, 1], 1, 500)]);
    near(found[0], 494.0 + 4.0 + 4.0);
    near(found[1], 494.0 + 4.0 + 4.0);
    let found = of(servers, vec![flow(&[0, 1], 1, 500), flow(&[1], 1, 500)]);
    near(found[0], 494.0 + 4.0 + 4.0 + 4.0);
}

/// Level 0 has windows of 50 us and level 1 the 40 us behind them. A frame of level 1 waits for 464 us.
#[test]
fn each_class_has_its_own_windows() {
    let two = || {
        let open = vec![
            (0, vec![(us(0), us(50))]),
            (1, vec![(us(50), us(40))]),
            (Gates::BELOW, vec![(us(90), us(410))]),
        ];
        let gates = Gates { cycle: us(500), open, behind: Some(1_000_000) };
        Server { below: Bytes::new(1250), gates: Some(gates), ..Server::by_level(LINK) }
    };
    let row: Vec<usize> = (0..5).collect();
    let lower = Flow { level: 1, ..flow(&row, 1, 500) };
    let found = of((0..5).map(|_| two()).collect(), vec![flow(&row, 1, 500), lower]);
    near(found[0], 454.0 + 5.0 * 4.0);
    near(found[1], 464.0 + 5.0 * 4.0);
}

/// Cycles of which one is twice the other have one row. A frame that arrives just behind 41 us leaves the
/// first server in its window, and the second one in its next, at 1000 us.
#[test]
fn cycles_can_divide_each_other() {
    let servers = vec![server(500, 0, (0, 50)), server(1000, 0, (0, 50))];
    near(of(servers, vec![flow(&[0, 1], 1, 2000)])[0], 4.0 + 954.0 + 4.0);
}

/// Each server has its own wait, 454 us, if the paths differ, if another server is between both, or if the
/// cycles have no common one. A frame waits for one of 10 us below at a server without gates.
#[test]
fn windows_without_a_known_phase_are_waited_for_at_each_server() {
    let gated = || server(500, 0, (0, 50));
    let unknown = || {
        let gates = Gates { behind: None, ..gated().gates.expect("gates") };
        Server { gates: Some(gates), ..gated() }
    };
    assert_eq!(of(vec![unknown(), unknown()], vec![flow(&[0, 1], 1, 2000)])[0], 2.0 * 458.0);
    let open = Server { below: Bytes::new(1250), ..Server::by_level(LINK) };
    let found = of(vec![gated(), open, gated()], vec![flow(&[0, 1, 2], 1, 2000)])[0];
    assert_eq!(found, 2.0 * 458.0 + 14.0);
    let found = of(vec![gated(), server(499, 0, (0, 50))], vec![flow(&[0, 1], 1, 2000)])[0];
    assert_eq!(found, 458.0 + 457.0);
}

/// A frame that is cut where its gate closes ends in another window than that in which it began. So the
/// windows of its level do not limit arrivals behind them.
#[test]
fn frames_that_are_cut_arrive_at_any_time() {
    let found = |behind: Option<i64>| {
        let rest = vec![(us(50), us(450))];
        let open = vec![(0, vec![(us(0), us(50))]), (1, rest.clone()), (Gates::BELOW, rest)];
        let gates = Gates { cycle: us(500), open, behind };
        let preemption = FramePreemption { from: 1, wait: Bytes::new(143), overhead: Bytes::new(24) };
        let first = Server { gates: Some(gates), preemption: Some(preemption), ..server(500, 0, (0, 50)) };
        let flows = vec![Flow { level: 1, ..flow(&[0, 1], 3, 2000) }, flow(&[0], 1, 500)];
        of(vec![first, server(500, 1, (60, 100))], flows)
    };
    assert_eq!(found(Some(1_000_000)), found(None));
}
