//! Programs hold their channels by leases.

use laxity_units::Time;

use super::Manager;
use crate::call::State;
use crate::faults::Fault;
use crate::identity::Program;
use crate::resources::Resources;

/// A program's hold on its channels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lease {
    /// The end; [`Time::MAX`] while the channels of a dead program are being closed.
    until: Time,
    calls: usize,
    /// When the lease is looked at next, in the queue of leases; a renewal does not move it.
    queued: Time,
}

impl<R: Resources> Manager<R> {
    /// The program is alive: its channels stay for another lease.
    pub fn renew(&mut self, now: Time, program: Program) {
        let now = self.passed(now);
        if self.programs.contains_key(&program) {
            self.renewed(now, program, 0);
        }
    }

    /// Renews the lease of a program, which has `more` channels from now on.
    pub(super) fn renewed(&mut self, now: Time, program: Program, more: usize) {
        let until = now.saturating_add(self.settings.program_lease);
        let fresh = Lease { until, calls: 0, queued: Time::MAX };
        let lease = self.programs.entry(program).or_insert(fresh);
        lease.until = until;
        lease.calls += more;
        if lease.queued == Time::MAX {
            lease.queued = until;
            self.leases.insert((until, program));
        }
    }

    /// A channel of the program is over.
    pub(super) fn forget_call_of(&mut self, program: Program) {
        let Some(lease) = self.programs.get_mut(&program) else { return };
        lease.calls -= 1;
        if lease.calls == 0 {
            self.leases.remove(&(lease.queued, program));
            self.programs.remove(&program);
        }
    }

    /// Closes the channels of each program with a lease that is over.
    pub(super) fn bury(&mut self, now: Time) {
        while let Some(&(at, program)) = self.leases.first().filter(|(at, _)| *at <= now) {
            self.leases.remove(&(at, program));
            let immortal = self.broken(Fault::ProgramNeverDies);
            let Some(lease) = self.programs.get_mut(&program) else { continue };
            if lease.until > now {
                lease.queued = lease.until;
                self.leases.insert((lease.until, program));
                continue;
            }
            // Its channels are being closed: they hold the entry until they are.
            (lease.until, lease.queued) = (Time::MAX, Time::MAX);
            if immortal {
                continue;
            }
            let open = self
                .calls
                .iter()
                .filter(|(_, call)| call.program == program && !matches!(call.state, State::Closing { .. }));
            for local in open.map(|(local, _)| *local).collect::<Vec<_>>() {
                self.begin_release(now, local, true);
            }
        }
    }
}
