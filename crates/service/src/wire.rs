//! One link: its socket, its keys, and its pace.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};

use laxity_machine::udp::{self, BATCH, UdpReceiver, UdpSender};
use laxity_node::NodeLinkConfig;
use laxity_signalling::identity::NodeId;
use laxity_transport::TransportHeader;
use laxity_units::{Span, Time};
use nix::sys::socket::{setsockopt, sockopt};
use nix::time::ClockId;

use crate::clock::nanoseconds;
use crate::crossing::Crossing;
use crate::node_file::LinkFile;
use crate::seal::{AROUND, MATERIAL, Opener, Sealer, Unsealed};
use crate::session::reserve;

/// Counts of packets by their fate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WireCounters {
    /// Packets that arrived.
    pub(crate) received: u64,
    /// Packets that left.
    pub(crate) sent: u64,
    /// Packets that the kernel did not take.
    pub(crate) unsent: u64,
    /// Packets that no key of the session opens.
    pub(crate) forged: u64,
    /// Packets that arrived before.
    pub(crate) replayed: u64,
    /// Packets before the first session.
    pub(crate) keyless: u64,
    /// The longest time on the link that clocks prove beyond the stated propagation.
    pub(crate) hidden: Span,
}

/// A link of the daemon.
pub(crate) struct Wire {
    /// The neighbour.
    pub(crate) peer: NodeId,
    socket: UdpSocket,
    receiver: UdpReceiver,
    sender: UdpSender,
    sealer: Option<Sealer>,
    /// The keys of this session and of the one before.
    openers: Vec<Opener>,
    /// Packets are sealed.
    sealed: bool,
    /// Packets carry when they leave.
    stamps: bool,
    /// The clock of the neighbour.
    pub(crate) crossing: Option<Crossing>,
    config: NodeLinkConfig,
    /// When the link is free.
    pub(crate) free_at: Time,
    /// A frame is in transmission.
    pub(crate) busy: bool,
    /// When no frame was there to transmit, at last.
    pub(crate) idle_at: Time,
    /// When no frame had arrived, at last.
    pub(crate) empty_at: Time,
    /// The counters.
    pub(crate) counters: WireCounters,
}

impl Wire {
    /// Opens the socket of a link.
    ///
    /// # Errors
    /// The address is not of this host, or in use.
    pub(crate) fn open(link: &LinkFile, config: NodeLinkConfig, sealed: bool) -> io::Result<Self> {
        let socket = UdpSocket::bind(link.local)?;
        socket.connect(link.remote)?;
        socket.set_nonblocking(true)?;
        let trains = udp::prepare(&socket);
        reserve(&socket);
        // Without the right to exceed the system's limit, the limit is what there is.
        if setsockopt(&socket, sockopt::RcvBufForce, &(4 << 20)).is_err() {
            let _ = setsockopt(&socket, sockopt::RcvBuf, &(4 << 20));
        }
        Ok(Self {
            peer: NodeId(link.peer_id),
            socket,
            receiver: UdpReceiver::new(),
            sender: UdpSender::new(trains),
            sealer: None,
            openers: Vec::new(),
            sealed,
            stamps: false,
            crossing: None,
            config,
            free_at: Time::ZERO,
            busy: false,
            idle_at: Time::ZERO,
            empty_at: Time::ZERO,
            counters: WireCounters::default(),
        })
    }

    /// The same with packets that carry when they leave, if `stamps`.
    #[must_use]
    pub(crate) fn with_stamps(self, stamps: bool) -> Self {
        Self { stamps, ..self }
    }

    /// The stated propagation delay.
    pub(crate) fn way(&self) -> Span {
        self.config.way
    }

    /// The stated delay of the hosts at both ends.
    pub(crate) fn hosts(&self) -> Span {
        self.config.hosts
    }

    /// The keys of a new session.
    pub(crate) fn set_keys(&mut self, number: u8, own: &[u8; MATERIAL], theirs: &[u8; MATERIAL]) {
        self.sealer = Some(Sealer::new(number, own));
        self.openers.retain(|opener| opener.number() != number);
        self.openers.insert(0, Opener::new(number, theirs));
        self.openers.truncate(2);
    }

    /// Takes a batch of frames that arrived: each with the time that it has waited in the kernel.
    /// Whether the batch was full, so that there may be more; `None` if there was no frame.
    pub(crate) fn receive(&mut self, mut take: impl FnMut(&mut [u8], Span)) -> Option<bool> {
        let counters = &mut self.counters;
        let (openers, sealed) = (&mut self.openers, self.sealed);
        let now = nanoseconds(ClockId::CLOCK_REALTIME);
        for _ in 0..BATCH {
            let taken = self.receiver.receive(&self.socket, |datagram| {
                let waited = Span::from_ns(datagram.stamp.map_or(0, |stamp| now.saturating_sub(stamp)));
                for packet in datagram.bytes.chunks_mut(datagram.segment) {
                    counters.received += 1;
                    if !sealed {
                        take(packet, waited);
                        continue;
                    }
                    if openers.is_empty() {
                        counters.keyless += 1;
                        continue;
                    }
                    let number = packet.first().copied();
                    let opener = openers.iter_mut().find(|opener| Some(opener.number()) == number);
                    match opener.map_or(Err(Unsealed::Foreign), |opener| opener.open(packet)) {
                        Ok(frame) => take(frame, waited),
                        Err(Unsealed::Replayed) => counters.replayed += 1,
                        Err(Unsealed::Foreign | Unsealed::Forged) => counters.forged += 1,
                    }
                }
            });
            match taken {
                Ok(count) => return Some(count >= BATCH),
                // An unreachable peer is reported once for each packet that was sent to it.
                Err(why) if why.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(_) => return None,
            }
        }
        None
    }

    /// The frame is in transmission. The transmission of a late thread counts from the instant at
    /// which the link was free, but not from before a frame was there, and not from longer ago than
    /// the stated delay of the host.
    pub(crate) fn transmit(&mut self, now: Time, frame: &mut [u8]) {
        let begin = self.free_at.max(self.idle_at).max(now.saturating_sub(self.config.hosts));
        self.free_at = begin.saturating_add(self.config.transmission(frame.len()));
        self.busy = true;
        if self.stamps {
            // A frame of the node has a header without a tag.
            let _ = TransportHeader::stamp(frame, self.free_at);
        }
        if self.sealed {
            let Some(sealer) = self.sealer.as_mut().filter(|sealer| !sealer.is_used_up()) else {
                self.counters.keyless += 1;
                return;
            };
            self.sender.add_with(frame.len() + AROUND, |out| sealer.seal(frame, out));
        } else {
            self.sender.add(frame);
        }
        self.counters.sent += 1;
    }

    /// Hands the frames to the kernel.
    pub(crate) fn flush(&mut self) {
        if !self.sender.is_empty() {
            self.counters.unsent += self.sender.flush(&self.socket) as u64;
        }
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
