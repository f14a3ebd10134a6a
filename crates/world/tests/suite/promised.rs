//! Promises, by hand, where traffic would hardly show that they are too low.

use laxity_admission::Formula;
use laxity_scenario::Scenario;
use laxity_units::Span;
use laxity_world::promise::{self, Filled, Promise};

use crate::common::free;

fn promises(text: &str) -> Vec<Promise> {
    let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"));
    promise::promises(&scenario.first(), Formula::Corrected).unwrap().channels
}

/// Behind a host of next to no cost a packet of 128 B is two segments of 10 us and 128 · 50 ns;
/// with 8 B behind it, three and 8 · 50 ns more. Before its own there may be one as long in the
/// adapter.
#[test]
fn a_trailer_is_a_segment_more() {
    let bound = |trailer: &str| {
        let text = format!(
            "title = \"cells\"\n[host]\nprofile = \"mc68040\"\nspeedup = 1000.0\nsubsystem = {{ packet = \"128 B\" }}\n[adapter]\n\
             kind = \"generic\"\n[[adapter.transmit]]\nname = \"link\"\n\
             phase = [{{ per_byte = \"50 ns\", segment = \"64 B\", per_segment = \"10 us\"{trailer} }}]\n[run]\ntime = \"1 s\"\n\
             [[channel]]\nname = \"a\"\nclass = \"real_time\"\nmax_message = \"128 B\"\nburst = 1\nmin_interval = \"10 ms\"\n\
             deadline = \"9 ms\"\nsource = {{ kind = \"periodic\" }}\n"
        );
        promises(&text)[0].bound().unwrap()
    };
    let more = bound(", trailer = \"8 B\"") - bound("");
    let each = Span::from_ns(10_000 + 8 * 50);
    // The savings of the CPU from fewer notifications are less than a microsecond.
    assert!(more <= each * 2 && more + Span::from_us(1) >= each * 2, "{more}");
}

/// A host of no cost needs no time to receive a message, whatever it sends: each has the 80 us of its source
/// alone. The slack is shared all the same, as a host may have other work later.
#[test]
fn two_channels_in_opposite_directions_are_admitted() {
    let channel = |from: &str, to: &str| {
        format!(
            "[[channel]]\nname = \"{from}{to}\"\nclass = \"real_time\"\nfrom = \"{from}\"\nto = \"{to}\"\nmax_message = \"1000 B\"\n\
             burst = 1\nmin_interval = \"10 ms\"\ndeadline = \"5 ms\"\nsource = {{ kind = \"periodic\" }}\n"
        )
    };
    let network = format!(
        "title = \"both ways\"\n[host]\nprofile = \"mc68040\"\ncosts = {{ {} }}\nsubsystem = {{ packet = \"1000 B\" }}\n\
         [node.a]\n[node.b]\n[network]\nrate = \"100 Mbit/s\"\n[network.l]\njoins = [\"a\", \"b\"]\n[run]\ntime = \"1 s\"\n",
        free()
    );
    let both = promises(&format!("{network}{}{}", channel("a", "b"), channel("b", "a")));
    let us = |us| Some(Span::from_us(us));
    let bounds: Vec<_> = both.iter().map(|promise| (promise.bound(), promise.delivery_bound())).collect();
    assert_eq!(bounds, [(us(80), us(80)); 2]);
}

/// The first keeps 450 us alone, and with a second of the same node no more, whatever that has to
/// spare.
#[test]
fn a_virtual_interface_is_refused_for_those_before_it() {
    let channel = |name: &str, deadline: &str| {
        format!(
            "[[channel]]\nname = \"{name}\"\nclass = \"real_time\"\nto = 1\nmax_message = \"4 KiB\"\nburst = 1\nmin_interval = \"2 ms\"\n\
             deadline = \"{deadline}\"\nsource = {{ kind = \"periodic\" }}\n"
        )
    };
    let of = |first: &str| {
        let via =
            "title = \"two\"\n[via]\nfirmware = \"svia\"\nnodes = 2\ndepth = 1\n[run]\ntime = \"100 ms\"\n";
        promises(&format!("{via}{}{}", channel("first", first), channel("second", "2 ms")))
    };
    let Promise::Connected(both) = &of("2 ms")[0] else { panic!("there is time for both") };
    let hasty = format!("{} us", both.longest.div_floor(Span::from_us(1)) - 1);
    match &of(&hasty)[..] {
        [Promise::Connected(alone), Promise::Unconnected(why)] => {
            assert!(alone.longest < both.longest, "{alone:?}");
            assert_eq!(why, "with it `first` could not keep its deadline");
        }
        other => panic!("{hasty}: {other:?}"),
    }
}

/// Hosts of next to no cost, frames of 1538 B at 100 Mbit/s, ten a message: it is at the port for
/// up to its deadlines there and at its host, 3 ms, so of messages 10 ms apart one, and one begun
/// at either end: three.
#[test]
fn a_port_has_room_for_what_may_be_there() {
    let text = "title = \"a port\"\n[host]\nprofile = \"mc68040\"\nspeedup = 1000.0\nsubsystem = { packet = \"1500 B\" }\n[adapter]\nkind = \"null\"\n\
                rate = \"10 Gbit/s\"\n[node.a]\n[node.b]\n[node.s]\nkind = \"switch\"\nshared_memory = \"1 MiB\"\n[network.n]\n\
                joins = [\"s\", \"a\", \"b\"]\nrate = \"100 Mbit/s\"\nframing = \"ethernet\"\n[run]\ntime = \"1 s\"\n[[channel]]\nname = \"a\"\n\
                class = \"real_time\"\nfrom = \"a\"\nto = \"b\"\nmax_message = \"15000 B\"\nburst = 1\nmin_interval = \"10 ms\"\n\
                deadline = \"4500 us\"\nsource = { kind = \"periodic\" }\n";
    let Promise::Admitted(hops) = &promises(text)[0] else { panic!("it fits") };
    let rooms: Vec<u64> = hops.iter().map(|hop| hop.backlog).collect();
    assert_eq!(rooms, [10, 30, 30]);
}

/// How many copies of a channel of 64 B every `interval`, due by `deadline`, a host takes beside
/// what is said `further`, and by which test.
fn filled(interval: &str, deadline: &str, test: &str, further: &str) -> Filled {
    let text = format!(
        "title = \"full\"\n[host]\nprofile = \"mc68040\"\nsubsystem = {{ packet = \"4 KiB\" }}\n[adapter]\nkind = \"null\"\n\
         startup = \"40 us\"\nper_byte = \"50 ns\"\n[admission]\nfill = \"c\"\ntest = \"{test}\"\n[run]\npackets = 1\n\
         [[channel]]\nname = \"c\"\nclass = \"real_time\"\nmax_message = \"64 B\"\nburst = 1\nmin_interval = \"{interval}\"\n\
         deadline = \"{deadline}\"\nsource = {{ kind = \"periodic\" }}\n{further}"
    );
    let scenario = Scenario::from_text("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}"));
    promise::fill(&scenario.first(), 0, Formula::Corrected, 100_000).unwrap()
}

/// One by one the third took a minute and a half: each looks at all before it.
#[test]
fn a_fill_of_small_channels_ends() {
    for test in ["d_order", "demand"] {
        // As many as were counted one by one.
        assert_eq!(filled("10 s", "10 s", test, ""), Filled { admitted: 13_789, stopped: false });
        assert_eq!(filled("60 s", "60 s", test, ""), Filled { admitted: 82_755, stopped: false });
        assert_eq!(filled("1 h", "1 h", test, ""), Filled { admitted: 100_000, stopped: true });
    }
}

/// A thread for each message is created for each, in 100 us on a host of ten times that speed.
#[test]
fn a_thread_for_each_message_is_created() {
    let bound = |processing: &str| {
        let text = format!(
            "title = \"threads\"\n[host]\nprofile = \"mc68040\"\nspeedup = 10\nsubsystem = {{ packet = \"1500 B\", processing = \"{processing}\" }}\n\
             [adapter]\nkind = \"null\"\nrate = \"10 Gbit/s\"\n[run]\ntime = \"1 s\"\n[[channel]]\nname = \"a\"\nclass = \"real_time\"\n\
             max_message = \"1500 B\"\nburst = 1\nmin_interval = \"10 ms\"\ndeadline = \"9 ms\"\nsource = {{ kind = \"periodic\" }}\n"
        );
        promises(&text)[0].bound().unwrap()
    };
    let more = bound("per_message") - bound("per_channel");
    assert!(more >= Span::from_us(10), "{more}");
}

/// Two channels take the same path in opposite directions, over relays of which the adapters notify
/// 5 us late. The lateness at each relay depends on the arrivals there, and so on the other relay:
/// neither is needed, and both channels keep their promises.
#[test]
fn relays_that_hear_late_of_each_other_are_promised_something() {
    let channel = |name: &str, route: &str| {
        format!(
            "[[channel]]\nname = \"{name}\"\nclass = \"real_time\"\nroute = [{route}]\nmax_message = \"1000 B\"\nburst = 2\nmin_interval = \"20 ms\"\n\
             deadline = \"10 ms\"\nsource = {{ kind = \"periodic\" }}\n"
        )
    };
    let text = "title = \"there and back\"\n[host]\nprofile = \"mc68040\"\nspeedup = 100.0\nsubsystem = { packet = \"1000 B\" }\n\
                [adapter]\nkind = \"generic\"\ntransmit = [{ name = \"link\", phase = [{ fixed = \"20 us\", medium = true }] }]\n\
                receive = [{ name = \"store\", phase = [{ fixed = \"5 us\" }] }]\n[node.a]\n[node.b]\n[node.c]\n[node.d]\n\
                [network.ab]\njoins = [\"a\", \"b\"]\n[network.bc]\njoins = [\"b\", \"c\"]\n[network.cd]\njoins = [\"c\", \"d\"]\n\
                [run]\ntime = \"1 s\"\n";
    let there = channel("there", "\"a\", \"b\", \"c\", \"d\"");
    let text = format!("{text}{there}{}", channel("back", "\"d\", \"c\", \"b\", \"a\""));
    let scenario = Scenario::from_text("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}"));
    let run = laxity_world::run(&scenario.first());
    for channel in &run.channels {
        let (worst, bound) = channel.delivery_worst.zip(channel.delivery_bound).expect(&channel.name);
        assert!(worst <= bound, "{}: {worst} of {bound}", channel.name);
    }
}

/// The program that takes a message has all the bytes of the largest to go through, however small
/// others are: 10 ns for each of 4000 are 40 us.
#[test]
fn a_program_takes_its_time_for_the_largest_message() {
    let bound = |smallest: u32, byte: &str| {
        let text = format!(
            "title = \"a program\"\n[host]\nprofile = \"mc68040\"\nspeedup = 10\nsubsystem = {{ packet = \"4 KiB\" }}\n[adapter]\nkind = \"null\"\n\
             rate = \"10 Gbit/s\"\n[path]\nrelays = 0\nreceive = true\n[run]\ntime = \"1 s\"\n[[channel]]\nname = \"a\"\nclass = \"real_time\"\n\
             max_message = \"4000 B\"\nmin_message = \"{smallest} B\"\nburst = 1\nmin_interval = \"100 ms\"\ndeadline = \"90 ms\"\n\
             reader = {{ work = \"1 us\", work_byte = \"{byte}\", slots = 4 }}\nsource = {{ kind = \"periodic\" }}\n"
        );
        promises(&text)[0].delivery_bound().expect("its program has it")
    };
    for smallest in [100, 4000] {
        // A faster host has its work divided by ten.
        let more = bound(smallest, "100 ns") - bound(smallest, "0 ns");
        assert!(more >= Span::from_us(40), "{more}");
    }
}

/// The promise at each of the ports of two switches, in ms, to a video stream of ten frames of 1000
/// B each 100 ms, which pass a 10 Mbit/s link in 0.8 ms each. At the first port it meets `near`
/// messages of one frame that may be simultaneous, and at the second that many `far` ones; either
/// is due in that many ms. Hosts send messages up to `horizon` early.
fn over_two_ports(horizon: &str, near: (u32, u64), far: (u32, u64)) -> [u64; 2] {
    let channel = |name: &str, from: &str, to: &str, contract: &str| {
        format!(
            "[[channel]]\nname = \"{name}\"\nclass = \"real_time\"\nfrom = \"{from}\"\nto = \"{to}\"\n{contract}\n\
             message_slots = 1000\npacket_slots = 1000\nsource = {{ kind = \"periodic\" }}\n"
        )
    };
    let many = |(burst, due): (u32, u64), hops: u64| {
        let due = due * hops;
        format!(
            "max_message = \"1000 B\"\nburst = {burst}\nmin_interval = \"10 ms\"\ndeadline = \"{due} ms\""
        )
    };
    let film = "max_message = \"10000 B\"\nburst = 1\nmin_interval = \"100 ms\"\ndeadline = \"1 s\"";
    let text = format!(
        // Equal deadlines at the hops: as many ms as are said at each.
        "title = \"a row\"\n[host]\nprofile = \"mc68040\"\nspeedup = 1000.0\nsubsystem = {{ packet = \"1000 B\", link = {{ horizon = \"{horizon}\" }} }}\n[admission]\n\
         test = \"demand\"\ndeadlines = \"alike\"\n[node.a]\n[node.b]\n[node.w]\n[node.y]\n[node.z]\n[node.s]\nkind = \"switch\"\norder = \"virtual_clock\"\n\
         [node.t]\nkind = \"switch\"\norder = \"virtual_clock\"\n[network]\nrate = \"10 Mbit/s\"\n[network.n0]\njoins = [\"s\", \"a\", \"b\", \"t\"]\n\
         [network.n1]\njoins = [\"t\", \"w\", \"y\", \"z\"]\n[run]\ntime = \"1 s\"\n{}{}{}",
        channel("near", "b", "y", &many(near, 4)),
        channel("far", "w", "z", &many(far, 3)),
        channel("film", "a", "z", film),
    );
    let promised = &promises(&text)[2];
    [1, 2].map(|hop| {
        let at = promised.at(hop).unwrap_or_else(|| panic!("{promised:?}"));
        at.bound.bound.div_floor(Span::from_ms(1))
    })
}

/// By its rate a message takes 100 ms and each further link a frame's worth of that, 10 ms; a frame
/// that had begun is less than one. Where 200 others may be simultaneous, 160 ms, that is the
/// promise. Of fewer, at the first port, all could be through before; but a burst that is spread by
/// its rate there is not through sooner for that, and arrives at the next by its rate. Where fewer are
/// simultaneous at the second as well, paying for the burst at both takes 86 ms in place of 110. That is the
/// time of the stream and of the others, and of six and three frames that arrive meanwhile.
#[test]
fn a_burst_is_paid_for_at_the_first_port_of_a_row() {
    let at_once = |near, far| over_two_ports("10 s", near, far);
    assert_eq!(at_once((200, 900), (200, 900)), [100, 10]);
    assert_eq!(at_once((60, 100), (200, 900)), [100, 10]);
    assert_eq!(at_once((60, 100), (20, 100)), [60, 25]);
}

/// Hosts that hold their messages send them 10 ms apart, whatever their bursts and deadlines: beside ten
/// frames of the stream a port has one of the others, or two.
#[test]
fn messages_that_their_host_holds_are_as_early_as_its_promise_is_long() {
    assert_eq!(over_two_ports("0 us", (200, 900), (200, 900)), [9, 9]);
}

/// The end-to-end bounds of two channels over two ports by WFQ, in us, if the second asks for `ms`. Its
/// host serves frames as they arrive, and promises them after 4 us.
fn beside_a_deadline(ms: u32) -> [u64; 2] {
    let channel = |name: &str, size: u32, interval: u32, deadline: u32| {
        format!(
            "[[channel]]\nname = \"{name}\"\nclass = \"real_time\"\nfrom = \"{name}\"\nto = \"root\"\n\
             max_message = \"{size} B\"\nburst = 1\nmin_interval = \"{interval} ms\"\ndeadline = \"{deadline} ms\"\n\
             source = {{ kind = \"adversary\" }}\n"
        )
    };
    let text = format!(
        "title = \"early\"\n[host]\nprofile = \"mc68040\"\ncosts = {{ {} }}\n\
         subsystem = {{ packet = \"1500 B\", cpu = \"fifo\", link = {{ order = \"fifo\" }} }}\n[adapter]\nkind = \"null\"\n[run]\ntime = \"50 ms\"\n\
         [node.x]\n[node.y]\n[node.root]\n[node.s]\nkind = \"switch\"\norder = \"wfq\"\n[node.t]\nkind = \"switch\"\n\
         order = \"wfq\"\n[network]\nframing = \"ethernet\"\nrate = \"1 Gbit/s\"\n[network.n0]\njoins = [\"s\", \"x\", \"y\"]\n\
         [network.n1]\njoins = [\"s\", \"t\"]\nrate = \"100 Mbit/s\"\n[network.n2]\njoins = [\"t\", \"root\"]\n{}{}",
        free(),
        channel("x", 200, 8, 160),
        channel("y", 462, 1, ms),
    );
    let bound = |promise: &Promise| promise.end_to_end_bound().unwrap_or_else(|| panic!("{promise:?}"));
    let all = promises(&text);
    [0, 1].map(|channel| bound(&all[channel]).div_ceil(Span::from_us(1)))
}

/// By the deadline of the second, 40 of its messages would be early at the first port, and 1680 us of them
/// before the first channel. Frames of 238 and 500 B take 19 and 40 us there, and each channel waits for
/// one of the other: 59.1 us. The link of 100 Mbit/s keeps them apart, so at 1 Gbit/s only jitter makes one
/// wait for another.
#[test]
fn a_longer_deadline_makes_no_message_early_at_ports_by_rates() {
    let short = beside_a_deadline(2);
    assert!(short[0] < 75 && short[1] < 75, "{short:?}");
    assert_eq!([20, 40, 160].map(beside_a_deadline), [short; 3]);
}

/// The end-to-end bounds of eight equal channels over four ports by rates, in the order of admission.
fn of_eight(rate: u32) -> Vec<Span> {
    let nodes =
        ["s", "t", "u", "v"].map(|node| format!("[node.{node}]\nkind = \"switch\"\norder = \"drr\"\n"));
    let text = format!(
        "title = \"a row\"\n[host]\nprofile = \"mc68040\"\nspeedup = 1000.0\nsubsystem = {{ packet = \"1000 B\" }}\n[admission]\n\
         test = \"demand\"\ndeadlines = \"alike\"\n[node.a]\n[node.b]\n{}[network]\nrate = \"{rate} Mbit/s\"\n[network.n0]\njoins = [\"a\", \"s\"]\n\
         [network.n1]\njoins = [\"s\", \"t\"]\n[network.n2]\njoins = [\"t\", \"u\"]\n[network.n3]\njoins = [\"u\", \"v\"]\n\
         [network.n4]\njoins = [\"v\", \"b\"]\n[run]\ntime = \"1 s\"\n[[channel]]\nname = \"film\"\nclass = \"real_time\"\n\
         from = \"a\"\nto = \"b\"\ncount = 8\nmax_message = \"3000 B\"\nburst = 6\nmin_interval = \"65 ms\"\n\
         deadline = \"3 s\"\nsource = {{ kind = \"periodic\" }}\n",
        nodes.concat()
    );
    let bound = |promise: &Promise| promise.delivery_bound().unwrap_or_else(|| panic!("{promise:?}"));
    promises(&text).iter().map(bound).collect()
}

/// The first channel finds empty ports and counts the arrivals of all. With the others beside it, its
/// rate may be worth more.
#[test]
fn equal_channels_over_ports_by_rates_have_equal_bounds_and_shorter_ones_on_faster_links() {
    let all = [20, 30, 40, 60, 80, 120, 200, 400].map(of_eight);
    for bounds in &all {
        assert!(bounds.iter().all(|bound| *bound == bounds[0]), "{bounds:?}");
    }
    assert!(all.windows(2).all(|pair| pair[1][0] <= pair[0][0]), "{all:?}");
}
