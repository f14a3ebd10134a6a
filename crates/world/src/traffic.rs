//! Arrivals of channels at a station, for all analyses: how early messages are, and how many arrive
//! at once.

pub(crate) mod ahead;
pub(crate) mod conformance;
pub(crate) mod departures;
pub(crate) mod senders;
