//! From a scenario file to a verdict: parse, sweep, run, measure, judge, show.

pub mod claims;
pub mod diagnostic;
pub mod present;
pub mod profile;
pub mod results;
pub mod scenario;
pub mod sweep;
