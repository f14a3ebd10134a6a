//! Chance, by the drawn scenario's own stream: numbers, times on a grid or off it, words.

use std::collections::BTreeMap;

use laxity_engine::{Seed, Stream};
use laxity_units::{Bytes, Span};

use super::sketch::{Drawn, unsaid, word, words};
use crate::leaf::Choice;
use crate::written::Written;

/// Dice for one scenario.
pub(crate) struct Dice {
    stream: Stream,
    /// All times are multiples of it, so that events of different channels fall on the same instant.
    grid: Option<Span>,
    aside: Option<Box<Dice>>,
    further: Option<Box<Dice>>,
    /// The dice of keys that have their own, and the seed and the number of the scenario.
    own: BTreeMap<&'static str, Dice>,
    of: (u64, u64),
}

/// The streams of what came to the format later, each behind the one before.
const FURTHER: [&str; 15] = [
    "further", "ways", "hubs", "rows", "buses", "excess", "queues", "requests", "levels", "ends", "launches",
    "shapers", "pairs", "stages", "beside",
];

impl Dice {
    /// The dice of scenario `number` under `seed`.
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        let mut stream = Seed::new(seed).stream(&format!("scenario {number}"));
        let grids = [None, None, None, Some(5), Some(10), Some(50), Some(100), Some(100)];
        let grid = grids[stream.below(grids.len() as u64) as usize].map(Span::from_us);
        let later = Seed::new(seed).stream(&format!("scenario {number}, later"));
        let latest = Seed::new(seed).stream(&format!("scenario {number}, latest"));
        let newest = Seed::new(seed).stream(&format!("scenario {number}, newest"));
        let beside = |stream, aside: Option<Self>| Self {
            stream,
            grid,
            aside: aside.map(Box::new),
            further: None,
            own: BTreeMap::new(),
            of: (seed, number),
        };
        let aside = beside(later, Some(beside(latest, Some(beside(newest, None)))));
        let further = FURTHER.iter().rev().fold(None, |further, name| {
            let stream = Seed::new(seed).stream(&format!("scenario {number}, {name}"));
            Some(Box::new(Self { further, ..beside(stream, None) }))
        });
        Self { further, ..beside(stream, Some(aside)) }
    }

    /// Dice for what came to the format later: with them what was drawn before is drawn as it was,
    /// and what is known of a scenario by its number stays so.
    pub(super) fn aside(&mut self) -> &mut Dice {
        self.aside.as_mut().expect("only these dice have others beside them")
    }

    /// The same for what came later than those did.
    pub(super) fn latest(&mut self) -> &mut Dice {
        match self.aside.as_ref().is_some_and(|aside| aside.aside.is_some()) {
            true => self.aside().latest(),
            false => self,
        }
    }

    /// And for what is drawn in place of what those say, to have enough of it.
    pub(super) fn newest(&mut self) -> &mut Dice {
        match self.aside {
            Some(ref mut aside) => aside.newest(),
            None => self,
        }
    }

    /// And for what came after that.
    pub(super) fn further(&mut self) -> &mut Dice {
        match self.further {
            Some(ref mut further) => further,
            None => self,
        }
    }

    /// And for ways that are written.
    pub(super) fn ways(&mut self) -> &mut Dice {
        self.further().further()
    }

    /// And for hosts that are in the middle of others.
    pub(super) fn hubs(&mut self) -> &mut Dice {
        self.ways().further()
    }

    /// And for switches in a row.
    pub(super) fn rows(&mut self) -> &mut Dice {
        self.hubs().further()
    }

    /// And for buses that adapters share.
    pub(super) fn buses(&mut self) -> &mut Dice {
        self.rows().further()
    }

    /// And for excess beside horizons, and for phases that are multiples of periods.
    pub(super) fn excess(&mut self) -> &mut Dice {
        self.buses().further()
    }

    /// And for FIFO queues, and for what has to be beside them if they are to have a bound.
    pub(super) fn queues(&mut self) -> &mut Dice {
        self.excess().further()
    }

    /// And for requests beside the deadline.
    pub(super) fn requests(&mut self) -> &mut Dice {
        self.queues().further()
    }

    /// And for levels by hand.
    pub(super) fn levels(&mut self) -> &mut Dice {
        self.requests().further()
    }

    /// And for nodes at the ends of paths that receive at interfaces.
    pub(super) fn ends(&mut self) -> &mut Dice {
        self.levels().further()
    }

    /// And for launch times.
    pub(super) fn launches(&mut self) -> &mut Dice {
        self.ends().further()
    }

    /// And for shapers of hosts.
    pub(super) fn shapers(&mut self) -> &mut Dice {
        self.launches().further()
    }

    /// And for pairs of shapers, gates and preemption at a port.
    pub(super) fn pairs(&mut self) -> &mut Dice {
        self.shapers().further()
    }

    /// And for several cores before an adapter of stages.
    pub(super) fn stages(&mut self) -> &mut Dice {
        self.pairs().further()
    }

    /// And for adapters of stages beside others of their host.
    pub(super) fn beside(&mut self) -> &mut Dice {
        self.stages().further()
    }

    /// And for hosts of which CPU and link go by different orders.
    pub(super) fn orders(&mut self) -> &mut Dice {
        self.beside().further()
    }

    /// The dice of `key` alone, so that a new key with a range leaves all other drawn keys as they are.
    pub(crate) fn own(&mut self, key: &'static str) -> &mut Dice {
        let (Self { grid, of, .. }, (seed, number)) = (&*self, self.of);
        let (grid, of) = (*grid, *of);
        self.own.entry(key).or_insert_with(|| {
            let stream = Seed::new(seed).stream(&format!("scenario {number}, {key}"));
            Self { stream, grid, aside: None, further: None, own: BTreeMap::new(), of }
        })
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.stream.below(n)
    }

    pub(super) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.stream.below(most - least + 1)
    }

    pub(super) fn chance(&mut self, p: f64) -> bool {
        self.stream.chance(p)
    }

    pub(super) fn unit(&mut self) -> f64 {
        self.stream.unit()
    }

    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.stream.below(of.len() as u64) as usize]
    }

    /// The time on the grid, if there is one, and then not zero unless it was; else to the
    /// nanosecond, or now and then to the picosecond.
    pub(super) fn rounded(&mut self, span: Span) -> Span {
        let grid = match self.grid {
            Some(grid) => grid,
            None if self.stream.chance(0.1) => return span,
            None => Span::from_ns(1),
        };
        grid * span.div_ceil(grid)
    }

    /// A time between the two, each order of magnitude as likely.
    pub(crate) fn span(&mut self, least: Span, most: Span) -> Span {
        let (low, high) = (least.as_ps().max(1), most.as_ps().max(1));
        let octave = low << self.below(u64::from((high / low).max(1).ilog2()) + 1);
        let ps = self.between(octave, (octave * 2).clamp(octave, high.max(octave)));
        self.rounded(Span::from_ps(ps))
    }

    /// A time of a few to `most` microseconds, or zero.
    pub(super) fn cost(&mut self, most: u64) -> Span {
        match self.chance(0.15) {
            true => Span::ZERO,
            false => self.span(Span::from_us(2), Span::from_us(most)),
        }
    }

    /// A part of `span`, uniform from zero to all of it.
    pub(super) fn part_of(&mut self, span: Span) -> Span {
        let ps = self.stream.below(span.as_ps() + 1);
        self.rounded(Span::from_ps(ps))
    }

    /// A message of up to `most` packets of `packet`: of whole packets, one byte more or less, or anything.
    pub(super) fn message(&mut self, packet: Bytes, most: u64) -> Bytes {
        let whole = packet.get() * self.between(1, most);
        Bytes::new(match self.below(6) {
            0 => whole + 1,
            1 => whole.saturating_sub(1).max(1),
            2 => self.between(1, whole),
            _ => whole,
        })
    }

    /// A word: `usual` with probability `p`, else any.
    pub(super) fn word<C: Choice>(&mut self, usual: &str, p: f64) -> &'static str {
        let all = words::<C>();
        match all.iter().find(|word| **word == usual) {
            Some(word) if self.chance(p) => word,
            _ => self.pick(&all),
        }
    }

    /// A key with any word, said with probability `p`.
    pub(crate) fn any<C: Choice>(&mut self, p: f64) -> Drawn<Option<Written<C>>> {
        let all = words::<C>();
        let chosen = self.pick(&all);
        self.maybe(p, |_| word(chosen))
    }

    /// The result of `draw`, with probability `p`.
    pub(crate) fn maybe<F>(&mut self, p: f64, draw: impl FnOnce(&mut Self) -> Drawn<F>) -> Drawn<F> {
        if self.chance(p) { draw(self) } else { unsaid() }
    }

    /// Two keys that `draw` says, with probability `p` both.
    pub(super) fn maybe_pair<F>(
        &mut self,
        p: f64,
        draw: impl FnOnce(&mut Self) -> (Drawn<F>, Drawn<F>),
    ) -> (Drawn<F>, Drawn<F>) {
        if self.chance(p) { draw(self) } else { (unsaid(), unsaid()) }
    }
}
