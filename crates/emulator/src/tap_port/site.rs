//! Namespaces and TAP devices of a scenario's ports, created before a run and removed after it.
//!
//! Each port's end has permanent neighbour entries for all others: a real network would resolve
//! addresses by broadcast, and an emulated one carries broadcasts only where a channel carries
//! `all`.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use laxity_world::experiment::{Experiment, PortSpec};

use laxity_machine::RefusedBySystem;
use laxity_machine::ip::Ip;
use laxity_machine::namespace::{Namespace, RunOwner};
use laxity_machine::tap::{Tap, TapDrops, TapSetup};

use super::carriers::mac;
use super::steering::Steering;

/// System resources of an experiment's ports; dropping it removes them.
pub struct Site {
    /// Before the namespaces, so that the devices are dropped first.
    taps: BTreeMap<usize, Arc<Tap>>,
    namespaces: Vec<Namespace>,
    swept: Vec<String>,
    unsteered: Vec<String>,
    ports: Vec<PortSpec>,
}

impl Site {
    /// Creates the resources of `experiment`, and removes those of crashed runs.
    pub fn new(experiment: &Experiment) -> Result<Self, RefusedBySystem> {
        Self::made(experiment, true)
    }

    /// [`new`](Self::new) with devices without offloads: every frame is as a link carries it.
    pub fn plain(experiment: &Experiment) -> Result<Self, RefusedBySystem> {
        Self::made(experiment, false)
    }

    fn made(experiment: &Experiment, offloads: bool) -> Result<Self, RefusedBySystem> {
        let owner = RunOwner::claim()?;
        let ports = experiment.ports.clone();
        let mut namespaces: Vec<Namespace> = Vec::new();
        for name in ports.iter().filter_map(|port| port.namespace.as_deref()) {
            if namespaces.iter().all(|made| made.name() != name) {
                namespaces.push(owner.namespace(name)?);
            }
        }
        let swept = owner.swept().to_vec();
        let mut site = Self { taps: BTreeMap::new(), namespaces, swept, unsteered: Vec::new(), ports };
        for port in &site.ports {
            let steering = Steering::of(experiment, port.node);
            let (tap, unsteered) = site.device(port, &steering, offloads)?;
            site.taps.insert(port.node, Arc::new(tap));
            site.unsteered.extend(unsteered);
        }
        for port in &site.ports {
            site.introduce(port)?;
        }
        Ok(site)
    }

    fn namespace(&self, port: &PortSpec) -> Option<&Namespace> {
        let name = port.namespace.as_deref()?;
        self.namespaces.iter().find(|namespace| namespace.name() == name)
    }

    fn ip(&self, port: &PortSpec) -> Ip<'_> {
        self.namespace(port).map_or_else(Ip::here, Ip::inside)
    }

    /// Device of a port, and a message if its frames cannot be sorted.
    fn device(
        &self,
        port: &PortSpec,
        steering: &Steering,
        offloads: bool,
    ) -> Result<(Tap, Option<String>), RefusedBySystem> {
        let (tap, unsteered) = queued(port, steering, offloads, self.namespace(port))?;
        match port.address {
            // Without this option the address is unusable for a second, in which the kernel checks
            // for duplicates.
            Some((address @ IpAddr::V6(_), prefix)) => {
                let address = format!("{address}/{prefix}");
                self.ip(port).run(&["address", "add", &address, "dev", &port.interface, "nodad"])?;
            }
            Some((address, prefix)) => self.ip(port).address(&port.interface, address, prefix)?,
            None => {}
        }
        Ok((tap, unsteered))
    }

    /// Adds neighbour entries for the others at the host behind `port`.
    fn introduce(&self, port: &PortSpec) -> Result<(), RefusedBySystem> {
        let Some((own, _)) = port.address else { return Ok(()) };
        for other in self.ports.iter().filter(|other| other.node != port.node) {
            if let Some((address, _)) = other.address
                && address.is_ipv4() == own.is_ipv4()
            {
                self.ip(port).neighbour(&port.interface, address, mac(other.node))?;
            }
        }
        Ok(())
    }

    /// Devices, by node.
    pub fn taps(&self) -> BTreeMap<usize, Arc<Tap>> {
        self.taps.clone()
    }

    /// Drops of the kernel at each port so far, by node; without ports for which it reports none.
    pub fn drops(&self) -> BTreeMap<usize, TapDrops> {
        let of = |port: &PortSpec| {
            let tap = self.taps.get(&port.node)?;
            let drops = match self.namespace(port) {
                None => tap.drops_here(),
                Some(namespace) => namespace.within(|| tap.drops_here()).ok()?,
            };
            Some((port.node, drops.ok()?))
        };
        self.ports.iter().filter_map(of).collect()
    }

    /// Namespace of the port at `node`, if it has its own.
    pub fn namespace_at(&self, node: usize) -> Option<&Namespace> {
        self.ports.iter().find(|port| port.node == node).and_then(|port| self.namespace(port))
    }

    /// Remains of crashed runs that were removed.
    pub fn swept(&self) -> &[String] {
        &self.swept
    }

    /// Ports with one queue for all frames although some are guaranteed, a line with the reason
    /// for each.
    pub fn unsteered(&self) -> &[String] {
        &self.unsteered
    }

    /// Description of the set-up, a line for each port, and a command to try.
    pub fn describe(&self) -> Vec<String> {
        let mut lines: Vec<String> = self
            .ports
            .iter()
            .map(|port| {
                let place = port
                    .namespace
                    .as_deref()
                    .map_or("this namespace".into(), |name| format!("namespace {name}"));
                let address = port
                    .address
                    .map_or("no address".into(), |(address, prefix)| format!("{address}/{prefix}"));
                format!(
                    "node {}: interface {} in {place}, {address}, {}, MTU {}",
                    port.node,
                    port.interface,
                    mac(port.node),
                    port.mtu
                )
            })
            .collect();
        let mut addressed = self.ports.iter().filter_map(|port| Some((port, port.address?.0)));
        if let (Some((from, _)), Some((_, to))) = (addressed.next(), addressed.next()) {
            let inside =
                from.namespace.as_deref().map_or(String::new(), |name| format!("ip netns exec {name} "));
            lines.push(format!("try: {inside}ping {to}"));
        }
        lines
    }
}

/// Device with the queues of `steering`, or with one and the reason.
///
/// The program is loaded before the device is created, since the number of queues is fixed at
/// creation.
fn queued(
    port: &PortSpec,
    steering: &Steering,
    offloads: bool,
    namespace: Option<&Namespace>,
) -> Result<(Tap, Option<String>), RefusedBySystem> {
    let ipv6 = matches!(port.address, Some((IpAddr::V6(_), _)));
    let setup = TapSetup {
        name: port.interface.clone(),
        mac: mac(port.node),
        mtu: port.mtu,
        ipv6,
        queues: 1,
        offloads,
    };
    if steering.queues() == 1 {
        return Ok((Tap::open(&setup, namespace)?, None));
    }
    let steered = steering.program().hand_over().and_then(|program| {
        let tap = Tap::open(&TapSetup { queues: steering.queues(), ..setup.clone() }, namespace)?;
        tap.steer(&program).map(|()| tap)
    });
    match steered {
        Ok(tap) => Ok((tap, None)),
        Err(refused) => {
            let line = format!(
                "node {}: all frames of interface {} wait in one queue, where a flood can push out those of a real-time \
                 channel before they are read: {refused}",
                port.node, port.interface
            );
            Ok((Tap::open(&setup, namespace)?, Some(line)))
        }
    }
}
