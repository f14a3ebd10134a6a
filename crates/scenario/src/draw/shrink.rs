//! Cutting a failing scenario down to what it fails by.
//!
//! Delta debugging on the tree: take away channels, then keys, which so become their defaults; make
//! what is left smaller and rounder. Whether a cut scenario is still valid, and still fails, is for
//! the caller to say; most cuts are neither, and cost a run.

use laxity_units::{Bytes, Span};

use super::sketch::{SketchNode, Table};

/// The smallest file that can be cut from `file`, by at most `tries` attempts, and for which `fails` holds.
pub fn shrink(file: &Table, tries: u32, fails: &mut dyn FnMut(&Table) -> bool) -> Table {
    let mut smallest = file.clone();
    let mut left = tries;
    loop {
        let mut changed = false;
        let mut next = 0;
        while let Some(cut) = cuts(&smallest).get(next) {
            if left == 0 {
                return smallest;
            }
            left -= 1;
            let candidate = cut.apply(&smallest);
            if fails(&candidate) {
                // The next cut stands at the place of the removed one.
                smallest = candidate;
                changed = true;
            } else {
                next += 1;
            }
        }
        if !changed {
            return smallest;
        }
    }
}

/// Something to try.
struct Cut {
    /// Indices from the root: a key of a table, an item of a list.
    path: Vec<usize>,
    change: Change,
}

enum Change {
    /// Takes away a number of keys or items from here on.
    Remove(usize),
    Replace(SketchNode),
}

impl Cut {
    fn apply(&self, file: &Table) -> Table {
        let mut root = SketchNode::Table(file.clone());
        let (last, way) = self.path.split_last().expect("the root itself is never cut");
        let parent = way.iter().fold(&mut root, |node, index| match node {
            SketchNode::Table(table) => &mut table.keys[*index].1,
            SketchNode::List(items) => &mut items[*index],
            _ => unreachable!("the way leads through tables and lists"),
        });
        match (parent, &self.change) {
            (SketchNode::Table(table), Change::Remove(count)) => drop(table.keys.drain(*last..last + count)),
            (SketchNode::List(items), Change::Remove(count)) => drop(items.drain(*last..last + count)),
            (SketchNode::Table(table), Change::Replace(node)) => table.keys[*last].1 = node.clone(),
            (SketchNode::List(items), Change::Replace(node)) => items[*last] = node.clone(),
            _ => unreachable!("only tables and lists have parts"),
        }
        let SketchNode::Table(file) = root else { unreachable!("the root is a table") };
        file
    }
}

/// All that can be tried, the largest cuts first.
fn cuts(file: &Table) -> Vec<Cut> {
    let mut cuts = Vec::new();
    let root = SketchNode::Table(file.clone());
    walk(&root, &mut Vec::new(), &mut |node, path| {
        let SketchNode::List(items) = node else { return };
        let mut count = items.len() / 2;
        while count > 0 {
            for at in (0..=items.len() - count).step_by(count) {
                cuts.push(Cut { path: [path, &[at]].concat(), change: Change::Remove(count) });
            }
            count /= 2;
        }
    });
    walk(&root, &mut Vec::new(), &mut |node, path| {
        let SketchNode::Table(table) = node else { return };
        for at in 0..table.keys.len() {
            cuts.push(Cut { path: [path, &[at]].concat(), change: Change::Remove(1) });
        }
    });
    walk(&root, &mut Vec::new(), &mut |node, path| {
        for simpler in simpler(node) {
            cuts.push(Cut { path: path.to_vec(), change: Change::Replace(simpler) });
        }
    });
    cuts
}

fn walk(node: &SketchNode, path: &mut Vec<usize>, see: &mut dyn FnMut(&SketchNode, &[usize])) {
    see(node, path);
    let parts: Vec<&SketchNode> = match node {
        SketchNode::Table(table) => table.keys.iter().map(|(_, node)| node).collect(),
        SketchNode::List(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    for (index, part) in parts.into_iter().enumerate() {
        path.push(index);
        walk(part, path, see);
        path.pop();
    }
}

/// Simpler values than `node`: zero, half, rounded down. Each is less than the one before, so the
/// search ends.
fn simpler(node: &SketchNode) -> Vec<SketchNode> {
    let numbers = |n: u64, least: u64| {
        let mut simpler = vec![least, n / 2, rounded(n, 1), rounded(n, 2), n.saturating_sub(1)];
        simpler.retain(|m| *m < n && *m >= least);
        simpler.dedup();
        simpler
    };
    match node {
        SketchNode::Span(span) => {
            let ps = span.as_ps();
            // A picosecond less is no simpler.
            let mut simpler = vec![0, ps / 2, rounded(ps, 1), rounded(ps, 2), rounded(ps, 3)];
            simpler.retain(|m| *m < ps);
            simpler.into_iter().map(|ps| SketchNode::Span(Span::from_ps(ps))).collect()
        }
        SketchNode::Bytes(bytes) => {
            let mut of = numbers(bytes.get(), 1);
            of.push(bytes.get() / 1024 * 1024);
            of.retain(|n| *n > 0 && *n < bytes.get());
            of.into_iter().map(|n| SketchNode::Bytes(Bytes::new(n))).collect()
        }
        SketchNode::Whole(n) => numbers(*n, 0).into_iter().map(SketchNode::Whole).collect(),
        SketchNode::Text(_)
        | SketchNode::Word(..)
        | SketchNode::Rate(_)
        | SketchNode::Decimal(_)
        | SketchNode::Boolean(_)
        | SketchNode::List(_)
        | SketchNode::Table(_) => Vec::new(),
    }
}

/// `n` rounded down to a number of decimal digits.
fn rounded(n: u64, digits: u32) -> u64 {
    let places = n.checked_ilog10().unwrap_or(0) + 1;
    let unit = 10u64.pow(places.saturating_sub(digits));
    n / unit * unit
}
