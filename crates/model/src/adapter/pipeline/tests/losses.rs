//! Who is lost when there is no room, and who counts.

use super::*;

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Frames pass two stages of 10 each, and lie in two buffers meanwhile.
fn receiver(overload: Overload) -> Pipeline {
    let mut description = description(vec![stage("tx", vec![phase(10, None)])]);
    description.receive = vec![stage("rx", vec![phase(10, None)]), stage("up", vec![phase(10, None)])];
    description.receive_buffers = Buffers { pool: Pool::Shared(2), overload };
    Pipeline::new(description)
}

/// What became of packets up to `until`, as (number, when it was received) or (number, nothing) if it was lost.
fn outcome(adapter: &mut Pipeline, until: u64) -> Vec<(u64, Option<u64>)> {
    let mut out = Vec::new();
    let mut now = at(0);
    loop {
        out.extend(std::iter::from_fn(|| adapter.poll_output()).filter_map(|output| match output {
            AdapterOutput::Response(Response::Received(p)) => {
                Some((p.message, Some(now.as_ps() / 1_000_000)))
            }
            AdapterOutput::Discarded(p, Loss::Overload) => Some((p.message, None)),
            AdapterOutput::Response(Response::Failed(p, Loss::Overload)) => Some((p.message, None)),
            _ => None,
        }));
        match adapter.next_deadline().filter(|next| *next <= at(until)) {
            Some(next) => now = next,
            None => return out,
        }
        adapter.timer(now);
    }
}

/// Best effort 0 is being served and 1 waits; they have the buffers. Real time 7 takes the one of 1, where real time may; best effort 8
/// takes none.
#[test]
fn a_received_frame_of_real_time_takes_the_buffer_of_one_that_waits() {
    for (overload, expected) in [
        (Overload::Priority, vec![(1, None), (8, None), (0, Some(20)), (7, Some(30))]),
        (Overload::Drop, vec![(7, None), (8, None), (0, Some(20)), (1, Some(30))]),
    ] {
        let mut adapter = receiver(overload);
        adapter.receive(at(0), packet(0, Class::BestEffort, 0));
        adapter.receive(at(0), packet(1, Class::BestEffort, 0));
        adapter.receive(at(1), packet(7, Class::RealTime, 0));
        adapter.receive(at(1), packet(8, Class::BestEffort, 0));
        assert_eq!(adapter.buffers_in_use(), 2);
        assert_eq!(outcome(&mut adapter, 100), expected, "{overload:?}");
        assert_eq!((adapter.buffers_in_use(), adapter.held()), (0, 0));
    }
}

/// Nobody takes anything of an adapter that stands still, and it takes nothing though it has room.
#[test]
fn an_adapter_that_stands_still_receives_nothing() {
    let mut adapter = receiver(Overload::Priority);
    adapter.receive(at(0), packet(0, Class::BestEffort, 0));
    adapter.receive(at(0), packet(1, Class::BestEffort, 0));
    adapter.break_down(at(1), Breakdown::Stop, true);
    adapter.receive(at(2), packet(7, Class::RealTime, 0));
    assert_eq!(outcome(&mut adapter, 100), [(7, None)]);
    adapter.reset(at(100));
    adapter.break_down(at(100), Breakdown::Stop, true);
    adapter.receive(at(101), packet(8, Class::RealTime, 0));
    let lost: Vec<_> = std::iter::from_fn(|| adapter.poll_output()).collect();
    let reset =
        [0, 1].map(|number| AdapterOutput::Discarded(packet(number, Class::BestEffort, 0), Loss::Reset));
    assert_eq!(lost[..2], reset);
    assert_eq!(lost[2..], [AdapterOutput::Discarded(packet(8, Class::RealTime, 0), Loss::Overload)]);
}

/// Buffers of both ways are buffers.
#[test]
fn buffers_in_use_are_those_of_both_ways() {
    let mut adapter = receiver(Overload::Drop);
    for number in 0..3 {
        let command = Command::Transmit(packet(number, Class::BestEffort, 0));
        adapter.command(at(0), command).expect("there is room");
    }
    adapter.receive(at(0), packet(9, Class::BestEffort, 0));
    assert_eq!((adapter.buffers_in_use(), adapter.held()), (4, 4));
}
