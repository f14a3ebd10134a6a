//! Makes a failing plan smaller.

use super::{Plan, Violation, run};

/// Removes from `plan` whatever it does not fail by: entries of the timeline, impairments, drifts,
/// the crash. Answers a plan that fails, and how, after `tries` runs at most; `None` if `plan` does
/// not fail.
pub fn shrink(plan: &Plan, mut tries: u32) -> Option<(Plan, Violation)> {
    let mut least = (plan.clone(), run(plan).err()?);
    loop {
        let before = least.0.clone();
        for simpler in SIMPLER {
            let mut smaller = least.0.clone();
            simpler(&mut smaller);
            attempt(&mut least, smaller, &mut tries);
        }
        // From large pieces of the timeline to single entries.
        let mut piece = least.0.timeline.len().div_ceil(2);
        while piece > 0 {
            let mut at = 0;
            while at < least.0.timeline.len() {
                let mut smaller = least.0.clone();
                let end = (at + piece).min(smaller.timeline.len());
                smaller.timeline.drain(at..end);
                if !attempt(&mut least, smaller, &mut tries) {
                    at += piece;
                }
            }
            piece /= 2;
        }
        if least.0 == before || tries == 0 {
            return Some(least);
        }
    }
}

/// Changes that take one impairment out of a plan.
const SIMPLER: [fn(&mut Plan); 5] = [
    |plan| plan.crash_at = None,
    |plan| plan.drifts.fill(0),
    |plan| plan.impairments[0] = 0,
    |plan| plan.impairments[1] = 0,
    |plan| plan.impairments[2] = 0,
];

fn attempt(least: &mut (Plan, Violation), smaller: Plan, tries: &mut u32) -> bool {
    if *tries == 0 || smaller == least.0 {
        return false;
    }
    *tries -= 1;
    match run(&smaller) {
        Ok(_) => false,
        Err(violation) => {
            *least = (smaller, violation);
            true
        }
    }
}
