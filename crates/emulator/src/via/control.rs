//! Control thread, which talks to programs: it waits, maps and unmaps, which END must not.
//!
//! Each adapter listens on its own socket; each connection is a process that opens it. Requests are
//! put on END's desk one at a time and answered in order, so no process sees a partial effect of
//! another's request. Invalid requests are refused; a program that does not read its responses, or
//! hangs up, is removed with all its objects.
//!
//! [`Quotas`] limit each user, and a connection without a request within [`FIRST`] is closed.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use laxity_machine::namespace::RunOwner;
use laxity_machine::poll;
use laxity_machine::socket::remove_dead;
use laxity_vi::ViRefusal;
use laxity_vi::provider::{self, Answer, CompletionEntries, ControlRequest, Memory, Socket, ViQueues};

use super::desk::{Counter, Order, Thing};
use super::quota::{Holdings, Quotas};

/// Interval at which the thread checks for the end.
const LOOK: Duration = Duration::from_millis(20);
/// Time within which a connected process has to open the adapter.
const FIRST: Duration = Duration::from_secs(1);
/// Maximum number of connections to an adapter accepted before requests are handled again.
const AT_ONCE: usize = 16;

/// Path of an adapter's socket.
pub fn socket_of(directory: &Path, node: usize) -> PathBuf {
    directory.join(node.to_string())
}

/// Sockets of the adapters. Dropping them removes their files.
#[derive(Debug)]
pub(super) struct Doors {
    listening: Vec<Socket>,
    paths: Vec<PathBuf>,
    /// Record of the files, so that the next run finds those of a killed run; `None` without a
    /// directory for records.
    owner: Option<RunOwner>,
}

impl Doors {
    pub(super) fn open(directory: &Path, nodes: usize) -> io::Result<Self> {
        let mut doors = Self { listening: Vec::new(), paths: Vec::new(), owner: RunOwner::claim().ok() };
        for node in 0..nodes {
            let path = socket_of(directory, node);
            // A socket file of a run without a record would be in the way.
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

    /// Remains of killed runs that were removed.
    pub(super) fn swept(&self) -> &[String] {
        self.owner.as_ref().map_or(&[], RunOwner::swept)
    }
}

impl Drop for Doors {
    fn drop(&mut self) {
        // The file may have been removed by another program.
        self.paths.iter().for_each(|path| _ = std::fs::remove_file(path));
    }
}

/// Process that has connected to an adapter.
struct Visitor {
    socket: Socket,
    node: u32,
    has: Holdings,
    /// Time by which it has to open the adapter; `None` once it has, and END has its doorbells.
    opens_by: Option<Instant>,
}

/// Serves until `over`, and then stops END.
pub(super) fn serve(doors: &Doors, counter: &Counter, over: &AtomicBool) {
    let mut quotas = Quotas::new(doors.listening.len());
    let mut visitors: Vec<Option<Visitor>> = Vec::new();
    while !over.load(Ordering::Acquire) {
        let sockets = doors.listening.iter().chain(visitors.iter().flatten().map(|visitor| &visitor.socket));
        let sockets: Vec<_> = sockets.map(AsFd::as_fd).collect();
        // The result is not needed: every socket is read below, and an idle one returns at once.
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

/// Admits a connected process; closes the connection if its user has too many.
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

enum Left {
    Visitor,
    End,
}

/// Handles the pending request of a process, if any.
fn attend(visitor: &mut Visitor, process: u32, counter: &Counter, quotas: &mut Quotas) -> Result<(), Left> {
    let datagram = match visitor.socket.receive() {
        Ok(Some(datagram)) => datagram,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
        Ok(None) | Err(_) => return Err(Left::Visitor),
    };
    let is_known = visitor.opens_by.is_none();
    let (answer, file) = match ControlRequest::of(&datagram.words) {
        Some(ControlRequest::Open) if !is_known => {
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
        _ => (Answer::Refused(ViRefusal::InvalidParameter), None),
    };
    let file = file.filter(|_| !matches!(answer, Answer::Refused(_)));
    visitor.socket.send(&answer.to_words(), file.as_ref()).map_err(|_| Left::Visitor)
}

/// Creates the objects of a request, and the file for its program.
fn bring(
    request: &ControlRequest,
    file: Option<OwnedFd>,
) -> Result<(Option<Thing>, Option<OwnedFd>), ViRefusal> {
    match (request, file) {
        (ControlRequest::Register { length, .. }, Some(file)) => {
            let length = usize::try_from(*length).map_err(|_| ViRefusal::Resource)?;
            let memory = Memory::map(&file, length);
            Ok((Some(Thing::Memory(memory.map_err(|_| ViRefusal::InvalidParameter)?)), None))
        }
        (ControlRequest::CreateVi { .. }, None) => {
            let (queues, file) = ViQueues::create().map_err(|_| ViRefusal::Resource)?;
            Ok((Some(Thing::Queues(queues)), Some(file)))
        }
        (ControlRequest::CreateQueue(entries), None) => {
            let made = CompletionEntries::create(*entries);
            let (entries, file) = made.map_err(|error| match error.kind() {
                io::ErrorKind::InvalidInput => ViRefusal::InvalidParameter,
                _ => ViRefusal::Resource,
            })?;
            Ok((Some(Thing::Entries(entries)), Some(file)))
        }
        (_, None) => Ok((None, None)),
        (_, Some(_)) => Err(ViRefusal::InvalidParameter),
    }
}
