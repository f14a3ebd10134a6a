//! `[admission]`: the formulas and tests that admit channels, and the effect of a refusal.

use super::*;

/// The channel of which there are to be as many as are admitted.
pub(super) type Fill = Spanned<Name>;

/// `[admission]`, and the channel to be filled up with if one is named.
pub(super) fn admission(
    cx: &mut Context<'_>,
    part: Option<Part<RawAdmission>>,
) -> Result<(Admission, Option<Fill>), Reported> {
    let (_, keys) = cx.keys_or_none(part, &WHOLE)?;
    let (test, local_deadline) = (keys.test.placed()?, keys.local_deadline.placed()?);
    let (FormulaWord(formula), refusal) = (keys.formula.value?, keys.refusal.value?);
    let division = keys.deadlines.value?;
    if let (None, Some(word)) = (formula, &local_deadline)
        && *word.get_ref() == LocalDeadline::Bound
    {
        let help = "use `\"requested\"`, or a formula other than `\"off\"`";
        return Err(cx.fault(&word.span(), "there is no bound to order by while admission is off", help));
    }
    let published = formula.is_some_and(Formula::is_published);
    if let (true, Some(word)) = (published, &test)
        && *word.get_ref() == Test::Demand
    {
        let help = "use the formula `\"corrected\"`, or leave this out";
        return Err(cx.fault(&word.span(), "the papers' formulas are admitted by `d_order`", help));
    }
    let by_bound = local_deadline.as_ref().is_some_and(|word| *word.get_ref() == LocalDeadline::Bound);
    let by_default = if published || by_bound { Test::DOrder } else { Test::Demand };
    let test = test.map_or(by_default, Spanned::into_inner);
    if let (Test::Demand, true, Some(word)) = (test, by_bound, &local_deadline) {
        let reason = "the demand test is about EDF by the requested deadlines, and no other";
        return Err(cx.fault(&word.span(), reason, "use `\"requested\"`, or leave this out"));
    }
    let local_deadline = local_deadline.map_or(LocalDeadline::Bound, Spanned::into_inner);
    Ok((Admission { formula, test, local_deadline, division, refusal }, keys.fill.placed()?))
}

/// The place of the channel that is to be filled up with.
pub(super) fn fill(
    cx: &mut Context<'_>,
    fill: &Fill,
    channels: &[ChannelSpec],
    analysed: bool,
) -> Result<usize, Reported> {
    let (name, span) = (&fill.get_ref().0, fill.span());
    if !analysed {
        let help = "use the formula `\"corrected\"` or `\"papers\"`";
        return Err(cx.fault(&span, "nothing is ever refused while admission is off", help));
    }
    let real_time = || channels.iter().filter(|channel| channel.class == Class::RealTime);
    match channels.iter().position(|channel| channel.name == *name) {
        Some(index) if channels[index].class == Class::RealTime => Ok(index),
        Some(_) => {
            let help = format!("name one of {}", list(real_time().map(|channel| &channel.name)));
            Err(cx.fault(&span, format!("`{name}` is best effort, which is never refused"), help))
        }
        None => {
            let help = format!("real-time channels are {}", list(real_time().map(|channel| &channel.name)));
            Err(cx.fault(&span, format!("there is no channel `{name}`"), help))
        }
    }
}
