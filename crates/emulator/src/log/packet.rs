//! Inputs in the format of a log, which is independent of changes to the model's types.

use laxity_model::adapter::Directive;
use laxity_qos::channel::{Carried, ChannelId, Packet};
use laxity_qos::discipline::{Class, Tag};
use laxity_qos::virtual_clock::Vtick;
use laxity_units::{Bytes, Span, Time};
use laxity_world::Input;
use serde::{Deserialize, Serialize};

/// Input. The handle of a message is omitted, since only its sender uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum LoggedInput {
    Message { channel: u32, size: u64 },
    Stop,
    Reset { node: u32 },
    Transmit { node: u32, packet: LoggedPacket },
    Proceed { node: u32, packet: LoggedPacket },
}

/// Packet; times in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LoggedPacket {
    channel: u32,
    message: u64,
    index: u32,
    count: u32,
    size: u64,
    message_size: u64,
    real_time: bool,
    logical_arrival: u64,
    deadline: u64,
    tick: u64,
    per: u64,
    level: u8,
    due_from: u64,
    sent: u64,
    created: u64,
    handed: u64,
    due: u64,
    excess: i64,
    hops: u8,
    waits: bool,
}

impl From<Input> for LoggedInput {
    fn from(input: Input) -> Self {
        match input {
            Input::Message { channel, size, handle: _ } => {
                LoggedInput::Message { channel: channel as u32, size: size.get() }
            }
            Input::Command { node, command: Directive::Transmit(packet) } => {
                LoggedInput::Transmit { node: node as u32, packet: packet.into() }
            }
            Input::Command { node, command: Directive::Proceed(packet) } => {
                LoggedInput::Proceed { node: node as u32, packet: packet.into() }
            }
            Input::Reset { node } => LoggedInput::Reset { node: node as u32 },
            Input::Stop => LoggedInput::Stop,
        }
    }
}

impl LoggedInput {
    /// Input for a world with these channels and hosts; `None` if it is not valid for that world.
    pub(super) fn input(self, channels: &[usize], hosts: &[usize]) -> Option<Input> {
        let at = |node: u32| Some(node as usize).filter(|node| hosts.contains(node));
        Some(match self {
            LoggedInput::Message { size: 0, .. } => return None,
            LoggedInput::Message { channel, size } => {
                let channel = Some(channel as usize).filter(|channel| channels.contains(channel))?;
                Input::Message { channel, size: Bytes::new(size), handle: 0 }
            }
            LoggedInput::Stop => Input::Stop,
            LoggedInput::Reset { node } => Input::Reset { node: at(node)? },
            LoggedInput::Transmit { node, packet } => {
                Input::Command { node: at(node)?, command: Directive::Transmit(packet.into()) }
            }
            LoggedInput::Proceed { node, packet } => {
                Input::Command { node: at(node)?, command: Directive::Proceed(packet.into()) }
            }
        })
    }
}

impl From<Packet> for LoggedPacket {
    fn from(packet: Packet) -> Self {
        Self {
            channel: packet.channel.0,
            message: packet.message,
            index: packet.index,
            count: packet.count,
            size: packet.size.get(),
            message_size: packet.message_size.get(),
            real_time: packet.tag.class == Class::RealTime,
            logical_arrival: packet.tag.logical_arrival.as_ps(),
            deadline: packet.tag.deadline.as_ps(),
            tick: packet.tag.tick.interval().as_ps(),
            per: packet.tag.tick.size().get(),
            level: packet.tag.level,
            due_from: packet.due_from.as_ps(),
            sent: packet.sent.as_ps(),
            created: packet.created.as_ps(),
            handed: packet.handed.as_ps(),
            due: packet.carried.due.as_ps(),
            excess: packet.carried.excess,
            hops: packet.carried.hops,
            waits: packet.carried.waits,
        }
    }
}

impl From<LoggedPacket> for Packet {
    fn from(packet: LoggedPacket) -> Self {
        Self {
            channel: ChannelId(packet.channel),
            message: packet.message,
            index: packet.index,
            count: packet.count,
            size: Bytes::new(packet.size),
            message_size: Bytes::new(packet.message_size),
            tag: Tag {
                class: if packet.real_time { Class::RealTime } else { Class::BestEffort },
                logical_arrival: Time::from_ps(packet.logical_arrival),
                deadline: Time::from_ps(packet.deadline),
                tick: Vtick::new(Span::from_ps(packet.tick), Bytes::new(packet.per)),
                level: packet.level,
            },
            due_from: Time::from_ps(packet.due_from),
            sent: Time::from_ps(packet.sent),
            created: Time::from_ps(packet.created),
            handed: Time::from_ps(packet.handed),
            carried: Carried {
                due: Time::from_ps(packet.due),
                excess: packet.excess,
                hops: packet.hops,
                waits: packet.waits,
                ..Carried::NOTHING
            },
        }
    }
}
