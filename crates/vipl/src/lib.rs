//! The VI Architecture's provider library for C: VIPL's names over `laxity-vi`. `include/vipl.h` declares what is here.
//!
//! A descriptor stays where its program has it; what is in it is copied into the adapter's queue when it is posted, and what came
//! of it is written into its control segment when it is found to be done.
//!
//! What is told later ([`notify`]) is told on threads of the library, so a handle may be used by several at once: what it points to is
//! behind a lock, which nobody holds who sleeps.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "a C interface is made of pointers that its caller vouches for")]
#![allow(non_snake_case, non_camel_case_types, reason = "the names are VIPL's")]

#[macro_use]
mod handles;
mod connect;
mod names;
mod notify;
mod query;
mod types;

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use laxity_vi::{
    Completion, CompletionQueue, Error, MOST_SEGMENTS, Nic, Refusal, Sleeper, Vi, ViAttributes, Which,
};

pub use connect::{
    VipConn, VipConnectAccept, VipConnectPeerDone, VipConnectPeerRequest, VipConnectPeerWait,
    VipConnectReject, VipConnectRequest, VipConnectWait, VipDisconnect,
};
pub use names::{VipNSGetHostByAddr, VipNSGetHostByName, VipNSInit, VipNSShutdown};
pub use notify::{
    OfDescriptor, OfEntry, OfError, VIP_ERROR_DESCRIPTOR, VipCQNotify, VipErrorCallback, VipRecvNotify,
    VipSendNotify,
};
pub use query::{
    VipQueryMem, VipQueryNic, VipQuerySystemManagementInfo, VipQueryVi, VipResizeCQ, VipSetMemAttributes,
    VipSetViAttributes,
};
pub use types::{
    VIP_ADDRESS_SEGMENT, VIP_AUTODISCOVERY_LIST, VIP_CONTROL_SEGMENT, VIP_DATA_SEGMENT, VIP_DESCRIPTOR,
    VIP_DESCRIPTOR_SEGMENT, VIP_MEM_ATTRIBUTES, VIP_NET_ADDRESS, VIP_NIC_ATTRIBUTES, VIP_QOS,
    VIP_VI_ATTRIBUTES,
};

/// `VIP_RETURN`.
pub type VIP_RETURN = u32;
const SUCCESS: VIP_RETURN = 0;
const NOT_DONE: VIP_RETURN = Refusal::NotDone as u32;
const INVALID_PARAMETER: VIP_RETURN = Refusal::InvalidParameter as u32;
const DESCRIPTOR_ERROR: VIP_RETURN = 11;
const INFINITE: u32 = u32::MAX;

/// Virtual interfaces by what completion queues call them.
type Known = Arc<Mutex<BTreeMap<u32, Weak<VipVi>>>>;

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a `VIP_NIC_HANDLE` points to.
#[derive(Debug)]
pub struct VipNic {
    nic: Nic,
    known: Known,
    /// Who is told of errors.
    errors: Arc<Mutex<Option<notify::OfErrors>>>,
    names: Mutex<Option<names::Names>>,
    /// What is registered: where it lies, and who may touch it.
    memory: Mutex<BTreeMap<u32, (usize, VIP_MEM_ATTRIBUTES)>>,
    /// Its own.
    address: [u8; 4],
}

/// What a `VIP_VI_HANDLE` points to.
#[derive(Debug)]
pub struct VipVi {
    /// Nothing once it is destroyed.
    at: Mutex<Option<Posting>>,
    sleepers: [Sleeper; 2],
    id: u32,
    known: Known,
    /// The handle of its adapter.
    nic: usize,
    attributes: Mutex<VIP_VI_ATTRIBUTES>,
    /// When it is given up to be connected with a peer, if ever; nothing where none is asked for.
    peer: Mutex<Option<Option<Instant>>>,
}

/// A virtual interface, and the descriptors that are posted there and not found to be done: to send, to receive.
#[derive(Debug)]
struct Posting {
    vi: Vi,
    posted: [VecDeque<usize>; 2],
}

/// What a `VIP_CQ_HANDLE` points to.
#[derive(Debug)]
pub struct VipCq {
    /// Nothing once it is destroyed.
    queue: Mutex<Option<CompletionQueue>>,
    sleeper: Sleeper,
    known: Known,
    /// The handle of its adapter.
    nic: usize,
}

fn code(error: &Error) -> VIP_RETURN {
    match error {
        Error::Refused(refusal) => *refusal as u32,
        Error::Lost | Error::System(_) => Refusal::Resource as u32,
    }
}

fn answer(result: Result<(), Error>) -> VIP_RETURN {
    result.map_or_else(|error| code(&error), |()| SUCCESS)
}

/// Gives what was made to the caller.
///
/// # Safety
/// `to` is null or may be written to.
unsafe fn give<T>(made: Result<Arc<T>, Error>, to: *mut *mut T) -> VIP_RETURN {
    match made {
        Err(error) => code(&error),
        Ok(_) if to.is_null() => INVALID_PARAMETER,
        Ok(made) => {
            // SAFETY: as above.
            unsafe { *to = Arc::into_raw(made).cast_mut() };
            SUCCESS
        }
    }
}

/// What is behind a handle, for longer than a call.
///
/// # Safety
/// The handle was made by [`give`], and is not given back.
unsafe fn held<T>(handle: &T) -> Arc<T> {
    // SAFETY: as above; the count that this takes it gives back.
    unsafe {
        Arc::increment_strong_count(handle);
        Arc::from_raw(handle)
    }
}

/// Looks until there is something, or `most` has passed, and sleeps in between.
#[allow(clippy::disallowed_methods, reason = "a program that waits so long waits by its machine's clock")]
fn wait_for<T>(
    sleeper: &Sleeper,
    most: Option<Duration>,
    mut look: impl FnMut() -> Option<T>,
) -> Result<T, Error> {
    let end = most.and_then(|most| Instant::now().checked_add(most));
    loop {
        let seen = sleeper.count();
        if let Some(found) = look() {
            return Ok(found);
        }
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(Refusal::Timeout.into());
        }
        sleeper.sleep(seen, left);
    }
}

fn time(milliseconds: u32) -> Option<Duration> {
    (milliseconds != INFINITE).then(|| Duration::from_millis(milliseconds.into()))
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
    unsafe { give(Nic::open(path).map(|nic| Arc::new(VipNic::of(nic))), handle) }
}

closing! {
    /// Closes an adapter; what was made with it goes on until it is given back, too.
    fn VipCloseNic(VipNic);
    /// Gives a completion queue back.
    fn VipDestroyCQ(VipCq);
    /// Gives a virtual interface back.
    fn VipDestroyVi(VipVi);
}

impl VipNic {
    fn of(nic: Nic) -> Self {
        let address = nic.attributes().host.to_ne_bytes();
        let (errors, names, memory) = (Arc::default(), Mutex::default(), Mutex::default());
        Self { nic, known: Known::default(), errors, names, memory, address }
    }

    fn close(&self) {
        *locked(&self.errors) = None;
    }
}

impl VipCq {
    fn close(&self) {
        *locked(&self.queue) = None;
    }
}

impl VipVi {
    fn close(&self) {
        locked(&self.known).remove(&self.id);
        *locked(&self.at) = None;
    }

    fn with(&self, act: impl FnOnce(&mut Vi) -> VIP_RETURN) -> VIP_RETURN {
        locked(&self.at).as_mut().map_or(INVALID_PARAMETER, |at| act(&mut at.vi))
    }

    /// The oldest descriptor of a queue, if it is done; or what is wrong with asking for it.
    fn done(&self, which: Which) -> Option<Result<*mut VIP_DESCRIPTOR, VIP_RETURN>> {
        let mut at = locked(&self.at);
        let Some(at) = at.as_mut() else { return Some(Err(INVALID_PARAMETER)) };
        let done = match which {
            Which::Send => at.vi.poll_send(),
            Which::Receive => at.vi.poll_receive(),
        };
        done.map(|done| at.finish(which, done))
    }
}

impl Posting {
    /// What came of a descriptor is written into it.
    fn finish(&mut self, which: Which, done: Completion) -> Result<*mut VIP_DESCRIPTOR, VIP_RETURN> {
        let descriptor = self.posted[which as usize].pop_front().ok_or(INVALID_PARAMETER)?;
        let descriptor = descriptor as *mut VIP_DESCRIPTOR;
        // SAFETY: the caller vouched for it when it was posted, and until it is done.
        unsafe {
            (*descriptor).CS.Status = done.status.0;
            (*descriptor).CS.Length = done.length;
            if let Some(immediate) = done.immediate {
                (*descriptor).CS.ImmediateData = immediate;
            }
        }
        Ok(descriptor)
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
        let access = attributes.access();
        let tag = laxity_vi::Tag::numbered(attributes.Ptag);
        // SAFETY: the caller vouches that the memory is its own, and that nobody writes to it meanwhile.
        match unsafe { nic.nic.register_in_place(address.cast(), length as usize, tag, access) } {
            Ok(made) => {
                // SAFETY: as the caller vouches.
                unsafe { *handle = made };
                locked(&nic.memory).insert(made, (address as usize, *attributes));
                SUCCESS
            }
            Err(error) => code(&error),
        }
    }

    /// The adapter touches memory no longer. Its pages stay as they are.
    fn VipDeregisterMem(nic: VipNic, _address: *mut c_void, handle: u32) {
        locked(&nic.memory).remove(&handle);
        answer(nic.nic.deregister(handle))
    }

    /// A completion queue.
    fn VipCreateCQ(nic: VipNic, entries: u32, handle: *mut *mut VipCq) {
        let made = nic.nic.create_completion_queue(entries).map(|queue| {
            let (sleeper, known) = (queue.sleeper(), nic.known.clone());
            Arc::new(VipCq { queue: Mutex::new(Some(queue)), sleeper, known, nic: std::ptr::from_ref(nic) as usize })
        });
        // SAFETY: as the caller vouches.
        unsafe { give(made, handle) }
    }

    /// A virtual interface, with a bandwidth if its attributes say so.
    fn VipCreateVi(nic: VipNic, attributes: *const VIP_VI_ATTRIBUTES, send: *mut VipCq, receive: *mut VipCq, handle: *mut *mut VipVi) {
        // SAFETY: as the caller vouches.
        let (Some(wanted), send, receive) = (unsafe { (attributes.as_ref(), send.as_ref(), receive.as_ref()) }) else {
            return INVALID_PARAMETER;
        };
        let Some(read) = wanted.read() else { return Refusal::InvalidQos as u32 };
        let held = [send, receive.filter(|queue| send.is_none_or(|send| !std::ptr::eq(*queue, send)))];
        let held = held.map(|queue| queue.map(|queue| locked(&queue.queue)));
        // One for both is locked once.
        let places = [0, usize::from(held[1].is_some())];
        let queue = |which: usize, asked: bool| held[places[which]].as_ref().filter(|_| asked).and_then(|queue| queue.as_ref());
        let made = nic.nic.create_vi(&ViAttributes {
            send_completions: queue(0, send.is_some()),
            receive_completions: queue(1, receive.is_some()),
            ..read
        });
        let made = made.map(|vi| {
            let (id, sleepers) = (vi.id(), [Which::Send, Which::Receive].map(|which| vi.sleeper(which)));
            let at = Mutex::new(Some(Posting { vi, posted: Default::default() }));
            let (attributes, peer) = (Mutex::new(*wanted), Mutex::default());
            let (known, nic_handle) = (nic.known.clone(), std::ptr::from_ref(nic) as usize);
            let made = Arc::new(VipVi { at, sleepers, id, known, nic: nic_handle, attributes, peer });
            if !handle.is_null() {
                locked(&nic.known).insert(id, Arc::downgrade(&made));
            }
            made
        });
        // SAFETY: as the caller vouches.
        unsafe { give(made, handle) }
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
        found(vi.done(Which::Send), descriptor)
    }

    /// The oldest descriptor of room for a message, if one has come.
    fn VipRecvDone(vi: VipVi, descriptor: *mut *mut VIP_DESCRIPTOR) {
        found(vi.done(Which::Receive), descriptor)
    }

    /// The same, waited for.
    fn VipSendWait(vi: VipVi, timeout: u32, descriptor: *mut *mut VIP_DESCRIPTOR) {
        awaited(vi, Which::Send, timeout, descriptor)
    }

    /// The same, waited for.
    fn VipRecvWait(vi: VipVi, timeout: u32, descriptor: *mut *mut VIP_DESCRIPTOR) {
        awaited(vi, Which::Receive, timeout, descriptor)
    }

    /// Whose descriptor is done next.
    fn VipCQDone(queue: VipCq, vi: *mut *mut VipVi, receives: *mut u32) {
        match queue.next() {
            Ok(Some(entry)) => tell(queue, entry, vi, receives),
            Ok(None) => NOT_DONE,
            Err(error) => error,
        }
    }

    /// The same, waited for.
    fn VipCQWait(queue: VipCq, timeout: u32, vi: *mut *mut VipVi, receives: *mut u32) {
        match wait_for(&queue.sleeper, time(timeout), || queue.next_or_lost().transpose()) {
            Ok(Ok(entry)) => tell(queue, entry, vi, receives),
            Ok(Err(error)) => error,
            Err(error) => code(&error),
        }
    }
}

impl VipCq {
    /// The next entry, if there is one.
    fn next(&self) -> Result<Option<(u32, Which)>, VIP_RETURN> {
        locked(&self.queue).as_mut().map(CompletionQueue::poll).ok_or(INVALID_PARAMETER)
    }

    /// The same for who waits: without a provider there will be none.
    fn next_or_lost(&self) -> Result<Option<(u32, Which)>, VIP_RETURN> {
        match self.next() {
            Ok(None) if self.sleeper.is_lost() => Err(code(&Error::Lost)),
            other => other,
        }
    }
}

/// Gives the caller a descriptor that is done.
fn found(done: Option<Result<*mut VIP_DESCRIPTOR, VIP_RETURN>>, to: *mut *mut VIP_DESCRIPTOR) -> VIP_RETURN {
    match done {
        None => NOT_DONE,
        Some(Err(error)) => error,
        Some(Ok(descriptor)) => {
            // SAFETY: the caller vouches for `to`, and vouched for the descriptor when it was posted.
            let status = unsafe {
                if !to.is_null() {
                    *to = descriptor;
                }
                laxity_vi::Status((*descriptor).CS.Status)
            };
            if status.is_error() { DESCRIPTOR_ERROR } else { SUCCESS }
        }
    }
}

fn awaited(vi: &VipVi, which: Which, timeout: u32, to: *mut *mut VIP_DESCRIPTOR) -> VIP_RETURN {
    let posted = || locked(&vi.at).as_ref().is_some_and(|at| !at.posted[which as usize].is_empty());
    if !posted() {
        return Refusal::InvalidState as u32;
    }
    match wait_for(&vi.sleepers[which as usize], time(timeout), || vi.done(which)) {
        Ok(done) => found(Some(done), to),
        Err(error) => code(&error),
    }
}

fn post(vi: &VipVi, which: Which, descriptor: *mut VIP_DESCRIPTOR) -> VIP_RETURN {
    // SAFETY: as the caller vouches, and only until this returns.
    let Some(wanted) = (unsafe { descriptor.as_ref() }) else { return INVALID_PARAMETER };
    let mut segments = [laxity_vi::Segment::default(); MOST_SEGMENTS];
    let Some(read) = wanted.read(&mut segments) else { return INVALID_PARAMETER };
    let mut at = locked(&vi.at);
    let Some(at) = at.as_mut() else { return INVALID_PARAMETER };
    // It is known before it can be done.
    at.posted[which as usize].push_back(descriptor as usize);
    let posted = match which {
        Which::Send => at.vi.post_send(&read),
        Which::Receive => at.vi.post_receive(&read),
    };
    if posted.is_err() {
        at.posted[which as usize].pop_back();
    }
    answer(posted)
}

fn tell(queue: &VipCq, (id, which): (u32, Which), vi: *mut *mut VipVi, receives: *mut u32) -> VIP_RETURN {
    // One that was destroyed in the meantime has nothing to be found.
    let Some(at) = queue.of(id) else { return NOT_DONE };
    if vi.is_null() || receives.is_null() {
        return INVALID_PARAMETER;
    }
    // SAFETY: as the caller vouches.
    unsafe {
        *vi = at;
        *receives = u32::from(which == Which::Receive);
    }
    SUCCESS
}

impl VipCq {
    /// The handle of the virtual interface that is called so.
    fn of(&self, id: u32) -> Option<*mut VipVi> {
        let known = locked(&self.known);
        let vi = known.get(&id)?.upgrade()?;
        Some(Arc::as_ptr(&vi).cast_mut())
    }
}
