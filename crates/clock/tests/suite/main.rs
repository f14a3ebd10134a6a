//! Node clocks against a simulation that knows the true time.

mod crossing;
mod simulation;
mod synchronisation;
