//! Connections: who waits, who calls, and what becomes of the call.

use std::sync::Arc;
use std::time::Instant;

use laxity_vi::{Arrived, Nic, Refusal, State, Vi};

use crate::{
    INVALID_PARAMETER, NOT_DONE, SUCCESS, VIP_NET_ADDRESS, VIP_QOS, VIP_RETURN, VIP_VI_ATTRIBUTES, VipNic,
    VipVi, answer, code, give, locked, time,
};

/// What a `VIP_CONN_HANDLE` points to.
#[derive(Debug)]
pub struct VipConn {
    nic: Nic,
    arrived: Arrived,
}

of_handle! {
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
        unsafe { give(Ok(Arc::new(VipConn { nic: nic.nic.clone(), arrived })), handle) }
    }

    /// Connects a virtual interface to who waits at an address. Of the other side's attributes its `QoS` is told.
    fn VipConnectRequest(vi: VipVi, _local: *const VIP_NET_ADDRESS, remote: *const VIP_NET_ADDRESS, timeout: u32, attributes: *mut VIP_VI_ATTRIBUTES) {
        // SAFETY: as the caller vouches.
        let Some(remote) = (unsafe { remote.as_ref() }).and_then(VIP_NET_ADDRESS::read) else { return INVALID_PARAMETER };
        vi.with(|vi| match vi.connect(remote, time(timeout)) {
            // SAFETY: as the caller vouches.
            Ok(()) => unsafe { connected(vi, attributes) },
            Err(error) => code(&error),
        })
    }

    /// Asks for a connection with who asks for one with `local`, for `timeout` at the longest, and does not wait.
    fn VipConnectPeerRequest(vi: VipVi, local: *const VIP_NET_ADDRESS, remote: *const VIP_NET_ADDRESS, timeout: u32) {
        // SAFETY: as the caller vouches.
        let (local, remote) = unsafe { (local.as_ref(), remote.as_ref()) };
        let read = |address: Option<&VIP_NET_ADDRESS>| address.and_then(VIP_NET_ADDRESS::read);
        let (Some(local), Some(remote)) = (read(local), read(remote)) else { return INVALID_PARAMETER };
        let asked = vi.with(|vi| answer(vi.connect_peer(local.discriminator, remote)));
        if asked == SUCCESS {
            *locked(&vi.peer) = Some(end(timeout));
        }
        asked
    }

    /// Whether that is so by now.
    fn VipConnectPeerDone(vi: VipVi, attributes: *mut VIP_VI_ATTRIBUTES) {
        // SAFETY: as the caller vouches.
        unsafe { peer(vi, true, attributes) }
    }

    /// The same, waited for.
    fn VipConnectPeerWait(vi: VipVi, attributes: *mut VIP_VI_ATTRIBUTES) {
        // SAFETY: as the caller vouches.
        unsafe { peer(vi, false, attributes) }
    }

    /// Ends a connection.
    fn VipDisconnect(vi: VipVi) {
        vi.with(|vi| answer(vi.disconnect()))
    }
}

/// When `milliseconds` are over.
#[allow(clippy::disallowed_methods, reason = "a program that waits so long waits by its machine's clock")]
fn end(milliseconds: u32) -> Option<Instant> {
    time(milliseconds).and_then(|most| Instant::now().checked_add(most))
}

/// What came of asking for a peer: as it is now, or once that is known.
///
/// # Safety
/// `attributes` is null or may be written to.
#[allow(clippy::disallowed_methods, reason = "a program that waits so long waits by its machine's clock")]
unsafe fn peer(vi: &VipVi, at_once: bool, attributes: *mut VIP_VI_ATTRIBUTES) -> VIP_RETURN {
    let Some(end) = *locked(&vi.peer) else { return Refusal::InvalidState as u32 };
    let left = end.map(|end| end.saturating_duration_since(Instant::now()));
    let over = left.is_some_and(|left| left.is_zero());
    let known = vi.with(|vi| {
        if at_once && !over && vi.state() == State::Pending {
            return NOT_DONE;
        }
        match vi.wait_connected(left) {
            // SAFETY: as the caller vouches.
            Ok(()) => unsafe { connected(vi, attributes) },
            Err(error) => code(&error),
        }
    });
    if known != NOT_DONE {
        *locked(&vi.peer) = None;
    }
    known
}

/// Tells of the other side what it is guaranteed.
///
/// # Safety
/// `attributes` is null or may be written to.
unsafe fn connected(vi: &Vi, attributes: *mut VIP_VI_ATTRIBUTES) -> VIP_RETURN {
    // SAFETY: as the caller vouches.
    if let (Some(attributes), Ok((_, bandwidth))) = (unsafe { attributes.as_mut() }, vi.peer()) {
        attributes.QoS = VIP_QOS::of(bandwidth);
    }
    SUCCESS
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
    let accepted = vi.with(|vi| answer(caller.nic.accept(caller.arrived, vi)));
    if accepted == SUCCESS {
        // SAFETY: it was made by `give`, and is given back once.
        drop(unsafe { Arc::from_raw(call) });
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
    let call = unsafe { Arc::from_raw(call) };
    answer(call.nic.reject(call.arrived))
}
