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
    /// The true answer, and a note that a question was asked.
    Noted(Rc<Cell<bool>>),
    /// Always this.
    Always(bool),
    /// True and false by turns.
    InTurn(Rc<Cell<bool>>),
}

impl Answers {
    /// All ways to look at a script on a stub, the true answers first.
    pub(super) fn on_stub() -> [Answers; 5] {
        let turn = |first| Answers::InTurn(Rc::new(Cell::new(first)));
        let noted = Answers::Noted(Rc::default());
        [noted, Answers::Always(true), Answers::Always(false), turn(true), turn(false)]
    }

    /// Whether another answer could have changed an evaluation since the last call.
    pub(super) fn mattered(&self) -> bool {
        match self {
            Answers::Noted(asked) => asked.take(),
            Answers::Real | Answers::Always(_) | Answers::InTurn(_) => true,
        }
    }

    /// The answer in place of `real`. An error of the script stays one; an absent value on a stub
    /// decides no comparison.
    pub(super) fn give(&self, real: Answer<bool>) -> Answer<bool> {
        match (self, real) {
            (Answers::Real, real) => real,
            (Answers::Noted(asked), real) => {
                asked.set(true);
                real
            }
            (_, Err(error)) if !Absent::ends(&error) => Err(error),
            (Answers::Always(answer), _) => Ok(*answer),
            (Answers::InTurn(turn), _) => Ok(turn.replace(!turn.get())),
        }
    }

    /// Whether all elements of a list are tested, whatever the results.
    pub(super) fn are_all_wanted(&self) -> bool {
        match self {
            Answers::Real => false,
            Answers::Noted(asked) => {
                asked.set(true);
                false
            }
            Answers::Always(_) | Answers::InTurn(_) => true,
        }
    }
}
