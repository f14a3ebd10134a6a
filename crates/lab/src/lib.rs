//! From a scenario file to a verdict: parse, sweep, run, measure, judge, show.

pub mod present;
pub mod results;
