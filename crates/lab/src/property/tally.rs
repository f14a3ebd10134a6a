//! Counts of the drawn words, and of those with a bound: a property that was not tested on any case
//! is not shown.

use std::collections::BTreeMap;

use laxity_scenario::draw::DrawnScenario;

use super::{Checked, Kept};

/// Counts over many drawn scenarios.
#[derive(Debug, Clone, Default)]
pub struct PropertyTally {
    /// Scenarios.
    pub cases: u64,
    /// Scenarios that the reader refused though they were drawn to be valid, with the first text
    /// and error.
    pub invalid: u64,
    /// The first of those: its file, and why.
    pub first_invalid: Option<(String, String)>,
    /// Those refused that were drawn without care.
    pub careless: u64,
    /// Those given up.
    pub endless: u64,
    /// Scenarios with at least one bound that a message was measured against.
    pub bounded: u64,
    /// Such channels.
    pub bounds: u64,
    /// The largest worst case of a channel as a share of its bound, by scenario, in twentieths.
    pub closest: [u64; 21],
    /// Why scenarios have no bound, and how many.
    pub unbounded: BTreeMap<&'static str, u64>,
    /// Scenarios that failed.
    pub broken: u64,
    /// Per key and word: the number of scenarios with it, and of those with a bound.
    pub words: BTreeMap<(String, &'static str), (u64, u64)>,
}

impl PropertyTally {
    /// Counts `scenario`.
    pub fn count(&mut self, scenario: &DrawnScenario, verdict: &Checked) {
        self.cases += 1;
        let mut bounded = false;
        match verdict {
            Checked::Invalid(_) if scenario.careless => self.careless += 1,
            Checked::Invalid(error) => {
                self.invalid += 1;
                self.first_invalid.get_or_insert_with(|| (scenario.file.text(), error.clone()));
            }
            Checked::Endless => self.endless += 1,
            Checked::Broken(_) => self.broken += 1,
            Checked::Kept(Kept { bounds, closest, unbounded }) => {
                if let Some(why) = unbounded {
                    *self.unbounded.entry(why).or_default() += 1;
                }
                bounded = *bounds > 0;
                self.bounded += u64::from(bounded);
                self.bounds += *bounds as u64;
                if bounded {
                    self.closest[(closest * 20.0) as usize] += 1;
                }
            }
        }
        let mut seen: BTreeMap<(String, &'static str), bool> = BTreeMap::new();
        scenario.file.visit_words(&mut |path, word, all| {
            for other in all {
                *seen.entry((path.to_string(), other)).or_default() |= other == word;
            }
        });
        for (word, so) in seen {
            // Words that were not drawn yet are listed with a count of zero.
            let (drawn, with_bound) = self.words.entry(word).or_default();
            *drawn += u64::from(so);
            *with_bound += u64::from(so && bounded);
        }
    }

    /// Adds what another one counted.
    pub fn add(&mut self, other: PropertyTally) {
        self.cases += other.cases;
        self.invalid += other.invalid;
        self.first_invalid = self.first_invalid.take().or(other.first_invalid);
        self.careless += other.careless;
        self.endless += other.endless;
        self.bounded += other.bounded;
        self.bounds += other.bounds;
        self.broken += other.broken;
        for (why, count) in other.unbounded {
            *self.unbounded.entry(why).or_default() += count;
        }
        for (sum, count) in self.closest.iter_mut().zip(other.closest) {
            *sum += count;
        }
        for (word, (drawn, with_bound)) in other.words {
            let sum = self.words.entry(word).or_default();
            *sum = (sum.0 + drawn, sum.1 + with_bound);
        }
    }
}
