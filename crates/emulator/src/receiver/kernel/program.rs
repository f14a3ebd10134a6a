//! Program that receives the datagrams, and the background program, in one thread.
//!
//! The program polls its socket, and computes if there is no datagram: a sleeping program would be
//! woken by each packet, which depends on the scheduler. Its work on a datagram is a number of
//! steps rather than a time: time in which the kernel had the processor is no work of the program.

use std::fs;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use laxity_engine::{Exponentials, TickEpoch};
use laxity_machine::ring::Producer;
use laxity_model::reception::ActivityCost;
use laxity_units::{Span, Time};
use laxity_world::experiment::{Chance, Experiment};

use super::frames::number;
use crate::receiver::beside::Beside;

/// Number of a datagram that the program has completed, and the time.
pub(in crate::receiver) type Done = (u64, Time);

/// State shared by the program and END's thread.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// The run is over.
    pub(super) over: AtomicBool,
    /// Picoseconds of work of the program.
    program: AtomicU64,
    /// Picoseconds of work of the background program.
    beside: AtomicU64,
}

impl Shared {
    pub(super) fn program(&self) -> Span {
        Span::from_ps(self.program.load(Ordering::Relaxed))
    }

    pub(super) fn beside(&self) -> Span {
        Span::from_ps(self.beside.load(Ordering::Relaxed))
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::receiver) struct Left {
    /// Completed datagrams that could not be reported.
    pub(in crate::receiver) untold: u64,
    /// Time for which other work than the network's had the processor; `None` if the system does
    /// not report it.
    pub(in crate::receiver) others: Option<Span>,
}

pub(super) struct Program<'a> {
    shared: &'a Shared,
    epoch: TickEpoch,
    socket: UdpSocket,
    done: Producer<Done>,
    cost: ActivityCost,
    random: Exponentials,
    beside: Beside,
    datagram: Vec<u8>,
    core: usize,
    left: Left,
}

impl<'a> Program<'a> {
    /// Program on processor `core`, on which the calling thread runs.
    pub(super) fn new(
        experiment: &Experiment,
        shared: &'a Shared,
        epoch: TickEpoch,
        socket: UdpSocket,
        done: Producer<Done>,
        core: usize,
    ) -> Self {
        let sizes = experiment.channels.iter().map(|channel| channel.spec.max_message.get());
        Self {
            shared,
            epoch,
            socket,
            done,
            cost: experiment.host(0).reception.program,
            random: experiment.chance(Chance::ReceptionCosts(0)).into(),
            beside: Beside::calibrate(&epoch),
            datagram: vec![0; sizes.max().unwrap_or(0).max(64) as usize],
            core,
            left: Left::default(),
        }
    }

    /// Works until the end of the run.
    pub(super) fn run(mut self) -> Left {
        let before = others(self.core);
        while self.epoch.now() == Time::ZERO && !self.is_over() {
            std::hint::spin_loop();
        }
        while !self.is_over() {
            match self.socket.recv(&mut self.datagram) {
                Ok(length) => self.work(length),
                // No datagram is pending; any other error will recur at the next call.
                Err(_) => {
                    let worth = self.beside.work();
                    self.shared.beside.fetch_add(worth.as_ps(), Ordering::Relaxed);
                }
            }
        }
        self.left.others = before.zip(others(self.core)).map(|(from, to)| to.saturating_sub(from));
        self.left
    }

    fn is_over(&self) -> bool {
        self.shared.over.load(Ordering::Acquire)
    }

    fn work(&mut self, length: usize) {
        let Some(number) = number(&self.datagram[..length]) else { return };
        let worth = self.beside.work_for(self.cost.draw(&mut self.random));
        self.shared.program.fetch_add(worth.as_ps(), Ordering::Relaxed);
        let done = (number, self.epoch.now());
        while self.done.push(done).is_err() {
            if self.is_over() {
                self.left.untold += 1;
                return;
            }
            std::hint::spin_loop();
        }
    }
}

/// Time for which the calling thread has waited for processor `core` because of work that is no
/// part of receiving, or because a hypervisor gave it to another machine.
fn others(core: usize) -> Option<Span> {
    // Nanoseconds on the processor, and waiting for it.
    let second = |text: String| text.split_whitespace().nth(1)?.parse::<u64>().ok();
    let first = |text: String| text.split_whitespace().next()?.parse::<u64>().ok();
    let waited = second(fs::read_to_string("/proc/thread-self/schedstat").ok()?)?;
    // A flood is deferred to a kernel thread, which then alternates with this one.
    let kernel =
        kernel_thread(core).and_then(|process| fs::read_to_string(format!("/proc/{process}/schedstat")).ok());
    let kernel = kernel.and_then(first).unwrap_or(0);
    let stolen = stolen(&fs::read_to_string("/proc/stat").ok()?, core)?;
    Some(Span::from_ns(waited.saturating_sub(kernel)).saturating_add(stolen))
}

/// Kernel thread for the deferred interrupt work of `core`.
fn kernel_thread(core: usize) -> Option<u32> {
    let name = format!("ksoftirqd/{core}\n");
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.find(|process| fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|is| is == name))
}

/// Time that the hypervisor has stolen of `core`: the eighth number of its line in the kernel's
/// table, in hundredths of a second.
fn stolen(table: &str, core: usize) -> Option<Span> {
    let name = format!("cpu{core}");
    let mut words = table
        .lines()
        .map(str::split_whitespace)
        .find_map(|mut words| (words.next()? == name).then_some(words))?;
    Some(Span::from_ms(10 * words.nth(7)?.parse::<u64>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_hypervisor_takes_is_of_one_processor() {
        let table =
            "cpu  9 9 9 9 9 9 9 99 9 9\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu1 1 2 3 4 5 6 7 28 9 10\nintr 5";
        assert_eq!(stolen(table, 0), Some(Span::from_ms(80)));
        assert_eq!(stolen(table, 1), Some(Span::from_ms(280)));
        assert_eq!(stolen(table, 2), None);
    }
}
