//! The daemon, put together.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::thread::JoinHandle;
use std::time::Duration;

use laxity_client::bell::Bell;
use laxity_client::socket::ProgramSocket;
use laxity_machine::place::{ThreadPlacement, keep_awake, spawn_on};
use laxity_signalling::identity::{Epoch, NodeId};
use nix::fcntl::{Flock, FlockArg};
use nix::time::ClockId;
use tokio::signal::unix::{SignalKind, signal};

use crate::clock::{Clock, nanoseconds};
use crate::control::{Control, Description, RING};
use crate::engine::{Ends, Engine};
use crate::etcd::Etcd;
use crate::exchange::ToEngine;
use crate::identity::Identity;
use crate::journal::Journal;
use crate::names::Names;
use crate::node_file::{ClockUse, NamesFile, NodeFile, Security};
use crate::notify::{State, notify};
use crate::pinned::{lock_memory, touch_stack};
use crate::policer::Policer;
use crate::reload::Running;
use crate::shaper::Shaper;
use crate::wire::Wire;
use crate::{programs, session};

/// How often the directory is looked at.
const TICK: Duration = Duration::from_millis(250);

/// Runs the daemon of a node until it gets SIGINT or SIGTERM; SIGHUP reads the file again. `ready` is
/// called when programs can connect.
///
/// # Errors
/// A sentence: what the node needs is not there.
pub fn serve(file: &NodeFile, ready: impl FnOnce(&Path)) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|why| format!("no event loop: {why}"))?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, run(file, ready))
}

async fn run(file: &NodeFile, ready: impl FnOnce(&Path)) -> Result<(), String> {
    // Set up first: a signal from here on ends the daemon in order.
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|why| why.to_string())?;
    let mut terminate = signal(SignalKind::terminate()).map_err(|why| why.to_string())?;
    let mut hangup = signal(SignalKind::hangup()).map_err(|why| why.to_string())?;
    let identity = Rc::new(Identity::of(&file.security)?);
    let (socket, socket_file) = SocketFile::listen(file.socket())?;
    let epoch = next_epoch(&file.state(), &file.name)?;
    let config = file.node(epoch);
    let sealed = matches!(file.security, Security::Keys(_));
    let (mut wires, mut shapers, mut policers) = (Vec::new(), Vec::new(), Vec::new());
    for link in &file.links {
        if let (Some(interface), Some(line)) = (&link.interface, link.line) {
            shapers.push(Shaper::install(interface, line, link.rate)?);
        }
        if let (Some(interface), Some(rate)) = (&link.interface, link.ingress) {
            policers.push(Policer::install(interface, link, rate)?);
        }
        let wire = Wire::open(link, config.links[&NodeId(link.peer_id)], sealed);
        let stamps = file.clocks == ClockUse::Links;
        let wire = wire.map(|wire| wire.with_stamps(stamps));
        wires.push(wire.map_err(|why| format!("the link to `{}`, {}: {why}", link.peer, link.local))?);
    }
    let clock = Clock::start();
    let bell = || Bell::new().map_err(|why| format!("no event file: {why}"));
    let (to_engine, requests) = rtrb::RingBuffer::new(RING);
    let (answers, from_engine) = rtrb::RingBuffer::new(RING);
    let (request_bell, answer_bell) = (bell()?, bell()?);
    let theirs = |bell: &Bell| bell.try_clone().map_err(|why| format!("no event file: {why}"));
    let ends =
        Ends { requests, request_bell: theirs(&request_bell)?, answers, answer_bell: theirs(&answer_bell)? };
    let etcd = |file: &NamesFile| Etcd::new(file.etcd.clone(), identity.clone());
    let names = file.names.as_ref().map(|file| Rc::new(Names::new(etcd(file))));
    let rates = file.links.iter().map(|link| (NodeId(link.peer_id), link.rate.bytes_per_sec_f64() as u64));
    let description = Description {
        name: file.name.clone(),
        id: NodeId(file.id),
        epoch,
        packet: file.packet,
        rates: rates.collect::<BTreeMap<_, _>>(),
        clock,
        owners: file.owners(),
        names: names.clone(),
        clocks: file.clocks,
    };
    let control = Rc::new(Control::new(description, to_engine, request_bell));
    let (journal, writer) = journal(file, epoch)?;
    let jitter = jitter(epoch, file.id);
    let engine = Engine::new(config, wires, ends, file.host.idle, clock, jitter, journal);
    let engine = engine.map_err(|why| why.to_string())?;
    lock_memory();
    let fifo = (file.host.priority > 0).then_some(file.host.priority);
    let placement = ThreadPlacement { core: file.host.core, fifo };
    let thread = spawn_on(placement, "laxity-engine", move || {
        touch_stack();
        engine.run();
    });
    let thread = thread.map_err(|why| why.to_string())?;
    // Held until the daemon ends.
    let awake = file.host.awake.then(keep_awake);
    if let Some(Err(refused)) = &awake {
        control.warn(refused.to_string());
    }
    for refused in &thread.refused {
        control.warn(format!("{refused}"));
    }
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn_local(hear(control.clone(), from_engine, answer_bell));
    tasks.spawn_local(accept(control.clone(), socket));
    if let Some(names) = &names {
        tokio::task::spawn_local(names.clone().keep(control.clone()));
    }
    let running = Running::start(file, control.clone(), identity.clone()).await;
    for link in &file.links {
        tokio::task::spawn_local(session::keep(control.clone(), link.clone(), identity.clone()));
    }
    let of = control.clone();
    tasks.spawn_local(async move {
        let mut tick = tokio::time::interval(TICK);
        loop {
            tick.tick().await;
            of.tick();
        }
    });
    let ended = match running {
        Err(why) => Err(why),
        Ok(mut running) => {
            ready(&socket_file.path);
            notify(State::Ready);
            loop {
                tokio::select! {
                    _ = hangup.recv() => {
                        notify(State::Reloading);
                        running.reload().await;
                        notify(State::Ready);
                    }
                    _ = interrupt.recv() => break Ok(()),
                    _ = terminate.recv() => break Ok(()),
                    Some(ended) = tasks.join_next() => {
                        break ended.map_err(|why| why.to_string()).and_then(|ended| ended);
                    }
                }
            }
        }
    };
    notify(State::Stopping);
    control.stopping();
    // The programs learn it before their connections end.
    tokio::task::yield_now().await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    if let Some(names) = names {
        names.end().await;
    }
    control.tell(ToEngine::Stop);
    let _ = thread.join();
    if let Some(writer) = writer {
        let _ = writer.join();
    }
    drop((socket_file, shapers, policers, awake));
    ended
}

async fn hear(
    control: Rc<Control>,
    answers: rtrb::Consumer<crate::exchange::FromEngine>,
    bell: Bell,
) -> Result<(), String> {
    control.hear(answers, bell).await.map_err(|why| format!("the engine cannot be heard: {why}"))
}

async fn accept(control: Rc<Control>, socket: ProgramSocket) -> Result<(), String> {
    programs::accept(control, socket).await.map_err(|why| format!("no programs: {why}"))
}

/// The socket of programs as a file, which ends with the daemon, also with one that cannot start.
struct SocketFile {
    path: PathBuf,
    /// The directories that were made for it, the innermost first.
    made: Vec<PathBuf>,
    listens: bool,
}

impl SocketFile {
    /// Listens at `path`. The file of a daemon that is dead is replaced.
    fn listen(path: PathBuf) -> Result<(ProgramSocket, Self), String> {
        let above = path.ancestors().skip(1);
        let made = above.take_while(|path| !path.as_os_str().is_empty() && !path.exists());
        let mut file = Self { made: made.map(Path::to_owned).collect(), path, listens: false };
        let opened = file.open().map_err(|why| format!("{}: {why}", file.path.display()));
        opened.map(|socket| (socket, file))
    }

    fn open(&mut self) -> io::Result<ProgramSocket> {
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory)?;
        }
        laxity_machine::socket::remove_dead(&self.path)?;
        let socket = ProgramSocket::listen(&self.path)?;
        self.listens = true;
        // The kernel names the user of each program, and quotas limit it.
        fs::set_permissions(&self.path, std::os::unix::fs::PermissionsExt::from_mode(0o666))?;
        Ok(socket)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.listens {
            let _ = fs::remove_file(&self.path);
        }
        // A directory stays if it has other files.
        for directory in &self.made {
            let _ = fs::remove_dir(directory);
        }
    }
}

/// The epoch of this life: one more than that of the last. The file stays locked while the daemon
/// lives, so that two daemons are never the same node.
///
/// Where the file was lost, neighbours remember channels of an epoch of former lives, and refuse those
/// names. So a file that is new begins at the time, which is later than each of these.
fn next_epoch(directory: &Path, name: &str) -> Result<Epoch, String> {
    let path = directory.join(format!("{name}.epoch"));
    let wrong = |why: io::Error| format!("{}: {why}", path.display());
    fs::create_dir_all(directory).map_err(wrong)?;
    let file = OpenOptions::new().create(true).truncate(false).write(true).read(true).open(&path);
    let lock = Flock::lock(file.map_err(wrong)?, FlockArg::LockExclusiveNonblock);
    let mut file = lock.map_err(|_| format!("{}: another daemon of this node runs", path.display()))?;
    let text = io::read_to_string(&*file).map_err(wrong)?;
    let last = match text.trim() {
        "" => seconds_since_2026(Duration::from_nanos(nanoseconds(ClockId::CLOCK_REALTIME))),
        number => number.parse::<u32>().map_err(|_| format!("{}: it has no number", path.display()))?,
    };
    let epoch = last.checked_add(1).ok_or_else(|| format!("{}: no epochs are left", path.display()))?;
    write_number(&mut file, epoch).map_err(wrong)?;
    // The lock is released with the process.
    std::mem::forget(file);
    Ok(Epoch(epoch))
}

/// The seconds from the year 2026 on to `now`, which counts from 1970; 0 where a clock is not set.
fn seconds_since_2026(now: Duration) -> u32 {
    const YEAR_2026: u64 = 1_767_225_600;
    u32::try_from(now.as_secs().saturating_sub(YEAR_2026)).unwrap_or(0)
}

fn write_number(file: &mut File, number: u32) -> io::Result<()> {
    io::Seek::rewind(file)?;
    file.write_all(format!("{number}\n").as_bytes())?;
    file.sync_all()
}

/// The log of inputs that the node file asks for, and the thread that writes it.
fn journal(file: &NodeFile, epoch: Epoch) -> Result<(Journal, Option<JoinHandle<()>>), String> {
    let (Some(path), Some(source)) = (&file.log, &file.source) else { return Ok((Journal::OFF, None)) };
    let text = fs::read_to_string(source).map_err(|why| format!("{}: {why}", source.display()))?;
    let begun = Journal::begin(path, epoch, &text).map_err(|why| format!("{}: {why}", path.display()));
    begun.map(|(journal, writer)| (journal, Some(writer)))
}

/// Random bits that spread retransmissions (splitmix64), a function of the life of the node.
pub(crate) fn jitter(epoch: Epoch, id: u32) -> laxity_signalling::Jitter {
    let mut state = u64::from(epoch.0) << 32 | u64::from(id);
    Box::new(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    })
}

#[cfg(test)]
mod tests {
    use laxity_signalling::refusal::{Denial, NodeResource, Shortage};

    use super::*;

    /// The second link has an address of another host, and so the daemon does not start. Files of others
    /// stay.
    #[test]
    fn a_start_that_fails_leaves_no_socket() {
        let beside = std::env::temp_dir().join(format!("laxity-start-{}", std::process::id()));
        fs::create_dir(&beside).unwrap();
        let text = |socket: &Path| {
            format!(
                "name = 'camera'\nid = 1\nsecurity = 'none'\nsocket = '{}'\nstate = '{}'\n[[link]]\npeer = 'b'\n\
                 peer_id = 2\nlocal = '192.0.2.1:4700'\nremote = '192.0.2.2:4700'\nrate = '1 Mbit/s'\n",
                socket.display(),
                beside.display()
            )
        };
        let start = |socket: &Path| {
            let file = NodeFile::parse(&text(socket), Path::new(".")).unwrap();
            serve(&file, |_| panic!("it started")).unwrap_err()
        };
        let nested = beside.join("run/laxity/camera.sock");
        assert!(start(&nested).contains("192.0.2.1"));
        assert!(!beside.join("run").exists() && beside.exists());
        fs::create_dir(beside.join("run")).unwrap();
        fs::write(beside.join("run/other"), "").unwrap();
        start(&nested);
        assert_eq!(fs::read_dir(beside.join("run")).unwrap().count(), 1);
        // A file that is no socket is not the daemon's.
        assert!(start(&beside.join("run/other")).contains("run/other"));
        assert!(beside.join("run/other").exists());
        fs::remove_dir_all(&beside).unwrap();
    }

    /// Lives are counted, and a life without the count of those before is later than all of them.
    #[test]
    fn an_epoch_is_later_than_that_of_each_former_life() {
        let beside = std::env::temp_dir().join(format!("laxity-epoch-{}", std::process::id()));
        let next = |name: &str| next_epoch(&beside, name).map(|epoch| epoch.0);
        let first = next("a").unwrap();
        assert!(first > 24_000_000, "{first}");
        assert!(next("a").unwrap_err().contains("another daemon"));
        fs::write(beside.join("b.epoch"), "7\n").unwrap();
        assert_eq!(next("b"), Ok(8));
        fs::remove_file(beside.join("b.epoch")).unwrap();
        assert!(next("b").unwrap() >= first);
        let at = |seconds| seconds_since_2026(Duration::from_secs(seconds));
        assert_eq!([0, 1_767_225_600, 1_767_225_605].map(at), [0, 0, 5]);
        fs::remove_dir_all(&beside).unwrap();
        // A file that begins before that leads to a refusal, which says what to do.
        let shortage = Shortage::of(NodeResource::Agreement, 0);
        let refused = crate::programs::shown(&Denial { node: NodeId(1), shortage }, "b".to_owned());
        assert!(refused.to_string().contains("epoch of the source went back: restore"), "{refused}");
    }
}
