//! The VI Architecture's provider library for C: VIPL's names over `laxity-vi`. `include/vipl.h` declares what is here.
//!
//! A descriptor stays where its program has it; what is in it is copied into the adapter's queue when it is posted, and what came
//! of it is written into its control segment when it is found to be done.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "a C interface is made of pointers that its caller vouches for")]
#![allow(non_snake_case, non_camel_case_types, reason = "the names are VIPL's")]

mod types;

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use laxity_vi::{
    Access, Arrived, Completion, CompletionQueue, Error, MOST_SEGMENTS, Nic, Refusal, Reliability, Vi,
    ViAttributes, Which,
};

pub use types::{
    VIP_ADDRESS_SEGMENT, VIP_CONTROL_SEGMENT, VIP_DATA_SEGMENT, VIP_DESCRIPTOR, VIP_DESCRIPTOR_SEGMENT,
    VIP_MEM_ATTRIBUTES, VIP_NET_ADDRESS, VIP_QOS, VIP_VI_ATTRIBUTES,
};

/// `VIP_RETURN`.
pub type VIP_RETURN = u32;
const SUCCESS: VIP_RETURN = 0;
const NOT_DONE: VIP_RETURN = Refusal::NotDone as u32;
const INVALID_PARAMETER: VIP_RETURN = Refusal::InvalidParameter as u32;
const DESCRIPTOR_ERROR: VIP_RETURN = 11;
const INFINITE: u32 = u32::MAX;

/// Virtual interfaces by what completion queues call them: the addresses of their handles.
type Known = Arc<Mutex<BTreeMap<u32, usize>>>;

/// What a `VIP_NIC_HANDLE` points to.
#[derive(Debug)]
pub struct VipNic {
    nic: Nic,
    known: Known,
}

/// What a `VIP_VI_HANDLE` points to.
#[derive(Debug)]
pub struct VipVi {
    vi: Vi,
    known: Known,
    /// Descriptors that are posted and not found to be done: to send, to receive.
    posted: [VecDeque<*mut VIP_DESCRIPTOR>; 2],
}

/// What a `VIP_CQ_HANDLE` points to.
#[derive(Debug)]
pub struct VipCq {
    queue: CompletionQueue,
    known: Known,
}

/// What a `VIP_CONN_HANDLE` points to.
#[derive(Debug)]
pub struct VipConn {
    nic: Nic,
    arrived: Arrived,
}

fn code(error: &Error) -> VIP_RETURN {
    match error {
        Error::Refused(refusal) => *refusal as u32,
        Error::System(_) => Refusal::Resource as u32,
    }
}

fn answer(result: Result<(), Error>) -> VIP_RETURN {
    result.map_or_else(|error| code(&error), |()| SUCCESS)
}

/// Gives what was made to the caller.
///
/// # Safety
/// `to` is null or may be written to.
unsafe fn give<T>(made: Result<T, Error>, to: *mut *mut T) -> VIP_RETURN {
    match made {
        Err(error) => code(&error),
        Ok(_) if to.is_null() => INVALID_PARAMETER,
        Ok(made) => {
            // SAFETY: as above.
            unsafe { *to = Box::into_raw(Box::new(made)) };
            SUCCESS
        }
    }
}

fn time(milliseconds: u32) -> Option<Duration> {
    (milliseconds != INFINITE).then(|| Duration::from_millis(milliseconds.into()))
}

/// Declares a function of the library whose first argument is a handle: null is an invalid parameter.
macro_rules! of_handle {
    ($($(#[$doc:meta])* fn $name:ident($handle:ident: $kind:ty $(, $argument:ident: $type:ty)*) $body:block)*) => {
        $($(#[$doc])*
        ///
        /// # Safety
        /// The handle is null or one that this library gave and that is not closed, in use by no other thread; pointers are null or
        /// good for what they point to.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($handle: *mut $kind $(, $argument: $type)*) -> VIP_RETURN {
            // SAFETY: as the caller vouches.
            let Some($handle) = (unsafe { $handle.as_mut() }) else { return INVALID_PARAMETER };
            $body
        })*
    };
}

/// Declares the functions that give a handle back.
macro_rules! closing {
    ($($(#[$doc:meta])* fn $name:ident($kind:ty);)*) => {
        $($(#[$doc])*
        ///
        /// # Safety
        /// The handle is null or one that this library gave; it is not used again.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(handle: *mut $kind) -> VIP_RETURN {
            if handle.is_null() {
                return INVALID_PARAMETER;
            }
            // SAFETY: it was made by `give`, and is given back once.
            drop(unsafe { Box::from_raw(handle) });
            SUCCESS
        })*
    };
}

/// Opens the adapter whose socket is at the path `name`.
///
/// # Safety
/// `name` is null or a string that ends with a zero; `handle` is null or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn VipOpenNic(name: *const c_char, handle: *mut *mut VipNic) -> VIP_RETURN {
    if name.is_null() {
        return INVALID_PARAMETER;
    }
    // SAFETY: as the caller vouches.
    let path = OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes());
    // SAFETY: as the caller vouches.
    unsafe { give(Nic::open(path).map(|nic| VipNic { nic, known: Known::default() }), handle) }
}

closing! {
    /// Closes an adapter; what was made with it goes on until it is given back, too.
    fn VipCloseNic(VipNic);
    /// Gives a completion queue back.
    fn VipDestroyCQ(VipCq);
    /// Gives a virtual interface back.
    fn VipDestroyVi(VipVi);
}

impl Drop for VipVi {
    fn drop(&mut self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.vi.id());
    }
}

of_handle! {
    /// A protection tag.
    fn VipCreatePtag(nic: VipNic, tag: *mut u32) {
        match nic.nic.create_tag() {
            Err(error) => code(&error),
            Ok(_) if tag.is_null() => INVALID_PARAMETER,
            Ok(made) => {
                // SAFETY: as the caller vouches.
                unsafe { *tag = made.number() };
                SUCCESS
            }
        }
    }

    /// A tag is no longer needed.
    fn VipDestroyPtag(nic: VipNic, tag: u32) {
        answer(nic.nic.destroy_tag(laxity_vi::Tag::numbered(tag)))
    }

    /// Registers memory in place: its pages are shared with the adapter from now on, with what is in them.
    fn VipRegisterMem(nic: VipNic, address: *mut c_void, length: u32, attributes: *const VIP_MEM_ATTRIBUTES, handle: *mut u32) {
        // SAFETY: as the caller vouches.
        let (Some(attributes), false) = (unsafe { attributes.as_ref() }, address.is_null() || handle.is_null()) else {
            return INVALID_PARAMETER;
        };
        let access =
            Access { rdma_write: attributes.EnableRdmaWrite != 0, rdma_read: attributes.EnableRdmaRead != 0 };
        let tag = laxity_vi::Tag::numbered(attributes.Ptag);
        // SAFETY: the caller vouches that the memory is its own, and that nobody writes to it meanwhile.
        match unsafe { nic.nic.register_in_place(address.cast(), length as usize, tag, access) } {
            Ok(made) => {
                // SAFETY: as the caller vouches.
                unsafe { *handle = made };
                SUCCESS
            }
            Err(error) => code(&error),
        }
    }

    /// The adapter touches memory no longer. Its pages stay as they are.
    fn VipDeregisterMem(nic: VipNic, _address: *mut c_void, handle: u32) {
        answer(nic.nic.deregister(handle))
    }

    /// A completion queue.
    fn VipCreateCQ(nic: VipNic, entries: u32, handle: *mut *mut VipCq) {
        let made = nic.nic.create_completion_queue(entries);
        // SAFETY: as the caller vouches.
        unsafe { give(made.map(|queue| VipCq { queue, known: nic.known.clone() }), handle) }
    }

    /// A virtual interface, with a bandwidth if its attributes say so.
    fn VipCreateVi(nic: VipNic, attributes: *const VIP_VI_ATTRIBUTES, send: *mut VipCq, receive: *mut VipCq, handle: *mut *mut VipVi) {
        // SAFETY: as the caller vouches.
        let (Some(wanted), send, receive) = (unsafe { (attributes.as_ref(), send.as_ref(), receive.as_ref()) }) else {
            return INVALID_PARAMETER;
        };
        let Some(bandwidth) = wanted.QoS.bandwidth() else { return Refusal::InvalidQos as u32 };
        let reliable = wanted.ReliabilityLevel & 0x2 != 0;
        let made = nic.nic.create_vi(&ViAttributes {
            bandwidth,
            reliability: if reliable { Reliability::Reliable } else { Reliability::Unreliable },
            access: Access { rdma_write: wanted.EnableRdmaWrite != 0, rdma_read: wanted.EnableRdmaRead != 0 },
            send_completions: send.map(|queue| &queue.queue),
            receive_completions: receive.map(|queue| &queue.queue),
            ..ViAttributes::new(laxity_vi::Tag::numbered(wanted.Ptag))
        });
        let made = made.map(|vi| VipVi { vi, known: nic.known.clone(), posted: Default::default() });
        let id = made.as_ref().ok().map(|made| made.vi.id());
        // SAFETY: as the caller vouches.
        let given = unsafe { give(made, handle) };
        if let (Some(id), SUCCESS) = (id, given) {
            // SAFETY: it has just been given.
            let at = unsafe { *handle } as usize;
            nic.known.lock().unwrap_or_else(PoisonError::into_inner).insert(id, at);
        }
        given
    }

    /// The next who wants to be connected here.
    fn VipConnectWait(nic: VipNic, local: *const VIP_NET_ADDRESS, timeout: u32, remote: *mut VIP_NET_ADDRESS, attributes: *mut VIP_VI_ATTRIBUTES, handle: *mut *mut VipConn) {
        // SAFETY: as the caller vouches.
        let (local, remote, attributes) = unsafe { (local.as_ref(), remote.as_mut(), attributes.as_mut()) };
        let Some(local) = local.and_then(VIP_NET_ADDRESS::read) else { return INVALID_PARAMETER };
        let arrived = match nic.nic.wait_connection(local.discriminator, time(timeout)) {
            Ok(arrived) => arrived,
            Err(error) => return code(&error),
        };
        if let Some(remote) = remote {
            *remote = VIP_NET_ADDRESS::of(arrived.from);
        }
        if let Some(attributes) = attributes {
            attributes.QoS = VIP_QOS::of(arrived.bandwidth);
        }
        // SAFETY: as the caller vouches.
        unsafe { give(Ok(VipConn { nic: nic.nic.clone(), arrived }), handle) }
    }

    /// Connects a virtual interface to who waits at an address.
    fn VipConnectRequest(vi: VipVi, _local: *const VIP_NET_ADDRESS, remote: *const VIP_NET_ADDRESS, timeout: u32, _attributes: *mut VIP_VI_ATTRIBUTES) {
        // SAFETY: as the caller vouches.
        let Some(remote) = (unsafe { remote.as_ref() }).and_then(VIP_NET_ADDRESS::read) else { return INVALID_PARAMETER };
        answer(vi.vi.connect(remote, time(timeout)))
    }

    /// Ends a connection.
    fn VipDisconnect(vi: VipVi) {
        answer(vi.vi.disconnect())
    }

    /// Posts a descriptor of something to send.
    fn VipPostSend(vi: VipVi, descriptor: *mut VIP_DESCRIPTOR, _handle: u32) {
        post(vi, Which::Send, descriptor)
    }

    /// Posts a descriptor of room for a message.
    fn VipPostRecv(vi: VipVi, descriptor: *mut VIP_DESCRIPTOR, _handle: u32) {
        post(vi, Which::Receive, descriptor)
    }

    /// The oldest descriptor that was to send, if it is done.
    fn VipSendDone(vi: VipVi, descriptor: *mut *mut VIP_DESCRIPTOR) {
        let done = vi.vi.poll_send();
        finish(vi, Which::Send, done, descriptor)
    }

    /// The oldest descriptor of room for a message, if one has come.
    fn VipRecvDone(vi: VipVi, descriptor: *mut *mut VIP_DESCRIPTOR) {
        let done = vi.vi.poll_receive();
        finish(vi, Which::Receive, done, descriptor)
    }

    /// The same, waited for.
    fn VipSendWait(vi: VipVi, timeout: u32, descriptor: *mut *mut VIP_DESCRIPTOR) {
        match vi.vi.wait_send(time(timeout)) {
            Ok(done) => finish(vi, Which::Send, Some(done), descriptor),
            Err(error) => code(&error),
        }
    }

    /// The same, waited for.
    fn VipRecvWait(vi: VipVi, timeout: u32, descriptor: *mut *mut VIP_DESCRIPTOR) {
        match vi.vi.wait_receive(time(timeout)) {
            Ok(done) => finish(vi, Which::Receive, Some(done), descriptor),
            Err(error) => code(&error),
        }
    }

    /// Whose descriptor is done next.
    fn VipCQDone(queue: VipCq, vi: *mut *mut VipVi, receives: *mut u32) {
        let entry = queue.queue.poll();
        entry.map_or(NOT_DONE, |entry| tell(queue, entry, vi, receives))
    }

    /// The same, waited for.
    fn VipCQWait(queue: VipCq, timeout: u32, vi: *mut *mut VipVi, receives: *mut u32) {
        match queue.queue.wait(time(timeout)) {
            Ok(entry) => tell(queue, entry, vi, receives),
            Err(error) => code(&error),
        }
    }
}

/// Connects a virtual interface to who has called, and gives the call back.
///
/// # Safety
/// As of the other functions; a call that is accepted is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn VipConnectAccept(call: *mut VipConn, vi: *mut VipVi) -> VIP_RETURN {
    // SAFETY: as the caller vouches.
    let (Some(caller), Some(vi)) = (unsafe { (call.as_ref(), vi.as_ref()) }) else {
        return INVALID_PARAMETER;
    };
    let accepted = answer(caller.nic.accept(caller.arrived, &vi.vi));
    if accepted == SUCCESS {
        // SAFETY: it was made by `give`, and is given back once.
        drop(unsafe { Box::from_raw(call) });
    }
    accepted
}

/// Tells who has called that there will be no connection, and gives the call back.
///
/// # Safety
/// As of the other functions; the call is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn VipConnectReject(call: *mut VipConn) -> VIP_RETURN {
    if call.is_null() {
        return INVALID_PARAMETER;
    }
    // SAFETY: it was made by `give`, and is given back once.
    let call = unsafe { Box::from_raw(call) };
    answer(call.nic.reject(call.arrived))
}

fn post(vi: &mut VipVi, which: Which, descriptor: *mut VIP_DESCRIPTOR) -> VIP_RETURN {
    // SAFETY: as the caller vouches, and only until this returns.
    let Some(wanted) = (unsafe { descriptor.as_ref() }) else { return INVALID_PARAMETER };
    let mut segments = [laxity_vi::Segment::default(); MOST_SEGMENTS];
    let Some(read) = wanted.read(&mut segments) else { return INVALID_PARAMETER };
    let posted = match which {
        Which::Send => vi.vi.post_send(&read),
        Which::Receive => vi.vi.post_receive(&read),
    };
    if posted.is_ok() {
        vi.posted[which as usize].push_back(descriptor);
    }
    answer(posted)
}

fn finish(
    vi: &mut VipVi,
    which: Which,
    done: Option<Completion>,
    to: *mut *mut VIP_DESCRIPTOR,
) -> VIP_RETURN {
    let Some(done) = done else { return NOT_DONE };
    let Some(descriptor) = vi.posted[which as usize].pop_front() else { return INVALID_PARAMETER };
    // SAFETY: the caller vouched for it when it was posted, and until it is done.
    unsafe {
        (*descriptor).CS.Status = done.status.0;
        (*descriptor).CS.Length = done.length;
        if let Some(immediate) = done.immediate {
            (*descriptor).CS.ImmediateData = immediate;
        }
        if !to.is_null() {
            *to = descriptor;
        }
    }
    if done.status.is_error() { DESCRIPTOR_ERROR } else { SUCCESS }
}

fn tell(queue: &VipCq, (id, which): (u32, Which), vi: *mut *mut VipVi, receives: *mut u32) -> VIP_RETURN {
    let known = queue.known.lock().unwrap_or_else(PoisonError::into_inner);
    // One that was destroyed in the meantime has nothing to be found.
    let Some(at) = known.get(&id) else { return NOT_DONE };
    if vi.is_null() || receives.is_null() {
        return INVALID_PARAMETER;
    }
    // SAFETY: as the caller vouches.
    unsafe {
        *vi = *at as *mut VipVi;
        *receives = u32::from(which == Which::Receive);
    }
    SUCCESS
}
