//! Knobs of hosts that receive: what is kept for real time there.
//!
//! Where best effort shares a program and receive buffers with real time, real time has a bound if the
//! program takes it first and if it has buffers of its own. Several programs need a budget each. One
//! of these without the others changes no refusal, so they are turned together.

use laxity_qos::discipline::Class;
use laxity_scenario::Change;
use laxity_units::Span;
use laxity_world::experiment::{ChannelSpec, ReceiverSpec};

use super::knob::{Knob, Turn};
use super::owned::Owned;

/// Parts of the CPU that all programs of a host together are given.
const SHARES: [(u64, &str); 3] = [(2, "half"), (4, "a quarter"), (8, "an eighth")];

/// The knobs of all receivers of the file.
pub(super) fn knobs(owned: &Owned<'_>) -> Vec<Knob> {
    let receivers = owned.experiment.receivers();
    let kept: Vec<Change> = receivers.iter().flat_map(|receiver| kept(owned, receiver)).collect();
    let mut knobs = Vec::new();
    let mut add = |changes: Vec<Change>, then: String| {
        if !changes.is_empty() {
            let turn = Turn::Set { changes, now: "shared".into(), then };
            knobs.push(Knob { what: "programs and buffers of receivers".into(), wide: false, turn });
        }
    };
    add(kept.clone(), "real time first".into());
    for (part, name) in SHARES {
        let budgets: Vec<Change> =
            receivers.iter().flat_map(|receiver| budgets(owned, receiver, part)).collect();
        if !budgets.is_empty() {
            add([&kept[..], &budgets].concat(), format!("real time first, {name} of the CPU in budgets"));
        }
    }
    knobs
}

/// The channels of `class` that end at `receiver` and for which `here` holds.
fn channels<'a>(
    owned: &'a Owned<'_>,
    receiver: &'a ReceiverSpec,
    class: Class,
    here: impl Fn(&ChannelSpec) -> bool + 'a,
) -> impl Iterator<Item = &'a ChannelSpec> {
    let all = owned.experiment.channels.iter();
    all.filter(move |channel| receiver.entry(channel).is_some() && channel.class == class && here(channel))
}

/// Order of programs and buffers of interfaces that both classes use.
fn kept(owned: &Owned<'_>, receiver: &ReceiverSpec) -> Vec<Change> {
    let mut changes = Vec::new();
    let shared = |here: &dyn Fn(&ChannelSpec) -> bool| {
        let any = |class| channels(owned, receiver, class, here).next().is_some();
        any(Class::RealTime) && any(Class::BestEffort)
    };
    // A change sets keys of the programs that the file has.
    let written = owned.value("program").is_some();
    for (p, program) in receiver.programs.iter().enumerate().filter(|_| written) {
        if !program.config.real_time_first && shared(&|channel| channel.program == p) {
            changes.push(change(format!("program.{}.order", program.name), "\"class\"".into()));
        }
    }
    for (i, interface) in receiver.interfaces.iter().enumerate() {
        let half = interface.config.buffers.map_or(0, |all| all / 2);
        if interface.config.buffers_real_time == 0
            && half > 0
            && shared(&|channel| channel.interface == Some(i))
        {
            changes.push(change(format!("interface.{}.buffers_real_time", interface.name), half.to_string()));
        }
    }
    changes
}

/// Budgets for the programs with real time, if there are several programs: one `part`th of the CPU
/// among them, in periods of the least interval of their channels.
fn budgets(owned: &Owned<'_>, receiver: &ReceiverSpec, part: u64) -> Vec<Change> {
    let count = receiver.programs.len() as u64;
    let mut changes = Vec::new();
    for (p, program) in receiver.programs.iter().enumerate() {
        let real_time = channels(owned, receiver, Class::RealTime, move |channel| channel.program == p);
        let least = real_time.map(|channel| channel.spec.min_interval).min();
        let Some(period) = least.filter(|_| count > 1 && program.config.reserved.is_none()) else { continue };
        let time = |span: Span| format!("\"{} ns\"", (span.as_ps() / 1000).max(1));
        changes.push(change(format!("program.{}.budget", program.name), time(period / (part * count))));
        changes.push(change(format!("program.{}.period", program.name), time(period)));
    }
    changes
}

fn change(key: String, value: String) -> Change {
    Change { key, value }
}
