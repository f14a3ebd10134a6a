//! Adapters with virtual interfaces for real programs: END as the adapters' process.
//!
//! ```text
//!  program ── socket ──▶ control's thread ──orders──▶ END's thread, on a processor of its own
//!     └─── doorbells, descriptors, data (shared memory) ──▶ Cluster: firmware (model::via) on the real clock
//! ```
//!
//! Programs use the crate `laxity-vi`. The firmware is the state machine that simulations run; nothing of a message makes a system call
//! here, but for waking a program that has said that it sleeps.

mod bells;
mod cluster;
mod control;
mod desk;
mod inputs;
mod interface;
mod load;
mod quota;
mod regions;
mod replay;
mod stepped;
mod turns;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use laxity_engine::{Calendar, Dilation, Epoch, Limits, RealClock, Ticks};
use laxity_machine::place::{Placed, Placement, spawn_on};
use laxity_machine::{Refused, claim_core};
use laxity_model::via::{ViaConfig, ViaOutput, ViaReport};
use laxity_units::{Span, Time};
use laxity_world::Observed;
use laxity_world::results::{Fitness, RealTime, Run};

use crate::emulate::{real_time, stops};
use crate::log::{Header, Recorder};
use cluster::Cluster;
pub use cluster::Violations;
use control::Doors;
pub use control::socket_of;
use desk::{Counter, Desk};
use inputs::{Inputs, Journal};
pub use interface::Tally;
pub use replay::{Replayed, replay};
pub use stepped::Stepped;

/// Adapters to be emulated.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// What each is like.
    pub adapter: ViaConfig,
    /// How many there are.
    pub nodes: usize,
    /// From the first bit out of one to the first bit at another.
    pub latency: Span,
    /// Bytes of a message at most, each way: a longer one completes with a length error.
    pub longest: u64,
    /// Whether every step is recorded.
    pub recorded: bool,
}

impl Setup {
    /// The longest message that a descriptor can be of.
    pub const LONGEST: u64 = laxity_vi::provider::MOST_BYTES;
}

/// Something that an adapter did.
#[derive(Debug, Clone, Copy)]
pub struct Recorded {
    /// Which adapter.
    pub node: u32,
    /// When.
    pub at: Time,
    /// What.
    pub output: ViaOutput,
}

/// What came of adapters that were served.
#[derive(Debug)]
pub struct Served {
    /// What each adapter has been through.
    pub adapters: Vec<ViaReport>,
    /// What became of messages.
    pub tally: Tally,
    /// What programs did that they should not.
    pub violations: Violations,
    /// What came of the channels that programs may be.
    pub channels: Vec<Observed>,
    /// What adapters did, if it was recorded.
    pub recorded: Vec<Recorded>,
    /// How long it went on.
    pub end: Time,
    /// Events that happened.
    pub events: u64,
    /// How often something was read from outside.
    pub inputs: u64,
    /// A digest of what each adapter sent, received, lost and was told of receive descriptors, and when; 0 if there was no log.
    pub departures: u64,
    /// How well time was kept, and whether what was measured can be judged by.
    pub kept: RealTime,
    /// What would have made it better and was not permitted.
    pub refused: Vec<Refused>,
}

/// What is kept of adapters that serve programs.
#[derive(Default)]
pub struct Beside {
    /// Where they write down what they are told.
    pub log: Option<Logging>,
    /// The channels that programs may be.
    pub channels: Vec<Observed>,
}

/// Adapters at work.
pub struct Service {
    end: Placed<Served>,
    control: Placed<()>,
    over: Arc<AtomicBool>,
    directory: PathBuf,
    refused: Vec<Refused>,
    swept: Vec<String>,
}

/// Opens the adapters of `setup` at sockets in `directory`, which are named by the adapters' numbers. END runs where `placement` says, and
/// else on the last processor that no other run has taken.
pub fn serve(setup: Setup, directory: &Path, placement: Placement) -> io::Result<Service> {
    serve_beside(setup, directory, placement, Beside::default())
}

/// The same, with what is to be kept `beside`.
pub fn serve_beside(
    setup: Setup,
    directory: &Path,
    placement: Placement,
    beside: Beside,
) -> io::Result<Service> {
    let doors = Doors::open(directory, setup.nodes)?;
    let over = Arc::new(AtomicBool::new(false));
    let (desk, counter) = Desk::with_counter(&over);
    let claimed = claim_core(placement.core);
    let epoch = Epoch::starting_in(Span::ZERO, Ticks::calibrate(), Dilation::NONE);
    let placement = Placement { core: claimed.core, ..placement };
    let mut end = spawn_on(placement, "vi-adapters", move || {
        let _held = claimed;
        run(setup, epoch, desk, beside)
    })
    .map_err(io::Error::other)?;
    let refused = std::mem::take(&mut end.refused);
    let swept = doors.swept().to_vec();
    let control = attend(doors, counter, over.clone())?;
    Ok(Service { end, control, over, directory: directory.to_path_buf(), refused, swept })
}

/// A thread that talks to programs until it is over.
fn attend(doors: Doors, counter: Counter, over: Arc<AtomicBool>) -> io::Result<Placed<()>> {
    let control =
        spawn_on(Placement::default(), "vi-control", move || control::serve(&doors, &counter, &over));
    control.map_err(io::Error::other)
}

impl Service {
    /// Leftovers of killed runs that are removed now.
    pub fn swept(&self) -> &[String] {
        &self.swept
    }

    /// Where adapter `node` is to be opened.
    pub fn socket(&self, node: usize) -> PathBuf {
        socket_of(&self.directory, node)
    }

    /// Ends it; programs that are connected find that their provider has hung up.
    pub fn stop(self) -> io::Result<Served> {
        self.over.store(true, Ordering::Release);
        let broke = |_| io::Error::other("a thread of the adapters broke off");
        self.control.join().map_err(broke)?;
        let served = self.end.join().map_err(broke)?;
        Ok(Served { refused: self.refused, ..served })
    }
}

/// On END's thread.
fn run(setup: Setup, epoch: Epoch, desk: Desk, beside: Beside) -> Served {
    let mut cluster = Cluster::new(setup, Some(epoch), desk);
    cluster.channels = beside.channels;
    if let Some(Logging(journal)) = beside.log {
        cluster.inputs = Inputs::Kept(journal);
    }
    let mut clock = RealClock::new(epoch, cluster.bell());
    let mut calendar = Calendar::new();
    let outcome = laxity_engine::run(&mut cluster, &mut calendar, &mut clock, Limits::NONE);
    let mut kept = real_time(&outcome.lateness, clock.attribution(), outcome.wakes);
    let run = Run { simulated: outcome.now.as_secs_f64(), ..Run::default() };
    kept.fitness = Fitness::of(&run, stops(clock.attribution(), &epoch), &outcome.lateness);
    Served { kept, ..cluster.into_served(&outcome) }
}

/// Begins a log of adapters that serve programs, in `file`: what they are told goes to the one, and the other ends it.
pub fn log<W: Write + Send + 'static>(file: W, header: &Header) -> io::Result<(Logging, Recorder)> {
    let (tape, recorder) = Recorder::begin::<W, inputs::Pending>(file, header)?;
    Ok((Logging(Journal::new(tape)), recorder))
}

/// Where adapters that serve programs write down what they are told.
pub struct Logging(Journal);
