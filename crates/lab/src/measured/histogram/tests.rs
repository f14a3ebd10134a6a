//! Histograms as the RTC-Testbench writes them, and what is wrong with others.

use super::super::{Log, read};
use super::*;

const TEXT: &str = "Testbench: Version '5.3'\nKernel: Linux pc 6.12.0-rt #1 x86_64\n\
    Kernel Command Line: quiet isolcpus=1: a\nTestbench RTT Histogram: TsnHigh TsnLow Rtc\n\
    00001010: 00000003  00000000  00000000  \n00001012: 00000001  00000002  00000000  \n\
    00001040: 00000000  00000005  00000000  \nOverflow: 00000000  00000001  00000000  \n\
    Underflow: 00000002  00000000  00000000  \n";

fn parsed(text: &str) -> Result<Histogram, String> {
    match read("hist.txt", text.as_bytes()) {
        Ok(Log::Histogram(log)) => Ok(log),
        Ok(other) => panic!("{other:?}"),
        Err(why) => Err(why.to_string()),
    }
}

#[test]
fn the_longest_round_trip_of_a_class_is_its_last_line() {
    let log = parsed(TEXT).unwrap();
    let trip = |count, worst| {
        Ok(Measurement { stretch: Stretch::RoundTrip, received: count, missing: Missing::Unknown, worst })
    };
    let us = Span::from_us;
    assert_eq!(log.measurement(Some("TsnHigh")), trip(6, Worst::Is(us(1012))));
    // One is beyond the range, and how far is not in the file.
    assert_eq!(log.measurement(Some("TsnLow")), trip(8, Worst::Above(us(1040))));
    assert_eq!(
        log.measurement(Some("Rtc")).unwrap_err(),
        "it has no traffic class `Rtc`; it has TsnHigh, TsnLow"
    );
    assert!(log.measurement(None).unwrap_err().contains("several traffic classes"));
    let old = TEXT.split_once("Testbench RTT").unwrap().1;
    assert_eq!(parsed(&format!("Testbench RTT{old}")), Ok(log), "older versions have only this");
}

#[test]
fn a_wrong_line_is_refused_by_its_number() {
    for (from, to, why) in [
        ("00001040:", "00001012:", "7: the time 00001012 is not after the time of the line before"),
        ("00001040:", "1 ms:", "7: `1 ms` is no whole number"),
        ("00001040:", "00001040", "7: a line is a time, a colon and counts"),
        ("00000005  00000000", "00000005", "7: there are 3 traffic classes, and the line has 2 counts"),
        ("00000005", "5x", "7: `5x` is no whole number"),
        ("00000005", "18446744073709551615", "7: more packets than a number can have"),
        ("Underflow: 00000002  00000000  00000000  \n", "", "8: the file is cut off"),
        ("Underflow", "00009999", "9: the time 00009999 is not after"),
    ] {
        let said = parsed(&TEXT.replace(from, to)).unwrap_err();
        assert!(said.starts_with(&format!("hist.txt:{why}")), "{said}");
    }
    let empty = parsed("Testbench RTT Histogram: A\nOverflow: 0  \nUnderflow: 0  \n");
    assert_eq!(empty.unwrap_err(), "hist.txt: the histogram has no round trip");
    assert!(parsed("Testbench RTT Histogram:\nOverflow: 0\n").unwrap_err().contains("cut off"));
}
