//! END's part: interfaces that write batches as frames to devices.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use laxity_machine::ring::Consumer;
use laxity_machine::socket::received;
use laxity_model::reception::{
    Arrived, Interface, InterfaceCommand, InterfaceReport, Pool, Reception, ReceptionUses,
};
use laxity_qos::channel::Dropped;
use laxity_qos::reception::sharing::BatchTaken;
use laxity_qos::reception::{Batch, Operations, Policy};
use laxity_units::{Span, Time};
use laxity_world::experiment::Experiment;
use laxity_world::receiving::ReceivingHost;

use super::program::{Done, Shared};
use super::site::Site;
use crate::receiver::end::Account;
use crate::receiver::receiver_of;

/// Delay before an interrupt without taken packets is retried.
const RETRY: Span = Span::from_us(100);
/// Commands of a batch executed before control returns to the world: arrivals meanwhile keep their
/// time, and a step of the emulating thread stays shorter than a stall.
const AT_ONCE: u32 = 2;

/// Frame handed to the kernel that the program has not completed.
#[derive(Debug, Clone, Copy)]
struct Handed {
    interface: usize,
    packet: Arrived,
    /// Whether it was given a buffer. Otherwise the kernel drops it, or has room after all.
    has_buffer: bool,
}

#[derive(Debug)]
struct Open {
    began: Time,
    taken: BatchTaken,
    received: u32,
}

/// Interfaces that hand frames to a kernel.
pub(in crate::receiver) struct Handing {
    interfaces: Vec<Interface>,
    /// Per interface: batch in progress.
    open: Vec<Option<Open>>,
    /// No interrupts before this time.
    retry: Time,
    site: Site,
    shared: Arc<Shared>,
    heard: Consumer<Done>,
    /// Frames handed to the kernel, in order, and the number of the first of them.
    handed: VecDeque<Handed>,
    first: u64,
    /// Number of full buffers.
    full: u32,
    ended: VecDeque<(Time, Reception)>,
    /// Last outcome passed to the world.
    told: Option<(Time, Reception)>,
    deadline: Option<Time>,
    account: Account,
    /// Frames that a device refused.
    unwritten: u64,
}

impl Handing {
    pub(super) fn new(
        experiment: &Experiment,
        site: Site,
        shared: Arc<Shared>,
        heard: Consumer<Done>,
    ) -> Self {
        let interfaces = experiment.interfaces_at_rest(receiver_of(experiment));
        Self {
            open: interfaces.iter().map(|_| None).collect(),
            interfaces,
            retry: Time::ZERO,
            site,
            shared,
            heard,
            handed: VecDeque::new(),
            first: 0,
            full: 0,
            ended: VecDeque::new(),
            told: None,
            deadline: None,
            account: Account::default(),
            unwritten: 0,
        }
    }

    pub(in crate::receiver) fn account(&self) -> Account {
        self.account
    }

    /// Packets held by an adapter, the kernel or the program.
    pub(in crate::receiver) fn under_way(&self) -> u64 {
        let held: usize = self.interfaces.iter().map(Interface::held).sum();
        (held + self.handed.len() + self.ended.len()) as u64
    }

    pub(in crate::receiver) fn close(&self) {
        self.shared.over.store(true, Ordering::Release);
    }

    /// Datagrams dropped at the socket, by the kernel's count, and frames that a device refused.
    pub(in crate::receiver) fn kernel_drops(&self) -> (u64, u64) {
        (received(self.site.socket()).map_or(0, |socket| u64::from(socket.dropped)), self.unwritten)
    }

    /// Records the frames that the program has completed.
    fn hear(&mut self, now: Time) {
        let before = self.full;
        while let Some((number, at)) = self.heard.take() {
            while self.first <= number
                && let Some(handed) = self.handed.pop_front()
            {
                let end = match self.first == number {
                    true => Reception::delivered(handed.packet),
                    false => Reception::dropped(handed.packet, Dropped::ReceiveBuffers),
                };
                self.first += 1;
                self.ended.push_back((at.min(now), end));
                if handed.has_buffer {
                    self.full -= 1;
                    self.interfaces[handed.interface].release_buffer(handed.packet.class);
                }
            }
        }
        // A policy that waits for an idle host lets the adapter interrupt now.
        if before > 0 && self.full == 0 {
            self.interfaces.iter_mut().for_each(|interface| interface.policy.idle(now));
        }
    }

    /// Interrupts where a policy requires it, continues batches, and sets the next deadline.
    fn look(&mut self, now: Time) {
        self.deadline = None;
        for i in 0..self.interfaces.len() {
            self.interfaces[i].transferred(now);
            if self.open[i].is_none() && self.interrupts_at(i).is_some_and(|at| at <= now) {
                self.interrupt(now, i);
            }
            if let Some(open) = self.open[i].take() {
                self.batch(now, i, open);
            }
            let next = if self.open[i].is_some() { Some(now) } else { self.interrupts_at(i) };
            self.deadline = Time::earlier(self.deadline, next);
            self.deadline = Time::earlier(self.deadline, self.interfaces[i].transfer_ends());
        }
    }

    fn interrupts_at(&self, i: usize) -> Option<Time> {
        Some(self.interfaces[i].interrupt_at(self.full)?.max(self.retry))
    }

    fn interrupt(&mut self, now: Time, i: usize) {
        let report = &mut self.interfaces[i].report;
        let taken = BatchTaken { batches: report.batches, ..BatchTaken::default() };
        report.batches += 1;
        report.interrupts += 1;
        self.interfaces[i].policy.entered(now);
        self.open[i] = Some(Open { began: now, taken, received: 0 });
    }

    /// Hands over packets that the policy takes at an interrupt, or a part of them.
    fn batch(&mut self, now: Time, i: usize, mut open: Open) {
        for _ in 0..AT_ONCE {
            let (ended, backlog) = (&mut self.ended, self.full);
            let lost = &mut |packet, cause| ended.push_back((now, Reception::dropped(packet, cause)));
            let progress = (&mut open.taken, open.received);
            let next = self.interfaces[i].take(now, progress, (Pool::default(), backlog), lost).copied();
            let Some(command) = next else {
                let Open { began, taken, received } = open;
                let taken = taken.real_time + taken.best_effort;
                let batch = Batch { began, taken, received, used: Span::ZERO };
                let interface = &mut self.interfaces[i];
                let load = interface.load(Pool::default(), self.full, taken, received);
                interface.policy.left(now, &batch, &load);
                if taken == 0 {
                    self.retry = now + RETRY;
                }
                return;
            };
            open.received += u32::from(command.receives());
            self.execute(now, i, command);
        }
        self.open[i] = Some(open);
    }

    fn execute(&mut self, now: Time, i: usize, command: InterfaceCommand) {
        let InterfaceCommand { packet, announces, refused, .. } = command;
        let interface = &mut self.interfaces[i];
        let early = match announces {
            true => interface.announced(now, packet, Pool::default()),
            false => refused.then_some(packet),
        };
        if let Some(packet) = early {
            self.ended.push_back((now, Reception::dropped(packet, Dropped::Early)));
        }
        if announces || refused {
            return;
        }
        interface.withdraw(packet.class);
        let has_buffer = interface.keeps(packet.class, Pool::default());
        let number = self.first + self.handed.len() as u64;
        if matches!(self.site.write(i, number, packet.size.get() as usize), Ok(true)) {
            self.full += u32::from(has_buffer);
            self.handed.push_back(Handed { interface: i, packet, has_buffer });
        } else {
            self.unwritten += 1;
            if has_buffer {
                self.interfaces[i].release_buffer(packet.class);
            }
            self.ended.push_back((now, Reception::dropped(packet, Dropped::ReceiveBuffers)));
        }
    }

    /// Next outcome of a packet, and its time.
    pub(super) fn next_ended(&mut self) -> Option<(Time, Reception)> {
        let ended = self.ended.pop_front()?;
        match ended.1.lost {
            None => self.account.delivered += 1,
            Some(_) => self.account.dropped += 1,
        }
        Some(ended)
    }
}

impl ReceivingHost for Handing {
    fn arrive(&mut self, now: Time, interface: usize, packet: Arrived) -> bool {
        self.account.offered += 1;
        let ended = &mut self.ended;
        let mut lose = |packet, cause| ended.push_back((now, Reception::dropped(packet, cause)));
        self.interfaces[interface].accept(now, packet, &mut lose);
        self.look(now);
        true
    }

    fn timer(&mut self, now: Time) {
        self.hear(now);
        self.look(now);
    }

    fn next_deadline(&self) -> Option<Time> {
        self.deadline
    }

    fn next_output(&mut self) -> Option<&(Time, Reception)> {
        self.told = self.next_ended();
        self.told.as_ref()
    }

    /// All time that is no work of the two programs counts as the protocol's.
    fn uses(&self, now: Time) -> ReceptionUses {
        let program = self.shared.program();
        let rest = now.since(Time::ZERO).saturating_sub(program).saturating_sub(self.shared.beside());
        ReceptionUses { protocol: rest, program, ..ReceptionUses::default() }
    }

    fn beside(&self) -> Option<Span> {
        Some(self.shared.beside())
    }

    fn spins(&self) -> bool {
        false
    }

    fn report(&self, interface: usize) -> InterfaceReport {
        self.interfaces[interface].report
    }

    fn change_policy(&mut self, _: Time, _: usize, _: Policy, _: Option<Span>) {
        unreachable!("a scenario in real time has no commands");
    }
}
