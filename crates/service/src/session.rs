//! Sessions with neighbours: mutual TLS over TCP, the directory's records, and keys for packets.
//!
//! The node with the lower number connects. Both ends check the certificate of the other against
//! its configured name. The session gives the keys of packets (TLS exporter, RFC 5705). It
//! lasts [`LIFE`] at most. The next one is set up before it ends, and packets under the keys of both
//! are accepted meanwhile.

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use laxity_machine::udp::set_priority;
use laxity_signalling::identity::NodeId;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{interval, sleep, timeout};

use crate::control::Control;
use crate::directory::NodeRecord;
use crate::identity::Identity;
use crate::node_file::LinkFile;
use crate::pulse::Pulse;
use crate::seal::MATERIAL;

/// Version of the protocol between daemons.
const VERSION: u32 = 2;
/// The longest session: below the 2^28 packets of a key (RFC 9001, appendix B.1) at 0.8 million
/// packets a second.
const LIFE: Duration = Duration::from_secs(300);
/// From one sign of life to the next.
const ALIVE: Duration = Duration::from_secs(1);
/// A neighbour without a sign of life for so long is gone.
const SILENCE: Duration = Duration::from_millis(3500);
/// From a failed attempt to the next.
const RETRY: Duration = Duration::from_millis(300);
/// A neighbour that has not connected for so long is named.
const AWAITED: Duration = Duration::from_secs(5);
/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(3);
/// The longest message in bytes.
const LONGEST: u32 = 1 << 20;
const LABEL: &[u8] = b"EXPORTER-laxity-packets";

/// A message between daemons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Said {
    /// The first message of both.
    Hello {
        /// Version of the protocol.
        version: u32,
        /// The name of the node.
        name: String,
        /// Its number.
        id: u32,
        /// The number of the keys; that of the connecting node counts.
        key: u8,
        /// The payload of a packet, which is equal at all nodes.
        packet: u32,
    },
    /// A record of the directory.
    Record(NodeRecord),
    /// A sign of life.
    Alive,
    /// A message about clocks.
    Clock(Vec<u8>),
}

/// Why a session failed.
#[derive(Debug)]
enum Broken {
    System(io::Error),
    Peer(String),
}

impl From<io::Error> for Broken {
    fn from(why: io::Error) -> Self {
        Self::System(why)
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(why) if why.kind() == io::ErrorKind::UnexpectedEof => {
                f.write_str("the neighbour closed the connection")
            }
            Self::System(why) => why.fmt(f),
            Self::Peer(why) => f.write_str(why),
        }
    }
}

/// A connection, with TLS or without.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Stream for T {}

/// An authenticated connection.
struct Connection {
    stream: Box<dyn Stream>,
    /// Key material of the connecting and of the accepting node.
    material: Option<[[u8; MATERIAL]; 2]>,
}

/// Packets of control leave in the daemon's class of the link, where other programs cannot put
/// theirs: the kernel asks for `CAP_NET_ADMIN` to set the priority to a class.
pub(crate) fn reserve(socket: &impl std::os::fd::AsFd) {
    if set_priority(socket, crate::shaper::CLASS).is_err() {
        let _ = set_priority(socket, 6);
    }
}

async fn connect(link: &LinkFile, identity: &Identity) -> Result<Connection, Broken> {
    let socket = if link.local.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.bind(SocketAddr::new(link.local.ip(), 0))?;
    reserve(&socket);
    let stream = socket.connect(link.remote).await?;
    stream.set_nodelay(true)?;
    let Some(connector) = identity.connector() else {
        return Ok(Connection { stream: Box::new(stream), material: None });
    };
    let name = Identity::subject(&link.peer).map_err(Broken::Peer)?;
    let stream = connector.connect(name, stream).await?;
    let material = material(stream.get_ref().1)?;
    Ok(Connection { stream: Box::new(stream), material: Some(material) })
}

async fn accept(stream: TcpStream, link: &LinkFile, identity: &Identity) -> Result<Connection, Broken> {
    reserve(&stream);
    stream.set_nodelay(true)?;
    let Some(acceptor) = identity.acceptor() else {
        return Ok(Connection { stream: Box::new(stream), material: None });
    };
    let stream = acceptor.accept(stream).await?;
    let certificate = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
    identity.check(certificate, &link.peer).map_err(Broken::Peer)?;
    let material = material(stream.get_ref().1)?;
    Ok(Connection { stream: Box::new(stream), material: Some(material) })
}

fn material<D>(session: &rustls::ConnectionCommon<D>) -> Result<[[u8; MATERIAL]; 2], Broken> {
    let bytes = session.export_keying_material([0; 2 * MATERIAL], LABEL, None);
    let bytes = bytes.map_err(|why| Broken::Peer(format!("no keys from the session: {why}")))?;
    let (own, theirs) = bytes.split_at(MATERIAL);
    Ok([own, theirs].map(|part| part.try_into().expect("half of the bytes")))
}

async fn write<S: AsyncWrite + Unpin>(stream: &mut S, said: &Said) -> io::Result<()> {
    let bytes = postcard::to_stdvec(said).map_err(io::Error::other)?;
    let mut whole = Vec::with_capacity(4 + bytes.len());
    whole.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    whole.extend_from_slice(&bytes);
    stream.write_all(&whole).await?;
    stream.flush().await
}

async fn read<S: AsyncRead + Unpin>(stream: &mut S) -> Result<Said, Broken> {
    let length = stream.read_u32().await?;
    if length > LONGEST {
        return Err(Broken::Peer(format!("a message of {length} bytes")));
    }
    let mut bytes = vec![0; length as usize];
    stream.read_exact(&mut bytes).await?;
    postcard::from_bytes(&bytes).map_err(|why| Broken::Peer(format!("a message that is none: {why}")))
}

/// Greets the neighbour; answers the number of the keys.
async fn greet(
    connection: &mut Connection,
    link: &LinkFile,
    control: &Control,
    leads: bool,
    key: u8,
) -> Result<u8, Broken> {
    let hello = Said::Hello {
        version: VERSION,
        name: control.name().to_owned(),
        id: control.id().0,
        key,
        packet: control.packet(),
    };
    write(&mut connection.stream, &hello).await?;
    let Said::Hello { version, name, id, key: theirs, packet } = read(&mut connection.stream).await? else {
        return Err(Broken::Peer("no greeting".to_owned()));
    };
    if version != VERSION {
        return Err(Broken::Peer(format!("it speaks version {version}, not {VERSION}")));
    }
    if name != link.peer || id != link.peer_id {
        return Err(Broken::Peer(format!("it is `{name}` with number {id}, not {}", link.peer_id)));
    }
    if packet != control.packet() {
        let own = control.packet();
        return Err(Broken::Peer(format!("its `packet` is {packet} B, and {own} B here; they are equal")));
    }
    Ok(if leads { key } else { theirs })
}

/// A session from its greeting to its end. The end is no failure if a newer session is there.
async fn talk(
    connection: Connection,
    control: &Control,
    link: &LinkFile,
    (leads, key): (bool, u8),
) -> Result<(), Broken> {
    let peer = NodeId(link.peer_id);
    // A neighbour that has started again has another clock.
    control.compared(peer, None);
    if let Some([first, second]) = connection.material {
        let (own, theirs) = if leads { (first, second) } else { (second, first) };
        control.set_keys(peer, key, own, theirs);
    }
    let (tell, mut heard) = mpsc::unbounded_channel();
    let pulse = Rc::new(RefCell::new(Pulse::new(control.now())));
    // A newer session ends this one by dropping its sender, so none is kept here.
    let own = tell.downgrade();
    let session = control.session_up(peer, tell, pulse.clone());
    let (mut reader, mut writer) = tokio::io::split(connection.stream);
    let reading = async {
        loop {
            let said = timeout(SILENCE, read(&mut reader)).await;
            match said.map_err(|_| Broken::Peer("no sign of life".to_owned()))?? {
                Said::Record(record) => control.heard(peer, record),
                Said::Alive => {}
                Said::Clock(message) => {
                    let reply = pulse.borrow_mut().handle(control.now(), &message);
                    match reply.zip(own.upgrade()) {
                        Some((reply, tell)) => drop(tell.send(Said::Clock(reply))),
                        None => control.compared(peer, Some(&pulse)),
                    }
                }
                Said::Hello { .. } => return Err(Broken::Peer("a second greeting".to_owned())),
            }
        }
    };
    let writing = async {
        let mut alive = interval(ALIVE);
        loop {
            let wait = pulse.borrow().wait(control.now());
            let said = tokio::select! {
                said = heard.recv() => match said {
                    Some(said) => said,
                    // The leading node has the newer session a moment later, and ends this one.
                    None if !leads => {
                        sleep(RETRY).await;
                        return Ok(());
                    }
                    None => return Ok(()),
                },
                _ = alive.tick() => Said::Alive,
                () = sleep(wait) => match pulse.borrow_mut().request(control.now()) {
                    Some(request) => Said::Clock(request),
                    None => continue,
                },
            };
            write(&mut writer, &said).await?;
        }
    };
    let ended: Result<(), Broken> = tokio::select! {
        ended = reading => ended,
        ended = writing => ended,
        () = sleep(LIFE + HANDSHAKE) => Ok(()),
    };
    if control.session_down(peer, session) { ended } else { Ok(()) }
}

/// Keeps a session with the neighbour of a link.
pub(crate) async fn keep(control: Rc<Control>, link: LinkFile, identity: Rc<Identity>) {
    if control.id() < NodeId(link.peer_id) {
        lead(control, link, identity).await;
    } else {
        follow(control, link, identity).await;
    }
}

/// Connects again and again: after a failure soon, after a success before the session's end.
async fn lead(control: Rc<Control>, link: LinkFile, identity: Rc<Identity>) {
    let mut key = control.first_key();
    loop {
        let attempt = timeout(HANDSHAKE, async {
            let mut connection = connect(&link, &identity).await?;
            let key = greet(&mut connection, &link, &control, true, key).await?;
            Ok::<_, Broken>((connection, key))
        });
        match attempt.await.unwrap_or_else(|_| Err(Broken::Peer("no answer".to_owned()))) {
            Ok((connection, number)) => {
                key = key.wrapping_add(1);
                let (of, to) = (control.clone(), link.clone());
                let session = tokio::task::spawn_local(async move {
                    if let Err(why) = talk(connection, &of, &to, (true, number)).await {
                        of.warn(format!("session with {} ended: {why}", to.peer));
                    }
                });
                tokio::select! {
                    _ = session => sleep(RETRY).await,
                    () = sleep(LIFE) => {}
                }
            }
            Err(why) => {
                control.complain(&link.peer, format!("no session with {}: {why}", link.peer));
                sleep(RETRY).await;
            }
        }
    }
}

/// Accepts each connection; the newest session counts.
async fn follow(control: Rc<Control>, link: LinkFile, identity: Rc<Identity>) {
    let listener = loop {
        match TcpListener::bind(link.local).await {
            Ok(listener) => break listener,
            Err(why) => {
                control.complain(&link.peer, format!("cannot listen at {}: {why}", link.local));
                sleep(RETRY).await;
            }
        }
    };
    loop {
        let (stream, from) = match timeout(AWAITED, listener.accept()).await {
            Ok(Ok(accepted)) => accepted,
            Ok(Err(_)) => {
                sleep(RETRY).await;
                continue;
            }
            Err(_) => {
                if !control.is_up(NodeId(link.peer_id)) {
                    let LinkFile { peer, peer_id, local, .. } = &link;
                    let why = format!(
                        "{peer} does not connect to {local}: the node with the lower number connects, and {peer_id} \
                         is to be its `id`"
                    );
                    control.complain(peer, why);
                }
                continue;
            }
        };
        if from.ip() != link.remote.ip() {
            continue;
        }
        let (control, link, identity) = (control.clone(), link.clone(), identity.clone());
        tokio::task::spawn_local(async move {
            let attempt = timeout(HANDSHAKE, async {
                let mut connection = accept(stream, &link, &identity).await?;
                let key = greet(&mut connection, &link, &control, false, 0).await?;
                Ok::<_, Broken>((connection, key))
            });
            let talked = match attempt.await {
                Ok(Ok((connection, key))) => talk(connection, &control, &link, (false, key)).await,
                Ok(Err(why)) => Err(why),
                Err(_) => Err(Broken::Peer("no answer".to_owned())),
            };
            if let Err(why) = talked {
                control.complain(&link.peer, format!("session with {} ended: {why}", link.peer));
            }
        });
    }
}
