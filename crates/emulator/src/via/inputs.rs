//! Inputs from outside: live, optionally logged, or read from a log on replay.
//!
//! Adapters are deterministic and have few inputs: the doorbells with the times at which they were
//! read, the words of their descriptors, and the orders at the desk. The contents of programs'
//! memory are no inputs, since no decision depends on a message's bytes; a replay uses zeroed
//! memory of the same length.
//!
//! A wake is logged with its time and the number of events before it, as for any emulation
//! ([`crate::log`]), and with the delay until inputs were read. All other inputs follow in the
//! order in which they were taken.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::Read;
use std::rc::Rc;
use std::sync::mpsc::Receiver;

use laxity_engine::{Clock, Wait};
use laxity_units::{Span, Time};
use laxity_vi::provider::{self, CompletionEntries, ControlRequest, Memory, ReadDescriptor, ViQueues, Which};
use laxity_vi::{Operation, Remote, Segment, Status};
use serde::{Deserialize, Serialize};

use super::bells::Rung;
use super::desk::{MOST_PROCESSES, Order, Thing};
use super::regions::MOST_BYTES;
use crate::log::{Log, LogError, Pack, Tape, block};

/// Mark of a block of entries.
const KIND: u8 = 3;
/// Words of a request.
const WORDS: usize = 16;

/// Input entry, in the format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Entry {
    /// The world was woken after `events` more events than before the last wake, `after`
    /// picoseconds after it, and read inputs `later` than that.
    Wake {
        events: u64,
        after: u64,
        later: u64,
    },
    /// A process rang.
    Rung {
        process: u32,
        vi: u32,
        receive: bool,
        count: u16,
    },
    /// A process rang with an invalid word.
    Garbled,
    /// An order is pending.
    Asked,
    /// A descriptor was invalid, with this status.
    Flawed(u32),
    /// A descriptor; its segments follow. Operation 0 is a message, 1 an RDMA write, 2 a read.
    Descriptor {
        operation: u8,
        address: u64,
        handle: u32,
        immediate: Option<u32>,
        segments: u8,
    },
    Segment {
        address: u64,
        handle: u32,
        length: u32,
    },
    /// No order was pending.
    Nothing,
    /// A process has opened an adapter.
    Open {
        process: u32,
        node: u32,
    },
    /// A request of a process; its words follow, with or without a created object.
    Ask {
        process: u32,
        brings: bool,
    },
    Word(u64),
    /// A process is gone.
    Gone {
        process: u32,
    },
    /// End of the service.
    Stop,
}

#[derive(Default)]
pub(super) struct Pending(Vec<Entry>);

impl Pack for Pending {
    type Entry = Entry;

    fn take(&mut self, entry: Entry) {
        self.0.push(entry);
    }

    fn bytes(&self) -> usize {
        6 * self.0.len()
    }

    fn write_whole<W: std::io::Write>(&mut self, file: &mut W) -> std::io::Result<()> {
        self.write(file)
    }

    fn write<W: std::io::Write>(&mut self, file: &mut W) -> std::io::Result<()> {
        if !self.0.is_empty() {
            block(file, KIND, &self.0)?;
            self.0.clear();
        }
        Ok(())
    }
}

pub(super) struct Journal {
    tape: Tape<Entry>,
    /// Number of events before the last wake, and its time.
    last: (u64, Time),
}

impl Journal {
    pub(super) fn new(tape: Tape<Entry>) -> Self {
        Self { tape, last: (0, Time::ZERO) }
    }

    fn wake(&mut self, events: u64, at: Time, read_at: Time) {
        let (before, last) = self.last;
        let (after, later) = (at.saturating_since(last).as_ps(), read_at.saturating_since(at).as_ps());
        self.tape.put(Entry::Wake { events: events - before, after, later });
        self.last = (events, at);
    }

    fn descriptor(&mut self, read: &Result<ReadDescriptor, Status>) {
        let posted = match read {
            Ok(posted) => posted,
            Err(status) => return self.tape.put(Entry::Flawed(status.0)),
        };
        let (operation, remote) = match posted.operation {
            Operation::Message => (0, Remote::default()),
            Operation::RdmaWrite(remote) => (1, remote),
            Operation::RdmaRead(remote) => (2, remote),
        };
        let (Remote { address, handle }, immediate) = (remote, posted.immediate);
        let segments = posted.segments().len() as u8;
        self.tape.put(Entry::Descriptor { operation, address, handle, immediate, segments });
        for Segment { address, handle, length } in posted.segments() {
            self.tape.put(Entry::Segment { address: *address, handle: *handle, length: *length });
        }
    }

    fn order(&mut self, order: Option<&Order>) {
        let entry = match order {
            None => Entry::Nothing,
            Some(Order::Open { process, node, doorbells: _ }) => {
                Entry::Open { process: *process, node: *node }
            }
            Some(Order::Ask { process, request, brought }) => {
                self.tape.put(Entry::Ask { process: *process, brings: brought.is_some() });
                let words = request.to_words();
                words[..WORDS - 1].iter().for_each(|word| self.tape.put(Entry::Word(*word)));
                Entry::Word(words[WORDS - 1])
            }
            Some(Order::Gone { process }) => Entry::Gone { process: *process },
            Some(Order::Stop) => Entry::Stop,
        };
        self.tape.put(entry);
    }
}

#[derive(Debug)]
pub(super) enum Failure {
    /// The log is damaged.
    Log(LogError),
    /// The log differs from the inputs that the adapters request.
    Diverged(String),
}

/// Next block of entries; `None` after the last.
type Source = Box<dyn FnMut() -> Result<Option<Vec<Entry>>, LogError>>;

pub(super) struct Script {
    source: Source,
    entries: VecDeque<Entry>,
    /// Number of adapters of the setup.
    nodes: usize,
    /// Number of events so far.
    events: u64,
    /// Number of events before the last wake, and its time.
    last: (u64, Time),
    pub(super) failure: Option<Failure>,
    /// The log was truncated here, which ends the replay.
    pub(super) cut: Option<LogError>,
}

impl Script {
    /// Script of `log`, for `nodes` adapters.
    pub(super) fn of<R: Read + 'static>(log: Rc<RefCell<Log<R>>>, nodes: usize) -> Self {
        Self::from(Box::new(move || log.borrow_mut().next_entries(KIND)), nodes)
    }

    pub(super) fn from(source: Source, nodes: usize) -> Self {
        Self {
            source,
            entries: VecDeque::new(),
            nodes,
            events: 0,
            last: (0, Time::ZERO),
            failure: None,
            cut: None,
        }
    }

    /// Peeks at the next entry; `None` at the end, or after an error.
    fn next(&mut self) -> Option<Entry> {
        while self.entries.is_empty() && !self.is_over() {
            match (self.source)() {
                Ok(Some(entries)) => self.entries.extend(entries),
                Ok(None) => return None,
                Err(error) if error.is_cut => self.cut = Some(error),
                Err(error) => self.failure = Some(Failure::Log(error)),
            }
        }
        if self.failure.is_some() { None } else { self.entries.front().copied() }
    }

    fn take(&mut self) -> Option<Entry> {
        let next = self.next();
        self.entries.pop_front().filter(|_| next.is_some())
    }

    pub(super) fn is_over(&self) -> bool {
        self.failure.is_some() || self.cut.is_some()
    }

    pub(super) fn is_left(&mut self) -> bool {
        self.next().is_some()
    }

    fn diverged(&mut self, wanted: &str, found: Option<Entry>) {
        // After a truncation, missing entries are no divergence.
        if self.cut.is_none() {
            let how = match found {
                Some(found) => {
                    format!("after {} events {wanted} was wanted, and the log has {found:?}", self.events)
                }
                None => {
                    format!("after {} events {wanted} was wanted, and the log has nothing more", self.events)
                }
            };
            self.failure.get_or_insert(Failure::Diverged(how));
        }
    }

    /// Time of a wake before the world reaches `t`, if there is one.
    fn wakes(&mut self, t: Time) -> Option<Time> {
        let found = self.next();
        if self.is_over() {
            // The world polls, and finds the end.
            return Some(self.last.1);
        }
        let Some(Entry::Wake { events, after, .. }) = found else {
            // The next entry belongs to an event before the next wake.
            if t == Time::MAX {
                self.diverged("a wake", found);
                return Some(self.last.1);
            }
            return None;
        };
        let wake =
            self.last.0.checked_add(events).zip(self.last.1.as_ps().checked_add(after).map(Time::from_ps));
        match wake {
            Some((at_event, at)) if self.events == at_event && at <= t => Some(at),
            Some((at_event, _)) if self.events < at_event => None,
            _ => {
                self.diverged(&format!("nothing until {t}"), found);
                Some(self.last.1)
            }
        }
    }

    /// Takes a wake: time of the read, doorbells, number of invalid ones, and whether an order is
    /// pending.
    fn wake(&mut self, heard: &mut Vec<Rung>) -> Option<(Time, u64, bool)> {
        let Some(Entry::Wake { events, after, later }) = self.take() else { return None };
        self.last = (self.last.0 + events, self.last.1.saturating_add(Span::from_ps(after)));
        let (mut garbled, mut asked) = (0, false);
        loop {
            match self.next() {
                Some(Entry::Rung { process, vi, receive, count }) => {
                    let which = if receive { Which::Receive } else { Which::Send };
                    heard.push(Rung { process, vi, which, count });
                }
                Some(Entry::Garbled) => garbled += 1,
                Some(Entry::Asked) => asked = true,
                _ => return Some((self.last.1.saturating_add(Span::from_ps(later)), garbled, asked)),
            }
            self.entries.pop_front();
        }
    }

    fn descriptor(&mut self) -> Result<ReadDescriptor, Status> {
        let found = self.take();
        let posted = match found {
            Some(Entry::Flawed(status)) => return Err(Status(status)),
            Some(Entry::Descriptor { operation, address, handle, immediate, segments }) => {
                let remote = Remote { address, handle };
                let operation = match operation {
                    0 => Some(Operation::Message),
                    1 => Some(Operation::RdmaWrite(remote)),
                    2 => Some(Operation::RdmaRead(remote)),
                    _ => None,
                };
                let segment = |_| match self.take() {
                    Some(Entry::Segment { address, handle, length }) => {
                        Some(Segment { address, handle, length })
                    }
                    _ => None,
                };
                let segments: Option<Vec<Segment>> = (0..segments).map(segment).collect();
                operation
                    .zip(segments)
                    .and_then(|(operation, all)| ReadDescriptor::new(operation, immediate, &all))
            }
            _ => None,
        };
        posted.ok_or_else(|| {
            self.diverged("a descriptor", found);
            Status::FLUSHED
        })
    }

    /// Takes an order, with new objects in place of the program's.
    fn order(&mut self) -> Option<Order> {
        let found = self.take();
        let order = match found {
            Some(Entry::Nothing) => return None,
            Some(Entry::Open { process, node })
                if (process as usize) < MOST_PROCESSES && (node as usize) < self.nodes =>
            {
                provider::doorbells().ok().map(|(doorbells, _file)| Order::Open { process, node, doorbells })
            }
            Some(Entry::Ask { process, brings }) => {
                let mut words = [0; WORDS];
                let all = words.iter_mut().all(|word| match self.take() {
                    Some(Entry::Word(found)) => {
                        *word = found;
                        true
                    }
                    _ => false,
                });
                let request = ControlRequest::of(&words).filter(|_| all);
                request.and_then(|request| {
                    let brought = if brings { Some(brought(&request)?) } else { None };
                    Some(Order::Ask { process, request, brought })
                })
            }
            Some(Entry::Gone { process }) => Some(Order::Gone { process }),
            Some(Entry::Stop) => Some(Order::Stop),
            _ => None,
        };
        if order.is_none() {
            self.diverged("a request", found);
        }
        order
    }
}

/// Creates the object of a request; `None` if it has none, or it cannot be created.
fn brought(request: &ControlRequest) -> Option<Thing> {
    match request {
        ControlRequest::Register { length, .. } => {
            let length = usize::try_from(*length).ok().filter(|length| *length as u64 <= MOST_BYTES)?;
            Some(Thing::Memory(Memory::private(length).ok()?))
        }
        ControlRequest::CreateVi { .. } => Some(Thing::Queues(ViQueues::create().ok()?.0)),
        ControlRequest::CreateQueue(entries) => {
            Some(Thing::Entries(CompletionEntries::create(*entries).ok()?.0))
        }
        _ => None,
    }
}

/// Source of inputs, and whether they are logged.
#[derive(Default)]
pub(super) enum Inputs {
    /// From programs.
    #[default]
    Live,
    /// From programs, logged.
    Kept(Journal),
    /// From a log.
    Logged(Rc<RefCell<Script>>),
}

impl Inputs {
    /// Whether the outputs of adapters are to be compared.
    #[inline]
    pub(super) fn are_kept(&self) -> bool {
        !matches!(self, Inputs::Live)
    }

    /// Takes a logged wake; `None` without a log to replay.
    pub(super) fn wake(&mut self, heard: &mut Vec<Rung>) -> Option<(Time, u64, bool)> {
        match self {
            Inputs::Logged(script) => script.borrow_mut().wake(heard),
            Inputs::Live | Inputs::Kept(_) => None,
        }
    }

    /// Logs the inputs of a wake of a live world.
    pub(super) fn keep(
        &mut self,
        events: u64,
        (at, read_at): (Time, Time),
        heard: &[Rung],
        (garbled, asked): (u64, bool),
    ) {
        let Inputs::Kept(journal) = self else { return };
        journal.wake(events, at, read_at);
        for Rung { process, vi, which, count } in heard {
            let (process, vi, receive, count) = (*process, *vi, *which == Which::Receive, *count);
            journal.tape.put(Entry::Rung { process, vi, receive, count });
        }
        (0..garbled).for_each(|_| journal.tape.put(Entry::Garbled));
        if asked {
            journal.tape.put(Entry::Asked);
        }
    }

    /// Descriptor, which `read` reads from shared memory.
    #[inline]
    pub(super) fn descriptor(
        &mut self,
        read: impl FnOnce() -> Result<ReadDescriptor, Status>,
    ) -> Result<ReadDescriptor, Status> {
        match self {
            Inputs::Live => read(),
            Inputs::Kept(journal) => {
                let read = read();
                journal.descriptor(&read);
                read
            }
            Inputs::Logged(script) => script.borrow_mut().descriptor(),
        }
    }

    pub(super) fn order(&mut self, orders: &Receiver<Order>) -> Option<Order> {
        match self {
            Inputs::Live => orders.try_recv().ok(),
            Inputs::Kept(journal) => {
                let order = orders.try_recv().ok();
                journal.order(order.as_ref());
                order
            }
            Inputs::Logged(script) => script.borrow_mut().order(),
        }
    }

    /// Counts an event; returns whether the run continues.
    #[inline]
    pub(super) fn happened(&mut self) -> bool {
        match self {
            Inputs::Live | Inputs::Kept(_) => true,
            Inputs::Logged(script) => {
                let mut script = script.borrow_mut();
                script.events += 1;
                !script.is_over()
            }
        }
    }
}

pub(super) struct ScriptClock(pub(super) Rc<RefCell<Script>>);

impl Clock for ScriptClock {
    fn wait_until(&mut self, t: Time) -> Wait {
        match self.0.borrow_mut().wakes(t) {
            Some(at) => Wait::Woken { at },
            None => Wait::Reached { late: Span::ZERO },
        }
    }
}
