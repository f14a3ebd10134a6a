//! Packets that nobody sees for a while, instant by instant. That they are where they would be step by step is a property of `tests/adapter.rs`.

use super::*;

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Four packets go through the first stage unseen, 10 each. The link has the first from 10 on and asks for the medium, the second has its only place; so the third, done at 30, holds up the fourth, which is
/// served when it has gone: at 130, since the medium is granted at 100 and the link takes 30.
#[test]
fn who_cannot_go_on_holds_up_those_that_are_unseen() {
    let narrow = Queue { slots: Some(1), ..queue(Takes::All, Order::Fifo, 0) };
    let link = Phase { medium: true, ..phase(30, None) };
    let stages = vec![
        stage("copy", vec![phase(10, None)]),
        Stage { queues: vec![narrow], ..stage("link", vec![link]) },
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
                    adapter.medium(at(100), Access::Granted);
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
