//! Connections: who waits, who calls, and what becomes of the call.

use std::sync::Arc;

use laxity_vi::{Arrived, Nic};

use crate::{
    INVALID_PARAMETER, SUCCESS, VIP_NET_ADDRESS, VIP_QOS, VIP_RETURN, VIP_VI_ATTRIBUTES, VipNic, VipVi,
    answer, code, give, time,
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

    /// Connects a virtual interface to who waits at an address.
    fn VipConnectRequest(vi: VipVi, _local: *const VIP_NET_ADDRESS, remote: *const VIP_NET_ADDRESS, timeout: u32, _attributes: *mut VIP_VI_ATTRIBUTES) {
        // SAFETY: as the caller vouches.
        let Some(remote) = (unsafe { remote.as_ref() }).and_then(VIP_NET_ADDRESS::read) else { return INVALID_PARAMETER };
        vi.with(|vi| answer(vi.connect(remote, time(timeout))))
    }

    /// Ends a connection.
    fn VipDisconnect(vi: VipVi) {
        vi.with(|vi| answer(vi.disconnect()))
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
