//! Requests to a link with many channels.
//!
//! Whether all channels stay in time is a question about each of them, and its answer takes time in
//! proportion to their number. Sums over the channels answer it at once where the link has time to spare.
//! With straight lines above the steps of (1) of [`super::together`], all are through by
//!
//! ```text
//! b ≤ (lower + Σ_j ((a_j + 1) S_j + E_j S_j/I_j)) / (1 − Σ_j S_j/I_j).
//! ```
//!
//! If no deadline is earlier than that, all are in time, and a newcomer has that bound. Else each channel is
//! looked at. Promises are by [`RateTable::bounds`] in either case.

use laxity_units::Span;

use super::together::Line;
use super::{Behind, Pays, RateRequest, RateTable};
use laxity_qos::discipline::{Order, Sharing};

/// Channels from which on sums are tried.
const MANY: usize = 256;

/// Sums over the channels of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sums {
    line: Line,
    /// The part of the link that rates take, of [`Sharing::WHOLE`].
    rates: u128,
    /// The least deadline.
    due: Span,
    /// Channels of which the burst is not paid for everywhere.
    once: usize,
}

impl Default for Sums {
    fn default() -> Self {
        Self { line: Line::default(), rates: 0, due: Span::MAX, once: 0 }
    }
}

impl RateTable {
    /// The sums with `asked`.
    pub(super) fn summed(&self, sums: Sums, asked: &RateRequest) -> Sums {
        Sums {
            line: sums.line.and(&self.coming(asked, Span::ZERO)),
            rates: sums.rates.saturating_add(self.sharing.part(&self.share(asked))),
            due: sums.due.min(asked.request.deadline()),
            once: sums.once + usize::from(asked.pays != Pays::Everywhere),
        }
    }

    /// The sums where a channel pays for its burst in another way than `before`.
    pub(super) fn paid(&mut self, before: Pays, pays: Pays) {
        self.sums.once -= usize::from(before != Pays::Everywhere);
        self.sums.once += usize::from(pays != Pays::Everywhere);
    }

    /// The sums over all channels.
    pub(super) fn summed_anew(&self) -> Sums {
        self.channels.iter().fold(Sums::default(), |sums, channel| self.summed(sums, &channel.asked))
    }

    /// A bound of `asked` with which it and all channels are in time; `None` if sums do not show one.
    pub(super) fn at_once(&self, asked: &RateRequest) -> Option<Span> {
        let alone = self.row.is_none() && self.behind == Behind { depth: 1, once: Span::ZERO };
        let counts = alone && self.order.serves_rates_first() && self.order != Order::HierarchicalFair;
        if self.channels.len() < MANY || !counts || self.others() > 0 || !self.late.is_empty() {
            return None;
        }
        let Sums { line, rates, due, once } = self.summed(self.sums, asked);
        let through = line.through(self.lower(&self.sharing)).filter(|through| *through <= due)?;
        (once == 0 && rates <= Sharing::WHOLE).then_some(through)
    }
}
