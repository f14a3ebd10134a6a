//! Host cost profiles: the cost of each step on a given host, with its source.
//!
//! A simulation is as good as its numbers, so each number in a profile has its source: a table of a
//! paper, a measurement, or the argument for a choice. Every cost has its own table,
//!
//! ```toml
//! title = "25 MHz MC68040"
//! [context_switch]
//! value = "55 us"
//! source = "structuring Table 1, C_sw"
//! ```
//!
//! and all of them must be there: a missing cost would count as zero.
//!
//! The copy or the checksum of a packet costs more for a larger one. A measured profile gives the
//! range of packets, and the cost of each byte:
//!
//! ```toml
//! [measured]
//! least = "64 B"
//! most = "4 KiB"
//! [packet]
//! value = "300 ns"      # of a packet of no bytes
//! per_byte = "200 ps"
//! source = "measured: ..."
//! ```
//!
//! The model has one cost per packet, so a scenario gets the cost of its full-size packets
//! ([`Profile::costs_for`]). A packet size outside the measured range is an error: beyond the range
//! a cache ends or a page begins, and the fitted line says little.

use std::path::Path;
use std::sync::Arc;

use laxity_qos::costs::HostCosts;
use laxity_scenario_keys::keys;
use laxity_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::{Context, Reported, WHOLE};
use crate::diagnostic::{Diagnostics, SourceText};
use crate::document;
use crate::files::{Files, read_text};
use crate::leaf::{Bounded, Cost as CostBounds, PerByte, Size};
use crate::written::{Part, Written};

/// The built-in profiles, by name.
pub(crate) const BUILT_IN: [(&str, &str); 4] = [
    ("hartos-np", include_str!("../../../profiles/hartos-np.toml")),
    ("harts-reception", include_str!("../../../profiles/harts-reception.toml")),
    ("polling-server", include_str!("../../../profiles/polling-server.toml")),
    ("mc68040", include_str!("../../../profiles/mc68040.toml")),
];

/// A host cost profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// File stem, `mc68040`.
    pub name: String,
    /// The host in one line.
    pub title: String,
    /// Origin of the numbers; may be empty.
    pub about: String,
    /// The costs; of a packet of no bytes, where [`per_byte`](Self::per_byte) adds to them.
    pub costs: HostCosts,
    /// Additional cost of each byte of a packet.
    pub per_byte: HostCosts,
    /// The packets that were measured, if the profile says: the smallest and the largest.
    pub measured: Option<(Bytes, Bytes)>,
    /// The costs one by one, each with its source, in the order of [`HostCosts`].
    pub sources: Vec<Cost>,
}

/// One cost and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// The field of [`HostCosts`].
    pub name: &'static str,
    /// How much.
    pub value: Span,
    /// Additional cost of each byte of a packet.
    pub per_byte: Span,
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
    /// Origin of the numbers.
    about: Option<Written<String>>,
    /// For which sizes of packets the costs were measured; scenarios with others are refused. Default: any.
    measured: Option<Part<RawMeasured>>,
    /// `C_sw`: time to switch contexts between threads.
    #[schemars(required)]
    context_switch: Option<Part<RawCost>>,
    /// `C_cm`: penalty of the cache misses that follow a context switch.
    #[schemars(required)]
    cache_miss: Option<Part<RawCost>>,
    /// `C_p` of a message's first packet, with the fixed cost of the message.
    #[schemars(required)]
    first_packet: Option<Part<RawCost>>,
    /// `C_p` of a message of one packet, where fragmentation has a fast path for it. Default: that of
    /// a first packet.
    single_packet: Option<Part<RawCost>>,
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
    /// Looking for responses of an adapter that does not interrupt, or with the watchdog. Default:
    /// what an interrupt costs.
    poll: Option<Part<RawCost>>,
    /// Cost of taking a response out of the adapter's queue, beside the interrupt or poll that
    /// found it. Default: zero.
    response: Option<Part<RawCost>>,
    /// Creating a thread.
    #[schemars(required)]
    thread_creation: Option<Part<RawCost>>,
    /// Protocol processing of a received packet.
    #[schemars(required)]
    receive_packet: Option<Part<RawCost>>,
    /// Completing a reassembled message and handing it to the application.
    #[schemars(required)]
    receive_message: Option<Part<RawCost>>,
    /// Cost of an application's send per message, if applications share the CPU.
    #[schemars(required)]
    send_call: Option<Part<RawCost>>,
}

/// A cost with its source.
#[keys]
pub(crate) struct RawCost {
    /// How much; with `per_byte`, of a packet of no bytes.
    #[key(required)]
    value: Option<Written<Bounded<CostBounds>>>,
    /// Additional cost of each byte of a packet; needs `[measured]`.
    #[key(default = "0 s", said = "0")]
    per_byte: Option<Written<Bounded<PerByte>>>,
    /// A table of a paper, a measurement, or `own choice:` and the argument.
    #[key(required)]
    source: Option<Written<String>>,
}

/// The packets that were measured.
#[keys]
pub(crate) struct RawMeasured {
    /// The smallest.
    #[key(required)]
    least: Option<Written<Bounded<Size>>>,
    /// The largest.
    #[key(required)]
    most: Option<Written<Bounded<Size>>>,
}

/// A profile was measured with other packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmeasured {
    /// The smallest and the largest packet that were.
    pub measured: (Bytes, Bytes),
}

impl Profile {
    /// Costs of the host of a scenario with packets of at most `packet`, each byte counted; an
    /// error if no packet of that size was measured.
    pub fn costs_for(&self, packet: Bytes) -> Result<HostCosts, Unmeasured> {
        if let Some(measured) = self.measured
            && !(measured.0..=measured.1).contains(&packet)
        {
            return Err(Unmeasured { measured });
        }
        let bytes = packet.get();
        Ok(self.costs.zip(self.per_byte, |fixed, byte| fixed + byte * bytes))
    }

    /// Reads the profile at `path`.
    pub fn load(files: &dyn Files, path: &Path) -> Result<Profile, Diagnostics> {
        Profile::parse(&read_text(files, path, "a profile")?)
    }

    /// The profile that `source` is; its name is the file's stem.
    pub(crate) fn parse(source: &Arc<SourceText>) -> Result<Profile, Diagnostics> {
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
        let measured = raw.measured.map(|part| self::measured(cx, part)).transpose();
        let ranged = !matches!(measured, Ok(None));
        let title = cx.required(raw.title, "title", &WHOLE, "the profile");
        let about = cx.or(raw.about, String::new());
        let all = costs! { raw:
            context_switch cache_miss first_packet single_packet packet link_scheduling hand_over interrupt poll
            response thread_creation receive_packet receive_message send_call
        };
        // Others are zero: a profile has its bytes in the costs of packets, which were measured with packets
        // of one length; the papers' tables have one cost for both classes, and timers in `C_p^1st`; and
        // the machines that were measured have one core.
        let (mut costs, mut per_byte) = (HostCosts::default(), HostCosts::default());
        let (mut sources, mut outcome) = (Vec::new(), Ok(()));
        for (name, part, of) in all {
            let usual: Option<fn(&HostCosts) -> Span> = match name {
                "single_packet" => Some(|costs| costs.first_packet),
                "poll" => Some(|costs| costs.interrupt),
                "response" => Some(|_| Span::ZERO),
                _ => None,
            };
            if let (None, Some(usual)) = (&part, usual) {
                (*of(&mut costs), *of(&mut per_byte)) = (usual(&costs), usual(&per_byte));
                continue;
            }
            match cost(cx, name, part, ranged) {
                Ok(cost) => {
                    (*of(&mut costs), *of(&mut per_byte)) = (cost.value, cost.per_byte);
                    sources.push(cost);
                }
                Err(reported) => outcome = Err(reported),
            }
        }
        outcome?;
        let name = Path::new(cx.source.name()).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Ok(Profile {
            name: name.unwrap_or_default(),
            title: title?.into_inner(),
            about: about?,
            measured: measured?,
            costs,
            per_byte,
            sources,
        })
    }
}

/// The costs of a profile by their names, and the place of each among those of a host.
macro_rules! costs {
    ($raw:ident: $($cost:ident)*) => {
        [$((stringify!($cost), $raw.$cost, (|costs| &mut costs.$cost) as fn(&mut HostCosts) -> &mut Span)),*]
    };
}
use costs;

fn measured(cx: &mut Context<'_>, part: Part<RawMeasured>) -> Result<(Bytes, Bytes), Reported> {
    let (_, keys) = cx.keys(part, "`[measured]`")?;
    let (least, most) = (keys.least.value?, keys.most.spanned()?);
    let (at, most) = (most.span(), most.into_inner());
    if most < least {
        let help = format!("valid is {least} or more");
        return Err(cx.fault(&at, format!("{most} is less than the least, {least}"), help));
    }
    Ok((least, most))
}

fn cost(
    cx: &mut Context<'_>,
    name: &'static str,
    part: Option<Part<RawCost>>,
    ranged: bool,
) -> Result<Cost, Reported> {
    let Some(part) = part else {
        let help = format!("add `[{name}]` with a `value` such as `\"55 us\"` and its `source`");
        return Err(cx.fault(&WHOLE, format!("the profile has no cost `{name}`"), help));
    };
    let (_, keys) = cx.keys(part, &format!("the cost `{name}`"))?;
    if let Some(at) = keys.per_byte.at.filter(|_| !ranged) {
        return Err(cx.fault(
            &at,
            "a cost per byte holds for the packets that were measured, and the profile does not say which",
            "add `[measured]` with `least = \"64 B\"` and `most = \"4 KiB\"`, or what they were",
        ));
    }
    let source = keys.source.spanned();
    let source = source.and_then(|source| match source.get_ref().trim() {
        "" => Err(cx.fault(
            &source.span(),
            "the source of a number cannot be empty",
            "name the table or the measurement, or write `own choice:` and the argument",
        )),
        text => Ok(text.to_string()),
    });
    Ok(Cost { name, value: keys.value.value?, per_byte: keys.per_byte.value?, source: source? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(head: &str, packet: &str) -> Result<Profile, Diagnostics> {
        let mut text = format!("title = \"here\"\n{head}\n");
        for name in [
            "context_switch",
            "cache_miss",
            "first_packet",
            "packet",
            "link_scheduling",
            "hand_over",
            "interrupt",
            "thread_creation",
            "receive_packet",
            "receive_message",
            "send_call",
        ] {
            let value = if name == "packet" { packet } else { "value = \"1 us\"" };
            text += &format!("[{name}]\n{value}\nsource = \"measured\"\n");
        }
        Profile::parse(&Arc::new(SourceText::new("here.toml".to_string(), text)))
    }

    #[test]
    fn bytes_count_within_the_packets_that_were_measured_and_nowhere_else() {
        const RANGE: &str = "[measured]\nleast = \"64 B\"\nmost = \"4 KiB\"";
        const PACKET: &str = "value = \"300 ns\"\nper_byte = \"200 ps\"";
        let profile = measured(RANGE, PACKET).unwrap_or_else(|errors| panic!("{errors}"));
        let of = |bytes| profile.costs_for(Bytes::new(bytes)).map(|costs| (costs.packet, costs.send_call));
        let us = Span::from_us(1);
        assert_eq!(of(64), Ok((Span::from_ps(312_800), us)));
        assert_eq!(of(4096), Ok((Span::from_ps(1_119_200), us)));
        let outside = Err(Unmeasured { measured: (Bytes::new(64), Bytes::from_kib(4)) });
        assert_eq!((of(63), of(4097)), (outside.clone(), outside));
        let refused = |head: &str, packet: &str| measured(head, packet).unwrap_err().to_string();
        assert!(refused("", PACKET).contains("add `[measured]`"));
        assert!(
            refused(&RANGE.replace("64 B", "8 KiB"), PACKET).contains("4 KiB is less than the least, 8 KiB")
        );
        assert!(refused("[measured]\nleast = \"64 B\"", PACKET).contains("most"));
    }

    #[test]
    fn the_built_in_profiles_are_valid_and_say_what_the_papers_say() {
        let read = |name: &str| {
            let (_, text) = BUILT_IN.iter().find(|(built_in, _)| *built_in == name).unwrap();
            Profile::parse(&SourceText::built_in("profile", name, text))
                .unwrap_or_else(|errors| panic!("{errors}"))
        };
        let us = Span::from_us;
        let mc68040 = read("mc68040");
        assert_eq!(mc68040.costs.switch(), us(145));
        assert_eq!(mc68040.costs.protocol(15), us(420 + 14 * 170));
        assert_eq!(mc68040.costs.single_packet, mc68040.costs.first_packet);
        assert_eq!(mc68040.costs.link_scheduling, us(160));
        let hartos = read("hartos-np");
        assert_eq!((hartos.costs.context_switch, hartos.costs.interrupt), (us(20), us(28)));
        for profile in [mc68040, hartos] {
            assert_eq!(profile.sources.len(), 11, "{}", profile.name);
        }
    }
}
