//! `[[program]]`: programs that take received packets, and the CPU that is reserved for them.

use laxity_model::adapter::Delay;
use laxity_model::reception::{ActivityCost, CpuReservation, ProgramConfig, ReceptionCosts};
use laxity_world::experiment::ProgramSpec;

use super::receiver::Placed;
use super::*;
use crate::choice::ProgramOrder;
use crate::diagnostic::Diagnostic;
use crate::raw::RawProgram;
use crate::written::List;

/// The program of a host that has no other, at these `costs`.
pub(super) fn only(costs: ReceptionCosts) -> ProgramSpec {
    ProgramSpec { name: "program".into(), config: ProgramConfig::of(costs.program) }
}

/// A program as a file has it: without the costs and the speed of its host.
pub(super) struct Draft {
    name: String,
    work: Option<Span>,
    real_time_first: bool,
    reserved: Option<CpuReservation>,
}

impl Draft {
    /// The program at a host at these `costs`, `speedup` times as fast as written.
    pub(super) fn at(&self, costs: ReceptionCosts, speedup: f64) -> ProgramSpec {
        let work = self.work.map_or(costs.program, |work| {
            let span = Delay::fixed(work).divided(speedup).fixed;
            match costs.program {
                ActivityCost::Fixed(_) => ActivityCost::Fixed(span),
                ActivityCost::Exponential(_) => ActivityCost::Exponential(span),
            }
        });
        let Self { real_time_first, reserved, .. } = *self;
        ProgramSpec { name: self.name.clone(), config: ProgramConfig { work, real_time_first, reserved } }
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

/// The programs that are written, of hosts that receive if any `receives`.
pub(super) fn programs(
    cx: &mut Context<'_>,
    list: Option<List<Part<RawProgram>>>,
    receives: bool,
) -> Result<Vec<Placed<Draft>>, Reported> {
    let parts = cx.items(list)?;
    if let Some(part) = parts.first().filter(|_| !receives) {
        let help = "remove this, or add `[[interface]]`";
        return Err(cx.fault(&part.span, "the host receives at no interface", help));
    }
    let mut outcome = Ok(());
    let mut programs: Vec<(Placed<Draft>, Range<usize>)> = Vec::new();
    for part in parts {
        match program(cx, part) {
            Ok((program, place)) => {
                let name = &program.value.name;
                if let Some((_, other)) = programs.iter().find(|(other, _)| other.value.name == *name) {
                    let reason = format!("there are two programs called `{name}`");
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

fn program(cx: &mut Context<'_>, part: Part<RawProgram>) -> Result<(Placed<Draft>, Range<usize>), Reported> {
    let (owner, keys) = cx.keys(part, "this program")?;
    let reserved = match (keys.budget.placed()?, keys.period.placed()?) {
        (None, None) => None,
        (Some(budget), Some(period)) => {
            let (span, budget, period) = (budget.span(), budget.into_inner(), period.into_inner());
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
    let (real_time_first, name) = (keys.order.value? == ProgramOrder::Class, keys.name.spanned()?);
    let work = keys.work.value?;
    let value = Draft { name: name.get_ref().0.clone(), work, real_time_first, reserved };
    Ok((Placed { value, node: keys.node.placed()?, whole: owner }, name.span()))
}
