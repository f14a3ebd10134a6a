//! The program `laxity`, run as a process of its own in a directory of its own.

mod adapters;
mod book;
mod common;
mod compare;
mod contract;
mod dissector;
mod edits;
mod exits;
mod explain;
mod import;
mod new;
mod outputs;
mod recipe;
mod reproduce;
mod service;
mod trace;
mod trials;
