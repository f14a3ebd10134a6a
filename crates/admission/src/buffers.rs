//! Room: how many messages and packets of a channel there may be at a time.
//!
//! A bound on time is one on buffers too, and vice versa. A message that finds the queue full is
//! late for ever, and a handler that waits for a packet buffer breaks the guarantee of its channel.
//! The papers give every channel `B_max` messages and `B_max × N_pkts` packets (structuring §3.1)
//! and leave open what happens with less.
//!
//! A conforming message sent at `t` has `ℓ ≤ t + (B_max − 1) I_min`, and one is unfinished only
//! until `ℓ + d`. Logical arrivals are `I_min` apart. So at most `B_max − 1 + q` messages are
//! unfinished at any time, with `q = ⌈d / I_min⌉` of them current.
//!
//! *Messages.* A handler takes one out of the queue, for which one may have been delayed on its way
//! here by an application that waited for the CPU. Where every message has a thread it keeps its
//! place, and the delayed one needs a place more.
//!
//! *Packets.* Handlers that hold make packets of current messages only: `q N_pkts`. A handler that
//! works ahead and *waits* for buffers needs no more. Buffers are taken in the order of messages
//! ([`laxity_qos::channel`] ensures that among threads of one channel as well). So when a message
//! turns current only those of the `q − 1` before it are in use. One that drops, or decays its
//! deadline, where it could have waited must find room for all that is unfinished.
//!
//! *A program's queue* where a channel ends has the messages that are whole and that the program is
//! not done with: current ones, so `q` at most, where handlers do not work ahead.

use super::decision::{Deficit, Impossible, Reason, Scarce};
use super::environment::{Above, Environment, Request};
use laxity_qos::channel::Role;

/// The least room with which `request` keeps what it was promised.
pub(super) fn needed(environment: &Environment, request: &Request) -> (u64, u64) {
    let spec = request.spec();
    let current = request.under_way();
    let unfinished = u64::from(spec.burst) - 1 + current;
    let delayed = environment.interference.iter().any(|work| work.above == Above::Thread);
    let messages = unfinished + u64::from(environment.thread_per_message && delayed);
    let waits = request.buffers().is_none_or(|buffers| buffers.waits);
    let in_packets = if environment.ahead && !waits { unfinished } else { current };
    (messages, in_packets.saturating_mul(spec.fragmentation(environment.packet).packets()))
}

/// Whether `request` has the room it needs, or what is missing.
pub(super) fn check(environment: &Environment, request: &Request) -> Result<(), Impossible> {
    let short = |resource, needed: u64| Err((resource, Deficit::Places(needed), Reason::NoRoom));
    if let Some(program) = request.program()
        && u64::from(program.slots) < request.under_way()
    {
        return short(Scarce::ReaderSlots, request.under_way() - u64::from(program.slots));
    }
    let Some(room) = request.buffers().filter(|_| request.role() == Role::Send) else { return Ok(()) };
    let (messages, packets) = needed(environment, request);
    if u64::from(room.messages) < messages {
        short(Scarce::Messages, messages - u64::from(room.messages))
    } else if room.packets < packets {
        short(Scarce::Packets, packets - room.packets)
    } else {
        Ok(())
    }
}
