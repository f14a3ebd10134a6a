//! Requirements on ports and on the channels that carry their frames, each fault at its key.
//!
//! The keys are found before the tables become channels and ports, which have no places in the file any more.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use laxity_units::Bytes;
use laxity_world::experiment::{Carries, PortSpec};

use super::*;
use crate::diagnostic::Diagnostic;
use crate::raw::{RawChannel, RawPort};
use crate::written::List;

/// Bytes of Ethernet's header, which a port's MTU does not count.
const HEADER: u64 = 14;

/// Where the keys of a channel that carries frames stand.
struct ChannelKeys {
    carries: Range<usize>,
    max_message: Range<usize>,
}

/// Where the keys of a port stand; the port itself for those that it lacks.
struct PortKeys {
    interface: Range<usize>,
    address: Range<usize>,
}

/// Where all of those keys stand.
pub(super) struct Keys {
    /// By the channel's name in the file.
    channels: BTreeMap<String, ChannelKeys>,
    /// In the order of the file.
    ports: Vec<PortKeys>,
}

impl Keys {
    pub(super) fn of(channels: Option<&List<Part<RawChannel>>>, ports: Option<&List<Part<RawPort>>>) -> Self {
        let channel = |part: &Part<RawChannel>| {
            let raw = part.value.as_ref().ok()?;
            let name = raw.name.as_ref()?.value.as_ref().ok()?.0.clone();
            let (carries, max_message) =
                (raw.carries.as_ref()?.span.clone(), raw.max_message.as_ref()?.span.clone());
            Some((name, ChannelKeys { carries, max_message }))
        };
        let port = |part: &Part<RawPort>| {
            let raw = part.value.as_ref().ok();
            let interface = raw.and_then(|raw| raw.interface.as_ref()).map(|key| key.span.clone());
            let address = raw.and_then(|raw| raw.address.as_ref()).map(|key| key.span.clone());
            let or_all = |key: Option<Range<usize>>| key.unwrap_or_else(|| part.span.clone());
            PortKeys { interface: or_all(interface), address: or_all(address) }
        };
        let channels = channels.and_then(|list| list.value.as_ref().ok());
        let ports = ports.and_then(|list| list.value.as_ref().ok());
        Self {
            channels: channels.into_iter().flatten().filter_map(channel).collect(),
            ports: ports.into_iter().flatten().map(port).collect(),
        }
    }

    /// Of a channel, which may be one of several copies: these have the name in the file and a
    /// number behind it.
    fn channel(&self, name: &str) -> Option<&ChannelKeys> {
        let copied = || self.channels.get(name.rsplit_once('-')?.0);
        self.channels.get(name).or_else(copied)
    }
}

/// Refuses ports that are alike where they must not be, and channels that could not carry what
/// their `carries` says.
pub(super) fn fits(cx: &mut Context<'_>, experiment: &Experiment, keys: &Keys) -> Result<(), Reported> {
    let alike = alike(cx, &experiment.ports, keys);
    let covered = covered(cx, experiment, keys);
    let short = short(cx, experiment, keys);
    let apart = apart(cx, experiment, keys);
    alike.and(covered).and(short).and(apart)
}

/// Two ports with one address, or with one name of an interface in one namespace.
fn alike(cx: &mut Context<'_>, ports: &[PortSpec], keys: &Keys) -> Result<(), Reported> {
    let mut outcome = Ok(());
    for (i, (port, at)) in ports.iter().zip(&keys.ports).enumerate() {
        let before = || ports[..i].iter().zip(&keys.ports);
        if let Some((address, _)) = port.address
            && let Some((other, there)) =
                before().find(|(other, _)| other.address.is_some_and(|(it, _)| it == address))
        {
            let reason = format!("node {} has the address {address}, too", other.node);
            let help = "give each port an address of its own";
            outcome = Err(twice(cx, &at.address, &there.address, reason, help));
        }
        let is_same =
            |other: &PortSpec| (&other.interface, &other.namespace) == (&port.interface, &port.namespace);
        if let Some((other, there)) = before().find(|(other, _)| is_same(other)) {
            let reason =
                format!("node {} has an interface {} in the same namespace", other.node, port.interface);
            let help = "give each port another `interface`, or a `namespace` of its own";
            outcome = Err(twice(cx, &at.interface, &there.interface, reason, help));
        }
    }
    outcome
}

fn twice(
    cx: &mut Context<'_>,
    at: &Range<usize>,
    other: &Range<usize>,
    reason: String,
    help: &str,
) -> Reported {
    let diagnostic = Diagnostic::new(cx.place(at), reason);
    let related = cx.place(other).label("the other one");
    cx.report(diagnostic.related(related).help(help))
}

/// A channel with no frames left, since an earlier channel between the same nodes takes all of
/// them.
fn covered(cx: &mut Context<'_>, experiment: &Experiment, keys: &Keys) -> Result<(), Reported> {
    let mut outcome = Ok(());
    // Of the channels that carry frames from a node to a node, what they carry.
    let mut before: BTreeMap<(usize, usize), Vec<(Carries, &str)>> = BTreeMap::new();
    let mut told = BTreeSet::new();
    for channel in &experiment.channels {
        let Some(carries) = channel.carries else { continue };
        let (from, to) = ends(channel);
        let earlier = before.entry((from, to)).or_default();
        let cover = earlier.iter().find(|(other, _)| other.covers(carries)).copied();
        earlier.push((carries, &channel.name));
        let (Some((_, other)), Some(at)) = (cover, keys.channel(&channel.name)) else { continue };
        if !told.insert(at.carries.start) {
            continue;
        }
        let reason = format!(
            "channel `{}` gets no frame: `{other}`, which comes first, takes all of these from node {from} to node {to}",
            channel.name
        );
        let there = keys.channel(other).map(|there| there.carries.clone());
        outcome = Err(match there.filter(|there| *there != at.carries) {
            Some(there) => {
                twice(cx, &at.carries, &there, reason, "put this channel before the other, or remove it")
            }
            None => cx.fault(&at.carries, reason, "remove `count`: one channel carries the frames to a host"),
        });
    }
    outcome
}

/// A channel whose messages are shorter than the frames that its port offers.
///
/// The program that a real-time channel is for chooses the length of its datagrams, and such a
/// channel carries longer messages in pieces of its contract. So only there `max_message` may be
/// smaller; a frame that cannot be carried in pieces is counted as oversize.
fn short(cx: &mut Context<'_>, experiment: &Experiment, keys: &Keys) -> Result<(), Reported> {
    let mut outcome = Ok(());
    let mut told = BTreeSet::new();
    for channel in experiment.channels.iter().filter(|channel| channel.carries.is_some()) {
        let (from, _) = ends(channel);
        let port = experiment.ports.iter().find(|port| port.node == from);
        let (Some(port), Some(at)) = (port, keys.channel(&channel.name)) else { continue };
        // A link with framing makes the header anew.
        let header = if experiment.is_framed(channel) { 0 } else { HEADER };
        let frame = Bytes::new(u64::from(port.mtu) + header);
        // A contract that is not enforced refuses no message at run time either.
        let is_enforced = experiment.host(from).subsystem.enforcement;
        let is_chosen = channel.class == Class::RealTime
            && matches!(channel.carries, Some(Carries::Udp(_) | Carries::Icmp | Carries::Dscp(_)));
        if !is_enforced
            || is_chosen
            || channel.spec.max_message >= frame
            || !told.insert(at.max_message.start)
        {
            continue;
        }
        let reason = format!(
            "the port at node {from} has frames of up to {frame}, its MTU of {} and {header} B of Ethernet, and the channel takes \
             up to {}",
            port.mtu, channel.spec.max_message
        );
        let help = match channel.spec.max_message.get().checked_sub(header).filter(|mtu| *mtu >= 68) {
            Some(mtu) => format!("say `\"{frame}\"` or more, or `mtu = {mtu}` under that `[[port]]`"),
            None => format!("say `\"{frame}\"` or more"),
        };
        outcome = Err(cx.fault(&at.max_message, reason, help));
    }
    outcome
}

/// Two ports between which a channel carries frames, and neither of which their hosts would send to
/// the other.
fn apart(cx: &mut Context<'_>, experiment: &Experiment, keys: &Keys) -> Result<(), Reported> {
    let mut outcome = Ok(());
    let mut told = BTreeSet::new();
    for channel in experiment.channels.iter().filter(|channel| channel.carries.is_some()) {
        let (from, to) = ends(channel);
        let place = |node: usize| experiment.ports.iter().position(|port| port.node == node);
        let (Some(from), Some(to)) = (place(from), place(to)) else { continue };
        let (Some(own), Some(other)) = (experiment.ports[from].address, experiment.ports[to].address) else {
            continue;
        };
        let (Some(at), Some(there)) = (keys.ports.get(from.max(to)), keys.ports.get(from.min(to))) else {
            continue;
        };
        if contains(own, other.0) || !told.insert((from.min(to), from.max(to))) {
            continue;
        }
        let reason = format!(
            "channel `{}` carries frames from {}/{} to {}/{}, which is outside of that subnet, so no host sends any",
            channel.name, own.0, own.1, other.0, other.1
        );
        let help = "let both addresses be in one subnet, such as `\"10.77.0.1/24\"` and `\"10.77.0.2/24\"`";
        outcome = Err(twice(cx, &at.address, &there.address, reason, help));
    }
    outcome
}

/// The nodes at which a channel begins and ends.
fn ends(channel: &ChannelSpec) -> (usize, usize) {
    (channel.route[0], *channel.route.last().expect("a route has a node"))
}

/// Whether `other` is in the subnet of an address with its prefix.
fn contains((address, prefix): (IpAddr, u8), other: IpAddr) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    };
    let mask = u128::MAX.checked_shl(128 - u32::from(prefix.min(128))).unwrap_or(0);
    address.is_ipv4() == other.is_ipv4() && (bits(address) ^ bits(other)) & mask == 0
}

#[cfg(test)]
mod tests {
    use super::contains;

    #[test]
    fn a_subnet_is_the_first_bits() {
        let is = |subnet: &str, other: &str| {
            let (address, prefix) = subnet.split_once('/').unwrap();
            contains((address.parse().unwrap(), prefix.parse().unwrap()), other.parse().unwrap())
        };
        assert!(is("10.77.0.1/24", "10.77.0.255") && !is("10.77.0.1/24", "10.77.1.0"));
        assert!(is("10.77.0.1/31", "10.77.0.0") && !is("10.77.0.1/32", "10.77.0.0"));
        assert!(is("0.0.0.0/0", "255.0.0.1") && is("fd00::1/64", "fd00::ffff:0:0:2"));
        assert!(!is("fd00::1/64", "fd00:0:0:1::2") && !is("fd00::1/128", "fd00::2") && is("::/0", "fd00::2"));
        assert!(!is("10.0.0.1/0", "::1"));
    }
}
