//! What C programs and the library hand to each other, laid out as `include/vipl.h` has it.

#![allow(non_camel_case_types, missing_docs, reason = "the names are VIPL's, and its manual is theirs")]

use std::ffi::c_char;

use laxity_vi::{Address, Bandwidth, Descriptor, MOST_SEGMENTS, Operation, Remote, Segment};

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct VIP_CONTROL_SEGMENT {
    pub Next: u64,
    pub NextHandle: u32,
    pub SegCount: u16,
    pub Control: u16,
    pub Reserved: u32,
    pub ImmediateData: u32,
    pub Length: u32,
    pub Status: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct VIP_ADDRESS_SEGMENT {
    pub Data: u64,
    pub Handle: u32,
    pub Reserved: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct VIP_DATA_SEGMENT {
    pub Data: u64,
    pub Handle: u32,
    pub Length: u32,
}

/// The header's union of an address and a data segment, which differ in the name of the last word.
pub type VIP_DESCRIPTOR_SEGMENT = VIP_DATA_SEGMENT;

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VIP_DESCRIPTOR {
    pub CS: VIP_CONTROL_SEGMENT,
    pub DS: [VIP_DESCRIPTOR_SEGMENT; MOST_SEGMENTS + 1],
}

const _: () = assert!(size_of::<VIP_CONTROL_SEGMENT>() == 32 && size_of::<VIP_DESCRIPTOR>() == 32 + 14 * 16);

impl VIP_DESCRIPTOR {
    /// What it says, with its segments in `segments`; `None` if that is no descriptor.
    pub(crate) fn read<'a>(&self, segments: &'a mut [Segment; MOST_SEGMENTS]) -> Option<Descriptor<'a>> {
        let all = self.DS.get(..usize::from(self.CS.SegCount))?;
        let first = || all.first().map(|there| Remote { address: there.Data, handle: there.Handle });
        let (operation, local) = match self.CS.Control & 0x3 {
            0 => (Operation::Message, all),
            1 => (Operation::RdmaWrite(first()?), &all[1..]),
            2 => (Operation::RdmaRead(first()?), &all[1..]),
            _ => return None,
        };
        let segments = segments.get_mut(..local.len())?;
        for (to, from) in segments.iter_mut().zip(local) {
            *to = Segment { address: from.Data, handle: from.Handle, length: from.Length };
        }
        let immediate = (self.CS.Control & 0x4 != 0).then_some(self.CS.ImmediateData);
        Some(Descriptor { operation, segments, immediate })
    }
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct VIP_NET_ADDRESS {
    pub HostAddressLen: u16,
    pub DiscriminatorLen: u16,
    pub HostAddress: [u8; 12],
}

impl VIP_NET_ADDRESS {
    pub(crate) fn read(&self) -> Option<Address> {
        let length = usize::from(self.DiscriminatorLen);
        if self.HostAddressLen != 4 || length > 8 {
            return None;
        }
        let (host, rest) = self.HostAddress.split_at(4);
        let mut discriminator = [0; 8];
        discriminator[..length].copy_from_slice(&rest[..length]);
        Some(Address {
            host: u32::from_ne_bytes(host.try_into().ok()?),
            discriminator: u64::from_le_bytes(discriminator),
        })
    }

    pub(crate) fn of(address: Address) -> Self {
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&address.host.to_ne_bytes());
        bytes[4..].copy_from_slice(&address.discriminator.to_le_bytes());
        Self { HostAddressLen: 4, DiscriminatorLen: 8, HostAddress: bytes }
    }
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct VIP_QOS {
    pub Kind: u32,
    pub MessageSize: u32,
    pub BytesPerSecond: u64,
}

impl VIP_QOS {
    pub(crate) fn bandwidth(&self) -> Option<Bandwidth> {
        let (bytes_per_second, message) = (self.BytesPerSecond, u64::from(self.MessageSize));
        match self.Kind {
            0 => Some(Bandwidth::None),
            1 => Some(Bandwidth::Constant { bytes_per_second, message }),
            2 => Some(Bandwidth::Variable { bytes_per_second, message }),
            _ => None,
        }
    }

    pub(crate) fn of(bandwidth: Bandwidth) -> Self {
        let Kind = match bandwidth {
            Bandwidth::None => 0,
            Bandwidth::Constant { .. } => 1,
            Bandwidth::Variable { .. } => 2,
        };
        let (BytesPerSecond, message) = bandwidth.reserved().unwrap_or_default();
        // None is larger than a descriptor can move.
        Self { Kind, MessageSize: message as u32, BytesPerSecond }
    }
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct VIP_VI_ATTRIBUTES {
    pub ReliabilityLevel: u32,
    pub Ptag: u32,
    pub EnableRdmaWrite: u32,
    pub EnableRdmaRead: u32,
    pub QoS: VIP_QOS,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct VIP_MEM_ATTRIBUTES {
    pub Ptag: u32,
    pub EnableRdmaWrite: u32,
    pub EnableRdmaRead: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VIP_AUTODISCOVERY_LIST {
    pub NumberOfHops: u32,
    pub ADAddrArray: *mut VIP_NET_ADDRESS,
    pub NumAdAddrs: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VIP_NIC_ATTRIBUTES {
    pub Name: [c_char; 64],
    pub HardwareVersion: u32,
    pub ProviderVersion: u32,
    pub NicAddressLen: u16,
    pub LocalNicAddress: *const u8,
    pub ThreadSafe: u32,
    pub MaxDiscriminatorLen: u16,
    pub MaxRegisterBytes: u32,
    pub MaxRegisterRegions: u32,
    pub MaxRegisterBlockBytes: u32,
    pub MaxVI: u32,
    pub MaxDescriptorsPerQueue: u32,
    pub MaxSegmentsPerDesc: u32,
    pub MaxCQ: u32,
    pub MaxCQEntries: u32,
    pub MaxTransferSize: u32,
    pub NativeMTU: u32,
    pub MaxPtags: u32,
    pub ReliabilityLevelSupport: u16,
    pub RDMAReadSupport: u16,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_as_they_were_given() {
        let address = Address { host: 7, discriminator: 1 << 40 | 9 };
        assert_eq!(VIP_NET_ADDRESS::of(address).read(), Some(address));
        let short = VIP_NET_ADDRESS { DiscriminatorLen: 1, ..VIP_NET_ADDRESS::of(address) };
        assert_eq!(short.read(), Some(Address { host: 7, discriminator: 9 }));
        assert_eq!(VIP_NET_ADDRESS { HostAddressLen: 6, ..short }.read(), None);
        assert_eq!(VIP_NET_ADDRESS { DiscriminatorLen: 9, ..short }.read(), None);
    }

    #[test]
    fn a_descriptor_for_rdma_has_its_address_first() {
        let piece = |Data| VIP_DATA_SEGMENT { Data, Handle: 3, Length: 5 };
        let CS = VIP_CONTROL_SEGMENT { SegCount: 2, Control: 1 | 4, ImmediateData: 8, ..Default::default() };
        let mut DS = [VIP_DATA_SEGMENT::default(); MOST_SEGMENTS + 1];
        (DS[0], DS[1]) = (piece(100), piece(200));
        let mut segments = [Segment::default(); MOST_SEGMENTS];
        let read = VIP_DESCRIPTOR { CS, DS }.read(&mut segments).unwrap();
        assert_eq!(read.operation, Operation::RdmaWrite(Remote { address: 100, handle: 3 }));
        assert_eq!(
            (read.segments, read.immediate),
            (&[Segment { address: 200, handle: 3, length: 5 }][..], Some(8))
        );
        for (count, control) in [(0, 1), (15, 0), (14, 0), (1, 3)] {
            let CS = VIP_CONTROL_SEGMENT { SegCount: count, Control: control, ..CS };
            assert!(VIP_DESCRIPTOR { CS, DS }.read(&mut segments).is_none(), "{count} of {control}");
        }
    }
}
