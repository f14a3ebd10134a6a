//! `[[command]]`: commands to adapters during a run.

use laxity_qos::reception::control::{ControlCommand as Control, Modes, Polls};
use laxity_qos::reception::{Backoff, BackoffParameters, Continuous, Explicit, Timed};
use laxity_world::experiment::{CommandSpec, InterfaceSpec, ReceptionCommand};

use super::*;
use crate::choice::CommandKind;
use crate::leaf::word;
use crate::raw::{CommandKeys, RawCommand};
use crate::section::strays;
use crate::written::List;

/// The commands to these interfaces and channels.
pub(super) fn commands(
    cx: &mut Context<'_>,
    list: Option<List<Part<RawCommand>>>,
    interfaces: &[InterfaceSpec],
    channels: &[ChannelSpec],
) -> Result<Vec<CommandSpec>, Reported> {
    let parts = cx.items(list)?;
    if let Some(part) = parts.first().filter(|_| interfaces.is_empty()) {
        let help = "remove this, or add `[[interface]]`";
        return Err(cx.fault(&part.span, "the host receives at no interface", help));
    }
    let commands: Vec<_> = parts.into_iter().map(|part| command(cx, part, interfaces, channels)).collect();
    commands.into_iter().collect()
}

fn command(
    cx: &mut Context<'_>,
    part: Part<RawCommand>,
    interfaces: &[InterfaceSpec],
    channels: &[ChannelSpec],
) -> Result<CommandSpec, Reported> {
    let (owner, keys) = cx.keys(part, "this command")?;
    let (kind, at) = (keys.kind.value?, keys.at.value?);
    let what = format!("the command `{}`", word(kind));
    use CommandKind as K;
    if let Some((stray, at)) = strays(keys.owned(), kind).next() {
        let reason = match stray.key {
            "interface" => "is about a channel",
            "channel" => "is about an interface",
            "quota" => "has no quota",
            "interval" => "has no interval",
            _ => "enables no backoff",
        };
        return Err(cx.fault(&at, format!("{what} {reason}"), "remove this, or use another command"));
    }
    let about_channel = matches!(kind, K::CreatePeriodic | K::ClearPeriodic);
    if about_channel {
        let name = keys.channel.needed(cx, &owner, &what)?;
        let Some(index) = channels.iter().position(|channel| channel.name == name.get_ref().0) else {
            let help = format!("channels are {}", list(channels.iter().map(|channel| &channel.name)));
            return Err(cx.fault(&name.span(), format!("there is no channel `{}`", name.get_ref().0), help));
        };
        let command = if kind == K::CreatePeriodic {
            ReceptionCommand::Create(index)
        } else {
            ReceptionCommand::Clear(index)
        };
        return Ok(CommandSpec { at, command });
    }
    let name = keys.interface.needed(cx, &owner, &what)?;
    let Some(index) = interfaces.iter().position(|interface| interface.name == name.get_ref().0) else {
        let help = format!("interfaces are {}", list(interfaces.iter().map(|interface| &interface.name)));
        return Err(cx.fault(&name.span(), format!("there is no interface `{}`", name.get_ref().0), help));
    };
    let config = &interfaces[index].config;
    let interval_of = config.ticks.as_ref().map(laxity_model::reception::ClockTicks::mean);
    if Modes::of(&config.policy, interval_of).is_none() {
        let reason = format!("the policy of `{}` has no control commands", name.get_ref().0);
        let help = "valid with `interrupt`, `continuous`, `timed`, `explicit` and `backoff`";
        return Err(cx.fault(&name.span(), reason, help));
    }
    let with_quota =
        |cx: &mut Context<'_>| keys.quota.needed(cx, &owner, &what).map(|quota| quota.into_inner().small());
    let control = match kind {
        K::CreatePeriodic | K::ClearPeriodic => unreachable!("it is about a channel"),
        K::ModePoll => {
            let quota = with_quota(cx)?;
            Control::Poll(match keys.interval.value? {
                Some(interval) => Polls::Timed(Timed { quota }, interval),
                None => Polls::Continuous(Continuous { quota }),
            })
        }
        K::ModeInterrupt => Control::Interrupt,
        K::HostOn => {
            let quota = with_quota(cx);
            let interval = keys.interval.needed(cx, &owner, &what);
            Control::HostOn(Explicit::new(quota?, interval?.into_inner()))
        }
        K::HostOff => Control::HostOff,
        K::BackoffEnable => {
            let quota = with_quota(cx);
            let CommandKeys { minimum, maximum, factor, restore, threshold, taken, .. } = &keys;
            let keys = (minimum, maximum, factor, restore, threshold, taken);
            let parameters = reception::backoff(cx, keys, &owner, &what)?;
            if config.buffers.is_none() {
                let reason = format!("backoff goes by free buffers, and `{}` has none", name.get_ref().0);
                return Err(cx.fault(&name.span(), reason, "say how many, such as `buffers = 128`"));
            }
            Control::BackoffOn(Backoff::new(BackoffParameters { quota: quota?, ..parameters }))
        }
        K::BackoffDisable => Control::BackoffOff,
    };
    Ok(CommandSpec { at, command: ReceptionCommand::Mode(index, control) })
}
