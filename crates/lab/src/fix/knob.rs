//! Things that a user can change, and the limits of a search.

use laxity_scenario::Change;

use super::quantity::Quantity;

/// The largest factor by which a search changes a value.
pub(super) const MOST: f64 = 16.0;

/// One thing in the file that can be changed.
#[derive(Debug, Clone)]
pub(super) struct Knob {
    /// In words: `deadline of video`.
    pub(super) what: String,
    /// Whether other knobs change parts of it one by one.
    pub(super) wide: bool,
    /// The change to it.
    pub(super) turn: Turn,
}

/// A change of one thing.
#[derive(Debug, Clone)]
pub(super) enum Turn {
    /// Each of these values is scaled by the same factor.
    Scale(Vec<Scaled>),
    /// Keys take other values.
    Set {
        /// The keys with their values.
        changes: Vec<Change>,
        /// The present value, as text.
        now: String,
        /// The new value, as text.
        then: String,
    },
}

impl Turn {
    /// Each of `keys` is set to the text `value`, in place of `now`.
    pub(super) fn set(keys: &[String], now: &str, value: &str) -> Self {
        let change = |key: &String| Change { key: key.clone(), value: format!("\"{value}\"") };
        Self::Set { changes: keys.iter().map(change).collect(), now: now.into(), then: value.into() }
    }
}

/// A value that is scaled.
#[derive(Debug, Clone)]
pub(super) struct Scaled {
    /// Its key.
    pub(super) key: String,
    /// The present value.
    pub(super) now: Quantity,
    /// Whether it becomes more.
    pub(super) up: bool,
}

impl Scaled {
    fn then(&self, factor: f64) -> Quantity {
        if self.up { self.now.more(factor) } else { self.now.less(factor) }
    }
}

/// One thing, changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Turned {
    /// In words: `deadline of video`.
    pub what: String,
    /// The present value, as text.
    pub now: String,
    /// The new value, as text.
    pub then: String,
    /// The larger value divided by the smaller; `None` for a setting, which has no size.
    pub factor: Option<f64>,
    /// Whether it becomes more.
    pub up: bool,
    /// The changes of the file.
    pub changes: Vec<Change>,
}

impl Knob {
    /// The thing with its values changed by `factor`, which a setting ignores.
    pub(super) fn at(&self, factor: f64) -> Turned {
        match &self.turn {
            Turn::Scale(parts) => {
                let changes = parts
                    .iter()
                    .map(|part| Change { key: part.key.clone(), value: part.then(factor).toml() });
                let ratio = |part: &Scaled| {
                    let (now, then) = (part.now.number(), part.then(factor).number());
                    if then > now { then / now } else { now / then }
                };
                let all = |value: &dyn Fn(&Scaled) -> String| {
                    let mut texts: Vec<String> = parts.iter().map(value).collect();
                    texts.dedup();
                    texts.join(", ")
                };
                Turned {
                    what: self.what.clone(),
                    now: all(&|part| part.now.to_string()),
                    then: all(&|part| part.then(factor).to_string()),
                    factor: Some(parts.iter().map(ratio).fold(1.0, f64::max)),
                    up: parts.iter().all(|part| part.up),
                    changes: changes.collect(),
                }
            }
            Turn::Set { changes, now, then } => Turned {
                what: self.what.clone(),
                now: now.clone(),
                then: then.clone(),
                factor: None,
                up: true,
                changes: changes.clone(),
            },
        }
    }

    /// Whether a factor makes a difference.
    pub(super) fn is_scaled(&self) -> bool {
        matches!(self.turn, Turn::Scale(_))
    }

    /// Its keys.
    pub(super) fn keys(&self) -> Vec<&str> {
        match &self.turn {
            Turn::Scale(parts) => parts.iter().map(|part| part.key.as_str()).collect(),
            Turn::Set { changes, .. } => changes.iter().map(|change| change.key.as_str()).collect(),
        }
    }
}
