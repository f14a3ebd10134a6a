//! Programs at the socket: each has a connection, an outbox, and receivers.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;
use std::sync::Arc;

use laxity_client::bell::Bell;
use laxity_client::listener;
use laxity_client::protocol::{
    Acceptable, ChannelName, FromDaemon, LONGEST, LONGEST_NAME, NodeStatus, ProgramRequest, Refusal, Reply,
    VERSION,
};
use laxity_client::socket::{Peer, ProgramSocket};
use laxity_client::{Contract, outbox, packed, ring};
use laxity_node::ADDRESS;
use laxity_signalling::identity::{Epoch, GlobalChannelId, NodeId, Port, Program};
use laxity_signalling::refusal::{self, Denial, NodeResource};
use laxity_vi::provider::Memory;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;

use crate::config::LARGEST_MESSAGE;
use crate::control::{Control, ToProgram};
use crate::exchange::{EngineStatus, Outcome, RequestId, ToEngine};
use crate::serve::counted;
use crate::watch::watch;

/// Connected programs at most, and of one user.
const MOST: usize = 256;
const MOST_OF_USER: usize = 64;
/// Receivers of a program.
const MOST_PORTS: usize = 64;
/// Requests of a program without an answer.
const MOST_REQUESTS: usize = 128;
/// How long a program may take for its first request.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);

/// The connections of each user.
type Users = std::cell::RefCell<BTreeMap<u32, usize>>;

/// Accepts programs, for ever.
///
/// # Errors
/// The socket cannot be watched.
pub(crate) async fn accept(control: Rc<Control>, socket: ProgramSocket) -> io::Result<()> {
    let socket = watch(socket)?;
    let users = Rc::new(Users::default());
    loop {
        let mut ready = socket.readable().await?;
        match ready.try_io(|socket| socket.get_ref().accept()) {
            Ok(Ok(connection)) => {
                let Ok(peer) = connection.peer() else { continue };
                let mut counts = users.borrow_mut();
                let all: usize = counts.values().sum();
                let of_user = counts.entry(peer.uid).or_default();
                if all >= MOST || *of_user >= MOST_OF_USER {
                    control.complain("programs", format!("user {} has too many connections", peer.uid));
                    continue;
                }
                *of_user += 1;
                let (control, users) = (control.clone(), users.clone());
                tokio::task::spawn_local(async move {
                    let _ = serve(control, connection, peer).await;
                    if let Some(count) = users.borrow_mut().get_mut(&peer.uid) {
                        *count -= 1;
                    }
                });
            }
            // Too many open files: programs that end make room.
            Ok(Err(_)) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
            Err(_would_block) => {}
        }
    }
}

/// A connected program.
struct Connected {
    control: Rc<Control>,
    connection: AsyncFd<ProgramSocket>,
    program: Program,
    peer: Peer,
    ports: Cell<usize>,
    requests: Cell<usize>,
    /// The connection has ended: a request that was not handled yet is dropped.
    is_gone: Cell<bool>,
}

async fn receive(
    connection: &AsyncFd<ProgramSocket>,
    buffer: &mut [u8; LONGEST],
) -> io::Result<Option<usize>> {
    loop {
        let mut ready = connection.readable().await?;
        if let Ok(received) = ready.try_io(|socket| socket.get_ref().receive(buffer)) {
            // Files of a program are closed: no request has any.
            return Ok(received?.map(|(length, _)| length));
        }
    }
}

async fn serve(control: Rc<Control>, connection: ProgramSocket, peer: Peer) -> io::Result<()> {
    let connection = watch(connection)?;
    let mut buffer = Box::new([0; LONGEST]);
    let first = tokio::time::timeout(PATIENCE, receive(&connection, &mut buffer)).await;
    let Ok(Some(length)) = first.map_err(|_| io::ErrorKind::TimedOut)? else { return Ok(()) };
    let send = |reply: FromDaemon, files: &[BorrowedFd<'_>]| {
        let bytes = postcard::to_stdvec(&reply).map_err(io::Error::other)?;
        connection.get_ref().send(&bytes, files)
    };
    match postcard::from_bytes(&buffer[..length]) {
        Ok((number, ProgramRequest::Hello(VERSION))) => {
            let (memory, file) = Memory::create("laxity-outbox", outbox::BYTES)?;
            let bell = Bell::new()?;
            let theirs = bell.try_clone()?;
            let (tell, heard) = mpsc::unbounded_channel();
            let program = control.new_program(tell);
            let (owner, memory) = (control.owner(peer), Arc::new(memory));
            control.tell(ToEngine::Attach { program, owner, outbox: memory, bell });
            let datagram = control.packet() - (ADDRESS + packed::FRONT) as u32;
            let node = control.name().to_owned();
            let welcome = Reply::Welcome { node, largest: LARGEST_MESSAGE, datagram };
            let greeted = send(FromDaemon::Reply(number, welcome), &[file.as_fd(), theirs.as_fd()]);
            let (ports, requests, is_gone) = (Cell::new(0), Cell::new(0), Cell::new(false));
            let control = control.clone();
            let connected =
                Rc::new(Connected { control, connection, program, peer, ports, requests, is_gone });
            let ended = match greeted {
                Ok(()) => connected.talk(heard, &mut buffer).await,
                failed => failed,
            };
            connected.leave();
            ended
        }
        Ok((number, ProgramRequest::Hello(other))) => {
            let why = format!("the daemon speaks version {VERSION} of the protocol, the program {other}");
            send(FromDaemon::Reply(number, Reply::Failed(why)), &[])
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

impl Connected {
    async fn talk(
        self: &Rc<Self>,
        mut heard: mpsc::UnboundedReceiver<ToProgram>,
        buffer: &mut [u8; LONGEST],
    ) -> io::Result<()> {
        loop {
            tokio::select! {
                said = heard.recv() => match said {
                    Some(ToProgram::Say(datagram)) => self.send(&datagram, &[])?,
                    Some(ToProgram::Hangup) | None => return Ok(()),
                },
                received = receive(&self.connection, buffer) => {
                    let Some(length) = received? else { return Ok(()) };
                    // A program that sends no requests is disconnected.
                    let (number, request) = postcard::from_bytes(&buffer[..length]).map_err(io::Error::other)?;
                    if self.requests.get() >= MOST_REQUESTS {
                        let why = "too many requests without an answer".to_owned();
                        self.send(&FromDaemon::Reply(number, Reply::Failed(why)), &[])?;
                        continue;
                    }
                    self.requests.set(self.requests.get() + 1);
                    let this = self.clone();
                    tokio::task::spawn_local(async move {
                        // A program that does not read its answers is found out by the next one.
                        let _ = this.answer(number, request).await;
                        this.requests.set(this.requests.get() - 1);
                    });
                }
            }
        }
    }

    /// The program is gone.
    fn leave(&self) {
        self.is_gone.set(true);
        let mut state = self.control.state.borrow_mut();
        state.programs.remove(&self.program);
        let now = self.control.now();
        let ports = state.directory.ports_of(self.program);
        for port in ports {
            state.directory.unregister(now, port);
        }
        drop(state);
        self.control.names_changed();
        self.control.tell(ToEngine::Detach(self.program));
    }

    fn send(&self, datagram: &FromDaemon, files: &[BorrowedFd<'_>]) -> io::Result<()> {
        let bytes = postcard::to_stdvec(datagram).map_err(io::Error::other)?;
        let sent = self.connection.get_ref().send(&bytes, files);
        if sent.is_err() {
            self.connection.get_ref().close();
        }
        sent
    }

    async fn answer(&self, number: u32, request: ProgramRequest) -> io::Result<()> {
        if self.is_gone.get() {
            return Ok(());
        }
        if let ProgramRequest::Listen(name) = request {
            return self.listen(number, &name);
        }
        let reply = match request {
            ProgramRequest::Hello(_) => failed("a second greeting"),
            ProgramRequest::Listen(_) => failed("it was handled before"),
            ProgramRequest::Unlisten(port) => self.unlisten(Port(port)),
            ProgramRequest::Open { to, contract } => self.open(&to, contract).await,
            ProgramRequest::Change(slot, contract) => match self.check(&contract) {
                Ok(()) => {
                    let change = |request| ToEngine::Change(request, self.program, slot, counted(&contract));
                    self.outcome(&self.control.ask(change).await)
                }
                Err(why) => Reply::Failed(why),
            },
            ProgramRequest::Close(slot) => {
                let close = |request| ToEngine::Close(request, self.program, slot);
                self.outcome(&self.control.ask(close).await)
            }
            ProgramRequest::Resolve(name) => match self.control.resolve(&name).await {
                Ok((node, port)) => Reply::Resolved(node.0, port.0),
                Err(why) => Reply::Failed(why),
            },
            ProgramRequest::Status(from) => {
                match self.control.ask(|request| ToEngine::Status(request, from)).await {
                    Outcome::Status(status) => Reply::Status(Box::new(self.status(*status))),
                    _ => failed("the engine has stopped"),
                }
            }
            ProgramRequest::Delete(channel) => {
                let delete = |request| ToEngine::Delete(request, id(channel));
                self.administer("close", delete).await
            }
            ProgramRequest::Renegotiate(channel, contract) => match self.check(&contract) {
                Ok(()) => {
                    let change = |request| ToEngine::Renegotiate(request, id(channel), counted(&contract));
                    self.administer("change", change).await
                }
                Err(why) => Reply::Failed(why),
            },
        };
        self.send(&FromDaemon::Reply(number, reply), &[])
    }

    fn listen(&self, number: u32, name: &str) -> io::Result<()> {
        let refuse = |why: &str| self.send(&FromDaemon::Reply(number, failed(why)), &[]);
        if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
            return refuse("a name has 1 to 64 bytes without control characters");
        }
        if self.ports.get() >= MOST_PORTS {
            return refuse("a program has 64 receivers at most");
        }
        let (memory, file) = Memory::create("laxity-inbox", ring::bytes(listener::CAPACITY))?;
        let bell = Bell::new()?;
        let theirs = bell.try_clone()?;
        let port = self.control.new_port();
        let now = self.control.now();
        let registered = self.control.state.borrow_mut().directory.register(now, name, port, self.program);
        if registered.is_err() {
            return refuse(&format!("a receiver listens at `{name}` on this node already"));
        }
        self.ports.set(self.ports.get() + 1);
        self.control.tell(ToEngine::Listen { program: self.program, port, inbox: Arc::new(memory), bell });
        self.control.names_changed();
        self.send(&FromDaemon::Reply(number, Reply::Listening(port.0)), &[file.as_fd(), theirs.as_fd()])
    }

    fn unlisten(&self, port: Port) -> Reply {
        let now = self.control.now();
        if !self.control.state.borrow().directory.ports_of(self.program).contains(&port) {
            return failed("no receiver of this program has that port");
        }
        self.control.state.borrow_mut().directory.unregister(now, port);
        self.ports.set(self.ports.get() - 1);
        self.control.tell(ToEngine::Unlisten(self.program, port));
        self.control.names_changed();
        Reply::Done
    }

    fn check(&self, contract: &Contract) -> Result<(), String> {
        if contract.max_message > LARGEST_MESSAGE {
            return Err(format!("a message has {LARGEST_MESSAGE} bytes at most"));
        }
        if contract.min_message == 0 || !counted(contract).is_valid() {
            return Err("a contract has sizes, an interval, a burst and a deadline above zero".to_owned());
        }
        Ok(())
    }

    async fn open(&self, to: &str, contract: Contract) -> Reply {
        if let Err(why) = self.check(&contract) {
            return Reply::Failed(why);
        }
        let (node, port) = match self.control.resolve(to).await {
            Ok(found) => found,
            Err(why) => return Reply::Failed(why),
        };
        let topology = self.control.state.borrow().directory.topology();
        let Some(route) = topology.route(self.control.id(), node) else {
            return Reply::Failed(format!("no route leads to `{to}`"));
        };
        let (program, contract, path) = (self.program, counted(&contract), route.clone());
        let name = to.to_owned();
        let open = |request| ToEngine::Open { request, program, port, name, contract, route: path };
        match self.control.ask(open).await {
            Outcome::Opened(slot, channel) => {
                let route = route.iter().map(|node| self.node_name(*node)).collect();
                Reply::Opened { slot, channel: crate::exchange::name(channel), route }
            }
            other => self.outcome(&other),
        }
    }

    /// Passes a request on about a channel of any program, if the user may `act` so.
    async fn administer(&self, act: &str, request: impl FnOnce(RequestId) -> ToEngine) -> Reply {
        if self.peer.uid != 0 && self.peer.uid != nix::unistd::getuid().as_raw() {
            return failed(&format!("only root and the user of the daemon {act} channels of others"));
        }
        match self.control.ask(request).await {
            Outcome::Unknown => failed("no such channel begins at this node, or it broke meanwhile"),
            outcome => self.outcome(&outcome),
        }
    }

    fn outcome(&self, outcome: &Outcome) -> Reply {
        match outcome {
            Outcome::Done => Reply::Done,
            Outcome::Refused(refused) => Reply::Refused(self.refusal(refused)),
            Outcome::Failed(failure) => Reply::Failed(failure.to_string()),
            Outcome::Unknown => failed("the program has no such channel, or it broke meanwhile"),
            Outcome::Opened(..) | Outcome::Status(_) => failed("an outcome of another request"),
        }
    }

    fn node_name(&self, node: NodeId) -> String {
        let state = self.control.state.borrow();
        state.directory.node_name(node).map_or_else(|| format!("node {}", node.0), str::to_owned)
    }

    fn refusal(&self, refused: &Denial) -> Refusal {
        shown(refused, self.node_name(refused.node))
    }

    fn status(&self, engine: EngineStatus) -> NodeStatus {
        let control = &self.control;
        let clocks = control.clocks().into_iter().map(|(peer, clock)| {
            let error = clock.error.map(|error| error.as_ps().div_ceil(1000));
            (self.node_name(peer), clock.offset_ns, error)
        });
        let clocks = clocks.collect();
        let state = control.state.borrow();
        let named = |(mut row, port): (laxity_client::Row, Port)| {
            if row.direction.is_destination() {
                row.name = state.directory.own_name(port).unwrap_or_default().to_owned();
            }
            row
        };
        let links = engine.reserved.iter().map(|(peer, share)| {
            let name = state.directory.node_name(*peer).map_or_else(|| peer.0.to_string(), str::to_owned);
            (name, control.is_up(*peer), *share)
        });
        NodeStatus {
            name: control.name().to_owned(),
            id: control.id().0,
            uptime_s: control.now().as_secs_f64() as u64,
            channels: engine.channels,
            links: links.collect(),
            processor: engine.processor,
            packet_ns: engine.packet.as_ps() / 1000,
            owners: engine
                .owners
                .iter()
                .map(|(owner, used, limit)| state.owners.share(*owner, used, limit))
                .collect(),
            names: state.directory.names(),
            counters: engine.counters,
            stalls: engine.stalls,
            began_ns: control.began(),
            clocks,
            rows: engine.rows.into_iter().map(named).collect(),
        }
    }
}

fn id(ChannelName { node, epoch, local }: ChannelName) -> GlobalChannelId {
    GlobalChannelId { node: NodeId(node), epoch: Epoch(epoch), local }
}

fn failed(why: &str) -> Reply {
    Reply::Failed(why.to_owned())
}

/// A refusal by the node with the name `node`, as programs see it.
pub(crate) fn shown(refused: &Denial, node: String) -> Refusal {
    let shortage = &refused.shortage;
    let (resource, missing) = described(shortage.resource, shortage.missing);
    let ns = |span: laxity_units::Span| span.as_ps().div_ceil(1000);
    let acceptable = match shortage.acceptable {
        refusal::Alternative::Unknown => Acceptable::Unknown,
        refusal::Alternative::Deadline(span) => Acceptable::Deadline(ns(span)),
        refusal::Alternative::Interval(span) => Acceptable::Interval(ns(span)),
        refusal::Alternative::Burst(messages) => Acceptable::Burst(messages),
        refusal::Alternative::Later => Acceptable::Later,
    };
    Refusal { node, resource: resource.to_owned(), missing, acceptable }
}

/// A resource, and how much of it is missing.
fn described(resource: NodeResource, missing: u64) -> (&'static str, String) {
    let part = |what: &'static str| (what, format!("{:.3} %", missing as f64 / 10_000.0));
    let count = |what: &'static str, unit: &str| (what, format!("{missing} {unit}"));
    match resource {
        NodeResource::Link => part("time on the link"),
        NodeResource::Cpu => part("CPU time"),
        NodeResource::Messages => count("buffers for messages", "messages"),
        NodeResource::Packets => count("buffers for packets", "packets"),
        NodeResource::ReceivePlaces => count("places in the receiver's queue", "messages"),
        NodeResource::Deadline => ("the deadline", laxity_units::Span::from_ps(missing).to_string()),
        NodeResource::QuotaChannels => count("the owner's quota of channels", "channels"),
        NodeResource::QuotaBandwidth => count("the owner's quota of bandwidth", "B/s"),
        NodeResource::QuotaBuffers => count("the owner's quota of buffers", "buffers"),
        NodeResource::QuotaCpu => part("the owner's quota of CPU time"),
        NodeResource::Route => ("a link to the next node of the route", String::new()),
        NodeResource::Entries => count("entries for channels", "channels"),
        NodeResource::Answer => ("time: a node on the route does not answer", String::new()),
        NodeResource::Agreement => (
            "agreement: a node on the route has restarted; if this repeats, the epoch of the source went \
             back: restore the file in its `state` directory",
            String::new(),
        ),
        NodeResource::Valid => ("sense: a value of the contract is out of range", String::new()),
    }
}
