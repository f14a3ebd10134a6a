//! The adapter of a link: interrupt moderation, rings, queues and cores.

use laxity_model::adapter::{Answers, Description, Moderation, Notification, ResponseQueue};
use laxity_qos::channel::LinkId;
use laxity_world::experiment::{AdapterSpec, Experiment};

use super::missing::Missing;
use super::section::{Section, microseconds};

pub(super) fn write(
    experiment: &Experiment,
    node: usize,
    link: LinkId,
    place: &str,
    section: &mut Section,
    missing: &mut Missing,
) {
    if let AdapterSpec::Described(description) = experiment.adapter_of(node, link) {
        described(description, place, section, missing);
    }
    if experiment.cores(node) > 1 {
        let cores = &experiment.nodes[node].adapters[usize::from(link.0)].interrupts;
        let cores: Vec<String> = cores.iter().map(|core| core.0.to_string()).collect();
        section.line(format!("affinity \"$dev\" {}", cores.join(" ")));
    }
}

fn described(description: &Description, place: &str, section: &mut Section, missing: &mut Missing) {
    let interface = &description.interface;
    let of = |side: Answers| -> Vec<&ResponseQueue> {
        let takes = |queue: &&ResponseQueue| queue.answers == Answers::All || queue.answers == side;
        interface.responses.iter().filter(takes).collect()
    };
    let (received, sent) = (of(Answers::Received), of(Answers::Sent));
    match interface.notification {
        Notification::Interrupt => {
            let settings = [("rx", &received), ("tx", &sent)].map(|(side, queues)| {
                let all: Vec<Moderation> = queues.iter().map(|queue| queue.moderation).collect();
                if all.windows(2).any(|pair| pair[0] != pair[1]) {
                    missing.at(place, "different interrupt moderation of an adapter's queues: the first counts");
                }
                all.first().map_or(String::new(), |first| moderation(side, first, place, missing))
            });
            let settings = settings.concat();
            if !settings.is_empty() {
                section.line(format!("ethtool -C \"$dev\"{settings}"));
            }
        }
        Notification::Poll(interval) => missing.at(
            place,
            format!("polling of the adapter each {interval}; `napi_defer_hard_irqs` and `gro_flush_timeout` are near that"),
        ),
    }
    let rings = [
        ("rx", received.iter().find_map(|queue| queue.slots)),
        ("tx", interface.queues.iter().find_map(|queue| queue.slots)),
    ];
    let rings: Vec<String> =
        rings.iter().filter_map(|(side, slots)| Some(format!(" {side} {}", (*slots)?))).collect();
    if !rings.is_empty() {
        section.line(format!("ethtool -G \"$dev\"{}", rings.concat()));
    }
    let queues: u32 = interface.queues.iter().map(|queue| queue.spread).sum();
    if queues > 1 {
        section.line(format!("ethtool -L \"$dev\" combined {queues}"));
    }
    if interface.queues.len() > 1 {
        missing.at(place, "queues of an adapter by class of packet: its driver chooses one by a hash");
    }
}

/// The options of `ethtool -C` for one direction.
fn moderation(side: &str, moderation: &Moderation, place: &str, missing: &mut Missing) -> String {
    let Moderation { frames, delay, interval } = *moderation;
    if moderation.is_none() {
        return String::new();
    }
    // Many adapters have one time, which is the least between interrupts.
    let time = if delay.is_zero() { interval } else { delay };
    if !delay.is_zero() && !interval.is_zero() {
        missing.at(place, "the least time between interrupts beside the delay of a response");
    }
    let frames = frames.map_or(String::new(), |frames| format!(" {side}-frames {frames}"));
    format!(" {side}-usecs {}{frames}", microseconds(time))
}
