//! The program that the datagrams are for, and the one beside it, in one thread.
//!
//! It asks its socket without waiting, and where there is nothing it computes for itself: a program that sleeps would be woken by each
//! packet, and what the scheduler makes of that is another question. What it does with a datagram is so many steps and not so much
//! time: time in which the kernel had the processor is no work of the program's.

use std::fs;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use laxity_engine::{Epoch, Exponentials};
use laxity_machine::ring::Producer;
use laxity_model::reception::Cost;
use laxity_units::{Span, Time};
use laxity_world::experiment::{Chance, Experiment};

use super::frames::number;
use crate::receiver::beside::Beside;

/// The number of a datagram that the program has done with, and when.
pub(in crate::receiver) type Done = (u64, Time);

/// What the program and END's thread have in common.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// The run is over.
    pub(super) over: AtomicBool,
    /// Picoseconds of work that the program has done, …
    program: AtomicU64,
    /// … and the one beside it.
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

/// What a program has when it ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::receiver) struct Left {
    /// Datagrams it was done with and could tell nobody.
    pub(in crate::receiver) untold: u64,
    /// For how long others had its processor who are not of the network; `None` if the system does not say.
    pub(in crate::receiver) others: Option<Span>,
}

/// A program at work.
pub(super) struct Program<'a> {
    shared: &'a Shared,
    epoch: Epoch,
    socket: UdpSocket,
    done: Producer<Done>,
    cost: Cost,
    random: Exponentials,
    beside: Beside,
    datagram: Vec<u8>,
    core: usize,
    left: Left,
}

impl<'a> Program<'a> {
    /// On processor `core`, where the calling thread is.
    pub(super) fn new(
        experiment: &Experiment,
        shared: &'a Shared,
        epoch: Epoch,
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
            random: experiment.chance(Chance::ReceptionCosts).into(),
            beside: Beside::calibrate(&epoch),
            datagram: vec![0; sizes.max().unwrap_or(0).max(64) as usize],
            core,
            left: Left::default(),
        }
    }

    /// Works until the run is over.
    pub(super) fn run(mut self) -> Left {
        let before = others(self.core);
        while self.epoch.now() == Time::ZERO && !self.is_over() {
            std::hint::spin_loop();
        }
        while !self.is_over() {
            match self.socket.recv(&mut self.datagram) {
                Ok(length) => self.work(length),
                // Nothing waits; whatever else it may be, the next time will tell.
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

    /// Works on the datagram that lies there.
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

/// For how long the calling thread has waited for its processor `core` so far while somebody else had it that is no part of receiving, or a
/// hypervisor had given it to another machine.
fn others(core: usize) -> Option<Span> {
    // Nanoseconds on the processor, and in wait of it.
    let second = |text: String| text.split_whitespace().nth(1)?.parse::<u64>().ok();
    let first = |text: String| text.split_whitespace().next()?.parse::<u64>().ok();
    let waited = second(fs::read_to_string("/proc/thread-self/schedstat").ok()?)?;
    // A flood is handed on to a thread of the kernel's, which then takes turns with this one.
    let kernel =
        kernel_thread(core).and_then(|process| fs::read_to_string(format!("/proc/{process}/schedstat")).ok());
    let kernel = kernel.and_then(first).unwrap_or(0);
    let stolen = stolen(&fs::read_to_string("/proc/stat").ok()?, core)?;
    Some(Span::from_ns(waited.saturating_sub(kernel)).saturating_add(stolen))
}

/// The thread in which the kernel of `core` does what interrupts have left it.
fn kernel_thread(core: usize) -> Option<u32> {
    let name = format!("ksoftirqd/{core}\n");
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.find(|process| fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|is| is == name))
}

/// What the kernel's table says that the hypervisor has taken of `core`: the eighth of its numbers, in hundredths of a second.
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
