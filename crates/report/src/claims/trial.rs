//! Scripts are tried before anything has run: whether they compile, and whether they use existing
//! names.

use laxity_scenario::claim::{Claim, ClaimError, Scripts};
use laxity_world::results::{Axis, Provenance, Results, Run};
use rhai::EvalAltResult;

use super::answers::Answers;
use super::{Compiled, Court, Judge, slip};

/// Sweeps of more points are not tried: the trial would take longer than it saves.
const MOST_POINTS: usize = 2000;

/// Compiles the scripts of a scenario's claims as the judge does.
#[derive(Debug, Clone, Copy, Default)]
pub struct Compiler;

impl Scripts for Compiler {
    fn compile(&self, claim: &Claim) -> Vec<ClaimError> {
        Judge::compile(std::slice::from_ref(claim)).err().unwrap_or_default()
    }

    fn try_on(&self, claims: &[Claim], axes: &[Axis], stub: Vec<Run>) -> Vec<ClaimError> {
        Judge::compile(claims).map_or_else(|_| Vec::new(), |judge| judge.try_on_stub(axes, stub))
    }
}

impl Judge {
    /// Tries every script on stubs of `runs` ([`laxity_world::stub`]), and reports those that name
    /// what cannot be there.
    ///
    /// The script's arithmetic does not matter here: a stub has no numbers.
    fn try_on_stub(&self, axes: &[Axis], runs: Vec<Run>) -> Vec<ClaimError> {
        if self.claims.is_empty() || runs.len() > MOST_POINTS {
            return Vec::new();
        }
        let provenance = Provenance::default();
        let results = Results { provenance, axes: axes.to_vec(), runs };
        let mut errors: Vec<ClaimError> = Vec::new();
        let stub = Court::of(&results, None);
        let scripts = self.claims.iter().flat_map(|Compiled { claim, holds, shows }| {
            let shows = claim.shows.as_ref().zip(shows.as_ref()).map(|(text, ast)| ("shows", text, ast));
            let scripts = [("holds", &claim.holds, holds)].into_iter().chain(shows);
            scripts.map(move |script| (claim, script))
        });
        let mut scripts: Vec<_> = scripts.collect();
        for answers in Answers::on_stub() {
            let all = stub.answering(&answers);
            // Before anything has run, draws do not differ.
            let draw = self.claims.iter().find_map(|compiled| compiled.draws(&all));
            let draw = draw.map(|(index, _)| all.at(index, 0));
            // A script with an error, or one that compares no values, shows no more in another way.
            scripts.retain(|(claim, (script, text, ast))| {
                let court = draw.as_ref().filter(|_| claim.by_draw).unwrap_or(&all);
                let error = court.evaluate(ast).err().filter(|error| is_slip(error));
                let is_right = error.is_none();
                errors.extend(error.map(|error| *slip(claim, script, text, &error)));
                answers.mattered() && is_right
            });
        }
        errors
    }
}

/// Whether a script would be wrong on any results of this shape.
fn is_slip(error: &EvalAltResult) -> bool {
    match error.unwrap_inner() {
        EvalAltResult::ErrorRuntime(..) => super::Absent::cause(error).is_none(),
        EvalAltResult::ErrorFunctionNotFound(..)
        | EvalAltResult::ErrorVariableNotFound(..)
        | EvalAltResult::ErrorPropertyNotFound(..)
        | EvalAltResult::ErrorDotExpr(..)
        | EvalAltResult::ErrorIndexingType(..)
        | EvalAltResult::ErrorDataRace(..) => true,
        _ => false,
    }
}
