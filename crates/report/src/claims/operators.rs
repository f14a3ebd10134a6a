//! Comparisons that refuse instead of guessing, and division that divides.
//!
//! Rhai answers `false` when it compares two kinds of value that have no order, and a double that
//! is not a number is neither below, above nor equal to anything. Either way a negated claim would
//! hold on a metric that was not measured. A comparison with an absent value ends with the reason
//! for the absence. These operators replace the language's own for every pair of kinds.

use std::cmp::Ordering;

use rhai::{Dynamic, Engine, FLOAT, INT};

use super::absent::{Absent, Answer, Fault, absent};
use super::answers::Answers;
use super::shape::number;

/// Replaces the operators.
pub(super) fn register(engine: &mut Engine, answers: &Answers) {
    // Otherwise the language answers for its own kinds of value before it asks us.
    engine.set_fast_operators(false);

    for (name, wanted) in ORDERS {
        // Exact signatures win over general ones, and the language brings exact ones for mixed numbers.
        let give = answers.clone();
        engine.register_fn(name, move |a: INT, b: INT| give.give(Ok(wanted(a.cmp(&b)))));
        let of = |answers: &Answers| {
            let give = answers.clone();
            move |a: &Dynamic, b: &Dynamic| give.give(decide(name, wanted, a, b))
        };
        let decide = of(answers);
        engine.register_fn(name, move |a: INT, b: FLOAT| decide(&a.into(), &b.into()));
        let decide = of(answers);
        engine.register_fn(name, move |a: FLOAT, b: INT| decide(&a.into(), &b.into()));
        let decide = of(answers);
        engine.register_fn(name, move |a: FLOAT, b: FLOAT| decide(&a.into(), &b.into()));
        let decide = of(answers);
        engine.register_fn(name, move |a: Dynamic, b: Dynamic| decide(&a, &b));
    }
    engine.register_fn("/", |a: INT, b: INT| divide(a as f64, b as f64));
    engine.register_fn("/", |a: INT, b: FLOAT| divide(a as f64, b));
    engine.register_fn("/", |a: FLOAT, b: INT| divide(a, b as f64));
    engine.register_fn("/", divide);
    // It could not change the kind of the variable that it assigns to.
    engine.disable_symbol("/=");
}

/// An operator, and the orders of its sides that satisfy it.
type Order = (&'static str, fn(Ordering) -> bool);

const ORDERS: [Order; 6] = [
    ("==", Ordering::is_eq),
    ("!=", Ordering::is_ne),
    ("<", Ordering::is_lt),
    ("<=", Ordering::is_le),
    (">", Ordering::is_gt),
    (">=", Ordering::is_ge),
];

fn divide(a: FLOAT, b: FLOAT) -> Answer<FLOAT> {
    let quotient = a / b;
    if quotient.is_finite() { Ok(quotient) } else { absent(format!("`{a} / {b}` is not a finite number")) }
}

/// The answer of an operator. An idle zero is truly not more than something; any other comparison
/// that it satisfies would hold for every run, so it has no answer.
fn decide(operator: &str, wanted: fn(Ordering) -> bool, a: &Dynamic, b: &Dynamic) -> Answer<bool> {
    let zero = |side: &Dynamic| if Absent::is_idle(side) { Dynamic::from(0 as INT) } else { side.clone() };
    let idle = (Absent::is_idle(a), Absent::is_idle(b));
    match idle {
        (false, false) => compare(operator, a, b).map(wanted),
        _ if a.is_unit() || b.is_unit() => compare(operator, a, b).map(wanted),
        _ if idle != (true, true) && !wanted(compare(operator, &zero(a), &zero(b))?) => Ok(false),
        _ => absent(Absent::of(a).or_else(|| Absent::of(b)).unwrap_or_default()),
    }
}

fn compare(operator: &str, a: &Dynamic, b: &Dynamic) -> Answer<Ordering> {
    let equality = matches!(operator, "==" | "!=");
    if equality && (a.is_unit() || b.is_unit()) {
        // Whether a value was measured has an answer; any other comparison with an absent value has
        // none.
        let same = Absent::of(a).is_some() && Absent::of(b).is_some();
        return Ok(if same { Ordering::Equal } else { Ordering::Less });
    }
    if let Some(why) = Absent::of(a).or_else(|| Absent::of(b)) {
        return absent(why);
    }
    if a.is_string() && b.is_string() {
        return Ok(a.to_string().cmp(&b.to_string()));
    }
    if let (Ok(a), Ok(b)) = (a.as_bool(), b.as_bool())
        && equality
    {
        return Ok(a.cmp(&b));
    }
    let read = |side: &Dynamic| -> Answer<f64> {
        Ok(number(side).map_err(|fault| match fault {
            Fault::Slip(why) => Fault::Slip(format!("`{operator}` compares {why}")),
            absent @ Fault::Absent(_) => absent,
        })?)
    };
    let (a, b) = (read(a)?, read(b)?);
    // Finite numbers are totally ordered, save for the two zeros, which are equal.
    Ok(a.partial_cmp(&b).unwrap_or(Ordering::Equal))
}
