//! How comparisons are answered: truthfully, or so as to reach more of a script.
//!
//! A misspelt name behind `&&` is evaluated only if the comparison in front of it is true, which a
//! run may show after an hour only. On a stub of results, every comparison may be answered at will:
//! once all true, once all false, once in alternation. The operands are evaluated in each case.

use std::cell::Cell;
use std::rc::Rc;

use super::absent::{Absent, Answer};

/// The answers of comparisons.
#[derive(Debug, Clone)]
pub(super) enum Answers {
    /// The true answer.
    Real,
    /// Always this.
    Always(bool),
    /// True and false by turns.
    InTurn(Rc<Cell<bool>>),
}

impl Answers {
    /// All ways to look at a script on a stub.
    pub(super) fn on_stub() -> [Answers; 5] {
        let turn = |first| Answers::InTurn(Rc::new(Cell::new(first)));
        [Answers::Real, Answers::Always(true), Answers::Always(false), turn(true), turn(false)]
    }

    /// The answer in place of `real`. An error of the script stays one; an absent value on a stub
    /// decides no comparison.
    pub(super) fn give(&self, real: Answer<bool>) -> Answer<bool> {
        match (self, real) {
            (Answers::Real, real) => real,
            (_, Err(error)) if !Absent::ends(&error) => Err(error),
            (Answers::Always(answer), _) => Ok(*answer),
            (Answers::InTurn(turn), _) => Ok(turn.replace(!turn.get())),
        }
    }

    /// Whether all elements of a list are tested, whatever the results.
    pub(super) fn are_all_wanted(&self) -> bool {
        !matches!(self, Answers::Real)
    }
}
