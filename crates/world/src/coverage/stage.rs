//! A stage of a described adapter as the proof sees it: what it takes for a packet, without the
//! queues before it, of which `row.rs` and `lines.rs` say whether they matter.

use laxity_admission::station;
use laxity_model::adapter::{Phase, Stage, Takes, Tells};
use laxity_qos::costs::{Delay, LinkCosts};
use laxity_units::{Bytes, Span};

/// A stage without its queues.
pub(super) fn served(stage: &Stage) -> station::StationStage {
    // For `ahead` see `row.rs`; on the receive path the foremost frame blocks no other.
    let Stage { name, servers, batch, linger, queues: _, selection: _, phases, ahead: _ } = stage;
    station::StationStage {
        name: name.clone(),
        places: None,
        selects: phases.iter().all(|phase| phase.work),
        phases: phases.iter().map(phase).collect(),
        servers: *servers,
        batch: *batch,
        linger: if *batch > 1 { *linger } else { Span::ZERO },
    }
}

/// A phase, for any packet.
pub(super) fn phase(phase: &Phase) -> station::StationPhase {
    // The owner of the time does not matter once a description is read; for buffers see `behind` of
    // `station.rs`.
    let Phase {
        delay,
        takes,
        from,
        up_to,
        holds,
        priority,
        work: _,
        medium,
        tells,
        since_service,
        releases: _,
        // See `whole` there.
        yields: _,
        trailer: _,
    } = phase;
    station::StationPhase {
        delay: *delay,
        from: *from,
        up_to: *up_to,
        holds: holds.clone(),
        rank: *priority,
        since_service: *since_service,
        tells: match tells {
            Tells::Nothing => station::StationTells::Nothing,
            Tells::Progress => station::StationTells::Progress,
            Tells::Handshake => station::StationTells::Handshake,
        },
        medium: *medium,
        optional: *takes != Takes::All,
    }
}

/// A frame takes what the slower of adapter and link takes; both together in each of their terms is
/// no less.
pub(super) fn slowed(phase: &mut station::StationPhase, link: LinkCosts) {
    let delay = &mut phase.delay;
    delay.fixed = delay.fixed.max(link.transmit(Bytes::ZERO));
    delay.per_byte = delay.per_byte.max(link.per_byte);
    delay.per_byte_past = delay.per_byte_past.max(link.per_byte);
}

/// The largest addition of trailers to the phases of `stage`, behind a `link`, each as an optional
/// phase of its own: with `n + t` bytes there are no more than `⌈n/s⌉ + ⌈t/s⌉` segments, and `t`
/// more bytes at the higher price. With one packet in the adapter the order of its phases does not
/// matter.
pub(super) fn trailers(stage: &Stage, link: LinkCosts) -> impl Iterator<Item = station::StationPhase> {
    stage.phases.iter().filter(|phase| !phase.trailer.is_zero()).map(move |with| {
        let bytes = with.delay.per_byte.max(with.delay.per_byte_past);
        let bytes = if with.medium { bytes.max(link.per_byte) } else { bytes };
        let segments =
            if with.delay.segment.is_zero() { 0 } else { with.trailer.div_ceil(with.delay.segment) };
        let segments = with.delay.per_segment.saturating_mul(segments);
        let fixed = bytes.time(with.trailer).saturating_add(segments);
        let delay = Delay { fixed, ..Delay::default() };
        station::StationPhase {
            delay,
            since_service: false,
            tells: station::StationTells::Nothing,
            medium: false,
            optional: true,
            ..phase(with)
        }
    })
}
