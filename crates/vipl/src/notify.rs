//! What is told later: a descriptor that is done, an entry of a completion queue, an error that belongs to no call.
//!
//! VIPL calls handlers asynchronously. Here each notification that is asked for has a thread of the library until it is given, which sleeps as
//! a program does that waits; several for one queue are given each once, in no order. Errors are found by a thread of the adapter that
//! looks fifty times a second: they are none of the data path.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use laxity_vi::{Error, Fault, Sleeper, State, Which};

use crate::{
    INVALID_PARAMETER, SUCCESS, VIP_DESCRIPTOR, VIP_RETURN, VipCq, VipNic, VipVi, held, locked, wait_for,
};

/// How often errors are looked for.
const LOOK: Duration = Duration::from_millis(20);

/// Takes a descriptor that is done.
pub type OfDescriptor = unsafe extern "C" fn(*mut c_void, *mut VipNic, *mut VipVi, *mut VIP_DESCRIPTOR);
/// Takes an entry of a completion queue.
pub type OfEntry = unsafe extern "C" fn(*mut c_void, *mut VipNic, *mut VipVi, u32);
/// Takes an error.
pub type OfError = unsafe extern "C" fn(*mut c_void, *const VIP_ERROR_DESCRIPTOR);

/// What is wrong, with what.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VIP_ERROR_DESCRIPTOR {
    /// The adapter.
    pub NicHandle: *mut VipNic,
    /// The virtual interface, or null.
    pub ViHandle: *mut VipVi,
    /// The completion queue, or null.
    pub CQHandle: *mut VipCq,
    /// The descriptor, or null.
    pub DescriptorPtr: *mut VIP_DESCRIPTOR,
    /// Of the descriptor: nothing is said of it here.
    pub OpCode: u32,
    /// What is concerned: an adapter (0) or a virtual interface (1).
    pub ResourceCode: u32,
    /// What is wrong: the number of a [`Fault`].
    pub ErrorCode: u32,
}

/// Who is told of errors, and what was told.
#[derive(Debug)]
pub(crate) struct OfErrors {
    context: usize,
    handler: OfError,
    /// Virtual interfaces that were broken at the last look.
    broken: BTreeSet<u32>,
    lost: bool,
}

fn later(act: impl FnOnce() + Send + 'static) -> VIP_RETURN {
    match std::thread::Builder::new().name("vipl".into()).spawn(act) {
        Ok(_) => SUCCESS,
        Err(error) => crate::code(&Error::System(error)),
    }
}

/// Has `handler` called once for the next of a queue that `look` finds; an error of it ends that.
fn notify<T>(
    sleeper: Sleeper,
    look: impl Fn() -> Option<Result<T, VIP_RETURN>> + Send + 'static,
    call: impl FnOnce(T) + Send + 'static,
) -> VIP_RETURN {
    later(move || {
        if let Ok(Ok(found)) = wait_for(&sleeper, None, look) {
            call(found);
        }
    })
}

fn of_queue(vi: &VipVi, which: Which, context: *mut c_void, handler: Option<OfDescriptor>) -> VIP_RETURN {
    let Some(handler) = handler else { return INVALID_PARAMETER };
    // SAFETY: the handle is not given back.
    let (vi, context) = (unsafe { held(vi) }, context as usize);
    let (waits, nic, handle) = (vi.clone(), vi.nic, Arc::as_ptr(&vi) as usize);
    // A descriptor is known by its address, which goes from thread to thread as a number.
    let look = move || waits.done(which).map(|done| done.map(|descriptor| descriptor as usize));
    notify(vi.sleepers[which as usize].clone(), look, move |descriptor| {
        // SAFETY: the program asked for it with these.
        unsafe {
            handler(
                context as *mut c_void,
                nic as *mut VipNic,
                handle as *mut VipVi,
                descriptor as *mut VIP_DESCRIPTOR,
            );
        }
    })
}

of_handle! {
    /// Has `handler` called once, with the next descriptor that was to send and is done.
    fn VipSendNotify(vi: VipVi, context: *mut c_void, handler: Option<OfDescriptor>) {
        of_queue(vi, Which::Send, context, handler)
    }

    /// Has `handler` called once, with the next descriptor of room into which a message has come.
    fn VipRecvNotify(vi: VipVi, context: *mut c_void, handler: Option<OfDescriptor>) {
        of_queue(vi, Which::Receive, context, handler)
    }

    /// Has `handler` called once, with whose descriptor is done next.
    fn VipCQNotify(queue: VipCq, context: *mut c_void, handler: Option<OfEntry>) {
        let Some(handler) = handler else { return INVALID_PARAMETER };
        // SAFETY: the handle is not given back.
        let (queue, context) = (unsafe { held(queue) }, context as usize);
        let (waits, nic) = (queue.clone(), queue.nic);
        let look = move || {
            let entry = waits.next_or_lost().transpose()?;
            // One that was destroyed in the meantime is passed over.
            entry.map(|(id, which)| Some((waits.of(id)? as usize, which))).transpose()
        };
        notify(queue.sleeper.clone(), look, move |(vi, which)| {
            // SAFETY: the program asked for it with these.
            unsafe {
                let receives = u32::from(which == Which::Receive);
                handler(context as *mut c_void, nic as *mut VipNic, vi as *mut VipVi, receives);
            }
        })
    }

    /// Has `handler` called for each error that belongs to no call, or none with null: a virtual interface that breaks, and why; and an
    /// adapter that is gone.
    fn VipErrorCallback(nic: VipNic, context: *mut c_void, handler: Option<OfError>) {
        let mut errors = locked(&nic.errors);
        let begins = errors.is_none();
        *errors = handler.map(|handler| OfErrors {
            context: context as usize,
            handler,
            broken: BTreeSet::new(),
            lost: false,
        });
        if errors.is_none() || !begins {
            return SUCCESS;
        }
        drop(errors);
        // SAFETY: the handle is not given back.
        let nic = unsafe { held(nic) };
        later(move || while_looking(&nic))
    }
}

#[allow(clippy::disallowed_methods, reason = "a thread of its own that looks now and then")]
fn while_looking(nic: &Arc<VipNic>) {
    while look(nic) {
        std::thread::sleep(LOOK);
    }
}

/// Tells of what is new; false once nobody wants to be told.
fn look(nic: &Arc<VipNic>) -> bool {
    let handle = Arc::as_ptr(nic).cast_mut();
    let (mut told, lost) = (Vec::new(), nic.nic.is_lost());
    let vis: Vec<Arc<VipVi>> = locked(&nic.known).values().filter_map(std::sync::Weak::upgrade).collect();
    let (context, handler) = {
        let mut errors = locked(&nic.errors);
        let Some(errors) = errors.as_mut() else { return false };
        if lost && !std::mem::replace(&mut errors.lost, true) {
            told.push((std::ptr::null_mut(), 0, Fault::Catastrophic));
        }
        for vi in &vis {
            // Whoever has it now does something with it, and is looked at the next time.
            let Ok(at) = vi.at.try_lock() else { continue };
            let fault = at.as_ref().filter(|at| at.vi.state() == State::Error).and_then(|at| at.vi.fault());
            match fault {
                Some(_) if lost => {}
                Some(fault) if errors.broken.insert(vi.id) => {
                    told.push((Arc::as_ptr(vi).cast_mut(), 1, fault));
                }
                Some(_) => {}
                None => _ = errors.broken.remove(&vi.id),
            }
        }
        (errors.context, errors.handler)
    };
    for (vi, resource, fault) in told {
        let error = VIP_ERROR_DESCRIPTOR {
            NicHandle: handle,
            ViHandle: vi,
            CQHandle: std::ptr::null_mut(),
            DescriptorPtr: std::ptr::null_mut(),
            OpCode: 0,
            ResourceCode: resource,
            ErrorCode: fault as u32,
        };
        // SAFETY: the program asked for it with these.
        unsafe { handler(context as *mut c_void, &raw const error) };
    }
    true
}
