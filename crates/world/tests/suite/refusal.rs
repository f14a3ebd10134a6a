//! The advice for a refused channel.

use laxity_admission::Formula;
use laxity_model::adapter::{BufferPool, Own};
use laxity_scenario::Scenario;
use laxity_units::Span;
use laxity_world::experiment::{AdapterSpec, ChannelSpec, Experiment};
use laxity_world::promise::{self, Advice, Promise, shortfall};

/// Three equal channels on a slow host, the last with a deadline of its own.
fn scenario(deadline: &str) -> Experiment {
    let channel = |name: &str, deadline: &str| {
        format!(
            "[[channel]]\nname = \"{name}\"\nclass = \"real_time\"\nmax_message = \"16 KiB\"\nburst = 1\n\
             min_interval = \"40 ms\"\ndeadline = \"{deadline}\"\nsource = {{ kind = \"periodic\" }}\n"
        )
    };
    let text = format!(
        "title = \"a test\"\n[host]\nprofile = \"mc68040\"\n[adapter]\nkind = \"null\"\nstartup = \"40 us\"\n\
         per_byte = \"50 ns\"\n[run]\ntime = \"1 s\"\n{}{}{}",
        channel("a", "30 ms"),
        channel("b", "30 ms"),
        channel("c", deadline)
    );
    let scenario = Scenario::from_text("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}"));
    scenario.first()
}

fn answer(experiment: &Experiment) -> Promise {
    promise::promises(experiment, Formula::Corrected).unwrap().channels.remove(2)
}

#[test]
fn the_deadline_that_is_named_is_admitted_and_a_shorter_one_is_not() {
    let experiment = scenario("1 ms");
    assert!(matches!(answer(&experiment), Promise::Refused(_)));
    let shortfall = shortfall(&experiment, Formula::Corrected, 2);
    let least = shortfall.admissible.expect("40 ms is enough");
    let asking = |deadline: Span| {
        let mut experiment = experiment.clone();
        experiment.channels[2].deadline = Some(deadline);
        answer(&experiment)
    };
    assert!(matches!(asking(least), Promise::Admitted { .. }), "{least}");
    assert!(matches!(asking(least - Span::from_ps(1)), Promise::Refused(_)), "{least}");
    // The deadline that a user reads is admitted, too.
    let proposed = shortfall.proposed.expect("there is a least one");
    assert!(matches!(asking(proposed), Promise::Admitted { .. }), "{proposed}");
    assert_eq!(proposed, least.rounded_up(3));
    let largest = shortfall.largest.expect("a response time has terms");
    assert!(largest.cost < least && largest.cost * 8 > least, "{largest:?} of {least}");
}

/// Refused for its deadline or for its rate, it gets the interval at which it would be admitted; it
/// is admitted there, and a fiftieth sooner it is not, unless that was its request.
#[test]
fn a_refusal_names_the_channel_that_would_be_late() {
    let channel = |name: &str, contract: &str| {
        format!(
            "[[channel]]\nname = \"{name}\"\nclass = \"real_time\"\nburst = 1\n{contract}\n\
             source = {{ kind = \"periodic\" }}\n"
        )
    };
    let text = format!(
        "title = \"a test\"\n[host]\nprofile = \"mc68040\"\n[adapter]\nfile = \"null\"\n[run]\ntime = \"1 s\"\n{}{}",
        channel("loop", "max_message = \"1 KiB\"\nmin_interval = \"15 ms\"\ndeadline = \"4 ms\""),
        channel("hasty", "max_message = \"8 KiB\"\nmin_interval = \"40 ms\"\ndeadline = \"3 ms\"")
    );
    let scenario = Scenario::from_text("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}"));
    let experiment = scenario.first();
    let answers = promise::promises(&experiment, Formula::Corrected).unwrap().channels;
    assert!(matches!(answers[0], Promise::Admitted(_)), "{answers:?}");
    let why = answers[1].refusal(&experiment, 1).expect("both do not fit");
    assert!(why.starts_with("with it the promise of `loop` would not hold: deadline: "), "{why}");
}

#[test]
fn the_rate_that_is_named_is_admitted_and_a_higher_one_is_not() {
    for asked in [Span::from_ms(40), Span::from_ms(2)] {
        let mut experiment = scenario("1 ms");
        experiment.channels[2].spec.min_interval = asked;
        let (interval, deadline) = promise::fit(&experiment, Formula::Corrected, 2, &answer(&experiment))
            .interval
            .unwrap_or_else(|| panic!("at some rate below {asked} there is room"));
        let asking = |interval: Span| {
            let mut experiment = experiment.clone();
            experiment.channels[2].spec.min_interval = interval;
            experiment.channels[2].deadline = Some(interval);
            answer(&experiment)
        };
        assert_eq!(deadline, Some(interval), "1 ms is too short at any rate");
        assert!(matches!(asking(interval), Promise::Admitted { .. }), "{interval}");
        // Three figures are within a hundredth.
        assert_eq!(interval, interval.rounded_up(3));
        let sooner = interval - interval / 10;
        assert!(sooner < asked || matches!(asking(sooner), Promise::Refused(_)), "{sooner}");
        assert_eq!(interval == asked, asked == Span::from_ms(40), "{interval}");
    }
}

/// The number of buffers for incoming frames at the only adapter of stages.
fn room_in_adapter(experiment: &mut Experiment, key: &str, room: u32) {
    let described = experiment.adapters.iter_mut().find_map(|adapter| match adapter {
        AdapterSpec::Described(description) => Some(description),
        AdapterSpec::Null(_) => None,
    });
    let description = described.expect("an adapter of stages");
    let pool = &mut description.receive_buffers.pool;
    match (key, &mut *pool) {
        ("receive_buffers.shared", BufferPool::Shared(shared)) => *shared = room,
        ("receive_buffers.per_channel", BufferPool::PerChannel(each)) => *each = room,
        ("receive_buffers.per_channel", BufferPool::Reserved { own, .. }) => *own = Own::Each(room),
        ("receive.queue.slots", _) => description.receive[0].queues[0].slots = Some(room),
        ("response_queue.slots", _) => description.interface.responses[0].slots = Some(room),
        (key, pool) => panic!("{key} of {pool:?}"),
    }
}

/// The result of [`promise::fit`] for a refused channel, checked: its advice is admitted, and a
/// hundredth less (of buffers one less) is refused.
fn fits_and_no_less(text: &str) -> (Experiment, promise::Fit) {
    let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"));
    let experiment = scenario.first();
    let asked = |change: &dyn Fn(&mut Experiment, usize)| {
        let mut experiment = experiment.clone();
        let i = experiment.channels.iter().position(|channel| channel.name == "late").unwrap();
        change(&mut experiment, i);
        promise::promises(&experiment, Formula::Corrected).unwrap().channels.remove(i)
    };
    let i = experiment.channels.iter().position(|channel| channel.name == "late").unwrap();
    let refused = asked(&|_, _| {});
    assert!(refused.is_refused(), "{refused:?}");
    let fit = promise::fit(&experiment, Formula::Corrected, i, &refused);
    // Where room is missing the deadline is for a channel that has it.
    if let Some(least) = fit.shortfall.admissible.filter(|_| fit.room.is_empty()) {
        let with = |deadline: Span| asked(&|e, i| e.channels[i].deadline = Some(deadline)).is_refused();
        let sooner = with(least - least / 100);
        assert!(!with(least) && sooner, "a deadline of {least}");
        let proposed = fit.shortfall.proposed.expect("there is a least one");
        assert!(least <= proposed && !with(proposed), "a deadline of {proposed}");
    }
    if let Some((interval, deadline)) = fit.interval {
        let own = deadline == experiment.channels[i].deadline;
        let with = |interval: Span| {
            let answer = asked(&|e, i| {
                e.channels[i].spec.min_interval = interval;
                e.channels[i].deadline = if own { deadline } else { Some(interval) };
            });
            answer.is_refused()
        };
        let sooner = interval - interval / 50;
        // Ports by rates may share deadlines out again for less, which the search does not try.
        let shared = experiment.outlets.iter().any(|outlet| outlet.config.order.has_latency());
        let least = shared || sooner < experiment.channels[i].spec.min_interval || with(sooner);
        assert!(!with(interval) && least, "a message each {interval}");
    }
    let all = |e: &mut Experiment, i: usize, less: Option<&str>| {
        for room in &fit.room {
            let least = room.least - u64::from(less == Some(room.key));
            match (room.key, e.interface_of_mut(i).map(|interface| &mut interface.config)) {
                ("message_slots", _) => e.channels[i].message_slots = least as u32,
                ("packet_slots", _) => e.channels[i].packet_slots = least,
                ("reader.slots", _) => e.channels[i].reader.as_mut().unwrap().slots = least as u32,
                ("slots", Some(config)) => config.slots = least as u32,
                ("buffers", Some(config)) => config.buffers = Some(least as u32),
                ("buffers_real_time", Some(config)) => {
                    let more = least as u32 - config.buffers_real_time;
                    config.buffers_real_time += more;
                    config.buffers = config.buffers.map(|all| all + more);
                }
                (key, _) => room_in_adapter(e, key, least as u32),
            }
        }
    };
    if !fit.room.is_empty() {
        assert!(!asked(&|e, i| all(e, i, None)).is_refused(), "{:?}", fit.room);
        for room in &fit.room {
            assert!(room.has < room.least, "{room:?}");
            assert!(asked(&|e, i| all(e, i, Some(room.key))).is_refused(), "{room:?}");
        }
    }
    (experiment, fit)
}

/// Hosts of negligible cost at a switch of 100 Mbit/s, and the channel that is refused at its port
/// to `sink`.
fn at_a_port(switch: &str, admission: &str, late: &str) -> String {
    let channel = |name: &str, from: &str, contract: &str| {
        format!(
            "[[channel]]\nname = \"{name}\"\nclass = \"real_time\"\nfrom = \"{from}\"\nto = \"sink\"\n{contract}\n\
             source = {{ kind = \"periodic\" }}\n"
        )
    };
    let (due, admission) = match admission {
        "" => ("8100 us", "deadlines = \"alike\""),
        other => ("27 ms", other),
    };
    let other =
        format!("max_message = \"15000 B\"\nburst = 2\nmin_interval = \"10 ms\"\ndeadline = \"{due}\"");
    format!(
        "title = \"a port\"\n[host]\nprofile = \"mc68040\"\nspeedup = 1000.0\nsubsystem = {{ packet = \"1500 B\", link = {{ paradigm = \"O1\" }} }}\n\
         [adapter]\nkind = \"null\"\nrate = \"10 Gbit/s\"\n[node.a]\n[node.b]\n[node.c]\n[node.sink]\n[node.s]\nkind = \"switch\"\n\
         shared_memory = \"1 MiB\"\n{switch}\n[network.n]\njoins = [\"s\", \"a\", \"b\", \"c\", \"sink\"]\nrate = \"100 Mbit/s\"\n\
         framing = \"ethernet\"\n[admission]\n{admission}\n[run]\ntime = \"1 s\"\n{}{}{}",
        channel("first", "a", &other),
        channel("second", "b", &other),
        channel("late", "c", late),
    )
}

#[test]
fn a_port_says_what_would_fit() {
    let refused_at_the_port = |experiment: &Experiment| {
        let answers = promise::promises(experiment, Formula::Corrected).unwrap().channels;
        let Some(Promise::Refused(refused)) = answers.into_iter().find(Promise::is_refused) else { panic!() };
        assert!(refused.node >= experiment.nodes.len(), "{}", refused.in_words(experiment));
        assert!(refused.in_words(experiment).contains("s."), "{}", refused.in_words(experiment));
    };
    // Ten frames take 1.23 ms; the others tolerate no channel before them.
    let hasty = "max_message = \"15000 B\"\nburst = 1\nmin_interval = \"10 ms\"\ndeadline = \"6 ms\"";
    let (experiment, fit) = fits_and_no_less(&at_a_port("", "", hasty));
    refused_at_the_port(&experiment);
    assert!(fit.shortfall.admissible.is_some() && fit.interval.is_some(), "{fit:?}");
    assert_eq!(fit.shortfall.largest.unwrap().name, "messages of channels above");
    // More than is left of the link: a deadline would not help, a lower rate would.
    let greedy = "max_message = \"60000 B\"\nburst = 1\nmin_interval = \"6 ms\"\ndeadline = \"18 ms\"";
    let (experiment, fit) = fits_and_no_less(&at_a_port("", "", greedy));
    refused_at_the_port(&experiment);
    assert!(fit.shortfall.admissible.is_none() && fit.interval.unwrap().0 > Span::from_ms(6), "{fit:?}");
    let hasty = "max_message = \"15000 B\"\nburst = 1\nmin_interval = \"10 ms\"\ndeadline = \"4200 us\"";
    for order in ["virtual_clock", "wf2q_plus", "scfq", "drr"] {
        let switch = format!("order = \"{order}\"");
        for contract in [hasty, greedy] {
            let (experiment, fit) = fits_and_no_less(&at_a_port(&switch, "deadlines = \"shared\"", contract));
            refused_at_the_port(&experiment);
            // Where it is slower turns are longer, and the others late.
            assert!(fit.interval.is_some() || order == "drr", "{order}: {fit:?}");
        }
    }
}

/// An interface polled by a timer, its program with a budget, and the channel that is refused
/// there.
fn where_it_comes_in(room: &str, late: &str) -> String {
    format!(
        "title = \"an interface\"\n[host]\nprofile = \"polling-server\"\ncosts = {{ context_switch = \"2 us\" }}\n\
         receive = {{ poll = \"1.59 us\", program = \"3 us\" }}\n[run]\ntime = \"200 ms\"\n[[interface]]\nname = \"nic\"\n\
         policy = \"hard_timer\"\ninterval = \"100 us\"\nquota = 10\n{room}\n\
         sharing = {{ kind = \"weighted\", real_time = 4, best_effort = 6 }}\n\
         [[program]]\nname = \"control\"\norder = \"class\"\nbudget = \"60 us\"\nperiod = \"1 ms\"\n\
         [[program]]\nname = \"others\"\n\
         [[channel]]\nname = \"samples\"\nclass = \"real_time\"\nmax_message = \"64 B\"\nburst = 1\nmin_interval = \"500 us\"\n\
         deadline = \"5 ms\"\ninterface = \"nic\"\nprogram = \"control\"\nsource = {{ kind = \"periodic\" }}\n\
         [[channel]]\nname = \"late\"\nclass = \"real_time\"\nmax_message = \"64 B\"\n{late}\n\
         interface = \"nic\"\nprogram = \"control\"\nsource = {{ kind = \"periodic\" }}\n\
         [[channel]]\nname = \"flood\"\nclass = \"best_effort\"\nmax_message = \"1000 B\"\nburst = 1\ninterface = \"nic\"\n\
         program = \"others\"\nsource = {{ kind = \"periodic\", rate = \"10 MB/s\" }}\n"
    )
}

#[test]
fn an_interface_says_what_would_fit() {
    const ROOM: &str = "slots = 64\nbuffers = 128\nbuffers_real_time = 64";
    let hasty = "burst = 1\nmin_interval = \"1 ms\"\ndeadline = \"200 us\"";
    let (_, fit) = fits_and_no_less(&where_it_comes_in(ROOM, hasty));
    assert!(fit.shortfall.admissible.is_some() && fit.room.is_empty(), "{fit:?}");
    let greedy = "burst = 1\nmin_interval = \"50 us\"\ndeadline = \"4 ms\"";
    let (_, fit) = fits_and_no_less(&where_it_comes_in(ROOM, greedy));
    assert!(fit.shortfall.admissible.is_none() && fit.interval.unwrap().0 > Span::from_us(50), "{fit:?}");
    // Both are too few, and a refusal names one of them.
    let bursty = "burst = 9\nmin_interval = \"4 ms\"\ndeadline = \"9 ms\"";
    let few = "slots = 3\nbuffers = 40\nbuffers_real_time = 2";
    let (_, fit) = fits_and_no_less(&where_it_comes_in(few, bursty));
    assert_eq!(fit.room.iter().map(|room| room.key).collect::<Vec<_>>(), ["slots", "buffers_real_time"]);
    // Where only real time arrives all of the buffers are for it.
    let alone = where_it_comes_in("slots = 64\nbuffers = 4", bursty);
    let alone = &alone[..alone.find("[[channel]]\nname = \"flood\"").unwrap()];
    let (_, fit) = fits_and_no_less(alone);
    assert_eq!(fit.room.iter().map(|room| room.key).collect::<Vec<_>>(), ["buffers"]);
}

#[test]
fn a_virtual_interface_says_what_would_fit() {
    let text = |late: &str| {
        let channel = |name: &str, contract: &str| {
            format!(
                "[[channel]]\nname = \"{name}\"\nclass = \"real_time\"\nto = 1\nmax_message = \"4 KiB\"\nburst = 1\n{contract}\n\
                 source = {{ kind = \"periodic\" }}\n"
            )
        };
        format!(
            "title = \"virtual interfaces\"\n[via]\nfirmware = \"qosvia\"\nnodes = 2\ndepth = 1\n[run]\ntime = \"100 ms\"\n{}{}",
            channel("first", "min_interval = \"1 ms\"\ndeadline = \"2 ms\""),
            channel("late", late)
        )
    };
    let (_, fit) = fits_and_no_less(&text("min_interval = \"2 ms\"\ndeadline = \"100 us\""));
    assert!(fit.shortfall.admissible.is_some(), "{fit:?}");
    // More than the adapter has time for.
    let (_, fit) = fits_and_no_less(&text("min_interval = \"60 us\"\ndeadline = \"2 ms\""));
    assert!(fit.shortfall.admissible.is_none() && fit.interval.unwrap().0 > Span::from_us(60), "{fit:?}");
}

#[test]
fn a_host_says_how_much_room_would_do() {
    let text = |late: &str, test: &str| {
        format!(
            "title = \"room\"\n[host]\nprofile = \"mc68040\"\n[adapter]\nkind = \"null\"\nstartup = \"40 us\"\nper_byte = \"50 ns\"\n\
             [path]\nrelays = 0\nreceive = true\n[admission]\ndeadlines = \"alike\"\n{test}\n[run]\ntime = \"1 s\"\n[[channel]]\nname = \"late\"\nclass = \"real_time\"\n\
             max_message = \"16 KiB\"\nburst = 5\nmin_interval = \"40 ms\"\n{late}\nsource = {{ kind = \"periodic\" }}\n"
        )
    };
    let keys =
        |fit: &promise::Fit| fit.room.iter().map(|room| (room.key, room.has, room.least)).collect::<Vec<_>>();
    // A burst of five and the one that is current; one message's packets.
    let little = "deadline = \"80 ms\"\nmessage_slots = 2\npacket_slots = 1";
    let (_, fit) = fits_and_no_less(&text(little, ""));
    assert_eq!(keys(&fit), [("message_slots", 2, 5), ("packet_slots", 1, 4)]);
    // Three could be under way at a time, but a hop is asked for no later deadline than it has
    // buffers for.
    let several =
        "deadline = \"240 ms\"\nmessage_slots = 2\npacket_slots = 5\nreader = { work = \"1 ms\", slots = 1 }";
    let (_, fit) = fits_and_no_less(&text(several, "test = \"demand\""));
    assert_eq!(keys(&fit), [("message_slots", 2, 5)]);
    // A handler that works ahead makes all five simultaneous packets: it waits for a buffer, or has
    // to have one for each packet.
    let ahead = |late: &str| {
        let host = "profile = \"mc68040\"\n";
        let text =
            text(late, "").replace(host, &format!("{host}subsystem = {{ early = \"below_best_effort\" }}\n"));
        keys(&fits_and_no_less(&text).1)
    };
    assert_eq!(ahead(little), [("message_slots", 2, 5), ("packet_slots", 1, 4)]);
    let drops = format!("{little}\npacket_overflow = \"drop\"");
    assert_eq!(ahead(&drops), [("message_slots", 2, 5), ("packet_slots", 1, 20)]);
}

/// Two hosts with adapters that have a frame on the medium for 10 us, and a received one in service
/// for 6. Of frames that close, each is through after 6/(1 − 6/10) = 15 us, so there may be two at a
/// time. One of the two channels has messages of one frame, 20 ms apart: three may be simultaneous
/// within the 5 ms of its deadline, and one more within any time. Best effort is endless.
fn comes_in(adapter: &str, receive: &str) -> String {
    format!(
        "title = \"frames\"\n[host]\nprofile = \"mc68040\"\nspeedup = 200.0\ncosts = {{ interrupt = \"2 us\" }}\n\
         subsystem = {{ packet = \"1000 B\", link = {{ paradigm = \"O1\" }} }}\n\
         [adapter]\nkind = \"generic\"\n{adapter}\n\
         [[adapter.transmit]]\nname = \"link\"\nphase = [{{ medium = true, fixed = \"10 us\" }}]\n\
         [[adapter.receive]]\nname = \"in\"\nphase = [{{ fixed = \"6 us\" }}]\n{receive}\n\
         [node.a]\n[node.b]\n[network.n]\njoins = [\"a\", \"b\"]\n[run]\ntime = \"100 ms\"\n\
         [[channel]]\nname = \"late\"\nclass = \"real_time\"\nfrom = \"a\"\nto = \"b\"\nmax_message = \"1000 B\"\nburst = 1\n\
         min_interval = \"20 ms\"\ndeadline = \"5 ms\"\nsource = {{ kind = \"periodic\" }}\n\
         [[channel]]\nname = \"flood\"\nclass = \"best_effort\"\nfrom = \"a\"\nto = \"b\"\nmax_message = \"10000 B\"\nburst = 4\n\
         source = {{ kind = \"continuous\" }}\n"
    )
}

#[test]
fn an_adapter_says_how_much_room_would_do_for_what_comes_in() {
    let short = |adapter: &str, receive: &str| {
        let (experiment, fit) = fits_and_no_less(&comes_in(adapter, receive));
        let answers = promise::promises(&experiment, Formula::Corrected).unwrap().channels;
        let Promise::Refused(refused) = answers[0] else { panic!("{answers:?}") };
        let words = refused.in_words(&experiment);
        assert!(words.contains("find none free, and be lost") && words.contains("b: "), "{words}");
        fit.room.iter().map(|room| (room.key, room.has, room.least)).collect::<Vec<_>>()
    };
    assert_eq!(short("receive_buffers = { shared = 1 }", ""), [("receive_buffers.shared", 1, 2)]);
    let queue_of = |queue: &str| format!("queue = [{queue}]");
    let all = queue_of("{ slots = 1, overload = \"drop\" }");
    assert_eq!(short("", &all), [("receive.queue.slots", 1, 2)]);
    // Its own frames may be four by its contract, but no more than two arrive in all.
    let own = queue_of(
        "{ takes = \"real_time\", slots = 1, overload = \"drop\" }, { slots = 1, overload = \"drop\" }",
    );
    assert_eq!(short("", &own), [("receive.queue.slots", 1, 2)]);
    let each = short("receive_buffers = { per_channel = 1 }", "");
    assert_eq!(each, [("receive_buffers.per_channel", 1, 4)]);
    let each = short("receive_buffers = { shared = 1, per_channel = 2 }", "");
    assert_eq!(each, [("receive_buffers.per_channel", 2, 4)]);
    // Those that an interrupt has not been served for, which takes 10 ns here: two in 15 us.
    let queue = "response_queue = [{ answers = \"received\", slots = 1, overload = \"drop\" }, { answers = \"sent\" }]";
    assert_eq!(short(queue, ""), [("response_queue.slots", 1, 2)]);
    // With 5 us for each, of which three may be simultaneous, being in the adapter for 15 us, and
    // one each 10 us, it takes (3 + 1) 5/(1 − 1/2) = 40 us, and twice the start of the link: six in
    // 15 + 40.
    let least = |text: &str| {
        let (_, fit) = fits_and_no_less(text);
        fit.room.iter().map(|room| (room.has, room.least)).collect::<Vec<_>>()
    };
    let slow = comes_in(queue, "").replace("interrupt = \"2 us\"", "interrupt = \"1 ms\"");
    assert_eq!(least(&slow), [(1, 6)]);
    // One that is sent the other way has an interrupt of 5 us before it, so 10 us more; where its
    // response is in the same queue that has a place, too.
    let back = "[[channel]]\nname = \"back\"\nclass = \"best_effort\"\nfrom = \"b\"\nto = \"a\"\nmax_message = \"1000 B\"\nburst = 1\n\
                source = { kind = \"continuous\" }\n";
    assert_eq!(least(&format!("{slow}{back}")), [(1, 7)]);
    // Arrivals take 9 of 10 us, so 90 us, in which there are ten; and no more than four guaranteed
    // ones.
    let dense = |adapter: &str, receive: &str| least(&comes_in(adapter, receive).replace("6 us", "9 us"));
    assert_eq!(dense("receive_buffers = { shared = 1 }", ""), [(1, 10)]);
    assert_eq!(dense("receive_buffers = { shared = 1, overload = \"priority\" }", ""), [(1, 5)]);
    // Before the first stage they hardly gather, since a frame is through before the next is there.
    for (least, queues) in [
        (2, "{ slots = 1, overload = \"drop\" }"),
        (2, "{ slots = 1, overload = \"priority\" }"),
        (2, "{ takes = \"real_time\", slots = 1, overload = \"drop\" }, { slots = 1, overload = \"drop\" }"),
    ] {
        assert_eq!(dense("", &queue_of(queues)), [(1, least)], "{queues}");
    }
}

#[test]
fn an_adapter_with_room_for_all_that_comes_in_keeps_its_bound() {
    let kept = |adapter: &str, receive: &str| {
        let scenario = Scenario::from_text("test.toml", comes_in(adapter, receive));
        let experiment = scenario.unwrap_or_else(|errors| panic!("{errors}")).first();
        let answers = promise::promises(&experiment, Formula::Corrected).unwrap().channels;
        assert_eq!(answers[0].at(0).unwrap().frames, None, "nothing comes in where it starts");
        assert_eq!(answers[0].at(1).unwrap().frames, Some(2));
        let run = laxity_world::run(&experiment);
        assert!(run.figures["frames_in_adapter@b"] <= 2.0, "{:?}", run.figures);
        (answers[0].delivery_bound(), run.channels[0].lost_packets)
    };
    let (bound, lost) = kept("", "");
    assert!(bound.is_some() && lost == 0);
    let queue = |overload: &str| format!("queue = [{{ slots = 2, overload = \"{overload}\" }}]");
    for (adapter, receive) in [
        ("receive_buffers = { shared = 2 }", String::new()),
        // Two of real time and one in hand; or as many as there are.
        ("receive_buffers = { shared = 2, overload = \"priority\" }", String::new()),
        ("receive_buffers = { shared = 2, per_channel = 1 }", String::new()),
        ("receive_buffers = { per_channel = 4 }", String::new()),
        ("", queue("drop")),
        ("", queue("priority")),
        ("", "queue = [{ takes = \"real_time\" }, { slots = 1, overload = \"drop\" }]".into()),
    ] {
        assert_eq!(kept(adapter, &receive), (bound, 0), "{adapter} {receive}");
    }
}

/// All refused channels are checked beside the same others, in any order: a check leaves no state
/// behind.
#[test]
fn what_one_is_told_does_not_hang_on_who_was_asked_before() {
    let mut experiment = scenario("30 ms");
    let (first, last) = (experiment.channels[0].clone(), experiment.channels[2].clone());
    let mut asks = |name: &str, interval: u64, deadline: u64| {
        let mut channel = last.clone();
        channel.name = name.into();
        channel.spec.min_interval = Span::from_ms(interval);
        channel.deadline = Some(Span::from_ms(deadline));
        experiment.channels.push(channel);
    };
    asks("hasty", 40, 1);
    asks("late", 400, 390);
    asks("often", 2, 2);
    asks("hasty too", 40, 1);
    experiment.channels.push(ChannelSpec { name: "another".into(), ..first });
    let promises = promise::promises(&experiment, Formula::Corrected).unwrap().channels;
    let refused: Vec<usize> = (0..promises.len()).filter(|i| promises[*i].is_refused()).collect();
    assert!(refused.len() >= 3 && refused.len() < promises.len() - 1, "{refused:?}");
    let mut advice = Advice::of(&experiment, Formula::Corrected);
    for i in refused.iter().chain(refused.iter().rev()).copied() {
        let told = advice.fit(i, &promises[i]);
        assert_eq!(told, promise::fit(&experiment, Formula::Corrected, i, &promises[i]), "{i}");
        assert_eq!(advice.shortfall(i), told.shortfall);
        // And it is true: with that deadline it would be admitted where it stands.
        if let Some(least) = told.shortfall.admissible {
            let mut changed = experiment.clone();
            changed.channels[i].deadline = Some(least);
            let answer = promise::promises(&changed, Formula::Corrected).unwrap().channels;
            assert!(!answer[i].is_refused(), "{i}: {least}");
        }
    }
}
