//! Addresses, routes and neighbours, by the program `ip`.
//!
//! They are set once, before a run, and the program's own errors are better than any of ours; netlink would buy
//! a few milliseconds for a dependency.

use std::fmt::Display;
use std::io;
use std::net::IpAddr;
use std::process::Command;

use crate::Refused;
use crate::link::Mac;
use crate::namespace::Namespace;

/// The program `ip`, here or in a namespace.
#[derive(Debug, Clone, Copy)]
pub struct Ip<'a> {
    namespace: Option<&'a Namespace>,
}

impl<'a> Ip<'a> {
    /// In the namespace of this process.
    pub fn here() -> Self {
        Self { namespace: None }
    }

    /// In `namespace`.
    pub fn inside(namespace: &'a Namespace) -> Self {
        Self { namespace: Some(namespace) }
    }

    /// Runs `ip` with `arguments` and answers what it printed.
    pub fn run(self, arguments: &[&str]) -> Result<String, Refused> {
        let mut command = Command::new("ip");
        if let Some(namespace) = self.namespace {
            command.args(["-n", namespace.name()]);
        }
        let words = || format!("run `ip {}`", arguments.join(" "));
        let output = command.args(arguments).output().map_err(|why| {
            Refused::new(words(), why)
                .advising("the program comes with the package iproute2, which must be installed")
        })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        // The program says "Operation not permitted" in words only.
        Err(if said.contains("not permitted") {
            Refused::new(words(), io::Error::from_raw_os_error(libc::EPERM)).needing("CAP_NET_ADMIN")
        } else {
            Refused::new(words(), io::Error::other(said))
        })
    }

    /// Gives `device` an address in a subnet of `prefix` bits.
    pub fn address(self, device: &str, address: IpAddr, prefix: u8) -> Result<(), Refused> {
        self.set(&["address", "add", &format!("{address}/{prefix}"), "dev", device])
    }

    /// Sets the largest packet of `device`, in bytes without the link's header.
    pub fn mtu(self, device: &str, mtu: u16) -> Result<(), Refused> {
        self.set(&["link", "set", "dev", device, "mtu", &text(mtu)])
    }

    /// Switches `device` on.
    pub fn up(self, device: &str) -> Result<(), Refused> {
        self.set(&["link", "set", "dev", device, "up"])
    }

    /// Says once and for all which Ethernet address `address` has, so that nobody asks for it by broadcast.
    ///
    /// To be done after `device` is up: going up forgets it.
    pub fn neighbour(self, device: &str, address: IpAddr, mac: Mac) -> Result<(), Refused> {
        let (address, mac) = (text(address), text(mac));
        self.set(&["neighbour", "replace", &address, "lladdr", &mac, "dev", device, "nud", "permanent"])
    }

    fn set(self, arguments: &[&str]) -> Result<(), Refused> {
        self.run(arguments).map(drop)
    }
}

fn text(value: impl Display) -> String {
    value.to_string()
}
