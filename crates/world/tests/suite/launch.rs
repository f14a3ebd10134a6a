//! Launch times: bounds beside exact timelines by hand.
//!
//! A packet takes its host 10 us, and 2 us more to be handed over. 500 B take the link 40 us.

use super::common::free;
use super::fifo::{bound_and_worst, of, promises, why};
use laxity_world::promise::Promise;
use laxity_world::run;

/// A host with launch times that many us after logical arrivals, and the `rest` of a file.
fn head(launch: f64, rest: &str) -> String {
    let costs = free().replace("packet = \"0 us\"", "packet = \"10 us\"");
    let costs = costs.replace("hand_over = \"0 us\"", "hand_over = \"2 us\"");
    let costs = costs.replace("receive_packet = \"10 us\"", "receive_packet = \"0 us\"");
    format!(
        "title = \"a test\"\n[host]\nprofile = \"mc68040\"\ncosts = {{ {costs} }}\n\
         subsystem = {{ packet = \"1500 B\", link = {{ paradigm = \"adapter\", launch = \"{launch} us\" }} }}\n\
         [adapter]\nkind = \"null\"\nrate = \"100 Mbit/s\"\n[run]\ntime = \"40 ms\"\n{rest}"
    )
}

/// A channel of messages of 500 B, at least 4 ms apart, that sends at each of these times in us.
fn sends(name: &str, at: &[f64]) -> String {
    let at: Vec<String> = at.iter().map(|us| format!("{{ at = \"{us} us\" }}")).collect();
    format!(
        "[[channel]]\nname = \"{name}\"\nclass = \"real_time\"\nmax_message = \"500 B\"\nburst = 1\n\
         min_interval = \"4 ms\"\ndeadline = \"2 ms\"\nsource = {{ kind = \"script\", messages = [{}] }}\n",
        at.join(", ")
    )
}

/// Best effort that sends 1500 B, 120 us, once.
fn bulk(at: f64) -> String {
    format!(
        "[[channel]]\nname = \"bulk\"\nclass = \"best_effort\"\nmax_message = \"1500 B\"\nburst = 4\n\
         source = {{ kind = \"script\", messages = [{{ at = \"{at} us\" }}] }}\n"
    )
}

/// The bound and the worst delay of each real-time channel in us, until its last byte has left.
fn sent(text: &str) -> Vec<(f64, f64)> {
    let us = |seconds: f64| (seconds * 1e9).round() / 1e3;
    let channels = run(&of(text)).channels.into_iter().filter(|channel| channel.class == "real_time");
    channels.map(|it| (us(it.bound.expect("a bound")), us(it.worst.expect("messages left")))).collect()
}

/// The CPU hands the packet over after 12 us. The packet begins at 100 us.
#[test]
fn a_packet_begins_at_its_launch_time() {
    assert_eq!(sent(&head(100.0, &sends("a", &[0.0, 7000.0]))), [(140.0, 140.0)]);
}

/// A packet of best effort is handed over a nanosecond before 100 us and leaves until 219.999 us. Both
/// packets, which are with the adapter after 24 us, follow it.
#[test]
fn the_bound_is_met_behind_best_effort_and_all_other_channels() {
    let all = [sends("a", &[0.0]), sends("b", &[0.0]), bulk(87.999)].concat();
    let found = sent(&head(100.0, &all));
    assert_eq!(found.iter().map(|(bound, _)| *bound).collect::<Vec<_>>(), [300.0, 300.0]);
    assert_eq!(found.iter().map(|(_, worst)| *worst).collect::<Vec<_>>(), [259.999, 299.999]);
}

/// Without a launch time the work of the CPU before a packet shows on the link.
#[test]
fn no_work_of_the_cpu_shows_on_the_link() {
    let delays = |text: String| {
        let channel = run(&of(&text)).channels.remove(0);
        let delays = channel.latency.expect("messages left");
        ((delays.min * 1e9).round() / 1e3, (delays.max * 1e9).round() / 1e3)
    };
    // The second message is made behind one of best effort, which takes 12 us.
    let text = head(100.0, &[sends("a", &[0.0, 4000.0]), bulk(3999.0)].concat());
    let plain = text.replace(", launch = \"100 us\"", "");
    assert_eq!(delays(plain), (52.0, 171.0));
    assert_eq!(delays(text.replace("3999 us", "3799 us")), (140.0, 140.0));
    assert_eq!(delays(text), (140.0, 171.0));
}

/// Of two packets that launch at 20 us one is there after 12 us and the other after 24 us.
#[test]
fn a_packet_that_is_made_after_its_launch_time_is_lost_by_that_name() {
    let both = [sends("a", &[0.0]), sends("b", &[0.0])].concat();
    let text = head(20.0, &both);
    for promise in promises(&of(&text)) {
        let Promise::Refused(refused) = promise else { panic!("{promise:?}") };
        assert!(refused.refusal.to_string().contains("`host.subsystem.link.launch`"), "{}", refused.refusal);
    }
    let channels = run(&of(&format!("{text}[admission]\nformula = \"off\"\n"))).channels;
    assert_eq!((channels[0].completed, channels[0].drops.len()), (1, 0));
    assert_eq!((channels[1].completed, channels[1].dropped_packets), (0, 1));
    assert_eq!(channels[1].drops.iter().collect::<Vec<_>>(), [(&"launch".to_string(), &1)]);
}

/// 120 us of best effort and 40 us of the other channel are all that delays vary by: a jitter of 160 us
/// is kept, and one of 159 us is not.
#[test]
fn the_jitter_is_what_a_packet_waits_at_the_link() {
    let asks = |jitter: u64| {
        let a =
            sends("a", &[0.0, 4000.0]).replace("deadline", &format!("jitter = \"{jitter} us\"\ndeadline"));
        head(100.0, &[a, sends("b", &[0.0]), bulk(87.999)].concat())
    };
    let channel = run(&of(&asks(160))).channels.remove(0);
    let us = |seconds: Option<f64>| (seconds.expect("it asks") * 1e9).round() / 1e3;
    assert_eq!((us(channel.delay_jitter_bound), us(channel.delay_jitter)), (160.0, 119.999));
    // The other channel is refused, because it would make this one late.
    let promised = promises(&of(&asks(159)));
    assert!(!promised[0].is_refused() && promised[1].is_refused(), "{promised:?}");
}

/// Each of two hosts has one message on its link from 100 to 140 us exactly. The messages are not shifted,
/// and one waits for the other at the port, as behind hosts that take no time.
#[test]
fn launched_packets_join_a_fifo_queue_without_jitter() {
    let launched = "host = { subsystem = { link = { launch = \"100 us\" } } }";
    let receiver = format!(
        "host = {{ costs = {{ {} }}, subsystem = {{ link = {{ paradigm = \"O1\", order = \"fifo\" }} }} }}",
        free()
    );
    let star = format!(
        "[node.a]\n{launched}\n[node.b]\n{launched}\n[node.r]\n{receiver}\n[node.s]\nkind = \"switch\"\n\
         order = \"strict_priority\"\n[network.all]\njoins = [\"s\", \"a\", \"b\", \"r\"]\nrate = \"100 Mbit/s\"\n"
    );
    let to =
        |name: &str| sends(name, &[0.0]).replace("class", &format!("from = \"{name}\"\nto = \"r\"\nclass"));
    let text = head(100.0, &[star, to("a"), to("b")].concat());
    let text = text.replacen(", launch = \"100 us\"", "", 1);
    // Hosts that work ahead send no packet ahead.
    let ahead = text.replace(
        "subsystem = { link = { launch",
        "subsystem = { early = \"below_best_effort\", link = { launch",
    );
    for text in [text, ahead] {
        let found = bound_and_worst(&text);
        assert_eq!(found.iter().map(|(bound, _)| *bound).collect::<Vec<_>>(), [220.0, 220.0]);
        assert_eq!(found.iter().map(|(_, worst)| *worst).fold(0.0, f64::max), 220.0);
    }
}

/// A port by deadlines counts from the promised delay of the host, and not from the launch time.
#[test]
fn a_station_by_deadlines_counts_from_the_bound_of_the_host() {
    let rest = "[node.a]\n[node.r]\n[node.s]\nkind = \"switch\"\n[network.all]\njoins = [\"s\", \"a\", \"r\"]\n\
                rate = \"100 Mbit/s\"\n";
    let a = sends("a", &[0.0]).replace("class", "from = \"a\"\nto = \"r\"\nclass");
    let b = bulk(0.0).replace("class", "from = \"a\"\nto = \"r\"\nclass");
    let experiment = of(&head(100.0, &[rest, &a, &b].concat()));
    let promise = promises(&experiment).remove(0);
    let hops = promise.hops();
    let us = |span: laxity_units::Span| span.as_ps() / 1_000_000;
    assert_eq!((us(hops[0].local_deadline), us(hops[0].kept)), (100, 260));
    let found = run(&experiment).channels.remove(0);
    assert!(found.delivery_worst <= found.delivery_bound && found.delivery_worst > Some(0.0003), "{found:?}");
}

/// A third message at once is beyond the contract, is carried as best effort, and leaves after 64 us. The
/// shortest delay of the channel is thus 40 us, and the longest 180 us: 100 us, a packet of best effort and
/// its own time. A jitter of 140 us is all that can be promised.
#[test]
fn a_message_beyond_the_contract_has_no_launch_time() {
    let asks = |jitter: u64| {
        let keys = format!("message_overflow = \"best_effort\"\njitter = \"{jitter} us\"\ndeadline");
        head(100.0, &sends("a", &[0.0, 0.0, 0.0]).replace("deadline", &keys))
    };
    assert!(promises(&of(&asks(139)))[0].is_refused());
    let channel = run(&of(&asks(140))).channels.remove(0);
    let us = |seconds: f64| (seconds * 1e9).round() / 1e3;
    let all = channel.latency.as_ref().expect("messages left");
    assert_eq!((us(all.min), us(all.max)), (64.0, 140.0));
    assert!(channel.delay_jitter <= channel.delay_jitter_bound);
}

#[test]
fn what_has_no_proof_says_which_key_would_have_one() {
    let text = head(100.0, &sends("a", &[0.0]));
    let levels = text.replace("packet = \"1500 B\"", "packet = \"1500 B\", cpu = \"fixed_priority\"");
    assert!(why(&levels).contains("`cpu = \"multiclass_edf\"`"), "{}", why(&levels));
    let ahead = text.replace("packet = \"1500 B\"", "packet = \"1500 B\", early = \"below_best_effort\"");
    assert_eq!(sent(&ahead), [(140.0, 140.0)]);
    let held = ahead.replace("launch =", "order = \"multiclass_edf\", launch =");
    assert!(why(&held).contains("`link.order = \"fifo\"`"), "{}", why(&held));
    let resets = text.replace("[adapter]", "driver = { reset_after = \"1 s\" }\n[adapter]");
    assert!(why(&resets).contains("resets"), "{}", why(&resets));
}
