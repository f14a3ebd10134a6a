//! Lists: `all`, `any`, `filter` and others, which have no answer for an empty list.
//!
//! The language's own functions over an empty list answer in the claim's favour: no late channel is
//! found, a loop counts none, a sum that begins at zero stays there. A script that filters the
//! channels it means and then tests them would hold where the filter selected none. Here a function
//! that tests the elements of a list has no answer for an empty list. The result of a filter is an
//! exception: it is found empty by testing each element of a list that was *not* empty. So
//! `xs.filter(bad).len() == 0` is an answer, and `xs.filter(meant).filter(bad).len() == 0` is one
//! only if some elements are meant.
//!
//! Three more rules are stricter than the language. A test answers true or false: an absent value
//! ends the claim, and is not false. Two empty lists are not equal. A loop by numbers that starts
//! at the first or second element and has no iteration, as `0..xs.len()` of an empty list, has no
//! answer, as a loop over the list has none. Other empty loops (`i + 1..n`) are the script's own
//! arithmetic.

use std::any::TypeId;
use std::ops::{Range, RangeInclusive};

use rhai::{Array, Dynamic, Engine, EvalAltResult, FnPtr, INT, Module, NativeCallContext};

use super::absent::{Absent, Answer, Fault, absent};
use super::answers::Answers;

/// Replaces the language's functions over lists.
pub(super) fn register(engine: &mut Engine, answers: &Answers) {
    register_quantifiers(engine, answers);
    register_searches(engine, answers);
    register_folds(engine, answers);
    register_equality(engine, answers);
    register_loops(engine, answers);
    engine.register_fn("column", |context: NativeCallContext, list: &mut Array, of: FnPtr| {
        column(&context, list, &of)
    });
}

/// The results of `of` for each element.
pub(super) fn column(context: &NativeCallContext, list: &Array, of: &FnPtr) -> Answer<Array> {
    list.iter().map(|element| of.call_within_context::<Dynamic>(context, (element.clone(),))).collect()
}

/// Ends a claim that asks `name` of an empty list; on a stub it goes on, so that the rest of the
/// script is looked at.
fn something(list: &[Dynamic], name: &str, answers: &Answers) -> Answer<()> {
    if list.is_empty() && !answers.are_all_wanted() {
        return absent(format!("`{name}` over nothing says nothing"));
    }
    Ok(())
}

/// The result of `function` for an element; it may have the position as a second parameter, or take
/// the element as `this`.
fn ask(context: &NativeCallContext, function: &FnPtr, element: &Dynamic, at: usize) -> Answer<Dynamic> {
    let other = |error: &EvalAltResult| matches!(error, EvalAltResult::ErrorFunctionNotFound(called, _) if called.starts_with(function.fn_name()));
    function
        .call_raw(context, None, [element.clone()])
        .or_else(|error| match other(&error) {
            true => function.call_raw(context, None, [element.clone(), Dynamic::from_int(at as INT)]),
            false => Err(error),
        })
        .or_else(|error| match other(&error) {
            true => function.call_raw(context, Some(&mut element.clone()), []),
            false => Err(error),
        })
}

/// Whether `test` holds of an element.
fn passes(
    context: &NativeCallContext,
    (name, test): (&str, &FnPtr),
    (at, element): (usize, &Dynamic),
    answers: &Answers,
) -> Answer<bool> {
    let answer = ask(context, test, element, at)?;
    match (answer.as_bool(), Absent::of(&answer)) {
        (Ok(answer), _) => Ok(answer),
        (Err(_), Some(_)) if answers.are_all_wanted() => Ok(false),
        (Err(_), Some(why)) => absent(why),
        (Err(kind), None) => {
            Err(Fault::Slip(format!("the test of `{name}` answers true or false, not a {kind}")).into())
        }
    }
}

fn register_quantifiers(engine: &mut Engine, answers: &Answers) {
    for (name, wanted) in [("all", false), ("any", true), ("some", true)] {
        let give = answers.clone();
        engine.register_fn(name, move |context: NativeCallContext, list: &mut Array, test: FnPtr| {
            give.give(decide(&context, list, (name, &test), wanted, &give))
        });
    }
}

/// Searches for an element with the answer `wanted`; the result is `wanted` if there is one.
///
/// An element without an answer does not decide by itself: an element that answers `wanted` decides
/// all the same. Only without any is the whole without an answer.
fn decide(
    context: &NativeCallContext,
    list: &Array,
    test: (&str, &FnPtr),
    wanted: bool,
    answers: &Answers,
) -> Answer<bool> {
    something(list, test.0, answers)?;
    let mut unanswered = None;
    for element in list.iter().enumerate() {
        match passes(context, test, element, answers) {
            Ok(answer) if answer == wanted && !answers.are_all_wanted() => return Ok(wanted),
            Ok(_) => {}
            Err(error) if Absent::ends(&error) => unanswered = unanswered.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    unanswered.map_or(Ok(!wanted), Err)
}

/// The positions at which `test` holds, from `start` on.
fn hits(
    context: &NativeCallContext,
    list: &Array,
    test: (&str, &FnPtr),
    start: INT,
    answers: &Answers,
) -> Answer<Vec<usize>> {
    something(list, test.0, answers)?;
    let mut hits = Vec::new();
    for element in list.iter().enumerate().skip(before(list, start)) {
        if passes(context, test, element, answers)? {
            hits.push(element.0);
        }
    }
    Ok(hits)
}

fn register_searches(engine: &mut Engine, answers: &Answers) {
    let give = answers.clone();
    engine.register_fn(
        "filter",
        move |context: NativeCallContext, list: &mut Array, test: FnPtr| -> Answer<Array> {
            let hits = hits(&context, list, ("filter", &test), 0, &give)?;
            Ok(hits.into_iter().map(|at| list[at].clone()).collect())
        },
    );
    for (name, takes) in [("drain", true), ("retain", false)] {
        let give = answers.clone();
        engine.register_fn(
            name,
            move |context: NativeCallContext, list: &mut Array, test: FnPtr| -> Answer<Array> {
                let hits = hits(&context, list, (name, &test), 0, &give)?;
                let (hit, others): (Vec<_>, Vec<_>) = std::mem::take(list)
                    .into_iter()
                    .enumerate()
                    .partition(|(at, _)| hits.binary_search(at).is_ok());
                let plain =
                    |list: Vec<(usize, Dynamic)>| list.into_iter().map(|(_, element)| element).collect();
                let (taken, left): (Array, Array) =
                    if takes { (plain(hit), plain(others)) } else { (plain(others), plain(hit)) };
                *list = left;
                Ok(taken)
            },
        );
    }
    let give = answers.clone();
    let find =
        move |context: NativeCallContext, list: &mut Array, test: FnPtr, start: INT| -> Answer<Dynamic> {
            let hits = hits(&context, list, ("find", &test), start, &give)?;
            Ok(hits.first().map_or(Dynamic::UNIT, |at| list[*at].clone()))
        };
    let from = find.clone();
    engine.register_fn("find", move |context: NativeCallContext, list: &mut Array, test: FnPtr| {
        find(context, list, test, 0)
    });
    engine.register_fn("find", from);
    let give = answers.clone();
    let index = move |context: NativeCallContext, list: &mut Array, test: FnPtr, start: INT| -> Answer<INT> {
        Ok(hits(&context, list, ("index_of", &test), start, &give)?.first().map_or(-1, |at| *at as INT))
    };
    let from = index.clone();
    engine.register_fn("index_of", move |context: NativeCallContext, list: &mut Array, test: FnPtr| {
        index(context, list, test, 0)
    });
    engine.register_fn("index_of", from);
    let give = answers.clone();
    let place_of =
        move |context: NativeCallContext, list: &mut Array, value: Dynamic, start: INT| -> Answer<INT> {
            Ok(place(&context, list, ("index_of", &value), start, &give)?.map_or(-1, |at| at as INT))
        };
    let from = place_of.clone();
    engine.register_fn("index_of", move |context: NativeCallContext, list: &mut Array, value: Dynamic| {
        place_of(context, list, value, 0)
    });
    engine.register_fn("index_of", from);
    let give = answers.clone();
    engine.register_fn(
        "contains",
        move |context: NativeCallContext, list: &mut Array, value: Dynamic| -> Answer<bool> {
            Ok(place(&context, list, ("contains", &value), 0, &give)?.is_some())
        },
    );
    let give = answers.clone();
    engine.register_fn(
        "find_map",
        move |context: NativeCallContext, list: &mut Array, of: FnPtr| -> Answer<Dynamic> {
            something(list, "find_map", &give)?;
            for (at, element) in list.iter().enumerate() {
                let made = ask(&context, &of, element, at)?;
                if !made.is_unit() {
                    return Ok(made);
                }
            }
            Ok(Dynamic::UNIT)
        },
    );
    // As `xs[0]` of an empty list.
    for (name, first) in [("pop", false), ("shift", true)] {
        let give = answers.clone();
        engine.register_fn(name, move |list: &mut Array| -> Answer<Dynamic> {
            something(list, name, &give)?;
            Ok(match (list.is_empty(), first) {
                (true, _) => Dynamic::UNIT,
                (false, true) => list.remove(0),
                (false, false) => list.pop().unwrap_or_default(),
            })
        });
    }
}

/// The number of elements before position `start`; a negative position counts from the end.
fn before(list: &Array, start: INT) -> usize {
    let start = if start < 0 { start.saturating_add(list.len() as INT).max(0) } else { start };
    usize::try_from(start).unwrap_or(usize::MAX)
}

/// Where `value` first stands in a list, from `start` on.
fn place(
    context: &NativeCallContext,
    list: &Array,
    (name, value): (&str, &Dynamic),
    start: INT,
    answers: &Answers,
) -> Answer<Option<usize>> {
    something(list, name, answers)?;
    for (at, element) in list.iter().enumerate().skip(before(list, start)) {
        if same(context, element, value)? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Whether two elements are equal, by the operator that scripts have; values of two kinds are not.
fn same(context: &NativeCallContext, a: &Dynamic, b: &Dynamic) -> Answer<bool> {
    let number = |value: &Dynamic| value.is_int() || value.is_float();
    let comparable = a.type_id() == b.type_id()
        || number(a) && number(b)
        || Absent::of(a).is_some()
        || Absent::of(b).is_some();
    if !comparable {
        return Ok(false);
    }
    context.call_native_fn::<bool>("==", (a.clone(), b.clone()))
}

fn register_folds(engine: &mut Engine, answers: &Answers) {
    for (name, backwards) in [("reduce", false), ("reduce_rev", true)] {
        let give = answers.clone();
        let fold = move |context: NativeCallContext,
                         list: &mut Array,
                         of: FnPtr,
                         first: Dynamic|
              -> Answer<Dynamic> {
            something(list, name, &give)?;
            let step = |so_far: Dynamic, at: usize| {
                let position = Dynamic::from_int(at as INT);
                of.call_raw(&context, None, [so_far.clone(), list[at].clone()]).or_else(
                    |error| match *error {
                        EvalAltResult::ErrorFunctionNotFound(called, _)
                            if called.starts_with(of.fn_name()) =>
                        {
                            of.call_raw(&context, None, [so_far, list[at].clone(), position])
                        }
                        _ => Err(error),
                    },
                )
            };
            match backwards {
                false => (0..list.len()).try_fold(first, step),
                true => (0..list.len()).rev().try_fold(first, step),
            }
        };
        let plain = fold.clone();
        engine.register_fn(name, move |context: NativeCallContext, list: &mut Array, of: FnPtr| {
            plain(context, list, of, Dynamic::UNIT)
        });
        engine.register_fn(name, fold);
    }
    let give = answers.clone();
    engine.register_fn(
        "for_each",
        move |context: NativeCallContext, list: &mut Array, of: FnPtr| -> Answer<()> {
            something(list, "for_each", &give)?;
            for (at, kept) in list.iter_mut().enumerate() {
                let mut element = kept.clone();
                let done = of.call_raw(&context, Some(&mut element), []);
                let done = done.or_else(|error| match *error {
                    EvalAltResult::ErrorFunctionNotFound(ref called, _)
                        if called.starts_with(of.fn_name()) =>
                    {
                        ask(&context, &of, &element, at)
                    }
                    _ => Err(error),
                });
                done.map(drop)?;
                *kept = element;
            }
            Ok(())
        },
    );
}

fn register_equality(engine: &mut Engine, answers: &Answers) {
    for (name, wanted) in [("==", true), ("!=", false)] {
        let give = answers.clone();
        engine.register_fn(
            name,
            move |context: NativeCallContext, a: &mut Array, b: Array| -> Answer<bool> {
                let equal = || -> Answer<bool> {
                    if a.is_empty() && b.is_empty() {
                        return absent(
                            "two empty lists have nothing in common; `len()` tells that a list is empty",
                        );
                    }
                    if a.len() != b.len() {
                        return Ok(false);
                    }
                    for (a, b) in a.iter().zip(&b) {
                        if !same(&context, a, b)? {
                            return Ok(false);
                        }
                    }
                    Ok(true)
                };
                give.give(equal().map(|equal| equal == wanted))
            },
        );
    }
}

/// The values of a loop.
type Steps = Box<dyn Iterator<Item = Result<Dynamic, Box<EvalAltResult>>>>;

fn steps(values: impl Iterator<Item = Dynamic> + 'static) -> Steps {
    Box::new(values.map(Ok))
}

fn register_loops(engine: &mut Engine, answers: &Answers) {
    let mut module = Module::new();
    let give = answers.clone();
    module.set_iter_result(TypeId::of::<Array>(), move |list| {
        let list = list.cast::<Array>();
        match something(&list, "for", &give) {
            Ok(()) => steps(list.into_iter()),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    });
    let give = answers.clone();
    let counted = move |first: INT, text: String, numbers: Box<dyn Iterator<Item = INT>>| -> Steps {
        let mut numbers = numbers.peekable();
        if numbers.peek().is_some() || first > 1 || give.are_all_wanted() {
            return steps(numbers.map(Dynamic::from_int));
        }
        let why = format!(
            "`for` over `{text}` says nothing; a loop inside another begins where there is something"
        );
        Box::new(std::iter::once(absent(why)))
    };
    let count = counted.clone();
    module.set_iter_result(TypeId::of::<Range<INT>>(), move |range| {
        let range = range.cast::<Range<INT>>();
        count(range.start, format!("{}..{}", range.start, range.end), Box::new(range))
    });
    module.set_iter_result(TypeId::of::<RangeInclusive<INT>>(), move |range| {
        let range = range.cast::<RangeInclusive<INT>>();
        counted(*range.start(), format!("{}..={}", range.start(), range.end()), Box::new(range))
    });
    engine.register_global_module(module.into());
}
