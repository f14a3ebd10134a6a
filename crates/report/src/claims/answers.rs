//! How comparisons are answered: as they are, or so as to see more of a script.
//!
//! A name that is misspelt behind `&&` is not met before the comparison in front of it is true, which in a run of an hour
//! takes an hour. On a stub of results, every comparison may be answered as it suits: once all true, once all
//! false, once by turns. What is compared is looked at all the same.

use std::cell::Cell;
use std::rc::Rc;

use super::absent::{Absent, Answer};

/// What comparisons answer.
#[derive(Debug, Clone)]
pub(super) enum Answers {
    /// What is so.
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

    /// The answer where `real` would be it. A script that is wrong stays so; what is absent on a stub decides nothing.
    pub(super) fn give(&self, real: Answer<bool>) -> Answer<bool> {
        match (self, real) {
            (Answers::Real, real) => real,
            (_, Err(error)) if !Absent::ends(&error) => Err(error),
            (Answers::Always(answer), _) => Ok(*answer),
            (Answers::InTurn(turn), _) => Ok(turn.replace(!turn.get())),
        }
    }

    /// Whether a list is looked at to its end, whatever its elements answer.
    pub(super) fn are_all_wanted(&self) -> bool {
        !matches!(self, Answers::Real)
    }
}
