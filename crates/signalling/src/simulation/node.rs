//! A node of a simulated network: a manager with a clock of its own, which crashes and restarts.

use laxity_engine::Seed;
use laxity_units::{Span, Time};

use super::settings;
use crate::contract::QuotaClaim;
use crate::exact::{Capacity, Exact};
use crate::faults::Fault;
use crate::identity::{Epoch, NodeId};
use crate::manager::Manager;
use crate::quota::{Quota, Quotas};

/// The most channels of the one owner at a node.
pub(super) const QUOTA: u64 = 5;

pub(super) struct Node {
    pub(super) id: NodeId,
    pub(super) manager: Option<Manager<Exact>>,
    pub(super) capacity: Capacity,
    /// Its lives so far.
    pub(super) lives: u32,
    /// Times that its clock was set forward, and back.
    pub(super) steps: [u32; 2],
    /// When it is to be woken, in true time.
    pub(super) wake: Time,
    drift: i64,
    /// A true time, and what the clock showed.
    set: (Time, Time),
    seed: u64,
    fault: Option<Fault>,
}

impl Node {
    pub(super) fn new(id: NodeId, capacity: Capacity, drift: i64, seed: u64, fault: Option<Fault>) -> Self {
        // Clocks differ, and there is time before the start to be set back to.
        let set = (Time::ZERO, Time::ZERO + Span::from_secs(1000) + Span::from_ms(777) * u64::from(id.0));
        let (lives, steps, wake) = (0, [0, 0], Time::MAX);
        let mut node = Self { id, manager: None, capacity, lives, steps, wake, drift, set, seed, fault };
        node.restart();
        node
    }

    pub(super) fn restart(&mut self) {
        self.lives += 1;
        self.wake = Time::MAX;
        let name = format!("jitter of {} in life {}", self.id, self.lives);
        let mut stream = Seed::new(self.seed).stream(&name);
        let jitter = Box::new(move || stream.next_u64());
        let resources = Exact::new(self.capacity.clone());
        let manager = Manager::new(self.id, Epoch(self.lives), settings(), resources, jitter);
        let quotas = Quotas::new(Quota {
            channels: QUOTA,
            claim: QuotaClaim { bandwidth: u64::MAX, buffers: u64::MAX, cpu: u64::MAX },
        });
        let manager = manager.with_quotas(quotas);
        #[cfg(feature = "faults")]
        let manager = manager.with_fault(self.fault);
        let _ = self.fault;
        self.manager = Some(manager);
    }

    /// The reading of its clock.
    pub(super) fn clock(&self, now: Time) -> Time {
        let passed = now.since(self.set.0);
        let rate = u64::try_from(1_000_000 + self.drift).expect("a clock goes forward");
        self.set.1 + passed.scale_floor(rate, 1_000_000)
    }

    /// When its clock shows `shown`, in true time, if it is not set meanwhile.
    pub(super) fn when(&self, now: Time, shown: Time) -> Time {
        let left = shown.saturating_since(self.clock(now));
        let rate = u64::try_from(1_000_000 + self.drift).expect("a clock goes forward");
        now.saturating_add(left.scale_ceil(1_000_000, rate)).saturating_add(Span::from_ps(2))
    }

    pub(super) fn step(&mut self, now: Time, forward: bool, by: Span) {
        let clock = self.clock(now);
        let clock = if forward { clock + by } else { clock.saturating_sub(by) };
        self.set = (now, clock);
        self.steps[usize::from(!forward)] += 1;
    }
}
