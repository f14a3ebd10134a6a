//! Groups of hosts, each of which is changed as one: the recorders of a plant, and not one of them.
//!
//! Hosts are of one kind if their descriptions are equal and channels with a deadline use them
//! alike: a host of one kind receives messages of such channels, a host of the other only sends
//! them. Hosts without such channels are of no kind, since no change of theirs alone is wanted.

use laxity_qos::discipline::Class;

use super::knob::{Knob, Scaled, Turn};
use super::owned::{HOST, Owned};
use super::quantity::Quantity;

/// Names that are written out; of more, the first ones and a number.
const NAMES: usize = 3;

/// Part that a host has in channels with a deadline.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Receives,
    Sends,
}

/// The knobs of every kind of host that has several tables in the file, and of which not all hosts
/// are.
///
/// One table with a `count` is changed by its own key.
pub(super) fn knobs(owned: &Owned<'_>) -> Vec<Knob> {
    let hosts = owned.nodes(false);
    let mut kinds: Vec<(Role, usize, Vec<&str>)> = Vec::new();
    for name in &hosts {
        let Some(role) = role(owned, name) else { continue };
        let Some(node) = owned.place(name) else { continue };
        let host = owned.experiment.nodes[node].host;
        let same =
            |other: usize| other == host || owned.experiment.hosts[other] == owned.experiment.hosts[host];
        match kinds.iter_mut().find(|(of, other, _)| *of == role && same(*other)) {
            Some((.., names)) => names.push(name),
            None => kinds.push((role, host, vec![name])),
        }
    }
    kinds.retain(|(.., names)| names.len() > 1 && names.len() < hosts.len());
    kinds.iter().flat_map(|(role, _, names)| of(owned, *role, names)).collect()
}

/// Part that the hosts of the table `name` have in channels with a deadline; `None` for none.
fn role(owned: &Owned<'_>, name: &str) -> Option<Role> {
    let experiment = owned.experiment;
    let is = |station: &usize| {
        let node = experiment.nodes.get(*station);
        node.and_then(|node| node.name.as_deref()).is_some_and(|own| owned.is_of(own, name))
    };
    let asking = experiment.channels.iter().filter(|channel| channel.class == Class::RealTime);
    let mut role = None;
    for channel in asking {
        if channel.route.iter().skip(1).any(is) {
            return Some(Role::Receives);
        }
        if channel.route.first().is_some_and(is) {
            role = Some(Role::Sends);
        }
    }
    role
}

/// The knobs of the hosts `names`: each key of a host, scaled at all of them by one factor.
fn of(owned: &Owned<'_>, role: Role, names: &[&str]) -> Vec<Knob> {
    let whom = match role {
        Role::Receives => format!("the receiving hosts {}", listed(names)),
        Role::Sends => format!("the sending hosts {}", listed(names)),
    };
    let mut knobs = Vec::new();
    for rule in &HOST {
        let (key, what, towards, _) = rule;
        let now = |name: &&str| {
            let path = format!("node.{name}.host.{key}");
            owned.present(rule, &path, Some(&format!("host.{key}"))).map(|now| (path, now))
        };
        let Some(all): Option<Vec<(String, Quantity)>> = names.iter().map(now).collect() else { continue };
        for up in towards.ways() {
            let parts: Vec<Scaled> =
                all.iter().map(|(key, now)| Scaled { key: key.clone(), now: *now, up }).collect();
            if parts.iter().all(|part| part.now.number() > 0.0) {
                // Not wide: the group is one thing to its owner, and is changed beside another.
                knobs.push(Knob { what: format!("{what} {whom}"), wide: false, turn: Turn::Scale(parts) });
            }
        }
    }
    knobs
}

/// `a, b and c`, or `a, b and 4 more`.
fn listed(names: &[&str]) -> String {
    let (first, last) = names.split_at(if names.len() > NAMES { NAMES - 1 } else { names.len() - 1 });
    let last = if last.len() > 1 { format!("{} more", last.len()) } else { last[0].to_string() };
    format!("{} and {last}", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn a_few_names_are_written_and_many_are_counted() {
        assert_eq!(listed(&["a", "b"]), "a and b");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
        assert_eq!(listed(&["a", "b", "c", "d"]), "a, b and 2 more");
    }
}
