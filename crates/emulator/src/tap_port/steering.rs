//! Selection of the queue in which a frame waits until it is read.
//!
//! A queue has a limited capacity, and the kernel drops frames at a full one. With one queue for
//! all frames, a flood of best-effort frames would cause drops of guaranteed ones before these are
//! classified. Each real-time channel therefore has its own queue; the first is for all others. The
//! kernel runs a program that finds a frame's channel as `carriers.rs` does. It runs within the
//! sender's call, so the flooding program pays for the classification.
//!
//! The program only decides where a frame waits; its channel is decided when it is read.

use laxity_machine::bpf::{BpfOperation, BpfProgram, FrameField, JumpLabel, Register, Width};
use laxity_qos::discipline::Class;
use laxity_world::experiment::{Carries, Experiment};

use super::carriers::{Destination, PREFIX};
use crate::frame::{Headers, MOST_EXTENSIONS};

#[cfg(test)]
mod tests;

/// Maximum number of queues of a port, since each adds a poll. Further channels share the last.
const MOST_QUEUES: u8 = 8;

/// Assignment of queues at one port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steering {
    /// Rules in the order of matching: frames of a channel, its destination node and the queue.
    /// Queue 0 is for frames that match none.
    rules: Vec<(Carries, usize, u8)>,
    queues: u8,
}

impl Steering {
    /// Steering for the port of `experiment` at `node`.
    pub fn of(experiment: &Experiment, node: usize) -> Self {
        let mut steering = Self { rules: Vec::new(), queues: 1 };
        for channel in experiment.channels.iter().filter(|channel| channel.route[0] == node) {
            let Some(carries) = channel.carries else { continue };
            let queue = match channel.class {
                Class::RealTime => {
                    steering.queues = MOST_QUEUES.min(steering.queues + 1);
                    steering.queues - 1
                }
                _ => 0,
            };
            steering.rules.push((carries, *channel.route.last().expect("a route has a node"), queue));
        }
        // A single channel for all frames needs no classification.
        if steering.rules.len() == 1 && steering.rules[0].0 == Carries::All {
            steering.queues = 1;
        }
        steering
    }

    /// Number of queues.
    pub fn queues(&self) -> u8 {
        self.queues
    }

    /// Queue of a frame with this destination and these headers.
    pub fn queue(&self, destination: Destination, headers: &Headers) -> u8 {
        let takes = |(carries, to, _): &&(Carries, usize, u8)| {
            destination.admits(*to) && headers.are_carried(*carries)
        };
        self.rules.iter().find(takes).map_or(0, |(.., queue)| *queue)
    }

    /// Steering as a program for the kernel.
    pub fn program(&self) -> BpfProgram {
        let mut reader = Reader::new();
        reader.headers();
        reader.rules(&self.rules);
        reader.program
    }
}

/// Offset that is read next; beyond every frame when reading has ended.
const PLACE: Register = Register::R7;
/// DSCP, or [`NO_CODE`].
const CODE: Register = Register::R8;
/// Protocol number; ICMPv6 is replaced by that of ICMP.
const PROTOCOL: Register = Register::R9;
const LOADED: Register = Register::R0;
/// Source and destination port, or [`NO_PORT`], after the last load. Every load clobbers them.
const FROM: Register = Register::R1;
const TO: Register = Register::R2;
const SPOILT: Register = Register::R1;
/// Number of the destination node plus one, or 0 for all, after the last load.
const NODE: Register = Register::R3;

const NO_CODE: i32 = 64;
const NO_PORT: i32 = -1;
/// Reserved protocol number, which no rule names.
const OTHER: i32 = 255;
/// Offset beyond the longest frame.
const NOWHERE: i32 = 1 << 24;

const ICMP: i32 = 1;
const TCP: i32 = 6;
const UDP: i32 = 17;
const ICMP_V6: i32 = 58;

/// Generator of the program, in the order of `frame.rs`.
struct Reader {
    program: BpfProgram,
    /// Offset and protocol are known, but the packet is a later fragment.
    later: JumpLabel,
    /// Offset and protocol are known.
    transport: JumpLabel,
    /// The protocol is none that a rule could name.
    other: JumpLabel,
    /// There are no readable ports, or no headers at all.
    portless: JumpLabel,
}

impl Reader {
    fn new() -> Self {
        let mut program = BpfProgram::new();
        let [later, transport, other, portless] = [(); 4].map(|()| program.label());
        Self { program, later, transport, other, portless }
    }

    /// Jumps to `otherwise` unless there are `bytes` from the offset on.
    fn need(&mut self, bytes: i32, otherwise: JumpLabel) {
        self.program.copy(LOADED, PLACE);
        self.loaded(BpfOperation::Add, bytes);
        self.program.describe(SPOILT, FrameField::Length);
        self.program.jump_if_greater(LOADED, SPOILT, otherwise);
    }

    fn load(&mut self, width: Width, offset: i32) {
        self.program.load(width, PLACE, offset);
    }

    fn load_into(&mut self, to: Register, offset: i32) {
        self.load(Width::One, offset);
        self.program.copy(to, LOADED);
    }

    fn loaded(&mut self, operation: BpfOperation, constant: i32) {
        self.program.calculate(operation, LOADED, constant);
    }

    fn set(&mut self, register: Register, constant: i32) {
        self.program.calculate(BpfOperation::Set, register, constant);
    }

    fn pass(&mut self, bytes: i32) {
        self.program.calculate(BpfOperation::Add, PLACE, bytes);
    }

    fn headers(&mut self) {
        self.program.copy(Register::R6, Register::R1);
        self.destination();
        self.set(CODE, NO_CODE);
        self.set(PROTOCOL, OTHER);
        let [v4, v6] = [(); 2].map(|()| self.program.label());
        self.ethernet(v4, v6);
        self.program.place(v4);
        self.ipv4();
        self.program.place(v6);
        self.ipv6();
        self.transport();
    }

    /// Stores the number of the destination node plus one, or 0.
    fn destination(&mut self) {
        let [everyone, known] = [(); 2].map(|()| self.program.label());
        self.program.load_at(Width::Four, 0);
        self.program.jump_unless(LOADED, i32::from_be_bytes(PREFIX), everyone);
        self.program.load_at(Width::Two, 4);
        self.program.jump(known);
        self.program.place(everyone);
        self.set(LOADED, 0);
        self.program.place(known);
        self.program.keep(LOADED);
    }

    fn ethernet(&mut self, v4: JumpLabel, v6: JumpLabel) {
        self.set(PLACE, 12);
        // A tag that is left to the adapter is not in the frame yet, so a frame with three tags may
        // wait in another queue than that of its channel.
        for _ in 0..=2 {
            let tagged = self.program.label();
            self.need(2, self.portless);
            self.load(Width::Two, 0);
            self.pass(2);
            self.program.jump_if(LOADED, 0x0800, v4);
            self.program.jump_if(LOADED, 0x86dd, v6);
            self.program.jump_if(LOADED, 0x8100, tagged);
            self.program.jump_unless(LOADED, 0x88a8, self.portless);
            self.program.place(tagged);
            self.pass(2);
        }
        self.program.jump(self.portless);
    }

    fn ipv4(&mut self) {
        self.need(10, self.portless);
        self.load(Width::One, 0);
        self.loaded(BpfOperation::ShiftRight, 4);
        self.program.jump_unless(LOADED, 4, self.portless);
        self.load(Width::One, 0);
        self.loaded(BpfOperation::And, 15);
        self.set(SPOILT, 5);
        self.program.jump_if_greater(SPOILT, LOADED, self.portless);
        self.load_into(CODE, 1);
        self.program.calculate(BpfOperation::ShiftRight, CODE, 2);
        self.load_into(PROTOCOL, 9);
        self.load(Width::Two, 6);
        self.loaded(BpfOperation::And, 0x1fff);
        self.program.jump_unless(LOADED, 0, self.later);
        self.load(Width::One, 0);
        self.loaded(BpfOperation::And, 15);
        self.loaded(BpfOperation::ShiftLeft, 2);
        self.program.add(PLACE, LOADED);
        self.program.jump(self.transport);
    }

    fn ipv6(&mut self) {
        self.need(7, self.portless);
        self.load(Width::Two, 0);
        self.loaded(BpfOperation::ShiftRight, 12);
        self.program.jump_unless(LOADED, 6, self.portless);
        self.load(Width::Two, 0);
        self.loaded(BpfOperation::ShiftRight, 6);
        self.loaded(BpfOperation::And, 63);
        self.program.copy(CODE, LOADED);
        self.load_into(PROTOCOL, 6);
        self.pass(40);
        for _ in 0..MOST_EXTENSIONS {
            self.extension();
        }
        self.program.jump(self.transport);
    }

    /// Skips an extension header, if the protocol is one.
    fn extension(&mut self) {
        let [eights, fours, fragment, next] = [(); 4].map(|()| self.program.label());
        for kind in [0, 43, 60] {
            self.program.jump_if(PROTOCOL, kind, eights);
        }
        self.program.jump_if(PROTOCOL, 51, fours);
        self.program.jump_if(PROTOCOL, 44, fragment);
        self.program.jump(self.transport);
        for (kind, uncounted, unit) in [(eights, 1, 3), (fours, 2, 2)] {
            self.program.place(kind);
            self.need(2, self.other);
            self.load_into(PROTOCOL, 0);
            self.load(Width::One, 1);
            self.loaded(BpfOperation::Add, uncounted);
            self.loaded(BpfOperation::ShiftLeft, unit);
            self.program.add(PLACE, LOADED);
            self.program.jump(next);
        }
        self.program.place(fragment);
        self.need(1, self.other);
        self.load_into(PROTOCOL, 0);
        self.need(4, self.later);
        self.load(Width::Two, 2);
        self.loaded(BpfOperation::ShiftRight, 3);
        self.program.jump_unless(LOADED, 0, self.later);
        self.pass(8);
        self.program.place(next);
    }

    fn transport(&mut self) {
        let ports = self.program.label();
        self.program.place(self.later);
        self.set(PLACE, NOWHERE);
        self.program.place(self.transport);
        self.program.jump_unless(PROTOCOL, ICMP_V6, ports);
        self.need(1, self.other);
        self.load(Width::One, 0);
        for kind in (130..=137).chain([143]) {
            self.program.jump_if(LOADED, kind, self.other);
        }
        self.set(PROTOCOL, ICMP);
        self.program.place(ports);
        // Ports are loaded for any protocol: a rule checks the protocol first.
        self.need(4, self.portless);
        self.load(Width::Four, 0);
        self.program.copy(FROM, LOADED);
        self.program.calculate(BpfOperation::ShiftRight, FROM, 16);
        self.program.copy(TO, LOADED);
        self.program.calculate(BpfOperation::And, TO, 0xffff);
        let decide = self.program.label();
        self.program.jump(decide);
        self.program.place(self.other);
        self.set(PROTOCOL, OTHER);
        self.program.place(self.portless);
        self.set(FROM, NO_PORT);
        self.set(TO, NO_PORT);
        self.program.place(decide);
        self.program.recall(NODE);
    }

    fn rules(&mut self, rules: &[(Carries, usize, u8)]) {
        for (carries, to, queue) in rules {
            let [found, here, next] = [(); 3].map(|()| self.program.label());
            match *carries {
                Carries::All => {}
                Carries::Icmp => self.program.jump_unless(PROTOCOL, ICMP, next),
                Carries::Dscp(code) => self.program.jump_unless(CODE, code.into(), next),
                Carries::Tcp(port) | Carries::Udp(port) => {
                    let wanted = if matches!(carries, Carries::Tcp(_)) { TCP } else { UDP };
                    self.program.jump_unless(PROTOCOL, wanted, next);
                    if let Some(port) = port {
                        self.program.jump_if(FROM, port.into(), found);
                        self.program.jump_unless(TO, port.into(), next);
                    }
                }
            }
            self.program.place(found);
            self.program.jump_if(NODE, 0, here);
            self.program.jump_unless(NODE, *to as i32 + 1, next);
            self.program.place(here);
            self.program.answer((*queue).into());
            self.program.place(next);
        }
        self.program.answer(0);
    }
}
