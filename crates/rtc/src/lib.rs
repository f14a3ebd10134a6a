//! Guaranteed channels for programs in C (thesis, Table 3.2): `rtc_init`, `rtc_create`, `rtc_send`,
//! `rtc_recv`, `rtc_close`, and `rdata_send` for best effort.
//!
//! `include/laxity.h` declares them. A call that fails returns `NULL` or a negative number, and
//! `rtc_error` has the reason as a sentence. Handles may be used by one thread at a time each, in the
//! process that made them: in a child of `fork` each call fails.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "functions for C take pointers")]

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_uint};
use std::path::Path;
use std::time::Duration;

use laxity_client::{Channel, Client, Contract, Error, Listener};

/// The message is beyond the contract.
pub const RTC_EXCESS: c_int = -2;
/// The channel is over.
pub const RTC_LOST: c_int = -3;
/// Any other error.
pub const RTC_FAILED: c_int = -1;
/// No message arrived in time.
pub const RTC_NONE: c_int = -4;

/// A connection of the program to its node.
pub struct RtcNode(Client);
/// The receiving end of channels: a queue with a name.
pub struct RtcQueue(Listener);
/// The sending end of a channel.
pub struct RtcChannel(Channel);

/// The traffic of a channel and its deadline.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct RtcContract {
    /// Largest message in bytes.
    pub max_message: c_uint,
    /// Least average spacing of messages in microseconds.
    pub interval_us: c_uint,
    /// Longest burst in messages.
    pub burst: c_uint,
    /// Delay bound from end to end in microseconds.
    pub deadline_us: c_uint,
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

fn failed(error: &Error) -> c_int {
    let text = CString::new(error.to_string().replace('\0', " ")).unwrap_or_default();
    LAST.with(|last| *last.borrow_mut() = text);
    match error {
        Error::Excess => RTC_EXCESS,
        Error::Lost | Error::Ended | Error::Disconnected => RTC_LOST,
        _ => RTC_FAILED,
    }
}

fn handle<T>(made: Result<T, Error>) -> *mut T {
    made.map_or_else(
        |error| {
            failed(&error);
            std::ptr::null_mut()
        },
        |made| Box::into_raw(Box::new(made)),
    )
}

/// # Safety
/// `text` is null or a string of C.
unsafe fn text<'a>(text: *const c_char) -> Result<Option<&'a str>, Error> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's contract.
    let text = unsafe { CStr::from_ptr(text) }.to_str();
    text.map(Some).map_err(|_| Error::Failed("a name is no UTF-8".to_owned()))
}

/// The message at `message`, which is empty if `length` is 0.
///
/// # Safety
/// `message` is null or has `length` bytes.
unsafe fn bytes<'a>(message: *const u8, length: usize) -> Result<&'a [u8], Error> {
    match (message.is_null(), length) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Error::Failed("a message is NULL, and its length is not 0".to_owned())),
        // SAFETY: the caller's contract.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(message, length) }),
    }
}

/// The result that `rtc_recv` returns for `received`, which it copies into `buffer`.
///
/// # Safety
/// `buffer` has `size` bytes, and none of them is of the message.
unsafe fn taken(received: Result<Option<Vec<u8>>, Error>, buffer: *mut u8, size: usize) -> c_long {
    match received {
        Ok(None) => {
            LAST.with(|last| *last.borrow_mut() = c"no message arrived in time".to_owned());
            c_long::from(RTC_NONE)
        }
        Ok(Some(message)) => {
            let length = message.len().min(size);
            if length > 0 {
                // SAFETY: the buffer has at least this many bytes, and no part of the message.
                unsafe { std::ptr::copy_nonoverlapping(message.as_ptr(), buffer, length) };
            }
            length as c_long
        }
        Err(error) => c_long::from(failed(&error)),
    }
}

/// The reason of the last failed call of this thread. It is valid until the next call.
#[unsafe(no_mangle)]
pub extern "C" fn rtc_error() -> *const c_char {
    LAST.with(|last| last.borrow().as_ptr())
}

/// Connects to the node at `socket`, or to the local one if it is null.
///
/// # Safety
/// `socket` is null or a string of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtc_connect(socket: *const c_char) -> *mut RtcNode {
    // SAFETY: the caller's contract.
    handle(unsafe { text(socket) }.and_then(|socket| {
        let client = socket.map_or_else(Client::connect, |path| Client::connect_to(Path::new(path)));
        client.map(RtcNode)
    }))
}

/// Ends a connection, and with it its channels and queues that are still open.
///
/// # Safety
/// `node` is null or a connection that is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtc_disconnect(node: *mut RtcNode) {
    if !node.is_null() {
        // SAFETY: the caller's contract.
        drop(unsafe { Box::from_raw(node) });
    }
}

/// Makes a queue for incoming messages and registers its name.
///
/// # Safety
/// `node` is a connection, `name` a string of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtc_init(node: *mut RtcNode, name: *const c_char) -> *mut RtcQueue {
    // SAFETY: the caller's contract.
    let (node, name) = unsafe { (&*node, text(name)) };
    handle(name.and_then(|name| node.0.listen(name.unwrap_or_default())).map(RtcQueue))
}

/// Takes the next message: its length, which is 0 for an empty one, `RTC_NONE` if none arrived within
/// `timeout_ms` (which waits for ever if it is negative), or an error. A message longer than `size` is
/// cut off.
///
/// # Safety
/// `queue` is a queue, `buffer` has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtc_recv(
    queue: *mut RtcQueue,
    buffer: *mut u8,
    size: usize,
    timeout_ms: c_int,
) -> c_long {
    // SAFETY: the caller's contract.
    let queue = unsafe { &mut *queue };
    let received = match u64::try_from(timeout_ms) {
        Ok(most) => queue.0.recv_timeout(Duration::from_millis(most)),
        Err(_) => queue.0.recv().map(Some),
    };
    // SAFETY: the caller's contract.
    unsafe { taken(received.map(|message| message.map(|message| message.payload)), buffer, size) }
}

/// Ends a queue, and the channels to it.
///
/// # Safety
/// `queue` is null or a queue that is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtc_end(queue: *mut RtcQueue) {
    if !queue.is_null() {
        // SAFETY: the caller's contract.
        drop(unsafe { Box::from_raw(queue) });
    }
}

/// Creates a channel to the queue `name`; null with the reason of the refusal otherwise.
///
/// # Safety
/// `node` is a connection, `name` a string of C, `contract` a contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtc_create(
    node: *mut RtcNode,
    name: *const c_char,
    contract: *const RtcContract,
) -> *mut RtcChannel {
    // SAFETY: the caller's contract.
    let (node, name, contract) = unsafe { (&*node, text(name), *contract) };
    let us = |us: c_uint| Duration::from_micros(us.into());
    let asked = Contract::periodic(contract.max_message, us(contract.interval_us), us(contract.deadline_us));
    let asked = asked.with_burst(contract.burst);
    handle(name.and_then(|name| node.0.open(name.unwrap_or_default(), asked)).map(RtcChannel))
}

/// Sends a message, and returns when the node has transmitted it into the network: 0, or an error.
/// It waits until the message is within the contract.
///
/// # Safety
/// `channel` is a channel, `message` has `length` bytes, or is null with none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtc_send(channel: *mut RtcChannel, message: *const u8, length: usize) -> c_int {
    // SAFETY: the caller's contract.
    let (channel, message) = unsafe { (&mut *channel, bytes(message, length)) };
    let sent = message.and_then(|message| channel.0.send(message)).and_then(|()| channel.0.drain());
    sent.map_or_else(|error| failed(&error), |()| 0)
}

/// Sends a message if it is within the contract now, without waiting: 0, `RTC_EXCESS`, or an error.
///
/// # Safety
/// `channel` is a channel, `message` has `length` bytes, or is null with none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtc_try_send(channel: *mut RtcChannel, message: *const u8, length: usize) -> c_int {
    // SAFETY: the caller's contract.
    let (channel, message) = unsafe { (&mut *channel, bytes(message, length)) };
    let sent = message.and_then(|message| channel.0.try_send(message));
    sent.map_or_else(|error| failed(&error), |()| 0)
}

/// Closes a channel when its last message is delivered: 0, or an error. The handle is gone.
///
/// # Safety
/// `channel` is a channel that is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtc_close(channel: *mut RtcChannel) -> c_int {
    // SAFETY: the caller's contract.
    let channel = unsafe { Box::from_raw(channel) };
    channel.0.close().map_or_else(|error| failed(&error), |()| 0)
}

/// Sends a best-effort message of one packet to the queue `name`: 0, or an error. `rtc_recv`
/// receives it.
///
/// # Safety
/// `node` is a connection, `name` a string of C, `message` has `length` bytes, or is null with none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rdata_send(
    node: *mut RtcNode,
    name: *const c_char,
    message: *const u8,
    length: usize,
) -> c_int {
    // SAFETY: the caller's contract.
    let (node, name, message) = unsafe { (&*node, text(name), bytes(message, length)) };
    let sent = name.and_then(|name| node.0.datagram(node.0.resolve(name.unwrap_or_default())?, message?));
    sent.map_or_else(|error| failed(&error), |()| 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty message is one, and a length that no message has says that there was none.
    #[test]
    fn an_empty_message_is_not_none() {
        let mut buffer = [7; 4];
        // SAFETY: the buffer has four bytes of its own.
        let mut taken = |received: Option<&[u8]>| unsafe {
            taken(Ok(received.map(<[u8]>::to_vec)), buffer.as_mut_ptr(), 4)
        };
        assert_eq!(taken(None), c_long::from(RTC_NONE));
        assert_eq!((taken(Some(&[])), taken(Some(&[1, 2])), taken(Some(&[1; 9]))), (0, 2, 4));
        assert_eq!(buffer, [1; 4]);
        // SAFETY: a buffer of no bytes has no address.
        assert_eq!(unsafe { super::taken(Ok(Some(vec![1])), std::ptr::null_mut(), 0) }, 0);
    }

    #[test]
    fn a_message_without_bytes_has_no_address() {
        // SAFETY: no byte is read.
        let [none, wrong] = [0, 3].map(|length| unsafe { bytes(std::ptr::null(), length) });
        assert!(none.unwrap().is_empty());
        assert!(wrong.unwrap_err().to_string().contains("NULL"));
        // SAFETY: the array has two bytes.
        assert_eq!(unsafe { bytes([1, 2].as_ptr(), 2) }.unwrap(), [1, 2]);
    }
}
