//! Interrupts of frames that arrive, where an adapter moderates them.
//!
//! A frame costs the host the reading of its response. An interrupt announces all responses of its
//! queue, and its cost is for all of them. Without moderation each frame interrupts. With it, the
//! interrupts of a queue in a time `Δ` are limited in two ways
//! ([`Moderation::due`](laxity_model::adapter::Moderation::due)):
//!
//! - *By time.* Two interrupts are `interval` apart. An interrupt that waits for the `delay` of its
//!   first response is as much later than the interrupt before, for that response was written after
//!   it. So there are `1 + Δ/delay` of these at most.
//! - *By number.* Another interrupt has `F` responses, which were written since the one before. Of
//!   `n` frames there are `1 + n/F` such interrupts at most, and each frame pays for `1/F`.
//!
//! A response about a packet that was sent pays for an interrupt of its own in every analysis, so
//! interrupts that announce such a response are paid for.
//!
//! Where few frames arrive, fewer interrupts follow from one for each frame. Both ways are valid,
//! and a station has a table for each (`analyses.rs`).

use laxity_admission::{Above, Interference};
use laxity_model::adapter::{Answers, Moderation, Notification, ResponseQueue};
use laxity_units::Span;

use crate::experiment::{Adapter, Experiment};

/// The CPU time of interrupts by arriving frames.
pub(super) struct Moderated {
    /// Of each frame: its response, and its part of interrupts by number.
    pub(super) each: Span,
    /// All other interrupts.
    pub(super) others: Vec<Interference>,
}

/// The interrupts of frames that arrive at `node`, if all of them are moderated.
pub(super) fn moderated(experiment: &Experiment, node: usize) -> Option<Moderated> {
    let host = experiment.host(node);
    let [attached] = &experiment.nodes.get(node)?.adapters[..] else { return None };
    let Adapter::Described(description) = &experiment.adapters[attached.adapter] else { return None };
    let interface = &description.interface;
    if interface.notification != Notification::Interrupt || host.driver.watchdog.is_some() {
        return None;
    }
    let channels = experiment.channels.iter().filter(|channel| channel.comes_to(node)).count() as u64;
    let (mut part, mut others) = (Span::ZERO, Vec::new());
    for queue in interface.responses.iter().filter(|queue| queue.answers != Answers::Sent) {
        let ResponseQueue { answers: _, takes: _, slots: _, overload: _, moderation, spread } = *queue;
        let Moderation { frames, delay, interval } = moderation;
        // By time alone, or the rest by number.
        let (burst, apart, frames) = match frames {
            Some(frames) if interval.is_zero() => (2, delay, Some(frames)),
            Some(_) => (1, interval, None),
            None => (1, delay.max(interval), None),
        };
        if apart.is_zero() {
            return None;
        }
        // A channel has one of several equal queues.
        let cost = host.costs.interrupt.saturating_mul(u64::from(spread).min(channels));
        others.push(Interference {
            above: Above::Interrupt,
            cost,
            adapter: Span::ZERO,
            burst,
            interval: apart,
        });
        part = part.max(frames.map_or(Span::ZERO, |frames| {
            Span::from_ps(host.costs.interrupt.as_ps().div_ceil(u64::from(frames)))
        }));
    }
    (channels > 0 && !others.is_empty())
        .then(|| Moderated { each: host.costs.response.saturating_add(part), others })
}
