//! The shipped traces, the shapes that users have, and files that are none of them.

mod captures;

use std::path::{Path, PathBuf};

use laxity_model::source::trace::{FrameKind, Trace, TraceFormat, TraceLimits, TracePosition, parse, read};
use laxity_units::{Bytes, Span, Time};

const SHIPPED: [&str; 4] = ["mpeg1-film", "mpeg1-sport", "mpeg1-talk", "h264-film"];

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces").join(name)
}

fn text(text: &str) -> Result<Trace, String> {
    parse("t", &mut text.as_bytes(), TraceLimits::DEFAULT).map_err(|error| error.to_string())
}

fn sizes(trace: &Trace) -> Vec<u64> {
    trace.frames().iter().map(|frame| frame.size.get()).collect()
}

fn milliseconds(trace: &Trace) -> Vec<u64> {
    trace.frames().iter().map(|frame| frame.at.unwrap().as_ps() / 1_000_000_000).collect()
}

/// The row of a trace in the table of `traces/README.md`.
fn row(name: &str, trace: &Trace) -> String {
    let s = trace.statistics();
    let kinds: Vec<String> = s.kinds.iter().map(|(_, _, mean)| format!("{mean:.0}")).collect();
    format!(
        "| `{name}.csv` | {} | {} | {} | {:.0} | {:.0} | {:.1} | {} | {:.3} | {} |",
        s.frames,
        s.min.get(),
        s.max.get(),
        s.mean,
        s.standard_deviation,
        s.peak_to_mean(),
        kinds.join(" / "),
        s.mean_rate.unwrap().bits_per_sec() as f64 / 1e6,
        s.pattern.as_deref().unwrap_or("varies"),
    )
}

#[test]
fn the_table_of_shipped_traces_is_theirs() {
    let readme = std::fs::read_to_string(shipped("README.md")).unwrap();
    let mut bytes = 0;
    for name in SHIPPED {
        let path = shipped(&format!("{name}.csv"));
        bytes += std::fs::metadata(&path).unwrap().len();
        let trace = read(&path).unwrap();
        assert_eq!(trace.frame_interval(), Some(Span::from_ms(40)), "{name}");
        let row = row(name, &trace);
        assert!(readme.contains(&row), "traces/README.md lacks the row\n{row}");
    }
    assert!(bytes < 300_000, "the traces have grown to {bytes} bytes");
}

#[test]
fn shipped_mpeg_traces_have_the_papers_cycle_and_its_order_of_sizes() {
    for name in ["mpeg1-film", "mpeg1-sport", "mpeg1-talk"] {
        let s = read(&shipped(&format!("{name}.csv"))).unwrap().statistics();
        assert_eq!(s.pattern.as_deref(), Some("IBBPBBPBBPBB"), "{name}");
        let [(FrameKind::I, _, i), (FrameKind::P, _, p), (FrameKind::B, _, b)] = s.kinds[..] else {
            panic!("{name}: {:?}", s.kinds)
        };
        assert!(i > 1.4 * p && p > 1.3 * b, "{name}: {i} {p} {b}");
    }
}

#[test]
fn one_size_per_line() {
    let trace = text("# film, bytes per frame\r\n534\r\n\r\n134\r\n  390").unwrap();
    assert_eq!((trace.format(), sizes(&trace)), (TraceFormat::Sizes, vec![534, 134, 390]));
    assert_eq!(trace.frame_interval(), None);
    assert_eq!(sizes(&text("\u{feff}1\n2\n3\n4\n5\n6\n7\n8\n9\n").unwrap()), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let s = text("2\n4\n4\n4\n5\n5\n7\n9\n").unwrap().statistics();
    assert_eq!((s.mean, s.standard_deviation, s.min, s.max), (5.0, 2.0, Bytes::new(2), Bytes::new(9)));
}

#[test]
fn rows_as_ffprobe_writes_them() {
    // ffprobe 5.1, MPEG-1: `frame=pts_time,pkt_size,pict_type -of csv`, with the side data it will
    // not leave out.
    let csv = "frame,0.540000,4456,I,side_data,\nside_data,\n\nframe,0.580000,1154,B,side_data,\n\nframe,0.620000,875,B\n";
    let trace = text(csv).unwrap();
    assert_eq!((sizes(&trace), milliseconds(&trace)), (vec![4456, 1154, 875], vec![0, 40, 80]));
    assert_eq!(trace.frames()[1].kind, Some(FrameKind::B));

    // Packets stand in the order of coding; the times of showing are put in order, the packets are not.
    let plain = "0.000000,17824,K__\n0.120000,8211,___\n0.040000,1927,___\n0.080000,3253,_D_\n";
    let trace = text(plain).unwrap();
    assert_eq!((sizes(&trace), milliseconds(&trace)), (vec![17824, 8211, 1927, 3253], vec![0, 40, 80, 120]));
    assert_eq!(trace.frames()[0].kind, Some(FrameKind::I));

    // Complete packets, without keys and with them, in CSV and compact.
    let complete = "packet,video,0,0,0.000000,-1024,-0.080000,512,0.040000,17824,48,K_\n\
                    packet,audio,1,0,0.000000,0,0.000000,512,0.020000,99,N/A,K_\n\
                    packet,video,0,1536,0.120000,-512,-0.040000,512,0.040000,8211,17872,__\n\
                    stream,h264,17\n";
    let keyed = "packet|codec_type=video|stream_index=0|pts_time=0.000000|dts_time=-0.080000|size=17824|flags=K_\n\
                 packet|codec_type=video|stream_index=0|pts_time=0.120000|dts_time=-0.040000|size=8211|flags=__|side_data|size=3\n";
    for rows in [complete, keyed, &keyed.replace('|', ",")] {
        let trace = text(rows).unwrap();
        assert_eq!((sizes(&trace), milliseconds(&trace)), (vec![17824, 8211], vec![0, 40]), "{rows}");
    }

    // Complete frames of ffprobe 5.1; sound is passed over, whatever its fields.
    let frame = "frame,audio,1,1,0,0.000000,0,0.000000,0,0.000000,1024,0.021333,48,6,fltp,1024,1,mono\n\
                 frame,video,0,0,512,0.040000,N/A,N/A,512,0.040000,512,0.040000,29336,1927,384,288,yuv420p,1:1,B,3,0\n";
    assert_eq!(sizes(&text(frame).unwrap()), [1927]);
}

#[test]
fn times_that_are_no_times_are_a_duration() {
    let trace = text("packet,0.040000,100\npacket,0.040000,90\npacket,0.040000,95\n").unwrap();
    assert_eq!(trace.frame_interval(), Some(Span::from_ms(40)));
    let trace = text("packet,N/A,100\npacket,N/A,90\n").unwrap();
    assert_eq!((trace.frame_interval(), trace.frames()[1].at), (None, None));
}

const JSON: &str = r#"{
    "packets": [
        {"codec_type": "audio", "stream_index": 1, "dts_time": "0.000000", "size": "77"},
        {"codec_type": "video", "stream_index": 0, "pts_time": "0.000000", "dts_time": "-0.080000", "size": "17824",
         "flags": "K_", "side_data_list": [{"side_data_type": "x", "size": "1"}]},
        {"codec_type": "video", "stream_index": 0, "pts_time": "0.120000", "dts_time": "-0.040000", "size": 8211}
    ],
    "streams": [{"size": {"deep": [[[]]]}}]
}
"#;

#[test]
fn json_as_ffprobe_writes_it() {
    let trace = text(JSON).unwrap();
    assert_eq!(
        (trace.format(), sizes(&trace), milliseconds(&trace)),
        (TraceFormat::Json, vec![17824, 8211], vec![0, 40])
    );
    let mixed = r#"{"packets_and_frames": [
        {"type": "packet", "size": "5"}, {"type": "frame", "pkt_size": "5", "pict_type": "I"},
        {"type": "subtitle", "format": 1}, {"type": "packet", "size": "7"}]}"#;
    assert_eq!(sizes(&text(mixed).unwrap()), [5, 7]);
    let frames =
        r#"{"frames": [{"media_type": "video", "pkt_pts_time": 0.5, "pkt_size": "5", "pict_type": "P"}]}"#;
    assert_eq!(text(frames).unwrap().frames()[0].kind, Some(FrameKind::P));
}

/// A capture of three packets of 60, 1500 and 64 bytes on the wire, 8 bytes kept of each, the third stamped
/// before the second.
fn pcap(number: fn(u32) -> [u8; 4], magic: u32) -> Vec<u8> {
    let nanos = magic == 0xa1b2_3c4d;
    let mut file =
        [number(magic), number(if number(1) == [1, 0, 0, 0] { 0x0004_0002 } else { 0x0002_0004 })].concat();
    for word in [0, 0, 65535, 1] {
        file.extend(number(word));
    }
    for (seconds, micros, original) in
        [(1_700_000_000, 999_000, 60), (1_700_000_001, 4_000, 1500), (1_700_000_001, 0, 64)]
    {
        for word in [seconds, if nanos { micros * 1000 } else { micros }, 8, original] {
            file.extend(number(word));
        }
        file.extend([0xee; 8]);
    }
    file
}

fn block(number: fn(u32) -> [u8; 4], kind: u32, body: &[u8]) -> Vec<u8> {
    let length = number(12 + body.len() as u32);
    [&number(kind)[..], &length, body, &length].concat()
}

/// The same packets as [`pcap`]'s, on an interface that counts 2^-20 s and on one that counts microseconds.
fn pcapng(number: fn(u32) -> [u8; 4]) -> Vec<u8> {
    let little = number(1) == [1, 0, 0, 0];
    let half = |value: u16| if little { value.to_le_bytes() } else { value.to_be_bytes() };
    let words = |words: &[u32]| words.iter().flat_map(|word| number(*word)).collect::<Vec<u8>>();
    let section = [&number(0x1a2b_3c4d)[..], &half(1), &half(0), &[0xff; 8]].concat();
    let link = [&half(1)[..], &half(0), &number(0)].concat();
    let unit = [&link[..], &half(9), &half(1), &[0x80 | 20, 0, 0, 0], &number(0)].concat();
    let mut file = block(number, 0x0a0d_0d0a, &section);
    file.extend(block(number, 1, &unit));
    file.extend(block(number, 1, &link));
    file.extend(block(number, 0xbad, &[1, 2, 3, 4]));
    for (interface, ticks, original) in
        [(1, 1_700_000_000_999_000u64, 60), (1, 1_700_000_001_004_000, 1500), (0, 1_700_000_001 << 20, 64)]
    {
        let mut body = words(&[interface, (ticks >> 32) as u32, ticks as u32, 8, original]);
        body.extend([0xee; 8]);
        file.extend(block(number, 6, &body));
    }
    file
}

fn captures() -> Vec<Vec<u8>> {
    let orders = [u32::to_le_bytes as fn(u32) -> [u8; 4], u32::to_be_bytes];
    let mut files = Vec::new();
    for order in orders {
        files.extend([pcap(order, 0xa1b2_c3d4), pcap(order, 0xa1b2_3c4d), pcapng(order)]);
    }
    files
}

#[test]
fn captures_give_lengths_on_the_wire_in_the_order_of_time() {
    for file in captures() {
        let trace = parse("c", &mut file.as_slice(), TraceLimits::DEFAULT).unwrap();
        assert_eq!((sizes(&trace), milliseconds(&trace)), (vec![60, 64, 1500], vec![0, 1, 5]), "{file:02x?}");
        assert_eq!(trace.frames()[0].at, Some(Time::ZERO));
    }
}

#[test]
fn broken_captures_name_the_byte() {
    let whole = pcap(u32::to_le_bytes, 0xa1b2_c3d4);
    let fault = |file: &[u8]| parse("c", &mut &file[..], TraceLimits::DEFAULT).unwrap_err();
    let cut = fault(&whole[..whole.len() - 3]);
    assert_eq!((cut.at(), cut.reason().contains("3 bytes short")), (TracePosition::Byte(93), true), "{cut}");
    let mut long = whole.clone();
    long[32..36].copy_from_slice(&2000u32.to_le_bytes());
    assert_eq!(
        fault(&long).to_string().split(';').next(),
        Some("c, byte 32: 2000 bytes were captured of a packet of 60")
    );
    let mut parts = whole;
    parts[28..32].copy_from_slice(&1_000_000u32.to_le_bytes());
    assert_eq!(fault(&parts).at(), TracePosition::Byte(28));
    let mut unequal = pcapng(u32::to_be_bytes);
    *unequal.last_mut().unwrap() += 4;
    assert!(fault(&unequal).reason().contains("40 before it and 44 after it"));
}

#[test]
fn a_bad_text_names_line_column_reason_and_remedy() {
    for (file, start) in [
        ("12\n0\n", "t, line 2, column 1: the frame has no bytes"),
        ("12\n-4\n", "t, line 2, column 1: the size `-4` is negative"),
        ("12\n 4 5\n", "t, line 2, column 3: `4 5` is not a whole number"),
        ("12\n99999999999\n", "t, line 2, column 1: 99999999999 bytes is larger"),
        ("12\n4,5\n", "t, line 2, column 3: the row has 2 fields, and line 1 has 1 field"),
        ("size\n12\n", "t, line 1, column 1: `size` is not a whole number"),
        ("packet,0,17824\n", "t, line 1, column 10: fields 1 and 2 both hold whole numbers"),
        ("packet,0.0,0.1,17824\n", "t, line 1, column 12: fields 1 and 2 both hold seconds"),
        ("packet,0.0,K_\n", "t, line 1, column 8: the row has no whole number"),
        ("frame,0.0,9,yuv\n", "t, line 1, column 13: `yuv` is no field"),
        ("frame,0.0,9\nframe,0:00:01.0,9\n", "t, line 2, column 8: `0:00:01.0` is in hours"),
        ("packet,size=12,dts_time=1.0\npacket,size=x\n", "t, line 2, column 13: `x` is not a whole"),
        ("packet,dts_time=1.0\n", "t, line 1, column 8: the row has no size"),
        (
            "packet,dts_time=1.0,size=1\npacket,dts_time=0.5,size=1\n",
            "t, line 2, column 1: the time goes back",
        ),
        ("packet,\n", "t, line 1, column 1: this frame has no size"),
        ("# nothing\n\n", "t: it has no frames"),
        ("", "t: it is empty"),
        ("[PACKET]\nsize=3\n", "t: it is ffprobe's default output"),
        ("{", "t, line 1, column 1: the file ends before the JSON does"),
        (&JSON[..200], "t, line 4, column 91: the file ends before the JSON does"),
        ("{}", "t, line 1, column 1: the JSON lists neither"),
        ("{\"frames\": 3}", "t, line 1, column 13: the JSON is not ffprobe's: invalid type"),
        ("{\"frames\": [{\"pkt_size\": \"0\"}]}", "t, line 1, column 29: the frame has no bytes"),
        ("{\"frames\": [{}]}", "t, line 1, column 14: this frame has no size"),
        ("{\"frames\": [{\"pkt_size\": 3}]} x", "t, line 1, column 31: the JSON is not ffprobe's: trailing"),
    ] {
        let error = text(file).unwrap_err();
        assert!(error.starts_with(start), "{file:?}\n  said {error}\n  not  {start}");
        assert!(error.contains("; valid is "), "{error}");
    }
    let ticks: String = (0..9).map(|k| format!("packet,{}\n", 512 * (k + 1))).collect();
    assert!(text(&ticks).unwrap_err().contains("rise by 512"));
}

#[test]
fn what_cannot_be_opened_is_an_error_too() {
    let error = read(&shipped("")).unwrap_err();
    assert!(error.reason().contains("directory"), "{error}");
    #[cfg(unix)]
    for device in ["/dev/zero", "/dev/null"] {
        let error = read(std::path::Path::new(device)).unwrap_err();
        assert!(error.reason().contains("not a regular file"), "{error}");
    }
    let error = read(&shipped("no such trace")).unwrap_err();
    assert!(
        error.to_string().ends_with("there is no such file; valid is a readable file that holds a trace"),
        "{error}"
    );
}

#[test]
fn nothing_is_read_past_its_bounds() {
    let frames = TraceLimits { frames: 3, ..TraceLimits::DEFAULT };
    let error = parse("t", &mut "1\n2\n3\n4\n".as_bytes(), frames).unwrap_err();
    assert_eq!(
        (error.at(), error.reason()),
        (TracePosition::Text { line: 4, column: 1 }, "the trace has more than 3 frames")
    );
    for file in captures() {
        let limits = TraceLimits { frames: 2, ..TraceLimits::DEFAULT };
        assert!(
            parse("t", &mut file.as_slice(), limits).unwrap_err().reason().contains("more than 2 packets")
        );
    }
    let bytes = TraceLimits { bytes: 20, ..TraceLimits::DEFAULT };
    for file in [JSON.as_bytes(), b"1000000\n1000000\n1000000\n", &captures()[0]] {
        assert!(parse("t", &mut &file[..], bytes).unwrap_err().reason().contains("longer than 20 bytes"));
    }
    // Ten gigabytes of one line, of lines, and of JSON, none of which may be held.
    let ends = |pattern: &'static [u8]| {
        let mut endless = std::io::BufReader::new(Endless { pattern, at: 0 });
        parse("t", &mut endless, TraceLimits { frames: 1000, bytes: 1 << 22 }).unwrap_err().to_string()
    };
    assert!(ends(b"7").contains("line is longer"));
    assert!(ends(b"7\n").contains("more than 1000 frames"));
    assert!(ends(b"\n").contains("longer than 4194304 bytes"));
    assert!(ends(b"{\"a\": [").contains("longer than 4194304 bytes"));
    assert!(ends(b"{\"a\":\"").contains("not ffprobe's"));
}

/// A file that repeats itself for ever.
struct Endless {
    pattern: &'static [u8],
    at: usize,
}

impl std::io::Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        for byte in buffer.iter_mut() {
            *byte = self.pattern[self.at % self.pattern.len()];
            self.at += 1;
        }
        Ok(buffer.len())
    }
}

/// SplitMix64, for damage that is the same in every run.
struct Damage(u64);

impl Damage {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ mixed >> 31) % n as u64) as usize
    }
}

#[test]
fn damaged_files_are_read_or_refused_but_never_panic() {
    let mut originals = captures();
    originals.push(JSON.as_bytes().to_vec());
    for name in SHIPPED {
        let whole = std::fs::read(shipped(&format!("{name}.csv"))).unwrap();
        originals.push(whole[..1500].to_vec());
        let keyed = String::from_utf8(whole[..1500].to_vec()).unwrap().replace("frame,", "packet|size=");
        originals.push(keyed.into_bytes());
    }
    let mut damage = Damage(1);
    let mut refused = 0;
    for original in &originals {
        for round in 0..600 {
            let mut file = original.clone();
            for _ in 0..=damage.below(4) {
                let place = damage.below(file.len());
                match damage.below(5) {
                    0 => file.truncate(place.max(1)),
                    1 => file[place] ^= 1 << damage.below(8),
                    2 => file[place] = [0, 0xff, b',', b'\n', b'"', b'9', b'-', b'{'][damage.below(8)],
                    3 => drop(file.drain(place..(place + 1 + damage.below(9)).min(file.len()))),
                    _ => {
                        let piece = file[place..(place + 20).min(file.len())].to_vec();
                        file.splice(place..place, piece);
                    }
                }
                if file.is_empty() {
                    break;
                }
            }
            match parse("damaged", &mut file.as_slice(), TraceLimits::DEFAULT) {
                Ok(trace) => {
                    let frames = trace.frames();
                    assert!(frames.iter().all(|frame| !frame.size.is_zero()));
                    assert!(frames.windows(2).all(|pair| pair[0].at <= pair[1].at), "round {round}");
                    assert!(trace.statistics().peak_to_mean() >= 1.0);
                }
                Err(error) => {
                    refused += 1;
                    assert!(!error.reason().is_empty() && !error.valid().is_empty());
                    if let TracePosition::Text { line, column } = error.at() {
                        assert!(line >= 1 && column >= 1, "{error}");
                    }
                }
            }
        }
    }
    assert!(refused > 2000, "only {refused} damaged files were refused");
}

/// Traces that hold the same show the same, and others do not, whatever it is that they differ in.
#[test]
fn a_trace_shows_a_digest_of_all_that_is_known() {
    let shown = |text: &str| format!("{:?}", parse("t", &mut text.as_bytes(), TraceLimits::DEFAULT).unwrap());
    let alike = shown("1\n4\n");
    assert_eq!(alike, shown("1\n4\n"));
    let all = [
        shown("4\n1\n"),
        shown("1\n1\n"),
        shown("packet,size=7\n"),
        shown("packet,dts_time=0.0,size=7\n"),
        shown("frame,pkt_size=7\n"),
        shown("frame,pkt_size=7,pict_type=I\n"),
        shown("frame,pkt_size=7,pict_type=P\n"),
    ];
    let digests: std::collections::BTreeSet<_> =
        all.iter().chain([&alike]).filter_map(|shown| shown.rsplit(", ").next()).collect();
    // A packet and a frame of which nothing but the size is known are alike.
    assert_eq!(digests.len(), 7, "{all:?}");
}

#[test]
fn formats_have_names_and_json_may_have_a_mark() {
    let marked = format!("\u{feff}{JSON}");
    let trace = parse("t", &mut marked.as_bytes(), TraceLimits::DEFAULT).unwrap();
    assert_eq!(sizes(&trace), sizes(&parse("t", &mut JSON.as_bytes(), TraceLimits::DEFAULT).unwrap()));
    assert_eq!((trace.format().to_string().as_str(), trace.name()), ("ffprobe JSON", "t"));
}
