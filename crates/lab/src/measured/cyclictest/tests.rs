//! Outputs of cyclictest 2.4 and of old versions, and what is wrong with others.

use super::super::read;
use super::*;

/// `cyclictest -q -t 2`.
const LINES: &str = "\
# /dev/cpu_dma_latency set to 0us
T: 0 ( 4152) P:80 I:1000 C:    500 Min:     56 Act:   59 Avg:   63 Max:     888
T: 1 ( 4153) P:79 I:1500 C:    341 Min:     39 Act:   59 Avg:   84 Max:    2908
";

/// `cyclictest -q -t 2 -h 4`, as versions before 0.9 write it.
const OLD: &str = "\
# Histogram
000000 000000\t000000
000001 000005\t000000
000002 000003\t000000
000003 000001\t000007
# Total: 000000009 000000007
# Min Latencys: 00001 00003
# Avg Latencys: 00001 00004
# Max Latencies: 00003 00011
# Histogram Overflows: 00000 00002
";

/// `cyclictest -q -t 2 -H 4`.
const ALL: &str = "\
# /dev/cpu_dma_latency set to 0us
# Histogram
000000 000000\t000000\t000000
000001 000005\t000000\t000005
000002 000003\t000000\t000003
000003 000001\t000007\t000008
# Total: 000000009 000000007 000000016
# Min Latencies: 00001 00003
# Avg Latencies: 00001 00004
# Max Latencies: 00003 00011 00011
# Histogram Overflows: 00000 00002 00002
# Histogram Overflow at cycle number:
# Thread 0:
# Thread 1: 00001 00005

";

const OBJECT: &str = r#"{
  "file_version": 1,
  "cmdline:": "cyclictest -q -N -t 2 --json=a.json",
  "return_code": 0,
  "num_threads": 2,
  "resolution_in_ns": 1,
  "thread": {
    "0": {
      "histogram": {      },
      "cycles": 500,
      "min": 7156,
      "max": 21158,
      "avg": 13215.34,
      "cpu": 0,
      "node": 0
    },
    "1": {
      "histogram": {
        "7": 1
      },
      "cycles": 341,
      "min": 7,
      "max": 2908123,
      "avg": 84.99,
      "cpu": 1,
      "node": 0
    }
  }
}
"#;

fn parsed(text: &str) -> Wakeups {
    match read("a.log", text.as_bytes()) {
        Ok(super::super::Log::Cyclictest(log)) => log,
        other => panic!("{other:?}"),
    }
}

/// Wake-ups and the longest lateness in nanoseconds, of a thread or of all.
fn of(text: &str, thread: Option<&str>) -> (u64, u64) {
    let measured = parsed(text).measurement(thread).unwrap();
    let Worst::Is(longest) = measured.worst else { panic!("{measured:?}") };
    assert_eq!((measured.stretch, measured.missing), (Stretch::WakeUp, Missing::Unknown));
    (measured.received, longest.as_ps() / 1000)
}

fn said(text: &str) -> String {
    read("a.log", text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn the_last_line_of_each_thread_counts() {
    assert_eq!(of(LINES, None), (841, 2_908_000));
    assert_eq!(of(LINES, Some("0")), (500, 888_000));
    // Without `-q` each state replaces the one before: the cursor moves up in between.
    let again = LINES.replace("Max:     888", "Max:    9999");
    let running =
        format!("policy: fifo: loadavg: 4.08 3.44 3.63 7/108 6342\n\n{LINES}\x1b[4Apolicy\n\n{again}");
    assert_eq!(of(&running, Some("0")), (500, 9_999_000));
    // A thread that never woke up has a least lateness only, and a spike is none of the lines.
    let idle = "T: 2 (    0) P:80 I:1000 C:      0 Min:1000000 Act:    0 Avg:    0 Max:       0\n";
    let spike = "\nT: 0 Spike:      62: TS:  74165441288\nspikes = 1\n";
    assert_eq!(of(&[LINES, idle, spike].concat(), None), (841, 2_908_000));
    assert!(parsed(&[LINES, idle].concat()).measurement(Some("2")).is_err());
    let smi =
        "T:10 (    9) P:80 I:1000 C:     10 Min:      4 Act:    5 Avg:    5 Max:      12 SMI:       0\n";
    assert_eq!(of(smi, Some("10")), (10, 12_000));
}

/// `cyclictest -N` and the same numbers without.
#[test]
fn the_width_of_columns_is_the_unit() {
    let ns = "T: 0 ( 6349) P:80 I:1000 C:    100 Min:   6582 Act:    7139 Avg:   12924 Max:  306370\n";
    let us = "T: 0 ( 6349) P:80 I:1000 C:    100 Min:   6582 Act: 7139 Avg:12924 Max:  306370\n";
    assert_eq!((of(ns, None), of(us, None)), ((100, 306_370), (100, 306_370_000)));
    // A long `Act` alone is a slow thread and no unit.
    let slow = us.replace("Act: 7139", "Act:10007139");
    assert_eq!(of(&slow, None), (100, 306_370_000));
}

#[test]
fn a_histogram_has_its_longest_in_max() {
    for text in [OLD, ALL] {
        assert_eq!(of(text, None), (18, 11_000));
        assert_eq!(of(text, Some("0")), (9, 3_000));
        assert_eq!(of(text, Some("1")), (9, 11_000));
        let why = parsed(text).measurement(Some("2")).unwrap_err();
        assert_eq!(why, "it has no thread `2`; it has 0, 1");
    }
    // Without `-q` lines of threads are in front of it.
    assert_eq!(of(&[LINES, ALL].concat(), None), (18, 11_000));
    let one = "# Histogram\n000000 000000\n000001 000000\n# Total: 000000000\n# Min Latencies: 00007\n\
               # Max Latencies: 00021\n# Histogram Overflows: 00030\n";
    assert_eq!(of(one, None), (30, 21_000));
}

#[test]
fn json_has_its_unit() {
    assert_eq!(of(OBJECT, None), (841, 2_908_123));
    assert_eq!(of(OBJECT, Some("0")), (500, 21_158));
    let us = OBJECT.replace("\"resolution_in_ns\": 1", "\"resolution_in_ns\": 0");
    assert_eq!(of(&us, Some("0")), (500, 21_158_000));
    assert!(parsed(OBJECT).notes().is_empty());
    let failed = OBJECT.replace("\"return_code\": 0", "\"return_code\": 1");
    assert_eq!(parsed(&failed).notes(), ["cyclictest ended with the code 1"]);
}

#[test]
fn a_wrong_file_is_refused_by_its_line() {
    for (from, to, what) in [
        ("000002 000003", "000003 000003", "4: a line begins with its lateness, which is 2 here"),
        ("000002 000003\t000000", "000002 000003", "4: 1 columns, and 2 in the first line"),
        ("000002 000003", "000002 00x003", "4: `00x003` is no whole number"),
        ("000002 000003", "000002 000004", "6: the totals are not the sums of the lines above"),
        ("# Min Latencys: 00001 00003\n", "", "9: the file is cut off: it has no `# Min Latenc`"),
        (
            "# Histogram Overflows: 00000 00002\n",
            "",
            "9: the file is cut off: it has no `# Histogram Overflows`",
        ),
        ("Overflows: 00000 00002", "Overflows: 00000", "10: 1 entries, and 2 columns above"),
        ("Max Latencies: 00003", "Max Latencies: 00004", "9: the longest lateness of thread 0 does not fit"),
        ("00003 00011", "00003 00003", "9: the longest lateness of thread 1 does not fit its histogram"),
        ("Latencys: 00001 00003", "Latencys: 1 2 3", "9: 2 columns do not fit 3 threads"),
        ("Latencys: 00001 00003", "Latencys:", "9: 2 columns do not fit 0 threads"),
        ("00003 00011", "00003 18446744073709551615", "9: a thread woke up before its time"),
        ("# Avg", "# Histogram\n# Avg", "8: this is a second histogram"),
        ("000001 000005", "000001 18446744073709551615", "4: more wake-ups than a number can have"),
    ] {
        assert!(OLD.contains(from), "{from}");
        let said = said(&OLD.replacen(from, to, 1));
        assert!(said.starts_with(&format!("a.log:{what}")), "{said}");
    }
    assert_eq!(said("# Histogram\n"), "a.log:1: the file is cut off: it has no `# Total`");
    let cut = LINES.split_once("Avg:   84").unwrap().0;
    assert_eq!(said(cut), "a.log:3: the line is cut off: it has no `Avg:`");
    assert_eq!(said(&LINES.replace("2908", "29x8")), "a.log:3: `29x8` is no whole number");
    assert_eq!(
        said(&LINES.replace("    2908", "      -5")),
        "a.log:3: a thread woke up before its time: its clock was set"
    );
    for (from, to, what) in [
        ("\"avg\": 84.99", "\"avg\": -nan", "a.log:24: this is no JSON as cyclictest writes it"),
        ("\"max\": 21158", "\"max\": 2.5", "a.log: thread `0` has no whole number `max`"),
        ("\"max\": 21158", "\"max\": -3", "a.log: a thread woke up before its time"),
        ("\"cycles\": 500,", "", "a.log: thread `0` has no whole number `cycles`"),
        ("\"resolution_in_ns\": 1", "\"resolution_in_ns\": 2", "a.log: `resolution_in_ns` is not 0 or 1"),
        ("\"thread\"", "\"threads\"", "a.log: it has no threads"),
        (
            "\"7\": 1",
            "\"2908124\": 1",
            "a.log: the longest lateness of thread `1` does not fit its histogram",
        ),
    ] {
        assert!(OBJECT.contains(from), "{from}");
        let said = said(&OBJECT.replacen(from, to, 1));
        assert!(said.starts_with(what), "{said}");
    }
    let idle = "T: 2 (    0) P:80 I:1000 C:      0 Min:1000000 Act:    0 Avg:    0 Max:       0\n";
    assert_eq!(said(idle), "a.log: no thread woke up");
}

/// No end of a file and no changed character is a panic.
#[test]
fn damaged_files_are_read_or_refused() {
    for text in [LINES, OLD, ALL, OBJECT] {
        for at in 0..text.len() {
            let _ = read("a.log", &text.as_bytes()[..at]);
            for byte in *b"0:- \n" {
                let mut damaged = text.as_bytes().to_vec();
                damaged[at] = byte;
                let _ = read("a.log", &damaged);
            }
        }
    }
}
