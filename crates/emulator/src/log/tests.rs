//! Logs are read as they were written, and damaged ones are refused with a message.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use laxity_units::{Bytes, Span, Time};
use laxity_world::Input;
use laxity_world::results::RealTime;
use proptest::prelude::*;

use super::{Batch, End, Length, Log, LogError, LogHeader, Recorder};

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn header() -> LogHeader {
    LogHeader {
        version: "1".into(),
        scenario: "a/b.toml".into(),
        hash: "cafe".into(),
        point: vec![2, 0],
        channels: vec![0, 2],
        hosts: vec![1],
        length: Length::Packets { total: 5, warmup: 1, cooldown: 0 },
        files: vec![("a/b.toml".into(), vec![0xff; 300])],
    }
}

/// Wakes: time and events since the previous one, and inputs by channel (or stop, or reset) and
/// size, which is also the time since the previous input.
type Wakes = Vec<(u64, u64, Vec<(usize, u64)>)>;

fn wakes() -> impl Strategy<Value = Wakes> {
    let inputs = proptest::collection::vec((0..4_usize, 1..10_000_u64), 1..6);
    proptest::collection::vec((0..1_u64 << 40, 0..100_u64, inputs), 0..400)
}

fn batches(wakes: &Wakes) -> Vec<Batch> {
    let (mut at, mut events) = (Time::ZERO, 0);
    let input = |(what, size): &(usize, u64)| match what {
        1 => Input::Stop,
        3 => Input::Reset { node: 1 },
        channel => Input::Message { channel: *channel, size: Bytes::new(*size), handle: 0 },
    };
    let batch = |(later, more, inputs): &(u64, u64, Vec<(usize, u64)>)| {
        (at, events) = (at + Span::from_ps(*later), events + more);
        let mut read_at = at;
        let read = |logged: &(usize, u64)| {
            read_at += Span::from_ps(logged.1);
            (read_at, input(logged))
        };
        Batch { events, at, inputs: inputs.iter().map(read).collect() }
    };
    wakes.iter().map(batch).collect()
}

fn written(batches: &[Batch], end: End) -> Vec<u8> {
    let file = Shared::default();
    let (mut journal, recorder) = Recorder::start(file.clone(), &header()).unwrap();
    for batch in batches {
        journal.wake(batch.events, batch.at);
        batch.inputs.iter().for_each(|(at, input)| journal.input(*at, *input));
    }
    recorder.finish(end).unwrap();
    file.0.lock().unwrap().clone()
}

fn read(bytes: &[u8]) -> Result<(LogHeader, Vec<Batch>, Option<End>), LogError> {
    let mut log = Log::open(bytes)?;
    let mut batches = Vec::new();
    while let Some(batch) = log.next_batch()? {
        batches.push(batch);
    }
    Ok((log.header().clone(), batches, log.end().cloned()))
}

#[test]
fn an_input_takes_few_bytes() {
    let wakes: Wakes = (0..10_000).map(|n| (3_000_000 + n * 77, 12, vec![(2, 1514)])).collect();
    let end = End::new(10_000, Time::ZERO, 7);
    let bytes = written(&batches(&wakes), end.clone()).len() - written(&[], end).len();
    assert!(bytes < 130_000, "{bytes} bytes for 10000 inputs");
}

#[test]
fn a_log_that_was_overrun_is_an_error_and_has_no_end() {
    struct Stuck(Arc<Mutex<()>>);
    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            drop(self.0.lock().unwrap());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let gate = Arc::<Mutex<()>>::default();
    let (mut journal, recorder) = Recorder::start(Stuck(gate.clone()), &header()).unwrap();
    let held = gate.lock().unwrap();
    for n in 0..1_000_000 {
        journal.wake(n, Time::ZERO);
        journal.input(Time::ZERO, Input::Stop);
    }
    drop(held);
    let error = recorder.finish(End::new(0, Time::ZERO, 0)).unwrap_err().to_string();
    assert!(error.contains("faster than they could be written"), "{error}");
}

#[test]
fn what_is_no_log_is_refused_in_words() {
    for (bytes, words) in [
        (&b""[..], "too short"),
        (b"#!/usr/bin/env python3", "no log of an emulation"),
        (b"laxity log 1\n and so on", "does not know"),
        (b"laxity log 5\n\0\0\0\0\0\0\0\0", "0 bytes"),
        (b"laxity log 5\n\x05\0\0\0\0\0\0\0hello", "checksum"),
        (b"laxity log 5\n\xff\xff\xff\x3f\0\0\0\0hello", "without its end"),
    ] {
        let error = read(bytes).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_log_comes_back_as_it_was_written(wakes in wakes(), kept in any::<bool>()) {
        let (batches, end) = (batches(&wakes), End::new(9, Time::from_ns(4), 0xfeed));
        let end = end.keeping(kept.then(|| RealTime { stall_total: 0.25, ..RealTime::default() }));
        let (read_header, read, read_end) = read(&written(&batches, end.clone())).unwrap();
        prop_assert_eq!((read_header, read_end), (header(), Some(end)));
        prop_assert_eq!(read, batches);
    }

    #[test]
    fn damage_is_seen_and_what_came_before_it_was_right(
        wakes in wakes(),
        place in any::<proptest::sample::Index>(),
        mask in 1..=255_u8,
        cut in any::<bool>(),
    ) {
        let batches = batches(&wakes);
        let mut bytes = written(&batches, End::new(0, Time::ZERO, 0));
        let at = place.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] ^= mask;
        }
        let error = read(&bytes).unwrap_err();
        prop_assert!(error.at <= at as u64, "{error}, and the damage is at {at}");
    }
}
