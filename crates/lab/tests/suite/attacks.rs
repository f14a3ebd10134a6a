//! An attack finds a scenario: read and run again, it has the same bound and shows the same worst case.

use std::fs;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use laxity_lab::attack::{self, AttackOptions, Confirmed, TimeLimit};
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
