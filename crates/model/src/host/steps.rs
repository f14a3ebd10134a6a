//! Steps of the cores: they serve interrupts, resume interrupted work, and ask the subsystem for
//! the next step.

use laxity_qos::channel::{CoreId, Packet, Slot, Step, TakenPacket, Thread};
use laxity_qos::costs::HostCosts;
use laxity_qos::seldom::{mostly, seldom};
use laxity_units::{Span, Time};

use super::activity::{Activity, Kind, Use, copied_in, cost_of, cost_of_transmit, use_of};
use super::core::{Core, Pending};
use super::{Entry, Host, Interrupt, Output, answers};
use crate::around::Around;

/// Reports a core's copy of this duration.
fn copies(span: Span, around: &mut impl Around<Output<Slot>>) {
    if !span.is_zero() {
        around.tell(Output::Copies(span));
    }
}

/// Cost of an interrupt before its handler acts.
#[inline]
fn cost_of_interrupt(costs: &HostCosts, Pending { interrupt, entry, .. }: &Pending) -> Span {
    let response = if interrupt.packet().is_none() { Span::ZERO } else { costs.response };
    response
        + match entry {
            Entry::Interrupt => costs.interrupt,
            Entry::Look => costs.poll,
            Entry::Timer => costs.timer,
            Entry::Call => costs.ipi,
            Entry::Further => Span::ZERO,
        }
}

impl Host {
    #[inline]
    fn core(&mut self, core: CoreId) -> &mut Core {
        &mut self.cores[usize::from(core.0)]
    }

    #[inline]
    fn all_cores(&self) -> impl Iterator<Item = CoreId> + use<> {
        (0..self.cores.len() as u8).map(CoreId)
    }

    /// Wakes idle cores at no cost for work from outside the host.
    #[inline]
    pub(super) fn came_from_outside(&mut self) {
        if !self.cores.is_one() {
            for core in self.all_cores() {
                if self.core(core).asleep && self.subsystem.was_called(core) {
                    self.core(core).asleep = false;
                }
            }
        }
    }

    /// Advances all cores to `now`.
    ///
    /// A due timer goes first at its instant: the queues are checked for eligible packets before
    /// any is served. A step of one core may unblock another, so all cores are polled until none
    /// has work.
    pub(super) fn settle(&mut self, now: Time, around: &mut impl Around<Output<Slot>>) {
        if mostly(self.cores.is_one()) {
            loop {
                self.cores.first_mut().wake(now);
                while self.advance(CoreId::FIRST, now, around) {}
                if !self.ask(CoreId::FIRST, now) {
                    self.due = self.cores.first().due();
                    return;
                }
            }
        }
        self.settle_all(now, around);
        self.due = self.cores.iter().map(Core::due).min().unwrap_or(Time::MAX);
    }

    /// As `settle`, for several cores.
    #[inline(never)]
    fn settle_all(&mut self, now: Time, around: &mut impl Around<Output<Slot>>) {
        loop {
            self.cores.each(|core| core.wake(now));
            while self.advance_all(now, around) {}
            let mut wakes = false;
            for core in self.all_cores() {
                wakes |= self.ask(core, now);
            }
            if !wakes {
                return;
            }
        }
    }

    /// Sets the subsystem's next wake-up of `core`; returns whether it is due now.
    #[inline(always)]
    fn ask(&mut self, core: CoreId, now: Time) -> bool {
        let wakeup = self.subsystem.next_awaited(core, now);
        let core = self.core(core);
        // A wake-up already announced is not repeated.
        core.wakeup = if wakeup > now || !core.awake { wakeup } else { Time::MAX };
        core.wakeup <= now
    }

    /// Advances each core by itself as far as possible; returns whether any advanced.
    fn advance_all(&mut self, now: Time, around: &mut impl Around<Output<Slot>>) -> bool {
        let mut any = false;
        for core in self.all_cores() {
            while self.advance(core, now, around) {
                any = true;
            }
        }
        any
    }

    /// Performs one step due at `now` on `core`; returns whether there was one.
    // Inlined, so that a host with one core does not search.
    #[inline(always)]
    fn advance(&mut self, core: CoreId, now: Time, around: &mut impl Around<Output<Slot>>) -> bool {
        let of = &mut self.cores[usize::from(core.0)];
        if let Some(interrupt) = &of.interrupt {
            if seldom(interrupt.spins()) {
                return self.stop_spinning(core, now, around);
            }
            let ended = interrupt.ends <= now;
            if ended {
                self.finish_interrupt(core, now, around);
            }
            return ended;
        }
        if let Some(pending) = of.pending.front()
            && !of.running.as_ref().is_some_and(Activity::masks_interrupts)
        {
            let cost = cost_of_interrupt(&self.costs, pending);
            let kind = match pending.interrupt.packet() {
                Some(packet) => Kind::Interrupt(around.packets().at(*packet).channel),
                None => Kind::Alert,
            };
            let activity = Activity::above(now, cost, Use::Interrupt, kind);
            if let Some(running) = of.running.as_mut().filter(|_| of.interrupted.is_none()) {
                self.account.log(core, running, now, around);
                of.interrupted = Some(running.ends.saturating_since(now));
            }
            of.asleep = false;
            of.interrupt = Some(activity);
            return true;
        }
        if let Some(left) = of.interrupted.take() {
            let activity = of.running.as_mut().expect("a thread was interrupted");
            activity.began = now;
            activity.ends = now + left;
            return true;
        }
        if let Some(activity) = &of.running {
            if seldom(activity.spins()) {
                return self.stop_spinning(core, now, around);
            }
            if activity.ends > now {
                return seldom(self.preemptive) && self.preempt(core, now, around);
            }
            self.finish(core, now, around);
            return true;
        }
        if of.asleep && seldom(self.is_called(core)) {
            self.core(core).pending.push_back(Pending::CALL);
            return true;
        }
        let sent = self.retry(core, now, around);
        let started = self.start(core, now, around);
        if mostly(self.cores.is_one() && !self.preemptive) {
            // Non-preemptive work that takes time is the only step until it ends.
            return started && self.cores.first().running.as_ref().is_some_and(|of| of.ends <= now);
        }
        // A sent message may be for another core.
        started || sent && !self.cores.is_one()
    }

    /// Resumes blocked applications of `core`; returns whether the core has new work.
    #[inline]
    fn retry(&mut self, core: CoreId, now: Time, around: &mut impl Around<Output<Slot>>) -> bool {
        let Self { senders, subsystem, .. } = self;
        let may = !self.cores.is_one() || senders.may_go_on(subsystem);
        may && senders.retry(now, core, subsystem, &mut answers(around))
    }

    /// Whether another core has given the idle `core` work, at the cost of an interrupt.
    #[inline]
    fn is_called(&mut self, core: CoreId) -> bool {
        !self.cores.is_one() && !self.costs.ipi.is_zero() && self.subsystem.was_called(core)
    }

    #[inline(always)]
    fn start(&mut self, core: CoreId, now: Time, around: &mut impl Around<Output<Slot>>) -> bool {
        let step = self.subsystem.next_step(core, now);
        let (thread, work, used, kind) = match step {
            Step::Idle => {
                if seldom(!self.cores.is_one()) {
                    self.core(core).asleep = true;
                    self.subsystem.was_called(core);
                }
                return false;
            }
            Step::Process { thread, channel, work, bytes, resumed } => {
                let left = if seldom(resumed) { self.left.remove(&thread) } else { None };
                let cost = left.unwrap_or_else(|| {
                    copies(copied_in(&self.costs, work, bytes), around);
                    let real_time = seldom(!self.costs.real_time_packet.is_zero())
                        && self.subsystem.is_real_time(channel);
                    cost_of(&self.costs, work, bytes, real_time)
                });
                (thread, cost, use_of(work), Kind::Process(channel))
            }
            Step::Transmit { thread, packet, new_thread } => {
                let creation = if new_thread { self.costs.thread_creation } else { Span::ZERO };
                let of = around.packets().at(packet);
                let (size, kind) = (of.size, Kind::Transmit(of.channel));
                let cost = creation + cost_of_transmit(&self.costs, self.paradigm, size);
                copies(self.costs.transfer_byte * size.get(), around);
                self.handing = Some(packet);
                (thread, cost, Use::LinkScheduling, kind)
            }
            Step::Spin { thread } => {
                let of = self.core(core);
                of.asleep = false;
                of.running = Some(Activity { thread, ..Activity::spinning(now) });
                return true;
            }
            Step::Application { channel } => {
                let messages = self.senders.dispatch(channel, &self.subsystem);
                let cost = self.costs.send_call * messages;
                (Thread::Application(channel), cost, Use::Application, Kind::Send(channel))
            }
            Step::Compute { thread, application, work } => {
                (thread, work, Use::Computation, Kind::Compute(application))
            }
            Step::Read { thread, channel, work } => (thread, work, Use::Program, Kind::Read(channel)),
        };
        let switch = self.costs.switch();
        let of = self.core(core);
        let switches = of.last_thread.is_some_and(|last| last != thread);
        let switch = if switches { switch } else { Span::ZERO };
        of.last_thread = Some(thread);
        of.asleep = false;
        of.running = Some(Activity::of(thread, switch, (now, work), used, kind));
        true
    }

    /// Ends the spin of `core` if it has entered the link scheduler; returns whether it has.
    #[cold]
    #[inline(never)]
    fn stop_spinning(&mut self, core: CoreId, now: Time, around: &mut impl Around<Output<Slot>>) -> bool {
        if !self.subsystem.is_let_in(core) {
            return false;
        }
        let of = &mut self.cores[usize::from(core.0)];
        if let Some(mut interrupt) = of.interrupt.take() {
            self.account.log(core, &mut interrupt, now, around);
            self.schedule_links(core, now, around);
        } else if let Some(mut running) = of.running.take() {
            self.account.log(core, &mut running, now, around);
            self.start(core, now, around);
        }
        true
    }

    /// Finishes the thread's work.
    #[inline(always)]
    fn finish(&mut self, core: CoreId, now: Time, around: &mut impl Around<Output<Slot>>) {
        let of = &mut self.cores[usize::from(core.0)];
        let activity = of.running.as_mut().expect("a thread runs");
        self.account.log(core, activity, now, around);
        let kind = activity.kind;
        of.running = None;
        match kind {
            Kind::Process(_) => {
                let finished = self.subsystem.finish(core, now, around.packets());
                if let Some(delivery) = finished.delivered {
                    around.tell(Output::Delivered(delivery));
                } else if let Some((channel, message)) = finished.lost {
                    around.tell(Output::Lost { channel, message });
                }
            }
            Kind::Transmit(_) => self.hand_over(core, around),
            Kind::Send(channel) => {
                self.senders.send(now, channel, &mut self.subsystem, &mut answers(around));
            }
            Kind::Compute(_) => {
                if let Some(done) = self.subsystem.computed(core, now, Span::ZERO) {
                    around.tell(Output::Computed(done));
                }
            }
            Kind::Read(_) => {
                if let Some(delivery) = self.subsystem.read(core, now, Span::ZERO) {
                    around.tell(Output::Delivered(delivery));
                }
            }
            Kind::Interrupt(_) | Kind::Alert => unreachable!("interrupts have their own place"),
            Kind::Spin => unreachable!("who spins is never done by itself"),
        }
    }

    /// Link scheduling is done, and the packet is handed over.
    fn hand_over(&mut self, core: CoreId, around: &mut impl Around<Output<Slot>>) {
        let packet = self.handing.take().expect("the link was scheduled for a packet");
        let link = self.subsystem.link_of(around.packets().at(packet).channel);
        self.subsystem.handed_over(core);
        around.tell(Output::Transmit(link, packet));
    }

    /// Schedules links in an interrupt, where the configuration says so.
    fn schedule_links(&mut self, core: CoreId, now: Time, around: &mut impl Around<Output<Slot>>) {
        match self.subsystem.interrupt_transmit(core, now) {
            TakenPacket::Packet(packet) => {
                let of = around.packets().at(packet);
                let cost = cost_of_transmit(&self.costs, self.paradigm, of.size);
                self.handing = Some(packet);
                let activity = Activity::above(now, cost, Use::LinkScheduling, Kind::Transmit(of.channel));
                self.core(core).interrupt = Some(activity);
            }
            TakenPacket::Held => self.core(core).interrupt = Some(Activity::spinning(now)),
            TakenPacket::Nothing => self.core(core).woken = false,
        }
    }

    #[inline(always)]
    fn finish_interrupt(&mut self, core: CoreId, now: Time, around: &mut impl Around<Output<Slot>>) {
        let of = &mut self.cores[usize::from(core.0)];
        let activity = of.interrupt.as_mut().expect("an interrupt runs");
        self.account.log(core, activity, now, around);
        let schedules_link = activity.masks_interrupts();
        of.interrupt = None;
        if schedules_link {
            self.hand_over(core, around);
            // With one link the next completion is another interrupt; with several, each may have
            // waited for this one. One timer covers all packets that became eligible when it was
            // due, and several may fit.
            if seldom(self.subsystem.links() > 1 || self.core(core).woken) {
                self.schedule_links(core, now, around);
            }
            return;
        }
        let Self { subsystem, senders, .. } = self;
        let Pending { interrupt, link, queue, .. } =
            of.pending.pop_front().expect("what is served is pending");
        if interrupt.packet().is_some() {
            around.tell(Output::Read(link, queue));
        }
        match interrupt {
            Interrupt::Transmitted(packet) => {
                let packet = around.packets().free(packet);
                subsystem.transmitted(core, now, packet);
                senders.returned(packet);
            }
            Interrupt::Failed(packet, cause) => {
                let packet = around.packets().free(packet);
                subsystem.failed(core, now, packet, cause);
                senders.returned(packet);
            }
            Interrupt::Progress(_) | Interrupt::Nothing => {}
            Interrupt::Handshake(packet) => around.tell(Output::Proceed(link, packet)),
            Interrupt::Received(packet) => {
                let packets = around.packets();
                // The subsystem counts a packet that finds no buffer.
                let &Packet { channel, message, .. } = packets.at(packet);
                let received = subsystem.receive(now, channel, packet, packets);
                let lost = received.expect("an adapter receives packets of open channels only");
                if seldom(lost.is_some()) {
                    around.tell(Output::Lost { channel, message });
                }
            }
            Interrupt::Timer => {
                (of.awake, of.woken) = (false, true);
                subsystem.wakeup(core, now);
            }
        }
        self.schedule_links(core, now, around);
    }

    /// Preempts the packet or slice in progress if more urgent work waits and policy allows.
    #[inline(never)]
    fn preempt(&mut self, core: CoreId, now: Time, around: &mut impl Around<Output<Slot>>) -> bool {
        let gives_way = |a: &Activity| matches!(a.kind, Kind::Process(_) | Kind::Compute(_) | Kind::Read(_));
        let of = &mut self.cores[usize::from(core.0)];
        if !of.running.as_ref().is_some_and(gives_way) || !self.subsystem.wants_preemption(core, now) {
            return false;
        }
        let mut activity = of.running.take().expect("a packet is in progress");
        self.account.log(core, &mut activity, now, around);
        let thread = activity.thread.expect("a thread processes packets");
        // The rest of a switch is lost: a resumed thread is switched to again.
        let left = activity.ends.saturating_since(now).saturating_sub(activity.switch);
        match activity.kind {
            Kind::Compute(_) => drop(self.subsystem.computed(core, now, left)),
            Kind::Read(_) => drop(self.subsystem.read(core, now, left)),
            _ => {
                self.left.insert(thread, left);
                self.subsystem.preempt(core, now);
            }
        }
        true
    }
}
