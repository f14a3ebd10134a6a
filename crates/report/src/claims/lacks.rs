//! Values that a channel's results lack, and why, in words that end a claim.

use laxity_world::metric;
use laxity_world::results::{Channel, Computation};

/// Why `field` of `channel` has no value to judge by, though `measured` says that there is one;
/// `None` if it has.
///
/// Counts of errors do not exist for a channel that carried no messages: see [`metric::went`].
pub(super) fn why(channel: &Channel, field: &str, measured: bool) -> Option<String> {
    let name = &channel.name;
    let went = metric::went(channel, field);
    if measured && went {
        return None;
    }
    if field == "refused" {
        return Some(format!("channel `{name}` was not refused"));
    }
    if let Some(refused) = &channel.refused {
        return Some(format!("channel `{name}` was refused ({})", refused.reason));
    }
    if field == "delivered_late" && channel.delivered == Some(0) && channel.completed > 0 {
        return Some(format!("of channel `{name}` nothing was delivered in the window"));
    }
    if !went {
        return Some(match channel.messages {
            0 => format!("channel `{name}` carried nothing in the window"),
            sent => format!("channel `{name}` carried none of the {sent} messages it was offered"),
        });
    }
    Some(match field {
        "bound" | "bound_papers" | "delivery_bound" | "jitter_fraction_bound" if channel.bound.is_none() => {
            match channel.no_bound.as_str() {
                "" => format!("channel `{name}` has no bound, and asks for none"),
                why => format!("channel `{name}` has no bound: {why}"),
            }
        }
        "reserved" | "deadline" => format!("channel `{name}` is {}, and has no `{field}`", channel.class),
        _ if channel.completed == 0 => {
            format!("channel `{name}` carried nothing in the window, so it has no `{field}`")
        }
        _ => format!("channel `{name}` has no `{field}`"),
    })
}

/// Likewise for an application that computes: without a finished budget, none is late.
pub(super) fn why_not_computed(computation: &Computation, field: &str) -> Option<String> {
    (field == "late" && computation.budgets == 0)
        .then(|| format!("application `{}` was done with no budget in the window", computation.name))
}
