//! How channels' traffic comes to a station, whichever analysis asks: how far ahead of its time, and how much of it at once.

pub(crate) mod ahead;
pub(crate) mod departures;
pub(crate) mod senders;
