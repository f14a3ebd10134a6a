//! Losses without room, and accounting.

use super::*;

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Frames pass two stages of 10 each, and lie in two buffers meanwhile.
fn receiver(overload: Overload) -> Told<Adapter, AdapterOutput> {
    let mut description = description(vec![stage("tx", vec![phase(10, None)])]);
    description.receive = vec![stage("rx", vec![phase(10, None)]), stage("up", vec![phase(10, None)])];
    description.receive_buffers = AdapterBuffers { pool: BufferPool::Shared(2), overload };
    pipeline(description)
}

/// Outcomes of packets up to `until`: number and reception time, or `None` if lost.
fn outcome(adapter: &mut Told<Adapter, AdapterOutput>, until: u64) -> Vec<(u64, Option<u64>)> {
    let mut out = Vec::new();
    let mut now = at(0);
    loop {
        out.extend(std::iter::from_fn(|| adapter.poll_output()).filter_map(|output| match output {
            AdapterOutput::Response(AdapterResponse::Received(p)) => {
                Some((p.message, Some(now.as_ps() / 1_000_000)))
            }
            AdapterOutput::Discarded(p, Loss::Overload) => Some((p.message, None)),
            AdapterOutput::Response(AdapterResponse::Failed(p, Loss::Overload)) => Some((p.message, None)),
            _ => None,
        }));
        match adapter.next_deadline().filter(|next| *next <= at(until)) {
            Some(next) => now = next,
            None => return out,
        }
        adapter.timer(now);
    }
}

/// Best effort 0 is being served and 1 waits; they have the buffers. Real time 7 takes the one of
/// 1, where real time may; best effort 8 takes none.
#[test]
fn a_received_frame_of_real_time_takes_the_buffer_of_one_that_waits() {
    for (overload, expected) in [
        (Overload::Priority, vec![(1, None), (8, None), (0, Some(20)), (7, Some(30))]),
        (Overload::Drop, vec![(7, None), (8, None), (0, Some(20)), (1, Some(30))]),
    ] {
        let mut adapter = receiver(overload);
        adapter.receive(at(0), &packet(0, Class::BestEffort, 0));
        adapter.receive(at(0), &packet(1, Class::BestEffort, 0));
        adapter.receive(at(1), &packet(7, Class::RealTime, 0));
        adapter.receive(at(1), &packet(8, Class::BestEffort, 0));
        // One is served and one waits, whichever it is.
        let waiting: Vec<_> = adapter.stages(at(1)).iter().map(|stage| stage.waiting).collect();
        assert_eq!((adapter.buffers_in_use(), waiting), (2, vec![0, 1, 0]));
        assert_eq!(outcome(&mut adapter, 100), expected, "{overload:?}");
        assert_eq!((adapter.buffers_in_use(), adapter.held(), adapter.most_received()), (0, 0, 2));
    }
}

/// A stopped adapter gives up no packet, and accepts none though it has room.
#[test]
fn an_adapter_that_stands_still_receives_nothing() {
    let mut adapter = receiver(Overload::Priority);
    adapter.receive(at(0), &packet(0, Class::BestEffort, 0));
    adapter.receive(at(0), &packet(1, Class::BestEffort, 0));
    adapter.break_down(at(1), AdapterBreakdown::Stop, true);
    adapter.receive(at(2), &packet(7, Class::RealTime, 0));
    assert_eq!(outcome(&mut adapter, 100), [(7, None)]);
    adapter.reset(at(100));
    adapter.break_down(at(100), AdapterBreakdown::Stop, true);
    adapter.receive(at(101), &packet(8, Class::RealTime, 0));
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
        let command = packet(number, Class::BestEffort, 0);
        assert!(adapter.transmit(at(0), &command), "there is room");
    }
    adapter.receive(at(0), &packet(9, Class::BestEffort, 0));
    assert_eq!((adapter.buffers_in_use(), adapter.held()), (4, 4));
}

/// One packet goes through three stages: 10; then 10, 20 on the medium and 10, of which phase
/// `asks` is answered by the host; and 10 more. Another is received in 100. At `us` the adapter is
/// reset, having stood still since `stop`, when the host gave its answer; how the two were lost,
/// and for how long the second stage was at work.
fn lost(asks: Option<usize>, stop: Option<u64>, us: u64) -> (Loss, u64) {
    let on_medium = Phase { medium: true, ..phase(20, None) };
    let mut phases = vec![phase(10, None), on_medium, phase(10, None)];
    if let Some(asks) = asks {
        phases[asks].tells = Tells::Handshake;
    }
    let stages =
        vec![stage("in", vec![phase(10, None)]), stage("link", phases), stage("out", vec![phase(10, None)])];
    let mut description = description(stages);
    description.receive = vec![stage("rx", vec![phase(100, None)])];
    let mut adapter = pipeline(description);
    adapter.own_the_link();
    assert!(adapter.transmit(at(0), &packet(0, Class::BestEffort, 0)), "there is room");
    adapter.receive(at(0), &packet(9, Class::BestEffort, 0));
    while let Some(next) = adapter.next_deadline().filter(|next| *next <= at(stop.unwrap_or(us))) {
        adapter.timer(next);
    }
    if let Some(stop) = stop {
        adapter.break_down(at(stop), AdapterBreakdown::Stop, true);
        let answer = packet(0, Class::BestEffort, 0);
        adapter.proceed(at(stop), &answer);
    }
    adapter.reset(at(us));
    let (mut sent, mut received) = (None, None);
    while let Some(output) = adapter.poll_output() {
        match output {
            AdapterOutput::Response(AdapterResponse::Failed(_, loss)) => sent = Some(loss),
            AdapterOutput::Discarded(_, loss) => received = Some(loss),
            _ => {}
        }
    }
    assert_eq!((received, adapter.held(), adapter.buffers_in_use()), (Some(Loss::Reset), 0, 0));
    let busy = adapter.stages(at(us)).into_iter().nth(1).expect("it is the second").busy;
    (sent.expect("it was lost"), busy.as_ps() / 1_000_000)
}

/// On the medium from 20 to 40: a reset before loses the packet, one after only the news of it.
#[test]
fn a_reset_behind_the_medium_loses_the_confirmation() {
    use Loss::{Reset, Unconfirmed};
    for (us, loss, busy) in
        [(5, Reset, 0), (15, Reset, 5), (30, Reset, 20), (45, Unconfirmed, 35), (55, Unconfirmed, 40)]
    {
        assert_eq!(lost(None, None, us), (loss, busy), "at {us}");
    }
    // Waiting for the host's answer since 20, before the medium; or since 40, behind it; and with
    // the answer, standing still.
    assert_eq!(lost(Some(0), None, 25), (Reset, 10));
    assert_eq!(lost(Some(0), Some(25), 26), (Reset, 10));
    assert_eq!(lost(Some(1), None, 45), (Unconfirmed, 30));
    assert_eq!(lost(Some(1), Some(45), 46), (Unconfirmed, 30));
}

/// Reserved buffers are buffers, and one too many of a channel is lost where it may not wait.
#[test]
fn a_channel_without_a_buffer_of_its_own_loses_its_packet() {
    for (overload, failed) in [(Overload::Drop, vec![(2, None)]), (Overload::Block, vec![])] {
        let mut description = description(vec![stage("tx", vec![phase(10, None)])]);
        description.transmit_buffers = AdapterBuffers { pool: BufferPool::PerChannel(2), overload };
        let mut adapter = pipeline(description);
        for number in 0..3 {
            let command = packet(number, Class::BestEffort, 0);
            assert!(adapter.transmit(at(0), &command), "there is room");
        }
        assert_eq!(adapter.buffers_in_use(), 2);
        assert_eq!(outcome(&mut adapter, 100), failed, "{overload:?}");
        assert_eq!(adapter.buffers_in_use(), 0);
    }
}

/// Whether more follow is said with each of two frames that are there from the start, without a
/// medium, or with one and a stage before it that only selects: that takes 30 and the medium 20, so
/// the second is still there when the first has been sent.
#[test]
fn more_may_follow_from_the_stages_before() {
    let select = Phase { work: true, ..phase(30, None) };
    let on_medium = Phase { medium: true, ..phase(20, None) };
    for stages in [
        vec![stage("a", vec![phase(30, None)]), stage("b", vec![phase(20, None)])],
        vec![stage("a", vec![select]), stage("b", vec![on_medium])],
    ] {
        let mut adapter = pipeline(description(stages));
        if adapter.asks_for_medium() {
            adapter.own_the_link();
        }
        for number in 0..2 {
            let command = packet(number, Class::BestEffort, 0);
            assert!(adapter.transmit(at(0), &command), "there is room");
        }
        let mut frames = Vec::new();
        while let Some(next) = adapter.next_deadline() {
            adapter.timer(next);
            frames.extend(std::iter::from_fn(|| adapter.poll_output()).filter_map(|output| match output {
                AdapterOutput::Frame { packet, more } => Some((packet.message, more)),
                _ => None,
            }));
        }
        assert_eq!(frames, [(0, true), (1, false)]);
    }
}
