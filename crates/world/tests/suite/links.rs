//! The promises of a host with several links, by hand: the effect of channels of one link on those
//! of another.

use laxity_admission::{Bound, Formula, Term, Test};
use laxity_scenario::Scenario;
use laxity_units::Span;
use laxity_world::experiment::{Division, Experiment};
use laxity_world::promise::{self, Promise, shortfall};

const EDF: &str = "multiclass_edf";
const LEVELS: &str = "fixed_priority";

/// Host `a` is at a network of 100 Mbit/s with `b`, and at one of 10 with `c`, by adapters of these
/// names, of which the first in the alphabet is its first. `order` is that of CPU and links.
fn experiment(order: &str, names: [&str; 2], channels: &[String]) -> Experiment {
    of_text(&text(order, names, channels))
}

/// Hops have equal local deadlines, so that a test can say what each is asked for.
fn of_text(text: &str) -> Experiment {
    let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}{text}"));
    let mut experiment = scenario.first();
    experiment.admission.division = Division::Alike;
    experiment
}

fn text(order: &str, [fast, slow]: [&str; 2], channels: &[String]) -> String {
    let host = format!(
        "title = \"two links\"\n[host]\nprofile = \"mc68040\"\nspeedup = 10\nsubsystem = {{ packet = \"1500 B\", cpu = \"{order}\", link = \
         {{ paradigm = \"O1\", order = \"{order}\" }} }}\n[adapter]\nkind = \"null\"\n[node.a]\nadapter = {{ {fast} = {{}}, {slow} = {{}} }}\n\
         [node.b]\n[node.c]\n[network.fast]\njoins = [\"a.{fast}\", \"b\"]\nrate = \"100 Mbit/s\"\n[network.slow]\n\
         joins = [\"a.{slow}\", \"c\"]\nrate = \"10 Mbit/s\"\n"
    );
    host + "[admission]\ntest = \"d_order\"\n[run]\ntime = \"1 s\"\n" + &channels.concat()
}

/// A message of `size` each 40 ms, with `deadline` at each hop.
fn urgent(name: &str, route: &[&str], size: u32, deadline: &str) -> String {
    let (number, unit) = deadline.split_once(' ').expect("a number and a unit");
    let deadline = number.parse::<usize>().expect("a number") * route.len();
    format!(
        "[[channel]]\nname = \"{name}\"\nroute = {route:?}\nclass = \"real_time\"\nmax_message = \"{size} B\"\nburst = 1\n\
         min_interval = \"40 ms\"\ndeadline = \"{deadline} {unit}\"\nsource = {{ kind = \"periodic\" }}\n"
    )
}

/// Best effort of sizes from one to the other, with that many places for packets.
fn bulk(route: &[&str], sizes: (u32, u32), slots: u32) -> String {
    format!(
        "[[channel]]\nname = \"bulk-{}\"\nroute = {route:?}\nclass = \"best_effort\"\nmin_message = \"{} B\"\nmax_message = \"{} B\"\n\
         burst = 4\npacket_slots = {slots}\nsource = {{ kind = \"periodic\", interval = \"40 ms\" }}\n",
        sizes.0, sizes.0, sizes.1
    )
}

fn promises(experiment: &Experiment) -> Vec<Promise> {
    promise::promises(experiment, Formula::Corrected).unwrap().channels
}

/// The bound of the first channel at that hop.
fn bound_at(hop: usize, experiment: &Experiment) -> Bound {
    let Promise::Admitted(hops) = promises(experiment).remove(0) else { panic!("there is time for it") };
    hops[hop].bound
}

const NAMES: [&str; 2] = ["fast", "slow"];

/// A frame of 1500 B is 1.2 ms on the slow link and one of 64 B 51.2 us. So beside a message by the
/// fast link, which is promised 610 us, two of the slow one and another for a begun 1.2 ms are
/// started and heard of; if they may be short, which takes one of them among others that are not,
/// two and 18 in 918 us.
#[test]
fn packets_of_another_link_are_as_far_apart_as_its_shortest() {
    let beside = |channels: &[String]| {
        let soon = [urgent("soon", &["a", "b"], 3000, "20 ms")];
        [EDF, LEVELS].map(|order| bound_at(0, &experiment(order, NAMES, &[&soon, channels].concat())))
    };
    let long = bulk(&["a", "c"], (1500, 1500), 64);
    let alone = beside(&[]);
    let (few, many) = (beside(std::slice::from_ref(&long)), beside(&[bulk(&["a", "c"], (64, 1500), 64)]));
    let both = beside(&[long, bulk(&["a", "c"], (64, 64), 64)]);
    for order in [0, 1] {
        assert_eq!(alone[order].interference, Span::ZERO);
        let each = few[order].interference / 3;
        assert_eq!(
            [&few, &many, &both].map(|bounds| bounds[order].interference),
            [each * 3, each * 20, each * 20]
        );
        assert_eq!(few[order].bound, alone[order].bound + each * 3);
        let us = |bound: &Bound| bound.bound.div_ceil(Span::from_us(1));
        assert_eq!([us(&few[order]), us(&many[order])], [610, 919]);
        // As many of its forwarded packets, beside receive interrupts.
        let (ends, passes) =
            (beside(&[bulk(&["b", "a"], (64, 1500), 64)]), beside(&[bulk(&["b", "a", "c"], (64, 1500), 64)]));
        assert!(passes[order].interference >= ends[order].interference + each * 20);
    }
}

/// Under O2 they are started by a thread, between blocks, and prolong its runs by what they would
/// stretch the work of handlers under O1. Under O3 completions create a thread for each, and which
/// waits for a block before ours.
#[test]
fn whoever_starts_them_they_are_as_many() {
    let of = |order: &str, option: &str, channels: &[String]| {
        let soon = [urgent("soon", &["a", "b"], 3000, "20 ms")];
        let text = text(order, NAMES, &[&soon, channels].concat());
        bound_at(0, &of_text(&text.replace("O1", option)))
    };
    let other = [bulk(&["a", "c"], (1500, 1500), 64)];
    for order in [EDF, LEVELS] {
        let [o1, o2, o3] = ["O1", "O2", "O3"].map(|option| {
            let (alone, beside) = (of(order, option, &[]), of(order, option, &other));
            assert_eq!(alone.interference, Span::ZERO);
            assert!(beside.bound >= alone.bound + beside.interference, "{option}: {beside:?} of {alone:?}");
            (beside.interference, beside.wait + beside.service - alone.wait - alone.service)
        });
        // But for what is rounded up.
        assert!(o2.0 >= o1.0 && o2.0 - o1.0 < Span::from_ps(10), "{o2:?} of {o1:?}");
        assert_eq!((o1.1, o2.1), (Span::ZERO, Span::ZERO));
        assert!(o3.0 > o1.0 * 2 && !o3.1.is_zero(), "{o3:?} of {o1:?}");
    }
}

/// Frames of 64 B by the fast link may complete faster than they are heard of: they are counted by
/// the places that they are made in, since among others there are some too long to be on the link
/// while the next is made.
#[test]
fn packets_of_another_link_are_no_more_than_there_are_places_for() {
    let beside = |sizes: &[(u32, u32)], slots: u32| {
        let slow = urgent("slow", &["a", "c"], 3000, "25 ms");
        let others = sizes.iter().map(|sizes| bulk(&["a", "b"], *sizes, slots));
        let channels: Vec<String> = std::iter::once(slow).chain(others).collect();
        bound_at(0, &experiment(LEVELS, NAMES, &channels)).bound
    };
    for sizes in [&[(64, 1500)][..], &[(65, 65), (1500, 1500)]] {
        let [eight, further] = [16, 24].map(|slots| beside(sizes, slots + 8) - beside(sizes, slots));
        // But for what is rounded up.
        assert!(eight.max(further) - eight.min(further) <= Span::from_ps(1), "{further}");
        // Each is a call of the link scheduler and an interrupt.
        let places = 8 * sizes.len() as u64;
        assert!(eight > Span::from_us(places * 10) && eight < Span::from_us(places * 20), "{eight}");
    }
}

/// Whatever is sent by its own link, from here or from where it came by the other, may be in the
/// adapter before a message of one short frame, for 1.2 ms.
#[test]
fn best_effort_of_the_link_that_it_leaves_by_is_before_it() {
    for names in [NAMES, ["x", "b"]] {
        let beside = |route: &[&str]| {
            let channels = [urgent("short", &["a", "c"], 64, "25 ms"), bulk(route, (1500, 1500), 64)];
            bound_at(0, &experiment(EDF, names, &channels)).bound
        };
        let (elsewhere, frame) = (beside(&["a", "b"]), Span::from_us(1200));
        assert!(elsewhere < frame, "{elsewhere}");
        for own in [&["a", "c"][..], &["b", "a", "c"]] {
            let bound = beside(own);
            assert!(bound > frame && bound > elsewhere + frame / 2, "{own:?}: {bound}");
        }
    }
}

/// The links of a host are alike to it but for what leaves by them. Two frames of what it passes on
/// by the slow one, and a third before them, are 3.6 ms, with its first adapter or its second.
#[test]
fn which_link_is_the_first_is_all_the_same() {
    let on = ["fast", "slow"];
    for order in [EDF, LEVELS] {
        let bounds = |names: [&str; 2], channels: &[String]| -> Vec<Vec<Span>> {
            let promised = promises(&experiment(order, names, channels));
            promised
                .iter()
                .map(|promise| promise.hops().iter().map(|hop| hop.bound.bound).collect())
                .collect()
        };
        let over = [urgent("over", &["b", "a", "c"], 3000, "30 ms")];
        let either = [on, ["z", "y"]].map(|names| bounds(names, &over));
        assert_eq!(either[0], either[1]);
        assert!(either[0][0][1] > Span::from_us(3600), "{either:?}");
        let many = [
            urgent("late", &["a", "b"], 3000, "30 ms"),
            urgent("slow", &["a", "c"], 3000, "25 ms"),
            urgent("soon", &["a", "b"], 3000, "20 ms"),
            urgent("over", &["c", "a", "b"], 3000, "30 ms"),
            bulk(&["a", "c"], (64, 1500), 64),
            bulk(&["b", "a"], (1000, 1500), 64),
        ];
        assert_eq!(bounds(on, &many), bounds(["z", "y"], &many));
    }
}

/// A channel that arrives by a link and ends here does not leave by it: a host that sends by one
/// only has no other table, whichever link is its first.
#[test]
fn what_ends_here_leaves_by_no_link() {
    let comes = |names: [&str; 2]| {
        let channels = [urgent("soon", &["a", "b"], 3000, "20 ms"), bulk(&["c", "a"], (64, 1500), 64)];
        bound_at(0, &experiment(EDF, names, &channels)).bound
    };
    assert_eq!(comes(NAMES), comes(["z", "y"]));
}

/// Where no guaranteed channel leaves, the table of any link is valid, and the best counts. A frame
/// of 64 B takes 5 us on the fast link and more of the CPU: by time, best effort there takes all of
/// it, and only the table of that link counts by packets. So a channel that ends here does not need
/// one that leaves.
#[test]
fn a_channel_that_ends_here_has_the_best_table_of_all_links() {
    let comes = |names: [&str; 2], further: &[String]| {
        let channels = [urgent("in", &["c", "a"], 1500, "20 ms"), bulk(&["a", "b"], (64, 1500), 64)];
        bound_at(1, &experiment(EDF, names, &[&channels, further].concat())).bound
    };
    let alone = comes(NAMES, &[]);
    assert_eq!(alone, comes(["z", "y"], &[]));
    assert!(alone <= comes(NAMES, &[urgent("out", &["a", "b"], 64, "30 ms")]));
}

/// Of 3000 B that leave by the fast link the slow one's table has the CPU time, and not 2.4 ms. The
/// promise is the sum of its terms. By the demand test, where EDF goes by the requested deadline,
/// that is its own link's bound: messages 40 ms apart go in the order of their levels, each once.
#[test]
fn each_link_has_its_own_bound() {
    let channels = [
        urgent("late", &["a", "b"], 3000, "30 ms"),
        urgent("slow", &["a", "c"], 3000, "25 ms"),
        urgent("soon", &["a", "b"], 3000, "20 ms"),
    ];
    let bounds = |experiment: &Experiment| -> Vec<Bound> {
        promises(experiment).iter().map(|promise| promise.hops()[0].bound).collect()
    };
    let (by_level, by_order) = (experiment(LEVELS, NAMES, &channels), experiment(EDF, NAMES, &channels));
    let (by_level, latest) = (bounds(&by_level), bounds(&by_order));
    assert!(by_level[1].higher < Span::from_us(110), "{}", by_level[1].higher);
    for bound in by_level.iter().chain(&latest) {
        let terms = bound.wait + bound.service + bound.higher + bound.interference;
        assert_eq!(terms, bound.bound, "{bound:?}");
    }
    let mut by_demand = by_order;
    by_demand.admission.test = Test::Demand;
    let own = |bounds: &[Bound]| -> Vec<Span> { bounds.iter().map(|bound| bound.bound).collect() };
    assert_eq!(own(&bounds(&by_demand)), own(&by_level));
}

/// Both links have to have time: the least deadline that is named is admitted, and a shorter one is
/// not.
#[test]
fn the_deadline_that_is_named_is_that_of_all_links() {
    for names in [NAMES, ["z", "y"]] {
        let channels = [
            urgent("slow", &["a", "c"], 3000, "25 ms"),
            urgent("soon", &["a", "b"], 3000, "20 ms"),
            urgent("hasty", &["a", "b"], 3000, "100 us"),
        ];
        let mut experiment = experiment(EDF, names, &channels);
        assert!(promises(&experiment)[2].is_refused());
        let least = shortfall(&experiment, Formula::Corrected, 2).admissible.expect("there is time later");
        for (deadline, refused) in [(least, false), (least - Span::from_ps(1), true)] {
            experiment.channels[2].deadline = Some(deadline);
            assert_eq!(promises(&experiment)[2].is_refused(), refused, "{deadline}");
        }
    }
}

/// A channel refused by one link, or further on, keeps no reservation at the others. Of 200 us 195
/// are CPU time where the other link is the fast one, so no channel could be before it there, and
/// the slow link takes more for one packet; and 2 ms are too short where it ends on a CPU of a
/// twentieth of the speed.
#[test]
fn who_is_refused_is_at_no_link() {
    let others = [urgent("late", &["a", "b"], 3000, "30 ms"), urgent("slow", &["a", "c"], 3000, "25 ms")];
    let asked = |order: &str, names: [&str; 2], more: &[String]| {
        let text = text(order, names, &[more, &others].concat());
        let experiment = of_text(&text.replace("[node.b]\n", "[node.b]\nhost = { speedup = 0.5 }\n"));
        promises(&experiment)
    };
    let bounds = |promises: &[Promise]| -> Vec<Span> {
        promises.iter().flat_map(Promise::hops).map(|hop| hop.bound.bound).collect()
    };
    for (order, names) in [(EDF, NAMES), (EDF, ["z", "y"]), (LEVELS, NAMES), (LEVELS, ["z", "y"])] {
        let without = bounds(&asked(order, names, &[]));
        assert_eq!(without.len(), 4);
        for (to, deadline) in [("c", "200 us"), ("b", "2 ms")] {
            let promised = asked(order, names, &[urgent("hasty", &["a", to], 3000, deadline)]);
            assert!(promised[0].is_refused(), "{:?}", promised[0]);
            // Counted by packets its buffers are there, which take some CPU time, and no message of it is.
            let beside = bounds(&promised[1..]);
            let alike = |(beside, without): (&Span, &Span)| {
                beside >= without && *beside <= without.saturating_add(Span::from_us(40))
            };
            assert!(
                beside.iter().zip(&without).all(alike),
                "{order} {names:?} {to}: {beside:?}, {without:?}"
            );
        }
    }
}

/// There are 31 levels above best effort's, so 31 channels have one each, in the order of their
/// deadlines, whatever else is sent.
#[test]
fn as_many_channels_as_levels_have_one_each() {
    let named = |n: u32| {
        urgent(
            &format!("c{n}"),
            &["a", if n.is_multiple_of(2) { "b" } else { "c" }],
            64,
            &format!("{} ms", 9 + n),
        )
    };
    let mut channels: Vec<String> = (0..31).rev().map(named).collect();
    channels.push(bulk(&["a", "c"], (64, 64), 64));
    let promised = promises(&experiment(LEVELS, NAMES, &channels));
    let levels = promised[..31].iter().map(|promise| promise.hops()[0].bound.level);
    assert!(levels.eq((0..31).rev().map(Some)));
}

/// Beside one message of `slow` a message of `late` makes it wait till 4176.560 us by the slow
/// link's table, so with 4150 us it has to be above there; the fast link's table would have it
/// below, as each channel is put as high as those below tolerate. There is one level for each at
/// the CPU, so it is above in both. With 353 us more `slow` tolerates `late` above it in both; by
/// EDF it need not be either; and an earlier request for less is below in both.
#[test]
fn the_tables_of_all_links_have_one_order() {
    let asked = |order: &str, names: [&str; 2], deadline: &str, turned: bool| {
        let slow = urgent("slow", &["a", "c"], 3000, deadline);
        let mut channels = [slow, urgent("late", &["a", "b"], 3000, "30 ms")];
        if turned {
            channels.reverse();
        }
        let promised = promises(&experiment(order, names, &channels));
        promised.iter().map(|promise| promise.hops()[0].bound.level).collect::<Vec<_>>()
    };
    for names in [NAMES, ["z", "y"]] {
        assert_eq!(asked(LEVELS, names, "4150 us", false), [Some(0), Some(1)]);
        assert_eq!(asked(LEVELS, names, "4503 us", false), [Some(1), Some(0)]);
        assert_eq!(asked(LEVELS, names, "4150 us", true), [Some(1), Some(0)]);
        assert_eq!(asked(EDF, names, "4150 us", false), [None, None]);
    }
}

/// The least deadline of `late` is what it waits for at the place that it would have: above
/// 4150 us below a message by the slow link, where that has to be above, and less above it.
#[test]
fn the_deadline_that_is_named_is_that_of_the_one_order() {
    for (names, deadline) in [(NAMES, "4150 us"), (["z", "y"], "4150 us"), (NAMES, "4503 us")] {
        let channels =
            [urgent("slow", &["a", "c"], 3000, deadline), urgent("late", &["a", "b"], 3000, "100 us")];
        let mut experiment = experiment(LEVELS, names, &channels);
        assert!(promises(&experiment)[1].is_refused());
        let least = shortfall(&experiment, Formula::Corrected, 1).admissible.expect("there is time later");
        for (deadline, refused) in [(least, false), (least - Span::from_ps(1), true)] {
            experiment.channels[1].deadline = Some(deadline);
            assert_eq!(promises(&experiment)[1].is_refused(), refused, "{deadline}");
        }
        assert_eq!(least > Span::from_us(2 * 4150), deadline == "4150 us", "{least}");
    }
}

/// Each table has a bound for a channel that leaves by no link, and under levels no order depends
/// on it: so the least counts, whichever adapter is the first.
#[test]
fn what_ends_here_is_promised_the_least_of_all_links() {
    let bounds = |order: &str, names: [&str; 2]| {
        let channels = [
            urgent("ends", &["b", "a"], 3000, "40 ms"),
            urgent("slow", &["a", "c"], 3000, "25 ms"),
            urgent("soon", &["a", "b"], 3000, "20 ms"),
        ];
        let promised = promises(&experiment(order, names, &channels));
        let hop = promised[0].hops()[1].clone();
        let of = |terms: &[Term]| terms.iter().map(|term| term.cost).sum::<Span>();
        assert_eq!([of(hop.wait.terms()), of(hop.service.terms())], [hop.bound.wait, hop.bound.service]);
        hop.bound
    };
    let [either, other] = [NAMES, ["z", "y"]].map(|names| bounds(LEVELS, names));
    assert_eq!(either.bound, other.bound);
    let terms = either.wait + either.service + either.higher + either.interference;
    assert_eq!(terms, either.bound);
    // EDF goes by what is promised, which is the later.
    assert!(bounds(EDF, NAMES).bound > either.bound + Span::from_us(900));
}

/// Where channels have levels, `D_order` decides whatever the file asks for: the demand test is about
/// EDF, of which the bounds are others.
#[test]
fn levels_are_admitted_by_order_whatever_the_test() {
    let channels = [urgent("slow", &["a", "c"], 3000, "25 ms"), urgent("soon", &["a", "b"], 3000, "20 ms")];
    let by = |order: &str, test: Test| {
        let mut experiment = experiment(order, NAMES, &channels);
        experiment.admission.test = test;
        promises(&experiment).iter().map(Promise::bound).collect::<Vec<_>>()
    };
    assert_eq!(by(LEVELS, Test::Demand), by(LEVELS, Test::DOrder));
    assert_ne!(by(EDF, Test::Demand), by(EDF, Test::DOrder));
}

/// Both tables have the channels in one order, so each has the level of its position there. By
/// deadlines a channel has the later of the two bounds, by which EDF goes. By levels it has its own
/// link's bound, and the fast link's is shorter by the other channel's part in each wait: a packet
/// of 1.2 ms where its own take 120 us.
#[test]
fn levels_order_several_links_without_a_deadline_of_the_other() {
    let hops = |order: &str| -> Vec<(Option<u32>, Span)> {
        let first = |promise: Promise| {
            let Promise::Admitted(hops) = promise else { panic!("{order}: {promise:?}") };
            (hops[0].bound.level, hops[0].bound.bound)
        };
        let channels = [
            urgent("late", &["a", "b"], 3000, "30 ms"),
            urgent("slow", &["a", "c"], 3000, "25 ms"),
            urgent("soon", &["a", "b"], 3000, "20 ms"),
        ];
        promises(&experiment(order, NAMES, &channels)).into_iter().map(first).collect()
    };
    let (by_level, by_deadline) = (hops(LEVELS), hops(EDF));
    assert_eq!([0, 1, 2].map(|n| by_level[n].0), [Some(2), Some(1), Some(0)]);
    assert_eq!([0, 1, 2].map(|n| by_deadline[n].0), [None; 3]);
    for fast in [0, 2] {
        let shorter = by_deadline[fast].1 - by_level[fast].1;
        assert!(shorter > Span::from_us(900), "{shorter}");
    }
    assert_eq!(by_level[1].1, by_deadline[1].1);
}
