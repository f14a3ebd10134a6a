//! Load of a bandwidth on an adapter: the firmware's parameters for it, and whether there is enough
//! left, so that no unit is utilised beyond its capacity.
//!
//! By the stage times, a reservation takes a part of every second of each unit: the sender's
//! processor, HDMA and NSDMA, the receiver's processor, HDMA and NRDMA. That the sum fits is
//! necessary for a rate; it is no bound on a delay, which requires the analysis of a scenario.

use laxity_model::via::ViaConfig;
use laxity_qos::virtual_clock::Vtick;
use laxity_units::{Bytes, Rate, Span};
use laxity_vi::Bandwidth;

/// Picoseconds in a second.
const SECOND: u128 = 1_000_000_000_000;

/// Time demanded of each unit in every second, in picoseconds: processor, HDMA, NSDMA, NRDMA.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Load([u128; 4]);

impl Load {
    /// Load of `bandwidth`, at the sender or at the receiver.
    pub(super) fn of(config: &ViaConfig, bandwidth: Bandwidth, sends: bool) -> Self {
        let Some((rate, size)) = bandwidth.reserved() else { return Self::default() };
        let (costs, engines, bytes) = (&config.costs, &config.engines, Bytes::new(size));
        let further = costs.fragment.saturating_mul(size.div_ceil(1024).saturating_sub(1));
        let sum = |spans: &[Span]| spans.iter().fold(Span::ZERO, |sum, span| sum.saturating_add(*span));
        let handling = [costs.doorbell, costs.data, further, costs.status, costs.finish];
        // A poll for each handled item: doorbell, descriptor, data, the network, status.
        let looks = costs.poll.saturating_mul(5);
        let network = engines.network.takes(bytes);
        let units = match sends {
            true => [
                sum(&[sum(&handling), costs.queue, costs.start, looks]),
                sum(&[engines.descriptor, engines.down.takes(bytes), engines.status]),
                network,
                Span::ZERO,
            ],
            false => [
                sum(&[sum(&handling), costs.note, looks]),
                sum(&[engines.descriptor, engines.up.takes(bytes), engines.status]),
                Span::ZERO,
                network,
            ],
        };
        // A unit with zero service time has zero load.
        Self(units.map(|span| (u128::from(span.as_ps()) * u128::from(rate)).div_ceil(u128::from(size))))
    }

    pub(super) fn and(self, other: Self) -> Self {
        let mut sum = self.0;
        sum.iter_mut().zip(other.0).for_each(|(sum, other)| *sum = sum.saturating_add(other));
        Self(sum)
    }

    pub(super) fn fits(self) -> bool {
        self.0.iter().all(|time| *time <= SECOND)
    }
}

/// Parameters of a bandwidth for the firmware.
pub(super) fn vtick(bandwidth: Bandwidth) -> Option<Vtick> {
    let (rate, message) = bandwidth.reserved()?;
    let size = Bytes::new(message);
    Some(Vtick::new(Rate::from_bytes_per_sec(rate).time_for_ceil(size), size))
}

#[cfg(test)]
mod tests {
    use laxity_model::via::Firmware;

    use super::*;

    #[test]
    fn the_unit_that_is_asked_for_most_limits() {
        let config = ViaConfig::table_1(Firmware::QualityOfService);
        let rate = |bytes_per_second| Bandwidth::Constant { bytes_per_second, message: 4096 };
        let sent = |bytes| Load::of(&config, rate(bytes), true);
        // HDMA: 2.5, 1.6 + 4096 · 7.85 ns and 1.2 us, 37.4536 us for 4096 B: 109.36 MB/s. The
        // processor needs less.
        assert!(sent(109_300_000).fits() && !sent(109_400_000).fits());
        assert!(sent(60_000_000).and(sent(49_300_000)).fits());
        assert!(!sent(60_000_000).and(sent(49_400_000)).fits());
        // Sending and receiving share HDMA and the processor, but not the network.
        let back = |bytes| Load::of(&config, rate(bytes), false);
        assert!(!sent(109_300_000).and(back(1_000_000)).fits());
        assert_eq!(Load::of(&config, Bandwidth::None, true), Load::default());
    }
}
