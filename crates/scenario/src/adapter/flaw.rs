//! Why a description is no adapter, in the terms of the file that it was read from.

use std::ops::Range;

use laxity_model::adapter::{AdapterBuffers, BufferPool, Description, Flaw, LatePolicy, Overload, Stage};
use laxity_qos::discipline::{Class, LEVELS, Tag};
use laxity_qos::virtual_clock::Vtick;
use laxity_units::Time;

use super::places::{Places, Side};

/// Place, reason, and what would be valid.
pub(super) fn explain(
    flaw: &Flaw,
    description: &Description,
    places: &Places,
) -> (Range<usize>, String, String) {
    // The stage of a name for which something is so, on whichever side it stands.
    let stage = |wanted: &str, so: &dyn Fn(&Stage) -> bool| {
        let transmit = description.transmit.iter().zip(&places.transmit);
        let receive = description.receive.iter().zip(&places.receive);
        let mut all = transmit.chain(receive);
        all.find(|(stage, _)| stage.name == wanted && so(stage))
            .map_or(places.whole.clone(), |(_, place)| place.clone())
    };
    let unserved = |stage: &Stage, class| {
        let tag =
            |level| Tag { class, logical_arrival: Time::ZERO, deadline: Time::MAX, tick: Vtick::NONE, level };
        let takes = |tag: &Tag| stage.queues.iter().any(|queue| queue.takes.admits(tag));
        (0..LEVELS as u8).any(|level| !takes(&tag(level)))
    };
    match flaw {
        Flaw::NoStage => (
            places.whole.clone(),
            "the adapter has no stage to transmit with".into(),
            "add `[[adapter.transmit]]` with a `name` and its `phase` list".into(),
        ),
        Flaw::Empty(name) => (
            stage(name, &|stage| stage.phases.is_empty() || stage.servers == 0),
            format!("the stage `{name}` lacks a phase or a server"),
            "give it at least one of each".into(),
        ),
        Flaw::Unserved(name, class) => (
            stage(name, &|stage| unserved(stage, *class)),
            format!("no queue of the stage `{name}` takes {} packets of every level", words(*class)),
            "add a queue that `takes` them, or let one take `\"all\"`".into(),
        ),
        Flaw::NoCommandQueue(class) => (
            places.queues.clone(),
            format!("no command queue takes {} packets of every level", words(*class)),
            "add a queue that `takes` them, or let one take `\"all\"`".into(),
        ),
        Flaw::Medium => {
            let received = places.medium.iter().find(|(side, _)| *side == Side::Receive);
            let place = received.or(places.medium.get(1)).map_or(&places.whole, |(_, place)| place);
            let (reason, help) = match received {
                Some(_) => ("a received frame has left the medium", "keep `medium` to a stage of `transmit`"),
                None => ("a frame goes over the medium once", "keep `medium` at one phase"),
            };
            (place.clone(), reason.into(), help.into())
        }
        Flaw::MediumServers(name) => (
            stage(name, &|stage| stage.phases.iter().any(|phase| phase.medium)),
            format!("the stage `{name}` is on the medium, which carries one frame at a time"),
            "give it one server, and what several can do at once to a stage before it".into(),
        ),
        Flaw::NoRoom(name) => (
            places.whole.clone(),
            format!("{name} has room for nothing"),
            "give it room for at least one".into(),
        ),
        Flaw::Unanswered(received, class) => (
            places.responses.clone(),
            match received {
                true => format!("no response queue takes that {} packets have come in", words(*class)),
                false => format!("no response queue takes what becomes of {} packets", words(*class)),
            },
            "add a queue for it, or let one take `\"all\"` and answer `\"all\"`".into(),
        ),
        Flaw::Batch(name) => (
            stage(name, &|stage| stage.batch > 1),
            format!(
                "the stage `{name}` serves packets together, and not all of its phases are for all of them alike"
            ),
            "let its phases have no sizes, no `takes`, no `medium` and tell nothing, or remove `batch`"
                .into(),
        ),
        Flaw::Answers(number) => (
            places.responses.clone(),
            format!(
                "response queue {} cannot be full so: what is not about a packet that came in cannot be lost",
                number + 1
            ),
            "say `overload = \"block\"`, or `answers = \"received\"` and `overload = \"drop\"`".into(),
        ),
        Flaw::Moderation(number) => (
            places.responses.clone(),
            format!("response queue {} waits for `frames`, and the last would wait for ever", number + 1),
            "add how long they wait, such as `delay = \"50 us\"`".into(),
        ),
        Flaw::Ahead(name) => (
            stage(name, &|stage| stage.ahead.is_some()),
            format!(
                "the stage `{name}` chooses packets ahead of a stage that is not there, or several together"
            ),
            "remove `ahead`, or let the stage have one behind it and no `batch`".into(),
        ),
        Flaw::Late(name) => (
            stage(name, &|stage| stage.queues.iter().any(|queue| queue.late == LatePolicy::Drop)),
            format!("the stage `{name}` is behind the medium, and a frame that has left is not late here"),
            "let a queue before the medium drop what is late".into(),
        ),
        Flaw::Importance(name) => (
            stage(name, &|_| true),
            format!("a queue of the stage `{name}` drops by importance in an order that counts what waits"),
            "let its order be `edf`, `multiclass_edf`, `fixed_priority` or `fifo`".into(),
        ),
        Flaw::GivesWay => {
            let gives = |buffers: &AdapterBuffers| {
                let reserved = matches!(buffers.pool, BufferPool::Reserved { .. });
                reserved && buffers.overload == Overload::Priority || buffers.overload == Overload::Importance
            };
            let place = match gives(&description.transmit_buffers) {
                true => &places.transmit_buffers,
                false => &places.receive_buffers,
            };
            (
                place.clone(),
                "who gives way here may have a buffer that is of no use to others".into(),
                "say `overload = \"drop\"`, or drop by importance at a queue".into(),
            )
        }
        Flaw::Yields(name) => (
            stage(name, &|stage| stage.phases.iter().any(|phase| phase.yields || !phase.trailer.is_zero())),
            format!("the stage `{name}` serves packets together, which are not cut into segments one by one"),
            "remove `batch`, or `yields` and `trailer`".into(),
        ),
        Flaw::Releases(name) => (
            stage(name, &|stage| stage.phases.iter().any(|phase| phase.releases)),
            format!("the stage `{name}` frees buffers of which there is no end"),
            "say how many buffers there are, or remove `releases`".into(),
        ),
        Flaw::Receive(name) if name == "a response queue" && description.receive.is_empty() => (
            places.responses.clone(),
            "a full response queue blocks, and a frame that passes no stage has nowhere to wait".into(),
            "say `overload = \"drop\"`, or add a stage to `receive`".into(),
        ),
        Flaw::Receive(name) => {
            let blocks = |stage: &Stage| {
                stage.queues.iter().any(|queue| queue.slots.is_some() && queue.overload == Overload::Block)
            };
            let first = description.receive.first().filter(|stage| stage.name == *name && blocks(stage));
            let (place, what) = match first {
                Some(_) => (&places.receive[0], format!("the first receive stage `{name}`")),
                None => (&places.receive_buffers, "the pool of receive buffers".into()),
            };
            (
                place.clone(),
                format!("{what} blocks when it is full, and frames cannot wait on the medium"),
                "say `overload = \"drop\"` or `\"priority\"`".into(),
            )
        }
    }
}

fn words(class: Class) -> &'static str {
    match class {
        Class::RealTime => "real-time",
        Class::BestEffort => "best-effort",
    }
}
