mod apart;
mod at_once;
mod conservation;
mod exceeding;
mod groups;
mod share;
mod timelines;

use laxity_qos::virtual_clock::Vtick;
use laxity_units::{Bytes, Span, Time};

use super::*;

fn ns(ns: u64) -> Time {
    Time::ZERO + Span::from_ns(ns)
}

/// Best effort with receive descriptors without end.
const PLAIN: AdapterVi = AdapterVi { vtick: None, receives: None, share: None, process: 0 };

/// So much reserved: 4 KiB in every `us`.
fn reserved(us: u64) -> AdapterVi {
    AdapterVi { vtick: Some(Vtick::new(Span::from_us(us), Bytes::from_kib(4))), ..PLAIN }
}

fn message(vi: u32, number: u64, size: u64) -> ViMessage {
    ViMessage { vi, number, size: Bytes::new(size), directed: false, in_turn: false }
}

/// The adapter of Table 1 under `firmware`, if a look takes half a microsecond.
fn looks(firmware: Firmware) -> ViaConfig {
    ViaConfig { costs: FirmwareCosts::table_1(firmware, Span::from_ns(500)), ..ViaConfig::table_1(firmware) }
}

/// An adapter and its outputs.
struct Bench {
    via: Via,
    told: Vec<(Time, ViaOutput)>,
}

impl Bench {
    fn new(config: ViaConfig, vis: &[AdapterVi]) -> Self {
        let mut via = Via::new(config, vis.iter().copied());
        via.watch();
        Self { via, told: Vec::new() }
    }

    fn ring(&mut self, at: u64, doorbell: ViDoorbell) {
        self.until(ns(at));
        self.via.ring(ns(at), doorbell);
    }

    fn reach(&mut self, at: u64, message: ViMessage) {
        self.until(ns(at));
        self.via.reach(ns(at), message);
    }

    /// Calls the adapter whenever it wants to be.
    fn until(&mut self, end: Time) {
        while let Some(at) = self.via.next_deadline().filter(|at| *at <= end) {
            self.via.timer(at);
        }
        self.told.extend(std::iter::from_fn(|| self.via.next_output()));
    }

    fn finish(&mut self) -> &mut Self {
        self.until(Time::MAX);
        self
    }

    /// When the steps of message `number` of `vi` were done, in nanoseconds.
    fn steps(&self, vi: u32, number: u64) -> Vec<(ViStep, u64)> {
        let told = self.told.iter().filter_map(|(at, output)| match output {
            ViaOutput::Did(step, message, _) if (message.vi, message.number) == (vi, number) => {
                Some((*step, at.as_ps() / 1000))
            }
            _ => None,
        });
        told.collect()
    }

    /// The virtual interfaces of departed messages, in order.
    fn departures(&self) -> Vec<(u32, u64)> {
        let told = self.told.iter().filter_map(|(_, output)| match output {
            ViaOutput::Departs(message) => Some((message.vi, message.number)),
            _ => None,
        });
        told.collect()
    }
}
