//! Adapters as files and scenarios say them, and what they can get wrong.

use laxity_model::adapter::{
    AdapterBuffers, Answers, BufferPool, CommandQueue, Excess, LatePolicy, Moderation, Notification,
    Overload, Own, PROCESSOR, Policing, QueueSelection, Release, Resource, ResponseQueue, Takes, Tells,
};
use laxity_model::node::DriverConfig;
use laxity_qos::channel::Order;
use laxity_qos::discipline::Class;
use laxity_units::{Bytes, Span};
use laxity_world::experiment::AdapterSpec as Valid;

use super::*;

const NULL: &str = "kind = \"null\"\nstartup = \"40 us\"\nper_byte = \"50 ns\"\n";
const OFF: &str = "[admission]\nformula = \"off\"\n\n[run]";

/// [`RIGHT`] with another adapter, and without admission.
fn scenario(adapter: &str) -> String {
    with(NULL, adapter).replace("[run]", OFF)
}

/// An adapter of two stages with other lines before and within them.
fn generic(table: &str, dma: &str, phases: &str) -> String {
    format!(
        "kind = \"generic\"\n{table}\n[[adapter.transmit]]\nname = \"dma\"\n{dma}\nphase = [{phases}]\n\
         [[adapter.transmit]]\nname = \"link\"\nphase = [{{ per_byte = \"10 ns\", medium = true }}]\n\n"
    )
}

#[track_caller]
fn described(adapter: &str) -> laxity_model::adapter::Description {
    let scenario = right(&scenario(adapter));
    let point = scenario.points().next().unwrap();
    match scenario.experiment(&point).adapter(0) {
        Valid::Described(description) => (**description).clone(),
        Valid::Null(_) => panic!("{adapter} is described"),
    }
}

#[track_caller]
fn refused(adapter: &str) -> String {
    match read(&scenario(adapter)) {
        Ok(_) => panic!("the adapter is valid: {adapter}"),
        Err(errors) => errors.to_string(),
    }
}

#[test]
fn all_of_table_4_1_can_be_said() {
    let adapter = described(
        r#"kind = "generic"
poll = "10 us"
notification = "1 ms"
queue = [
  { takes = "real_time", kind = "mailbox", priority = 1 },
  { takes = "best_effort", slots = 64 },
]
transmit_buffers = { shared = 8, overload = "priority" }
response_queue = [
  { answers = "received", takes = "real_time", slots = 9, overload = "drop" },
  { slots = 3 },
]
receive_buffers = { per_channel = 4 }

[[adapter.resource]]
name = "processor"
preemptive = true

[[adapter.resource]]
name = "banks"
servers = 2
preemptive = false

[[adapter.transmit]]
name = "dma"
servers = 3
selection = "round_robin"
queue = [
  { takes = "real_time", order = "edf", slots = 5, overload = "drop" },
  { takes = "best_effort", priority = 7 },
]
phase = [
  { kind = "synchronous", up_to = "128 B", per_byte = "1 us", holds = ["bus"] },
  { from = "129 B", fixed = "100 us", segment = "256 B", per_segment = "1760 ns", rate = "8 Mbit/s", knee = "512 B", per_byte_past = "2 us", holds = ["bus", "banks"], priority = 1 },
  { kind = "work", fixed = "5 us", tells = "progress" },
]

[[adapter.transmit]]
name = "link"
phase = [{ tells = "handshake" }, { per_byte = "10 ns", medium = true }]

[[adapter.receive]]
name = "dma"
phase = [{ fixed = "1 us" }]

"#,
    );
    let interface = &adapter.interface;
    assert_eq!(interface.poll, Some(Span::from_us(10)));
    assert_eq!(interface.notification, Notification::Poll(Span::from_ms(1)));
    assert_eq!(
        interface.queues,
        [
            CommandQueue {
                takes: Takes::Only(Class::RealTime),
                priority: 1,
                slots: Some(1),
                ..CommandQueue::default()
            },
            CommandQueue {
                takes: Takes::Only(Class::BestEffort),
                slots: Some(64),
                ..CommandQueue::default()
            },
        ]
    );
    let dropping = ResponseQueue {
        answers: Answers::Received,
        takes: Takes::Only(Class::RealTime),
        slots: Some(9),
        overload: Overload::Drop,
        ..ResponseQueue::default()
    };
    assert_eq!(interface.responses, [dropping, ResponseQueue { slots: Some(3), ..ResponseQueue::default() }]);
    let buffers = AdapterBuffers { pool: BufferPool::Shared(8), overload: Overload::Priority };
    assert_eq!(adapter.transmit_buffers, buffers);
    assert_eq!(
        adapter.receive_buffers,
        AdapterBuffers { pool: BufferPool::PerChannel(4), overload: Overload::Drop }
    );
    let resource = |name: &str, servers, preemptive| Resource {
        name: name.into(),
        servers,
        preemptive,
        urgent: false,
        host: false,
        bus: None,
    };
    let (processor, banks) = (resource("processor", 1, true), resource("banks", 2, false));
    assert_eq!(adapter.resources, [processor, banks, resource("bus", 1, true)]);
    let dma = &adapter.transmit[0];
    assert_eq!((dma.servers, dma.selection), (3, QueueSelection::RoundRobin));
    assert_eq!((dma.queues[0].order, dma.queues[0].slots), (Order::Edf, Some(5)));
    assert_eq!((dma.queues[0].overload, dma.queues[1].priority), (Overload::Drop, 7));
    let [copied, fetched, told] = dma.phases.as_slice() else { panic!() };
    assert_eq!((&copied.holds, copied.up_to), (&vec![PROCESSOR, 2], Some(Bytes::new(128))));
    assert!(!copied.work && !copied.applies(Bytes::new(129)) && fetched.applies(Bytes::new(129)));
    assert_eq!((&fetched.holds, fetched.priority), (&vec![2, 1], 1));
    let expected = Span::from_us(100) + Span::from_ns(3 * 1760) + Span::from_us(512 + 2 * 88);
    assert_eq!(fetched.delay.of(Bytes::new(600)), expected);
    assert_eq!((told.work, &told.holds, told.tells), (true, &vec![PROCESSOR], Tells::Progress));
    assert_eq!(adapter.transmit[1].phases[0].tells, Tells::Handshake);
    assert!(adapter.asks_for_medium() && adapter.receive.len() == 1);
}

#[test]
fn interrupts_are_moderated_and_polls_have_a_price() {
    let adapter = generic(
        "response_queue = [{ frames = 8, delay = \"50 us\", interval = \"20 us\" }]",
        "",
        "{ fixed = \"1 us\" }",
    );
    let moderation = Moderation { frames: Some(8), delay: Span::from_us(50), interval: Span::from_us(20) };
    assert_eq!(
        described(&adapter).interface.responses,
        [ResponseQueue { moderation, ..ResponseQueue::default() }]
    );
    let costs = |said: &str| {
        let scenario = right(&with("[adapter]", &format!("[host.costs]\n{said}\n[adapter]")));
        scenario.experiment(&scenario.points().next().unwrap()).host(0).costs
    };
    let us = Span::from_us;
    let two = |costs: laxity_qos::costs::HostCosts| (costs.poll, costs.response);
    assert_eq!(two(costs("")), (us(0), us(0)));
    assert_eq!(two(costs("interrupt = \"7 us\"")), (us(7), us(0)));
    assert_eq!(two(costs("interrupt = \"7 us\"\npoll = \"2 us\"\nresponse = \"1 us\"")), (us(2), us(1)));
}

#[test]
fn a_ring_of_descriptors_can_be_said() {
    let table = r#"doorbell = "300 ns"
selection = "round_robin"
queue = [
  { takes = { to = 3 }, slots = 8, release = "completed" },
  { takes = { from = 4 }, spread = 4, slots = 16 },
]
response_queue = [{ spread = 4 }]
"#;
    let dma = "batch = 8\nlinger = \"2 us\"\nqueue = [{ takes = \"best_effort\", spread = 3 }, {}]";
    let adapter = generic(table, dma, r#"{ fixed = "1 us", per_packet = "20 ns" }"#);
    let adapter = described(&adapter);
    let interface = &adapter.interface;
    assert_eq!((interface.doorbell, interface.selection), (Span::from_ns(300), QueueSelection::RoundRobin));
    let [urgent, rest] = &interface.queues[..] else { panic!("there are two") };
    assert_eq!((urgent.takes, urgent.release, urgent.spread), (Takes::Levels(0, 3), Release::Completed, 1));
    assert_eq!((rest.takes, rest.release, rest.spread), (Takes::Levels(4, 31), Release::Fetched, 4));
    assert_eq!(interface.responses[0].spread, 4);
    let fetch = &adapter.transmit[0];
    assert_eq!((fetch.batch, fetch.linger, fetch.queues[0].spread), (8, Span::from_us(2), 3));
    let three = fetch.phases[0].delay.of_all([64; 3].map(Bytes::new).into_iter());
    assert_eq!(three, Span::from_ns(1060));
    let only = described(&generic("", "", r#"{ fixed = "1 us", takes = { from = 2, to = 5 } }"#));
    assert_eq!(only.transmit[0].phases[0].takes, Takes::Levels(2, 5));
}

#[test]
fn a_faster_processor_does_its_work_in_less_and_nothing_else() {
    let adapter = generic("", "", r#"{ kind = "work", fixed = "120 us" }, { fixed = "100 us" }"#);
    let text = scenario(&adapter).replace("[adapter]", "speedup = 12\n[adapter]");
    let scenario = right(&text);
    let experiment = scenario.experiment(&scenario.points().next().unwrap());
    let Valid::Described(adapter) = &experiment.adapters[0] else { panic!() };
    let times: Vec<_> = adapter.transmit[0].phases.iter().map(|phase| phase.delay.fixed).collect();
    assert_eq!(times, [Span::from_us(10), Span::from_us(100)]);
    assert_eq!(experiment.host(0).costs.packet.as_ps(), (170_000_000 + 6) / 12);
    assert_eq!(experiment.host(0).speedup, 12.0);
}

#[test]
fn a_driver_is_told_when_to_give_up() {
    let text = with("[adapter]", "[host.driver]\nwatchdog = \"10 ms\"\nreset_after = \"100 ms\"\n[adapter]");
    let scenario = right(&text);
    let experiment = scenario.experiment(&scenario.points().next().unwrap());
    let host = experiment.host(0);
    let patience = DriverConfig { watchdog: Some(Span::from_ms(10)), reset_after: Some(Span::from_ms(100)) };
    assert_eq!((host.driver, host.speedup), (patience, 1.0));
}

#[test]
fn adapter_files_are_found_hashed_and_swept() {
    let file = |time: &str| {
        format!(
            "title = \"Mine\"\n[adapter]\nkind = \"generic\"\n[[adapter.transmit]]\nname = \"link\"\n\
             phase = [{{ fixed = \"{time}\", source = \"a test\" }}]\n"
        )
        .into_bytes()
    };
    let sweep = "[[sweep]]\nname = \"adapter\"\nkey = \"adapter.file\"\nvalues = [\"mine\", \"../other.toml\", \"cim250\"]\n";
    let text = format!("{}\n{sweep}", scenario("file = \"mine\"\n"));
    let mut files = memory(&text);
    files.insert("adapters/mine.toml".into(), file("1 us"));
    files.insert("experiments/../other.toml".into(), file("2 us"));
    let scenario = read_in(&files).unwrap_or_else(|errors| panic!("{errors}"));
    let first = |point: &PointIndex| match scenario.experiment(point).adapter(0) {
        Valid::Described(adapter) => adapter.transmit[0].phases[0].delay.fixed,
        Valid::Null(_) => panic!(),
    };
    let times: Vec<_> = scenario.points().map(|point| first(&point)).collect();
    assert_eq!(times, [Span::from_us(1), Span::from_us(2), Span::from_us(414)]);
    files.insert("adapters/mine.toml".into(), file("3 us"));
    assert_ne!(read_in(&files).unwrap().hash, scenario.hash);
    // Beside the scenario goes first.
    files.insert("experiments/mine.toml".into(), b"title = 1".to_vec());
    insta::assert_snapshot!(read_in(&files).unwrap_err().to_string());
}

#[test]
fn an_adapter_that_is_none_is_refused_with_its_place() {
    let dma = "{ fixed = \"1 us\" }";
    let cases = [
        ("neither_kind_nor_file", String::new()),
        ("file_and_kind", "file = \"cim250\"\nkind = \"null\"\nper_byte = \"50 ns\"\n".into()),
        ("no_such_file", "file = \"cim25\"\n".into()),
        ("former_word", "kind = \"staged\"\n".into()),
        ("no_stage", "kind = \"generic\"\n".into()),
        ("keys_of_another_kind", "kind = \"null\"\nper_byte = \"50 ns\"\npoll = \"1 us\"\ncommand = \"1 us\"\n".into()),
        ("queue_for_one_class", generic("", "queue = [{ takes = \"real_time\" }]", dma)),
        ("command_queue_for_one_class", generic("queue = [{ takes = \"best_effort\" }]", "", dma)),
        ("no_queue", generic("", "queue = []", dma)),
        ("two_on_the_medium", generic("", "", "{ fixed = \"1 us\", medium = true }")),
        ("several_on_the_medium", "kind = \"generic\"\n[[adapter.transmit]]\nname = \"link\"\nservers = 2\nphase = [{ fixed = \"1 us\", medium = true }]\n".into()),
        ("received_on_the_medium", format!("{}[[adapter.receive]]\nname = \"dma\"\nphase = [{{ fixed = \"1 us\", medium = true }}]\n", generic("", "", dma))),
        ("received_and_blocked", format!("{}[[adapter.receive]]\nname = \"dma\"\nqueue = [{{ slots = 2 }}]\nphase = [{{ fixed = \"1 us\" }}]\n", generic("", "", dma))),
        ("received_without_buffer", generic("receive_buffers = { shared = 2, overload = \"block\" }", "", dma)),
        ("buffers_of_contracts_alone", generic("transmit_buffers = { per_channel = \"contract\" }", "", dma)),
        ("buffers_of_no_size", generic("transmit_buffers = { overload = \"drop\" }", "", dma)),
        ("a_level_without_a_queue", generic("queue = [{ takes = { to = 7 } }, { takes = { from = 9 } }]", "", dma)),
        ("levels_that_cross", generic("queue = [{ takes = { from = 7, to = 3 } }, {}]", "", dma)),
        ("a_level_that_is_none", generic("queue = [{ takes = { from = 32 } }, {}]", "", dma)),
        ("a_polled_doorbell", generic("poll = \"1 us\"\ndoorbell = \"1 us\"", "", dma)),
        ("released_from_an_endless_queue", generic("queue = [{ release = \"completed\" }]", "", dma)),
        ("company_for_nobody", generic("", "linger = \"1 us\"", dma)),
        ("a_batch_by_size", generic("", "batch = 4", "{ fixed = \"1 us\", from = \"1 KiB\" }")),
        ("nobody_is_told_of_what_is_sent", generic("response_queue = [{ answers = \"received\" }]", "", dma)),
        ("nobody_is_told_of_what_comes", generic("response_queue = [{ answers = \"sent\" }]", "", dma)),
        ("what_is_sent_is_not_said", generic("response_queue = [{ slots = 4, overload = \"drop\" }]", "", dma)),
        ("frames_without_delay", generic("response_queue = [{ frames = 4 }]", "", dma)),
        ("moderated_and_polled", generic("notification = \"1 ms\"\nresponse_queue = [{ delay = \"10 us\" }]", "", dma)),
        ("a_frame_with_nowhere_to_wait", generic("response_queue = [{ slots = 4 }]", "", dma)),
        ("an_endless_queue_that_is_full", generic("response_queue = [{ overload = \"block\" }]", "", dma)),
        ("a_mailbox_of_two", generic("queue = [{ kind = \"mailbox\", slots = 2 }]", "", dma)),
        ("overload_without_slots", generic("", "queue = [{ overload = \"drop\" }]", dma)),
        ("an_idle_phase", generic("", "", "{ holds = [\"bus\"] }")),
        ("half_a_segment", generic("", "", "{ segment = \"1 KiB\" }")),
        ("sizes_that_cross", generic("", "", "{ fixed = \"1 us\", from = \"2 KiB\", up_to = \"1 KiB\" }")),
        ("priority_at_nothing", generic("", "", "{ fixed = \"1 us\", priority = 1 }")),
        ("an_unheld_resource", format!("{}[[adapter.resource]]\nname = \"bsu\"\nservers = 2\n", generic("", "", "{ fixed = \"1 us\", holds = [\"bus\"] }"))),
        ("a_stage_twice", generic("", "", dma).replace("\"link\"", "\"dma\"")),
        ("half_of_a_cim", "kind = \"cim250\"\ncommand = \"190 us\"\nsmall = { value = \"4 KiB\", sourc = \"x\" }\n".into()),
        ("an_eternal_phase", generic("", "", "{ segment = \"1 B\", per_segment = \"1 s\" }")),
    ];
    let mut all = String::new();
    for (name, adapter) in cases {
        all += &format!("# {name}\n\n{}\n\n\n", refused(&adapter));
    }
    let still = with("[adapter]", "speedup = 0.001\n[adapter]");
    all += &format!("# a_host_that_stands_still\n\n{}\n\n\n", read(&still).unwrap_err());
    insta::assert_snapshot!(all);
}

#[test]
fn an_adapter_file_names_no_other_and_cites_every_number() {
    let files = |text: &str| Memory::from([("a.toml".into(), text.into())]);
    let refused = |text: &str| AdapterFile::read(Path::new("a.toml"), &files(text)).unwrap_err().to_string();
    let mut all = refused("title = \"x\"\n[adapter]\nfile = \"cim250\"\n");
    let uncited = generic("poll = \"1 us\"\nqueue = [{ slots = 2 }]", "servers = 2", "{ fixed = \"1 us\" }");
    all += &format!("\n\n{}", refused(&format!("title = \"x\"\n[adapter]\n{uncited}")));
    all += &format!("\n\n{}", refused("about = \"no title\"\n"));
    insta::assert_snapshot!(all);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(300))]

    /// Whatever becomes of an adapter file, it is an adapter that works or is refused.
    #[test]
    fn garbled_adapters_do_no_harm(
        which in 0..adapter_file::BUILT_IN.len(),
        edits in proptest::collection::vec((proptest::prelude::any::<proptest::sample::Index>(), 0usize..30, 0u8..3, proptest::prelude::any::<u8>()), 1..5),
    ) {
        let mut bytes = adapter_file::BUILT_IN[which].1.as_bytes().to_vec();
        for (at, length, edit, byte) in edits {
            let at = at.index(bytes.len());
            let end = (at + length).min(bytes.len());
            match edit {
                0 => drop(bytes.drain(at..end)),
                1 => bytes[at] = b"0\"[]{}=.-\n'9"[usize::from(byte) % 12],
                _ => {
                    let piece = bytes[at..end].to_vec();
                    bytes.splice(at..at, piece);
                }
            }
        }
        let files = Memory::from([("a.toml".into(), bytes)]);
        match AdapterFile::read(Path::new("a.toml"), &files) {
            Ok(file) => if let Valid::Described(description) = file.adapter {
                drop(laxity_model::adapter::Pipeline::new(*description));
            },
            Err(errors) => proptest::prop_assert!(!errors.is_empty() && !errors.render(true).is_empty()),
        }
    }
}

/// Contracts that the adapter keeps, buffers of both kinds, and what is chosen or dropped early.
#[test]
fn an_adapter_may_look_at_what_passes() {
    let adapter = described(
        r#"kind = "generic"
transmit_buffers = { shared = 3, per_channel = "contract" }
receive_buffers = { shared = 3, per_channel = 2, overload = "drop" }
transmit_policing = { tolerance = "5 ms" }
receive_policing = { excess = "demote" }

[[adapter.transmit]]
name = "select"
ahead = 1
queue = [{ order = "edf", slots = 4, overload = "importance", late = "drop" }]
phase = [{ fixed = "5 us", releases = true }]

[[adapter.transmit]]
name = "link"
phase = [{ per_byte = "10 ns", medium = true }]

[[adapter.receive]]
name = "up"
phase = [{ releases = true }]

"#,
    );
    let pool = |own, overload| AdapterBuffers { pool: BufferPool::Reserved { own, shared: 3 }, overload };
    assert_eq!(adapter.transmit_buffers, pool(Own::Contract, Overload::Block));
    assert_eq!(adapter.receive_buffers, pool(Own::Each(2), Overload::Drop));
    let tolerance = Span::from_ms(5);
    assert_eq!(adapter.transmit_policing, Some(Policing { excess: Excess::Drop, tolerance }));
    let demotes = Policing { excess: Excess::Demote, tolerance: Span::ZERO };
    assert_eq!(adapter.receive_policing, Some(demotes));
    let [select, link] = &adapter.transmit[..] else { panic!("two stages") };
    assert_eq!((select.ahead, link.ahead), (Some(1), None));
    assert_eq!((select.queues[0].overload, select.queues[0].late), (Overload::Importance, LatePolicy::Drop));
    assert_eq!((select.phases[0].releases, link.phases[0].releases), (true, false));
    assert!(adapter.receive[0].phases[0].releases);
}

#[test]
fn what_an_adapter_cannot_look_at() {
    let one = r#"fixed = "1 us""#;
    let stage = |line: &str, phase: &str| refused(&generic("", line, &format!("{{ {phase} }}")));
    let table = |line: &str| refused(&generic(line, "", &format!("{{ {one} }}")));
    let cases = [
        (table("transmit_buffers = { per_channel = \"contract\" }"), "no buffer at all"),
        (table("transmit_buffers = { per_channel = \"burst\" }"), "contract"),
        (
            table("receive_buffers = { shared = 2, per_channel = 2, overload = \"priority\" }"),
            "of no use to others",
        ),
        (table("receive_buffers = { shared = 2, overload = \"importance\" }"), "of no use to others"),
        (table("transmit_policing = { excess = \"mark\" }"), "demote"),
        (
            stage("queue = [{ order = \"wfq\", slots = 2, overload = \"importance\" }]", one),
            "has been counted",
        ),
        (stage("", "fixed = \"1 us\", releases = true"), "frees buffers of which there is no end"),
        (stage("batch = 2\nahead = 1", one), "several together"),
        (stage("queue = [{ margin = \"1 ms\" }]", one), "what is late is kept here"),
        (stage("", "fixed = \"1 us\", yields = true, holds = [\"bus\"]"), "between its segments"),
        (stage("", "segment = \"48 B\", per_segment = \"1 us\", yields = true"), "between its segments"),
        (stage("batch = 2", "fixed = \"1 us\", trailer = \"8 B\""), "not cut into segments one by one"),
    ];
    for (message, expected) in cases {
        assert!(message.contains(expected), "{expected}: {message}");
    }
    let link = generic("", "", &format!("{{ {one} }}"));
    let last = link.replace("name = \"link\"\n", "name = \"link\"\nahead = 2\n");
    assert!(refused(&last).contains("a stage that is not there"));
    let told = "[[adapter.transmit]]\nname = \"told\"\nqueue = [{ late = \"drop\" }]\nphase = [{ fixed = \"1 us\" }]\n\n";
    assert!(
        refused(&format!("{}{told}", link.trim_end().to_string() + "\n")).contains("has left is not late")
    );
}

/// Stages and resources stand in lists and have names, queues and phases have places, and a sweep
/// finds them by either, wherever the adapter is.
#[test]
fn a_sweep_finds_what_stands_in_an_adapters_lists() {
    let swept = |key: &str| {
        let adapter = generic(
            "response_queue = [{ frames = 4, delay = \"1 us\" }]",
            "ahead = 3",
            r#"{ fixed = "1 us", holds = ["bus"] }"#,
        );
        let sweep = format!("[[sweep]]\nname = \"n\"\nkey = \"{key}\"\nvalues = [1, 7]\n");
        read(&format!("{}\n{sweep}", scenario(&adapter)))
    };
    let described = |key: &str| -> Vec<_> {
        let scenario = swept(key).unwrap_or_else(|errors| panic!("{errors}"));
        let each = scenario.points().map(|point| match scenario.experiment(&point).adapter(0) {
            Valid::Described(description) => description.clone(),
            Valid::Null(_) => panic!("it is described"),
        });
        each.collect()
    };
    let ahead = described("adapter.transmit.dma.ahead");
    assert_eq!(ahead.iter().map(|of| of.transmit[0].ahead).collect::<Vec<_>>(), [Some(1), Some(7)]);
    let frames = described("adapter.response_queue.0.frames");
    let frames = frames.iter().map(|of| of.interface.responses[0].moderation.frames);
    assert_eq!(frames.collect::<Vec<_>>(), [Some(1), Some(7)]);
    let priority = described("adapter.transmit.dma.phase.0.priority");
    assert_eq!(priority.iter().map(|of| of.transmit[0].phases[0].priority).collect::<Vec<_>>(), [1, 7]);
    let refused = |key: &str| swept(key).map(|_| ()).unwrap_err().to_string();
    assert!(refused("adapter.transmit.dna.ahead").contains("did you mean `dma`"));
    assert!(refused("adapter.transmit.dma").contains("names no key of a stage"));
    assert!(refused("adapter.response_queue.1.frames").contains("there is no queue `1` in `response_queue`"));
    assert!(refused("adapter.response_queue.frames.x").contains("queues go by their place here: `0` to `0`"));
    assert!(refused("adapter.transmit.dma.phase.0").contains("such as `adapter.transmit.dma.phase.0.fixed`"));
}

/// Cells on a wire that goes by urgency, and a bus that the host shares.
#[test]
fn packets_are_cut_into_cells() {
    let cells =
        "segment = \"48 B\", per_segment = \"3 us\", trailer = \"8 B\", yields = true, holds = [\"wire\"]";
    let resources = "[[adapter.resource]]\nname = \"wire\"\nurgent = true\nhost = true\n";
    let adapter =
        described(&format!("{}{resources}\n", generic("", "servers = 8", &format!("{{ {cells} }}"))));
    let phase = &adapter.transmit[0].phases[0];
    assert_eq!((phase.yields, phase.trailer, phase.parts(Bytes::new(100))), (true, Bytes::new(8), 3));
    let wire = adapter.resources.iter().find(|resource| resource.name == "wire").unwrap();
    assert_eq!((wire.urgent, wire.host, wire.preemptive), (true, true, true));
    assert!(!adapter.resources[PROCESSOR].urgent && !adapter.resources[PROCESSOR].host);
}
