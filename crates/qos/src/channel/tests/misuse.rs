//! Calls that name a channel wrongly are refused, and change no state.

use super::*;

const UNKNOWN: ChannelId = ChannelId(7);

#[test]
fn a_closed_channel_sends_no_more() {
    let mut s = Subsystem::new(config());
    let id = s.open(real_time(5));
    s.send(at(0), id, PACKET);
    assert_eq!((s.close(id), s.close(id)), (Ok(()), Ok(())), "to close it twice is no misuse");
    assert_eq!(s.subsystem.send(at(0), id, PACKET), Err(Misuse::Closed(id)));
    assert_eq!(s.counters(id).accepted, 1);
    assert_eq!(drain(&mut s, at(0)).1.len(), 1, "only the first message is sent");
}

#[test]
fn a_number_is_given_once() {
    let mut s = Subsystem::new(config());
    assert_eq!(s.open_as(UNKNOWN, real_time(5)), Ok(()));
    s.send(at(0), UNKNOWN, PACKET);
    assert_eq!(s.open_as(UNKNOWN, real_time(5)), Err(Misuse::NumberTaken(UNKNOWN)));
    assert_eq!((s.lanes.len(), s.handlers.len()), (1, 1), "a refused channel has neither lane nor handler");
    assert_eq!(s.counters(UNKNOWN).accepted, 1);
}

#[test]
fn numbers_may_run_out() {
    let mut s = Subsystem::new(config());
    let last = ChannelId(u32::MAX);
    assert_eq!(s.open_as(last, real_time(5)), Ok(()));
    assert_eq!(s.subsystem.open(real_time(5)), Err(Misuse::NumberTaken(last)));
    assert_eq!(s.open_as(ChannelId(0), real_time(5)), Ok(()), "a number that is free can be named");
}

#[test]
fn an_unknown_channel_is_refused() {
    let mut s = Subsystem::new(config());
    s.open(real_time(5));
    let unknown = Misuse::Unknown(UNKNOWN);
    let slot = s.packets.put(&super::receive::packet(Class::RealTime, 0, 0, 1, 0));
    let Subsystem { subsystem, packets } = &mut s;
    assert_eq!(subsystem.send(at(0), UNKNOWN, PACKET), Err(unknown));
    assert_eq!(subsystem.receive(at(0), UNKNOWN, slot, packets), Err(unknown));
    assert_eq!(packets.len(), 1, "the packet is still the caller's");
    assert_eq!(subsystem.has_room(at(0), UNKNOWN), Err(unknown));
    assert_eq!(subsystem.room(UNKNOWN), Err(unknown));
    assert_eq!(subsystem.application_ready(UNKNOWN), Err(unknown));
    assert_eq!(subsystem.counters(UNKNOWN), Err(unknown));
    assert_eq!(subsystem.buffers_in_use(UNKNOWN), Err(unknown));
    assert_eq!(subsystem.most_buffers(UNKNOWN), Err(unknown));
    assert_eq!(subsystem.close(UNKNOWN), Err(unknown));
    assert_eq!(subsystem.forget(UNKNOWN), Err(unknown));
    assert_eq!(s.next_step(at(0)), Step::Idle);
}

#[test]
fn a_forgotten_channel_is_unknown() {
    let mut s = Subsystem::new(config());
    let id = s.open(real_time(5));
    assert_eq!(s.close(id), Ok(()));
    assert!(s.forget(id).is_ok_and(|counters| counters.is_some()));
    assert_eq!(s.subsystem.send(at(0), id, PACKET), Err(Misuse::Unknown(id)));
    assert_eq!(Misuse::Unknown(id).to_string(), "channel 0 is not open here");
}
