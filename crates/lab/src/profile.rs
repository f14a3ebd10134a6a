//! Host cost profiles: what each step costs a given host, and who says so.
//!
//! A simulation is as good as its numbers, so no number stands in a profile without its source: a table of a
//! paper, a measurement, or the argument for a choice. Every cost has its own table,
//!
//! ```toml
//! title = "25 MHz MC68040"
//! [context_switch]
//! value = "55 us"
//! source = "structuring Table 1, C_sw"
//! ```
//!
//! and all of them must be there: a cost that is forgotten would count as nothing.

use std::path::Path;
use std::sync::Arc;

use laxity_qos::costs::HostCosts;
use laxity_units::Span;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::diagnostic::{Diagnostics, Source};
use crate::scenario::context::{Context, Reported, WHOLE};
use crate::scenario::document;
use crate::scenario::files::{Files, read_text};
use crate::scenario::leaf::{Bounded, Cost as CostBounds};
use crate::scenario::written::{Part, Written};

/// The profiles that come with Laxity, by name.
pub(crate) const BUILT_IN: [(&str, &str); 2] = [
    ("hartos-np", include_str!("../../../profiles/hartos-np.toml")),
    ("mc68040", include_str!("../../../profiles/mc68040.toml")),
];

/// A host cost profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// File stem, `mc68040`.
    pub name: String,
    /// The host in one line.
    pub title: String,
    /// How the numbers were come by; may be empty.
    pub about: String,
    /// The costs.
    pub costs: HostCosts,
    /// The costs one by one, each with its source, in the order of [`HostCosts`].
    pub sources: Vec<Cost>,
}

/// One cost and who says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// The field of [`HostCosts`].
    pub name: &'static str,
    /// How much.
    pub value: Span,
    /// Table, measurement or argument.
    pub source: String,
}

/// A host cost profile: what each step costs the CPU, each with its source.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Laxity host profile")]
pub(crate) struct RawProfile {
    /// The host in one line.
    #[schemars(required)]
    title: Option<Written<String>>,
    /// How the numbers were come by.
    about: Option<Written<String>>,
    /// `C_sw`: time to switch contexts between threads.
    #[schemars(required)]
    context_switch: Option<Part<RawCost>>,
    /// `C_cm`: penalty of the cache misses that follow a context switch.
    #[schemars(required)]
    cache_miss: Option<Part<RawCost>>,
    /// `C_p` of a message's first packet, with the fixed cost of the message.
    #[schemars(required)]
    first_packet: Option<Part<RawCost>>,
    /// `C_p` of every further packet.
    #[schemars(required)]
    packet: Option<Part<RawCost>>,
    /// `C_l`: selecting a packet for transmission and starting it.
    #[schemars(required)]
    link_scheduling: Option<Part<RawCost>>,
    /// Issuing a transmit command where the adapter schedules the link, in place of `C_l`.
    #[schemars(required)]
    hand_over: Option<Part<RawCost>>,
    /// Entering and leaving an interrupt, without what is done inside; zero where `C_l` includes it.
    #[schemars(required)]
    interrupt: Option<Part<RawCost>>,
    /// Creating a thread.
    #[schemars(required)]
    thread_creation: Option<Part<RawCost>>,
    /// Protocol processing of a received packet.
    #[schemars(required)]
    receive_packet: Option<Part<RawCost>>,
    /// Completing a reassembled message and handing it to the application.
    #[schemars(required)]
    receive_message: Option<Part<RawCost>>,
    /// What an application's send costs per message, if applications share the CPU.
    #[schemars(required)]
    send_call: Option<Part<RawCost>>,
}

/// A cost with its source.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawCost {
    /// How much.
    #[schemars(required)]
    value: Option<Written<Bounded<CostBounds>>>,
    /// A table of a paper, a measurement, or `own choice:` and the argument.
    #[schemars(required)]
    source: Option<Written<String>>,
}

impl Profile {
    /// Reads the profile at `path`.
    pub fn load(files: &dyn Files, path: &Path) -> Result<Profile, Diagnostics> {
        Profile::parse(&read_text(files, path, "a profile")?)
    }

    /// The profile that `source` is; its name is the file's stem.
    pub(crate) fn parse(source: &Arc<Source>) -> Result<Profile, Diagnostics> {
        let document = document::parse(source)?;
        let mut diagnostics = Diagnostics::default();
        let cx = &mut Context::new(source, &mut diagnostics);
        let profile = document::read(cx, document).and_then(|raw| Profile::convert(cx, raw));
        match profile {
            Ok(profile) if diagnostics.is_empty() => Ok(profile),
            _ => Err(diagnostics),
        }
    }

    fn convert(cx: &mut Context<'_>, raw: RawProfile) -> Result<Profile, Reported> {
        let RawProfile {
            title,
            about,
            context_switch,
            cache_miss,
            first_packet,
            packet,
            link_scheduling,
            hand_over,
            interrupt,
            thread_creation,
            receive_packet,
            receive_message,
            send_call,
        } = raw;
        let title = cx.required(title, "title", &WHOLE, "the profile");
        let about = cx.or(about, String::new());
        let mut sources = Vec::new();
        let mut cost = |cx: &mut Context<'_>, name, part| {
            cost(cx, name, part).map(|cost| {
                sources.push(cost);
                sources[sources.len() - 1].value
            })
        };
        let context_switch = cost(cx, "context_switch", context_switch);
        let cache_miss = cost(cx, "cache_miss", cache_miss);
        let first_packet = cost(cx, "first_packet", first_packet);
        let packet = cost(cx, "packet", packet);
        let link_scheduling = cost(cx, "link_scheduling", link_scheduling);
        let hand_over = cost(cx, "hand_over", hand_over);
        let interrupt = cost(cx, "interrupt", interrupt);
        let thread_creation = cost(cx, "thread_creation", thread_creation);
        let receive_packet = cost(cx, "receive_packet", receive_packet);
        let receive_message = cost(cx, "receive_message", receive_message);
        let send_call = cost(cx, "send_call", send_call);
        let name = Path::new(cx.source.name()).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Ok(Profile {
            name: name.unwrap_or_default(),
            title: title?.into_inner(),
            about: about?,
            costs: HostCosts {
                context_switch: context_switch?,
                cache_miss: cache_miss?,
                first_packet: first_packet?,
                packet: packet?,
                link_scheduling: link_scheduling?,
                hand_over: hand_over?,
                interrupt: interrupt?,
                thread_creation: thread_creation?,
                receive_packet: receive_packet?,
                receive_message: receive_message?,
                send_call: send_call?,
            },
            sources,
        })
    }
}

fn cost(cx: &mut Context<'_>, name: &'static str, part: Option<Part<RawCost>>) -> Result<Cost, Reported> {
    let Some(part) = part else {
        let help = format!("add `[{name}]` with a `value` such as `\"55 us\"` and its `source`");
        return Err(cx.fault(&WHOLE, format!("the profile has no cost `{name}`"), help));
    };
    let part = cx.part(part)?;
    let (span, RawCost { value, source }) = (part.span(), part.into_inner());
    let value = cx.required(value, "value", &span, &format!("the cost `{name}`"));
    let source = cx.required(source, "source", &span, &format!("the cost `{name}`"));
    let source = source.and_then(|source| match source.get_ref().trim() {
        "" => Err(cx.fault(
            &source.span(),
            "the source of a number cannot be empty",
            "name the table or the measurement, or write `own choice:` and the argument",
        )),
        text => Ok(text.to_string()),
    });
    Ok(Cost { name, value: value?.into_inner().get(), source: source? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_profiles_are_valid_and_say_what_the_papers_say() {
        let read = |name: &str| {
            let (_, text) = BUILT_IN.iter().find(|(built_in, _)| *built_in == name).unwrap();
            let source = Arc::new(Source::new(format!("profiles/{name}.toml (built in)"), *text));
            Profile::parse(&source).unwrap_or_else(|errors| panic!("{errors}"))
        };
        let us = Span::from_us;
        let mc68040 = read("mc68040");
        assert_eq!(mc68040.costs.switch(), us(145));
        assert_eq!(mc68040.costs.protocol(15), us(420 + 14 * 170));
        assert_eq!(mc68040.costs.link_scheduling, us(160));
        let hartos = read("hartos-np");
        assert_eq!((hartos.costs.context_switch, hartos.costs.interrupt), (us(20), us(28)));
        for profile in [mc68040, hartos] {
            assert_eq!(profile.sources.len(), 11, "{}", profile.name);
        }
    }
}
