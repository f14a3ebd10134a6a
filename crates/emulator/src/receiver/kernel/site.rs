//! Namespace, devices and socket of a kernel host; dropping it removes them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use laxity_machine::ip::Ip;
use laxity_machine::namespace::{Namespace, RunOwner};
use laxity_machine::offload::Offload;
use laxity_machine::socket::{limit_received, received};
use laxity_machine::tap::{Tap, TapSetup};
use laxity_machine::{Mac, RefusedBySystem};
use laxity_world::experiment::Experiment;

use super::frames::{Ends, Frames, PORT};
use crate::receiver::receiver_of;

/// Timeout for the datagram that is sent to measure the memory of a datagram.
const PATIENCE: Duration = Duration::from_secs(2);
/// Standard MTU of Ethernet.
const MTU: u16 = 1500;
/// Ethernet header in bytes.
const HEADER: usize = 14;

/// Counter that names the namespaces of one process.
static MADE: AtomicU32 = AtomicU32::new(0);

#[derive(Debug)]
pub(super) struct Site {
    /// Before the namespace, so that the devices are dropped first.
    taps: Vec<(Tap, Frames)>,
    socket: UdpSocket,
    _namespace: Namespace,
}

impl Site {
    /// Creates a device for each interface of `experiment`, for which the kernel works on processor
    /// `core`, and a socket that holds as many packets as the interfaces have buffers.
    pub(super) fn new(experiment: &Experiment, core: usize) -> Result<Self, RefusedBySystem> {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let namespace = RunOwner::claim()?.namespace(&format!("lx-{}-{number}", process::id()))?;
        let sizes = experiment.channels.iter().map(|channel| channel.spec.max_message.get());
        let longest = sizes.max().unwrap_or(0) as usize;
        let taps = (0..receiver_of(experiment).interfaces.len()).map(|i| {
            let ends = ends(i as u8);
            let name = format!("lx{i}");
            let setup = TapSetup {
                name: name.clone(),
                mac: ends.to.0,
                mtu: MTU.max((longest.saturating_sub(HEADER)) as u16),
                ipv6: false,
                queues: 1,
                offloads: false,
            };
            let tap = Tap::open(&setup, Some(&namespace))?;
            Ip::inside(&namespace).address(&name, IpAddr::V4(ends.to.1), 24)?;
            tap.receive_on(core, &namespace)?;
            Ok((tap, Frames::new(&ends, longest)))
        });
        let taps = taps.collect::<Result<Vec<_>, RefusedBySystem>>()?;
        let opened = namespace.within(|| {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        })?;
        let socket = opened.map_err(|why| RefusedBySystem::because("open a socket for the program", why))?;
        let mut site = Self { taps, socket, _namespace: namespace };
        let buffers =
            receiver_of(experiment).interfaces.iter().filter_map(|interface| interface.config.buffers);
        let buffers = buffers.fold(0, u32::saturating_add);
        site.give_room(buffers, longest)
            .map_err(|why| RefusedBySystem::because("give the program's socket room", why))?;
        Ok(site)
    }

    /// Limits the socket to `buffers` datagrams of frames of `size`, whose memory only the kernel
    /// knows. The kernel releases memory only after a quarter of the limit has been read, so the
    /// limit is a third higher, plus a few datagrams for rounding.
    fn give_room(&mut self, buffers: u32, size: usize) -> io::Result<()> {
        self.socket.set_nonblocking(false)?;
        self.socket.set_read_timeout(Some(PATIENCE))?;
        self.write(0, u64::MAX, size)?;
        // The datagram arrives through another processor.
        let came = self.socket.peek(&mut [0]);
        came.map_err(|why| io::Error::new(why.kind(), format!("nothing comes through its device: {why}")))?;
        let used = received(&self.socket)?.used;
        self.socket.set_nonblocking(true)?;
        self.socket.recv(&mut [0])?;
        limit_received(&self.socket, used.saturating_mul(buffers.saturating_add(buffers / 3 + 4)))
    }

    pub(super) fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Writes the frame with `number` to the device of `interface`; returns whether the kernel has
    /// taken it.
    pub(super) fn write(&mut self, interface: usize, number: u64, size: usize) -> io::Result<bool> {
        let (tap, frames) = &mut self.taps[interface];
        tap.send(frames.of(number, size), Offload::NONE)
    }
}

/// Endpoints for the device of an interface, with one neighbour as the sender of all datagrams.
fn ends(interface: u8) -> Ends {
    let at = |last| (Mac([2, b'L', b'X', 1, interface, last]), Ipv4Addr::new(10, 77, interface, last));
    Ends { from: at(2), to: at(1) }
}
