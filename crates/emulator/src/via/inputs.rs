//! What comes from outside: taken as it comes, and written down if there is a log; or found there, when it is replayed.
//!
//! Adapters are deterministic, and what they are told is little: which doorbells were heard when, the words of the descriptors that those were for, and what was asked for at the desk. What is *in* the memory of
//! programs is not of it, since no adapter decides by a message's bytes; a replay has memory of the same length with nothing in it.
//!
//! A wake is logged with its time and how many events were before it, as of any emulation ([`crate::log`]), and with how much later inputs were read. All else follows in the order in which it was
//! taken, and is found in that order.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::Read;
use std::rc::Rc;
use std::sync::mpsc::Receiver;

use laxity_engine::{Clock, Wait};
use laxity_units::{Span, Time};
use laxity_vi::provider::{self, CompletionEntries, Memory, Posted, Request, ViQueues, Which};
use laxity_vi::{Operation, Remote, Segment, Status};
use serde::{Deserialize, Serialize};

use super::bells::Rung;
use super::desk::{MOST_PROCESSES, Order, Thing};
use super::regions::MOST_BYTES;
use crate::log::{Log, LogError, Pack, Tape, block};

/// The mark of a block of entries.
const KIND: u8 = 3;
/// Words of a request.
const WORDS: usize = 16;

/// Something that came from outside. The shape here is the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Entry {
    /// The world was woken after `events` more events than before the last wake, `after` picoseconds after it, and read inputs `later` than that.
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
    /// A process rang with a word that is no doorbell.
    Garbled,
    /// There is something on the desk.
    Asked,
    /// What was read for a descriptor is none, but this status.
    Flawed(u32),
    /// A descriptor of so many segments, which follow: 0 for a message, 1 for an RDMA write, 2 for a read.
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
    /// Nothing was on the desk.
    Nothing,
    /// A process has opened an adapter.
    Open {
        process: u32,
        node: u32,
    },
    /// A process asks for what the words that follow say, and did or did not bring what that takes.
    Ask {
        process: u32,
        brings: bool,
    },
    Word(u64),
    /// A process is gone.
    Gone {
        process: u32,
    },
    /// It is over.
    Stop,
}

/// Entries that are not written yet.
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

/// Where what comes is written down.
pub(super) struct Journal {
    tape: Tape<Entry>,
    /// Events before the last wake, and its time.
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

    fn descriptor(&mut self, read: &Result<Posted, Status>) {
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

/// Why a run that is replayed goes no further.
#[derive(Debug)]
pub(super) enum Failure {
    /// The log is damaged.
    Log(LogError),
    /// It says something else than what the adapters want to know.
    Diverged(String),
}

/// The next block of entries; none behind the last.
type Source = Box<dyn FnMut() -> Result<Option<Vec<Entry>>, LogError>>;

/// What is still to come of a log.
pub(super) struct Script {
    source: Source,
    entries: VecDeque<Entry>,
    /// Adapters of the setup.
    nodes: usize,
    /// Events so far.
    events: u64,
    /// Events before the last wake, and its time.
    last: (u64, Time),
    pub(super) failure: Option<Failure>,
    /// The log was cut off here: it is over.
    pub(super) cut: Option<LogError>,
}

impl Script {
    /// What `log` says of so many adapters.
    pub(super) fn of<R: Read + 'static>(log: Rc<RefCell<Log<R>>>, nodes: usize) -> Self {
        Self::from(Box::new(move || log.borrow_mut().next_entries(KIND)), nodes)
    }

    /// The same, of entries that come by blocks.
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

    /// The next entry, which stays; none at the end, or if something is wrong.
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

    /// Whether there is nothing more to go by.
    pub(super) fn is_over(&self) -> bool {
        self.failure.is_some() || self.cut.is_some()
    }

    /// Whether the log says more than was taken.
    pub(super) fn is_left(&mut self) -> bool {
        self.next().is_some()
    }

    fn diverged(&mut self, wanted: &str, found: Option<Entry>) {
        // One that is cut off is missed for nothing else.
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

    /// When the world is woken, if it is before it reaches `t`.
    fn wakes(&mut self, t: Time) -> Option<Time> {
        let found = self.next();
        if self.is_over() {
            // The world looks, and finds that it is over.
            return Some(self.last.1);
        }
        let Some(Entry::Wake { events, after, .. }) = found else {
            // What is first was wanted by an event before the next wake.
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

    /// The world is woken: when inputs were read, which were heard, how many were garbled, and whether something was asked for.
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

    fn descriptor(&mut self) -> Result<Posted, Status> {
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
                operation.zip(segments).and_then(|(operation, all)| Posted::new(operation, immediate, &all))
            }
            _ => None,
        };
        posted.ok_or_else(|| {
            self.diverged("a descriptor", found);
            Status::FLUSHED
        })
    }

    /// What is on the desk, with things of its own in the place of a program's.
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
                let request = Request::of(&words).filter(|_| all);
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

/// What a request brings, made for it; `None` if it brings nothing, or that cannot be made.
fn brought(request: &Request) -> Option<Thing> {
    match request {
        Request::Register { length, .. } => {
            let length = usize::try_from(*length).ok().filter(|length| *length as u64 <= MOST_BYTES)?;
            Some(Thing::Memory(Memory::private(length).ok()?))
        }
        Request::CreateVi { .. } => Some(Thing::Queues(ViQueues::create().ok()?.0)),
        Request::CreateQueue(entries) | Request::ResizeQueue { entries, .. } => {
            Some(Thing::Entries(CompletionEntries::create(*entries).ok()?.0))
        }
        _ => None,
    }
}

/// Where inputs come from, and whether they are written down.
#[derive(Default)]
pub(super) enum Inputs {
    /// From programs.
    #[default]
    Live,
    /// From programs, written down.
    Kept(Journal),
    /// From a log.
    Logged(Rc<RefCell<Script>>),
}

impl Inputs {
    /// Whether what adapters do is to be compared.
    #[inline]
    pub(super) fn are_kept(&self) -> bool {
        !matches!(self, Inputs::Live)
    }

    /// The world is woken at `at`, after `events` events: when inputs are read, if that is told by the log.
    pub(super) fn wake(&mut self, heard: &mut Vec<Rung>) -> Option<(Time, u64, bool)> {
        match self {
            Inputs::Logged(script) => script.borrow_mut().wake(heard),
            Inputs::Live | Inputs::Kept(_) => None,
        }
    }

    /// What a live world has heard at a wake.
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

    /// A descriptor, which is `read` where it lies.
    #[inline]
    pub(super) fn descriptor(
        &mut self,
        read: impl FnOnce() -> Result<Posted, Status>,
    ) -> Result<Posted, Status> {
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

    /// What is on the desk.
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

    /// An event has happened; whether it goes on.
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

/// The clock that the log is.
pub(super) struct ScriptClock(pub(super) Rc<RefCell<Script>>);

impl Clock for ScriptClock {
    fn wait_until(&mut self, t: Time) -> Wait {
        match self.0.borrow_mut().wakes(t) {
            Some(at) => Wait::Woken { at },
            None => Wait::Reached { late: Span::ZERO },
        }
    }
}
