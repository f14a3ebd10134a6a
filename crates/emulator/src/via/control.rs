//! Talks to programs: a thread of its own, since it waits, maps and unmaps, which END may not.
//!
//! Each adapter listens at a socket of its own; whoever connects is a process that has opened it. Requests are put on END's desk one at
//! a time and answered in their order, so none sees another half done. A program that sends nonsense is refused; one that does not
//! take its answers, or hangs up, is gone with all that it had.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use laxity_machine::poll;
use laxity_vi::Refusal;
use laxity_vi::provider::{self, Answer, CompletionEntries, Memory, Request, Socket, ViQueues};

use super::desk::{Counter, MOST_PROCESSES, Order, Thing};
use super::regions::MOST_BYTES;

/// How often it looks whether it is over.
const LOOK: std::time::Duration = std::time::Duration::from_millis(20);

/// Where an adapter's socket is.
pub fn socket_of(directory: &Path, node: usize) -> PathBuf {
    directory.join(node.to_string())
}

/// Sockets at which adapters are to be opened. They are removed when it is dropped.
#[derive(Debug)]
pub(super) struct Doors {
    listening: Vec<Socket>,
    paths: Vec<PathBuf>,
}

impl Doors {
    pub(super) fn open(directory: &Path, nodes: usize) -> io::Result<Self> {
        let mut doors = Self { listening: Vec::new(), paths: Vec::new() };
        for node in 0..nodes {
            let path = socket_of(directory, node);
            doors.listening.push(Socket::listen(&path)?);
            doors.paths.push(path);
        }
        Ok(doors)
    }
}

impl Drop for Doors {
    fn drop(&mut self) {
        // One that somebody else has removed is as good as removed.
        self.paths.iter().for_each(|path| _ = std::fs::remove_file(path));
    }
}

/// A process that has opened an adapter.
struct Visitor {
    socket: Socket,
    node: u32,
    /// Whether END knows of it.
    known: bool,
}

/// Serves until `over`, and then ends END.
pub(super) fn serve(doors: &Doors, counter: &Counter, over: &AtomicBool) {
    let mut visitors: Vec<Option<Visitor>> = Vec::new();
    while !over.load(Ordering::Acquire) {
        let sockets = doors.listening.iter().chain(visitors.iter().flatten().map(|visitor| &visitor.socket));
        let sockets: Vec<_> = sockets.map(AsFd::as_fd).collect();
        // What it says is looked at with all the others: whoever has nothing says so.
        if poll::readable(&sockets, LOOK).is_err() {
            break;
        }
        drop(sockets);
        for (node, door) in doors.listening.iter().enumerate() {
            while let Ok(Some(socket)) = door.accept() {
                admit(&mut visitors, Visitor { socket, node: node as u32, known: false });
            }
        }
        for (process, place) in visitors.iter_mut().enumerate() {
            let Some(visitor) = place else { continue };
            match attend(visitor, process as u32, counter) {
                Ok(()) => {}
                Err(Left::Visitor) => {
                    if place.take().is_some_and(|visitor| visitor.known)
                        && counter.ask(Order::Gone { process: process as u32 }).is_none()
                    {
                        return;
                    }
                }
                Err(Left::End) => return,
            }
        }
    }
    counter.ask(Order::Stop);
}

/// A place for a process that has come; without one it is sent away by hanging up.
fn admit(visitors: &mut Vec<Option<Visitor>>, visitor: Visitor) {
    match visitors.iter().position(Option::is_none) {
        Some(place) => visitors[place] = Some(visitor),
        None if visitors.len() < MOST_PROCESSES => visitors.push(Some(visitor)),
        None => {}
    }
}

/// Who has gone.
enum Left {
    Visitor,
    End,
}

/// Answers what a process has asked, if it has.
fn attend(visitor: &mut Visitor, process: u32, counter: &Counter) -> Result<(), Left> {
    let datagram = match visitor.socket.receive() {
        Ok(Some(datagram)) => datagram,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
        Ok(None) | Err(_) => return Err(Left::Visitor),
    };
    let (answer, file) = match Request::of(&datagram.words) {
        Some(Request::Open) if !visitor.known => {
            let (doorbells, file) = provider::doorbells().map_err(|_| Left::Visitor)?;
            let order = Order::Open { process, node: visitor.node, doorbells };
            let reply = counter.ask(order).ok_or(Left::End)?;
            visitor.known = true;
            (reply.answer, Some(file))
        }
        Some(request) if visitor.known => match bring(&request, datagram.file) {
            Ok((brought, file)) => {
                let reply = counter.ask(Order::Ask { process, request, brought }).ok_or(Left::End)?;
                (reply.answer, file)
            }
            Err(refusal) => (Answer::Refused(refusal), None),
        },
        _ => (Answer::Refused(Refusal::InvalidParameter), None),
    };
    let file = file.filter(|_| !matches!(answer, Answer::Refused(_)));
    visitor.socket.send(&answer.to_words(), file.as_ref()).map_err(|_| Left::Visitor)
}

/// Makes what a request takes, and the file of it that its program gets.
fn bring(request: &Request, file: Option<OwnedFd>) -> Result<(Option<Thing>, Option<OwnedFd>), Refusal> {
    match (request, file) {
        (Request::Register { length, .. }, Some(file)) => {
            let length = usize::try_from(*length).ok().filter(|length| *length as u64 <= MOST_BYTES);
            let memory = Memory::map(&file, length.ok_or(Refusal::Resource)?);
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
