//! The raw form of what computes at a host beside its communication, and of programs that take messages.

use laxity_scenario_keys::keys;

use super::CoreNumber;
use crate::leaf::{Bounded, Cost, Delay, Interval, PerByte, Whole};
use crate::written::Written;

/// An application that computes on the host's CPU, scheduled as handlers are. With a `budget` it is
/// real time, due in each period; without, best effort that always has more to do. Times are CPU
/// time as it is, whatever the `speedup`.
#[keys]
pub(crate) struct RawComputing {
    /// Its core. Default: the next in turn.
    pub(crate) core: Option<Written<CoreNumber>>,
    /// Work in each `period`. Default: all the time that is left.
    pub(crate) budget: Option<Written<Bounded<Interval>>>,
    /// How often the budget is given. Needed with one.
    pub(crate) period: Option<Written<Bounded<Interval>>>,
    /// By when a budget is to be done, from the beginning of its period. Default: the period's end.
    pub(crate) deadline: Option<Written<Bounded<Interval>>>,
    /// When the first period begins.
    #[key(default = "0 us")]
    pub(crate) start: Option<Written<Bounded<Delay>>>,
    /// Level of the budget under fixed priority, 0 the most urgent.
    #[key(default = 0)]
    pub(crate) level: Option<Written<Whole<0, 30>>>,
    /// How long it keeps the CPU before others are asked: what a block is to a handler.
    #[key(required)]
    pub(crate) slice: Option<Written<Bounded<Interval>>>,
}

/// The program that takes a channel's messages at the host where it ends. A message is delivered
/// when the program is done with it.
#[keys]
pub(crate) struct RawReader {
    /// Its core, of several. Default: its channel's.
    #[key(elsewhere)]
    pub(crate) core: Option<Written<CoreNumber>>,
    /// Work for a message, on the host's CPU and in the order in which handlers are served.
    #[key(default = "0 us")]
    pub(crate) work: Option<Written<Bounded<Cost>>>,
    /// Additional work for each byte.
    #[key(default = "0 ns")]
    pub(crate) work_byte: Option<Written<Bounded<PerByte>>>,
    /// Messages that may wait for it, the one that it has included; what finds no place is dropped.
    /// Default: the most that a channel that keeps its contract may have under way, for best effort
    /// `burst`.
    pub(crate) slots: Option<Written<Whole<1, 1_000_000>>>,
}
