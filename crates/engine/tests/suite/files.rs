//! Files written by the engine are read by independent readers.

use std::io;

use laxity_engine::trace::{NoTrace, PerfettoTrace, TraceFlow, TraceHasher, TraceSink};
use laxity_engine::{FrameCapture, LinkType};
use laxity_units::{Bytes, Time};
use pcap_file::DataLink;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use serde_json::Value;

fn tell(trace: &mut impl TraceSink) {
    let (dma, queue) = (trace.track("adapter \"a\"\\dma\n"), trace.track("queue"));
    assert_eq!(trace.track("queue"), queue);
    trace.span(
        dma,
        "transfer",
        Time::from_ps(1_234_567),
        Time::from_ps(9_000_001),
        &[("channel", 3), ("b", 0)],
    );
    trace.instant(dma, "überlauf", Time::from_ps(u64::MAX), &[]);
    trace.level(queue, Time::ZERO, -2);
}

fn written(mut trace: PerfettoTrace<Vec<u8>>) -> String {
    tell(&mut trace);
    String::from_utf8(trace.finish().unwrap()).unwrap()
}

#[test]
fn a_trace_is_json_with_exact_times() {
    let text = written(PerfettoTrace::new(Vec::new()));
    let records: Vec<Value> = serde_json::from_str(&text).unwrap();
    let of = |kind: &str| records.iter().filter(|record| record["ph"] == kind).collect::<Vec<_>>();
    assert_eq!((of("X").len(), of("i").len(), of("C").len(), records.len()), (1, 1, 1, 6));
    let span = of("X")[0];
    assert_eq!((&span["name"], &span["args"]["channel"]), (&"transfer".into(), &3.into()));
    assert!(text.contains("\"ts\":1.234567,\"dur\":7.765434,"));
    assert!(text.contains("\"ts\":18446744073709.551615,\"s\":\"t\""));
    assert_eq!((&of("C")[0]["name"], &of("C")[0]["args"]["value"]), (&"queue".into(), &(-2).into()));
    let thread = of("M").into_iter().find(|record| record["name"] == "thread_name").unwrap();
    assert_eq!(thread["args"]["name"], "adapter \"a\"\\dma\n");
    assert_eq!((&thread["tid"], &thread["pid"]), (&span["tid"], &span["pid"]));
}

/// A flow is an arrow from one thread to another, and a value with a declared meaning is written as
/// that.
#[test]
fn a_way_is_an_arrow_and_a_value_has_a_meaning() {
    let mut trace = PerfettoTrace::new(Vec::new());
    let (cpu, link) = (trace.track("cpu"), trace.track("link"));
    trace.means("channel", 3, "the \"film\"");
    trace.span(cpu, "packet", Time::from_ps(0), Time::from_ps(9_000_000), &[("channel", 3), ("message", 3)]);
    trace.span(link, "transmit", Time::from_ps(9_000_000), Time::from_ps(12_000_000), &[("channel", 4)]);
    for (track, at, flow) in [
        (cpu, 8_999_000, TraceFlow::Begins),
        (link, 9_500_000, TraceFlow::Passes),
        (link, 11_999_000, TraceFlow::Ends),
    ] {
        trace.flow(track, Time::from_ps(at), 77, flow);
    }
    let text = String::from_utf8(trace.finish().unwrap()).unwrap();
    let records: Vec<Value> = serde_json::from_str(&text).unwrap();
    let of = |kind: &str| records.iter().filter(|record| record["ph"] == kind).collect::<Vec<_>>();
    assert_eq!(of("X")[0]["args"]["channel"], "the \"film\"");
    assert_eq!((&of("X")[0]["args"]["message"], &of("X")[1]["args"]["channel"]), (&3.into(), &4.into()));
    for (kind, thread, at) in
        [("s", &of("X")[0]["tid"], 8.999), ("t", &of("X")[1]["tid"], 9.5), ("f", &of("X")[1]["tid"], 11.999)]
    {
        let [flow] = of(kind)[..] else { panic!("one {kind}") };
        assert_eq!(
            (&flow["tid"], &flow["id"], &flow["cat"], flow["ts"].as_f64()),
            (thread, &77.into(), &"message".into(), Some(at))
        );
    }
    assert_eq!(of("f")[0]["bp"], "e", "it ends in the span around it, not in the next");
}

#[test]
fn a_trace_cut_off_anywhere_is_recovered() {
    let text = written(PerfettoTrace::new(Vec::new()));
    for (cut, _) in text.char_indices() {
        if let Some(end) = text[..cut].rfind(",\n") {
            serde_json::from_str::<Vec<Value>>(&format!("{}]", &text[..end])).unwrap();
        }
    }
    assert!(
        serde_json::from_str::<Vec<Value>>(
            &String::from_utf8(PerfettoTrace::new(Vec::new()).finish().unwrap()).unwrap()
        )
        .is_ok()
    );
}

#[test]
fn a_pair_of_sinks_tells_both() {
    let mut pair = (PerfettoTrace::new(Vec::new()), TraceHasher::new());
    tell(&mut pair);
    let mut alone = TraceHasher::new();
    tell(&mut alone);
    assert_eq!((pair.1.hash(), pair.1.records()), (alone.hash(), 3));
    assert_eq!(String::from_utf8(pair.0.finish().unwrap()).unwrap(), written(PerfettoTrace::new(Vec::new())));
    assert!(!NoTrace.is_kept() && (NoTrace, TraceHasher::new()).is_kept());
}

#[test]
fn a_capture_is_read_back() {
    let mut capture = FrameCapture::new(Vec::new(), Bytes::new(5));
    let link = capture.interface("host0.nic", LinkType::Ethernet);
    let own = capture.interface("ring", LinkType::User0);
    capture.frame(link, Time::from_ps(5_000_000_007_999), &[1, 2, 3], None);
    capture.frame(own, Time::from_ps(u64::MAX), &[9; 8], Some("late"));
    let file = capture.finish().unwrap();

    let mut reader = PcapNgReader::new(file.as_slice()).unwrap();
    let mut interfaces = Vec::new();
    let mut frames = Vec::new();
    while let Some(block) = reader.next_block() {
        match block.unwrap() {
            Block::InterfaceDescription(interface) => {
                assert_eq!(interface.snaplen, 5);
                assert!(interface.options.contains(&InterfaceDescriptionOption::IfTsResol(9)));
                let name = interface.options.into_iter().find_map(|option| match option {
                    InterfaceDescriptionOption::IfName(name) => Some(name.into_owned()),
                    _ => None,
                });
                interfaces.push((name.unwrap(), interface.linktype));
            }
            Block::EnhancedPacket(frame) => frames.push((
                frame.interface_id,
                frame.timestamp.as_nanos(),
                frame.original_len,
                frame.data.into_owned(),
            )),
            block => panic!("{block:?} was not written"),
        }
    }
    assert_eq!(interfaces, [("host0.nic".into(), DataLink::ETHERNET), ("ring".into(), DataLink::USER0)]);
    let latest = u128::from(u64::MAX / 1000);
    assert_eq!(frames, [(0, 5_000_000_007, 3, vec![1, 2, 3]), (1, latest, 8, vec![9; 5])]);
}

/// The reader above has the writer's author; these bytes follow the specification.
#[test]
fn a_capture_is_what_the_specification_says() {
    let mut capture = FrameCapture::new(Vec::new(), Bytes::new(64));
    let link = capture.interface("a", LinkType::User0);
    capture.frame(link, Time::from_ps(0x1_0000_0002 * 1000), &[0xAB, 0xCD], None);
    let words: Vec<u32> = capture
        .finish()
        .unwrap()
        .chunks(4)
        .map(|word| u32::from_le_bytes(word.try_into().expect("blocks are whole words")))
        .collect();
    // Option 4, the application: six letters, padded; then the end of options.
    let application = [4 | 6 << 16, u32::from_le_bytes(*b"laxi"), u32::from(u16::from_le_bytes(*b"ty")), 0];
    let section = [&[0x0A0D_0D0A, 44, 0x1A2B_3C4D, 1, u32::MAX, u32::MAX][..], &application, &[44]].concat();
    let interface = [1, 40, 147, 64, 2 | 1 << 16, u32::from(b'a'), 9 | 1 << 16, 9, 0, 40];
    let frame = [6, 36, 0, 1, 2, 2, 2, 0xCDAB, 36];
    assert_eq!(words, [&section[..], &interface, &frame].concat());
}

/// Accepts a few bytes, then fails.
#[derive(Debug)]
struct Full(usize);

impl io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_reported_at_the_end() {
    for room in [0, 10, 120] {
        let mut trace = PerfettoTrace::new(Full(room));
        tell(&mut trace);
        assert_eq!(trace.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
        let mut capture = FrameCapture::new(Full(room), Bytes::from_kib(64));
        let link = capture.interface("a", LinkType::Ethernet);
        capture.frame(link, Time::ZERO, &[0; 200], None);
        assert_eq!(capture.finish().err().map(|error| error.kind()), Some(io::ErrorKind::StorageFull));
    }
}
