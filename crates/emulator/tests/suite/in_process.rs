//! A host in a thread beside an emulated adapter: order and accounting are asserted, no times.

use std::sync::{Mutex, RwLockWriteGuard};

use laxity_emulator::Runner;
use laxity_machine::{claim_core, place};
use laxity_scenario::Scenario;
use laxity_world::experiment::Experiment;
use laxity_world::results::Run;

use crate::common::alone;

fn experiment(text: &str) -> Experiment {
    let scenario =
        Scenario::from_text("test.toml", text).unwrap_or_else(|why| panic!("{}", why.render(false)));
    scenario.first()
}

/// A host with two channels at an adapter of two stages, for a third of a second.
fn scenario(clock: &str, more: &str) -> String {
    format!(
        r#"
title = "two channels"
seed = 5
[host]
profile = "mc68040"
[host.driver]
watchdog = "2 ms"
reset_after = "30 ms"
[host.subsystem]
link = {{ paradigm = "O1", depth = 2 }}
[adapter]
kind = "generic"
[[adapter.transmit]]
name = "dma"
phase = [{{ per_byte = "20 ns", holds = ["bus"] }}]
[[adapter.transmit]]
name = "link"
phase = [{{ per_byte = "30 ns", medium = true }}]
[admission]
formula = "off"
[run]
clock = "{clock}"
time = "300 ms"
[emulation]
host = "thread"
[[channel]]
name = "rt"
class = "real_time"
max_message = "8 KiB"
burst = 4
min_interval = "10 ms"
deadline = "10 ms"
source = {{ kind = "periodic" }}
[[channel]]
name = "be"
class = "best_effort"
max_message = "16 KiB"
burst = 4
source = {{ kind = "poisson", rate = "1 MiB/s" }}
{more}
"#
    )
}

/// Lock of one test, or `None` without two processors: two concurrent runs would be four spinning
/// threads, which compete for processors.
fn turn() -> Option<RwLockWriteGuard<'static, ()>> {
    if place::cores().len() < 2 {
        println!("skipped: END and its host need two processors");
        return None;
    }
    Some(alone())
}

/// Runs the scenario in real time, unless there are too few processors.
fn real(more: &str) -> Option<Run> {
    let _turn = turn()?;
    Some(warned(more, &|_| ()))
}

/// [`real`] for a caller with the lock; passes disturbances to `warn`.
fn warned(more: &str, warn: &(dyn Fn(&str) + Sync)) -> Run {
    Runner::new(warn).run(&experiment(&scenario("real", more))).unwrap_or_else(|why| panic!("{why}"))
}

/// Every message is completed, dropped with its packets counted, or in flight. Counts are of a
/// window, which also completes messages in flight at its start.
fn is_accounted(run: &Run) {
    for channel in &run.channels {
        let dropped: u64 =
            channel.drops.iter().filter(|(cause, _)| *cause == "message_queue").map(|(_, n)| n).sum();
        let lost = channel.lost_packets;
        let gone = channel.completed + dropped;
        // Queues have a few messages; others are lost by a fault.
        assert!(gone <= channel.messages + 12, "{}: {channel:?}", channel.name);
        assert!(channel.messages <= gone + 12 + lost, "{}: {channel:?}", channel.name);
    }
}

#[test]
fn the_same_messages_are_sent_as_in_virtual_time() {
    let Some(run) = real("") else { return };
    let simulated =
        Runner::new(&|_| ()).run(&experiment(&scenario("virtual", ""))).expect("it can be simulated");
    is_accounted(&run);
    // A stall beyond the driver's timeout makes it reset the adapter, which loses two packets.
    let resets = run.figures.get("driver_resets").copied().unwrap_or_default();
    let lost: u64 = run.channels.iter().map(|channel| channel.lost_packets).sum();
    assert!(lost <= 2 * resets as u64, "{lost} packets lost and {resets} resets");
    let fitness = &run.real_time.as_ref().expect("it ran in real time").fitness;
    let stop = fitness.longest_stop.max(fitness.latest);
    for (real, virtual_) in run.channels.iter().zip(&simulated.channels) {
        // The end of the run cuts off messages delayed by a stall. And the host continues while END
        // stalls and does not report the end of the window.
        let more = (stop * 200.0).ceil() as u64;
        assert!(real.messages <= virtual_.messages + more, "{}: {real:?} and {stop} s", real.name);
        // Two packets are exchanged each time that both threads have had a processor: a run that
        // stalls for most of its time carries only the channel of the highest priority.
        let is_last = real.name == "be" && fitness.stalled_share > 0.5;
        assert!(real.completed > 0 || is_last, "{}: {} sent, {fitness:?}", real.name, real.messages);
        // The host reports its sends, so the on-time fraction is known.
        assert_eq!(real.on_time.is_some(), real.deadline.is_some(), "{}", real.name);
    }
    let real_time = run.real_time.expect("it ran in real time");
    assert!(real_time.events > 0 && real_time.inputs > 0);
    assert_eq!(run.stages.len(), 2);
}

#[test]
fn a_run_on_processors_that_another_has_taken_says_so() {
    let Some(_turn) = turn() else { return };
    let taken: Vec<_> = place::cores().into_iter().map(|core| claim_core(Some(core))).collect();
    // Another run with a claim may end before this run begins.
    if taken.iter().any(|claim| claim.is_shared) || claim_core(None).warning().is_none() {
        println!("skipped: no lock for each processor can be had");
        return;
    }
    let said = Mutex::new(Vec::new());
    let warn = |warning: &str| said.lock().unwrap().push(warning.to_string());
    warned("", &warn);
    let said = said.into_inner().unwrap();
    assert_eq!(said.len(), 2, "END's processor and its host's: {said:?}");
    assert!(said.iter().all(|line| line.contains("is taken by another run in real time")), "{said:?}");
}

#[test]
fn lost_interrupts_are_found_by_the_watchdog() {
    let fault = "[[fault]]\nkind = \"lost_interrupts\"\nat = \"50 ms\"\nshare = 0.7";
    let Some(run) = real(fault) else { return };
    is_accounted(&run);
    assert!(run.figures.get("driver_lost_interrupts").is_some_and(|lost| *lost > 0.0), "{:?}", run.figures);
}

#[test]
fn an_adapter_that_stops_is_reset() {
    let Some(run) = real("[[fault]]\nkind = \"stop\"\nat = \"100 ms\"") else { return };
    is_accounted(&run);
    let lost: u64 = run.channels.iter().map(|channel| channel.lost_packets).sum();
    let resets = run.figures.get("driver_resets").copied().unwrap_or_default();
    assert!(resets >= 1.0, "{:?}", run.figures);
    assert!((1..=2 * resets as u64).contains(&lost), "two packets are in the adapter at most: {lost}");
}
