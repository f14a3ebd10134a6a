//! Replay of adapters that served programs, from their log: the same run, at the speed of a
//! simulation.

use std::cell::RefCell;
use std::io::Read;
use std::rc::Rc;
use std::sync::Arc;

use laxity_engine::{Calendar, Limits};
use laxity_world::Observed;
use laxity_world::results::{Fitness, RealTime};

use super::cluster::Cluster;
use super::desk::Desk;
use super::inputs::{Failure, Inputs, Script, ScriptClock};
use super::{Served, Setup};
use crate::emulate::ReplayError;
use crate::log::{Log, LogError};

/// Replayed service.
#[derive(Debug)]
pub struct ReplayedService {
    /// Results, equal to those of the service. Its timeliness is in the log's end; without an end
    /// the fitness is unknown.
    pub served: Served,
    /// Where and how the log was truncated, if it was; the replay ends there.
    pub cut: Option<LogError>,
    /// Bytes of the file after the log's end, which were ignored.
    pub trailing: u64,
}

/// Replays the adapters of `setup` from `log`; they must be those of the log's header. `channels`
/// are the observed channels.
pub fn replay<R: Read + 'static>(
    log: Log<R>,
    setup: Setup,
    channels: Vec<Observed>,
) -> Result<ReplayedService, ReplayError> {
    let log = Rc::new(RefCell::new(log));
    let script = Rc::new(RefCell::new(Script::of(log.clone(), setup.nodes)));
    // There is no control thread: orders are in the log, and replies are discarded.
    let (desk, _counter) = Desk::with_counter(&Arc::default());
    let mut cluster = Cluster::new(setup, None, desk);
    (cluster.inputs, cluster.channels) = (Inputs::Logged(script.clone()), channels);
    let mut clock = ScriptClock(script.clone());
    let outcome = laxity_engine::run(&mut cluster, &mut Calendar::new(), &mut clock, Limits::NONE);
    let mut served = cluster.into_served(&outcome);
    let mut script = script.borrow_mut();
    // This also reads the end of the log.
    let left = script.is_left();
    match script.failure.take() {
        Some(Failure::Log(error)) => return Err(ReplayError::Log(error)),
        Some(Failure::Diverged(how)) => return Err(ReplayError::Diverged(how)),
        None => {}
    }
    let cut = script.cut.take();
    if cut.is_none() && left {
        return Err(ReplayError::Diverged(format!("it ended at {}, before the log did", served.end)));
    }
    let log = log.borrow();
    let Some(end) = log.end() else {
        served.kept = RealTime { inputs: served.inputs, fitness: Fitness::untold(), ..RealTime::default() };
        return Ok(ReplayedService { served, cut, trailing: log.trailing() });
    };
    let (inputs, digest, at) = (served.inputs, served.departures, served.end);
    if (inputs, digest, at) != (end.inputs, end.departures, end.end()) {
        return Err(ReplayError::Diverged(format!(
            "it ended at {at} after {inputs} inputs with departures {digest:016x}, and the emulation at {} after {} with {:016x}",
            end.end(),
            end.inputs,
            end.departures
        )));
    }
    served.kept = end.real_time.clone().unwrap_or_default();
    Ok(ReplayedService { served, cut, trailing: log.trailing() })
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use laxity_model::via::{Firmware, ViaConfig};
    use laxity_units::{Span, Time};
    use laxity_vi::Reliability;
    use laxity_vi::provider::ControlRequest;
    use proptest::prelude::*;

    use super::super::inputs::Entry;
    use super::*;

    fn setup() -> Setup {
        let adapter = ViaConfig::table_1(Firmware::QualityOfService);
        Setup { adapter, nodes: 2, latency: Span::ZERO, longest: Setup::LONGEST, recorded: false }
    }

    /// Results of adapters with these entries as inputs.
    fn run(entries: Vec<Entry>) -> (Served, Option<Failure>) {
        let mut blocks = VecDeque::from([entries]);
        let script = Script::from(Box::new(move || Ok(blocks.pop_front())), 2);
        let script = Rc::new(RefCell::new(script));
        let (desk, _counter) = Desk::with_counter(&Arc::default());
        let mut cluster = Cluster::new(setup(), None, desk);
        cluster.inputs = Inputs::Logged(script.clone());
        let mut clock = ScriptClock(script.clone());
        let limits = Limits::NONE.events(100_000);
        let outcome = laxity_engine::run(&mut cluster, &mut Calendar::new(), &mut clock, limits);
        (cluster.into_served(&outcome), script.borrow_mut().failure.take())
    }

    fn ask(process: u32, brings: bool, request: ControlRequest) -> Vec<Entry> {
        let words = request.to_words().into_iter().map(Entry::Word);
        [Entry::Ask { process, brings }].into_iter().chain(words).collect()
    }

    fn orders() -> impl Strategy<Value = Vec<Entry>> {
        let few = || 0..4u32;
        let bandwidth = laxity_vi::Bandwidth::None;
        prop_oneof![
            2 => (few(), few()).prop_map(|(process, node)| vec![Entry::Open { process, node }]),
            1 => few().prop_map(|process| vec![Entry::Gone { process }]),
            1 => Just(vec![Entry::Nothing]),
            2 => few().prop_map(|process| ask(process, false, ControlRequest::CreateTag)),
            2 => (few(), few(), 0..9000u64, any::<bool>()).prop_map(|(process, tag, length, brings)| {
                ask(process, brings, ControlRequest::Register { base: 0, length, tag, write: true, read: true })
            }),
            3 => (few(), few(), any::<bool>(), 0..2000u64).prop_map(move |(process, tag, brings, playout)| {
                let reliability = Reliability::Unreliable;
                let create = ControlRequest::CreateVi { tag, reliability, write: true, read: true, bandwidth, queues: [None; 2], playout };
                ask(process, brings, create)
            }),
            2 => (few(), few(), few()).prop_map(|(process, vi, host)| {
                let to = laxity_vi::Address { host, discriminator: 1 };
                ask(process, false, ControlRequest::Connect { vi, to, from: 1 })
            }),
            1 => (few(), any::<[u64; 16]>()).prop_map(|(process, words)| {
                [Entry::Ask { process, brings: false }].into_iter().chain(words.map(Entry::Word)).collect()
            }),
        ]
    }

    fn anything() -> impl Strategy<Value = Vec<Entry>> {
        let small = || 0..5u32;
        prop_oneof![
            4 => (0..3u64, 0..1000u64, 0..10u64).prop_map(|(events, after, later)| vec![Entry::Wake { events, after, later }]),
            1 => any::<[u64; 3]>().prop_map(|[events, after, later]| vec![Entry::Wake { events, after, later }]),
            3 => orders().prop_map(|order| {
                [Entry::Wake { events: 0, after: 5, later: 0 }, Entry::Asked].into_iter().chain(order).collect()
            }),
            3 => (small(), small(), any::<bool>(), 0..4u16).prop_map(|(process, vi, receive, count)| {
                vec![Entry::Rung { process, vi, receive, count }]
            }),
            1 => Just(vec![Entry::Garbled]),
            1 => any::<u32>().prop_map(|status| vec![Entry::Flawed(status)]),
            2 => (0..4u8, 0..3u8, any::<u32>()).prop_map(|(operation, segments, length)| {
                let head = Entry::Descriptor { operation, address: 0, handle: 256, immediate: None, segments };
                let segment = Entry::Segment { address: 0, handle: 256, length: length >> 16 };
                [head].into_iter().chain((0..segments).map(|_| segment)).collect()
            }),
            1 => Just(vec![Entry::Stop]),
        ]
    }

    proptest! {
        /// A replay of any log terminates: as logged, or with an error.
        #[test]
        fn any_entries_are_a_run_or_an_error(entries in prop::collection::vec(anything(), 0..60)) {
            let (_served, _failure) = run(entries.concat());
        }
    }

    /// The order is taken at the first event after the wake that announced it; the end is as
    /// logged.
    #[test]
    fn a_log_by_hand() {
        let wake = |events, after| Entry::Wake { events, after, later: 3 };
        let open = [wake(0, 100), Entry::Asked, Entry::Open { process: 0, node: 1 }];
        let (served, failure) =
            run([&open[..], &[wake(1, 50), Entry::Garbled, Entry::Asked, Entry::Stop]].concat());
        assert!(failure.is_none(), "{failure:?}");
        // Woken at 150, it finds the end at 153.
        assert_eq!((served.end, served.events, served.inputs), (Time::from_ps(153), 2, 2));
        assert_eq!(served.violations.garbled_doorbells, 1);
        let (_, failure) = run(open.to_vec());
        assert!(
            matches!(&failure, Some(Failure::Diverged(how)) if how.contains("nothing more")),
            "{failure:?}"
        );
        let (_, failure) = run(vec![wake(0, 100), Entry::Asked, Entry::Garbled, wake(9, 1)]);
        assert!(
            matches!(&failure, Some(Failure::Diverged(how)) if how.contains("a request was wanted")),
            "{failure:?}"
        );
    }
}
