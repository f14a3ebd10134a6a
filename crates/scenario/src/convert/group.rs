//! `[group.NAME]`: channels that have a rate together.

use laxity_qos::virtual_clock::Vtick;
use laxity_units::{Bytes, Rate};
use laxity_world::experiment::GroupSpec;

use super::*;
use crate::raw::RawGroup;
use crate::section::Key;
use crate::written::Entries;

/// The groups, each behind that of which it is a part.
pub(super) fn groups(
    cx: &mut Context<'_>,
    entries: Option<Entries<Part<RawGroup>>>,
) -> Result<Vec<GroupSpec>, Reported> {
    let mut all = Vec::new();
    let mut outcome = Ok(());
    for (name, part) in cx.entries(entries)? {
        match group(cx, &name, part) {
            Ok(read) => all.push(read),
            Err(reported) => outcome = Err(reported),
        }
    }
    outcome?;
    let mut within = Vec::new();
    for (_, _, outer) in &all {
        let place = outer.as_ref().map(|outer| place(cx, outer, all.iter().map(|(name, ..)| name)));
        within.push(place.transpose()?);
    }
    // Depth of each group; a group within itself has none.
    let depth = |group: usize| {
        let outwards = std::iter::successors(Some(group), |group| within[*group]);
        outwards.take(all.len() + 1).count()
    };
    if let Some(lost) = (0..all.len()).find(|group| depth(*group) > all.len()) {
        let span = all[lost].2.as_ref().map_or(WHOLE, Spanned::span);
        let reason = format!("group `{}` would be a part of itself", all[lost].0);
        return Err(cx.fault(&span, reason, "let one of them be within none"));
    }
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|group| depth(*group));
    let at = |group: usize| order.iter().position(|other| *other == group).expect("each has a place");
    let spec = |group: &usize| {
        let (name, tick, _) = &all[*group];
        GroupSpec { name: name.clone(), tick: *tick, within: within[*group].map(at) }
    };
    Ok(order.iter().map(spec).collect())
}

/// The place of `name` among groups called `names`.
fn place<'a>(
    cx: &mut Context<'_>,
    name: &Spanned<Name>,
    names: impl Iterator<Item = &'a String> + Clone,
) -> Result<usize, Reported> {
    names.clone().position(|other| *other == name.get_ref().0).ok_or_else(|| {
        let help = match names.clone().next() {
            Some(_) => format!("groups are {}", list(names)),
            None => format!("add `[group.{}]` with its `rate`", name.get_ref().0),
        };
        cx.fault(&name.span(), format!("there is no group `{}`", name.get_ref().0), help)
    })
}

/// The group that a channel is in; one with a rate if it is in any.
pub(super) fn of_channel(
    cx: &mut Context<'_>,
    group: &Key<Option<Name>>,
    rated: bool,
    around: &Surroundings,
) -> Result<Option<usize>, Reported> {
    if around.reception.is_alone() {
        let help = "remove this";
        return cx
            .foreign(group, "what comes in at interfaces shares no queue by rates", help)
            .map(|()| None);
    }
    let Some(name) = group.placed()? else { return Ok(None) };
    if !rated {
        let help = "say its rate by `share`, such as `share = \"1 MB/s\"`";
        return Err(cx.fault(&name.span(), "a group is shared by rates, and this channel has none", help));
    }
    let names = around.groups.as_ref().map_err(|reported| *reported)?;
    place(cx, &name, names.iter()).map(Some)
}

type Read = (String, Vtick, Option<Spanned<Name>>);

fn group(cx: &mut Context<'_>, name: &Spanned<String>, part: Part<RawGroup>) -> Result<Read, Reported> {
    cx.named(name)?;
    let (_, keys) = cx.keys(part, "this group")?;
    Ok((name.get_ref().clone(), exactly(keys.rate.value?), keys.within.placed()?))
}

/// The exact rate: bytes in a period.
fn exactly(rate: Rate) -> Vtick {
    const PERIOD: u64 = 8_000_000_000_000;
    let (mut common, mut rest) = (PERIOD, rate.bits_per_sec());
    while rest > 0 {
        (common, rest) = (rest, common % rest);
    }
    Vtick::new(Span::from_ps(PERIOD / common), Bytes::new(rate.bits_per_sec() / common))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_no_rest() {
        let of = |bits| exactly(Rate::from_bits_per_sec(bits));
        assert_eq!(of(240_000_000), Vtick::new(Span::from_ns(100), Bytes::new(3)));
        assert_eq!(of(7), Vtick::new(Span::from_secs(8), Bytes::new(7)));
    }
}
