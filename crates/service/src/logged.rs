//! A node of which all inputs can be logged.

use std::collections::BTreeMap;
use std::ops::Deref;

use laxity_node::{Command, Departure, Failure, Node, ProgramAnswer, Response};
use laxity_signalling::identity::{GlobalChannelId, NodeId, Port, Program};
use laxity_signalling::quota::Quotas;
use laxity_units::{Span, Time};

use crate::journal::{Input, Journal, What, hash, limits};

/// A node and its log. Calls that only read the node go through [`Deref`].
pub(crate) struct Logged {
    node: Node,
    journal: Journal,
    /// The next timeout, until an input changes it: the node looks at all channels for it.
    timeout: Option<Option<Time>>,
}

impl Logged {
    /// Logs the inputs of `node` from here on.
    pub(crate) fn new(node: Node, journal: Journal) -> Self {
        Self { node, journal, timeout: None }
    }

    /// A frame that has waited in the host for that long.
    pub(crate) fn handle_frame(&mut self, (now, waited): (Time, Span), from: NodeId, frame: &[u8]) {
        self.journal.log(|| Input::Frame((Journal::at(now), waited.as_ps()), from.0, frame));
        self.timeout = None;
        self.node.handle_waiting_frame(now, waited, from, frame);
    }

    pub(crate) fn command(
        &mut self,
        now: Time,
        program: Program,
        command: Command,
    ) -> Result<Response, Failure> {
        self.journal.log(|| Input::Command(Journal::at(now), program.0, (&command).into()));
        self.timeout = None;
        self.node.command(now, program, command)
    }

    pub(crate) fn send(
        &mut self,
        now: Time,
        program: Program,
        channel: GlobalChannelId,
        payload: &[u8],
    ) -> Result<Time, Failure> {
        self.journal.log(|| Input::Command(Journal::at(now), program.0, What::send(channel, payload)));
        self.timeout = None;
        self.node.send_message(now, program, channel, payload)
    }

    /// A datagram that is not accepted is dropped, and the node counts it.
    pub(crate) fn datagram(&mut self, now: Time, program: Program, to: NodeId, port: Port, payload: &[u8]) {
        let what = || What::Datagram { to: to.0, port: port.0, payload };
        self.journal.log(|| Input::Command(Journal::at(now), program.0, what()));
        self.timeout = None;
        let _ = self.node.send_datagram(now, to, port, payload);
    }

    pub(crate) fn handle_timeout(&mut self, now: Time) {
        self.journal.log(|| Input::Timeout(Journal::at(now)));
        self.timeout = None;
        self.node.handle_timeout(now);
    }

    /// A poll without a frame is no input: the node only moves packets that turn current, which the
    /// next poll would do.
    pub(crate) fn poll_frame(&mut self, now: Time, to: NodeId) -> Option<Vec<u8>> {
        let frame = self.node.poll_frame(now, to)?;
        self.timeout = None;
        self.journal.log(|| Input::Sent(Journal::at(now), to.0, hash(&frame)));
        Some(frame)
    }

    pub(crate) fn transmitted(&mut self, to: NodeId) {
        self.journal.log(|| Input::Free(to.0));
        self.timeout = None;
        self.node.transmitted(to);
    }

    pub(crate) fn set_routes(&mut self, routes: BTreeMap<NodeId, NodeId>) {
        self.journal.log(|| Input::Routes(routes.iter().map(|(to, next)| (to.0, next.0)).collect()));
        self.timeout = None;
        self.node.set_routes(routes);
    }

    pub(crate) fn set_quotas(&mut self, quotas: Quotas) {
        self.journal.log(|| Input::Quotas(limits(&quotas)));
        self.timeout = None;
        self.node.set_quotas(quotas);
    }

    pub(crate) fn poll_departure(&mut self) -> Option<Departure> {
        self.node.poll_departure()
    }

    pub(crate) fn poll_timeout(&mut self, now: Time) -> Option<Time> {
        *self.timeout.get_or_insert_with(|| self.node.poll_timeout(now))
    }

    pub(crate) fn poll_answer(&mut self) -> Option<ProgramAnswer> {
        self.node.poll_answer()
    }
}

impl Deref for Logged {
    type Target = Node;

    fn deref(&self) -> &Node {
        &self.node
    }
}
