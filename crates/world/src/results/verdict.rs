//! Verdicts: the outcome of each claim, and of all claims together.
//!
//! Two words are not enough. A quantity that was not measured neither holds nor fails. A claim that
//! rests on a parameter which its source does not state may hold for some values of it: a verdict
//! of *holds* or *contradicted* would say more than is known.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The outcome of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Ruling {
    /// Every check held.
    Holds,
    /// Every check held at some values of the parameter that the claim ranges over, and not at
    /// others.
    HoldsWithin {
        /// Where it holds, in words: `buffers from 2 to 8 (3 of 5 points)`.
        range: String,
    },
    /// A check did not hold; of a claim that ranges over a parameter, at any of its values.
    Contradicted,
    /// These results cannot decide it.
    NotJudged {
        /// Why, in words.
        because: String,
    },
}

impl Ruling {
    /// Whether it holds, if only within a stated range.
    pub fn holds(&self) -> bool {
        matches!(self, Ruling::Holds | Ruling::HoldsWithin { .. })
    }

    /// The verdict in a word or two.
    pub fn word(&self) -> &'static str {
        match self {
            Ruling::Holds => "holds",
            Ruling::HoldsWithin { .. } => "holds within",
            Ruling::Contradicted => "contradicted",
            Ruling::NotJudged { .. } => "not judged",
        }
    }

    /// The detail of the verdict: the range in which it holds, or why it is not judged; empty
    /// otherwise.
    pub fn detail(&self) -> &str {
        match self {
            Ruling::Holds | Ruling::Contradicted => "",
            Ruling::HoldsWithin { range } => range,
            Ruling::NotJudged { because } => because,
        }
    }
}

/// The origin of a claim, on which the meaning of a verdict depends.
///
/// A contradicted claim of a paper says something about the paper or about the model. A
/// contradicted test of the implementation is a bug, and one that holds is no evidence for any
/// system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Of what the scenario is about: a paper that it reproduces, or a requirement of its author's.
    #[default]
    Source,
    /// Our own, about the system that is modelled: in no paper, and it could be otherwise.
    Ours,
    /// Of another paper than those that are reproduced.
    Others,
    /// Our own, about the emulation: real time gives what virtual time gives.
    Emulation,
    /// A test of the implementation: it follows from how the model is made, and only a bug makes it
    /// fail.
    Implementation,
}

impl Origin {
    /// The prefix of the claim's own words: `Our own: `.
    pub fn prefix(self) -> &'static str {
        match self {
            Origin::Source => "",
            Origin::Ours => "Our own: ",
            Origin::Others => "Of another paper: ",
            Origin::Emulation => "Real and virtual time: ",
            Origin::Implementation => "Test of the implementation: ",
        }
    }
}

/// A setting of a machine, and the range beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AtSetting {
    /// The setting in words: `send 350 us`.
    pub setting: String,
    /// Where the claim holds, in words: `send 50 us to 350 us (3 of 5 points)`.
    pub range: String,
}

/// Draws in which a claim holds, of those in which it was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Draws {
    /// How many it holds in.
    pub held: usize,
    /// How many it was judged in.
    pub of: usize,
}

impl Draws {
    /// Whether a claim that holds in these draws holds: they are nine of ten or more.
    ///
    /// A claim that holds with probability 0.99 a draw is accepted over ten draws with probability
    /// 0.996, one of 0.6 with 0.05.
    pub fn hold(self) -> bool {
        10 * self.held >= 9 * self.of
    }
}

impl fmt::Display for Draws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.held, self.of)
    }
}

/// One claim, judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Short identifier, `S5a`.
    pub id: String,
    /// The claim in words.
    pub says: String,
    /// The origin of the claim.
    #[serde(default)]
    pub origin: Origin,
    /// Where its source has it; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub from: String,
    /// The claim that it is a further judgement of, if it is one: the two count once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    /// Its outcome.
    #[serde(flatten)]
    pub ruling: Ruling,
    /// Of a claim that is decided at the setting of a machine: that setting, and for which values of
    /// the parameter it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<AtSetting>,
    /// The figures the verdict rests on, in words and numbers, one line.
    pub figure: String,
    /// Why a contradicted claim does not hold, from the scenario file; empty otherwise.
    pub reason: String,
    /// The draws that the verdict rests on; `None` where the scenario has one. Of a claim with a
    /// range, those at the setting, or else at the point where it holds in the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draws: Option<Draws>,
    /// Whether it is not judged (of a claim with a range: at a point of it) because the platform
    /// stood still.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spoilt: bool,
}

impl Verdict {
    /// Whether the claim holds, if only within a stated range.
    pub fn holds(&self) -> bool {
        self.ruling.holds()
    }
}

/// How many claims came to what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerdictTally {
    /// Hold everywhere.
    pub hold: usize,
    /// Hold within a stated range.
    pub within: usize,
    /// Are contradicted.
    pub contradicted: usize,
    /// Are not judged.
    pub not_judged: usize,
}

impl VerdictTally {
    /// The count of `verdicts`.
    pub fn of<'a>(verdicts: impl IntoIterator<Item = &'a Verdict>) -> VerdictTally {
        let mut tally = VerdictTally::default();
        for verdict in verdicts {
            *match verdict.ruling {
                Ruling::Holds => &mut tally.hold,
                Ruling::HoldsWithin { .. } => &mut tally.within,
                Ruling::Contradicted => &mut tally.contradicted,
                Ruling::NotJudged { .. } => &mut tally.not_judged,
            } += 1;
        }
        tally
    }

    /// `3 hold, 1 holds within a range, 1 contradicted`: what there is none of is left out, but for
    /// those that hold.
    pub fn words(&self) -> String {
        let hold = |count| if count == 1 { "holds" } else { "hold" };
        let mut words = format!("{} {}", self.hold, hold(self.hold));
        let within = format!("{} within a range", hold(self.within));
        for (count, what) in [
            (self.within, within.as_str()),
            (self.contradicted, "contradicted"),
            (self.not_judged, "not judged"),
        ] {
            if count > 0 {
                words += &format!(", {count} {what}");
            }
        }
        words
    }
}

/// The standing of a whole outcome, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Every claim holds, and every channel is admitted that is to be.
    Holds,
    /// No claim is contradicted, but a claim could not be judged.
    NotJudged,
    /// A claim is contradicted, or a channel is refused unexpectedly.
    Fails,
    /// The script of a claim has an error.
    BadClaim,
}
