//! Lines as the RTC-Testbench writes them, and what is wrong with others.

use super::super::{Log, read};
use super::*;

/// A line of statistics of one class.
fn line(at: u64, class: &str, sent: u64, received: u64, trip: (u64, u64), way: (i64, i64)) -> String {
    let ((trip_least, trip_most), (least, most)) = (trip, way);
    format!(
        "[{at:8}.{:9}]: [INFO]: {class}Sent={sent} | {class}Received={received} | {class}RttMin={trip_least} [us] \
         | {class}RttMax={trip_most} [us] | {class}RttAvg=1015.250000 [us] | {class}OnewayMin={least} [us] | \
         {class}OnewayMax={most} [us] | {class}OnewayAvg=21.500000 [us] | {class}RttOutliers=0 | \
         {class}OnewayOutliers=0 | \n",
        123_456
    )
}

fn parsed(text: &str) -> TestbenchLog {
    match read("ref.log", text.as_bytes()) {
        Ok(Log::Testbench(log)) => log,
        other => panic!("{other:?}"),
    }
}

fn is(us: u64) -> Worst {
    Worst::Is(Span::from_us(us))
}

fn of(stretch: Stretch, received: u64, missing: Missing, worst: Worst) -> Option<Measurement> {
    Some(Measurement { stretch, received, missing, worst })
}

#[test]
fn a_reference_measures_both_the_round_trip_and_the_way_back() {
    let text = [
        &line(1, "TsnHigh", 0, 0, (u64::MAX, 0), (i64::MAX, 0))[..],
        "[       1.   123460]: [DEBUG]: TsnHigh: frame[12] sent\n",
        &line(2, "TsnHigh", 1000, 998, (1010, 1040), (10, 40)),
        "[       2.   999999]: [WARNING]: TsnHighRx: one\n[       2.  1999999]: [ERROR]: TsnHighRx: two\n",
        &line(3, "TsnHigh", 2000, 1997, (1009, 1100), (10, 45)),
    ]
    .concat();
    let log = parsed(&text);
    let read = log.measurements(None).unwrap();
    let missing = Missing::Between { least: 0, most: 3 };
    assert_eq!(read.round_trip, of(Stretch::RoundTrip, 1997, missing, is(1100)));
    assert_eq!(read.one_way, of(Stretch::OneWay, 1997, Missing::Unknown, is(45)));
    assert_eq!(log.notes(), ["2 lines are warnings or errors, the first is line 4"]);
}

#[test]
fn a_mirror_measures_the_way_to_it() {
    let log = parsed(&line(9, "Rtc", 998, 1000, (u64::MAX, 0), (11, 52)));
    let read = log.measurements(Some("Rtc")).unwrap();
    assert_eq!((read.round_trip, read.one_way.map(|m| m.worst)), (None, Some(is(52))));
}

#[test]
fn packets_of_earlier_intervals_are_lost_for_certain() {
    let missing = |lines: &[(u64, u64)]| {
        let lines = lines.iter().enumerate();
        let text: String = lines
            .map(|(i, (sent, back))| line(i as u64, "Rta", *sent, *back, (1000, 1100), (10, 20)))
            .collect();
        parsed(&text).measurements(None).unwrap().round_trip.unwrap().missing
    };
    let between = |least, most| Missing::Between { least, most };
    assert_eq!(missing(&[(100, 98), (200, 198)]), between(0, 2));
    // Of the 140 that are missing, 100 may be under way.
    assert_eq!(missing(&[(100, 98), (200, 150), (300, 160)]), between(40, 140));
    // The 40 are lost, whatever is sent after them.
    assert_eq!(missing(&[(100, 98), (200, 150), (300, 160), (400, 355)]), between(40, 45));
    // None came back: all that are not of the last interval are lost.
    assert_eq!(missing(&[(100, 0), (200, 0)]), between(100, 200));
}

#[test]
fn parts_before_and_after_a_reset_are_counted() {
    let text = [
        line(1, "TsnLow", 1000, 998, (1010, 1300), (10, 40)),
        line(2, "TsnLow", 500, 500, (1005, 1200), (12, 60)),
        line(3, "TsnLow", 900, 899, (1005, 1200), (12, 60)),
    ]
    .concat();
    let log = parsed(&text);
    let read = log.measurements(None).unwrap();
    let missing = Missing::Between { least: 0, most: 3 };
    assert_eq!(read.round_trip, of(Stretch::RoundTrip, 1897, missing, is(1300)));
    assert_eq!(read.one_way.map(|m| m.worst), Some(is(60)));
    assert_eq!(log.notes(), ["the statistics were reset 1 times; all parts are counted"]);
}

#[test]
fn a_class_is_named_if_there_are_several() {
    let one = |class: &str, most| {
        let line = line(5, class, 10, 10, (1, most), (1, most as i64));
        line.split_once("]: [INFO]: ").unwrap().1.trim_end().to_string()
    };
    // The name of the last one is the user's.
    let text =
        format!("[00000005.000123456]: [INFO]: {} {} {}\n", one("Tsn", 7), one("TsnLow", 8), one("A b", 9));
    let log = parsed(&text);
    for (class, most) in [("Tsn", 7), ("TsnLow", 8), ("A b", 9)] {
        assert_eq!(log.measurements(Some(class)).unwrap().one_way.map(|m| m.worst), Some(is(most)));
    }
    let said = |class| log.measurements(class).unwrap_err();
    assert!(said(None).contains("several traffic classes: Tsn, TsnLow, A b"), "{}", said(None));
    assert_eq!(said(Some("Dcp")), "it has no traffic class `Dcp`; it has Tsn, TsnLow, A b");
}

#[test]
fn a_log_before_one_way_times_has_round_trips_only() {
    let text = "[       5.   123456]: [INFO]: DcpSent=4 | DcpReceived=4 | DcpRttMin=1000 [us] | \
                DcpRttMax=1001 [us] | DcpRttAvg=1000.500000 [us] | \n";
    let read = parsed(text).measurements(None).unwrap();
    assert_eq!((read.round_trip.map(|m| m.worst), read.one_way), (Some(is(1001)), None));
}

#[test]
fn clocks_that_differ_leave_no_worst() {
    let worst = |way: &str| {
        let text = line(5, "Lldp", 9, 9, (1000, 1001), (77_001, 77_002));
        let (least, most) = way.split_once(' ').unwrap();
        let text = text.replace("77001", least).replace("77002", most);
        parsed(&text).measurements(None).unwrap().one_way.unwrap().worst
    };
    let by = |us| Worst::Clocks(Span::from_us(us));
    assert_eq!(worst("-3 20"), by(3));
    assert_eq!(worst("5 18446744073709541"), by(10), "a difference of -10 us without a sign");
    assert_eq!(worst("5 20"), is(20));
}

#[test]
fn a_wrong_line_is_refused_by_its_number() {
    let good = line(1, "TsnHigh", 9, 9, (1, 2), (1, 2));
    for (bad, why) in [
        ("TsnHighSent=3\n", "a line starts with"),
        ("[x]: [INFO]: a\n", "a line starts with"),
        ("[1.2]: [INFO\n", "a line starts with"),
        ("[1.2]: [LOUD]: a\n", "there is no level `LOUD`"),
        ("[1.2]: [INFO]: TsnHighSent=3 | \n", "`TsnHighReceived` is missing: the line is cut off"),
        ("[1.2]: [INFO]: TsnHighSent=3 | TsnHighRece", "`TsnHighRece` has no value"),
        ("[1.2]: [INFO]: ASent=3 | AReceived=x | \n", "`AReceived` is no number: x"),
        ("[1.2]: [INFO]: ASent=-3 | AReceived=1 | \n", "`ASent` is below zero"),
        ("[1.2]: [INFO]: ASent=3 | AReceived=184467440737095516160 | \n", "`AReceived` is no number"),
        ("[1.2]: [INFO]: ASent=3 | BReceived=1 | \n", "`BReceived` is none of `A`"),
        ("[1.2]: [INFO]: AReceived=3 | ASent=1 | \n", "a class starts with the packets that it sent"),
        ("[1.2]: [INFO]: ASent=3 | AReceived=1 | ASent=3 | \n", "the traffic class `A` is there twice"),
        ("[1.2]: [INFO]: ASent=3 | AReceived=1 | ARttMin=1 [us] | \n", "only one of `ARttMin` and `ARttMax`"),
    ] {
        let said = read("ref.log", (good.clone() + bad).as_bytes()).unwrap_err().to_string();
        assert!(said.starts_with(&format!("ref.log:2: {why}")), "{bad}: {said}");
    }
    let said = |text: &str| read("ref.log", text.as_bytes()).unwrap_err().to_string();
    let none = said("[1.2]: [DEBUG]: TsnHigh: frame[1] sent\n");
    assert_eq!(none, "ref.log: no line has statistics of a traffic class");
}
