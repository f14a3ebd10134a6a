//! The contract that all media keep, whichever it is.

use laxity_engine::Seed;
use laxity_units::Rate;

use super::*;

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Two stations of each: links of their own, a ring with its token at station 1 at 50 first, and 10
/// Mbit/s.
fn media() -> [Medium; 3] {
    let holding = vec![Span::from_us(30); 2];
    let (latency, handling) = (Span::ZERO, Span::ZERO);
    let ring = TokenRingParameters { rotation: Span::from_us(110), holding, latency, handling };
    let rate = Rate::from_bits_per_sec(10_000_000);
    let csma = CsmaParameters { rate, stations: 2, propagation: Span::from_us(5), others: None };
    [
        Medium::PointToPoint(PointToPoint::new(2)),
        Medium::TokenRing(TokenRing::new(ring).unwrap()),
        Medium::Csma(Csma::new(csma, Seed::new(0).stream("medium")).unwrap()),
    ]
}

/// The next output of the medium, with its time: now, or when its timers are due.
fn next(medium: &mut Medium, now: Time) -> Option<(Time, MediumOutput)> {
    let mut now = now;
    loop {
        if let Some(output) = medium.poll_output() {
            return Some((now, output));
        }
        now = medium.next_deadline()?;
        medium.timer(now);
    }
}

/// Station 1 asks at 10 for two frames of 60; the second goes after the gap of 9.6, or when the
/// ring has paid for it: the token arrived at 50, the frame ends at 110, 30 too late, so the next
/// holding at 160 is zero, and the one after it at 210.
#[test]
fn a_frame_is_asked_for_granted_and_sent() {
    let second = [us(110), us(210), us(10 + 60) + Span::from_ns(9600)];
    for (mut medium, (first, second)) in
        media().into_iter().zip([us(10), us(50), us(10)].into_iter().zip(second))
    {
        medium.request(us(10), 1);
        assert_eq!(next(&mut medium, us(10)), Some((first, MediumOutput::Grant(1))));
        let end = first + Span::from_us(60);
        medium.sent(end, 1, true);
        let end = if matches!(medium, Medium::PointToPoint(_)) { us(110) } else { end };
        medium.request(end, 1);
        assert_eq!(next(&mut medium, end).map(|(at, _)| at), Some(second), "{medium:?}");
        let grants = match medium.report() {
            MediumReport::PointToPoint(grants) => grants.to_vec(),
            MediumReport::TokenRing(stations) => stations.iter().map(|station| station.grants).collect(),
            MediumReport::Csma(report) => report.stations.iter().map(|station| station.attempts).collect(),
        };
        assert_eq!(grants, [0, 2]);
    }
}

#[test]
fn what_is_withdrawn_is_not_granted() {
    for mut medium in media() {
        medium.request(us(10), 1);
        medium.withdraw(us(10), 1);
        assert_eq!(next(&mut medium, us(10)), None, "{medium:?}");
        // It may ask again.
        medium.request(us(100), 1);
        assert!(matches!(next(&mut medium, us(100)), Some((_, MediumOutput::Grant(1)))));
    }
}

#[test]
fn only_where_frames_collide_have_they_a_least_length() {
    let shortest = media().map(|medium| medium.shortest_frame());
    assert_eq!(shortest, [Span::ZERO, Span::ZERO, Span::from_ns(51_200)]);
}

#[test]
fn a_medium_says_to_whom_it_speaks() {
    let all = [MediumOutput::Grant(3), MediumOutput::Abort(4), MediumOutput::GiveUp(5)];
    assert_eq!(all.map(MediumOutput::station), [3, 4, 5]);
}

#[test]
fn an_error_names_the_parameter_and_what_would_be_valid() {
    let error = NetworkError::new("rate", "is zero", "a rate above zero");
    assert_eq!((error.parameter(), error.reason(), error.valid()), ("rate", "is zero", "a rate above zero"));
    assert_eq!(error.to_string(), "the network's rate is zero; valid is a rate above zero");
}
