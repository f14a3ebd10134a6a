//! Costs of a packet's transmission, whichever option starts it: of the CPU, of the adapter, and
//! once.

use laxity_units::Span;

use super::environment::{Environment, Request};
use super::population::Population;
use super::terms::{Ratio, Term, ps, span};

/// For how long packets selected before may keep the adapter, and what their completions cost: `D
/// L_max` and `D C_i`.
pub(super) fn in_adapter(environment: &Environment, population: &Population) -> (u128, u128) {
    let Some(largest) = population.with_adapter() else { return (0, 0) };
    let depth = u128::from(environment.depth);
    let announced = environment.link.interrupts();
    let interrupts = ps(environment.host.interrupt) * u128::from(announced.all);
    // An adapter that waits for interrupts waits for those of packets behind as well.
    let others = match announced.waited_for {
        0 => 0,
        _ => (interrupts + ps(environment.host.link_scheduling)) * depth,
    };
    (ps(environment.link.transmit(largest)) * depth, interrupts * depth + others)
}

/// Time of the link phase charged once, whichever packet is transmitted.
pub(super) fn once_behind<'a>(environment: &'a Environment, population: &Population) -> &'a [Term] {
    if population.largest_packet.is_some() { environment.link.once() } else { &[] }
}

/// Time of the link phase of all packets of a message, with `each` beside the transmission of each.
pub(super) fn message(environment: &Environment, asked: &Request, each: u128) -> Span {
    let Environment { link, packet, .. } = environment;
    let fragmentation = asked.spec().fragmentation(*packet);
    let full = ps(link.transmit(*packet)).saturating_add(each);
    let last = ps(link.transmit(fragmentation.last())).saturating_add(each);
    span(full.saturating_mul(u128::from(fragmentation.packets() - 1)).saturating_add(last))
}

/// CPU cost of a packet's start and all its interrupts.
pub(super) fn start(environment: &Environment) -> u128 {
    let interrupts = u128::from(environment.link.interrupts().all);
    ps(environment.host.link_scheduling) + ps(environment.host.interrupt) * interrupts
}

/// Packets with interrupts that may fall into no time at all, beside those that their spacing
/// allows.
pub(super) fn completions_at_once(environment: &Environment) -> u128 {
    let depth = u128::from(environment.depth);
    match environment.link.interrupts().all {
        _ if environment.link.is_alone() => 1,
        1 => depth,
        // Those under way, those that arrive for them, and once more, since a packet's are spread
        // over its way.
        _ => 3 * depth,
    }
}

/// Time that the crossing packet may add beside the share counted with its message.
pub(super) fn crossing(
    environment: &Environment,
    population: &Population,
    stretch: Ratio,
    per_block: u128,
    per_start: u128,
) -> u128 {
    let Some(largest) = population.largest_real_time else { return 0 };
    let on_cpu = stretch.scale(population.longest_work + per_block);
    let on_link = ps(environment.link.transmit(largest)) + per_start;
    on_cpu.min(on_link)
}
