//! `[emulation]`, `[[port]]` and what a channel carries of a port's frames.

use std::net::IpAddr;

use laxity_world::experiment::{Carries, EmulationSpec, PortSpec};

use super::way::Way;
use super::*;
use crate::raw::{RawEmulation, RawPort};
use crate::section::Key;
use crate::written::List;

/// The longest name of a network interface under Linux.
const LONGEST_NAME: usize = 15;

pub(super) fn emulation(
    cx: &mut Context<'_>,
    part: Option<Part<RawEmulation>>,
) -> Result<EmulationSpec, Reported> {
    let (_, keys) = cx.keys_or_none(part, &WHOLE)?;
    let core = |core: Key<Option<Whole<0, 4095>>>| Ok(core.value?.map(|core| core.get() as usize));
    Ok(EmulationSpec {
        host: keys.host.value?,
        pace: keys.pace.value?,
        transfer: keys.transfer.value?,
        core: core(keys.core)?,
        host_core: core(keys.host_core)?,
    })
}

pub(super) fn ports(
    cx: &mut Context<'_>,
    list: Option<List<Part<RawPort>>>,
    way: &Way,
) -> Result<Vec<PortSpec>, Reported> {
    let mut ports: Vec<PortSpec> = Vec::new();
    let mut outcome = Ok(());
    for part in cx.items(list)? {
        let span = part.span.clone();
        match port(cx, part, way) {
            Err(reported) => outcome = Err(reported),
            Ok(port) if ports.iter().any(|other| other.node == port.node) => {
                let reason = format!("node {} has a port already", port.node);
                outcome = Err(cx.fault(&span, reason, "give each node one port at most"));
            }
            Ok(port) => ports.push(port),
        }
    }
    outcome.map(|()| ports)
}

fn port(cx: &mut Context<'_>, part: Part<RawPort>, way: &Way) -> Result<PortSpec, Reported> {
    let (_, keys) = cx.keys(part, "this port")?;
    let node = way.node(cx, &keys.node);
    let interface = keys.interface.spanned().and_then(|name| name_of(cx, name));
    let namespace = keys.namespace.placed().and_then(|name| name.map(|name| name_of(cx, name)).transpose());
    let address =
        keys.address.placed().and_then(|text| text.map(|text| self::address(cx, &text)).transpose());
    keys.kind.value?;
    Ok(PortSpec {
        node: node?,
        interface: interface?,
        namespace: namespace?,
        address: address?,
        mtu: keys.mtu.value?.get() as u16,
    })
}

fn name_of(cx: &mut Context<'_>, name: Spanned<String>) -> Result<String, Reported> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let text = name.get_ref();
    if text.is_empty() || text.len() > LONGEST_NAME || !text.chars().all(good) {
        let help = format!("use 1 to {LONGEST_NAME} letters, digits, `-` and `_`, such as `\"lx-a\"`");
        return Err(cx.fault(&name.span(), "this is no name for an interface or a namespace", help));
    }
    Ok(name.into_inner())
}

fn address(cx: &mut Context<'_>, text: &Spanned<String>) -> Result<(IpAddr, u8), Reported> {
    let parsed = text.get_ref().split_once('/').and_then(|(address, prefix)| {
        let address: IpAddr = address.parse().ok()?;
        let prefix: u8 = prefix.parse().ok()?;
        (prefix <= if address.is_ipv4() { 32 } else { 128 }).then_some((address, prefix))
    });
    parsed.ok_or_else(|| {
        cx.fault(&text.span(), "this is no address with its prefix", "write it like `\"10.77.0.1/24\"`")
    })
}

/// Which of its port's frames a channel carries.
pub(super) fn carries(cx: &mut Context<'_>, text: &Spanned<String>) -> Result<Carries, Reported> {
    let words: Vec<&str> = text.get_ref().split_whitespace().collect();
    let number = |word: &str| word.parse::<u16>().ok();
    let carries = match words.as_slice() {
        ["all"] => Some(Carries::All),
        ["tcp"] => Some(Carries::Tcp(None)),
        ["udp"] => Some(Carries::Udp(None)),
        ["icmp"] => Some(Carries::Icmp),
        ["tcp", port] => number(port).map(|port| Carries::Tcp(Some(port))),
        ["udp", port] => number(port).map(|port| Carries::Udp(Some(port))),
        ["dscp", value] => number(value).filter(|value| *value < 64).map(|value| Carries::Dscp(value as u8)),
        _ => None,
    };
    carries.ok_or_else(|| {
        let help = "valid are `\"all\"`, `\"icmp\"`, `\"tcp\"`, `\"udp\"`, either with a port as in `\"udp 5201\"`, and \
                    `\"dscp 46\"`";
        cx.fault(&text.span(), "this names no frames", help)
    })
}
