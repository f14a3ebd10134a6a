//! The credit of a class with a credit-based shaper.

use laxity_units::{Bytes, Span};

use super::Shaper;

/// A credit, in picobits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Credit {
    shaper: Shaper,
    value: i128,
}

impl Credit {
    pub(super) fn of(shaper: Shaper) -> Self {
        Self { shaper, value: 0 }
    }

    pub(super) fn level(&self) -> u8 {
        self.shaper.level
    }

    pub(super) fn is_positive(&self) -> bool {
        self.value >= 0
    }

    /// A time passes in which the class waits or sends, or does neither.
    ///
    /// The bits of a frame are spent when it begins, so a credit grows while its class sends: at the
    /// end of the frame both ways of counting agree.
    pub(super) fn pass(&mut self, time: Span, waits: bool) {
        let grown = self.value + i128::from(self.slope()) * i128::from(time.as_ps());
        self.value = match (waits, self.value >= 0) {
            (true, _) => grown,
            (false, true) => 0,
            (false, false) => grown.min(0),
        };
    }

    /// A frame of so many bytes on the link begins.
    pub(super) fn spend(&mut self, on_link: Bytes) {
        self.value -= i128::from(on_link.get()) * 8_000_000_000_000;
    }

    /// Time, rounded up, after which the credit is not negative, if the class waits.
    pub(super) fn until_positive(&self) -> Span {
        let missing = u128::try_from(-self.value).unwrap_or(0);
        let time = missing.div_ceil(u128::from(self.slope()));
        Span::from_ps(u64::try_from(time).unwrap_or(u64::MAX))
    }

    fn slope(&self) -> u64 {
        self.shaper.idle_slope.bits_per_sec().max(1)
    }
}
