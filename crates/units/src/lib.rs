//! Quantities that carry their unit: instants, spans, rates and sizes.
//!
//! Deadlines are proved by adding up microseconds; a proof that loses a nanosecond to a float or to a
//! silent wrap proves nothing. Every quantity here is an integer of the finest unit any part of Laxity
//! needs, every conversion names its rounding, and every arithmetic operator panics on overflow in all
//! builds rather than wrap: an overflow is a broken invariant, never an outcome.
//!
//! * [`Time`], an instant, and [`Span`], a difference of instants: picoseconds in a `u64`, which spans
//!   213 days. A picosecond resolves one bit at 1 Tbit/s.
//! * [`Rate`]: bits per second.
//! * [`ByteTime`]: the time that a byte takes, an exact ratio.
//! * [`Bytes`]: a size.
//!
//! All of them parse and print what a person writes: `600 us`, `100 Mbit/s`, `4 KiB`, `50 ns`.

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
