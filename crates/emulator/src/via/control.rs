//! Talks to programs: a thread of its own, since it waits, maps and unmaps, which END may not.
//!
//! Each adapter listens at a socket of its own; whoever connects is a process that has opened it. Requests are put on END's desk one at
//! a time and answered in their order, so none sees another half done. A program that sends nonsense is refused; one that does not
//! take its answers, or hangs up, is gone with all that it had.
//!
//! No user takes what others need ([`Quotas`]), and a connection that asks for nothing within [`FIRST`] is ended.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use laxity_machine::namespace::Owner;
use laxity_machine::poll;
use laxity_machine::socket::remove_dead;
use laxity_vi::Refusal;
use laxity_vi::provider::{self, Answer, CompletionEntries, Memory, Request, Socket, ViQueues};

use super::desk::{Counter, Order, Thing};
use super::quota::{Holdings, Quotas};

/// How often it looks whether it is over.
const LOOK: Duration = Duration::from_millis(20);
/// How long a process that has connected may take to open the adapter.
const FIRST: Duration = Duration::from_secs(1);
/// Connections to an adapter that are accepted before requests are looked at again.
const AT_ONCE: usize = 16;

/// Where an adapter's socket is.
pub fn socket_of(directory: &Path, node: usize) -> PathBuf {
    directory.join(node.to_string())
}

/// Sockets at which adapters are to be opened. They are removed when it is dropped.
#[derive(Debug)]
pub(super) struct Doors {
    listening: Vec<Socket>,
    paths: Vec<PathBuf>,
    /// Records them, so that the next run finds those of a run that was killed; none where there is no place for records.
    owner: Option<Owner>,
}

impl Doors {
    pub(super) fn open(directory: &Path, nodes: usize) -> io::Result<Self> {
        let mut doors = Self { listening: Vec::new(), paths: Vec::new(), owner: Owner::claim().ok() };
        for node in 0..nodes {
            let path = socket_of(directory, node);
            // In the way if its run left no record.
            remove_dead(&path)?;
            let listen = || Socket::listen(&path);
            doors.listening.push(match &doors.owner {
                Some(owner) => owner.socket(&path, listen)?,
                None => listen()?,
            });
            doors.paths.push(path);
        }
        Ok(doors)
    }

    /// Leftovers of killed runs that are removed now.
    pub(super) fn swept(&self) -> &[String] {
        self.owner.as_ref().map_or(&[], Owner::swept)
    }
}

impl Drop for Doors {
    fn drop(&mut self) {
        // One that somebody else has removed is as good as removed.
        self.paths.iter().for_each(|path| _ = std::fs::remove_file(path));
    }
}

/// A process that has connected to an adapter.
struct Visitor {
    socket: Socket,
    node: u32,
    has: Holdings,
    /// Until when it has to open the adapter; `None` once it has, and END knows of it.
    opens_by: Option<Instant>,
}

/// Serves until `over`, and then ends END.
pub(super) fn serve(doors: &Doors, counter: &Counter, over: &AtomicBool) {
    let mut quotas = Quotas::new(doors.listening.len());
    let mut visitors: Vec<Option<Visitor>> = Vec::new();
    while !over.load(Ordering::Acquire) {
        let sockets = doors.listening.iter().chain(visitors.iter().flatten().map(|visitor| &visitor.socket));
        let sockets: Vec<_> = sockets.map(AsFd::as_fd).collect();
        // What it says is looked at with all the others: whoever has nothing says so.
        if poll::readable(&sockets, LOOK).is_err() {
            break;
        }
        drop(sockets);
        let now = now();
        for (node, door) in doors.listening.iter().enumerate() {
            for _ in 0..AT_ONCE {
                let Ok(Some(socket)) = door.accept() else { break };
                admit(&mut visitors, &mut quotas, socket, node, now);
            }
        }
        for (process, place) in visitors.iter_mut().enumerate() {
            let Some(visitor) = place else { continue };
            let (process, order) = (process as u32, Order::Gone { process: process as u32 });
            let stays = match attend(visitor, process, counter, &mut quotas) {
                Ok(()) => visitor.opens_by.is_none_or(|by| now < by),
                Err(Left::Visitor) => false,
                Err(Left::End) => return,
            };
            if !stays && let Some(gone) = place.take() {
                if gone.opens_by.is_none() && counter.ask(order).is_none() {
                    return;
                }
                quotas.disconnect(gone.has);
            }
        }
    }
    counter.ask(Order::Stop);
}

#[allow(
    clippy::disallowed_methods,
    reason = "it says how long a program has been silent, which is no part of a run"
)]
fn now() -> Instant {
    Instant::now()
}

/// A place for a process that has connected; one whose user has too many is sent away by hanging up.
fn admit(
    visitors: &mut Vec<Option<Visitor>>,
    quotas: &mut Quotas,
    socket: Socket,
    node: usize,
    now: Instant,
) {
    let Some(has) = socket.user().ok().and_then(|user| quotas.connect(user, node)) else { return };
    let visitor = Visitor { socket, node: node as u32, has, opens_by: Some(now + FIRST) };
    match visitors.iter().position(Option::is_none) {
        Some(place) => visitors[place] = Some(visitor),
        None => visitors.push(Some(visitor)),
    }
}

/// Who has gone.
enum Left {
    Visitor,
    End,
}

/// Answers what a process has asked, if it has.
fn attend(visitor: &mut Visitor, process: u32, counter: &Counter, quotas: &mut Quotas) -> Result<(), Left> {
    let datagram = match visitor.socket.receive() {
        Ok(Some(datagram)) => datagram,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
        Ok(None) | Err(_) => return Err(Left::Visitor),
    };
    let is_known = visitor.opens_by.is_none();
    let (answer, file) = match Request::of(&datagram.words) {
        Some(Request::Open) if !is_known => {
            let (doorbells, file) = provider::doorbells().map_err(|_| Left::Visitor)?;
            let order = Order::Open { process, node: visitor.node, doorbells };
            let reply = counter.ask(order).ok_or(Left::End)?;
            visitor.opens_by = None;
            (reply.answer, Some(file))
        }
        Some(request) if is_known => {
            let ask = |brought| counter.ask(Order::Ask { process, request, brought }).ok_or(Left::End);
            match quotas.claim(&visitor.has, &request) {
                Ok(claim) => {
                    let (answer, file) = match bring(&request, datagram.file) {
                        Ok((brought, file)) => (ask(brought)?.answer, file),
                        Err(refusal) => (Answer::Refused(refusal), None),
                    };
                    quotas.settle(&mut visitor.has, &request, claim, &answer);
                    (answer, file)
                }
                Err(refusal) => (Answer::Refused(refusal), None),
            }
        }
        _ => (Answer::Refused(Refusal::InvalidParameter), None),
    };
    let file = file.filter(|_| !matches!(answer, Answer::Refused(_)));
    visitor.socket.send(&answer.to_words(), file.as_ref()).map_err(|_| Left::Visitor)
}

/// Makes what a request takes, and the file of it that its program gets.
fn bring(request: &Request, file: Option<OwnedFd>) -> Result<(Option<Thing>, Option<OwnedFd>), Refusal> {
    match (request, file) {
        (Request::Register { length, .. }, Some(file)) => {
            let length = usize::try_from(*length).map_err(|_| Refusal::Resource)?;
            let memory = Memory::map(&file, length);
            Ok((Some(Thing::Memory(memory.map_err(|_| Refusal::InvalidParameter)?)), None))
        }
        (Request::CreateVi { .. }, None) => {
            let (queues, file) = ViQueues::create().map_err(|_| Refusal::Resource)?;
            Ok((Some(Thing::Queues(queues)), Some(file)))
        }
        (Request::CreateQueue(entries) | Request::ResizeQueue { entries, .. }, None) => {
            let made = CompletionEntries::create(*entries);
            let (entries, file) = made.map_err(|error| match error.kind() {
                io::ErrorKind::InvalidInput => Refusal::InvalidParameter,
                _ => Refusal::Resource,
            })?;
            Ok((Some(Thing::Entries(entries)), Some(file)))
        }
        (_, None) => Ok((None, None)),
        (_, Some(_)) => Err(Refusal::InvalidParameter),
    }
}
