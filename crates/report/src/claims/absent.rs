//! Values that results do not have, and why scripts that need them have no answer.
//!
//! A bound that was not given, a distribution of an empty set, a figure that does not exist: a
//! script that reads one of them can be right, but has no answer. The language's `()` compares
//! unequal to everything, so that a channel without messages would have missed no deadline. An
//! [`Absent`] value holds its reason, can be tested for (`x == ()`), and ends any claim that
//! computes with it as *not judged*. A misspelt name is an error of the script, whatever the
//! results.

use std::fmt;
use std::rc::Rc;

use rhai::{Array, Dynamic, Engine, EvalAltResult, FLOAT, INT, ImmutableString, Position};

/// The result of a function for a script: a value, or why there is none.
pub(super) type Answer<T> = Result<T, Box<EvalAltResult>>;

/// A value that the results do not have, in words.
///
/// The amount that a channel *carried* is an idle zero where no source sent: a measured zero
/// without evidence. An idle zero adds zero to a sum and is not more than anything. Any other
/// comparison that it would make true (`a.throughput == b.throughput` of two channels without a
/// source) has no answer.
#[derive(Debug, Clone)]
pub(super) struct Absent {
    why: Rc<str>,
    idle: bool,
}

impl Absent {
    pub(super) fn new(why: impl Into<Rc<str>>) -> Self {
        Self { why: why.into(), idle: false }
    }

    /// The amount carried by a channel to which no messages were given.
    pub(super) fn idle(why: impl Into<Rc<str>>) -> Self {
        Self { why: why.into(), idle: true }
    }

    /// Why `value` is none, if it is none.
    pub(super) fn of(value: &Dynamic) -> Option<String> {
        if value.is_unit() {
            return Some("a metric was not measured".into());
        }
        value.read_lock::<Absent>().map(|absent| absent.why.to_string())
    }

    /// Whether `value` is what an idle channel carried.
    pub(super) fn is_idle(value: &Dynamic) -> bool {
        value.read_lock::<Absent>().is_some_and(|absent| absent.idle)
    }

    /// Whether that is what an evaluation ended in.
    pub(super) fn ends(error: &EvalAltResult) -> bool {
        Self::cause(error).is_some()
    }

    /// Why an evaluation ended in one, if it did.
    pub(super) fn cause(error: &EvalAltResult) -> Option<String> {
        match error.unwrap_inner() {
            EvalAltResult::ErrorRuntime(value, _) => {
                value.read_lock::<Absent>().map(|absent| absent.why.to_string())
            }
            // `xs[0]` of an empty list has no value, as `max(xs)` has none.
            EvalAltResult::ErrorArrayBounds(0, ..) => Some("an element of an empty list".into()),
            _ => None,
        }
    }
}

impl From<Absent> for Dynamic {
    fn from(absent: Absent) -> Dynamic {
        Dynamic::from(absent)
    }
}

/// Why a script has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// The results do not have what it needs.
    Absent(String),
    /// It is wrong.
    Slip(String),
}

impl Fault {
    /// The same in a call of `name`.
    pub(super) fn within(self, name: &str) -> Fault {
        match self {
            Fault::Absent(why) => Fault::Absent(format!("`{name}`: {why}")),
            Fault::Slip(why) => Fault::Slip(format!("`{name}`: {why}")),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Fault::Absent(why) | Fault::Slip(why)) = self;
        f.write_str(why)
    }
}

impl From<Fault> for Box<EvalAltResult> {
    fn from(fault: Fault) -> Self {
        let value = match fault {
            Fault::Absent(why) => Absent::new(why).into(),
            Fault::Slip(why) => why.into(),
        };
        EvalAltResult::ErrorRuntime(value, Position::NONE).into()
    }
}

/// Ends a claim as not judged.
pub(super) fn absent<T>(why: impl Into<String>) -> Answer<T> {
    Err(Fault::Absent(why.into()).into())
}

/// Registers absent values, and makes arithmetic with them end in their reason.
pub(super) fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Absent>("absent value");
    // A field of what is absent is as absent.
    engine.register_indexer_get(|value: &mut Absent, _: ImmutableString| -> Dynamic { value.clone().into() });
    engine.register_indexer_get(|(): &mut (), name: ImmutableString| -> Answer<Dynamic> {
        absent(format!("`{name}` of a metric that was not measured"))
    });
    engine.register_fn("call", |value: &mut Absent| -> Answer<Dynamic> { absent(value.why.to_string()) });
    for operator in ["+", "-", "*", "/", "%", "**"] {
        pair::<Absent, INT>(engine, operator);
        pair::<INT, Absent>(engine, operator);
        pair::<Absent, FLOAT>(engine, operator);
        pair::<FLOAT, Absent>(engine, operator);
        pair::<Absent, Absent>(engine, operator);
        pair::<(), INT>(engine, operator);
        pair::<INT, ()>(engine, operator);
        pair::<(), FLOAT>(engine, operator);
        pair::<FLOAT, ()>(engine, operator);
        pair::<(), ()>(engine, operator);
        pair::<Absent, ()>(engine, operator);
        pair::<(), Absent>(engine, operator);
    }
    for function in
        ["-", "+", "abs", "sqrt", "floor", "ceiling", "round", "int", "to_int", "to_float", "ln", "exp"]
    {
        engine.register_fn(function, |value: Absent| -> Answer<FLOAT> { absent(value.why.to_string()) });
        engine.register_fn(function, |(): ()| -> Answer<FLOAT> { absent("a metric was not measured") });
    }
    for function in ["all", "any", "some", "map", "filter", "column", "where", "len"] {
        engine.register_fn(function, |value: &mut Absent, _: Dynamic| -> Answer<Array> {
            absent(value.why.to_string())
        });
    }
}

fn pair<A: Clone + Into<Dynamic> + 'static, B: Clone + Into<Dynamic> + 'static>(
    engine: &mut Engine,
    operator: &'static str,
) {
    engine.register_fn(operator, move |a: A, b: B| -> Answer<Dynamic> {
        let (a, b) = (a.into(), b.into());
        if operator == "+" && (Absent::is_idle(&a) || Absent::is_idle(&b)) {
            let (none, other) = if Absent::is_idle(&a) { (&a, &b) } else { (&b, &a) };
            if Absent::of(other).is_none() || Absent::is_idle(other) {
                return Ok(if Absent::is_idle(other) { none.clone() } else { other.clone() });
            }
        }
        absent(Absent::of(&a).or_else(|| Absent::of(&b)).unwrap_or_default())
    });
}
