//! Settings of a network interface by name, in the network namespace of the calling thread.

#![allow(unsafe_code, reason = "the requests of an interface are structures with unions")]

use std::fmt;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Ethernet address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Request about the interface `name`; an error if the name is invalid.
pub(crate) fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: a plain structure for which all zeros are valid.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    let room = request.ifr_name.len() - 1;
    if name.is_empty()
        || name.len() > room
        || name.bytes().any(|b| b == 0 || b == b'/' || b.is_ascii_whitespace())
    {
        let why =
            format!("{name:?} is no name for an interface: 1 to {room} bytes without spaces and slashes");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

/// Interfaces of the network namespace in which the value is created.
pub(crate) struct Links(OwnedFd);

impl Links {
    pub(crate) fn open() -> io::Result<Self> {
        // SAFETY: takes numbers; the returned descriptor is new and has no other owner.
        unsafe {
            match libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) {
                fd if fd >= 0 => Ok(Self(OwnedFd::from_raw_fd(fd))),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    fn ask(&self, what: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
        // SAFETY: every request used here takes an `ifreq`, which lives through the call.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), what, &raw mut *request) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub(crate) fn set_mac(&self, name: &str, mac: Mac) -> io::Result<()> {
        let mut request = request(name)?;
        let mut address = libc::sockaddr { sa_family: libc::ARPHRD_ETHER, sa_data: [0; 14] };
        for (to, from) in address.sa_data.iter_mut().zip(mac.0) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_hwaddr = address;
        self.ask(libc::SIOCSIFHWADDR, &mut request)
    }

    pub(crate) fn set_mtu(&self, name: &str, mtu: u16) -> io::Result<()> {
        let mut request = request(name)?;
        request.ifr_ifru.ifru_mtu = mtu.into();
        self.ask(libc::SIOCSIFMTU, &mut request)
    }

    /// Sets the queue length of a device, in packets.
    pub(crate) fn set_queue(&self, name: &str, packets: u16) -> io::Result<()> {
        let mut request = request(name)?;
        // As for the MTU, the kernel reads an integer at the start of the union.
        request.ifr_ifru.ifru_mtu = packets.into();
        self.ask(libc::SIOCSIFTXQLEN, &mut request)
    }

    pub(crate) fn set_up(&self, name: &str) -> io::Result<()> {
        let mut request = request(name)?;
        self.ask(libc::SIOCGIFFLAGS, &mut request)?;
        // SAFETY: the kernel has just filled in this member of the union.
        unsafe { request.ifr_ifru.ifru_flags |= libc::IFF_UP as libc::c_short };
        self.ask(libc::SIOCSIFFLAGS, &mut request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_interface_can_have_are_refused_with_the_reason() {
        for name in ["", "sixteen-letters-", "a/b", "a b"] {
            assert!(request(name).err().unwrap().to_string().contains("1 to 15 bytes"), "{name:?}");
        }
        assert!(request("fifteen-letters").is_ok());
        assert_eq!(Mac([2, 0, 0, 0, 0xab, 1]).to_string(), "02:00:00:00:ab:01");
    }
}
