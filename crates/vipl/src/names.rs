//! The name service: which adapter a name is of.
//!
//! VIPL leaves to its provider where names come from, and has it told at `VipNSInit`. Here that is the path of a file in the form of `/etc/hosts`
//! with an adapter's number in place of an address: `0 alpha alpha.cluster`, a line each, what is behind `#` left out. Without one adapters are
//! called by their numbers.

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use laxity_vi::Address;

use crate::{INVALID_PARAMETER, SUCCESS, VIP_NET_ADDRESS, VIP_RETURN, VipNic, locked};

/// `VIP_ERROR_NAMESERVICE`.
const NAME_SERVICE: VIP_RETURN = 13;
/// `VIP_INVALID_STATE`: the name service is not begun.
const INVALID_STATE: VIP_RETURN = laxity_vi::Refusal::InvalidState as u32;

/// Names of adapters, in the order of the file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Names(Vec<(u32, String)>);

impl Names {
    fn of(text: &str) -> Option<Self> {
        let mut names = Vec::new();
        for line in text.lines() {
            let mut words = line.split('#').next().unwrap_or("").split_whitespace();
            let Some(host) = words.next() else { continue };
            let host = host.parse().ok()?;
            let before = names.len();
            names.extend(words.map(|name| (host, name.to_string())));
            if names.len() == before {
                return None;
            }
        }
        Some(Self(names))
    }

    fn read(path: &Path) -> Option<Self> {
        Self::of(&std::fs::read_to_string(path).ok()?)
    }

    /// The how-manyth adapter of that name, if it has so many.
    fn host(&self, name: &str, index: usize) -> Option<u32> {
        let mut hosts: Vec<u32> =
            self.0.iter().filter(|(_, other)| other == name).map(|(host, _)| *host).collect();
        hosts.dedup();
        let numbered = || name.parse().ok().filter(|_| self.0.is_empty() && index == 0);
        hosts.get(index).copied().or_else(numbered)
    }

    /// The first name of an adapter.
    fn name(&self, host: u32) -> Option<String> {
        let named = self.0.iter().find(|(other, _)| *other == host).map(|(_, name)| name.clone());
        named.or_else(|| self.0.is_empty().then(|| host.to_string()))
    }
}

of_handle! {
    /// Begins the name service: `information` is the path of a file of names, or null.
    fn VipNSInit(nic: VipNic, information: *mut c_void) {
        let names = match information.is_null() {
            true => Some(Names::default()),
            false => {
                // SAFETY: as the caller vouches, it is a string that ends with a zero.
                let path = unsafe { CStr::from_ptr(information.cast::<c_char>()) };
                Names::read(Path::new(OsStr::from_bytes(path.to_bytes())))
            }
        };
        let Some(names) = names else { return NAME_SERVICE };
        *locked(&nic.names) = Some(names);
        SUCCESS
    }

    /// The address of the adapter `name`, the how-manyth of that name. Its discriminator is the caller's to put behind it.
    fn VipNSGetHostByName(nic: VipNic, name: *const c_char, address: *mut VIP_NET_ADDRESS, index: u32) {
        // SAFETY: as the caller vouches.
        let (Some(address), false) = (unsafe { address.as_mut() }, name.is_null()) else { return INVALID_PARAMETER };
        // SAFETY: as the caller vouches, it is a string that ends with a zero.
        let Ok(name) = (unsafe { CStr::from_ptr(name) }).to_str() else { return NAME_SERVICE };
        let names = locked(&nic.names);
        let Some(names) = names.as_ref() else { return INVALID_STATE };
        let Some(host) = names.host(name, index as usize) else { return NAME_SERVICE };
        let found = VIP_NET_ADDRESS::of(Address { host, discriminator: 0 });
        *address = VIP_NET_ADDRESS { DiscriminatorLen: 0, ..found };
        SUCCESS
    }

    /// The name of the adapter at an address, with a zero behind it, in the `length` bytes at `name`; `length` is then what it takes.
    fn VipNSGetHostByAddr(nic: VipNic, address: *const VIP_NET_ADDRESS, name: *mut c_char, length: *mut u32) {
        // SAFETY: as the caller vouches.
        let (Some(address), Some(length)) = (unsafe { (address.as_ref(), length.as_mut()) }) else {
            return INVALID_PARAMETER;
        };
        let Some(address) = address.read() else { return INVALID_PARAMETER };
        let names = locked(&nic.names);
        let Some(names) = names.as_ref() else { return INVALID_STATE };
        let Some(found) = names.name(address.host) else { return NAME_SERVICE };
        let room = std::mem::replace(length, found.len() as u32 + 1);
        if name.is_null() || room < *length {
            return laxity_vi::Refusal::Resource as u32;
        }
        // SAFETY: as the caller vouches, there is so much room.
        unsafe {
            std::ptr::copy_nonoverlapping(found.as_ptr(), name.cast::<u8>(), found.len());
            *name.add(found.len()) = 0;
        }
        SUCCESS
    }

    /// Ends the name service.
    fn VipNSShutdown(nic: VipNic) {
        locked(&nic.names).take().map_or(INVALID_STATE, |_| SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_hosts_are() {
        let names = Names::of("# the cluster\n0 alpha a\n\n1 beta # the other\n2 alpha\n").unwrap();
        assert_eq!(
            ["alpha", "a", "beta", "gamma"].map(|name| names.host(name, 0)),
            [Some(0), Some(0), Some(1), None]
        );
        assert_eq!((names.host("alpha", 1), names.host("alpha", 2)), (Some(2), None));
        assert_eq!(
            (names.name(1), names.name(2), names.name(3)),
            (Some("beta".into()), Some("alpha".into()), None)
        );
        assert_eq!(names.host("1", 0), None, "who has names is not called by its number");
        assert_eq!((Names::of("alpha 0"), Names::of("7")), (None, None));
    }

    #[test]
    fn without_names_adapters_are_called_by_their_numbers() {
        let names = Names::default();
        assert_eq!((names.host("12", 0), names.host("12", 1), names.host("x", 0)), (Some(12), None, None));
        assert_eq!(names.name(12), Some("12".into()));
    }
}
