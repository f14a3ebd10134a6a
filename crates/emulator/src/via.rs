//! Adapters with virtual interfaces for real programs: END as the adapters' process.
//!
//! ```text
//!  program ── socket ──▶ control's thread ──orders──▶ END's thread, on a processor of its own
//!     └─── doorbells, descriptors, data (shared memory) ──▶ Cluster: firmware (model::via) on the real clock
//! ```
//!
//! Programs use the crate `laxity-vi`. The firmware is the state machine that simulations run.
//! Message handling makes no system call here, except to wake a program that has declared that it
//! sleeps.

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

use laxity_engine::{Calendar, Dilation, Limits, RealClock, TickEpoch, Ticks};
use laxity_machine::place::{PlacedThread, ThreadPlacement, spawn_on};
use laxity_machine::{RefusedBySystem, claim_core};
use laxity_model::via::{ViaConfig, ViaOutput, ViaReport};
use laxity_units::{Span, Time};
use laxity_world::Observed;
use laxity_world::results::{Fitness, RealTime, Run};

use crate::emulate::{real_time, stops};
use crate::log::{LogHeader, Recorder};
use cluster::Cluster;
pub use cluster::Violations;
use control::Doors;
pub use control::socket_of;
use desk::{Counter, Desk};
use inputs::{Inputs, Journal};
pub use interface::InterfaceTally;
pub use replay::{ReplayedService, replay};
pub use stepped::Stepped;

/// Adapters to emulate.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// Configuration of each adapter.
    pub adapter: ViaConfig,
    /// Number of adapters.
    pub nodes: usize,
    /// Propagation delay, from the first bit out of one adapter to the first bit at another.
    pub latency: Span,
    /// Maximum size of a message in bytes, in both directions: a longer one completes with a length
    /// error.
    pub longest: u64,
    /// Whether every output is recorded.
    pub recorded: bool,
}

impl Setup {
    /// Maximum size of a message of a descriptor, in bytes.
    pub const LONGEST: u64 = laxity_vi::provider::MOST_BYTES;
}

/// Recorded output of an adapter.
#[derive(Debug, Clone, Copy)]
pub struct RecordedOutput {
    /// Adapter.
    pub node: u32,
    /// Time.
    pub at: Time,
    /// Output.
    pub output: ViaOutput,
}

/// Results of a service.
#[derive(Debug)]
pub struct Served {
    /// Report of each adapter.
    pub adapters: Vec<ViaReport>,
    /// Counts of messages.
    pub tally: InterfaceTally,
    /// Violations by programs.
    pub violations: Violations,
    /// Results of the observed channels.
    pub channels: Vec<Observed>,
    /// Outputs of adapters, if recorded.
    pub recorded: Vec<RecordedOutput>,
    /// End time.
    pub end: Time,
    /// Number of events.
    pub events: u64,
    /// Number of reads from outside.
    pub inputs: u64,
    /// Digest of what each adapter sent, received, lost and posted as receive descriptors, with the
    /// times; 0 without a log.
    pub departures: u64,
    /// Timeliness, and the fitness for verdicts.
    pub kept: RealTime,
    /// Refused requests that would have improved the run.
    pub refused: Vec<RefusedBySystem>,
}

/// Records of adapters that serve programs.
#[derive(Default)]
pub struct Beside {
    /// Log of their inputs.
    pub log: Option<Logging>,
    /// Channels to observe, which programs may use.
    pub channels: Vec<Observed>,
}

/// Running adapters.
pub struct ViService {
    end: PlacedThread<Served>,
    control: PlacedThread<()>,
    over: Arc<AtomicBool>,
    directory: PathBuf,
    refused: Vec<RefusedBySystem>,
    swept: Vec<String>,
}

/// Opens the adapters of `setup` at sockets in `directory`, which are named by the adapters'
/// numbers. END runs at `placement`, by default on the last processor that no other run has
/// claimed.
pub fn serve(setup: Setup, directory: &Path, placement: ThreadPlacement) -> io::Result<ViService> {
    serve_beside(setup, directory, placement, Beside::default())
}

/// [`serve`] with the records `beside`.
pub fn serve_beside(
    setup: Setup,
    directory: &Path,
    placement: ThreadPlacement,
    beside: Beside,
) -> io::Result<ViService> {
    let doors = Doors::open(directory, setup.nodes)?;
    let over = Arc::new(AtomicBool::new(false));
    let (desk, counter) = Desk::with_counter(&over);
    let claimed = claim_core(placement.core);
    let epoch = TickEpoch::starting_in(Span::ZERO, Ticks::calibrate(), Dilation::NONE);
    let placement = ThreadPlacement { core: claimed.core, ..placement };
    let mut end = spawn_on(placement, "vi-adapters", move || {
        let _held = claimed;
        run(setup, epoch, desk, beside)
    })
    .map_err(io::Error::other)?;
    let refused = std::mem::take(&mut end.refused);
    let swept = doors.swept().to_vec();
    let control = attend(doors, counter, over.clone())?;
    Ok(ViService { end, control, over, directory: directory.to_path_buf(), refused, swept })
}

fn attend(doors: Doors, counter: Counter, over: Arc<AtomicBool>) -> io::Result<PlacedThread<()>> {
    let control =
        spawn_on(ThreadPlacement::default(), "vi-control", move || control::serve(&doors, &counter, &over));
    control.map_err(io::Error::other)
}

impl ViService {
    /// Remains of killed runs that were removed.
    pub fn swept(&self) -> &[String] {
        &self.swept
    }

    /// Path of the socket of adapter `node`.
    pub fn socket(&self, node: usize) -> PathBuf {
        socket_of(&self.directory, node)
    }

    /// Stops the service; connected programs find that their provider has hung up.
    pub fn stop(self) -> io::Result<Served> {
        self.over.store(true, Ordering::Release);
        let broke = |_| io::Error::other("a thread of the adapters broke off");
        self.control.join().map_err(broke)?;
        let served = self.end.join().map_err(broke)?;
        Ok(Served { refused: self.refused, ..served })
    }
}

fn run(setup: Setup, epoch: TickEpoch, desk: Desk, beside: Beside) -> Served {
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

/// Starts a log of adapters that serve programs, in `file`: the first value takes the inputs, the
/// second ends the log.
pub fn log<W: Write + Send + 'static>(file: W, header: &LogHeader) -> io::Result<(Logging, Recorder)> {
    let (tape, recorder) = Recorder::begin::<W, inputs::Pending>(file, header)?;
    Ok((Logging(Journal::new(tape)), recorder))
}

/// Log of the inputs of adapters that serve programs.
pub struct Logging(Journal);
