//! Delay bounds of networks of FIFO and strict-priority servers (network calculus).
//!
//! The other proofs of the workspace need stations that hold early messages. An unmanaged switch
//! does not: its queues are FIFO, so a burst grows from hop to hop. This crate bounds the delay of
//! flows over a whole network of such queues. Four analyses compete ([`AnalysisMethod`]), and the least
//! bound counts, flow by flow:
//!
//! | module | analysis | tight where |
//! |---|---|---|
//! | `total` | total flow analysis, line shaping, packetisers; rings by a fixed point | many flows share few links |
//! | `logical` | the same from logical arrivals | a flow has bursts of its own |
//! | `separate` | separate flow analysis | a burst would be paid at each hop |
//! | `program` | linear program over the tree of a flow | both, at the cost of a program for each flow |
//!
//! Time is in picoseconds, amounts are in picobits and rates in bit/s, all integers. Rounding goes
//! up, so a bound is never below the exact value of its formula. The linear program is solved in
//! floating point, and its answer is proved in integers (`certificate`). The solver is `microlp`: it
//! is pure Rust, maintained, and the only such solver that also runs as WebAssembly.

mod analysis;
mod arrival;
mod certificate;
mod credit;
mod cyclic;
mod gates;
mod logical;
mod network;
mod output;
mod preemption;
mod program;
mod regulator;
mod row;
mod separate;
mod service;
mod total;
mod tree;
mod upstream;

#[cfg(test)]
mod tests;

pub use analysis::{AnalysisMethod, Effort, FlowBound, Unbounded, bounds, bounds_where};
pub use arrival::Bucket;
pub use cyclic::Cyclic;
pub use gates::Gates;
pub use network::{CopyOf, Flow, FramePreemption, Invalid, QueueNetwork, Server};
