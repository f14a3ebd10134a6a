//! Interrupts for responses, where an adapter moderates them.
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
//! A response about a packet that was sent pays for an interrupt of its own, so interrupts that announce
//! such a response are paid for. Where the host hands packets over as it makes them, or completions are
//! counted by packets, responses about sent packets may be counted in the same two ways: their
//! interrupts are work above the handlers, of which starts and completions take what is left.
//!
//! Where few frames arrive, fewer interrupts follow from one for each frame. All ways are valid,
//! and a station has a table for each (`analyses.rs`).

use laxity_admission::{Above, Interference};
use laxity_model::adapter::{Answers, Moderation, Notification, ResponseQueue};
use laxity_units::Span;

use crate::experiment::{AdapterSpec, ChannelSpec, Experiment};

/// The responses of which the moderation of the adapter counts the interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ByModeration {
    /// None: each response interrupts.
    #[default]
    Nothing,
    /// Those about frames that arrive.
    Arrivals,
    /// All.
    All,
}

/// The CPU time of interrupts that are moderated.
pub(super) struct Moderated {
    /// Of each packet: its response, and its part of interrupts by number.
    pub(super) each: Span,
    /// All other interrupts.
    pub(super) others: Vec<Interference>,
}

/// The interrupts at `node` for such responses, if all of them are moderated.
pub(super) fn moderated(experiment: &Experiment, node: usize, which: ByModeration) -> Option<Moderated> {
    let counts = |answers: Answers| match which {
        ByModeration::Nothing => false,
        ByModeration::Arrivals => answers != Answers::Sent,
        ByModeration::All => true,
    };
    let host = experiment.host(node);
    let [attached] = &experiment.nodes.get(node)?.adapters[..] else { return None };
    let AdapterSpec::Described(description) = &experiment.adapters[attached.adapter] else { return None };
    let interface = &description.interface;
    if interface.notification != Notification::Interrupt || host.driver.watchdog.is_some() {
        return None;
    }
    let passes = |channel: &&ChannelSpec| match which {
        ByModeration::All => channel.is_at(node),
        ByModeration::Nothing | ByModeration::Arrivals => channel.comes_to(node),
    };
    let channels = experiment.channels.iter().filter(passes).count() as u64;
    let (mut part, mut others) = (Span::ZERO, Vec::new());
    for queue in interface.responses.iter().filter(|queue| counts(queue.answers)) {
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
