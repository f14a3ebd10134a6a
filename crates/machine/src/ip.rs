//! Addresses, routes and neighbours, by the program `ip`.
//!
//! They are set once, before a run. The program has good error messages; netlink would save a few
//! milliseconds and add a dependency.
//!
//! A process with capabilities of its file (`setcap`) does not pass them to child processes unless
//! it makes them inheritable and ambient.

#![allow(
    unsafe_code,
    reason = "capabilities are handed on between fork and exec, by calls that nix does not have"
)]

use std::fmt::Display;
use std::io;
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::RefusedBySystem;
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

    /// Runs `ip` with `arguments` and returns its output.
    pub fn run(self, arguments: &[&str]) -> Result<String, RefusedBySystem> {
        let mut command = Command::new("ip");
        if let Some(namespace) = self.namespace {
            command.args(["-n", namespace.name()]);
        }
        // SAFETY: the closure only makes system calls, which is safe between fork and exec.
        unsafe { command.pre_exec(hand_on_capabilities) };
        let words = || format!("run `ip {}`", arguments.join(" "));
        let output = command.args(arguments).output().map_err(|why| {
            RefusedBySystem::new(words(), why)
                .advising("the program comes with the package iproute2, which must be installed")
        })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        // The program reports this error only as text.
        Err(if said.contains("not permitted") {
            RefusedBySystem::new(words(), io::Error::from_raw_os_error(libc::EPERM)).needing("CAP_NET_ADMIN")
        } else {
            RefusedBySystem::new(words(), io::Error::other(said))
        })
    }

    /// Gives `device` an address in a subnet of `prefix` bits.
    pub fn address(self, device: &str, address: IpAddr, prefix: u8) -> Result<(), RefusedBySystem> {
        self.set(&["address", "add", &format!("{address}/{prefix}"), "dev", device])
    }

    /// Sets the MTU of `device`: bytes of the largest packet without the link header.
    pub fn mtu(self, device: &str, mtu: u16) -> Result<(), RefusedBySystem> {
        self.set(&["link", "set", "dev", device, "mtu", &text(mtu)])
    }

    /// Enables `device`.
    pub fn up(self, device: &str) -> Result<(), RefusedBySystem> {
        self.set(&["link", "set", "dev", device, "up"])
    }

    /// Sets a permanent neighbour entry, which avoids broadcasts for `address`.
    ///
    /// It has to follow [`up`](Self::up), which clears the entries.
    pub fn neighbour(self, device: &str, address: IpAddr, mac: Mac) -> Result<(), RefusedBySystem> {
        let (address, mac) = (text(address), text(mac));
        self.set(&["neighbour", "replace", &address, "lladdr", &mac, "dev", device, "nud", "permanent"])
    }

    fn set(self, arguments: &[&str]) -> Result<(), RefusedBySystem> {
        self.run(arguments).map(drop)
    }
}

/// Capabilities that `ip` needs: to read root's files, to set up interfaces, to enter a namespace.
const HANDED_ON: [libc::c_ulong; 3] = [1, 12, 21];

/// The kernel's structures for `capget` and `capset`, version 3.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    process: libc::c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilitySets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Without the capabilities `ip` itself reports the error, so this function ignores errors.
#[allow(clippy::unnecessary_wraps, reason = "what runs between fork and exec answers whether to go on")]
fn hand_on_capabilities() -> io::Result<()> {
    let mut header = CapabilityHeader { version: 0x2008_0522, process: 0 };
    let mut sets = [CapabilitySets::default(); 2];
    // SAFETY: the structures have the kernel's layout, and live through the calls.
    unsafe {
        if libc::syscall(libc::SYS_capget, &raw mut header, sets.as_mut_ptr()) == 0 {
            for set in &mut sets {
                set.inheritable |= set.permitted;
            }
            libc::syscall(libc::SYS_capset, &raw mut header, sets.as_ptr());
            for capability in HANDED_ON {
                libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_RAISE, capability, 0_u64, 0_u64);
            }
        }
    }
    Ok(())
}

fn text(value: impl Display) -> String {
    value.to_string()
}
