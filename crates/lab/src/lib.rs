//! From a scenario file to a verdict: parse, sweep, run, measure, judge, show.

pub mod attack;
pub mod claims;
mod coverage;
pub mod diagnostic;
pub mod draw;
pub mod glossary;
mod measure;
pub mod output;
pub mod pipeline;
pub mod present;
pub mod profile;
pub mod promise;
pub mod results;
pub mod scenario;
pub mod sweep;
pub mod world;
