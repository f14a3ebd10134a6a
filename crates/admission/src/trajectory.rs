//! The common part of the corrected bounds: the path of a message, followed backwards through link
//! and CPU.
//!
//! # The problem
//!
//! A message needs two resources, and they overlap: while one packet is on the link the next is on
//! the CPU. Adding both demands up is sound and halves what can be admitted. Charging only the
//! slower one, as the papers do, forgets that *other* messages may be bound by the other resource.
//! It also forgets that the two resources disturb each other: every transmission, of whatever
//! priority, takes CPU time from any work. That a packet can wait in the link queue while others
//! pass on the CPU makes the usual argument of a single busy period inapplicable; what works is to
//! walk back from the end.
//!
//! # The argument
//!
//! Fix a message `m`, released (logically arrived) at `ℓ` and finished at `f`. Its *level* is every
//! message that may go before it: with fixed priorities those of the same or a higher place, with
//! EDF those with a deadline that is not later. Within a level any order will do. Let
//!
//! * `f_s` be when the last packet of `m` is selected for the link,
//! * `τ` be the last instant before `f_s` when no level packet that had joined the link queue
//!   earlier was still in it. At `τ` a level packet joins: the *crossing packet*. Packets join when
//!   a handler has made them, so at `τ` the CPU is at the end of a packet of a level handler, and
//!   neither an interrupt nor the selection of another packet is in progress;
//! * `s` be the last instant before `τ` when all level messages, and activations of work above the
//!   handlers, released before `s` were through the CPU.
//!
//! In `(s, τ]` the CPU always has level work, so at most one block of a lower handler, the one in
//! progress at `s`, is executed there. In `(τ, f_s)` a level packet always waits, so no lower
//! packet is selected, and the adapter idles only while what selects the next packet is being
//! waited for or run. Every level packet seen in either phase belongs to a message released at or
//! after `s`: all released earlier were through the CPU before, and their packets had left the
//! queue at `τ`. That includes `m`.
//!
//! A packet made at or before `τ` used the CPU in the first phase, one made later uses the link in
//! the second; only the crossing packet does both. Packets of a message are made in order, so each
//! message has a *split* `k` (packets up to `k` in the first phase), and whatever its split, it
//! adds at most
//!
//! ```text
//! S = max_{0 ≤ k ≤ N} [ α (work(k) + ⌈k/P⌉ per_block) + k per_made + Σ_{n > k} (L_x(n) + per_start) ].
//! ```
//!
//! `α ≥ 1` stretches CPU work by what transmissions steal from it; where those are counted by
//! packets instead, it is 1 and each pays `per_made`. The crossing packet's second share and
//! everything that happens at most once is `W`. The model files supply the stretch `α`, the two
//! overheads and `W`; each proves that, for *every* `x` in `(s, f)` and not only for `f`,
//!
//! ```text
//! x − s < W + Σ_j n_j(x) S_j + interference(x),   n_j(x): level messages of j released in [s, x).   (1)
//! ```
//!
//! For `x ≤ τ` it follows from the first phase alone (some level message is not through the CPU,
//! which makes it strict), for `x > τ` from both (the last packet of `m` is not through the link).
//!
//! # Why `d ≤ I_min` and one fixed point suffice
//!
//! With fixed priorities `n_j(x) ≤ ⌈(x − s)/I_j⌉`. Let `r` be the least fixed point with one
//! message of `i` itself, and `r ≤ d_i ≤ I_i`. Were `f > s + r`, (1) at `x = s + r` would give `r <
//! W + S_i + Σ ⌈r/I_j⌉ S_j + … = r`. So `f ≤ s + r ≤ ℓ + r`. An inequality at `f` alone would not
//! do: `x` may satisfy it again beyond the least fixed point. EDF needs (1) as well; see
//! [`super::table`].
//!
//! Messages smaller than the largest are covered, since `S` grows with `N` and with the last
//! packet.
//!
//! # Channels that pass or end here
//!
//! Their messages are released when the local deadline of the host before, and the longest way from
//! it, have passed. Until then packets that have arrived are held, so at its release a message is
//! all there. A relay's handler then makes its packets like any other, at the price of receiving
//! them. A message that ends here is finished when its last packet is through the CPU: it has a
//! first phase only, `f = τ` in the argument above, and adds `α (work(N) + ⌈N/P⌉ per_block)` to the
//! phase of others. The cost of receiving before the handler has it is the interrupt of every
//! packet that arrives, of whatever class, and these are work above the handlers. Frames on one
//! link are as far apart as the shortest takes to be sent.
//!
//! # Channels that leave by another link
//!
//! A host with several links has an analysis for each, of all its channels. Take `τ` and the level
//! queue of the link by which `m` leaves. A message that leaves by another is seen in the first
//! phase only, like one that ends here, though it is not received. CPU time of starts and
//! completions of packets there is in [`super::beside`].
//!
//! Each link's table admits every channel, and EDF goes by the latest of the bounds that they have
//! for it: [`super::table`] is about any local deadlines between a table's bound and what was asked
//! for.
//!
//! A preemptible CPU (`Ideal`) loses "only the crossing packet does both": at `τ` every preempted
//! handler may be in the middle of a packet. Then packet `k` counts on both sides for each message,
//! and the crossing packet needs no extra share.

use super::environment::{Above, ApplicationWork, Environment, Interference, Request};
use super::population::{packets_per_block, protocol};
use super::terms::{Breakdown, Ratio, ps};
use laxity_qos::channel::Role;

/// Charges of a model, and the wait that is common to all levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Charges {
    /// `α`.
    pub(super) stretch: Ratio,
    /// CPU overhead of every block begun.
    pub(super) per_block: u128,
    /// CPU overhead of every packet in the CPU phase that goes on to the link.
    pub(super) per_made: u128,
    /// CPU overhead of every packet in the CPU phase that goes on to another link.
    pub(super) per_other: u128,
    /// Overhead of every packet in the link phase.
    pub(super) per_start: u128,
    /// CPU overhead of every activation above the handlers.
    pub(super) per_activation: u128,
    /// A handler may be preempted within a packet.
    pub(super) preemptible: bool,
    /// Only the first phase is asked for.
    pub(super) on_cpu: bool,
    /// Effect of an interrupt on a run of the link scheduler's thread; `None` where there is none.
    pub(super) prolonged: Option<Prolonged>,
    /// `W`.
    pub(super) wait: Breakdown,
}

/// CPU time of other links of the host ([`super::beside`]).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Beside {
    /// By time: as work above the handlers.
    pub(super) above: Vec<Interference>,
    /// By packets, for each that level handlers make for another link.
    pub(super) each: u128,
    /// Once.
    pub(super) once: u128,
    /// For each packet of ours in the second phase.
    pub(super) per_start: u128,
}

/// Packets complete while an interrupt is served in the middle of a run of the link scheduler,
/// which then starts more ([`super::o2`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prolonged {
    /// CPU time of each start, its completion included.
    pub(super) start: u128,
    /// Interrupt time that allows one start more; not zero.
    pub(super) apart: u128,
    /// A part of that time may be one start more.
    pub(super) whole: bool,
}

impl Prolonged {
    /// By how much an interrupt of that length does.
    pub(super) fn by(&self, interrupt: u128) -> u128 {
        match self.whole {
            true => interrupt.div_ceil(self.apart).saturating_mul(self.start),
            false => interrupt.saturating_mul(self.start).div_ceil(self.apart),
        }
    }
}

impl Charges {
    /// Time of one activation of `work` in the window, of the CPU and of the adapter.
    pub(super) fn activation(&self, work: &Interference) -> u128 {
        let cost = ps(work.cost);
        let more = match work.above {
            Above::Thread => self.per_activation,
            Above::Interrupt => self.prolonged.map_or(0, |prolonged| prolonged.by(cost)),
        };
        self.stretch.scale(cost + more) + ps(work.adapter)
    }

    /// `S` of the largest message of `request`, at the split that costs most.
    pub(super) fn service(&self, environment: &Environment, request: &Request) -> Split {
        self.splits(environment, request).max_by_key(Split::total).expect("a message has a packet")
    }

    /// The splits among which the maximum is.
    ///
    /// One packet more on the CPU and less on the link changes the cost by the same `c` wherever it
    /// is, and by the overhead of a block on top if it begins one. If `c ≥ 0` all of them cost
    /// most; the last packet may be smaller, and its link time the less to lose. Otherwise no
    /// packet costs more than the first packet of its block, and from block to block it is linear
    /// again: the maximum is there at the first or the last. The very first packet has a price of
    /// its own, so beside those stands none at all. A message that ends here has no second phase:
    /// all its packets are made in the first.
    fn splits(&self, environment: &Environment, request: &Request) -> impl Iterator<Item = Split> {
        let n = request.spec().fragmentation(environment.packet).packets();
        let p = packets_per_block(environment.block_real_time, n);
        let last_start = n.saturating_sub(2) / p * p + 1;
        let sent = request.is_sent() && !self.on_cpu;
        [0, 1, last_start, n]
            .into_iter()
            .filter(move |&k| k <= n && (k > 0 || !self.preemptible) && (k == n || sent))
            .map(move |k| self.split(environment, request, k))
    }

    /// The cost of a message of which `k` packets are made before the crossing.
    pub(super) fn split(&self, environment: &Environment, request: &Request, k: u64) -> Split {
        if let Some(ApplicationWork { time, slice }) = request.work() {
            let (work, blocks) = (ps(time), self.per_block * u128::from(time.div_ceil(slice)));
            let stolen = self.stretch.scale(work + blocks).saturating_sub(work + blocks);
            return Split { work, blocks, stolen, transmission: 0, by: environment.link.by(), starts: 0 };
        }
        let fragmentation = request.spec().fragmentation(environment.packet);
        let n = fragmentation.packets();
        let p = packets_per_block(environment.block_real_time, n);
        let role = request.role();
        let completion = if role == Role::Receive { ps(environment.host.receive_message) } else { 0 };
        let program = request.program().filter(|_| k == n);
        let read = program.map_or(0, |program| ps(program.work));
        let work = protocol(environment, role, (k, n)) + completion + read;
        let blocks = self.per_block * u128::from(k.div_ceil(p) + u64::from(program.is_some()));
        let sent = match request.is_sent() {
            false => 0,
            true => u128::from(if self.preemptible { n + 1 - k } else { n - k }),
        };
        let link = &environment.link;
        let transmission = match sent {
            0 => 0,
            sent => {
                ps(link.transmit(environment.packet)) * (sent - 1) + ps(link.transmit(fragmentation.last()))
            }
        };
        // CPU time of other links is stolen from like the rest.
        let others = match role {
            Role::Send | Role::Relay if !request.is_sent() => self.per_other * u128::from(k),
            _ => 0,
        };
        let on_cpu = work + blocks + others;
        let stolen = self.stretch.scale(on_cpu).saturating_sub(on_cpu);
        let made = if request.is_sent() { self.per_made * u128::from(k) } else { others };
        Split { work, blocks, stolen, transmission, by: link.by(), starts: self.per_start * sent + made }
    }
}

/// The cost of a message at one split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Split {
    work: u128,
    blocks: u128,
    stolen: u128,
    transmission: u128,
    /// How the link is charged for.
    by: &'static str,
    starts: u128,
}

impl Split {
    pub(super) fn total(&self) -> u128 {
        [self.work, self.blocks, self.stolen, self.transmission, self.starts]
            .into_iter()
            .fold(0, u128::saturating_add)
    }

    pub(super) fn breakdown(&self) -> Breakdown {
        Breakdown::default()
            .and("protocol processing of the packets bound by the CPU", self.work)
            .and("overhead of their blocks", self.blocks)
            .and("CPU time stolen from them by transmissions", self.stolen)
            .and(self.by, self.transmission)
            .and("link scheduling and completions", self.starts)
    }
}
