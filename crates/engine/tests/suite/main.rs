//! The driver loop, the calendar, and files of traces.

mod files;
mod order;
mod real;
mod runs;
