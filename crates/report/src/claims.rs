//! Claims: what a scenario says its results must show, checked against the results.
//!
//! A claim is a Rhai expression over the finished [`Results`]. A table of canned checks would be
//! simpler but is not enough: "rises with P until P = N, then is flat" and "the excess of channel 0
//! is dropped and no other channel's" are both ordinary claims, and a user's own requirement is a
//! third kind. A general language has a danger of its own: a script with a slip in it can answer
//! *yes*. A misspelt metric compares unequal to everything, `NaN` makes every comparison false and
//! its negation true, `all` over an empty list holds. So the vocabulary is strict where the
//! language is lax:
//!
//! * an unknown property, channel, axis or axis value is an error that lists the valid ones;
//!   comparing two different kinds of value is an error, too;
//! * comparing a value that the results do not have (a bound that was not given, the misses of a
//!   channel that carried no messages, a number that is not finite) has no answer (`x == ()` asks
//!   whether the value exists);
//! * `all`, `filter`, `find`, `mean`, `rising`, a `for` … over an empty list have no answer either;
//!   `all` and `any` are decided by an element that decides them, and otherwise have no answer if
//!   an element has none;
//! * `/` divides really: `1 / 2` is a half.
//!
//! A claim without an answer is *not judged*: it neither holds nor fails. A claim whose script is
//! wrong is an error and not judged either; the other claims are judged. A claim that ranges over
//! an axis is judged at each of its points separately, and a claim of a scenario with draws in each
//! draw.
//!
//! Scripts cannot read files, clocks or randomness, import, or run for long, so a verdict is a
//! function of the results alone. Scripts are compiled before anything runs, and tried on a stub of
//! the results with every comparison answered either way. A syntax error or a misspelt name
//! therefore costs no simulation. A script that exceeds its budget ends in an error.
//!
//! [`crate::glossary`] has the vocabulary of scripts; docs/claims.md is made from it.

mod absent;
mod answers;
mod draws;
mod engine;
mod lacks;
mod lists;
mod operators;
mod range;
mod record;
mod shape;
mod stalls;
#[cfg(test)]
mod tests;
mod trial;

use std::rc::Rc;

use laxity_scenario::claim::{Claim, ClaimError};
use laxity_world::results::{AtSetting, Axis, Draws, Results, Ruling, SEED, Verdict};
use rhai::{AST, Array, Dynamic, Engine, EvalAltResult, Position, Scope};

use absent::{Absent, Fault};
use answers::Answers;
pub use engine::ScriptBudget;
use engine::{Meter, Seen};
pub use trial::Compiler;

/// The outcome of all claims.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Judgement {
    /// One per claim, in order.
    pub verdicts: Vec<Verdict>,
    /// Errors of the scripts that could not be judged because of them.
    pub errors: Vec<ClaimError>,
}

/// The claims of one scenario, compiled.
#[derive(Debug)]
pub struct Judge {
    claims: Vec<Compiled>,
}

#[derive(Debug)]
struct Compiled {
    claim: Claim,
    holds: AST,
    shows: Option<AST>,
}

impl Judge {
    /// Compiles every script, or reports every one that does not compile.
    pub fn compile(claims: &[Claim]) -> Result<Judge, Vec<ClaimError>> {
        let none = record::Vocabulary::default();
        let engine = engine::new(&Seen::default(), &none, &Answers::Real, &Meter::default());
        let (mut compiled, mut errors) = (Vec::new(), Vec::new());
        for claim in claims {
            let holds = compile(&engine, claim, "holds", &claim.holds);
            let shows = claim.shows.as_deref().map(|text| compile(&engine, claim, "shows", text)).transpose();
            match (holds, shows) {
                (Ok(holds), Ok(shows)) => compiled.push(Compiled { claim: claim.clone(), holds, shows }),
                (holds, shows) => {
                    errors.extend(holds.err().into_iter().chain(shows.err()).map(|error| *error));
                }
            }
        }
        if errors.is_empty() { Ok(Judge { claims: compiled }) } else { Err(errors) }
    }

    /// Judges every claim. A script that exceeds the budget it is given ends in an error; without
    /// one, only endless loops and huge values do.
    pub fn judge(&self, results: &Results, budget: Option<fn() -> ScriptBudget>) -> Judgement {
        let court = Court::of(results, budget);
        let mut judgement = Judgement::default();
        for compiled in &self.claims {
            let found = compiled.judge(&court).unwrap_or_else(|error| {
                let because = format!("its script is wrong: {}", error.message);
                judgement.errors.push(*error);
                Found::of(Ruling::NotJudged { because }, String::new())
            });
            let Claim { id, says, origin, from, same_as, reason, .. } = compiled.claim.clone();
            let reason = if found.ruling == Ruling::Contradicted { reason } else { String::new() };
            let Found { ruling, at, figure, draws, spoilt } = found;
            judgement.verdicts.push(Verdict {
                id,
                says,
                origin,
                from,
                same_as,
                ruling,
                at,
                figure,
                reason,
                draws,
                spoilt,
            });
        }
        judgement
    }
}

/// Whether `script` is a claim that holds of two runs of a channel in real time and one of best effort.
#[cfg(test)]
pub(crate) fn tried(script: &str) -> Result<(), String> {
    tests::tried(script)
}

/// The variables that a script sees.
struct Court<'a> {
    results: &'a Results,
    vocabulary: record::Vocabulary,
    /// The records of the runs that scripts see, and the place of each among the results.
    runs: Array,
    indices: Vec<usize>,
    /// Shared by the courts for parts of the results.
    engine: Rc<Engine>,
    seen: Seen,
    meter: Meter,
    budget: Option<fn() -> ScriptBudget>,
}

impl<'a> Court<'a> {
    /// A court that answers comparisons as the results do.
    fn of(results: &'a Results, budget: Option<fn() -> ScriptBudget>) -> Self {
        let vocabulary = record::Names::of(results);
        let runs = record::runs(results, &vocabulary);
        let (seen, meter) = (Seen::new(runs.clone().into()), Meter::default());
        let engine = engine::new(&seen, &vocabulary, &Answers::Real, &meter).into();
        let indices = (0..runs.len()).collect();
        Self { results, vocabulary, runs, indices, engine, seen, meter, budget }
    }

    /// The same court with the comparisons of `answers`. The records are shared.
    fn answering(&self, answers: &Answers) -> Self {
        let engine = engine::new(&self.seen, &self.vocabulary, answers, &self.meter).into();
        Self { engine, ..self.with(self.runs.clone(), self.indices.clone()) }
    }

    /// The same with the runs at one point of an axis only.
    fn at(&self, axis: usize, point: usize) -> Self {
        let here = |index: &&usize| self.results.runs[**index].point.get(axis) == Some(&point);
        let (indices, runs) = self
            .indices
            .iter()
            .zip(&self.runs)
            .filter(|(index, _)| here(index))
            .map(|(i, run)| (*i, run.clone()))
            .unzip();
        self.with(runs, indices)
    }

    /// The same with those runs only.
    fn with(&self, runs: Array, indices: Vec<usize>) -> Self {
        let (vocabulary, engine) = (self.vocabulary.clone(), self.engine.clone());
        let (seen, meter) = (self.seen.clone(), self.meter.clone());
        Self { vocabulary, runs, indices, engine, seen, meter, ..*self }
    }

    /// The value of a script.
    fn evaluate(&self, script: &AST) -> Result<Dynamic, Box<EvalAltResult>> {
        self.seen.replace(self.runs.clone());
        let mut scope = Scope::new();
        scope.push_constant("runs", self.runs.clone());
        self.engine.eval_ast_with_scope(&mut scope, script)
    }
}

/// The ruling on a claim, and the figures that it rests on.
struct Found {
    ruling: Ruling,
    figure: String,
    /// The setting that decides it, and the range in which it holds.
    at: Option<AtSetting>,
    /// The draws that it rests on, if there are several.
    draws: Option<Draws>,
    /// It is not judged because the platform may have decided it.
    spoilt: bool,
}

impl Found {
    /// A ruling that rests on one draw of an undisturbed run.
    fn of(ruling: Ruling, figure: String) -> Found {
        Found { ruling, at: None, figure, draws: None, spoilt: false }
    }
}

impl Compiled {
    fn judge(&self, court: &Court<'_>) -> Result<Found, Box<ClaimError>> {
        let Some(range) = &self.claim.range else { return self.judge_draws(court) };
        let axes = &court.results.axes;
        let Some((index, axis)) = axes.iter().enumerate().find(|(_, axis)| axis.name == *range) else {
            return Err(whole(&self.claim, "holds", format!("there is no axis `{range}` to range over")));
        };
        let at = |point| self.judge_draws(&court.at(index, point));
        let found: Vec<Found> = (0..axis.points.len()).map(at).collect::<Result<_, _>>()?;
        Ok(range::joined(axis, self.claim.setting, &found))
    }

    /// The verdict over all draws, if the scenario has several.
    fn judge_draws(&self, court: &Court<'_>) -> Result<Found, Box<ClaimError>> {
        let Some((index, axis)) = self.draws(court) else { return self.judge_once(court) };
        let at = |point| self.judge_once(&court.at(index, point));
        let found: Vec<Found> = (0..axis.points.len()).map(at).collect::<Result<_, _>>()?;
        Ok(draws::joined(axis, &found))
    }

    /// The axis of draws, if the claim is judged in each.
    fn draws<'a>(&self, court: &Court<'a>) -> Option<(usize, &'a Axis)> {
        let mut axes = court.results.axes.iter().enumerate();
        axes.find(|(_, axis)| axis.name == SEED).filter(|_| self.claim.by_draw)
    }

    fn judge_once(&self, court: &Court<'_>) -> Result<Found, Box<ClaimError>> {
        let claim = &self.claim;
        court.vocabulary.witness.take(claim.stalls);
        let mut ruling = match evaluate(court, claim, "holds", &claim.holds, &self.holds)? {
            Err(because) => Ruling::NotJudged { because },
            Ok(holds) => match holds.as_bool() {
                Ok(true) => Ruling::Holds,
                Ok(false) => Ruling::Contradicted,
                Err(_) => match Absent::of(&holds) {
                    Some(because) => Ruling::NotJudged { because },
                    None => {
                        let kind = court.engine.map_type_name(holds.type_name());
                        let message = format!("it must end in `true` or `false`, not in a {kind}");
                        return Err(whole(claim, "holds", message));
                    }
                },
            },
        };
        let mut spoilt = false;
        if let Some(because) = court.vocabulary.witness.take(claim.stalls) {
            // A claim that has no verdict anyway keeps its own reason.
            spoilt = !matches!(ruling, Ruling::NotJudged { .. });
            if spoilt {
                ruling = Ruling::NotJudged { because };
            }
        }
        let figure = match (&self.shows, &claim.shows) {
            (Some(ast), Some(text)) => match evaluate(court, claim, "shows", text, ast)? {
                // Figures that do not exist are no reason to withhold a verdict.
                Err(_) => "not measured".into(),
                Ok(shown) => match shape::words(&shown) {
                    Ok(words) => words,
                    Err(Fault::Absent(why)) => why,
                    Err(Fault::Slip(message)) => return Err(whole(claim, "shows", message)),
                },
            },
            _ => String::new(),
        };
        Ok(Found { spoilt, ..Found::of(ruling, figure) })
    }
}

fn compile(engine: &Engine, claim: &Claim, script: &'static str, text: &str) -> Result<AST, Box<ClaimError>> {
    let mut scope = Scope::new();
    scope.push_constant("runs", Array::new());
    engine
        .compile_with_scope(&scope, text)
        .map_err(|error| at(claim, script, text, error.1, error.err_type().to_string()))
}

/// The value of the script, or why it has no answer.
fn evaluate(
    court: &Court<'_>,
    claim: &Claim,
    script: &'static str,
    text: &str,
    ast: &AST,
) -> Result<Result<Dynamic, String>, Box<ClaimError>> {
    court.meter.start(court.budget.map(|budget| budget()));
    let error = match court.evaluate(ast) {
        Ok(value) => return Ok(Ok(value)),
        Err(error) => error,
    };
    if let Some(why) = Absent::cause(&error) {
        return Ok(Err(why));
    }
    Err(slip(claim, script, text, &error))
}

/// The error of a script that ended in `error`.
fn slip(claim: &Claim, script: &'static str, text: &str, error: &EvalAltResult) -> Box<ClaimError> {
    // The innermost error is the cause; the closures around it are known from the position.
    let inner = error.unwrap_inner();
    let position = inner.position();
    if let EvalAltResult::ErrorRuntime(value, _) = inner {
        return at(claim, script, text, position, value.to_string());
    }
    if let EvalAltResult::ErrorTerminated(why, _) = inner {
        return at(claim, script, text, position, why.to_string());
    }
    if let EvalAltResult::ErrorDataRace(..) = inner {
        // The language holds a list for as long as a chain of calls on it lasts.
        let message = "a closure reads the list that the chain of calls before it starts from; give the list \
                       to a variable of its own first: `let rest = xs.extract(1); rest.all(|x| … xs[0] …)`";
        return at(claim, script, text, position, message.into());
    }
    let mut bare = inner.to_string();
    if let Some(cut) = bare.rfind(" (line ") {
        bare.truncate(cut);
    }
    at(claim, script, text, position, bare)
}

/// An error at a place in a script.
fn at(
    claim: &Claim,
    script: &'static str,
    text: &str,
    position: Position,
    message: String,
) -> Box<ClaimError> {
    let Some(line) = position.line() else { return whole(claim, script, message) };
    Box::new(ClaimError {
        position: Some((line, position.position().unwrap_or(1))),
        line: text.lines().nth(line - 1).unwrap_or_default().to_string(),
        ..*whole(claim, script, message)
    })
}

/// An error of a script as a whole.
fn whole(claim: &Claim, script: &'static str, message: String) -> Box<ClaimError> {
    Box::new(ClaimError {
        id: claim.id.clone(),
        location: claim.location.clone(),
        script,
        position: None,
        line: String::new(),
        message,
    })
}
