//! The program `laxity`, run as a process of its own in a directory of its own.

mod adapters;
mod common;
mod dissector;
mod exits;
mod explain;
mod new;
mod outputs;
mod reproduce;
mod service;
mod trace;
mod trials;
