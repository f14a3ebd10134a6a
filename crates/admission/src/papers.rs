//! The formulas of resource §4, as read and as printed.
//!
//! They predict what a lone sender gets (`M / T_service`) and reproduce the papers' figures; as
//! bounds they do not hold, for reasons given with each corrected model ([`super::o1`],
//! [`super::o2`]). Where the print cannot be meant, another thing is read ([`Formula::Papers`]),
//! and the print stands beside it ([`Formula::Printed`]):
//!
//! * `C_block^first` prints `max(N_pkts, P) − 1` further packets: a block has no more packets than
//!   its message and none beyond `P`, so `min` is read. As printed a message longer than a block
//!   counts as one block in `T_wait`.
//! * `C_preempt` prints `(N_pkts − 1)/P` switches; a part of a switch is none, and `N_blocks`
//!   floors the same quotient, so it is read floored.
//!
//! Points that change no number, or cannot be computed otherwise:
//!
//! * The sum that closes §4.2 is labelled `T_wait^{O1}`; both its terms are O2's, so is it.
//! * `L(S)` there is `L_xmit(S)`.
//!
//! Points that are suspicious but kept, since they can be meant:
//!
//! * O2's `T_wait^{O2,cpu}` is added to a message's service once, though the text has it "assumed
//!   for each packet". [`Formula::PapersEach`] has it so.
//! * O2's `C_link^msg` is O1's, without the switches of `C'_link`. `C_block^last` of a message with
//!   packets that divide evenly is a whole block even where that block is the first (then it is not
//!   used: `N_blocks = 1`).
//! * O2's link wait compares `L_xmit(S)` with `C_prot^first`; the text argues with the first
//!   *block*.
//! * O2's CPU wait has `P − 1` further packets even where no message has that many; O1's has
//!   `C_block^first`.
//! * A transmission in progress is waited for under O1 but not under O2.
//! * O1 compares `C_prot` with `L_xmit(S)` though a start also costs the link `C_link`.
//!
//! All are sums of times. The ideal host is not in print; see [`super::ideal`] for how it is read.
//! Here it is O1 with `C_switch = C_cache = 0` and no CPU wait.
//!
//! `P` is the real-time handlers' block, for all; a block that ends with its message has `P =
//! N_pkts`.

use super::environment::{Environment, Formula, ResourceModel};
use super::population::{Population, packets_per_block};
use super::terms::{Breakdown, ps};
use laxity_qos::fragment::Fragmentation;
use laxity_units::Bytes;

/// The table of resource §4's symbols for one message size.
struct Symbols {
    n: u128,
    p: u128,
    switch: u128,
    first: u128,
    packet: u128,
    call: u128,
    full: u128,
    last: u128,
    /// How often O2's wait for the CPU is assumed.
    waits: u128,
    /// Literally as printed.
    printed: bool,
}

impl Symbols {
    fn new(environment: &Environment, message: Bytes) -> Self {
        let fragmentation = Fragmentation::new(message, environment.packet);
        let n = fragmentation.packets();
        let p = match environment.block_real_time {
            laxity_qos::channel::Block::Packets(p) => u64::from(p),
            block => packets_per_block(block, n),
        };
        let host = &environment.host;
        let ideal = environment.model == ResourceModel::Ideal;
        Self {
            n: u128::from(n),
            p: u128::from(p),
            switch: if ideal { 0 } else { ps(host.switch()) },
            // C_p^1st is the slow path's, for messages larger than S (resource §4.1, footnote 4).
            first: ps(if n == 1 { host.single_packet } else { host.first_packet }),
            packet: ps(host.packet),
            call: ps(host.link_scheduling),
            full: ps(environment.link.transmit(environment.packet)),
            last: ps(environment.link.transmit(fragmentation.last())),
            waits: if environment.formula == Formula::PapersEach { u128::from(n) } else { 1 },
            printed: environment.formula == Formula::Printed,
        }
    }

    fn link_message(&self) -> u128 {
        (self.n - 1) * self.full + self.last
    }

    fn first_block(&self) -> u128 {
        let packets = if self.printed { self.n.max(self.p) } else { self.n.min(self.p) };
        self.first + (packets - 1) * self.packet
    }

    /// `C_preempt`.
    fn preempt(&self) -> u128 {
        match self.printed {
            // Rounded against the claimant.
            true => ((self.n - 1) * self.switch).div_ceil(self.p),
            false => (self.n - 1) / self.p * self.switch,
        }
    }

    fn o1_service(&self) -> Breakdown {
        let overhead = self.n * self.call;
        let sum = if self.packet < self.full {
            Breakdown::default()
                .and("C_prot^first", self.first)
                .and("L_xmit^msg", self.link_message())
                .and("C_link^msg", overhead)
        } else {
            Breakdown::default()
                .and("C_prot^msg", self.first + (self.n - 1) * self.packet)
                .and("C_link^msg", overhead)
                .and("L_xmit(S^last)", self.last)
        };
        sum.and("C_preempt", self.preempt())
    }

    fn o1_wait(&self) -> Breakdown {
        let block = self.first_block();
        let completions = if self.full == 0 { 0 } else { block.div_ceil(self.full) };
        Breakdown::default()
            .and("C_block^first of a lower handler", block)
            .and("C_link of completions during it", completions * self.call)
            .and("C_cache + C_switch", self.switch)
            .and("L_xmit(S) of a lower packet", self.full)
    }

    /// `T_wait^{O2,cpu}`.
    fn o2_cpu_wait(&self) -> u128 {
        let link_thread = self.call + self.switch;
        self.first + (self.p - 1) * self.packet + self.switch + link_thread
    }

    fn o2_wait(&self) -> Breakdown {
        let cpu = self.o2_cpu_wait();
        Breakdown::default()
            .and("T_wait^{O2,cpu}", cpu)
            .and("T_wait^{O2,link}", if self.full <= self.first { 0 } else { cpu })
    }

    fn o2_service(&self) -> Breakdown {
        let overhead = self.n * self.call;
        let block = self.p * self.packet + self.switch;
        let blocks = (self.n - 1) / self.p + 1;
        let lone = Breakdown::default()
            .and("C_block^first", self.first_block())
            .and("L_xmit^msg", self.link_message())
            .and("C_link^msg", overhead);
        if block < self.full {
            return lone.and("T_wait^{O2,cpu}", self.waits * self.o2_cpu_wait());
        }
        if blocks == 1 {
            return lone;
        }
        let last_block = match self.n % self.p {
            0 => block,
            rest => rest * self.packet + self.switch,
        };
        Breakdown::default()
            .and("C_block^first", self.first_block())
            .and("(N_blocks − 2) C_block", (blocks - 2) * block)
            .and("max(C_block^last, L_xmit(S))", last_block.max(self.full))
            .and("(N_pkts − N_blocks) L_xmit(S)", (self.n - blocks) * self.full)
            .and("L_xmit(S^last)", self.last)
            .and("C_link^msg", overhead)
    }
}

/// `T_service` of a message.
pub(super) fn service(environment: &Environment, message: Bytes) -> Breakdown {
    let symbols = Symbols::new(environment, message);
    match environment.model {
        ResourceModel::Ideal
        | ResourceModel::O1
        | ResourceModel::Handed
        | ResourceModel::ApartHanded
        | ResourceModel::Apart
        | ResourceModel::Core => symbols.o1_service(),
        // Of O3 they have no formula.
        ResourceModel::O2 | ResourceModel::ApartByThread | ResourceModel::O3 => symbols.o2_service(),
    }
}

/// `T_wait`, with the largest message around as the one waited for.
pub(super) fn wait(environment: &Environment, population: &Population) -> Breakdown {
    let symbols = Symbols::new(environment, population.largest_message);
    match environment.model {
        ResourceModel::Ideal => Breakdown::default().and("L_xmit(S) of a lower packet", symbols.full),
        ResourceModel::O1
        | ResourceModel::Handed
        | ResourceModel::Apart
        | ResourceModel::ApartHanded
        | ResourceModel::Core => symbols.o1_wait(),
        ResourceModel::O2 | ResourceModel::ApartByThread | ResourceModel::O3 => symbols.o2_wait(),
    }
}
