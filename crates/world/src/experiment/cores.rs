//! The placement of work on the cores of a host.
//!
//! A scenario may place each item explicitly. All others are placed in turn: channels that start at
//! the host, pass it or end there, in the order of the file, then applications that compute, to
//! core 0, 1, 2 … and again from 0. An application that sends is on the core of its channel's
//! handler, and so is a program that receives. Interrupts, held packets and the link scheduler's
//! thread are on core 0.
//!
//! Placement by utilisation (first fit, worst fit) is the usual heuristic of partitioned
//! scheduling. But the utilisation of best effort is unknown, and a change of one message size
//! would move other channels to other cores. Placement in turn can be read off the file.

use std::collections::BTreeMap;

use laxity_qos::channel::{ChannelId, CoreId};

use super::{ChannelSpec, Experiment};

/// The cores that a channel names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChannelCores {
    /// Of its handlers, at hosts of its way that have several.
    pub handler: Option<CoreId>,
    /// Of the application that sends.
    pub application: Option<CoreId>,
    /// Of the program that takes its messages.
    pub reader: Option<CoreId>,
}

/// Cores of a channel at a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Placed {
    /// Of its handlers.
    pub handler: CoreId,
    /// Of the application that sends, if it starts there.
    pub application: CoreId,
    /// Of the program that takes its messages, if it ends there.
    pub reader: CoreId,
}

/// Where everything is at hosts with several cores.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placement {
    /// By node and channel, where a node has several cores.
    channels: BTreeMap<(usize, ChannelId), Placed>,
    /// By node, of the applications that compute.
    computing: BTreeMap<usize, Vec<CoreId>>,
}

impl Placement {
    /// Of all nodes.
    pub fn new(experiment: &Experiment) -> Self {
        let cores = |node: usize| experiment.cores(node);
        let mut placement = Self::default();
        if (0..experiment.nodes.len()).all(|node| cores(node) == 1) {
            return placement;
        }
        let mut turns = vec![0; experiment.nodes.len()];
        let mut next = |node: usize| {
            let turn: &mut u8 = &mut turns[node];
            let core = CoreId(*turn);
            *turn = (*turn + 1) % cores(node);
            core
        };
        for (number, channel) in (0..).zip(&experiment.channels) {
            let ChannelSpec { route, cores: said, .. } = channel;
            // A channel that returns to a node keeps its core there.
            let comes = |(hop, node): &(usize, &usize)| cores(**node) > 1 && !route[..*hop].contains(*node);
            for (_, &node) in route.iter().enumerate().skip(channel.begins()).filter(comes) {
                let handler = said.handler.unwrap_or_else(|| next(node));
                let placed = Placed {
                    handler,
                    application: said.application.unwrap_or(handler),
                    reader: said.reader.unwrap_or(handler),
                };
                placement.channels.insert((node, ChannelId(number)), placed);
            }
        }
        for node in (0..experiment.nodes.len()).filter(|node| cores(*node) > 1) {
            let each = experiment.host(node).computing.iter();
            let each = each.map(|application| application.core.unwrap_or_else(|| next(node)));
            placement.computing.insert(node, each.collect());
        }
        placement
    }

    /// Of a channel at a node.
    pub fn of(&self, node: usize, channel: ChannelId) -> Placed {
        self.channels.get(&(node, channel)).copied().unwrap_or_default()
    }

    /// Of the application of that number that computes at a node.
    pub fn of_computing(&self, node: usize, application: usize) -> CoreId {
        self.computing.get(&node).map_or(CoreId::FIRST, |cores| cores[application])
    }
}
