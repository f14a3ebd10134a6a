//! Errors of ports.

use std::io;

use laxity_units::Time;

use super::{Port, Ports, Wire};

/// Errors of a port, which has no frames meanwhile.
#[derive(Debug)]
pub(super) struct Trouble {
    /// Time of the first error, in the time of the run.
    at: Time,
    why: io::Error,
    count: u64,
    /// Time at which the interface was found deleted.
    gone: Option<Time>,
}

impl Trouble {
    /// Counts an error `why` at `at`. Calls on a deleted interface return `EBADFD`.
    pub(super) fn count(all: &mut Option<Self>, at: Time, why: io::Error) {
        let gone = (why.raw_os_error() == Some(libc::EBADFD)).then_some(at);
        let all = all.get_or_insert(Self { at, why, count: 0, gone: None });
        all.count += 1;
        all.gone = all.gone.or(gone);
    }
}

impl<W: Wire> Ports<W> {
    /// Errors of ports that are still there, a line for each.
    pub fn errors(&self) -> Vec<String> {
        let line = |port: &Port<W>| {
            let Trouble { at, why, count, gone: None } = port.trouble.as_ref()? else { return None };
            let name = &port.name;
            Some(format!("port {name} could not be read or written, {count} times from {at} on: {why}"))
        };
        self.ports.iter().filter_map(line).collect()
    }

    /// Deleted interfaces, a line for each. The first of them ends the run.
    pub fn gone(&self) -> Vec<String> {
        let line = |port: &Port<W>| {
            let at = port.trouble.as_ref()?.gone?;
            Some(format!("port {} was deleted, which was found at {at} and ended the run", port.name))
        };
        self.ports.iter().filter_map(line).collect()
    }

    /// Whether to stop for a deleted interface. True once: a stop at every query would block the world.
    pub(super) fn stops(&mut self) -> bool {
        let gone = |port: &Port<W>| port.trouble.as_ref().is_some_and(|all| all.gone.is_some());
        let stops = !self.has_stopped && self.ports.iter().any(gone);
        self.has_stopped |= stops;
        stops
    }
}
