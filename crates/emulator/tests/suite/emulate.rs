//! Worlds under a real clock: order and accounting, without assertions about time.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::{Written, alone};
use laxity_emulator::emulate::{Emulation, EmulationOptions, ReplayError, drive, no_reports, replay, start};
use laxity_emulator::log::{End, Log, LogHeader, RecordedFiles, Recorder};
use laxity_engine::trace::NoTrace;
use laxity_engine::{Calendar, Dilation, SimulationClock, Stop, TickEpoch, Ticks};
use laxity_machine::ring::{Consumer, Watcher, ring};
use laxity_scenario::Scenario;
use laxity_scenario::claim::Unread;
use laxity_units::{Bytes, Span, Time};
use laxity_world::experiment::{Experiment, RunLength, Task};
use laxity_world::{Assembly, Elsewhere, Input, Nothing, Notice, Outside};

/// A periodic channel and one for the outside, between two nodes.
fn scenario(time: &str) -> ((Scenario, BTreeMap<PathBuf, Vec<u8>>), PathBuf) {
    let text = format!(
        r#"
        title = "a test"
        [host]
        profile = "mc68040"
        [adapter]
        kind = "null"
        startup = "1 us"
        per_byte = "1 ns"
        [admission]
        formula = "off"
        [path]
        receive = true
        propagation = "5 us"
        [run]
        time = "{time}"
        [[channel]]
        name = "steady"
        class = "real_time"
        max_message = "1000 B"
        burst = 2
        min_interval = "20 ms"
        deadline = "15 ms"
        source = {{ kind = "periodic" }}
        [[channel]]
        name = "outside"
        class = "best_effort"
        max_message = "1500 B"
        burst = 4
        message_slots = 8
        source = {{ kind = "none" }}
        "#
    );
    let path = PathBuf::from("test.toml");
    let files = BTreeMap::from([(path.clone(), text.into_bytes())]);
    let scenario = Scenario::read(&path, &files, &Unread).unwrap_or_else(|errors| panic!("{errors}"));
    ((scenario, files), path)
}

fn experiment(time: &str) -> (Arc<Experiment>, RunLength) {
    let ((scenario, _), _) = scenario(time);
    let experiment = scenario.experiment(&scenario.points().next().unwrap());
    let Task::Simulate(length) = experiment.task else { panic!("a test is simulated") };
    (Arc::new(experiment), length)
}

fn soon() -> TickEpoch {
    TickEpoch::starting_in(Span::from_ms(5), Ticks::calibrate(), Dilation::NONE)
}

fn emulation<O, D>(time: &str, outside: O, doorbell: D) -> Emulation<O, D> {
    let (experiment, length) = experiment(time);
    Emulation {
        experiment,
        length,
        outside,
        doorbell,
        hosts: Vec::new(),
        channels: vec![1],
        epoch: soon(),
        reports: no_reports(),
        journal: None,
    }
}

/// Sends messages from a ring, and counts their outcomes.
struct Ringed {
    inputs: Consumer<Input>,
    taken: u64,
    refused: u64,
    delivered: Vec<u64>,
    /// Length of `delivered`, for other threads.
    arrived: Arc<AtomicU64>,
}

impl Ringed {
    fn of(sent: &[Input]) -> (Self, Watcher<Input>) {
        let (mut producer, inputs) = ring(sent.len());
        assert_eq!(producer.push_all(sent), sent.len());
        let watcher = inputs.watcher();
        (Self { inputs, taken: 0, refused: 0, delivered: Vec::new(), arrived: Arc::default() }, watcher)
    }
}

impl Outside for Ringed {
    fn next_input(&mut self, _now: Time) -> Option<Input> {
        self.inputs.pop()
    }

    fn notice(&mut self, _now: Time, notice: Notice<'_>) {
        match notice {
            Notice::Taken { channel, handle, message } => {
                assert_eq!((channel, u64::from(handle)), (1, self.taken + self.refused));
                assert_eq!(message, self.taken, "messages are numbered as they are taken");
                self.taken += 1;
            }
            Notice::Refused { channel, handle, cause: _ } => {
                assert_eq!((channel, u64::from(handle)), (1, self.taken + self.refused));
                self.refused += 1;
            }
            Notice::Delivered { channel: 1, message } => {
                self.delivered.push(message);
                self.arrived.fetch_add(1, Ordering::Relaxed);
            }
            Notice::Delivered { .. } => {}
            Notice::Window { .. } => {}
            Notice::Response { .. } => panic!("every host is part of the world"),
        }
    }
}

#[test]
fn a_world_in_real_time_is_the_world_in_virtual_time() {
    let _turn = alone();
    let (spec, length) = experiment("230 ms");
    let mut nothing = NoTrace;
    let elsewhere = Elsewhere { hosts: &[], channels: &[1] };
    let mut assembly = Assembly::with_outside(&spec, length, &mut nothing, Nothing, elsewhere);
    let mut calendar = Calendar::new();
    assembly.start(&mut calendar);
    let outcome =
        laxity_engine::run(&mut assembly, &mut calendar, &mut SimulationClock, laxity_world::limits(length));
    let departures = assembly.departures();
    let (expected, _) = assembly.into_run(outcome.now, &[]);

    let mut seen = Vec::new();
    let real = emulation("230 ms", Nothing, || false);
    let mut driven =
        drive(real, &EmulationOptions::on(None), &mut |glance| seen.push(glance.live.now)).unwrap();
    assert_eq!((driven.stop, driven.end), (Stop::Until, outcome.now));
    assert_eq!(driven.departures, departures);
    let real_time = driven.run.real_time.take().expect("an emulation keeps time");
    assert_eq!(driven.run, expected);
    assert_eq!((real_time.events, real_time.inputs), (outcome.events, 0));
    assert!(seen.is_sorted() && seen.iter().all(|now| *now < driven.end), "{seen:?}");
}

#[test]
fn every_input_is_answered_and_what_is_taken_is_delivered_in_order() {
    let _turn = alone();
    const COUNT: u32 = 200;
    let message = |handle| Input::Message { channel: 1, size: Bytes::new(200), handle };
    let (outside, watcher) = Ringed::of(&(0..COUNT).map(message).collect::<Vec<_>>());
    let driven =
        drive(emulation("100 ms", outside, watcher), &EmulationOptions::on(None), &mut |_| {}).unwrap();
    let outside = driven.outside;
    assert_eq!(outside.taken + outside.refused, u64::from(COUNT));
    assert!(outside.taken > 0 && outside.refused > 0, "a queue of 8 takes some of 200 at once");
    assert_eq!(outside.delivered, (0..outside.taken).collect::<Vec<_>>());
    assert_eq!(driven.run.channels[1].delivered, Some(outside.taken));
    assert_eq!(driven.run.real_time.unwrap().inputs, u64::from(COUNT));
}

#[test]
fn a_log_replays_the_run_from_itself_alone() {
    let _turn = alone();
    let (scenario, path) = scenario("3600 s");
    let point = scenario.0.points().next().unwrap();
    let experiment = scenario.0.experiment(&point);
    let Task::Simulate(length) = experiment.task else { panic!("a test is simulated") };
    let mut header = LogHeader::new(&scenario.0, &point, length, &path, &RecordedFiles::of(&scenario.1));
    assert!(header.experiment().is_err(), "nothing was read, so nothing is kept");
    let files = RecordedFiles::of(&scenario.1);
    Scenario::read(&path, &files, &Unread).unwrap();
    header = LogHeader::new(&scenario.0, &point, length, &path, &files);
    header.channels = vec![1];

    let (mut producer, inputs) = ring(64);
    let outside = Ringed { inputs, taken: 0, refused: 0, delivered: Vec::new(), arrived: Arc::default() };
    let (watcher, arrived) = (outside.inputs.watcher(), outside.arrived.clone());
    let file = Written::default();
    let (journal, recorder) = Recorder::start(file.clone(), &header).unwrap();
    let mut emulation = emulation("3600 s", outside, watcher);
    emulation.journal = Some(journal);
    let running = start(emulation, &EmulationOptions::on(None)).unwrap();
    // Arrival times depend on the machine; the replay has to reproduce them.
    let mut had = 0;
    for handle in 0..300 {
        let size = Bytes::new(1 + u64::from(handle) * 7 % 1500);
        while producer.push(Input::Message { channel: 1, size, handle }).is_err() {
            std::thread::yield_now();
        }
        // Waits for a delivery between bursts, or all messages would be sent at time zero.
        if handle % 60 == 59 {
            while arrived.load(Ordering::Relaxed) == had {
                std::thread::yield_now();
            }
            had = arrived.load(Ordering::Relaxed);
        }
    }
    while producer.push(Input::Stop).is_err() {
        std::thread::yield_now();
    }
    let driven = running.watch(&mut |_| {});
    let end = End::new(driven.inputs, driven.end, driven.departures);
    recorder.finish(end.keeping(driven.run.real_time.clone())).unwrap();
    assert_eq!(driven.inputs, 301);

    let bytes = file.0.lock().unwrap().clone();
    let log = Log::open(bytes.as_slice()).unwrap();
    assert_eq!(log.header(), &header);
    let (_, _, experiment) = log.header().experiment().unwrap();
    let replayed = replay(log, &experiment).unwrap();
    assert_eq!((replayed.departures, replayed.inputs, replayed.end), (driven.departures, 301, driven.end));
    // Includes the timeliness: a claim that a stall may have decided stays unfit in a replay.
    assert!(replayed.run.real_time.is_some());
    assert_eq!(replayed.run, driven.run);

    // A different world diverges, which is reported.
    let mut other = experiment.clone();
    other.channels[1].message_slots = 1;
    let diverged = replay(Log::open(bytes.as_slice()).unwrap(), &other).unwrap_err();
    assert!(matches!(diverged, ReplayError::Diverged(_)), "{diverged}");
    // A truncated log is replayed up to its end, with the same events.
    let cut = Log::open(&bytes[..bytes.len() - 3]).unwrap();
    let cut = replay(cut, &experiment).unwrap();
    assert!(cut.cut.is_some_and(|why| why.to_string().contains("without its end")));
    assert_eq!((cut.departures, cut.inputs, cut.end), (driven.departures, 301, driven.end));
    // The platform's behaviour is only in the log's end; without it the fitness is unknown.
    assert!(cut.run.real_time.is_some_and(|real_time| real_time.fitness.untold && real_time.inputs == 301));
    // Trailing bytes are reported.
    let longer = [&bytes[..], b"more"].concat();
    assert_eq!(replay(Log::open(longer.as_slice()).unwrap(), &experiment).unwrap().trailing, 4);
}

#[test]
fn an_outside_that_says_stop_ends_the_run() {
    let _turn = alone();
    let (outside, watcher) = Ringed::of(&[Input::Stop]);
    let driven =
        drive(emulation("3600 s", outside, watcher), &EmulationOptions::on(None), &mut |_| {}).unwrap();
    assert_eq!(driven.stop, Stop::Finished);
    assert_eq!(driven.run.simulated, driven.end.as_secs_f64());
}

/// Takes 30 ms per poll, without inputs.
struct Slow;

impl Outside for Slow {
    #[allow(clippy::disallowed_methods, reason = "it stands for a machine that is too slow")]
    fn next_input(&mut self, _now: Time) -> Option<Input> {
        std::thread::sleep(std::time::Duration::from_millis(30));
        None
    }

    fn notice(&mut self, _now: Time, _notice: Notice<'_>) {}
}

/// A message of the steady channel makes several events, each of which waits for a poll of 30 ms:
/// fewer than half of the events of 400 ms happen within 400 ms.
#[test]
fn a_run_that_ends_by_the_clock_ends_however_late_its_events_are() {
    let _turn = alone();
    let emulation = Emulation { channels: Vec::new(), ..emulation("400 ms", Slow, || true) };
    let epoch = emulation.epoch;
    let options = EmulationOptions { by_clock: true, ..EmulationOptions::on(None) };
    let driven = drive(emulation, &options, &mut |_| {}).unwrap();
    let took = epoch.now();
    assert_eq!(driven.stop, Stop::Finished);
    assert!(driven.end < Time::ZERO + Span::from_ms(400), "events had come to {}", driven.end);
    assert!(took < Time::ZERO + Span::from_ms(2000), "it took {took}");
    // A run on time ends by its events.
    let driven = drive(emulation_of_nothing("100 ms"), &options, &mut |_| {}).unwrap();
    assert_eq!((driven.stop, driven.end), (Stop::Until, Time::ZERO + Span::from_ms(100)));
}

fn emulation_of_nothing(time: &str) -> Emulation<Nothing, fn() -> bool> {
    let never: fn() -> bool = || false;
    Emulation { channels: Vec::new(), ..emulation(time, Nothing, never) }
}
