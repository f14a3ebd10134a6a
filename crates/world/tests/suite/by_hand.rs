//! The promises of channels that name their levels.

use laxity_admission::Formula;
use laxity_scenario::Scenario;
use laxity_units::Span;
use laxity_world::promise::{self, Promise};

/// A host and its link by fixed priority: CPU by levels, frames of 12 us at 1 Gbit/s.
const HOST: &str = "title = \"levels\"\n[host]\nprofile = \"mc68040\"\nspeedup = 10\n\
     subsystem = { packet = \"1500 B\", cpu = \"fixed_priority\", link = { paradigm = \"O1\", order = \"fixed_priority\" } }\n\
     [adapter]\nkind = \"null\"\nper_byte = \"8 ns\"\n[run]\ntime = \"1 s\"\n";

fn channel(name: &str, size: u32, deadline: &str, level: Option<u8>) -> String {
    let level = level.map(|level| format!("level = {level}\n")).unwrap_or_default();
    format!(
        "[[channel]]\nname = \"{name}\"\nclass = \"real_time\"\nmax_message = \"{size} B\"\nburst = 1\n\
         min_interval = \"40 ms\"\ndeadline = \"{deadline}\"\n{level}source = {{ kind = \"periodic\" }}\n"
    )
}

/// The bound of each channel and its level, by name; `None` for one that is refused.
fn bounds(channels: &[String]) -> Vec<(String, Option<(Span, u32)>)> {
    let text = format!("{HOST}{}", channels.concat());
    let scenario = Scenario::from_text("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}{text}"));
    let experiment = scenario.first();
    let promises = promise::promises(&experiment, Formula::Corrected).unwrap();
    let of = |promise: &Promise| match promise {
        Promise::Admitted(hops) => Some((hops[0].bound.bound, hops[0].bound.level.unwrap())),
        Promise::Refused(..) => None,
        other => panic!("{other:?}"),
    };
    let mut all: Vec<_> =
        experiment.channels.iter().zip(&promises.channels).map(|(c, p)| (c.name.clone(), of(p))).collect();
    all.sort();
    all
}

/// The three channels in any order of the file have the same bounds; two of one level have that of
/// the lower one.
#[test]
fn the_order_of_the_file_decides_nothing() {
    let channels = [
        channel("bulk", 30_000, "40 ms", Some(9)),
        channel("loop", 1000, "20 ms", Some(2)),
        channel("video", 9000, "20 ms", Some(2)),
    ];
    let first = bounds(&channels);
    let [(_, bulk), (_, control), (_, video)] = &first[..] else { panic!("{first:?}") };
    let (bulk, control, video) = (bulk.unwrap(), control.unwrap(), video.unwrap());
    assert_eq!((bulk.1, control.1, video.1), (9, 2, 2));
    assert!(control.0 == video.0 && video.0 < bulk.0, "{first:?}");
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        assert_eq!(bounds(&order.map(|at| channels[at].clone())), first);
    }
}

/// A newcomer goes above a channel that tolerates it. Levels by hand in that order have the bounds
/// that admission finds, and a level further down lengthens the bound.
#[test]
fn the_levels_of_admission_by_hand_have_its_bounds() {
    let set = |deadline: &str, levels: [Option<u8>; 2]| -> Vec<Option<Span>> {
        let channels =
            [channel("loop", 1000, deadline, levels[0]), channel("video", 9000, "40 ms", levels[1])];
        bounds(&channels).into_iter().map(|(_, promise)| promise.map(|(bound, _)| bound)).collect()
    };
    let (hurried, patient) = (set("500 us", [None, None]), set("2 ms", [None, None]));
    assert_eq!(hurried, set("500 us", [Some(0), Some(1)]));
    assert_eq!(patient, set("2 ms", [Some(8), Some(3)]));
    assert!(patient[0] > hurried[0] && patient[1] < hurried[1], "{patient:?} {hurried:?}");
    assert_eq!(patient[0], hurried[1], "the last waits for all");
}

/// A level that puts an urgent channel below a long one refuses it, whichever comes first.
#[test]
fn a_wrong_level_is_refused() {
    let [urgent, long] = [channel("loop", 1000, "1 ms", Some(7)), channel("video", 30_000, "40 ms", Some(3))];
    let refused: Vec<usize> = [[urgent.clone(), long.clone()], [long, urgent]]
        .iter()
        .map(|channels| bounds(channels).iter().filter(|(_, bound)| bound.is_none()).count())
        .collect();
    assert_eq!(refused, [1, 1]);
}
