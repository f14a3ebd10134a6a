//! Claims as a file writes them, and the interface to the reader of their scripts.
//!
//! The language of scripts is known to the judge only: a host in a thread that needs an experiment
//! does not carry an interpreter. Still, a slip in a script is an error of the file, to be shown at
//! its place beside all others. So the caller that reads a file provides the reader of its scripts
//! ([`Scripts`]).

use std::fmt;

use laxity_world::results::{Axis, Origin, Run};

/// A claim as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claim {
    /// Short identifier, `S5a`.
    pub id: String,
    /// The claim in words.
    pub says: String,
    /// Origin of the claim.
    pub origin: Origin,
    /// Where its source has it; may be empty.
    pub from: String,
    /// The claim that it is a further judgement of, if it is one.
    pub same_as: Option<String>,
    /// The script that decides it: an expression or a block that ends in `true` or `false`.
    pub holds: String,
    /// The script of the figures that the verdict rests on: text, a number, or a list of them.
    pub shows: Option<String>,
    /// Why a faithful model contradicts the claim, if it does.
    pub reason: String,
    /// The axis that it ranges over, if it hangs on a parameter without saying its value.
    pub range: Option<String>,
    /// The point of that axis that decides it, if one is the setting of the machine.
    pub setting: Option<usize>,
    /// Whether it is judged in each draw of the scenario by itself.
    pub by_draw: bool,
    /// Verdict where stalls of the platform may have decided the figures.
    pub stalls: Stalls,
    /// Where it is written, `experiments/x.toml:41:1`.
    pub location: String,
}

/// Verdict on a claim that reads figures which stalls of the platform may have decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stalls {
    /// It is not judged.
    #[default]
    Spoil,
    /// It is judged, since its scripts allow for them; unless a tenth of the time is missing.
    Accounted,
}

/// Reader of the scripts of claims.
pub trait Scripts {
    /// Errors of the scripts of `claim`; empty if they compile.
    fn compile(&self, claim: &Claim) -> Vec<ClaimError>;

    /// Names in the scripts of `claims`, which compile, that are missing in results shaped like
    /// `stub` over `axes`.
    fn try_on(&self, claims: &[Claim], axes: &[Axis], stub: Vec<Run>) -> Vec<ClaimError>;
}

/// Accepts any text as a script: for programs that run experiments and judge no claim.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unread;

impl Scripts for Unread {
    fn compile(&self, _claim: &Claim) -> Vec<ClaimError> {
        Vec::new()
    }

    fn try_on(&self, _claims: &[Claim], _axes: &[Axis], _stub: Vec<Run>) -> Vec<ClaimError> {
        Vec::new()
    }
}

/// Why a claim cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimError {
    /// The claim's identifier.
    pub id: String,
    /// Where the claim is written, `file:line:column`.
    pub location: String,
    /// Which of its scripts is at fault: `holds` or `shows`.
    pub script: &'static str,
    /// Line and column in that script, counted from 1; `None` where the script as a whole is at fault.
    pub position: Option<(usize, usize)>,
    /// The line of the script that is at fault; empty without a position.
    pub line: String,
    /// The error, and the valid alternatives.
    pub message: String,
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: claim `{}` cannot be judged: in `{}`", self.location, self.id, self.script)?;
        let Some((line, column)) = self.position else { return write!(f, ": {}", self.message) };
        write!(f, " at {line}:{column}: {}", self.message)?;
        write!(f, "\n    {}\n    {:>column$}", self.line, "^")
    }
}

impl std::error::Error for ClaimError {}
