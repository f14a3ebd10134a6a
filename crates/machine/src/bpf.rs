//! eBPF programs that the kernel runs on a frame, assembled instruction by instruction.
//!
//! Laxity only needs the kernel to classify frames by their headers: about a hundred instructions,
//! generated from a scenario at run time. A compiler with an object loader would be far larger, so
//! this is an assembler with the instructions of such a classifier. The kernel verifies every
//! program, so a mistake here is a refusal at load time.
//!
//! Registers: the program is called with the frame's description in [`Register::R1`] and returns
//! [`Register::R0`]. [`BpfProgram::load`] expects the description in [`Register::R6`] and clobbers R0
//! to R5; R6 to R9 are preserved. The instruction set is RFC 9669's; packet loads are its legacy
//! part.

#![allow(unsafe_code, reason = "the kernel takes programs by a system call that no crate here wraps")]

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::RefusedBySystem;

/// 64-bit register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Register {
    /// Return value, and result of a load from the frame.
    R0,
    /// Clobbered by a load from the frame, as is R2.
    R1,
    /// See R1.
    R2,
    /// See R1.
    R3,
    /// Description of the frame.
    R6 = 6,
    /// Preserved, as are R8 and R9.
    R7,
    /// See R7.
    R8,
    /// See R7.
    R9,
    /// End of the program's stack; read-only.
    R10,
}

/// Width of a load from the frame, in network byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// Four bytes.
    Four = 0x00,
    /// Two bytes.
    Two = 0x08,
    /// One byte.
    One = 0x10,
}

/// Metadata of a frame, by its offset in `struct __sk_buff`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameField {
    /// Length in bytes.
    Length = 0,
    /// EtherType, in network byte order.
    Kind = 16,
}

/// Arithmetic with a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BpfOperation {
    /// Assignment.
    Set = 0xb7,
    /// Addition.
    Add = 0x07,
    /// Bitwise and.
    And = 0x57,
    /// Left shift.
    ShiftLeft = 0x67,
    /// Right shift.
    ShiftRight = 0x77,
}

/// Jump target, always forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JumpLabel(usize);

/// Instruction: operation, registers (destination low, source high), jump distance or offset,
/// constant.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Instruction {
    operation: u8,
    registers: u8,
    offset: i16,
    constant: i32,
}

/// Program under construction.
#[derive(Debug, Clone, Default)]
pub struct BpfProgram {
    code: Vec<Instruction>,
    /// Position of each label, once placed.
    labels: Vec<Option<usize>>,
    /// Jumps and their targets.
    jumps: Vec<(usize, JumpLabel)>,
}

impl BpfProgram {
    /// Empty program.
    pub fn new() -> Self {
        Self::default()
    }

    fn push(&mut self, operation: u8, to: Register, from: Register, offset: i16, constant: i32) {
        let registers = to as u8 | (from as u8) << 4;
        self.code.push(Instruction { operation, registers, offset, constant });
    }

    /// `register = register operation constant`.
    pub fn calculate(&mut self, operation: BpfOperation, register: Register, constant: i32) {
        self.push(operation as u8, register, Register::R0, 0, constant);
    }

    /// `to = from`.
    pub fn copy(&mut self, to: Register, from: Register) {
        self.push(0xbf, to, from, 0, 0);
    }

    /// `to = to + from`.
    pub fn add(&mut self, to: Register, from: Register) {
        self.push(0x0f, to, from, 0, 0);
    }

    /// Loads into `to` a field of the description in R6.
    pub fn describe(&mut self, to: Register, field: FrameField) {
        self.push(0x61, to, Register::R6, field as i16, 0);
    }

    /// Loads into R0 the bytes of the frame at `base + offset`. On a frame that is too short the
    /// program returns 0.
    pub fn load(&mut self, width: Width, base: Register, offset: i32) {
        self.push(0x40 | width as u8, Register::R0, base, 0, offset);
    }

    /// Loads into R0 the bytes of the frame at `offset`. On a frame that is too short the program
    /// returns 0.
    pub fn load_at(&mut self, width: Width, offset: i32) {
        self.push(0x20 | width as u8, Register::R0, Register::R0, 0, offset);
    }

    /// Stores `register` in the program's only stack slot.
    pub fn keep(&mut self, register: Register) {
        self.push(0x7b, Register::R10, register, -8, 0);
    }

    /// Loads into `register` the value [stored](Self::keep) in the stack slot.
    pub fn recall(&mut self, register: Register) {
        self.push(0x79, register, Register::R10, -8, 0);
    }

    /// New label, to be placed later.
    pub fn label(&mut self) -> JumpLabel {
        self.labels.push(None);
        JumpLabel(self.labels.len() - 1)
    }

    /// Places `label` here.
    pub fn place(&mut self, label: JumpLabel) {
        self.labels[label.0] = Some(self.code.len());
    }

    fn jump_by(
        &mut self,
        operation: u8,
        register: Register,
        other: Register,
        constant: i32,
        label: JumpLabel,
    ) {
        self.jumps.push((self.code.len(), label));
        self.push(operation, register, other, 0, constant);
    }

    /// Jumps to `label`.
    pub fn jump(&mut self, label: JumpLabel) {
        self.jump_by(0x05, Register::R0, Register::R0, 0, label);
    }

    /// Jumps to `label` if `register` equals `constant`.
    pub fn jump_if(&mut self, register: Register, constant: i32, label: JumpLabel) {
        self.jump_by(0x15, register, Register::R0, constant, label);
    }

    /// Jumps to `label` unless `register` equals `constant`.
    pub fn jump_unless(&mut self, register: Register, constant: i32, label: JumpLabel) {
        self.jump_by(0x55, register, Register::R0, constant, label);
    }

    /// Jumps to `label` if `register` is greater than `other`.
    pub fn jump_if_greater(&mut self, register: Register, other: Register, label: JumpLabel) {
        self.jump_by(0x2d, register, other, 0, label);
    }

    /// Returns `answer`.
    pub fn answer(&mut self, answer: i32) {
        self.calculate(BpfOperation::Set, Register::R0, answer);
        self.push(0x95, Register::R0, Register::R0, 0, 0);
    }

    /// Instructions with resolved jumps. A jump to an unplaced label is a bug of the caller.
    fn assembled(&self) -> Vec<Instruction> {
        let mut code = self.code.clone();
        for (at, label) in &self.jumps {
            let to = self.labels[label.0].expect("a label that is jumped to has its place");
            code[*at].offset = i16::try_from(to - at - 1).expect("a classifier is shorter than 32768");
        }
        code
    }

    /// Loads the program into the kernel as a socket filter, whose result is a number.
    pub fn hand_over(&self) -> Result<Loaded, RefusedBySystem> {
        let code = self.assembled();
        let licence = c"MIT";
        let request = Request {
            kind: 1,
            instructions: code.len() as u32,
            code: code.as_ptr() as u64,
            licence: licence.as_ptr() as u64,
            ..Request::default()
        };
        const LOAD: libc::c_long = 5;
        // SAFETY: the request has the addresses of code and licence, which live through the call,
        // and the code's length.
        let descriptor =
            unsafe { libc::syscall(libc::SYS_bpf, LOAD, &raw const request, mem::size_of::<Request>()) };
        if descriptor < 0 {
            return Err(RefusedBySystem::new("load a program for frames", io::Error::last_os_error())
                .needing("CAP_BPF")
                .advising("the kernel must have been built with CONFIG_BPF_SYSCALL"));
        }
        // SAFETY: the call made this descriptor, which has no other owner.
        Ok(Loaded(unsafe { OwnedFd::from_raw_fd(descriptor as i32) }))
    }
}

/// Part of the kernel's `union bpf_attr` for loading a program.
#[repr(C)]
#[derive(Default)]
struct Request {
    kind: u32,
    instructions: u32,
    code: u64,
    licence: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    version: u32,
    flags: u32,
}

/// Program loaded into the kernel.
#[derive(Debug)]
pub struct Loaded(OwnedFd);

impl Loaded {
    pub(crate) fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_goes_as_far_as_its_label() {
        let mut program = BpfProgram::new();
        let (near, far) = (program.label(), program.label());
        program.jump_if(Register::R1, 7, far);
        program.jump(near);
        program.place(near);
        program.answer(1);
        program.place(far);
        program.answer(2);
        let distances: Vec<i16> = program.assembled().iter().map(|instruction| instruction.offset).collect();
        assert_eq!(distances, [3, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn instructions_are_those_of_the_instruction_set() {
        let mut program = BpfProgram::new();
        program.copy(Register::R6, Register::R1);
        program.load(Width::Two, Register::R7, 12);
        program.describe(Register::R9, FrameField::Kind);
        program.calculate(BpfOperation::ShiftRight, Register::R8, 3);
        program.load_at(Width::Four, 6);
        program.keep(Register::R0);
        program.recall(Register::R3);
        let bytes = |i: &Instruction| (i.operation, i.registers, i.offset, i.constant);
        let code: Vec<_> = program.assembled().iter().map(bytes).collect();
        // The encodings of RFC 9669, sections 3 and 4.
        assert_eq!(
            code,
            [
                (0xbf, 0x16, 0, 0),
                (0x48, 0x70, 0, 12),
                (0x61, 0x69, 16, 0),
                (0x77, 0x08, 0, 3),
                (0x20, 0x00, 0, 6),
                (0x7b, 0x0a, -8, 0),
                (0x79, 0xa3, -8, 0)
            ]
        );
    }
}
