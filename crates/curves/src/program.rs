//! A linear program over the tree of a flow (PLP).
//!
//! The program describes one frame that leaves the root, and what must have been before (Bouillard
//! 2022, *Trade-off between accuracy and tractability of network calculus in FIFO networks*,
//! section 4). Each node has dates on the side of its arrivals:
//!
//! - **FIFO dates.** For each date on the side of departures there is a date before which exactly
//!   the frames gone by then had arrived. The counts of all flows at both dates are equal, so they
//!   are the same variables here.
//! - **A service date.** For the earliest date of departures, the date at which the busy period
//!   began. Between both the node served at least its service curve.
//!
//! Rows state that dates are in order, that counts rise, that entering classes keep their arrival
//! curves, that links upstream carry at most their rate and a frame, and that delays and busy
//! periods have the bounds of the total flow analysis (section 5 there).
//!
//! Frames are whole at each node. A frame under way that goes on to the parent counts as not departed.
//! That costs the longest such frame in the row of service. Any other frame under way counts as departed:
//! its FIFO date is the last instant up to which this frame and those before it had arrived, or the date of
//! departures if that is earlier. The next frame leaves after the date of departures, so the row of the
//! delay holds. Classes that go on have the same counts on both sides, as before. The root has no such cost:
//! its date is the end of a frame.
//!
//! Ages count from the departure back, and counts from the latest date back, so that all variables
//! are at least zero.

use laxity_units::Span;

use crate::certificate::{Range, Row, maximum};
use crate::tree::{Node, Tree};

/// Upper bound on the delay over the path of the tree, without propagation.
pub(crate) fn bound(tree: &Tree) -> Option<Span> {
    let program = Program::of(tree)?;
    let age = maximum(&program.ranges, &program.rows, program.ages[tree.first])?;
    u64::try_from(age).ok().map(Span::from_ps)
}

struct Program<'a> {
    tree: &'a Tree,
    /// First variable of the ages of each node: FIFO dates, then the service date.
    ages: Vec<usize>,
    /// First variable of the counts of each class, less one: the count at the latest date is zero.
    counts: Vec<usize>,
    ranges: Vec<Range>,
    rows: Vec<Row>,
}

/// A variable, or zero.
type Term = Option<usize>;

impl<'a> Program<'a> {
    fn of(tree: &'a Tree) -> Option<Self> {
        let ranges = Vec::new();
        let mut program = Self { tree, ages: Vec::new(), counts: Vec::new(), ranges, rows: Vec::new() };
        program.variables()?;
        for node in 0..tree.nodes.len() {
            program.dates(node);
            program.service(node);
            program.links(node);
        }
        for class in 0..tree.classes.len() {
            program.class(class);
        }
        Some(program)
    }

    fn variables(&mut self) -> Option<()> {
        let mut oldest: Vec<u128> = Vec::with_capacity(self.tree.nodes.len());
        for node in &self.tree.nodes {
            let before = node.parent.map_or(0, |parent| oldest[parent]);
            let most = before.checked_add(node.busy.max(node.delay))?;
            oldest.push(most);
            self.ages.push(self.ranges.len());
            for _ in 0..node.depth + 2 {
                self.ranges.push(Range { most: i128::try_from(most).ok()?, scale: 1.0 });
            }
        }
        for class in &self.tree.classes {
            let entry = *class.nodes.last().expect("a class passes a node");
            let most = i128::try_from(class.arrival.at(oldest[entry])).ok()?;
            self.counts.push(self.ranges.len() - 1);
            for _ in 0..self.tree.nodes[entry].depth + 1 {
                self.ranges.push(Range { most, scale: 1.0 });
            }
        }
        let time = self.tree.nodes.iter().map(|node| node.delay).sum::<u128>() as f64;
        let rate = self.tree.nodes[0].links.iter().map(|link| link.rate).max();
        let rate = rate.or(self.tree.nodes[0].pieces.last().map(|piece| piece.rate))? as f64;
        let counts = self.counts.first().map_or(self.ranges.len(), |first| first + 1);
        for (index, range) in self.ranges.iter_mut().enumerate() {
            range.scale = if index < counts { time.max(1.0) } else { (time * rate).max(1.0) };
        }
        Some(())
    }

    /// Age of date `index` on the side of arrivals.
    fn arrived(&self, node: usize, index: usize) -> Term {
        Some(self.ages[node] + index)
    }

    /// Age of date `index` on the side of departures: a date of arrivals at the parent.
    fn departed(&self, node: usize, index: usize) -> Term {
        self.tree.nodes[node].parent.and_then(|parent| self.arrived(parent, index))
    }

    /// Count of `class` at date `index`, the same on all nodes that it passes.
    fn count(&self, class: usize, index: usize) -> Term {
        (index > 0).then(|| self.counts[class] + index)
    }

    /// `Σ terms ≤ limit`.
    fn row(&mut self, terms: impl IntoIterator<Item = (Term, i128)>, limit: u128) {
        let terms = terms.into_iter().filter_map(|(term, factor)| Some((term?, factor))).collect();
        // A limit beyond the range says less than the variables' own ranges.
        if let Ok(limit) = i128::try_from(limit) {
            self.rows.push(Row { terms, limit });
        }
    }

    fn dates(&mut self, node: usize) {
        let Node { depth, delay, busy, .. } = self.tree.nodes[node];
        for index in 0..=depth {
            let (before, after) = (self.arrived(node, index), self.departed(node, index));
            self.row([(after, 1), (before, -1)], 0);
            self.row([(before, 1), (after, -1)], delay);
            self.row([(before, 1), (self.arrived(node, index + 1), -1)], 0);
        }
        self.row([(self.arrived(node, depth + 1), 1), (self.departed(node, depth), -1)], busy);
    }

    fn service(&mut self, node: usize) {
        let Node { depth, onward, ref pieces, .. } = self.tree.nodes[node];
        let passing: Vec<usize> = (0..self.tree.classes.len())
            .filter(|&class| self.tree.classes[class].nodes.contains(&node))
            .collect();
        for piece in pieces {
            let rate = factor(piece.rate);
            let mut terms = vec![(self.arrived(node, depth + 1), rate), (self.departed(node, depth), -rate)];
            for &class in &passing {
                terms.push((self.count(class, depth + 1), -1));
                terms.push((self.count(class, depth), 1));
            }
            self.row(terms, piece.debt.saturating_add(onward));
        }
    }

    /// The traffic of links into `node` between any two of its dates.
    fn links(&mut self, node: usize) {
        let last = self.tree.nodes[node].depth + 1;
        for link in &self.tree.nodes[node].links {
            for (late, early) in pairs(last) {
                let rate = factor(link.rate);
                let mut terms = vec![(self.arrived(node, early), -rate), (self.arrived(node, late), rate)];
                for &class in &link.classes {
                    terms.push((self.count(class, early), 1));
                    terms.push((self.count(class, late), -1));
                }
                self.row(terms, link.longest);
            }
        }
    }

    /// The traffic of a class between any two dates of the node at which it enters.
    fn class(&mut self, class: usize) {
        let Some(&entry) = self.tree.classes[class].nodes.last() else { return };
        let last = self.tree.nodes[entry].depth + 1;
        for index in 0..last {
            self.row([(self.count(class, index), 1), (self.count(class, index + 1), -1)], 0);
        }
        for (late, early) in pairs(last) {
            for line in self.tree.classes[class].arrival.lines() {
                let rate = factor(line.rate);
                let terms = [
                    (self.count(class, early), 1),
                    (self.count(class, late), -1),
                    (self.arrived(entry, early), -rate),
                    (self.arrived(entry, late), rate),
                ];
                self.row(terms, line.burst);
            }
        }
    }
}

/// All `(late, early)` with `late < early ≤ last`.
fn pairs(last: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..last).flat_map(move |late| (late + 1..=last).map(move |early| (late, early)))
}

/// A rate as a factor; beyond the range of integers the row allows everything.
fn factor(rate: u128) -> i128 {
    i128::try_from(rate).unwrap_or(i128::MAX)
}
