//! `[[channel]]`: contracts, queues and what is sent.

use laxity_qos::limits::{Limits, MessageLimit};
use laxity_qos::traffic::TrafficSpec;
use laxity_qos::virtual_clock::Vtick;
use laxity_units::Bytes;
use laxity_world::experiment::{ByContract, CopyOf, MOST_SLOTS, unfinished};

mod further;
mod place;
mod rounds;

use further::Further;
use place::{cores_of, ends_of, interface_of, no_reader, program_of, size_of};
pub(super) use rounds::of_rounds;

use super::contract::contract;
use super::source::{Allowed, staggered};
use super::way::Route;
use super::*;
use crate::diagnostic::Diagnostic;
use crate::raw::{RawChannel, RawReader};
use crate::section::{At, Section, first};
use crate::written::List;

pub(super) const LONGEST_BURST: Span = Span::from_secs(30 * 24 * 3600);

pub(super) fn channels(
    cx: &mut Context<'_>,
    library: &mut Library<'_>,
    list: Option<List<Part<RawChannel>>>,
    around: &Surroundings,
) -> Result<Vec<ChannelSpec>, Reported> {
    let raw = cx.items(list)?;
    if raw.is_empty() {
        let help = "add `[[channel]]` with `name`, `class`, `max_message`, `burst` and `source`";
        return Err(cx.fault(&WHOLE, "the scenario has no channel", help));
    }
    let mut outcome = Ok(());
    let mut channels: Vec<ChannelSpec> = Vec::new();
    let mut answers: Vec<(Range<usize>, Spanned<Name>)> = Vec::new();
    let mut named: std::collections::BTreeMap<String, Range<usize>> = Default::default();
    let mut chances = Vec::new();
    for part in raw {
        let Read { channel, after, count, name, routes, further, late } =
            match channel(cx, library, part, around) {
                Ok(read) => read,
                Err(reported) => {
                    outcome = Err(reported);
                    continue;
                }
            };
        if channels.len() + count * (1 + further.len()) > MOST_CHANNELS {
            let reason = format!("with this channel there are more than {MOST_CHANNELS}");
            return Err(cx.fault(&name, reason, "lower a `count`"));
        }
        answers.extend(after.map(|after| (channels.len()..channels.len() + count, after)));
        chances.extend(late.map(|late| (channels.len(), late)));
        let copies = (1..=count).map(|copy| match count {
            1 => channel.name.clone(),
            _ => format!("{}-{copy}", channel.name),
        });
        // A name is taken by its copies, and by itself: sweeps and claims speak of it.
        for (copy, name_of_copy) in (0..).zip(copies) {
            let turn = |routes: &[Route]| routes[copy as usize % routes.len()].clone();
            let receivers =
                further.iter().map(|it| (format!("{name_of_copy}-{}", it.name), &it.span, turn(&it.routes)));
            let all: Vec<(String, &Range<usize>, Route)> =
                std::iter::once((name_of_copy.clone(), &name, turn(&routes))).chain(receivers).collect();
            let taken = |(called, name, _): &(String, &Range<usize>, Route)| {
                Some((called.clone(), (*name).clone(), named.insert(called.clone(), (*name).clone())?))
            };
            if let Some((called, name, other)) = all.iter().find_map(taken) {
                let reason = format!("there are two channels called `{called}`");
                let diagnostic = Diagnostic::new(cx.place(&name), reason)
                    .related(cx.place(&other).label("the other one"))
                    .help("give each channel a name of its own, or one of them a `count`");
                outcome = Err(cx.report(diagnostic));
                break;
            }
            let stagger = channel.stagger.saturating_mul(u64::from(channel.streams));
            let source = staggered(&channel.source, stagger, copy);
            let first = channels.len();
            let legs: Vec<(&Route, &Range<usize>)> =
                all.iter().map(|(_, span, route)| (route, *span)).collect();
            let copies = further::copies(cx, &legs)?;
            for ((name, _, route), copy) in all.into_iter().zip(copies) {
                let Route { stations: route, ways, received } = route;
                let copy = copy.map(|copy| CopyOf { channel: first + copy.channel, ..copy });
                let (channel, source) = (channel.clone(), source.clone());
                channels.push(ChannelSpec { name, source, route, ways, received, copy, ..channel });
            }
        }
    }
    outcome?;
    super::asks::chances(cx, &channels, &chances, around)?;
    for (copies, after) in answers {
        rounds::join(cx, &mut channels, copies, &after, around)?;
    }
    Ok(channels)
}

/// A channel as it was read.
struct Read {
    channel: ChannelSpec,
    /// The channel that it answers.
    after: Option<Spanned<Name>>,
    /// The number of its copies.
    count: usize,
    /// The place of its name.
    name: Range<usize>,
    /// The copies' routes.
    routes: Vec<Route>,
    /// Its further receivers.
    further: Vec<Further>,
    /// The place of its `late`.
    late: Option<Range<usize>>,
}

fn channel(
    cx: &mut Context<'_>,
    library: &mut Library<'_>,
    part: Part<RawChannel>,
    around: &Surroundings,
) -> Result<Read, Reported> {
    let part = cx.part(part)?;
    let owner = part.span();
    let mut raw = part.into_inner();
    let what = match raw.name.as_ref().map(|name| &name.value) {
        Some(Ok(name)) => format!("channel `{}`", name.0),
        _ => "this channel".into(),
    };
    let of_source = raw.source.as_mut().and_then(|part| part.value.as_mut().ok()?.core.take());
    let of_reader = raw.reader.as_mut().and_then(|part| part.value.as_mut().ok()?.core.take());
    let mut keys = raw.read(cx, &owner, &what);
    let count = keys.count.value.map(|count| count.map(|count| count.small() as usize));
    let most = count.ok().flatten().unwrap_or(usize::MAX);
    let routed = keys.route.is_some();
    let routes = around.way.routes(cx, (&keys.from, &keys.to, keys.route.take()), most, &owner);
    let receivers = keys.receivers.as_ref().map(|list| list.span.clone());
    let further = further::further(cx, keys.receivers.take(), (&keys.from, routed), most, around);
    let ends_at = routes.clone().map(|routes| {
        let further = further.iter().flatten().flat_map(|further| further.routes.clone());
        routes.into_iter().chain(further).collect::<Vec<Route>>()
    });
    let said = [keys.core.placed(), cx.optional(of_source), cx.optional(of_reader)];
    let cores = cores_of(cx, said, ends_at.as_deref().unwrap_or_default(), around);
    let ends = ends_of(cx, &ends_at, (&owner, &what), around);
    let interface = interface_of(cx, &keys.interface, &owner, &what, &ends);
    let program = program_of(cx, &keys.program, &ends);
    let at_interface = !matches!(ends, Ok(None));
    let importance = super::asks::importance(cx, keys.importance.take(), at_interface);
    let process = match around.apart {
        // It is not known yet whether the key is allowed here.
        Ok(true) | Err(_) => Ok(()),
        Ok(false) => {
            let reason = "only virtual interfaces whose doorbells are told apart are of processes";
            let help = "remove this, or say `doorbells = \"apart\"` under `[via]`";
            cx.foreign(&keys.process, reason, help)
        }
    };
    let process = process.and(keys.process.value.clone()).map(|name| name.map(|Name(name)| name));
    let (mut streams, mut playout) = (Ok(()), Ok(()));
    if !around.cluster {
        let help = "remove this, or say how many copies there are by `count`";
        streams = cx.foreign(&keys.streams, "one source sends on a channel", help);
        let reason = "only virtual interfaces hold a message until its time";
        playout = cx.foreign(&keys.playout, reason, "remove this");
    }
    if around.cluster {
        let of_queues = "a virtual interface has no queues at a host, and no levels";
        let help = "remove this";
        if keys.group.at.is_none() {
            let reason = "a virtual interface shares the rate of a `group`, and is in none";
            cx.foreign(&keys.share, reason, help)?;
        }
        if around.stamped == Ok(false) {
            let reason = "only `qosvia` has its virtual interfaces share rates by groups";
            cx.foreign(&keys.group, reason, "remove this, or use the firmware `qosvia`")?;
        }
        if around.apart == Ok(true) {
            // A queue of each is stamped by its own clock before the tree of groups could choose.
            let reason =
                "told apart, who keeps a bandwidth goes first, and a group's members have one only together";
            let help = "give each a `rate` in place of this, or say `doorbells = \"merged\"` under `[via]`";
            cx.foreign(&keys.group, reason, help)?;
        }
        let slots = first([&keys.level, &keys.message_slots, &keys.packet_slots]);
        let queues = first([&slots, &keys.message_overflow, &keys.packet_overflow, &keys.reader]);
        cx.foreign(&queues, of_queues, help)?;
        let reason = "frames of programs come through ports, of hosts that schedule";
        cx.foreign(&keys.carries, reason, help)?;
    }
    let carries = keys.carries.placed();
    let carries = carries.and_then(|text| text.map(|text| super::emulation::carries(cx, &text)).transpose());
    if around.cluster
        && let Ok([Route { stations, .. }]) = routes.as_deref()
        && stations.len() != 2
    {
        let reason = format!("{what} would lead from a node to itself");
        return Err(cx.fault(&owner, reason, "let `from` and `to` be two nodes"));
    }
    let each = routes.as_ref().map_or(1, Vec::len);
    let count = count.map(|count| count.unwrap_or(each));
    let class = keys.class.value;
    let no_best_effort = |cx: &mut Context<'_>, key: &dyn At, reason, help| match class {
        Ok(Class::BestEffort) => cx.foreign(key, reason, help),
        _ => Ok(()),
    };
    let help = "remove this: what asks for nothing is refused nothing";
    let refusal = no_best_effort(cx, &keys.refusal, "best effort is not admitted", help);
    let help = "remove this: what has no deadline misses none";
    let misses = no_best_effort(cx, &keys.misses, "best effort has no deadline", help);
    let asks = super::asks::asks(cx, &keys, (at_interface, around));
    let share = match class {
        Ok(Class::RealTime) => {
            let help = "remove this: its share is the rate of its contract";
            cx.foreign(&keys.share, "a contract says a rate", help).map(|()| None)
        }
        _ => keys.share.value,
    };
    let rated = class != Ok(Class::BestEffort) || share != Ok(None);
    let group = super::group::of_channel(cx, &keys.group, rated, around);
    let help = "remove this: it has the lowest level";
    let level = no_best_effort(cx, &keys.level, "best effort is below all levels", help);
    let contract = match class {
        Ok(Class::RealTime) => {
            let hops = ends_at.as_deref().unwrap_or_default().iter().map(|route| route.stations.len());
            let what = (what.as_str(), hops.min().unwrap_or(1));
            contract(cx, &keys, &owner, what, around).map(Some)
        }
        Ok(Class::BestEffort) => {
            let reason = "best effort is promised nothing";
            let help =
                "remove this, or say `class = \"real_time\"`; the rate that is sent is part of `source`";
            let interval = cx.foreign(&keys.min_interval, reason, help);
            let rate = cx.foreign(&keys.rate, reason, help);
            let deadline = cx.foreign(&keys.deadline, reason, help);
            interval.and(rate).and(deadline).map(|()| None)
        }
        Err(reported) => Err(reported),
    };
    let size = size_of(cx, &keys.max_message, around.packet, at_interface && !around.reception.is_alone());
    let burst = keys.burst.value.map(Whole::small);
    // Beside a burst that came early, as many messages as become current before the first has to be done.
    let beyond = around.beyond && around.analysed;
    let needed = |burst: u32, contract: Option<(Span, Option<Span>)>| {
        let (interval, deadline) = contract.unwrap_or((Span::from_ps(1), None));
        unfinished(burst, interval, deadline, beyond)
    };
    // Where every message has a thread, one delayed on its way keeps its place beside those.
    let places = |burst: u32, contract: Option<(Span, Option<Span>)>| {
        let delayed = around.delayed && around.analysed && contract.is_some();
        needed(burst, contract).saturating_add(delayed.into()).min(MOST_SLOTS)
    };
    let slots = keys.message_slots.value.ok().flatten().map(Whole::small);
    let overflow = keys.packet_overflow.value.unwrap_or(PacketOverflow::Block);
    let ways = routes.iter().flatten().filter_map(|route| route.ways.first());
    let framed = ways.clone().count() > 0 && ways.clone().all(|way| around.framed.get(*way) == Some(&true));
    let own = match (contract, burst) {
        (Ok(contract), Ok(burst)) => {
            Ok(contract.map(|(min_interval, _)| MessageLimit { burst, min_interval }))
        }
        (Err(reported), _) | (_, Err(reported)) => Err(reported),
    };
    let limits = own.and_then(|own| super::contract::limits(cx, keys.limits, own, around));
    let allowed = match (contract, size, burst) {
        (Ok(contract), Ok(size), Ok(burst)) => {
            let interval = contract.map(|(interval, _)| interval);
            let message_slots = match around.cluster {
                true => u32::MAX,
                false => slots.unwrap_or_else(|| places(burst, contract)),
            };
            Ok(Allowed {
                interval,
                limits: limits.unwrap_or_default(),
                size,
                burst,
                message_slots,
                packet_overflow: overflow,
                enforced: around.enforced,
                framed,
            })
        }
        (Err(reported), ..) | (_, Err(reported), _) | (.., Err(reported)) => Err(reported),
    };
    let source = match (keys.source, allowed) {
        (None, _) => {
            let valid = "what is sent, such as `{ kind = \"periodic\" }`, or `{ kind = \"none\" }`";
            Err(cx.missing("source", &owner, &what, valid))
        }
        (Some(source), Ok(allowed)) => super::source::source(cx, library, source, &allowed),
        (Some(source), Err(reported)) => {
            // Says what is wrong with the source all the same.
            let allowed = Allowed {
                interval: Some(Span::from_ms(1)),
                limits: Limits::NONE,
                size: Bytes::from_kib(1),
                burst: 1,
                message_slots: u32::MAX,
                packet_overflow: overflow,
                enforced: true,
                framed,
            };
            super::source::source(cx, library, source, &allowed).and(Err(reported))
        }
    };
    let (name, burst, size, contract, source) = (keys.name.spanned()?, burst?, size?, contract?, source?);
    let carries = carries?;
    let least = source.smallest;
    let min_message = match (keys.min_message.placed()?, carries) {
        // In an emulation, `source` does not decide the arrivals, and smaller frames are dropped.
        (None, Some(carries)) => {
            let header = if framed { Bytes::new(14) } else { Bytes::ZERO };
            let frame = carries.smallest_frame().max(header + Bytes::new(1)) - header;
            least.map_or(frame, |least| least.min(frame)).min(size)
        }
        (None, None) => least.map_or(Bytes::new(1), |least| least.min(size)),
        (Some(written), _) => {
            let (span, bytes) = (written.span(), written.into_inner());
            if bytes > size {
                let reason = format!("the smallest message, {bytes}, is larger than the largest, {size}");
                return Err(cx.fault(&span, reason, format!("valid is a size up to {size}")));
            }
            if contract.is_some()
                && let Some(least) = least.filter(|least| *least < bytes)
            {
                let reason = format!("the source sends messages of {least}, smaller than {bytes}");
                let help = format!(
                    "bounds rest on the smallest message: say at most `\"{least}\"` here, or leave it out"
                );
                return Err(cx.fault(&span, reason, help));
            }
            bytes
        }
    };
    let message_slots = keys.message_slots.value?.map_or_else(|| places(burst, contract), Whole::small);
    let (min_interval, deadline) = match contract {
        Some((interval, deadline)) => (interval, deadline),
        None => (Span::from_ps(1), None),
    };
    if min_interval.saturating_mul(burst.into()) > LONGEST_BURST {
        let reason =
            format!("a burst of {burst} messages, one every {min_interval}, is worth more than 30 days");
        return Err(cx.fault(
            &keys.burst.at.unwrap_or_default(),
            reason,
            "allow fewer messages in a burst, or more often",
        ));
    }
    let spec = TrafficSpec { max_message: size, min_message, burst, min_interval };
    let routes = routes?;
    let further = further?;
    if let Some(key) = receivers {
        let with = (source.after.is_some(), keys.late.at.is_some(), carries.is_some());
        further::fits(cx, &key, with, around)?;
    }
    let received = routes.iter().all(|route| route.received) && !around.reception.is_alone();
    no_reader(cx, keys.reader.as_ref(), at_interface && received)?;
    let has_no_slots = |reader: &Part<RawReader>| reader.value.as_ref().is_ok_and(|it| it.slots.is_none());
    let by_contract = ByContract {
        beyond,
        messages: slots.is_none(),
        packets: keys.packet_slots.at.is_none(),
        program: keys.reader.as_ref().is_some_and(has_no_slots),
    };
    let reader = super::computing::reader(cx, keys.reader, received, needed(burst, contract))?;
    let span = name.span();
    let paid_by = signalling::owner_of(cx, &keys.owner, deadline.is_some(), around);
    let asked = signalling::asked(
        cx,
        (keys.open, keys.close, keys.change, keys.calls),
        &what,
        (spec, deadline),
        around,
    )?;
    let channel = ChannelSpec {
        // Each copy has its own.
        route: Vec::new(),
        ways: Vec::new(),
        received: false,
        copy: None,
        carries,
        class: class?,
        spec,
        limits: limits?,
        deadline,
        asks: asks?,
        refusal: refusal.and(keys.refusal.value)?.unwrap_or(around.refusal),
        misses: misses.and(keys.misses.value)?,
        share: match share? {
            Some(rate) => Vtick::new(rate.time_for_ceil(size), size),
            None if contract.is_some() => spec.tick(),
            None => Vtick::NONE,
        },
        group: group?,
        process: process?,
        level: level.and(keys.level.value)?.map(|level| level.small() as u8),
        message_slots,
        packet_slots: keys.packet_slots.value?.map_or_else(
            || u64::from(needed(burst, contract)) * spec.fragmentation(around.packet).packets(),
            Whole::get,
        ),
        by_contract,
        message_overflow: keys.message_overflow.value?,
        packet_overflow: keys.packet_overflow.value?,
        reader,
        cores: cores?,
        interface: interface?,
        importance: importance?,
        program: program?,
        streams: streams.and(keys.streams.value)?.small(),
        playout: playout.and(keys.playout.value)?,
        asked,
        owner: paid_by?,
        routed,
        stagger: source.stagger,
        source: source.spec,
        name: name.get_ref().0.clone(),
    };
    for route in routes.iter().filter(|_| around.is_managed()) {
        signalling::fits(
            cx,
            around,
            &ChannelSpec { route: route.stations.clone(), ..channel.clone() },
            &span,
        )?;
    }
    Ok(Read { channel, after: source.after, count: count?, name: span, routes, further, late: keys.late.at })
}
