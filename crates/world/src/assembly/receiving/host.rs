//! The receiving host: the model's, or a real one.

use laxity_model::reception::{Arrived, ClockTicks, InterfaceReport, Receiver, Reception, ReceptionUses};
use laxity_qos::reception::Policy;
use laxity_units::{Span, Time};

/// The host that receives, and the adapters at its interfaces.
pub trait ReceivingHost {
    /// A packet is complete at `interface`. Returns whether it may have done more than wait there.
    fn arrive(&mut self, now: Time, interface: usize, packet: Arrived) -> bool;

    /// The time that [`next_deadline`](Self::next_deadline) named is reached, or the clock was
    /// woken.
    fn timer(&mut self, now: Time);

    /// When it next wants [`timer`](Self::timer) to be called.
    fn next_deadline(&self) -> Option<Time>;

    /// The next output and its time, which is not after now; each output is returned once, and the
    /// caller polls until there is none.
    fn next_output(&mut self) -> Option<&(Time, Reception)>;

    /// The CPU's use until `now`.
    fn uses(&self, now: Time) -> ReceptionUses;

    /// CPU time that a program beside it has had; `None` if there is no such program.
    fn beside(&self) -> Option<Span> {
        None
    }

    /// Whether what is left of the CPU goes into asking adapters.
    fn spins(&self) -> bool;

    /// The report of an interface.
    fn report(&self, interface: usize) -> InterfaceReport;

    /// Changes the policy of `interface`, with a clock of that tick interval if it has one. Only
    /// the model's host can change: in real time there are no commands.
    fn change_policy(&mut self, now: Time, interface: usize, policy: Policy, ticks: Option<Span>);

    /// The CPU's current work and its start, if known.
    fn work(&self) -> Option<(&'static str, Time)> {
        None
    }
}

impl ReceivingHost for Receiver {
    #[inline]
    fn arrive(&mut self, now: Time, interface: usize, packet: Arrived) -> bool {
        Receiver::arrive(self, now, interface, packet)
    }

    #[inline]
    fn timer(&mut self, now: Time) {
        Receiver::timer(self, now);
    }

    #[inline]
    fn next_deadline(&self) -> Option<Time> {
        Receiver::next_deadline(self)
    }

    #[inline]
    fn next_output(&mut self) -> Option<&(Time, Reception)> {
        Receiver::next_output(self)
    }

    fn uses(&self, now: Time) -> ReceptionUses {
        Receiver::uses(self, now)
    }

    fn spins(&self) -> bool {
        Receiver::spins(self)
    }

    fn report(&self, interface: usize) -> InterfaceReport {
        Receiver::report(self, interface)
    }

    fn change_policy(&mut self, now: Time, interface: usize, policy: Policy, ticks: Option<Span>) {
        Receiver::change_policy(self, now, interface, policy, ticks.map(ClockTicks::Hard));
    }

    fn work(&self) -> Option<(&'static str, Time)> {
        Receiver::work(self)
    }
}
