//! An interrupt for each command: the host does not control the adapter's interrupts.
//!
//! The policy has the lowest latency on an idle host, and livelocks a busy one. Where the *routine*
//! does the protocol (the x-kernel of thesis 7.2.2), each packet costs `2 C_intr + C_ri` whether or
//! not it is delivered. The program gets no time from `A = 1 / (2 C_intr + C_ri)` packets a second
//! on (Eq. 7.2). Where the routine only notes the packet and the *kernel* does the protocol when no
//! interrupt waits (BSD's software interrupt; paper polling's "ISR handling"), the protocol itself
//! starves from `1 / C_intr` on.
//!
//! Early drop is independent of the policy: see `early_drop` of the interface.

use laxity_units::Time;

use super::{Again, Batch, Context, Load, Operations, Posted};

/// An interrupt for each command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerCommand {
    context: Context,
    /// Posted commands that have not interrupted yet, where the kernel executes them.
    owed: u32,
}

impl PerCommand {
    /// The routine executes the command.
    pub const ROUTINE: Self = Self { context: Context::Routine, owed: 0 };
    /// The routine notes the command, and the kernel executes it.
    pub const KERNEL: Self = Self { context: Context::Kernel, owed: 0 };
}

impl Operations for PerCommand {
    fn context(&self) -> Context {
        self.context
    }

    fn quota(&self) -> u32 {
        match self.context {
            Context::Routine => 1,
            _ => u32::MAX,
        }
    }

    fn posted(&mut self, _now: Time) {
        self.owed = self.owed.saturating_add(1);
    }

    fn lost(&mut self, _now: Time) {
        // The command interrupts in any case: only the routine finds out that the kernel's queue is
        // full.
        self.owed = self.owed.saturating_add(1);
    }

    fn interrupt_at(&self, posted: &Posted) -> Option<Time> {
        match self.context {
            Context::Routine => Some(posted.oldest),
            _ => (self.owed > 0).then_some(posted.oldest),
        }
    }

    fn entered(&mut self, _now: Time) {
        self.owed = self.owed.saturating_sub(1);
    }

    fn left(&mut self, _now: Time, _batch: &Batch, load: &Load) -> Again {
        // After a batch that the sharing ended: the waiting commands have interrupted already.
        if self.context == Context::Kernel && load.waiting > 0 { Again::AtOnce } else { Again::OnSignal }
    }
}
