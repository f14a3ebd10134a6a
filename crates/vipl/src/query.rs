//! What handles are asked, and what can be changed of them.

use std::ffi::{c_char, c_void};

use laxity_vi::{Access, Address, MOST_ENTRIES, MOST_SEGMENTS, Reliability, State, Tag, ViAttributes};

use crate::{
    INVALID_PARAMETER, Refusal, SUCCESS, VIP_AUTODISCOVERY_LIST, VIP_MEM_ATTRIBUTES, VIP_NET_ADDRESS,
    VIP_NIC_ATTRIBUTES, VIP_VI_ATTRIBUTES, VipCq, VipNic, VipVi, answer, locked,
};

/// Discriminators are of so many bytes.
const DISCRIMINATOR: u16 = 8;
/// `VIP_SMI_AUTODISCOVERY`.
const AUTODISCOVERY: u32 = 1;
/// What adapters are called, all of them.
const NAME: &[u8] = b"laxity";

impl VIP_MEM_ATTRIBUTES {
    pub(crate) fn access(&self) -> Access {
        Access { rdma_write: self.EnableRdmaWrite != 0, rdma_read: self.EnableRdmaRead != 0 }
    }
}

impl VIP_VI_ATTRIBUTES {
    /// What they say of a virtual interface without completion queues; none if their bandwidth is none.
    pub(crate) fn read(&self) -> Option<ViAttributes<'static>> {
        let reliable = self.ReliabilityLevel & 0x2 != 0;
        Some(ViAttributes {
            bandwidth: self.QoS.bandwidth()?,
            reliability: if reliable { Reliability::Reliable } else { Reliability::Unreliable },
            access: Access { rdma_write: self.EnableRdmaWrite != 0, rdma_read: self.EnableRdmaRead != 0 },
            ..ViAttributes::new(Tag::numbered(self.Ptag))
        })
    }
}

of_handle! {
    /// What the adapter has.
    fn VipQueryNic(nic: VipNic, attributes: *mut VIP_NIC_ATTRIBUTES) {
        // SAFETY: as the caller vouches.
        let Some(attributes) = (unsafe { attributes.as_mut() }) else { return INVALID_PARAMETER };
        let has = nic.nic.attributes();
        let mut Name = [0; 64];
        Name.iter_mut().zip(NAME).for_each(|(to, from)| *to = *from as c_char);
        let bytes = u32::try_from(has.registered_bytes).unwrap_or(u32::MAX);
        *attributes = VIP_NIC_ATTRIBUTES {
            Name,
            HardwareVersion: 1,
            ProviderVersion: 1,
            NicAddressLen: 4,
            // It lies as long as the handle is open.
            LocalNicAddress: nic.address.as_ptr(),
            ThreadSafe: 1,
            MaxDiscriminatorLen: DISCRIMINATOR,
            MaxRegisterBytes: bytes,
            MaxRegisterRegions: has.registrations,
            MaxRegisterBlockBytes: bytes,
            MaxVI: has.virtual_interfaces,
            MaxDescriptorsPerQueue: has.depth,
            MaxSegmentsPerDesc: MOST_SEGMENTS as u32,
            MaxCQ: has.completion_queues,
            MaxCQEntries: MOST_ENTRIES,
            MaxTransferSize: has.longest as u32,
            NativeMTU: has.longest as u32,
            MaxPtags: has.tags,
            ReliabilityLevelSupport: 0x3,
            RDMAReadSupport: 0x3,
        };
        SUCCESS
    }

    /// What there is around the adapter: for [`AUTODISCOVERY`] the addresses of the others, as many as there is room for. If there is room for fewer than there are, the
    /// count says how many and the answer is an error.
    fn VipQuerySystemManagementInfo(nic: VipNic, kind: u32, information: *mut c_void) {
        if kind != AUTODISCOVERY {
            return INVALID_PARAMETER;
        }
        // SAFETY: as the caller vouches, it is of that kind.
        let Some(list) = (unsafe { information.cast::<VIP_AUTODISCOVERY_LIST>().as_mut() }) else { return INVALID_PARAMETER };
        let has = nic.nic.attributes();
        // A switch is between all of them.
        let near = |host: &u32| *host != has.host && list.NumberOfHops > 0;
        let others: Vec<u32> = (0..has.hosts).filter(near).collect();
        let room = std::mem::replace(&mut list.NumAdAddrs, others.len() as u32) as usize;
        if room < others.len() || (list.ADAddrArray.is_null() && !others.is_empty()) {
            return Refusal::Resource as u32;
        }
        for (place, host) in others.into_iter().enumerate() {
            let found = VIP_NET_ADDRESS::of(Address { host, discriminator: 0 });
            // SAFETY: as the caller vouches, there is room for so many.
            unsafe { list.ADAddrArray.add(place).write(VIP_NET_ADDRESS { DiscriminatorLen: 0, ..found }) };
        }
        SUCCESS
    }

    /// What memory of that handle was registered with, or set to since.
    fn VipQueryMem(nic: VipNic, address: *mut c_void, handle: u32, attributes: *mut VIP_MEM_ATTRIBUTES) {
        // SAFETY: as the caller vouches.
        let Some(attributes) = (unsafe { attributes.as_mut() }) else { return INVALID_PARAMETER };
        match locked(&nic.memory).get(&handle) {
            Some((at, known)) if *at == address as usize => {
                *attributes = *known;
                SUCCESS
            }
            _ => INVALID_PARAMETER,
        }
    }

    /// Memory of that handle is to be touched otherwise.
    fn VipSetMemAttributes(nic: VipNic, address: *mut c_void, handle: u32, attributes: *const VIP_MEM_ATTRIBUTES) {
        // SAFETY: as the caller vouches.
        let Some(attributes) = (unsafe { attributes.as_ref() }) else { return INVALID_PARAMETER };
        let mut memory = locked(&nic.memory);
        let Some((_, known)) = memory.get_mut(&handle).filter(|(at, _)| *at == address as usize) else {
            return INVALID_PARAMETER;
        };
        let set = answer(nic.nic.set_memory(handle, Tag::numbered(attributes.Ptag), attributes.access()));
        if set == SUCCESS {
            *known = *attributes;
        }
        set
    }

    /// What a virtual interface is at, what it is, and whether nothing is posted to send and to receive.
    fn VipQueryVi(vi: VipVi, state: *mut u32, attributes: *mut VIP_VI_ATTRIBUTES, sends_empty: *mut u32, receives_empty: *mut u32) {
        let known = *locked(&vi.attributes);
        vi.with(|vi| {
            let (sends, receives) = vi.outstanding();
            let now = match vi.state() {
                State::Idle => 0,
                State::Connected => 1,
                State::Pending => 2,
                State::Error => 3,
            };
            // SAFETY: as the caller vouches.
            unsafe {
                let values = [(state, now), (sends_empty, u32::from(sends == 0)), (receives_empty, u32::from(receives == 0))];
                values.into_iter().filter(|(to, _)| !to.is_null()).for_each(|(to, value)| *to = value);
                if let Some(attributes) = attributes.as_mut() {
                    *attributes = known;
                }
            }
            SUCCESS
        })
    }

    /// Makes a virtual interface another while it is idle.
    fn VipSetViAttributes(vi: VipVi, attributes: *const VIP_VI_ATTRIBUTES) {
        // SAFETY: as the caller vouches.
        let Some(wanted) = (unsafe { attributes.as_ref() }) else { return INVALID_PARAMETER };
        let Some(read) = wanted.read() else { return Refusal::InvalidQos as u32 };
        let set = vi.with(|vi| answer(vi.set(&read)));
        if set == SUCCESS {
            *locked(&vi.attributes) = *wanted;
        }
        set
    }

    /// Gives a completion queue room for so many entries, with what is in it.
    fn VipResizeCQ(queue: VipCq, entries: u32) {
        locked(&queue.queue).as_mut().map_or(INVALID_PARAMETER, |queue| answer(queue.resize(entries)))
    }
}
