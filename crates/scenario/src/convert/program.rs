//! `[[program]]`: programs that take received packets, and the CPU that is reserved for them.

use laxity_model::adapter::Delay;
use laxity_model::reception::{ActivityCost, CpuReservation, ProgramConfig, ReceptionCosts};
use laxity_world::experiment::ProgramSpec;

use super::*;
use crate::choice::ProgramOrder;
use crate::diagnostic::Diagnostic;
use crate::raw::RawProgram;
use crate::written::List;

/// The programs of a host that `receives` at these `costs`, `speedup` times as fast as written: one
/// for all if none are written.
pub(super) fn programs(
    cx: &mut Context<'_>,
    list: Option<List<Part<RawProgram>>>,
    receives: bool,
    speedup: f64,
    costs: Result<ReceptionCosts, Reported>,
) -> Result<Vec<ProgramSpec>, Reported> {
    let parts = cx.items(list)?;
    if let Some(part) = parts.first().filter(|_| !receives) {
        let help = "remove this, or add `[[interface]]`";
        return Err(cx.fault(&part.span, "the host receives at no interface", help));
    }
    let default = costs.map(|costs| costs.program);
    if parts.is_empty() {
        let one = |work| ProgramSpec { name: "program".into(), config: ProgramConfig::of(work) };
        return if receives { default.map(|work| vec![one(work)]) } else { Ok(Vec::new()) };
    }
    let mut outcome = Ok(());
    let mut programs: Vec<(ProgramSpec, Range<usize>)> = Vec::new();
    for part in parts {
        match program(cx, part, speedup, default) {
            Ok((program, place)) => {
                if let Some((_, other)) = programs.iter().find(|(other, _)| other.name == program.name) {
                    let reason = format!("there are two programs called `{}`", program.name);
                    let diagnostic = Diagnostic::new(cx.place(&place), reason)
                        .related(cx.place(other).label("the other one"))
                        .help("give each program a name of its own");
                    outcome = Err(cx.report(diagnostic));
                }
                programs.push((program, place));
            }
            Err(reported) => outcome = Err(reported),
        }
    }
    outcome.map(|()| programs.into_iter().map(|(program, _)| program).collect())
}

fn program(
    cx: &mut Context<'_>,
    part: Part<RawProgram>,
    speedup: f64,
    default: Result<ActivityCost, Reported>,
) -> Result<(ProgramSpec, Range<usize>), Reported> {
    let part = cx.part(part)?;
    let (owner, RawProgram { name, work, order, budget, period }) = (part.span(), part.into_inner());
    let name = cx.required(name, "name", &owner, "this program");
    let work = cx.optional(work);
    let order = cx.or(order, ProgramOrder::Arrival);
    let (budget, period) = (cx.optional(budget), cx.optional(period));
    let reserved = match (budget?, period?) {
        (None, None) => None,
        (Some(budget), Some(period)) => {
            let (span, budget) = (budget.span(), budget.into_inner().get());
            let period = period.into_inner().get();
            if budget > period {
                let reason = format!("{budget} of the CPU do not fit into a period of {period}");
                return Err(cx.fault(&span, reason, format!("valid is up to {period}")));
            }
            Some(CpuReservation { budget, period })
        }
        (Some(one), None) | (None, Some(one)) => {
            let help = "say `budget` and `period`, such as \"2 ms\" and \"10 ms\", or neither";
            return Err(cx.fault(&one.span(), "CPU is reserved by a budget in each period", help));
        }
    };
    let (default, work) = (default?, work?);
    let work = work.map_or(default, |work| {
        let span = Delay::fixed(work.into_inner().get()).divided(speedup).fixed;
        match default {
            ActivityCost::Fixed(_) => ActivityCost::Fixed(span),
            ActivityCost::Exponential(_) => ActivityCost::Exponential(span),
        }
    });
    let config = ProgramConfig { work, real_time_first: order? == ProgramOrder::Class, reserved };
    let name = name?;
    Ok((ProgramSpec { name: name.get_ref().0.clone(), config }, name.span()))
}
