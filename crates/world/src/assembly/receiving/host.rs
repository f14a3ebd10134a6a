//! Who receives: the model's host, or one that is real.

use laxity_model::reception::{Arrived, InterfaceReport, Receiver, Reception, ReceptionUses, Ticks};
use laxity_qos::reception::Policy;
use laxity_units::{Span, Time};

/// The host that receives, and the adapters at its interfaces.
pub trait ReceivingHost {
    /// A packet is whole at `interface`. Whether more may have come of that than that it waits there.
    fn arrive(&mut self, now: Time, interface: usize, packet: Arrived) -> bool;

    /// The time that [`next_deadline`](Self::next_deadline) named has come, or the clock was woken.
    fn timer(&mut self, now: Time);

    /// When it next wants [`timer`](Self::timer) to be called.
    fn next_deadline(&self) -> Option<Time>;

    /// The next of what has become of packets, and when, which is not after now; told once, and to be asked for until there is none.
    fn next_output(&mut self) -> Option<&(Time, Reception)>;

    /// What the CPU was used for, up to `now`.
    fn uses(&self, now: Time) -> ReceptionUses;

    /// CPU time that a program beside it has had; `None` if there is no such program.
    fn beside(&self) -> Option<Span> {
        None
    }

    /// Whether what is left of the CPU goes into asking adapters.
    fn spins(&self) -> bool;

    /// What an interface has been through.
    fn report(&self, interface: usize) -> InterfaceReport;

    /// `interface` is told to go by another policy, with a clock that ticks so far apart if it has one. Only the model's host
    /// can be told: in real time there are no commands.
    fn change_policy(&mut self, now: Time, interface: usize, policy: Policy, ticks: Option<Span>);

    /// What the CPU is at, and since when, if somebody knows.
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
        Receiver::change_policy(self, now, interface, policy, ticks.map(Ticks::Hard));
    }

    fn work(&self) -> Option<(&'static str, Time)> {
        Receiver::work(self)
    }
}
