//! Stages of adapters on the way of a key: they stand in lists, and have names.

use std::ops::Range;

use toml::de::DeTable;

use super::{Step, array};
use crate::context::{Context, Reported};
use crate::diagnostic::{Diagnostic, list, nearest, shown};

/// Lists of stages, by the key of an adapter.
const LISTS: [&str; 2] = ["transmit", "receive"];

/// The steps to the key of these `parts`, one of which may be the name of a stage in `document`.
pub(super) fn steps<'i>(
    cx: &mut Context<'_>,
    span: &Range<usize>,
    document: &DeTable<'i>,
    parts: &[&str],
) -> Result<Vec<Step<'i>>, Reported> {
    let key = |part: &str| Step::Key(part.to_string().into());
    let mut steps = vec![key(parts[0])];
    let mut place = document.get(parts[0]);
    let mut rest = parts[1..].iter();
    while let Some(part) = rest.next() {
        steps.push(key(part));
        place = place.and_then(|place| place.get_ref().get(*part));
        let stages = array(place);
        if stages.is_empty() || !LISTS.contains(part) || !parts.contains(&"adapter") {
            continue;
        }
        let Some(wanted) = rest.next() else { break };
        let names = stages.iter().map(|stage| stage.get_ref().get("name"));
        let names = names.map(|name| name.and_then(|name| name.get_ref().as_str()).unwrap_or(""));
        let names: Vec<&str> = names.collect();
        let Some(index) = names.iter().position(|name| name == wanted) else {
            let reason = format!("there is no stage `{}` in `{part}`", shown(wanted));
            let mut diagnostic = Diagnostic::new(cx.place(span), reason);
            if let Some(meant) = nearest(wanted, names.iter().copied()) {
                diagnostic = diagnostic.help(format!("did you mean `{meant}`?"));
            }
            return Err(cx.report(diagnostic.help(format!("stages are {}", list(names)))));
        };
        if rest.len() == 0 {
            let help = format!("name a key of it, such as `{}.ahead`", parts.join("."));
            return Err(cx.fault(
                span,
                format!("`{}` names no key of a stage", shown(&parts.join("."))),
                help,
            ));
        }
        steps.push(Step::Item(index));
        place = stages.get(index);
    }
    Ok(steps)
}
