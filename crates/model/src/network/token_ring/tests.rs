//! The claims of the ring's header, under loads that are independent of it.

use super::*;
use proptest::prelude::*;

const US: u64 = 1_000_000;

/// A station's frames, as (ready at, takes), by time.
type Load = Vec<(Time, Span)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sent {
    station: usize,
    from: Time,
    to: Time,
}

/// Runs a ring under loads until `end`; answers what was sent.
fn run(ring: &mut TokenRing, loads: &[Load], end: Time) -> Vec<Sent> {
    let mut next = vec![0; loads.len()];
    let mut asked = vec![false; loads.len()];
    let mut sending: Option<Sent> = None;
    let mut sent = Vec::new();
    loop {
        let ready = (0..loads.len()).filter(|i| !asked[*i]);
        let ready = ready.filter_map(|i| Some((loads[i].get(next[i])?.0, i))).min();
        let ended = sending.map(|frame| frame.to);
        let Some(now) = [ready.map(|(at, _)| at), ended, ring.next_deadline()].into_iter().flatten().min()
        else {
            return sent;
        };
        if now > end {
            return sent;
        }
        if ended == Some(now) {
            let frame = sending.take().unwrap();
            sent.push(frame);
            let i = frame.station;
            next[i] += 1;
            asked[i] = false;
            let more = loads[i].get(next[i]).is_some_and(|(at, _)| *at <= now);
            ring.sent(now, i, more);
            if more {
                asked[i] = true;
                ring.request(now, i);
            }
        } else if ring.next_deadline() == Some(now) {
            ring.timer(now);
        } else {
            let (_, i) = ready.unwrap();
            asked[i] = true;
            ring.request(now, i);
        }
        while let Some(output) = ring.poll_output() {
            let MediumOutput::Grant(station) = output else { panic!("a ring only grants: {output:?}") };
            assert!(asked[station] && sending.is_none(), "{output:?} while {sending:?}");
            let takes = loads[station][next[station]].1;
            sending = Some(Sent { station, from: now, to: now + takes });
        }
    }
}

fn us(us: u64) -> Time {
    Time::from_ps(us * US)
}

fn ring(rotation: u64, holding: &[u64], latency: u64) -> TokenRing {
    let holding = holding.iter().map(|us| Span::from_us(*us)).collect();
    TokenRing::new(TokenRingParameters {
        rotation: Span::from_us(rotation),
        holding,
        latency: Span::from_us(latency),
        handling: Span::ZERO,
    })
    .unwrap()
}

fn frames(takes: &[u64]) -> Load {
    takes.iter().map(|takes| (Time::ZERO, Span::from_us(*takes))).collect()
}

fn times(sent: &[Sent]) -> Vec<(usize, u64, u64)> {
    sent.iter().map(|s| (s.station, s.from.as_ps() / US, s.to.as_ps() / US)).collect()
}

fn longest(load: &Load) -> Span {
    load.iter().map(|(_, takes)| *takes).max().unwrap_or(Span::ZERO)
}

/// Figure 6.4 by hand: TTRT 100, THT 30, frames of 20. The second frame begins at 90 and ends 10 too late;
/// the next holding is 20 long, one frame; the one after that is whole again.
#[test]
fn an_overrun_is_taken_off_the_next_holding() {
    let mut ring = ring(100, &[30], 0);
    let sent = run(&mut ring, &[frames(&[20; 6])], us(1000));
    assert_eq!(
        times(&sent),
        [(0, 70, 90), (0, 90, 110), (0, 180, 200), (0, 270, 290), (0, 290, 310), (0, 380, 400)]
    );
    let report = ring.report()[0];
    assert_eq!((report.overrun, report.longest_overrun), (Span::from_us(20), Span::from_us(10)));
    // From arrival to arrival it was TTRT and the overrun; the wait without the token was TTRT - THT.
    assert_eq!(report.longest_rotation, Span::from_us(110));
    assert_eq!((report.longest_wait, report.held), (Span::from_us(70), Span::from_us(120)));
}

/// A frame of 80 in a holding of 30 owes 50: one holding is passed over, and of the next 20 are missing.
#[test]
fn a_long_overrun_costs_holdings() {
    let mut ring = ring(100, &[30], 0);
    let sent = run(&mut ring, &[frames(&[80, 5, 5, 5])], us(1000));
    assert_eq!(times(&sent), [(0, 70, 150), (0, 290, 295), (0, 295, 300), (0, 370, 375)]);
    assert_eq!((ring.report()[0].passed_over, ring.report()[0].longest_wait), (1, Span::from_us(140)));
}

#[test]
fn the_thesis_bound_on_the_wait_fails_among_stations_that_overrun() {
    let mut ring = ring(100, &[10, 50], 0);
    let loads = [frames(&[1; 40]), frames(&[49; 40])];
    run(&mut ring, &loads, us(2000));
    // TTRT - THT + the 48 by which the other overran is 138, and more than TTRT.
    assert_eq!(ring.report()[0].longest_wait, Span::from_us(138));
}

#[test]
fn a_station_without_frames_gives_up_the_token_and_one_with_more_keeps_it() {
    let mut token = ring(100, &[20, 30], 5);
    // 5 + 40 of the others after the start.
    token.request(us(0), 1);
    assert_eq!(token.next_deadline(), Some(us(45)));
    token.timer(us(45));
    assert_eq!((token.poll_output(), token.next_deadline()), (None, Some(us(50))));
    token.timer(us(50));
    assert_eq!((token.poll_output(), token.next_deadline()), (Some(MediumOutput::Grant(1)), None));
    token.sent(us(55), 1, true);
    assert_eq!(token.next_deadline(), Some(us(80)));
    token.request(us(79), 1);
    assert_eq!(token.poll_output(), Some(MediumOutput::Grant(1)));
    token.sent(us(79), 1, true);
    token.request(us(80), 1);
    assert_eq!((token.poll_output(), token.next_deadline()), (None, Some(us(125))));
    token.withdraw(us(81), 1);
    assert_eq!(token.next_deadline(), None);
    // Away for whole rotations of 50: it is at station 0 at 125 + 50 k.
    token.request(us(1_000_126), 0);
    assert_eq!(token.next_deadline(), Some(us(1_000_130)));
}

#[test]
fn a_reset_gives_the_token_back() {
    let mut ring = ring(100, &[30], 0);
    ring.request(us(0), 0);
    ring.timer(us(70));
    ring.withdraw(us(75), 0);
    assert_eq!(ring.poll_output(), None);
    ring.request(us(75), 0);
    assert_eq!(ring.next_deadline(), Some(us(145)));
}

/// The token arrives at 70 and may be used from 75 on, and until 30 − 5 after 70: frames 75–83,
/// 83–91 and 91–99, of which the last ends 4 late. It departs at 104 and is back at 174, for 26:
/// frames until 195, and departure at 200.
#[test]
fn handling_the_token_is_part_of_the_holding() {
    let mut ring = ring(100, &[30], 0);
    ring.parameters.handling = Span::from_us(5);
    let sent = run(&mut ring, &[frames(&[8; 9])], us(300));
    let began: Vec<Time> = sent.iter().map(|frame| frame.from).collect();
    assert_eq!(began, [75, 83, 91, 179, 187, 275, 283, 291].map(us));
    let report = ring.report()[0];
    assert_eq!((report.holdings, report.held), (3, Span::from_us(34 + 26 + 34)));
    assert_eq!(report.longest_overrun, Span::from_us(4));
}

/// A frame that is withdrawn while the token is being taken is not granted, and one that arrives
/// meanwhile is.
#[test]
fn what_is_withdrawn_while_the_token_is_taken_is_not_sent() {
    let mut ring = ring(100, &[30], 0);
    ring.parameters.handling = Span::from_us(5);
    ring.request(us(0), 0);
    ring.timer(us(70));
    ring.withdraw(us(72), 0);
    assert_eq!(ring.next_deadline(), Some(us(75)));
    ring.timer(us(75));
    assert_eq!(ring.poll_output(), None);
    ring.request(us(76), 0);
    assert_eq!(ring.next_deadline(), Some(us(80 + 70)), "it was passed on at 75, which took until 80");
}

#[test]
fn parameters_that_make_no_ring_are_refused() {
    let make = |rotation, holding: &[u64], latency| {
        let holding = holding.iter().map(|us| Span::from_us(*us)).collect();
        let (rotation, latency) = (Span::from_us(rotation), Span::from_us(latency));
        let handling = Span::from_us(2);
        TokenRing::new(TokenRingParameters { rotation, holding, latency, handling }).unwrap_err().to_string()
    };
    assert!(make(10, &[5, 4], 0).contains("takes 2 us of station 1's holding time of 4 us, twice"));
    assert!(make(10, &[5, 4], 0).contains("less than 2 us"));
    assert!(make(10, &[], 0).contains("names no station"));
    assert!(make(10, &[1, 0], 0).contains("station 1 is zero"));
    assert!(make(10, &[4, 6], 0).contains("sums to 10 us"));
    assert!(make(12, &[5, 5], 2).contains("at most 1 us a hop"));
}

#[derive(Debug, Clone)]
struct Case {
    parameters: TokenRingParameters,
    loads: Vec<Load>,
}

/// Rings of one to five stations. Station 0 is saturated with frames of any size up to three times its
/// holding time; the others are saturated too, or send at random.
fn cases(all_saturated: bool) -> impl Strategy<Value = Case> {
    let station = (1u64..50, 0u64..4, proptest::collection::vec((0u64..400, 1u64..150), 400));
    (proptest::collection::vec(station, 1..6), 0u64..4, 1u64..200).prop_map(
        move |(stations, latency, others)| {
            let holding: Vec<Span> = stations.iter().map(|(tht, ..)| Span::from_us(*tht)).collect();
            let hops = latency * stations.len() as u64;
            let rotation = stations.iter().map(|(tht, ..)| tht).sum::<u64>() + hops + others;
            let loads = stations.iter().enumerate().map(|(i, (tht, pace, frames))| {
                let pace = if all_saturated || i == 0 { 0 } else { *pace };
                let mut at = 0;
                let frames = frames.iter().map(|(gap, size)| {
                    at += gap * pace;
                    (us(at), Span::from_ps((size * tht * US / 50).max(1)))
                });
                frames.collect()
            });
            let loads = loads.collect();
            let (rotation, latency) = (Span::from_us(rotation), Span::from_us(latency));
            let handling = Span::ZERO;
            Case { parameters: TokenRingParameters { rotation, holding, latency, handling }, loads }
        },
    )
}

/// The same with tokens that have to be handled, for up to 3/8 of the shortest holding time.
fn handled(all_saturated: bool) -> impl Strategy<Value = Case> {
    (cases(all_saturated), 0u64..4).prop_map(|(mut case, eighths)| {
        let shortest = case.parameters.holding.iter().min().expect("there is a station");
        case.parameters.handling = *shortest * eighths / 8;
        case
    })
}

/// How long a run stays saturated: until the station that is first to run out of frames could have sent them.
fn saturated_for(case: &Case) -> Time {
    let rounds = case.loads.iter().zip(&case.parameters.holding).map(|(load, holding)| {
        let total: Span = load.iter().map(|(_, takes)| *takes).sum();
        total.div_floor(*holding)
    });
    // Each station holds the token for at most a THT of each TTRT, and a frame.
    Time::ZERO + case.parameters.rotation * rounds.min().unwrap().saturating_sub(8)
}

proptest! {
    #[test]
    fn saturated_stations_have_their_shares(case in cases(true)) {
        let mut ring = TokenRing::new(case.parameters.clone()).unwrap();
        let end = saturated_for(&case);
        let sent = run(&mut ring, &case.loads, end);
        let rotation = case.parameters.rotation.as_ps() as i128;
        let slack = case.loads.iter().map(|load| longest(load).as_ps() as i128).sum::<i128>() + rotation;
        for (i, holding) in case.parameters.holding.iter().enumerate() {
            let busy = |s: &&Sent| s.station == i;
            let busy: i128 = sent.iter().filter(busy).map(|s| s.to.since(s.from).as_ps() as i128).sum();
            let share = end.as_ps() as i128 * holding.as_ps() as i128 / rotation;
            prop_assert!((busy - share).abs() <= 2 * slack, "station {} has {} of {}", i, busy, share);
        }
    }

    /// Whatever the others do, station 0, which always wants it, has at least its share.
    #[test]
    fn a_share_is_a_floor(case in cases(false)) {
        let mut ring = TokenRing::new(case.parameters.clone()).unwrap();
        let sent = run(&mut ring, &case.loads, Time::MAX.saturating_sub(Span::from_us(1)));
        let of_it: Vec<&Sent> = sent.iter().filter(|s| s.station == 0).collect();
        prop_assert_eq!(of_it.len(), case.loads[0].len());
        let busy: u128 = of_it.iter().map(|s| u128::from(s.to.since(s.from).as_ps())).sum();
        let elapsed = u128::from(of_it.last().unwrap().to.as_ps());
        let slack: Span = case.loads.iter().map(longest).sum::<Span>() + case.parameters.rotation;
        let (holding, rotation) = (case.parameters.holding[0].as_ps(), case.parameters.rotation.as_ps());
        let floor = elapsed * u128::from(holding) / u128::from(rotation);
        prop_assert!(busy + 2 * u128::from(slack.as_ps()) >= floor, "{} of {}", busy, floor);
    }

    #[test]
    fn waits_rotations_and_overruns_keep_their_bounds(case in handled(false)) {
        let handling = case.parameters.handling;
        let mut ring = TokenRing::new(case.parameters.clone()).unwrap();
        let sent = run(&mut ring, &case.loads, Time::MAX.saturating_sub(Span::from_us(1)));
        // Every frame was sent once, one at a time, in the order of its station.
        prop_assert_eq!(sent.len(), case.loads.iter().map(Vec::len).sum::<usize>());
        prop_assert!(sent.windows(2).all(|pair| pair[0].to <= pair[1].from));
        let rotation = case.parameters.rotation;
        let longest = |load: &Load| longest(load) + handling * 2;
        let all: Span = case.loads.iter().map(longest).sum();
        for (i, report) in ring.report().iter().enumerate() {
            let (holding, frame) = (case.parameters.holding[i], longest(&case.loads[i]));
            let holdings = 1 + frame.div_floor(holding);
            let wait = (rotation - holding) * holdings + (all - frame) + handling * 2;
            prop_assert!(report.longest_wait <= wait, "{:?} within {}", report, wait);
            prop_assert!(report.longest_rotation <= rotation + all);
            prop_assert!(report.longest_overrun < frame);
            prop_assert_eq!((report.grants, report.missed), (case.loads[i].len() as u64, 0));
        }
    }

    /// With the token to be handled a saturated station holds it for as long as without, and sends
    /// for 2 h less a holding.
    #[test]
    fn handling_comes_out_of_frames_and_of_nobody_elses_share(case in handled(true)) {
        let mut ring = TokenRing::new(case.parameters.clone()).unwrap();
        let end = saturated_for(&case);
        let sent = run(&mut ring, &case.loads, end);
        let rotation = case.parameters.rotation.as_ps() as i128;
        let longest = |load: &Load| (longest(load) + case.parameters.handling * 2).as_ps() as i128;
        let slack = case.loads.iter().map(longest).sum::<i128>() + rotation;
        for (i, holding) in case.parameters.holding.iter().enumerate() {
            let busy: i128 =
                sent.iter().filter(|s| s.station == i).map(|s| s.to.since(s.from).as_ps() as i128).sum();
            let report = ring.report()[i];
            let handled = 2 * i128::from(report.holdings) * case.parameters.handling.as_ps() as i128;
            let held = busy + handled;
            let share = end.as_ps() as i128 * holding.as_ps() as i128 / rotation;
            prop_assert!((held - share).abs() <= 2 * slack, "station {} has {} of {}", i, held, share);
        }
    }

    /// Within a holding the station sends without a pause, while it has frames and the allowance lasts.
    #[test]
    fn a_holding_is_not_wasted(case in cases(true)) {
        let mut ring = TokenRing::new(case.parameters.clone()).unwrap();
        let sent = run(&mut ring, &case.loads, saturated_for(&case));
        let busy: Span = sent.iter().map(|s| s.to.since(s.from)).sum();
        let held: Span = ring.report().iter().map(|report| report.held).sum();
        let last = sent.last().map_or(Span::ZERO, |s| s.to.since(s.from));
        // The last holding may not have ended.
        let open = case.loads.iter().map(longest).sum::<Span>() + case.parameters.rotation + last;
        prop_assert!(held <= busy && busy <= held + open);
    }

    /// An idle token is where it would be had it been followed.
    #[test]
    fn an_idle_token_goes_round(case in cases(true), station: prop::sample::Index, at in 0u64..100_000) {
        let parameters = &case.parameters;
        let mut ring = TokenRing::new(parameters.clone()).unwrap();
        let station = station.index(parameters.holding.len());
        let (latency, at) = (parameters.latency, us(at));
        let idle = parameters.rotation - parameters.holding.iter().copied().sum::<Span>();
        let others = idle - latency * parameters.holding.len() as u64;
        let mut comes = Time::ZERO + others + latency * (station as u64 + 1);
        while comes < at {
            comes += idle;
        }
        ring.request(at, station);
        while ring.poll_output().is_none() {
            ring.timer(ring.next_deadline().unwrap());
        }
        prop_assert_eq!(ring.report()[station].longest_wait, comes.since(at));
    }
}

/// Of a rotation of 100 a holding of 30 leaves 70 for one hop.
#[test]
fn a_token_may_travel_for_all_that_holdings_leave() {
    let parameters = |latency| TokenRingParameters {
        rotation: Span::from_us(100),
        holding: vec![Span::from_us(30)],
        latency,
        handling: Span::ZERO,
    };
    assert_eq!(parameters(Span::from_us(70)).check(), Ok(()));
    assert!(parameters(Span::from_us(70) + Span::from_ps(1)).check().is_err());
}

/// The token reaches station 0 at 40. A reset at 80, 10 after the holding, is an overrun like any
/// other; and the token departs.
#[test]
fn a_reset_while_sending_pays_for_its_overrun() {
    let mut ring = ring(100, &[30, 30], 0);
    ring.request(us(0), 0);
    ring.timer(us(40));
    assert_eq!(ring.poll_output(), Some(MediumOutput::Grant(0)));
    // Another's reset is no business of the holder's.
    ring.request(us(45), 1);
    ring.withdraw(us(50), 1);
    assert_eq!(ring.next_deadline(), None);
    ring.request(us(60), 1);
    ring.withdraw(us(80), 0);
    assert_eq!(ring.poll_output(), Some(MediumOutput::Grant(1)));
    let report = ring.report()[0];
    assert_eq!((report.overrun, report.held, report.holdings), (Span::from_us(10), Span::from_us(40), 1));
}

/// From 40 station 0 sends until 50 and has more that is not ready, so it keeps the token. A
/// withdrawal by station 1 does not release it; one by station 0, at 60, does at once.
#[test]
fn a_reset_of_a_holder_that_does_not_send_lets_the_token_go() {
    let mut ring = ring(100, &[30, 30], 0);
    ring.request(us(0), 0);
    ring.timer(us(40));
    ring.sent(us(50), 0, true);
    ring.request(us(52), 1);
    ring.withdraw(us(55), 1);
    assert_eq!((ring.poll_output(), ring.next_deadline()), (Some(MediumOutput::Grant(0)), Some(us(70))));
    ring.request(us(57), 1);
    ring.withdraw(us(60), 0);
    assert_eq!((ring.poll_output(), ring.next_deadline()), (Some(MediumOutput::Grant(1)), None));
    assert_eq!(ring.report()[0].held, Span::from_us(20));
}

/// A frame from 70 to 570 in a holding of 30 owes 470. The token arrives at 640 and every 70, and
/// the debt is paid by 15 holdings and a part of the one at 1690, of which 10 are left. A late
/// update of all this, at 1695, has the same result.
#[test]
fn what_is_looked_at_late_has_happened_all_the_same() {
    let mut ring = ring(100, &[30], 0);
    ring.request(us(0), 0);
    ring.timer(us(70));
    ring.sent(us(570), 0, true);
    ring.request(us(570), 0);
    assert_eq!(ring.poll_output(), Some(MediumOutput::Grant(0)));
    ring.timer(us(1695));
    assert_eq!(ring.poll_output(), Some(MediumOutput::Grant(0)));
    let report = ring.report()[0];
    assert_eq!((report.passed_over, report.missed, report.holdings, report.grants), (15, 0, 2, 2));
    assert_eq!(report.longest_wait, Span::from_us(1690 - 570));
}

/// The token is there 70-100, and the next call is at 120: the holding is missed, the next begins
/// at 140.
#[test]
fn a_holding_that_nobody_looked_at_is_missed() {
    let mut ring = ring(100, &[30], 0);
    ring.request(us(0), 0);
    ring.timer(us(120));
    assert_eq!((ring.poll_output(), ring.report()[0].missed), (None, 1));
    assert_eq!(ring.next_deadline(), Some(us(140)));
    ring.timer(us(140));
    assert_eq!((ring.poll_output(), ring.report()[0].holdings), (Some(MediumOutput::Grant(0)), 1));
}

/// A hundred thousand seconds are a hundred thousand million rotations of an idle token, which are
/// not simulated one by one.
#[test]
fn an_idle_token_is_found_after_any_time() {
    let mut ring = ring(2, &[1], 0);
    let late = Time::ZERO + Span::from_secs(100_000);
    ring.request(late + Span::from_ns(400), 0);
    assert_eq!(ring.next_deadline(), Some(late + Span::from_us(1)));
}

/// A frame of 150 in a holding of 30 owes 120, and the token departs at 220. No station requests it
/// at 290, 360, 430 and 500, which pays the debt, so a request at 1000 has all of the holding at
/// 1060.
#[test]
fn what_is_owed_is_paid_off_while_nobody_sends() {
    let mut ring = ring(100, &[30], 0);
    let frame = |ready, takes| (us(ready), Span::from_us(takes));
    let load = vec![frame(0, 150), frame(1000, 20), frame(1000, 10), frame(1000, 10)];
    let sent = run(&mut ring, &[load], us(2000));
    assert_eq!(times(&sent), [(0, 70, 220), (0, 1060, 1080), (0, 1080, 1090), (0, 1160, 1170)]);
    assert_eq!(ring.report()[0].passed_over, 0);
}
