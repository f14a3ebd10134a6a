//! Quantities that carry their unit: instants, spans, rates and sizes.
//!
//! Deadlines are proved by adding up microseconds; a proof that loses a nanosecond to a float or a
//! silent overflow is invalid. Every quantity is an integer of the finest unit that any part of
//! Laxity needs, every conversion names its rounding, and arithmetic operators panic on overflow in
//! all builds.
//!
//! * [`Time`], an instant, and [`Span`], a difference of instants: picoseconds in a `u64`, which
//!   spans 213 days. A picosecond resolves one bit at 1 Tbit/s.
//! * [`Rate`]: bits per second.
//! * [`ByteTime`]: exact time per byte.
//! * [`Bytes`]: a size.
//!
//! All of them parse and print readable text: `600 us`, `100 Mbit/s`, `4 KiB`, `50 ns`.

mod byte_time;
mod bytes;
mod parse;
mod rate;
mod time;

pub use byte_time::ByteTime;
pub use bytes::Bytes;
pub use parse::UnitError;
pub use rate::Rate;
pub use time::{Span, Time};
