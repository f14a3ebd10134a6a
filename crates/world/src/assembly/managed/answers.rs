//! Answers of nodes to programs.

use laxity_signalling::event::SourceEvent as Answered;
use laxity_signalling::refusal::{Alternative, Denial, NodeResource};

use super::calls::State;
use super::*;
use crate::experiment::RefusalEffect;
use crate::results::{NodeAnswer, RefusedChannel as Told};

impl Managed<'_> {
    /// Lists what happened to `channel`, if there is room.
    pub(super) fn note(&mut self, channel: &str, answer: &str, detail: String, took: Option<Span>) {
        self.trace_channel(channel, answer);
        if self.answers.len() < ANSWERS {
            self.answers.push(NodeAnswer {
                at: self.now.as_secs_f64(),
                channel: channel.into(),
                answer: answer.into(),
                detail,
                took: took.map(Span::as_secs_f64),
            });
        }
    }

    /// A node answers its program.
    pub(super) fn answer(&mut self, event: Answered, calendar: &mut Calendar<super::Event>) {
        let (Answered::Established { channel: id, .. }
        | Answered::Refused { channel: id, .. }
        | Answered::Changed { channel: id, .. }
        | Answered::ChangeRefused { channel: id, .. }
        | Answered::Closed { channel: id, .. }
        | Answered::Lost { channel: id, .. }) = event
        else {
            return;
        };
        let Some(number) = self.ids.get(&id).copied() else {
            return self.fail(rules::ANSWERED, "", format!("{id} has an answer and is over"));
        };
        let call = &self.calls[&number];
        let (channel, state) = (call.channel, call.state);
        let spec = &self.experiment.channels[channel];
        let closing = matches!(state, State::Closing | State::Orphan);
        match event {
            Answered::Established { .. } if state == State::Opening => self.established(number, calendar),
            Answered::Refused { refused, .. } if state == State::Opening || closing => {
                self.refused(number, &refused);
            }
            Answered::Changed { .. } if state == State::Open => self.changed(number),
            Answered::ChangeRefused { refused, .. } if state == State::Open => {
                let why = self.in_words(&refused);
                self.calls.get_mut(&number).expect("it is known").wanted = None;
                self.change_refused(channel, why);
            }
            // A change that was under way when the program closed.
            Answered::Changed { .. } | Answered::ChangeRefused { .. } | Answered::Established { .. }
                if closing => {}
            Answered::Closed { .. } if closing || state == State::Open => {
                if state != State::Orphan {
                    self.note(&spec.name, "closed", String::new(), None);
                }
                self.end(number);
            }
            Answered::Lost { .. } if state != State::Opening => {
                let expected = call.touched || closing;
                let asks = &mut self.counted[channel].asks;
                asks.lost += u64::from(!closing);
                asks.unexpected += u64::from(!expected);
                self.note(&spec.name, "lost", String::new(), None);
                self.end(number);
            }
            _ => self.fail(rules::ANSWERED, &spec.name, format!("{event:?} of a channel that is {state:?}")),
        }
    }

    fn established(&mut self, number: u64, calendar: &mut Calendar<super::Event>) {
        let source_number = number as u32;
        let call = self.calls.get_mut(&number).expect("it is known");
        call.state = State::Open;
        let (channel, took, hold) = (call.channel, self.now.since(call.asked), call.hold);
        let spec = &self.experiment.channels[channel];
        let stream = if hold.is_some() { source_number } else { 0 };
        let bound = self.spec.bound(call.route.len(), &call.contract);
        let counted = &mut self.counted[channel];
        if call.counted {
            counted.establishment.push([took.as_ps() as i64]);
        }
        if !call.touched {
            counted.slowest = counted.slowest.max(Some(took));
        }
        counted.asks.established += 1;
        counted.closest.promised(bound);
        let since = self.now.since(Time::ZERO);
        call.source = self.experiment.source_from(channel, stream, since);
        self.note(&spec.name, "established", format!("bound {bound}"), Some(took));
        if let Some(hold) = hold {
            calendar.schedule_after(hold, super::Event::Close { call: number });
        }
        self.schedule_message(number, calendar);
    }

    fn refused(&mut self, number: u64, refused: &Denial) {
        let call = &self.calls[&number];
        let (channel, took, touched) = (call.channel, self.now.since(call.asked), call.touched);
        let spec = &self.experiment.channels[channel];
        let (why, expected) = (self.in_words(refused), spec.refusal == RefusalEffect::Expected);
        let by = format!("{} {}", self.name_of(refused), resource(refused.shortage.resource));
        let counted = &mut self.counted[channel];
        if call.counted {
            counted.parts[call.part].1 += 1;
        }
        if !touched {
            counted.slowest = counted.slowest.max(Some(took));
        }
        counted.asks.refused += 1;
        *counted.asks.refusals.entry(by).or_default() += 1;
        if matches!(spec.asked, AskedTimes::Once { .. }) {
            counted.asks.unexpected += u64::from(!expected && !touched);
            let admissible = match refused.shortage.acceptable {
                Alternative::Deadline(deadline) => Some(deadline.as_secs_f64()),
                _ => None,
            };
            let expected = expected || touched;
            counted.refused = Some(Told { reason: why.clone(), admissible, expected, ..Told::default() });
        }
        self.note(&spec.name, "refused", why, Some(took));
        self.end(number);
    }

    fn changed(&mut self, number: u64) {
        let now = self.now;
        let call = self.calls.get_mut(&number).expect("it is known");
        let Some((contract, deadline)) = call.wanted.take() else { return };
        (call.contract, call.deadline) = (contract, deadline);
        // The regulators of the new contract start afresh.
        call.excused = call.excused.filter(|until| *until > now);
        let channel = call.channel;
        let spec = &self.experiment.channels[channel];
        let bound = self.spec.bound(call.route.len(), &contract);
        self.counted[channel].asks.changed += 1;
        self.note(&spec.name, "changed", format!("bound {bound}"), None);
    }

    fn name_of(&self, refused: &Denial) -> String {
        self.experiment.name(refused.node.0 as usize)
    }

    /// The refusal in words.
    fn in_words(&self, refused: &Denial) -> String {
        let shortage = refused.shortage;
        let missing = match shortage.resource {
            NodeResource::Deadline => format!(": {} too short", Span::from_ps(shortage.missing)),
            NodeResource::Route | NodeResource::Answer | NodeResource::Agreement | NodeResource::Valid => {
                String::new()
            }
            NodeResource::Link | NodeResource::Cpu | NodeResource::QuotaCpu => {
                format!(": {:.1} % of it too little", shortage.missing as f64 / 1e4)
            }
            _ => format!(": {} too few", shortage.missing),
        };
        let instead = match shortage.acceptable {
            Alternative::Unknown => String::new(),
            Alternative::Deadline(deadline) => {
                format!(", a deadline of {deadline} would do up to here")
            }
            Alternative::Interval(interval) => format!(", an interval of {interval} would do"),
            Alternative::Burst(burst) => format!(", a burst of {burst} would do"),
            Alternative::Later => ", a later request may do".into(),
        };
        format!("{}, {}{missing}{instead}", self.name_of(refused), resource(shortage.resource))
    }
}

/// The name of a resource in results.
fn resource(resource: NodeResource) -> &'static str {
    match resource {
        NodeResource::Link => "link",
        NodeResource::Cpu => "cpu",
        NodeResource::Messages => "messages",
        NodeResource::Packets => "packets",
        NodeResource::ReceivePlaces => "receive_places",
        NodeResource::Deadline => "deadline",
        NodeResource::QuotaChannels => "quota_channels",
        NodeResource::QuotaBandwidth => "quota_bandwidth",
        NodeResource::QuotaBuffers => "quota_buffers",
        NodeResource::QuotaCpu => "quota_cpu",
        NodeResource::Route => "route",
        NodeResource::Entries => "entries",
        NodeResource::Answer => "answer",
        NodeResource::Agreement => "agreement",
        NodeResource::Valid => "valid",
    }
}
