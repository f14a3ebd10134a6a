//! Hosts with several cores, drawn at random: where what they do is placed, and what must be so of
//! their time.

use laxity_model::host::{Busy, Output, Use, Uses};
use laxity_model::node::NodeOutput;
use laxity_qos::channel::CoreId;
use laxity_units::{Span, Time};

use super::cases::Dice;
use super::nodes::{Outcome, run};

/// Where things are placed at a host.
#[derive(Debug, Clone)]
pub(crate) struct Placement {
    pub(crate) cores: u8,
    pub(crate) links: CoreId,
    /// By channel: its handlers, its application.
    pub(crate) channels: Vec<(CoreId, CoreId)>,
    pub(crate) reader: CoreId,
    pub(crate) interrupts: Vec<CoreId>,
    pub(crate) timer: Span,
    pub(crate) ipi: Span,
}

impl Placement {
    /// All of it on the first of `cores` cores.
    pub(crate) fn on_the_first(cores: u8) -> Self {
        Self {
            cores,
            links: CoreId::FIRST,
            channels: vec![(CoreId::FIRST, CoreId::FIRST); 4],
            reader: CoreId::FIRST,
            interrupts: vec![CoreId::FIRST],
            timer: Span::ZERO,
            ipi: Span::ZERO,
        }
    }

    /// Anywhere, at every other host on one core.
    pub(crate) fn draw(seed: u64) -> Self {
        let mut dice = Dice::new(seed, "cores");
        let cores = dice.pick(&[1, 1, 1, 2, 3, 8]);
        let core = |dice: &mut Dice| CoreId(dice.below(u64::from(cores)) as u8);
        Self {
            cores,
            links: core(&mut dice),
            channels: (0..4).map(|_| (core(&mut dice), core(&mut dice))).collect(),
            reader: core(&mut dice),
            interrupts: (0..1 + dice.below(4)).map(|_| core(&mut dice)).collect(),
            timer: if dice.one_in(2) { Span::ZERO } else { dice.us(10) },
            ipi: if dice.one_in(2) { Span::ZERO } else { dice.us(10) },
        }
    }
}

fn stretches(outcome: &Outcome) -> impl Iterator<Item = &Busy> {
    outcome.log.iter().filter_map(|(_, output)| match output {
        NodeOutput::Host(Output::Busy(busy)) => Some(busy),
        _ => None,
    })
}

/// Cores that nothing is placed on are as if they were not there, to the bit and the picosecond,
/// whatever breaks.
#[test]
fn cores_without_work_change_nothing() {
    for seed in 0..400 {
        let [one, many] = [1, 4].map(|cores| run(seed, &Placement::on_the_first(cores)));
        assert_eq!(one.log, many.log, "{seed}");
    }
}

/// A core does one thing at a time, and its account equals its busy time. One core at a time is in
/// the link scheduler, and a core spins for as long as another is in it.
#[test]
fn time_is_conserved_on_each_core_and_one_is_in_the_link_scheduler() {
    let (mut spun, mut at_once) = (0, 0);
    for seed in 0..1500 {
        let placement = Placement::draw(seed);
        let outcome = run(seed, &placement);
        let host = outcome.node.host().expect("it is here");
        let mut until = vec![Time::ZERO; usize::from(placement.cores)];
        let mut uses = vec![Uses::default(); usize::from(placement.cores)];
        for busy in stretches(&outcome) {
            let core = usize::from(busy.core.0);
            assert!(busy.began >= until[core], "{seed}: {busy:?} before {} was over", until[core]);
            until[core] = busy.ended;
            uses[core].add(busy.used, busy.ended.since(busy.began));
        }
        assert_eq!(host.uses(), uses, "{seed}");
        let of = |used| stretches(&outcome).filter(move |busy| busy.used == used);
        let mut scheduling: Vec<_> =
            of(Use::LinkScheduling).map(|busy| (busy.began, busy.ended, busy.core)).collect();
        scheduling.sort();
        for pair in scheduling.windows(2) {
            assert!(pair[0].1 <= pair[1].0, "{seed}: two cores choose: {pair:?}");
        }
        for spin in of(Use::Spin) {
            let others = scheduling.iter().filter(|(.., core)| *core != spin.core);
            let held: Span = others
                .map(|(began, ended, _)| (*ended).min(spin.ended).saturating_since((*began).max(spin.began)))
                .sum();
            // A thread of its own is switched to while it has the lock, and that is not link scheduling.
            let switches: Span = of(Use::Switch)
                .filter(|busy| busy.core != spin.core)
                .map(|busy| busy.ended.min(spin.ended).saturating_since(busy.began.max(spin.began)))
                .sum();
            let spins = spin.ended.since(spin.began);
            assert!(held <= spins && spins <= held + switches, "{seed}: {spin:?}, {held} held");
            spun += 1;
        }
        let parallel = |one: &Busy, other: &Busy| {
            one.core != other.core && one.began < other.ended && other.began < one.ended
        };
        let all: Vec<_> = of(Use::Protocol).collect();
        at_once += usize::from(all.windows(2).any(|pair| parallel(pair[0], pair[1])));
    }
    assert!(spun > 300 && at_once > 200, "{spun} times somebody spun, {at_once} hosts worked in parallel");
}
