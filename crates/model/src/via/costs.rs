//! Costs of the firmware's steps and the adapter's engines, from Table 1.
//!
//! Table 1 of Nagar et al. ("Incorporating Quality-of-Service in the Virtual Interface
//! Architecture") has, per firmware and message size, the microseconds from a doorbell to the end
//! of each step, for a LANai 7 with Myrinet between two Pentium Pro of 400 MHz. The cost of a step
//! is the difference of two rows. A row is read when the processor *notices* the end of a step, so
//! it includes the polling delay:
//!
//! * **Engines** are from SVIA's rows (its processor waits for them): host memory down `1.6 us +
//!   7.85 ns/B` (2, 9, 34, 130 us), up `1.6 us + 7.65 ns/B` (2, 9, 33, 127), the network `0.6 us +
//!   6.25 ns/B` (1, 7, 26, 103; 1.28 Gbit/s), a descriptor 2.5 us (3 and 2), completion information
//!   1.2 us (1 to 2).
//! * **Handling** is the rest of a row after the engine's time, the poll that finds the event, and
//!   half a round of polls, which is the mean wait in an idle firmware. So Table 1 results for any
//!   `poll`. The paper does not print the duration of a poll; a load, a mask and a branch are some
//!   six instructions, 0.1 us at 66 MHz.
//! * **Programming data** grows with its size: 1 us for each KiB under PVIA (19, 23, 34 us from 11,
//!   11, 10), 1.65 us under QoSVIA (24, 30, 49 from 13), 0.15 us under SVIA. The engine begins when
//!   the first KiB is programmed: data is down 114 us after the programming of 16 KiB, which takes
//!   130.

use laxity_units::{Bytes, Span};

use super::Firmware;

/// Time of an engine: `startup + size × per_byte`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Engine {
    /// Fixed part.
    pub startup: Span,
    /// Time per byte.
    pub per_byte: Span,
}

impl Engine {
    /// Time for `size` bytes.
    #[inline]
    pub fn takes(self, size: Bytes) -> Span {
        self.startup.saturating_add(self.per_byte.saturating_mul(size.get()))
    }
}

/// Times of the adapter's engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Engines {
    /// HDMA from host memory into the adapter's.
    pub down: Engine,
    /// HDMA from the adapter's memory into the host's.
    pub up: Engine,
    /// HDMA of a descriptor.
    pub descriptor: Span,
    /// HDMA of completion information.
    pub status: Span,
    /// NSDMA and NRDMA: the link's rate.
    pub network: Engine,
}

impl Engines {
    /// All times zero.
    pub const FREE: Self = {
        let nothing = Engine { startup: Span::ZERO, per_byte: Span::ZERO };
        Self { down: nothing, up: nothing, descriptor: Span::ZERO, status: Span::ZERO, network: nothing }
    };

    /// Those of Table 1.
    pub const TABLE_1: Self = Self {
        down: Engine { startup: Span::from_ns(1600), per_byte: Span::from_ps(7850) },
        up: Engine { startup: Span::from_ns(1600), per_byte: Span::from_ps(7650) },
        descriptor: Span::from_ns(2500),
        status: Span::from_ns(1200),
        network: Engine { startup: Span::from_ns(600), per_byte: Span::from_ps(6250) },
    };
}

/// Processor time of a firmware's steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirmwareCosts {
    /// A poll of one unit.
    pub poll: Span,
    /// A doorbell: its owner, the stamp, and programming the transfer of the descriptor.
    pub doorbell: Span,
    /// Recording an event without a transfer: a receive doorbell under SVIA, a prefetched
    /// descriptor, a message without one.
    pub note: Span,
    /// Examining a descriptor and programming the transfer of the first KiB of its data.
    pub data: Span,
    /// Each further KiB.
    pub fragment: Span,
    /// Queueing data that is down for the network.
    pub queue: Span,
    /// Programming NSDMA.
    pub start: Span,
    /// Programming the transfer of completion information.
    pub status: Span,
    /// Cleaning up a completed message.
    pub finish: Span,
    /// Passing one queue entry to find the position of a stamp.
    pub scan: Span,
}

impl FirmwareCosts {
    /// All times zero.
    pub const FREE: Self = Self {
        poll: Span::ZERO,
        doorbell: Span::ZERO,
        note: Span::ZERO,
        data: Span::ZERO,
        fragment: Span::ZERO,
        queue: Span::ZERO,
        start: Span::ZERO,
        status: Span::ZERO,
        finish: Span::ZERO,
        scan: Span::ZERO,
    };

    /// Bytes that one programmed entry moves.
    pub const FRAGMENT: Bytes = Bytes::from_kib(1);

    /// Duration of a poll by default.
    pub const LOOK: Span = Span::from_ns(100);

    /// Programming the transfer of the entries beyond the first, for `size`.
    pub fn further(&self, size: Bytes) -> Span {
        self.fragment.saturating_mul(size.div_ceil(Self::FRAGMENT).saturating_sub(1))
    }

    /// Divides each by `factor`, rounded to the picosecond, for a faster processor.
    #[must_use]
    pub fn with_speedup(self, factor: f64) -> Self {
        let part = |span: Span| span.divided(factor);
        let Self { poll, doorbell, note, data, fragment, queue, start, status, finish, scan } = self;
        Self {
            poll: part(poll),
            doorbell: part(doorbell),
            note: part(note),
            data: part(data),
            fragment: part(fragment),
            queue: part(queue),
            start: part(start),
            status: part(status),
            finish: part(finish),
            scan: part(scan),
        }
    }

    /// Costs of Table 1 for `firmware`, if a poll takes `poll`.
    pub fn table_1(firmware: Firmware, poll: Span) -> Self {
        let us = |tenths: u64| Span::from_ns(tenths * 100);
        // A row includes the poll, and half a round of polls.
        let round = match firmware {
            Firmware::Sequential { .. } => poll * 2,
            Firmware::Parallel | Firmware::QualityOfService => poll * 4,
        };
        let noticed = |row: Span| row.saturating_sub(poll).saturating_sub(round / 2);
        match firmware {
            // A sequence waits without polls: rows are the work.
            Firmware::Sequential { .. } => Self {
                poll,
                doorbell: noticed(us(30)),
                note: us(10),
                data: us(29),
                fragment: Span::from_ns(150),
                queue: Span::ZERO,
                start: Span::ZERO,
                status: us(14),
                finish: Span::ZERO,
                scan: Span::ZERO,
            },
            Firmware::Parallel => Self {
                poll,
                doorbell: noticed(us(70)),
                note: us(10),
                data: us(85).saturating_sub(poll),
                fragment: us(10),
                queue: us(20),
                start: us(10),
                status: us(55).saturating_sub(poll),
                finish: us(45).saturating_sub(us(12)).saturating_sub(poll).saturating_sub(round / 2),
                scan: Span::ZERO,
            },
            Firmware::QualityOfService => Self {
                poll,
                doorbell: noticed(us(90)),
                note: us(10),
                data: us(110).saturating_sub(poll),
                fragment: Span::from_ns(1650),
                queue: us(20),
                start: us(10),
                status: us(50).saturating_sub(poll),
                finish: us(40).saturating_sub(us(12)).saturating_sub(poll).saturating_sub(round / 2),
                scan: Span::from_ns(200),
            },
        }
    }
}
