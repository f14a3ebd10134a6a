//! The express path, instant by instant. A property of `tests/suite/adapter.rs` checks that it
//! agrees with the stepwise simulation.

use super::*;
use crate::adapter::LatePolicy;

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn on_medium(us: u64) -> Phase {
    Phase { medium: true, ..phase(us, None) }
}

/// The only packet asks for the medium at 10, has it at 25, and is through 30 later; a look at the
/// link finds it there from 25 on.
#[test]
fn a_frame_that_is_alone_asks_for_the_medium_and_is_answered() {
    for steps in [false, true] {
        let stages = vec![stage("copy", vec![phase(10, None)]), stage("link", vec![on_medium(30)])];
        let mut adapter = pipeline(description(stages));
        if steps {
            adapter.step_through();
        }
        assert!(adapter.transmit(at(0), &packet(0, Class::RealTime, 0)), "there is room");
        adapter.timer(at(10));
        assert_eq!((adapter.poll_output(), adapter.next_deadline()), (Some(AdapterOutput::Request), None));
        let of_link = |adapter: &Told<Adapter, AdapterOutput>, us| {
            let link = &adapter.stages(at(us))[1];
            (link.busy, link.passed, link.longest, adapter.held())
        };
        assert_eq!(of_link(&adapter, 20), (Span::ZERO, 0, 1, 1));
        adapter.medium(at(25), MediumAccess::Granted);
        assert_eq!(of_link(&adapter, 45), (Span::from_us(20), 0, 1, 1));
        assert_eq!(adapter.next_deadline(), Some(at(55)));
        adapter.timer(at(55));
        let said: Vec<AdapterOutput> = std::iter::from_fn(|| adapter.poll_output()).collect();
        let frame = matches!(said[0], AdapterOutput::Frame { more: false, .. });
        assert!(
            frame && matches!(said[1..], [AdapterOutput::Response(AdapterResponse::Transmitted(_))]),
            "{said:?}"
        );
        assert_eq!(of_link(&adapter, 60), (Span::from_us(30), 1, 1, 0), "step by step: {steps}");
        // The next one is padded.
        adapter.pad_frames_to(Span::from_us(40));
        assert!(adapter.transmit(at(60), &packet(1, Class::RealTime, 0)), "there is room");
        adapter.timer(at(70));
        adapter.medium(at(70), MediumAccess::Granted);
        assert_eq!(adapter.next_deadline(), Some(at(110)), "step by step: {steps}");
    }
}

/// A frame of zero time has left at the instant of its grant, and not at the next call.
#[test]
fn a_frame_without_length_has_left_when_it_is_granted() {
    let stages = vec![stage("copy", vec![phase(10, None)]), stage("link", vec![on_medium(0)])];
    let mut adapter = pipeline(description(stages));
    assert!(adapter.transmit(at(0), &packet(0, Class::RealTime, 0)), "there is room");
    adapter.timer(at(10));
    adapter.poll_output();
    adapter.medium(at(25), MediumAccess::Granted);
    assert!(matches!(adapter.poll_output(), Some(AdapterOutput::Frame { .. })));
}

/// Where the last stage drops late packets, a lone packet is checked, too: this one is there at 10
/// and was due at 8.
#[test]
fn who_is_late_for_the_medium_does_not_ask_for_it() {
    let queues = vec![Queue { late: LatePolicy::Drop, ..Queue::default() }];
    let stages =
        vec![stage("copy", vec![phase(10, None)]), Stage { queues, ..stage("link", vec![on_medium(30)]) }];
    let mut adapter = pipeline(description(stages));
    let late = packet(0, Class::RealTime, 8);
    let late = Packet { carried: Carried { due: late.tag.deadline, ..late.carried }, ..late };
    assert!(adapter.transmit(at(0), &late), "there is room");
    adapter.timer(at(10));
    let said: Vec<AdapterOutput> = std::iter::from_fn(|| adapter.poll_output()).collect();
    assert!(
        matches!(said[..], [AdapterOutput::Response(AdapterResponse::Failed(_, Loss::Late))]),
        "{said:?}"
    );
}

/// Four packets go through the first stage unseen, 10 each. The link has the first from 10 on and
/// asks for the medium, the second has its only place; so the third, done at 30, holds up the
/// fourth, which is served when it has gone: at 130, since the medium is granted at 100 and the
/// link takes 30.
#[test]
fn who_cannot_go_on_holds_up_those_that_are_unseen() {
    let narrow = Queue { slots: Some(1), ..queue(Takes::All, Order::Fifo, 0) };
    let stages = vec![
        stage("copy", vec![phase(10, None)]),
        Stage { queues: vec![narrow], ..stage("link", vec![on_medium(30)]) },
    ];
    for steps in [false, true] {
        let mut adapter = pipeline(description(stages.clone()));
        adapter.record();
        if steps {
            adapter.step_through();
        }
        for (_, packet) in best_effort(&[0, 0, 0, 0]) {
            assert!(adapter.transmit(at(0), &packet), "there is room");
        }
        let (mut served, mut granted) = (Vec::new(), false);
        loop {
            let next = adapter.next_deadline().filter(|next| granted || *next < at(100));
            match next {
                Some(now) => adapter.timer(now),
                None if !granted => {
                    assert_eq!((adapter.held(), adapter.stages(at(100))[0].waiting), (4, 1));
                    granted = true;
                    adapter.medium(at(100), MediumAccess::Granted);
                }
                None => break,
            }
            served.extend(std::iter::from_fn(|| adapter.poll_output()).filter_map(|output| match output {
                AdapterOutput::Passed(Passage { stage: 0, began, ended, .. }) => Some((began, ended)),
                _ => None,
            }));
        }
        let expected = [(0, 10), (10, 20), (20, 30), (130, 140)].map(|(began, ended)| (at(began), at(ended)));
        assert_eq!(served, expected, "step by step: {steps}");
    }
}
