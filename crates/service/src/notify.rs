//! Messages to systemd (`sd_notify(3)`): the service is ready, reloads, or stops.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use nix::time::ClockId;

use crate::clock::nanoseconds;

/// A state of the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Programs can connect.
    Ready,
    /// The node file is read again.
    Reloading,
    /// The daemon ends.
    Stopping,
}

/// Reports a state, if systemd started the process and waits for one.
pub(crate) fn notify(state: State) {
    if let Some(path) = std::env::var_os("NOTIFY_SOCKET") {
        // A manager that is gone needs no report.
        let _ = send(path.as_bytes(), state);
    }
}

/// Sends a state to the socket at `path`; one that begins with `@` is in the abstract namespace.
fn send(path: &[u8], state: State) -> io::Result<usize> {
    let address = match path.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(OsStr::from_bytes(path))?,
    };
    let text = match state {
        State::Ready => "READY=1".to_owned(),
        State::Reloading => {
            let us = nanoseconds(ClockId::CLOCK_MONOTONIC) / 1000;
            format!("RELOADING=1\nMONOTONIC_USEC={us}")
        }
        State::Stopping => "STOPPING=1".to_owned(),
    };
    UnixDatagram::unbound()?.send_to_addr(text.as_bytes(), &address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manager_reads_the_state() {
        let path = std::env::temp_dir().join(format!("laxity-notify-{}", std::process::id()));
        let name = format!("laxity-notify-{}", std::process::id());
        let there = UnixDatagram::bind(&path).unwrap();
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let abstract_one = UnixDatagram::bind_addr(&address).unwrap();
        let mut buffer = [0; 100];
        for (socket, at) in [(&there, path.display().to_string()), (&abstract_one, format!("@{name}"))] {
            send(at.as_bytes(), State::Ready).unwrap();
            let length = socket.recv(&mut buffer).unwrap();
            assert_eq!(&buffer[..length], b"READY=1");
            send(at.as_bytes(), State::Reloading).unwrap();
            let length = socket.recv(&mut buffer).unwrap();
            assert!(buffer[..length].starts_with(b"RELOADING=1\nMONOTONIC_USEC="));
        }
        std::fs::remove_file(path).unwrap();
        assert!(send(b"/nowhere/at-all", State::Stopping).is_err());
    }
}
