//! `messages`: a source that is a list.

use laxity_model::source::{Arrival, ScriptParameters};

use super::*;
use crate::raw::RawMessage;

/// Messages in a script, copies expanded: what a run of minutes may have, and no more memory than a trace.
const MOST_MESSAGES: usize = 1_000_000;

/// The script that `list` is; where a message has no size it is the only one of `sizes`.
pub(super) fn read(
    cx: &mut Context<'_>,
    list: Option<List<Part<RawMessage>>>,
    sizes: Sizes,
    start: Time,
    owner: &Range<usize>,
) -> Result<Sends, Reported> {
    let Some(list) = list else {
        let valid = "a list of messages, such as `[{ at = \"0 us\" }, { at = \"20 ms\", size = \"1 KiB\" }]`";
        return Err(cx.missing("messages", owner, "this source", valid));
    };
    let place = list.span.clone();
    let mut messages: Vec<Arrival> = Vec::new();
    let mut outcome = Ok(());
    for part in cx.items(Some(list))? {
        match message(cx, part, sizes) {
            Ok((message, count)) if messages.len() + count <= MOST_MESSAGES => {
                messages.extend(std::iter::repeat_n(message, count));
            }
            Ok(_) => {
                let help = format!("at most {MOST_MESSAGES} are kept; use another source for a flood");
                return Err(cx.fault(&place, "the script has too many messages", help));
            }
            Err(reported) => outcome = Err(reported),
        }
    }
    outcome?;
    let least = messages.iter().map(|message| message.size).min();
    let parameters = SourceParameters::Script(ScriptParameters { messages: messages.into(), start });
    Ok(Sends::new(timed(cx, parameters, Span::ZERO, &place)?, least))
}

fn message(cx: &mut Context<'_>, part: Part<RawMessage>, sizes: Sizes) -> Result<(Arrival, usize), Reported> {
    let (owner, keys) = cx.keys(part, "this message")?;
    let size = match (keys.size.value?, sizes) {
        (Some(size), _) => size,
        (None, Sizes::Fixed(size)) => size,
        (None, Sizes::Uniform { .. }) => {
            let help = "give each message a `size`, or the source one for all";
            return Err(cx.fault(&owner, "a script leaves no size to chance", help));
        }
    };
    Ok((Arrival { at: Time::ZERO + keys.at.value?, size }, keys.count.value?.small() as usize))
}
