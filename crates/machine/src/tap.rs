//! TAP devices: the interface between real programs and an emulated adapter.
//!
//! The order of the set-up matters: address, then up, then neighbours. An interface announces
//! itself with its current address when it is switched on, and this clears its neighbour entries.
//! IPv6 is disabled by default, because its multicast announcements would add frames for seconds.
//!
//! A device may have several queues, each with its own capacity, and a program that selects the
//! queue of a frame sent by the host. A flood of one queue then takes no slots of the others.
//! Without such a program the kernel distributes flows.
//!
//! Reading and writing do not block: the emulating thread must not sleep in a system call. Dropping
//! the device removes it.

#![allow(unsafe_code, reason = "a TAP device is made by a request that nix does not have")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use crate::RefusedBySystem;
use crate::bpf::Loaded;
use crate::link::{self, Links, Mac};
use crate::namespace::Namespace;
use crate::offload::Offload;

/// Capacity of a device queue in packets: the traffic of a program during the milliseconds for
/// which a platform may stall. The kernel's default of 1000 is 2 ms of its rate.
const QUEUE: u16 = 4096;

/// Configuration of a TAP device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TapSetup {
    /// Name, at most 15 bytes.
    pub name: String,
    /// Ethernet address of the host's end.
    pub mac: Mac,
    /// MTU: largest packet without the 14 bytes of the Ethernet header.
    pub mtu: u16,
    /// Whether IPv6 is enabled.
    pub ipv6: bool,
    /// Number of queues for frames that the host sends, at least one.
    pub queues: u8,
    /// Whether checksums and segmentation are left to the reader.
    pub offloads: bool,
}

/// TAP device of this process, enabled.
#[derive(Debug)]
pub struct Tap {
    /// Descriptor of each queue.
    queues: Vec<File>,
    setup: TapSetup,
}

impl Tap {
    /// Creates the device, in `namespace` if given, else in that of the calling thread.
    ///
    /// The device stays in its namespace; this handle works in every thread.
    pub fn open(setup: &TapSetup, namespace: Option<&Namespace>) -> Result<Self, RefusedBySystem> {
        let queues = match namespace {
            None => make(setup),
            Some(namespace) => namespace.within(|| make(setup))?,
        };
        Ok(Self { queues: queues?, setup: setup.clone() })
    }

    /// Sets the program that selects the queue of a frame sent by the host: its result modulo the
    /// number of queues.
    pub fn steer(&self, program: &Loaded) -> Result<(), RefusedBySystem> {
        let number = program.number();
        // SAFETY: the request reads the number of a descriptor, and both live through the call.
        match unsafe { libc::ioctl(self.first().as_raw_fd(), libc::TUNSETSTEERINGEBPF, &raw const number) } {
            0 => Ok(()),
            _ => {
                let what = format!("choose queues of TAP device {}", self.setup.name);
                Err(RefusedBySystem::new(what, io::Error::last_os_error())
                    .advising("Linux has this since 4.16"))
            }
        }
    }

    /// Moves the kernel's receive processing of written frames, from the link layer up to a socket,
    /// to processor `core`. The writer interrupts that processor, as an adapter does, unless it
    /// already processes frames.
    ///
    /// `namespace` is the device's. Its devices appear only in a `/sys` mounted inside, so a
    /// short-lived thread does this.
    pub fn receive_on(&self, core: usize, namespace: &Namespace) -> Result<(), RefusedBySystem> {
        let name = &self.setup.name;
        let set = || -> io::Result<()> {
            unshare(CloneFlags::CLONE_NEWNS)?;
            let none = None::<&str>;
            mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
            mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), none)?;
            fs::write(format!("/sys/class/net/{name}/queues/rx-0/rps_cpus"), mask(core))
        };
        namespace.within(set)?.map_err(|why| {
            RefusedBySystem::new(format!("let processor {core} receive for TAP device {name}"), why)
                .needing("CAP_SYS_ADMIN and CAP_NET_ADMIN")
                .advising("the kernel must have been built with CONFIG_RPS, and know this processor")
        })
    }

    fn first(&self) -> &File {
        &self.queues[0]
    }

    /// Number of queues.
    pub fn queues(&self) -> usize {
        self.queues.len()
    }

    /// Descriptor to wait for a frame in `queue`.
    pub fn descriptor(&self, queue: usize) -> BorrowedFd<'_> {
        self.queues[queue].as_fd()
    }

    /// Frames dropped by the kernel so far; to be called in the device's namespace.
    pub fn drops_here(&self) -> io::Result<TapDrops> {
        let table = fs::read_to_string("/proc/thread-self/net/dev")?;
        drops(&table, &self.setup.name).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Configuration.
    pub fn setup(&self) -> &TapSetup {
        &self.setup
    }

    /// Reads one frame that the host sent from `queue` into `buffer` and then `beyond`; returns its
    /// length, and the remaining work. `None` if there is none.
    ///
    /// `mtu + 14` bytes hold every frame, plus four with a VLAN tag, unless the MTU is changed or
    /// there are bulks, which [`LONGEST_BULK`](crate::offload::LONGEST_BULK) bytes hold. A longer
    /// frame is truncated.
    #[inline]
    pub fn receive(
        &self,
        queue: usize,
        buffer: &mut [u8],
        beyond: &mut [u8],
    ) -> io::Result<Option<(usize, Offload)>> {
        let mut offload = Offload::NONE;
        let head = if self.setup.offloads { HEAD } else { 0 };
        let part = |bytes: *mut u8, length| libc::iovec { iov_base: bytes.cast(), iov_len: length };
        let parts = [
            part((&raw mut offload).cast(), head),
            part(buffer.as_mut_ptr(), buffer.len()),
            part(beyond.as_mut_ptr(), beyond.len()),
        ];
        // SAFETY: each part has the length of its buffer, which lives through the call; any bytes
        // are a valid `Offload`.
        let read = unsafe { libc::readv(self.queues[queue].as_raw_fd(), parts.as_ptr(), 3) };
        let read = unless_blocked(counted(read))?;
        Ok(read.map(|count| (count.saturating_sub(head), offload)))
    }

    /// Passes one frame with the remaining work `offload` to the host; `false` if the host cannot
    /// take one now.
    #[inline]
    pub fn send(&self, frame: &[u8], offload: Offload) -> io::Result<bool> {
        let head = if self.setup.offloads { HEAD } else { 0 };
        let parts = [
            libc::iovec { iov_base: (&raw const offload).cast_mut().cast(), iov_len: head },
            libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() },
        ];
        // SAFETY: as in `receive`; the kernel only reads the buffers.
        let written = unsafe { libc::writev(self.first().as_raw_fd(), parts.as_ptr(), 2) };
        Ok(unless_blocked(counted(written))?.is_some())
    }
}

/// Frames that the kernel dropped at a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TapDrops {
    /// Frames sent by programs and dropped because the device's queue was full.
    pub unread: u64,
    /// Frames written to the device and dropped before programs received them.
    pub written: u64,
}

/// Line of `name` in the kernel's table of devices.
fn drops(table: &str, name: &str) -> Option<TapDrops> {
    let line = table.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
    // Eight columns of receive statistics, then eight of send statistics; the fourth of each is the
    // drops.
    let columns: Vec<u64> = line.split_whitespace().filter_map(|column| column.parse().ok()).collect();
    Some(TapDrops { written: *columns.get(3)?, unread: *columns.get(11)? })
}

/// Set of one processor in the kernel's format: hexadecimal, in words of 32 bits separated by
/// commas.
fn mask(core: usize) -> String {
    let words = core / 32;
    format!("{:x}{}", 1_u32 << (core % 32), ",00000000".repeat(words))
}

/// Bytes of the description before a frame.
const HEAD: usize = size_of::<Offload>();

fn counted(answer: isize) -> io::Result<usize> {
    usize::try_from(answer).map_err(|_| io::Error::last_os_error())
}

fn unless_blocked(moved: io::Result<usize>) -> io::Result<Option<usize>> {
    match moved {
        Ok(count) => Ok(Some(count)),
        Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(why) => Err(why),
    }
}

fn make(setup: &TapSetup) -> Result<Vec<File>, RefusedBySystem> {
    let name = &setup.name;
    let refused = |what: &str, why: io::Error| {
        RefusedBySystem::new(format!("{what} of TAP device {name}"), why).needing("CAP_NET_ADMIN")
    };
    // An existing device belongs to another program, whether open or not; further queues are of the
    // device just made.
    let several = if setup.queues > 1 { libc::IFF_MULTI_QUEUE } else { 0 };
    let several = if setup.offloads { several | libc::IFF_VNET_HDR } else { several };
    let first = queue(name, several | libc::IFF_TUN_EXCL)?;
    let others = (1..setup.queues).map(|_| queue(name, several));
    let queues = std::iter::once(Ok(first)).chain(others).collect::<Result<Vec<File>, _>>()?;
    if setup.offloads {
        let stream = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
        // Linux supports UDP segmentation offload since 6.2.
        let datagrams = libc::TUN_F_USO4 | libc::TUN_F_USO6;
        let take = |taken: libc::c_uint| {
            // SAFETY: the request takes a number.
            unsafe {
                libc::ioctl(queues[0].as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(taken)) == 0
            }
        };
        if !take(stream | datagrams) && !take(stream) {
            return Err(refused("take over sums", io::Error::last_os_error()));
        }
    }
    let links = Links::open().map_err(|why| refused("open a socket to set up the interface", why))?;
    links.set_mac(name, setup.mac).map_err(|why| refused("set the address", why))?;
    links.set_mtu(name, setup.mtu).map_err(|why| refused("set the MTU", why))?;
    links.set_queue(name, QUEUE).map_err(|why| refused("set the queue", why))?;
    if !setup.ipv6 {
        // The file is missing if the kernel has no IPv6.
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
    }
    links.set_up(name).map_err(|why| refused("switch on the interface", why))?;
    Ok(queues)
}

/// Opens a queue of the device `name`.
fn queue(name: &str, flags: libc::c_int) -> Result<File, RefusedBySystem> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")
        .map_err(|why| {
            RefusedBySystem::new("open /dev/net/tun", why)
                .needing("access to /dev/net/tun")
                .advising("`modprobe tun` loads the driver; a container must be given the device")
        })?;
    let mut request = link::request(name).map_err(|why| {
        RefusedBySystem::new(format!("set the name of TAP device {name}"), why).needing("CAP_NET_ADMIN")
    })?;
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI | flags) as libc::c_short;
    // SAFETY: the request takes an `ifreq`, which lives through the call.
    if unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) } != 0 {
        let why = io::Error::last_os_error();
        return Err(RefusedBySystem::new(format!("make TAP device {name}"), why)
            .needing("CAP_NET_ADMIN")
            .advising("EBUSY means that there is an interface of this name, which is not touched"));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_a_bit_of_the_kernels_mask() {
        let known = [(0, "1"), (3, "8"), (31, "80000000"), (32, "1,00000000"), (69, "20,00000000,00000000")];
        for (core, written) in known {
            assert_eq!(mask(core), written);
        }
    }

    #[test]
    fn the_kernels_table_says_what_was_dropped() {
        let table = "Inter-|   Receive                                                |  Transmit\n \
                     face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop\n\
                     lo:     124       2    0    0    0     0          0         0      124       2    0    0\n\
                     tap01:   9       1    0    1    0     0          0         0       9       1    0    2  0 0 0 0\n\
                     tap0: 40060     715    0    5    0     0          0         0   174893     923    0    7  0 0 0 0";
        assert_eq!(drops(table, "tap0"), Some(TapDrops { unread: 7, written: 5 }));
        assert_eq!(drops(table, "tap01"), Some(TapDrops { unread: 2, written: 1 }));
        assert_eq!(drops(table, "tap"), None);
    }
}
