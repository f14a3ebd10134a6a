//! An attack finds a scenario: read and run again, it has the same bound and shows the same worst case.

use std::fs;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use laxity_lab::attack::{self, AttackOptions, Confirmed, Goal, TimeLimit};
use laxity_lab::property::drawn;
use laxity_scenario::draw::scenario;

const SEED: u64 = 1;
/// Runs for each channel of an attack.
const STEPS: u64 = 12;
/// Events after which a scene is given up.
const EVENTS: u64 = 30_000;

/// A directory of one test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("laxity-attacks-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Attacks the scenario of that number in `folder`: how many channels had a bound, and what went wrong.
fn attacked(number: u64, folder: &Folder) -> (usize, Vec<String>) {
    let text = scenario(SEED, number).file.text();
    let Some(scenario) = Some(&text).filter(|text| text.contains("[via]")).and_then(|text| drawn(text).ok())
    else {
        return (0, Vec::new());
    };
    let point = scenario.points().next().expect("a scenario has a point");
    let options =
        AttackOptions { steps: STEPS, seed: number, threads: NonZero::new(1), channel: None, events: EVENTS };
    let experiments = [scenario.experiment(&point)];
    let Ok(all) = attack::attack(&experiments, &options, TimeLimit::NONE, &mut |_| ()) else {
        return (0, Vec::new());
    };
    let mut wrong = Vec::new();
    for found in &all {
        let path = folder.0.join(format!("{number}-{}.toml", found.name));
        match attack::write(&scenario, &point, found, &path, TimeLimit::NONE) {
            Ok(confirmed) => assert_eq!(confirmed, Confirmed::Yes),
            Err(error) => wrong.push(format!("scenario {number}: {error}")),
        }
        if found.exceeds() {
            wrong.push(format!("scenario {number}: {} takes {} of {}", found.name, found.worst, found.bound));
        }
    }
    (all.len(), wrong)
}

/// Attacks the first `scenarios` drawn ones of virtual interfaces that have a bound.
fn attack_virtual_interfaces(name: &str, scenarios: u64) {
    let folder = Folder::new(name);
    let (next, bounded, wrong) = (AtomicU64::new(0), AtomicU64::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(|| {
                while bounded.load(Ordering::Relaxed) < scenarios {
                    let (channels, found) = attacked(next.fetch_add(1, Ordering::Relaxed), &folder);
                    bounded.fetch_add(u64::from(channels > 0), Ordering::Relaxed);
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {} channels:\n{}", wrong.len(), bounded.into_inner(), wrong.join("\n"));
}

#[test]
fn an_attack_on_virtual_interfaces_ends_with_what_it_found() {
    attack_virtual_interfaces("some", 40);
}

#[test]
#[ignore = "takes minutes"]
fn an_attack_on_any_drawn_virtual_interface_ends_with_what_it_found() {
    attack_virtual_interfaces("many", 400);
}

/// A channel that is refused for a burst beyond its contract stays refused in the file that shows the worst
/// of the other.
#[test]
fn what_was_found_beside_a_refused_channel_is_shown() {
    let folder = Folder::new("refused");
    let text = "title = \"t\"\n[host]\nprofile = \"mc68040\"\n\
        costs = { context_switch = \"0 us\", cache_miss = \"0 us\", first_packet = \"0 us\", packet = \"0 us\", \
        link_scheduling = \"0 us\", hand_over = \"0 us\", interrupt = \"0 us\", thread_creation = \"0 us\", \
        receive_packet = \"0 us\", receive_message = \"0 us\", send_call = \"0 us\" }\n\
        subsystem = { packet = \"1500 B\", cpu = \"fifo\", link = { order = \"strict_priority\" } }\n\
        [adapter]\nkind = \"null\"\nrate = \"100 Mbit/s\"\n[network]\nrate = \"100 Mbit/s\"\n\
        [node.a]\n[node.b]\n[node.s]\nkind = \"switch\"\norder = \"wfq\"\n[network.n]\njoins = [\"s\", \"a\", \"b\"]\n\
        [run]\ntime = \"50 ms\"\n";
    let channel = |name: &str, burst: u32, source: &str| {
        format!(
            "[[channel]]\nname = \"{name}\"\nclass = \"real_time\"\nmax_message = \"462 B\"\nburst = {burst}\n\
             min_interval = \"2 ms\"\ndeadline = \"2 ms\"\nfrom = \"a\"\nto = \"b\"\nsource = {source}\n"
        )
    };
    let beyond = channel("beyond", 2, "{ kind = \"bursty\", burst = 8 }");
    let text = [text, &beyond, &channel("within", 1, "{ kind = \"adversary\" }")].concat();
    let scenario = drawn(&text).unwrap();
    let point = scenario.points().next().unwrap();
    let options =
        AttackOptions { steps: STEPS, seed: 1, threads: NonZero::new(1), channel: None, events: EVENTS };
    let experiments = [scenario.experiment(&point)];
    let all = attack::attack(&experiments, &options, TimeLimit::NONE, &mut |_| ()).unwrap();
    let [found] = &all[..] else { panic!("{all:?}") };
    let path = folder.0.join("within.toml");
    let confirmed = attack::write(&scenario, &point, found, &path, TimeLimit::NONE);
    assert_eq!(confirmed.unwrap_or_else(|error| panic!("{error}")), Confirmed::Yes);
}

/// A search for the exchanges of a loop and a line keeps their answers, and finds traffic of others that
/// is worse for them.
#[test]
fn an_exchange_is_attacked_with_its_answers() {
    let folder = Folder::new("exchange");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/networks/rounds.toml");
    let text = fs::read_to_string(path).unwrap().replace("time = \"1 s\"", "time = \"20 ms\"");
    let scenario = laxity_lab::from_text(path, text).unwrap_or_else(|errors| panic!("{errors}"));
    let point = scenario.points().next().unwrap();
    let experiments = [scenario.experiment(&point)];
    // The loop has two answers, and the line one.
    for (name, answers) in [("position", 2), ("act", 1)] {
        let channel = Some(name.to_string());
        let options = AttackOptions { steps: 60, seed: 1, threads: None, channel, events: EVENTS };
        let all = attack::attack(&experiments, &options, TimeLimit::NONE, &mut |_| ()).unwrap();
        let [delivery, found] = &all[..] else { panic!("{all:?}") };
        assert_eq!((delivery.goal, delivery.title()), (Goal::Delivery, name.into()));
        assert_eq!((found.goal, found.title()), (Goal::Exchange, format!("{name}, exchange")));
        assert!(!found.exceeds() && Some(found.worst) > found.plain, "{found:?}");
        let path = folder.0.join(format!("{name}.toml"));
        let confirmed = attack::write(&scenario, &point, found, &path, TimeLimit::NONE);
        assert_eq!(confirmed.unwrap_or_else(|error| panic!("{error}")), Confirmed::Yes);
        assert_eq!(fs::read_to_string(path).unwrap().matches("kind = \"rounds\"").count(), answers);
    }
}
