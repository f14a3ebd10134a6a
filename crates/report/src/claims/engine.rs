//! The script engine: its limits, and the helpers it offers.

use std::cell::RefCell;
use std::rc::Rc;

use rhai::OptimizationLevel;
use rhai::packages::{Package, StandardPackage};
use rhai::{Array, Dynamic, Engine, EvalAltResult, FLOAT, FnPtr, INT, ImmutableString, NativeCallContext};

use super::absent::{Absent, Answer, Fault};
use super::answers::Answers;
use super::lists::column;
use super::record::Vocabulary;
use super::{absent, lists, operators, record, shape};
use crate::interval::interval;

/// The runs that the global functions of an engine see, which change from one evaluation to the next.
pub(super) type Seen = Rc<RefCell<Array>>;

thread_local! {
    /// The language's own functions, some hundreds: engines share them.
    static STANDARD: StandardPackage = StandardPackage::new();
}

/// An engine with global functions that see `seen`; lists have room for those that it has now.
pub(super) fn new(seen: &Seen, vocabulary: &Vocabulary, answers: &Answers, meter: &Meter) -> Engine {
    let mut engine = Engine::new_raw();
    STANDARD.with(|standard| engine.register_global_module(standard.as_shared_module()));
    limit(&mut engine, seen.borrow().len());
    let meter = meter.clone();
    // Rare enough to cost little; an operation copies two megabytes at most.
    engine.on_progress(move |operations| {
        (operations % 8 == 0).then(|| meter.exceeded()).flatten().map(Into::into)
    });
    operators::register(&mut engine, answers);
    absent::register(&mut engine);
    record::register(&mut engine, &seen.borrow());
    lists::register(&mut engine, answers);
    register_shapes(&mut engine, answers);
    register_formats(&mut engine);
    register_globals(&mut engine, seen, vocabulary);
    engine
}

/// The budget of a script, polled while the script runs: why it has to end, if it has.
pub type ScriptBudget = Box<dyn Fn() -> Option<String>>;

/// The budget of the script that runs, if it has one.
#[derive(Clone, Default)]
pub(super) struct Meter(Rc<RefCell<Option<ScriptBudget>>>);

impl Meter {
    /// From now on this is the budget.
    pub(super) fn start(&self, budget: Option<ScriptBudget>) {
        self.0.replace(budget);
    }

    fn exceeded(&self) -> Option<String> {
        self.0.borrow().as_ref().and_then(|budget| budget())
    }
}

/// The maximum number of elements of a list, including those of nested lists.
const LONGEST_LIST: usize = 20_000;

/// Generous for a claim over thousands of runs, and reached within seconds by a loop that never
/// ends. A list is copied whenever it is passed, so its length is what an operation may take.
fn limit(engine: &mut Engine, runs: usize) {
    engine.set_max_operations(20_000_000);
    engine.set_max_call_levels(32);
    engine.set_max_expr_depths(128, 64);
    engine.set_max_string_size(64 * 1024);
    engine.set_max_array_size(LONGEST_LIST.max(runs.saturating_mul(2)));
    engine.set_max_map_size(10_000);
    engine.set_max_variables(1000);
    engine.set_max_functions(200);
    engine.set_strict_variables(true);
    engine.set_fail_on_invalid_map_property(true);
    // Folding constants would use the language's own operators instead of ours.
    engine.set_optimization_level(OptimizationLevel::None);
    for symbol in ["eval", "print", "debug"] {
        engine.disable_symbol(symbol);
    }
}

/// Helpers that see all runs without naming them.
fn register_globals(engine: &mut Engine, seen: &Seen, vocabulary: &Vocabulary) {
    let all = seen.clone();
    engine.register_fn("column", move |context: NativeCallContext, of: FnPtr| {
        column(&context, &all.borrow(), &of)
    });
    let all = seen.clone();
    engine.register_fn("where", move |axis: ImmutableString, x: FLOAT| {
        record::filter(&all.borrow(), &axis, &x.into())
    });
    let all = seen.clone();
    engine.register_fn("where", move |axis: ImmutableString, n: INT| {
        record::filter(&all.borrow(), &axis, &n.into())
    });
    let all = seen.clone();
    engine.register_fn("where", move |axis: ImmutableString, text: ImmutableString| {
        record::filter(&all.borrow(), &axis, &text.into())
    });
    let names = vocabulary.clone();
    engine.register_fn("axis", move |axis: ImmutableString| names.axis_values(&axis));
}

/// A test of a column of numbers against a tolerance.
type Shape = (&'static str, fn(&[f64], f64) -> bool);

/// One number of a column of numbers.
type Statistic = (&'static str, fn(&[f64]) -> f64);

fn negated(xs: &[f64]) -> Vec<f64> {
    xs.iter().map(|x| -x).collect()
}

fn register_shapes(engine: &mut Engine, answers: &Answers) {
    let shapes: [Shape; 6] = [
        ("rising", shape::rising),
        ("falling", |xs, tol| shape::rising(&negated(xs), tol)),
        ("never_falling", shape::never_falling),
        ("never_rising", |xs, tol| shape::never_falling(&negated(xs), tol)),
        ("monotone", |xs, tol| shape::never_falling(xs, tol) || shape::never_falling(&negated(xs), tol)),
        ("flat", shape::flat),
    ];
    for (name, holds) in shapes {
        let give = answers.clone();
        engine.register_fn(name, move |list: Array, tol: Dynamic| -> Answer<bool> {
            let shaped = || -> Answer<bool> {
                let xs = shape::numbers(&list, 2).map_err(in_call(name))?;
                Ok(holds(&xs, tolerance(&tol).map_err(in_call(name))?))
            };
            give.give(shaped())
        });
    }
    let statistics: [Statistic; 3] = [("max", shape::max), ("min", shape::min), ("mean", shape::mean)];
    for (name, of) in statistics {
        engine.register_fn(name, move |list: Array| -> Answer<f64> {
            Ok(of(&shape::numbers(&list, 1).map_err(in_call(name))?))
        });
    }
    engine.register_fn("sum", |list: Array| -> Answer<f64> {
        // A channel to which no messages were given adds zero to the sum of the others.
        let some: Array = list.iter().filter(|x| !Absent::is_idle(x)).cloned().collect();
        let all = if some.is_empty() { list } else { some };
        Ok(shape::numbers(&all, 1).map_err(in_call("sum"))?.iter().sum())
    });
    engine.register_fn("spread", |list: Array| -> Answer<f64> {
        let values = shape::numbers(&list, 2).map_err(in_call("spread"))?;
        Ok(interval(&values).expect("there are two").half)
    });
    engine.register_fn("argmax", |list: Array| -> Answer<INT> {
        Ok(shape::argmax(&shape::numbers(&list, 1).map_err(in_call("argmax"))?) as INT)
    });
    engine.register_fn("argmin", |list: Array| -> Answer<INT> {
        Ok(shape::argmax(&negated(&shape::numbers(&list, 1).map_err(in_call("argmin"))?)) as INT)
    });
    let give = answers.clone();
    engine.register_fn("near", move |a: Dynamic, b: Dynamic, tol: Dynamic| -> Answer<bool> {
        let near = || -> Result<bool, Fault> {
            Ok(shape::near(shape::number(&a)?, shape::number(&b)?, tolerance(&tol)?))
        };
        give.give(near().map_err(in_call("near")))
    });
    let fit = |name, xs: &Array, ys: &Array| -> Answer<shape::Line> {
        let read = |list: &Array| shape::numbers(list, 2).map_err(in_call(name));
        shape::fit(&read(xs)?, &read(ys)?).map_err(in_call(name))
    };
    engine.register_fn("slope", move |xs: Array, ys: Array| fit("slope", &xs, &ys).map(|line| line.slope));
    engine.register_fn("r2", move |xs: Array, ys: Array| fit("r2", &xs, &ys).map(|line| line.r2));
    engine.register_fn("linear", move |xs: Array, ys: Array, tol: Dynamic| -> Answer<bool> {
        let tolerance = tolerance(&tol).map_err(in_call("linear"))?;
        Ok(fit("linear", &xs, &ys)?.r2 >= 1.0 - tolerance)
    });
}

/// A tolerance as a share, so that `1` for "one percent" is an error.
fn tolerance(value: &Dynamic) -> Result<f64, Fault> {
    let share = shape::number(value)?;
    if (0.0..1.0).contains(&share) {
        return Ok(share);
    }
    let why = format!("a tolerance of `{share}`; it is a share from 0 to below 1, `0.01` for one percent");
    Err(Fault::Slip(why))
}

fn in_call(name: &'static str) -> impl Fn(Fault) -> Box<EvalAltResult> {
    move |fault| fault.within(name).into()
}

/// Numbers in a unit, for `shows`; a metric that was not measured reads so.
fn register_formats(engine: &mut Engine) {
    // Text joined with a number or a list reads as it would if `shows` ended in it.
    let append = |text: ImmutableString, value: Dynamic| -> Answer<String> {
        Ok(format!("{text}{}", shape::words(&value).map_err(in_call("+"))?))
    };
    engine.register_fn("+", move |text: ImmutableString, x: FLOAT| append(text, x.into()));
    engine.register_fn("+", move |text: ImmutableString, list: Array| append(text, list.into()));
    engine.register_fn("+", move |text: ImmutableString, (): ()| append(text, Dynamic::UNIT));
    engine.register_fn("+", move |text: ImmutableString, x: Absent| append(text, x.into()));
    for (name, scale, digits, unit) in [
        ("ms", 1e3, 3, " ms"),
        ("us", 1e6, 1, " µs"),
        ("kib", 1.0 / 1024.0, 1, " KiB"),
        ("mb", 1e-6, 3, " MB"),
        ("percent", 100.0, 2, " %"),
    ] {
        engine.register_fn(name, move |x: Dynamic| -> Answer<String> {
            if Absent::of(&x).is_some() {
                return Ok("not measured".into());
            }
            let x = shape::number(&x).map_err(in_call(name))?;
            Ok(shape::decimal(x * scale, digits) + unit)
        });
    }
    engine.register_fn("round", |x: Dynamic, digits: INT| -> Answer<String> {
        let x = shape::number(&x).map_err(in_call("round"))?;
        Ok(shape::decimal(x, digits.clamp(0, 12) as usize))
    });
}
