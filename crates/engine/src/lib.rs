//! The engine, which runs components that are passed the time.
//!
//! Components never read a clock. They are called with `now` and an input, change their state and
//! return when they need the next call. The engine is independent of networks: a [`Calendar`] has
//! the pending events, a [`World`] handles them, a [`Clock`] waits for their times, and [`run`] is
//! the one loop that joins these. The same world simulates under [`SimulationClock`], replays a
//! scripted schedule under [`ScriptedClock`] and serves under [`RealClock`].
//!
//! Two invariants hold. *Same seed, same run*: order, random numbers and trace have the same bits
//! on every machine. *The library reads only its arguments*: no time of day, no randomness of the
//! operating system, no thread, no file; it builds for wasm. The one exception is [`RealClock`],
//! which reads the time and is omitted there.
//!
//! ```
//! use laxity_engine::{Calendar, Limits, Stop, SimulationClock, World, run};
//! use laxity_units::{Span, Time};
//!
//! /// Counts its own ticks.
//! struct Metronome {
//!     ticks: u64,
//! }
//!
//! /// The only event.
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
//! let limits = Limits::NONE.until("1 s".parse().unwrap());
//! let outcome = run(&mut world, &mut calendar, &mut SimulationClock, limits);
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
pub use capture::{CaptureInterface, FrameCapture, LinkType};
#[cfg(not(target_family = "wasm"))]
pub use clock::{Attribution, Dilation, During, Gap, InputDoorbell, LateEvents, RealClock, TickEpoch, Ticks};
pub use clock::{Clock, ScriptedClock, SimulationClock, Wait};
pub use driver::{EngineOutcome, Limits, Stop, run};
pub use lateness::{Lateness, LatenessBucket};
pub use random::{Exponentials, Seed, Stream, splitmix64};
pub use world::World;
