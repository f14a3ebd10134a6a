use serde_json::{Value, json};

use super::*;

const SCENARIO: &str = r#"
    title = "One message"
    [host]
    profile = "mc68040"
    [adapter]
    kind = "null"
    startup = "40 us"
    per_byte = "50 ns" # slow
    [run]
    time = "100 ms"
    [[channel]]
    name = "rt"
    class = "real_time"
    max_message = "4 KiB"
    burst = 1
    min_interval = "20 ms"
    deadline = "20 ms"
    source = { kind = "periodic" }
"#;

const NIC: &str = include_str!("../../cli/src/new/nic.toml");
const OFFICE: &str = include_str!("../../cli/src/new/office.toml");

fn ask(request: &Value) -> Value {
    serde_json::from_slice(&answer(request.to_string().as_bytes())).unwrap()
}

#[test]
fn a_digest_is_of_the_results_and_an_error_in_words() {
    let one = digest(SCENARIO.as_bytes()).unwrap();
    assert_eq!(digest(SCENARIO.as_bytes()), Ok(one));
    let longer = SCENARIO.replace("100 ms", "200 ms");
    assert_ne!(digest(longer.as_bytes()), Ok(one));
    assert!(digest(b"title = 1").unwrap_err().contains("title"));
    assert_eq!(ask(&json!({ "do": "digest", "text": SCENARIO }))["digest"], format!("{one:016x}"));
}

#[test]
#[allow(unsafe_code, reason = "as a page does")]
fn a_page_has_the_same() {
    let text = SCENARIO.as_bytes();
    for (text, expected) in [(text, digest(text).unwrap()), (b"title = 1".as_slice(), 0)] {
        let room = module::laxity_room(text.len());
        // SAFETY: the buffer has this length, and is used once.
        let digest = unsafe {
            room.copy_from_nonoverlapping(text.as_ptr(), text.len());
            module::laxity_digest(room, text.len())
        };
        assert_eq!(digest, expected);
    }
    let request = json!({ "do": "design", "text": SCENARIO }).to_string();
    let room = module::laxity_room(request.len());
    // SAFETY: the buffers have these lengths, and are used once.
    unsafe {
        room.copy_from_nonoverlapping(request.as_ptr(), request.len());
        let whole = module::laxity_answer(room, request.len());
        let length = u32::from_le_bytes(std::slice::from_raw_parts(whole, 4).try_into().unwrap()) as usize;
        assert_eq!(std::slice::from_raw_parts(whole.add(4), length), answer(request.as_bytes()));
        module::laxity_free(whole, length + 4);
    }
}

#[test]
fn a_request_that_is_none_is_an_error_in_words() {
    assert!(ask(&json!({ "do": "dance" }))["error"].as_str().unwrap().contains("dance"));
    assert!(ask(&json!({ "do": "run", "text": "title = 1" }))["error"].as_str().unwrap().contains("title"));
}

#[test]
fn a_design_has_errors_at_their_lines_and_the_rest_of_the_document() {
    let wrong = SCENARIO.replace("deadline", "dedline");
    let design = ask(&json!({ "do": "design", "text": wrong }));
    let finding = &design["findings"][0];
    assert_eq!(finding["start"]["line"], 17, "{finding}");
    assert_eq!(design["document"]["adapter"]["kind"], "null");
    assert!(design.get("admission").is_none());
}

#[test]
fn a_refused_channel_has_its_largest_term_and_a_deadline_that_is_admitted() {
    let tight = SCENARIO.replace("deadline = \"20 ms\"", "deadline = \"100 us\"");
    let design = ask(&json!({ "do": "design", "text": tight, "advice": true }));
    let channel = &design["admission"]["channels"][0];
    assert_eq!(channel["verdict"], "refused", "{design}");
    assert!(channel["largest"]["time"].as_f64().unwrap() > 1e-4, "{channel}");
    let admissible = channel["admissible"].as_str().unwrap();
    let text = set(&tight, &json!(["channel", 0, "deadline"]), &json!(admissible));
    let design = ask(&json!({ "do": "design", "text": text }));
    assert_eq!(design["admission"]["channels"][0]["verdict"], "admitted", "{design}");
}

fn set(text: &str, path: &Value, value: &Value) -> String {
    let answer = ask(&json!({ "do": "set", "text": text, "path": path, "value": value }));
    answer["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_string()
}

#[test]
fn a_key_is_set_and_all_else_stays() {
    let text = set(SCENARIO, &json!(["adapter", "per_byte"]), &json!("80 ns"));
    assert_eq!(text, SCENARIO.replace("50 ns", "80 ns"));
    let text = set(SCENARIO, &json!(["channel", 0, "source", "kind"]), &json!("poisson"));
    assert_eq!(text, SCENARIO.replace("\"periodic\"", "\"poisson\""));
    let text = set(SCENARIO, &json!(["run", "time"]), &Value::Null);
    assert_eq!(text, SCENARIO.replace("    time = \"100 ms\"\n", ""));
    let text = set(OFFICE, &json!(["node", "desk", "host", "costs", "interrupt"]), &json!("5 us"));
    let line = "host = { speedup = 40.0, costs = { interrupt = \"5 us\" } }";
    assert_eq!(text, OFFICE.replacen("host = { speedup = 40.0 }", line, 1));
    let text = set(OFFICE, &json!(["node", "camera", "host", "speedup"]), &json!(3));
    assert!(
        text.contains("count = 4                        # camera-1 ... camera-4\nhost = { speedup = 3 }\n"),
        "{text}"
    );
    let text = set(OFFICE, &json!(["host", "speedup"]), &json!(9));
    assert_eq!(text, OFFICE.replacen("speedup = 8.0", "speedup = 9.0", 1));
    let text = set(SCENARIO, &json!(["admission", "formula"]), &json!("papers"));
    assert!(text.ends_with("\n[admission]\nformula = \"papers\"\n"), "{text}");
    let more = set(OFFICE, &json!(["channel", 3]), &json!({ "name": "more", "burst": 1 }));
    assert!(more.contains("[[channel]]\nname = \"more\"\nburst = 1\n"), "{more}");
    let wrong = json!({ "do": "set", "text": SCENARIO, "path": ["channel", 7], "value": null });
    assert!(ask(&wrong)["error"].is_string());
}

#[test]
fn the_contents_of_an_adapters_file_change_no_bit() {
    let text = ask(&json!({ "do": "inline", "text": NIC, "path": ["adapter"] }))["text"].take();
    let text = text.as_str().unwrap();
    assert!(text.contains("[[adapter.transmit]]") && text.contains("doorbell = \"600 ns\""), "{text}");
    assert!(!text.contains("file = \"nic-25g\"") && text.contains("# A host 200 times as fast"));
    assert_eq!(digest(text.as_bytes()), digest(NIC.as_bytes()));
    // Now a part of a list can be set.
    let path = json!(["adapter", "transmit", 0, "phase", 0, "fixed"]);
    let slower = set(text, &path, &json!("5 us"));
    assert_ne!(digest(slower.as_bytes()), digest(NIC.as_bytes()));
}

#[test]
fn the_timeline_of_the_worst_message_is_as_long_as_the_worst() {
    for text in [SCENARIO, NIC, OFFICE] {
        let run = ask(&json!({ "do": "run", "text": text, "watch": true }));
        let plain = ask(&json!({ "do": "run", "text": text }));
        assert_eq!(run["digest"], plain["digest"], "watching changes no result");
        assert_eq!(run["whole"], true);
        let timelines = run["watched"]["timelines"].as_array().unwrap();
        for timeline in timelines {
            let name = &timeline["channel"];
            let channels = run["channels"].as_array().unwrap();
            let channel = channels.iter().find(|channel| channel["name"] == *name).unwrap();
            let (took, worst) = (timeline["took"].as_f64().unwrap(), channel["worst"].as_f64().unwrap());
            assert!((took - worst).abs() < 2e-9, "{name}: {took} and {worst}");
            let spans = timeline["tracks"].as_array().unwrap();
            assert!(!spans.is_empty(), "{timeline}");
        }
        let guaranteed = run["channels"].as_array().unwrap().iter().filter(|c| c["guaranteed"] == true);
        assert_eq!(timelines.len(), guaranteed.count());
    }
}

#[test]
fn a_run_can_be_cut_and_says_so() {
    let run = ask(&json!({ "do": "run", "text": OFFICE, "events": 2000 }));
    assert_eq!(run["whole"], false);
    assert!(run["simulated"].as_f64().unwrap() < run["length"].as_f64().unwrap());
}

#[test]
fn a_sweep_has_a_bound_for_each_value_and_null_for_what_is_no_value() {
    let values = json!(["50 ns", "100 ns", "nonsense"]);
    let sweep =
        ask(&json!({ "do": "sweep", "text": SCENARIO, "path": ["adapter", "per_byte"], "values": values }));
    let bound = |i: usize| sweep["points"][i][0]["bound"].as_f64();
    assert!(bound(0).unwrap() < bound(1).unwrap(), "{sweep}");
    assert_eq!(sweep["points"][2], Value::Null);
}

#[test]
fn a_drawing_has_every_adapter_that_is_built_in() {
    for name in laxity_scenario::built_in_adapters() {
        let text = SCENARIO.replace(
            "kind = \"null\"\n    startup = \"40 us\"\n    per_byte = \"50 ns\" # slow",
            &format!("file = \"{name}\""),
        );
        let design = ask(&json!({ "do": "design", "text": text }));
        let Some(adapter) = design["drawing"]["adapters"].get(0) else {
            assert!(!design["findings"].as_array().unwrap().is_empty(), "{name}: {design}");
            continue;
        };
        assert!(!adapter["transmit"].as_array().unwrap().is_empty(), "{name}");
        assert!(design["adapters"][0]["table"]["kind"].is_string(), "{name}");
    }
}

#[test]
fn the_parts_of_the_stations_and_the_ways_between_them_are_the_bound() {
    for text in [NIC, OFFICE] {
        let design = ask(&json!({ "do": "design", "text": text }));
        let channels = design["admission"]["channels"].as_array().unwrap();
        let admitted: Vec<_> = channels.iter().filter(|channel| channel["verdict"] == "admitted").collect();
        assert!(!admitted.is_empty(), "{design}");
        for channel in admitted {
            let number = |value: &Value| value.as_f64().unwrap();
            let hops = channel["terms"].as_array().unwrap();
            let ways: f64 = hops.iter().rev().skip(1).map(|hop| number(&hop["way"])).sum();
            let all = ways + hops.iter().map(|hop| number(&hop["time"])).sum::<f64>();
            let bound = number(&channel["bound"]);
            assert!((all - bound).abs() < 2e-9 * hops.len() as f64, "{all} and {bound}: {channel}");
        }
    }
}
