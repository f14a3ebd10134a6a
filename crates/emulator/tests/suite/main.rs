//! Emulations in real time, with programs at TAP devices and at virtual interfaces.
//!
//! One program has all tests. Those that need processors for themselves take turns by
//! [`common::alone`].
#![cfg(target_os = "linux")]

mod bulk;
mod common;
mod datagrams;
mod emulate;
mod flood;
mod in_process;
mod stream;
mod switch;
mod tap_port;
mod via;
