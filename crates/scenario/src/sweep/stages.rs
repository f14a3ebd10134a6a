//! Items of an adapter's lists on the way of a key: stages and resources have names, queues and phases are counted.

use std::ops::Range;

use toml::de::DeTable;

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

/// What of those has no names, and goes by its place in the list, from 0 on.
const COUNTED: [&str; 2] = ["queue", "phase"];

/// The steps to the key of these `parts`, some of which may say which item of a list in `document`.
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
        let items = array(place);
        let Some((_, one)) = LISTS.iter().find(|(list, _)| list == part) else { continue };
        if !parts.contains(&"adapter") {
            continue;
        }
        if items.is_empty() {
            // What a node has in common with others is laid under its own later, and a list of its own takes the place of that.
            if parts[0] == "node" && rest.len() > 0 {
                let reason = format!("`{}` has no `{part}` of its own", shown(&parts[..2].join(".")));
                let help = format!("write the list in its adapter, or set a key of `adapter.{part}` for all");
                return Err(cx.fault(span, reason, help));
            }
            continue;
        }
        let Some(wanted) = rest.next() else { break };
        let names = items.iter().map(|item| item.get_ref().get("name"));
        let names = names.map(|name| name.and_then(|name| name.get_ref().as_str()).unwrap_or(""));
        let names: Vec<&str> = names.collect();
        let counted = COUNTED.contains(one);
        let index = if counted {
            wanted.parse().ok().filter(|index| *index < items.len())
        } else {
            names.iter().position(|name| name == wanted)
        };
        let Some(index) = index else {
            let reason = format!("there is no {one} `{}` in `{part}`", shown(wanted));
            let mut diagnostic = Diagnostic::new(cx.place(span), reason);
            if let Some(meant) = nearest(wanted, names.iter().copied()).filter(|_| !counted) {
                diagnostic = diagnostic.help(format!("did you mean `{meant}`?"));
            }
            let help = if counted {
                format!("{one}s go by their place here: `0` to `{}`", items.len() - 1)
            } else {
                format!("{one}s are {}", list(names))
            };
            return Err(cx.report(diagnostic.help(help)));
        };
        if rest.len() == 0 {
            let key = match *one {
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
        steps.push(Step::Item(index));
        place = items.get(index);
    }
    Ok(steps)
}
