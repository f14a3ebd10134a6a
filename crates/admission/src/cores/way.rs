//! The link of a host with several cores, and how long interrupts can be pending at one of them.
//!
//! Let the last packet of `m` leave by its link at `f`, and `t0` be the last instant before at
//! which no current packet waited at that link, of whatever core. It is not after that packet's
//! arrival, so `t0 ≤ ℓ + R`. In `(t0, f)` only current packets are selected there, and each belongs
//! to a message that was made after `t0`, so with `ℓ_j ≥ t0 − R_j`. The adapter idles
//!
//! * until packets are handed over that were selected before: `C_l`, for one core is in the link
//!   scheduler, and their transmissions, `D L_max`;
//! * then in *gaps*, in which all that it had is complete and no core has handed over the next,
//!   each of which ends with a current packet. The interrupt of the last completion is to end a
//!   gap. Its core may be spinning or in the link scheduler: the core that is in there for this
//!   link ends the gap within `C_l`. Then interrupts are served in order of arrival. Those before
//!   it find no slot, or end the gap themselves. Its own takes `C_i`. Then the core calls, and it
//!   or the core that is in there for this link ends the gap within `C_l`;
//! * at `t0` the packet that came may have to wait for interrupts that its core serves before it
//!   calls, and one that turned current for the timer's: `A`, for as long as interrupts can be
//!   pending at the core with that timer or a core whose handlers make packets for this link.
//!
//! So `n` packets that leave in `(t0, f)` are through by `D L_max + C_l + A + Σ_n (L(n) + C_i +
//! 2C_l) + G`, where `G` is what else interrupts that core. It is served in `(t0, f)` and came in
//! that time, or in `Y` before, the longest that interrupts can be pending there.
//!
//! *A core that sleeps is called* by others that queue work for it: a frame that they hear of has
//! its handler there, or a buffer that they give back was waited for, or an application of theirs
//! sends. It has work then for a little, sleeps, and is called again. A call never goes to a core
//! that has interrupts pending, so before that of a completion there is one at most: in each gap
//! `C_ipi` more, where others have work for that core.
//!
//! # An adapter of stages
//!
//! Its packets are with it side by side, and [`crate::station::window`] says for how long: with `L` of
//! it for each packet, `once` beside `D L_max`, and a path of events on which each instant that waits
//! for the host is of a packet that the host hands over or of a completion that it hears of. In `(t0,
//! f)` a current packet always waits, so the window is closed but for those instants, which are gaps
//! as above. A gap may also wait for interrupts of completions before its own, those of the `D` packets
//! that were selected before `t0` too. Each interrupt and each section is one instant, whichever gap
//! waits for it; so `C_i` for each packet, and `D C_i` once, pay for all of them. Of packets that
//! arrive in the adapter, what holds resources of those that leave is part of `A_g`.
//!
//! # Other links
//!
//! The lock is one for all links, and interrupts call for any of them, in turn, until no packet can
//! be started. So in a gap the core that is to end it may be in the link scheduler, or spin, for
//! packets of others. That lasts no longer than any core is in there for those, which is `C_l` for
//! each of their starts. And completions of theirs may interrupt it. Both are at most `⌈Δ/a⌉ + D +
//! 2` in any `Δ`, and part of `G`. A handler calls for the link of the packet that it has made, and
//! so no gap waits for a core that has taken another's turn. With `c = C_l`, and `C_i` more where
//! completions of that link are heard of:
//!
//! ```text
//! Y = Σ_links c (⌈Y/a⌉ + D + 2) + Σ_g (burst_g + ⌈Y/interval_g⌉) A_g,   A = max Y of these
//! b = D L_max + C_l + A + Σ_j ⌈(b + R_j)/I_j⌉ Σ_n (L(n) + C_i + 2C_l) + Σ_g (burst_g + ⌈(b + Y)/interval_g⌉) A_g
//!     + Σ_others c (⌈(b + Y)/a⌉ + D + 2)
//! ```
//!
//! Any of the links may lead through an adapter of stages. In `Δ` the host serves the completions of at
//! most `Δ/a` packets beside those that the adapter had at the beginning ([`super::super::beside`]).
//! Those packets and the free slots are `D` together, so at most `D + Δ/a` packets are started.
//!
//! The argument is that of `rates/together.rs`. In which order current packets go does not matter, nor
//! how many cores there are.
//!
//! # Under O2
//!
//! A core that hears of a completion or makes a packet calls the thread, on core `c`; the call
//! carries no other information. It may be kept from its core by one block, of `B` at most, with
//! the switch to it, for these are one step. Where the core sleeps, it is the interrupt by which
//! the core is called. Then it switches, and hands a packet over for each link in turn. It may have
//! been at that for others when it was called, and goes on then without a switch. So a gap is, with
//! its own switch once,
//!
//! ```text
//! C_i + max(C_sw + C_cm + B, C_ipi) + C_sw + C_cm + C_l,
//! ```
//!
//! and `C_ipi` more where another core hears of completions and is called by others. Interrupts of
//! the two cores add to this, and so does work for other links: completions where they are noticed,
//! and starts on `c`. Handing over masks interrupts on `c` for a switch longer. Completions of the
//! `D` packets that were selected before `t0` add to those of gaps. The timer of `c` notices a
//! packet that turns current at `t0`.
//!
//! ```text
//! Y_c = C_sw + C_cm + Σ …,   b = D (L_max + C_i) + C_sw + C_cm + C_l + A + …,   A = Y_c
//! ```

use laxity_units::{Bytes, Span};

use super::super::environment::{Above, Counting, Environment, Interference, Request};
use super::super::rates::{Coming, through};
use super::super::station::Link;
use super::super::terms::{span, sum};
use super::{Caller, WayOut};
use laxity_qos::channel::CoreId;

/// State that all cores share.
pub(super) struct Host<'a> {
    each: &'a [Environment],
    links: &'a [WayOut],
    caller: Caller,
    /// `C_l`.
    section: Span,
    /// `C_i + C_l`.
    completion: Span,
    /// Starts at each link in any `Δ`: at most the first and `⌈Δ/a⌉`; `None` for those by which no
    /// packet leaves.
    starts: Vec<Option<(u32, Span)>>,
    /// `Y` of each core; `None` where interrupts may take all of it.
    pending: Vec<Option<Span>>,
}

/// A link.
#[derive(Debug, Clone)]
pub(super) struct Way {
    link: Link,
    packet: Bytes,
    caller: Caller,
    /// `C_i + 2C_l`, with a call before; of a thread all but what it waits for.
    each: Span,
    /// Cost of a switch, and of a call of a core that sleeps.
    switch: Span,
    ipi: Span,
    /// Packets selected before.
    lower: Span,
    /// `Y` of each core; `None` where interrupts may take all of it.
    pending: Vec<Option<Span>>,
    /// The core that hears of completions.
    hears: CoreId,
    /// Other interrupts of that core, and its other calls of the link scheduler.
    above: Vec<Coming>,
}

/// Work above the handlers of a core by itself. One that sleeps is called by another.
pub(super) fn interference(core: &Environment) -> impl Iterator<Item = Interference> + use<'_> {
    let called = Interference {
        above: Above::Interrupt,
        cost: core.host.ipi,
        adapter: Span::ZERO,
        burst: 0,
        interval: Span::MAX,
    };
    let also = Some(called).filter(|_| !core.host.ipi.is_zero());
    core.interference.iter().copied().chain(also)
}

/// Starts at a link counted by packets, `B + n + 1` and `C/n`; `None` without an end.
fn by_packets(core: &Environment, way: &WayOut) -> Option<(u32, Span)> {
    let makers = way.makers.max(1);
    let burst = way.buffers?.checked_add(u64::from(makers) + 1)?;
    Some((u32::try_from(burst).ok()?, Span::from_ps(core.makes?.as_ps() / u64::from(makers))))
}

/// The part of it that interrupts.
fn interrupts(core: &Environment) -> impl Iterator<Item = Interference> + use<'_> {
    interference(core).filter(|work| work.above == Above::Interrupt)
}

impl<'a> Host<'a> {
    /// `None` if there is no core, or starts follow each other without time in between.
    pub(super) fn new(each: &'a [Environment], links: &'a [WayOut], caller: Caller) -> Option<Self> {
        let first = each.first()?;
        let section = first.host.link_scheduling;
        let completion = first.host.interrupt.saturating_add(section);
        let between = if first.depth == 1 { completion } else { Span::ZERO };
        let starts = |way: &WayOut| -> Option<Option<(u32, Span)>> {
            let Some((smallest, _)) = way.sent else { return Some(None) };
            let (burst, interval) = match first.counting {
                Counting::Packets => by_packets(first, way)?,
                _ => (first.depth.saturating_add(2), way.link.apart(smallest).saturating_add(between)),
            };
            (!interval.is_zero()).then_some(Some((burst, interval)))
        };
        let starts = links.iter().map(starts).collect::<Option<Vec<_>>>()?;
        let mut host = Self { each, links, caller, section, completion, starts, pending: Vec::new() };
        let pending = |core: usize| {
            let all = interrupts(&each[core]).chain(host.starts(core));
            let all: Vec<Coming> = all.map(|work| Coming::above(&work, work.cost)).collect();
            let masked = if caller.has_thread(core) { each[core].host.switch() } else { Span::ZERO };
            through(masked, &all)
        };
        host.pending = (0..each.len()).map(pending).collect();
        Some(host)
    }

    /// Time of `core` for starts and completions of each link, as far as packets leave by it.
    pub(super) fn starts(&self, core: usize) -> impl Iterator<Item = Interference> {
        (0..self.links.len()).filter_map(move |link| self.starts_of(link, core))
    }

    fn starts_of(&self, link: usize, core: usize) -> Option<Interference> {
        let hears = usize::from(self.links[link].hears.0) == core;
        let cost = match (hears, self.caller.calls(core)) {
            (true, true) => self.completion,
            (true, false) => self.each[core].host.interrupt,
            (false, true) => self.section,
            (false, false) => return None,
        };
        let (burst, interval) = self.starts[link]?;
        Some(Interference { above: Above::Interrupt, cost, adapter: Span::ZERO, burst, interval })
    }

    /// Interrupts of `core` beside completions of `link`, and the work there for other links.
    fn above(&self, link: usize, core: usize) -> impl Iterator<Item = Coming> {
        let others = (0..self.links.len()).filter(move |other| *other != link);
        let others = others.filter_map(move |other| self.starts_of(other, core));
        let early = self.pending[core].unwrap_or_default();
        let all = interrupts(&self.each[core]).chain(others);
        all.map(move |work| Coming { early, ..Coming::above(&work, work.cost.saturating_add(work.adapter)) })
    }

    /// A link without senders.
    pub(super) fn way(&self, link: usize) -> Way {
        let WayOut { link: ref costs, hears, called, sent, .. } = self.links[link];
        let Environment { packet, depth, host, .. } = &self.each[usize::from(hears.0)];
        let largest = sent.map_or(Span::ZERO, |(_, largest)| costs.transmit(largest));
        let once = sent.map_or(Span::ZERO, |_| span(sum(costs.once())));
        let thread = Some(self.caller.core).filter(|core| self.caller.is_thread && *core != hears);
        let above = std::iter::once(hears).chain(thread);
        let above = above.flat_map(|core| self.above(link, usize::from(core.0))).collect();
        // That a thread's core was called is no worse than a block there.
        let is_thread_there = self.caller.has_thread(hears.0.into());
        let call = if called && !is_thread_there { host.ipi } else { Span::ZERO };
        let heard = if self.caller.is_thread || !costs.is_alone() { host.interrupt } else { Span::ZERO };
        let before = largest.saturating_add(heard).saturating_mul((*depth).into()).saturating_add(once);
        let (each, lower) = match self.caller.is_thread {
            false => (self.completion.saturating_add(self.section), before.saturating_add(self.section)),
            true => {
                let run = host.switch().saturating_add(self.section);
                (host.interrupt.saturating_add(run), before.saturating_add(run))
            }
        };
        Way {
            link: costs.clone(),
            packet: *packet,
            caller: self.caller,
            each: each.saturating_add(call),
            switch: host.switch(),
            ipi: host.ipi,
            lower,
            pending: self.pending.clone(),
            hears,
            above,
        }
    }
}

impl Way {
    /// Time of the largest message here, where the thread that hands it over waits for a `block` at
    /// most.
    pub(super) fn service(&self, asked: &Request, block: Span) -> Span {
        let fragmentation = asked.spec().fragmentation(self.packet);
        let packets = fragmentation.packets();
        let full = self.link.transmit(self.packet).saturating_mul(packets - 1);
        let last = self.link.transmit(fragmentation.last());
        let waited = match self.caller.is_thread {
            true => block.saturating_add(self.switch).max(self.ipi),
            false => Span::ZERO,
        };
        let each = self.each.saturating_add(waited);
        full.saturating_add(last).saturating_add(each.saturating_mul(packets))
    }

    /// By when a completion has been heard of: `Y` of its core, after the wait for its interrupt.
    pub(super) fn heard(&self) -> Option<Span> {
        Some(self.pending[usize::from(self.hears.0)]?.saturating_add(self.link.hears()))
    }

    /// Packets selected before, and `A` with packets made on these cores; `None` where interrupts
    /// may take all of one.
    pub(super) fn lower(&self, made_on: impl Iterator<Item = CoreId>) -> Option<Span> {
        // The handler that makes a packet calls the thread, without an interrupt in between.
        let made_on = made_on.filter(|_| !self.caller.is_thread);
        let mut cores = std::iter::once(self.caller.core).chain(made_on);
        let longest = cores.try_fold(Span::ZERO, |longest, core| {
            self.pending[usize::from(core.0)].map(|pending| longest.max(pending))
        })?;
        Some(self.lower.saturating_add(longest))
    }

    /// `b` of the channels that leave here, each with its `R`, after [`lower`](Self::lower) and
    /// with such blocks before the thread; `None` if they are too many, or completions may not be
    /// noticed.
    pub(super) fn through<'a>(
        &self,
        (lower, block): (Span, Span),
        sent: impl Iterator<Item = (&'a Request, Span)>,
    ) -> Option<Span> {
        self.heard()?;
        let coming = sent.map(|(asked, made)| Coming::of(asked, self.service(asked, block), made));
        let all: Vec<Coming> = coming.chain(self.above.iter().copied()).collect();
        through(lower, &all)
    }
}
