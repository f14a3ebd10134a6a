//! The engine: what turns components that are told the time into a run.
//!
//! Components never read a clock. They are called with `now` and an input, change their state and say
//! when they next want to be called. Everything that makes this a run is here, and none of it knows a
//! network: a [`Calendar`] keeps what is to happen, a [`World`] is what it happens to, a [`Clock`] says
//! when it is time, and [`run`] is the one loop that joins them. The same world therefore simulates under
//! [`VirtualClock`], replays an awkward schedule under [`ScriptedClock`] and serves under [`RealClock`].
//!
//! Two promises hold for everything here. *Same seed, same run*: order, random numbers and trace are the
//! same bits on every machine. *The library reads nothing but its arguments*: no time of day, no operating
//! system randomness, no thread, no file; it builds for wasm. The one exception is [`RealClock`], whose business
//! is to read the time and which is left out there.
//!
//! ```
//! use laxity_engine::{Calendar, Limits, Stop, VirtualClock, World, run};
//! use laxity_units::{Span, Time};
//!
//! /// Counts its own ticks.
//! struct Metronome {
//!     ticks: u64,
//! }
//!
//! /// The one thing that can happen to it.
//! #[derive(Clone, Copy)]
//! struct Tick;
//!
//! impl World for Metronome {
//!     type Event = Tick;
//!
//!     fn handle(&mut self, _now: Time, Tick: Tick, calendar: &mut Calendar<Tick>) {
//!         self.ticks += 1;
//!         calendar.schedule_after(Span::from_ms(10), Tick);
//!     }
//! }
//!
//! let mut world = Metronome { ticks: 0 };
//! let mut calendar = Calendar::new();
//! calendar.schedule(Time::ZERO, Tick);
//! let outcome = run(&mut world, &mut calendar, &mut VirtualClock, Limits::NONE.until("1 s".parse().unwrap()));
//! assert_eq!((world.ticks, outcome.stop), (101, Stop::Until));
//! ```

mod asked;
mod calendar;
mod capture;
mod clock;
mod driver;
mod lateness;
mod random;
pub mod trace;
mod world;

pub use asked::Asked;
pub use calendar::Calendar;
pub use capture::{FrameCapture, Interface, LinkType};
#[cfg(not(target_family = "wasm"))]
pub use clock::{Attribution, Dilation, Doorbell, During, Epoch, Gap, Late, RealClock, Ticks};
pub use clock::{Clock, ScriptedClock, VirtualClock, Wait};
pub use driver::{Limits, Outcome, Stop, run};
pub use lateness::{Bucket, Lateness};
pub use random::{Exponentials, Seed, Stream, splitmix64};
pub use world::World;
