//! Items of an adapter's lists on the way of a key: stages and resources have names, queues and
//! phases are counted.

use std::ops::Range;

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Step, array};
use crate::context::{Context, Reported};
use crate::diagnostic::{Diagnostic, list, nearest, shown};

/// Lists of an adapter and its stages, by their keys, and what their items are.
const LISTS: [(&str, &str); 6] = [
    ("transmit", "stage"),
    ("receive", "stage"),
    ("resource", "resource"),
    ("queue", "queue"),
    ("response_queue", "queue"),
    ("phase", "phase"),
];

/// Lists of unnamed items, which have their place in the list as number, from 0 on.
const COUNTED: [&str; 2] = ["queue", "phase"];

/// The steps to the key of these `parts`, some of which may name an item of a list in `document`.
///
/// A missing list may be in the adapter's file, or common to several nodes. The point decides
/// which, so the item is found when the value is put there.
pub(super) fn steps<'i>(
    cx: &mut Context<'_>,
    span: &Range<usize>,
    document: &DeTable<'i>,
    parts: &[&str],
) -> Result<Vec<Step<'i>>, Reported> {
    let key = |part: &str| Step::Key(part.to_string().into());
    let mut steps = vec![key(parts[0])];
    let mut place = document.get(parts[0]);
    let mut within = parts[0] == "adapter";
    let mut rest = parts[1..].iter();
    while let Some(part) = rest.next() {
        steps.push(key(part));
        place = place.and_then(|place| place.get_ref().get(*part));
        let one = one_of(part).filter(|_| within);
        within |= *part == "adapter";
        let Some((one, wanted)) = one.and_then(|one| Some((one, rest.next()?))) else { continue };
        let items = array(place);
        let index = match items {
            [] => None,
            items => Some(item(cx, span, part, items, wanted)?),
        };
        if rest.len() == 0 {
            let key = match one {
                "queue" => "slots",
                "phase" => "fixed",
                "resource" => "servers",
                _ => "ahead",
            };
            return Err(cx.fault(
                span,
                format!("`{}` names no key of a {one}", shown(&parts.join("."))),
                format!("name a key of it, such as `{}.{key}`", parts.join(".")),
            ));
        }
        steps.push(match index {
            Some(index) => Step::Item(index),
            // `0` and `00` are one place.
            None => Step::Of(wanted.parse::<usize>().map_or(wanted.to_string(), |n| n.to_string()).into()),
        });
        place = index.and_then(|index| items.get(index));
    }
    Ok(steps)
}

/// Name of an item of the list under the key `part`.
fn one_of(part: &str) -> Option<&'static str> {
    LISTS.iter().find(|(list, _)| *list == part).map(|(_, one)| *one)
}

/// Which of the `items` of the list under the key `part` is `wanted`.
pub(super) fn item(
    cx: &mut Context<'_>,
    span: &Range<usize>,
    part: &str,
    items: &[Spanned<DeValue<'_>>],
    wanted: &str,
) -> Result<usize, Reported> {
    let one = one_of(part).unwrap_or("item");
    let names = items.iter().map(|item| item.get_ref().get("name"));
    let names = names.map(|name| name.and_then(|name| name.get_ref().as_str()).unwrap_or(""));
    let names: Vec<&str> = names.collect();
    let counted = COUNTED.contains(&one);
    let index = if counted {
        wanted.parse().ok().filter(|index| *index < items.len())
    } else {
        names.iter().position(|name| *name == wanted)
    };
    index.ok_or_else(|| {
        let reason = format!("there is no {one} `{}` in `{part}`", shown(wanted));
        let mut diagnostic = Diagnostic::new(cx.place(span), reason);
        if let Some(meant) = nearest(wanted, names.iter().copied()).filter(|_| !counted) {
            diagnostic = diagnostic.help(format!("did you mean `{meant}`?"));
        }
        let help = if counted {
            format!("{one}s go by their place here: `0` to `{}`", items.len().saturating_sub(1))
        } else {
            format!("{one}s are {}", list(names))
        };
        cx.report(diagnostic.help(help))
    })
}
