//! The promises of channels that name their levels.

use crate::common::free;
use laxity_admission::Formula;
use laxity_scenario::Scenario;
use laxity_units::Span;
use laxity_world::promise::{self, Promise};
use laxity_world::run;

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
    bounds_of(&format!("{HOST}{}", channels.concat()))
}

fn bounds_of(text: &str) -> Vec<(String, Option<(Span, u32)>)> {
    let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}{text}"));
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

/// Admission orders levels by deadline, though the second channel could have gone above the first. Levels by
/// hand in that order have bounds that are no longer than those that admission finds, as the last level waits
/// for no lower block. A level further down lengthens the bound.
#[test]
fn the_levels_of_admission_by_hand_have_no_longer_bounds() {
    let set = |deadline: &str, levels: [Option<u8>; 2]| -> Vec<Option<Span>> {
        let channels =
            [channel("loop", 1000, deadline, levels[0]), channel("video", 9000, "40 ms", levels[1])];
        bounds(&channels).into_iter().map(|(_, promise)| promise.map(|(bound, _)| bound)).collect()
    };
    let (hurried, patient) = (set("500 us", [None, None]), set("2 ms", [None, None]));
    let (first, last) = (set("500 us", [Some(0), Some(1)]), set("2 ms", [Some(8), Some(3)]));
    assert!(first[0] == hurried[0] && first[1] < hurried[1], "{first:?} {hurried:?}");
    assert!(last[0] > first[0] && last[1] < first[1], "{last:?} {first:?}");
    assert_eq!(patient, hurried, "by deadline");
}

/// Three frames of 1 ms each at 1 Mbit/s, with 97 % of the link (Davis, Burns, Bril and Lukkien,
/// 2007): the interval and the deadline of each at least. `of` says where a channel goes.
fn three_frames(of: impl Fn(&str) -> String) -> String {
    let channel = |(name, interval, deadline, level): (&str, u32, u32, u8)| {
        format!(
            "[[channel]]\nname = \"{name}\"\nclass = \"real_time\"\n{}max_message = \"125 B\"\nburst = 1\n\
             min_interval = \"{interval} us\"\ndeadline = \"{deadline} us\"\nlevel = {level}\n\
             source = {{ kind = \"adversary\" }}\n",
            of(name)
        )
    };
    [("a", 2500, 2500, 0), ("b", 3500, 3250, 1), ("c", 3500, 3500, 2)].map(channel).concat()
}

/// A host without costs is its link: the bounds are the exact response times. In a run the first
/// channel and the last one take that long.
#[test]
fn a_link_at_97_percent_has_its_exact_times() {
    let text = format!(
        "title = \"frames\"\n[host]\nprofile = \"mc68040\"\ncosts = {{ {} }}\nsubsystem = {{ packet = \"125 B\", \
         cpu = \"fixed_priority\", link = {{ paradigm = \"O1\", order = \"fixed_priority\" }} }}\n\
         [adapter]\nkind = \"null\"\nper_byte = \"8 us\"\n[run]\ntime = \"1 s\"\n{}",
        free(),
        three_frames(|_| String::new())
    );
    let of = |(_, promise): (String, Option<(Span, u32)>)| promise.map(|(bound, _)| bound);
    let exact: Vec<_> = bounds_of(&text).into_iter().map(of).collect();
    assert_eq!(exact, [2000, 3000, 3500].map(|us| Some(Span::from_us(us))));
    let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"));
    let worst = run(&scenario.first()).channels.into_iter().map(|channel| channel.worst);
    let worst: Vec<_> = worst.map(|worst| worst.and_then(Span::from_secs_f64)).collect();
    assert_eq!((worst[0], worst[2]), (exact[0], exact[2]));
    assert!(worst[1] <= exact[1], "{worst:?}");
}

/// The same at a port, with a host for each channel. Frames that may leave ahead
/// of their time can be in the way of any level, and the last is refused.
#[test]
fn a_port_at_97_percent_has_its_exact_times() {
    let at_port = |more: &str| -> Vec<Option<Span>> {
        let text = format!(
            "title = \"frames\"\n[host]\nprofile = \"mc68040\"\ncosts = {{ {} }}\nsubsystem = {{ packet = \"125 B\" }}\n\
             [node.a]\n[node.b]\n[node.c]\n[node.sink]\n\
             [node.sw]\nkind = \"switch\"\norder = \"fixed_priority\"\n{more}\
             [network]\nrate = \"100 Mbit/s\"\n[network.near]\njoins = [\"sw\", \"a\", \"b\", \"c\"]\n\
             [network.bus]\njoins = [\"sw\", \"sink\"]\nrate = \"1 Mbit/s\"\n[run]\ntime = \"1 s\"\n{}",
            free(),
            three_frames(|name| format!("from = \"{name}\"\nto = \"sink\"\n"))
                .replace("deadline = \"2500 us\"", "deadline = \"10 ms\"")
                .replace("deadline = \"3250 us\"", "deadline = \"10 ms\"")
                .replace("deadline = \"3500 us\"", "deadline = \"10 ms\"")
        );
        let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"));
        let promises = promise::promises(&scenario.first(), Formula::Corrected).unwrap();
        let of = |promise: &Promise| match promise {
            Promise::Admitted(hops) => Some(hops[1].bound.bound),
            Promise::Refused(..) => None,
            other => panic!("{other:?}"),
        };
        promises.channels.iter().map(of).collect()
    };
    assert_eq!(at_port(""), [2000, 3000, 3500].map(|us| Some(Span::from_us(us))));
    let early = at_port("horizon = \"10 ms\"\n");
    assert_eq!(early, [Some(Span::from_us(2000)), Some(Span::from_us(3000)), None]);
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
