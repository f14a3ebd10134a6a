//! The kernel queues frames by the scenario's rules: every frame is sent to a real device. Skipped,
//! with the reason, where devices and namespaces are not permitted.

#![allow(unsafe_code, reason = "frames as they are, headers and all, are sent by no safe call")]

use std::ffi::CString;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use laxity_machine::namespace::{Namespace, RunOwner};
use laxity_machine::tap::{Tap, TapSetup};
use laxity_machine::{Mac, RefusedBySystem};
use proptest::prelude::*;

use super::*;
use crate::frame::tests::{framed, v4, v6};
use crate::tap_port::carriers::mac;

fn permitted<T>(made: Result<T, RefusedBySystem>) -> Option<T> {
    match made {
        Err(refused) if refused.capability().is_some() => {
            println!("skipped: {refused}");
            None
        }
        made => Some(made.unwrap()),
    }
}

/// Packet socket of the interface, which sends raw frames.
fn raw(namespace: &Namespace, interface: &str) -> OwnedFd {
    let name = CString::new(interface).unwrap();
    let open = || {
        // SAFETY: a name that ends with zero, numbers, and an address that lives through the call
        // with its size.
        unsafe {
            let socket = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
            assert!(socket >= 0, "{}", std::io::Error::last_os_error());
            let socket = OwnedFd::from_raw_fd(socket);
            let mut address: libc::sockaddr_ll = mem::zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
            let size = size_of::<libc::sockaddr_ll>() as u32;
            assert_eq!(libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size), 0);
            socket
        }
    };
    namespace.within(open).unwrap()
}

fn send(socket: &OwnedFd, frame: &[u8]) {
    // SAFETY: the frame lives through the call, with its length.
    let sent = unsafe { libc::send(socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
    assert_eq!(sent, frame.len() as isize, "{}", std::io::Error::last_os_error());
}

fn rule() -> impl Strategy<Value = Carries> {
    let port = || prop::option::of(prop::sample::select(vec![5201_u16, 7009, 65535]));
    prop_oneof![
        Just(Carries::Icmp),
        port().prop_map(Carries::Tcp),
        port().prop_map(Carries::Udp),
        prop::sample::select(vec![0_u8, 46, 63]).prop_map(Carries::Dscp),
    ]
}

fn steering() -> impl Strategy<Value = Steering> {
    let rules = prop::collection::vec((rule(), 0..3_usize, 0..MOST_QUEUES), 0..8);
    let all = prop::collection::vec((0..3_usize, 0..MOST_QUEUES), 0..3);
    (rules, all).prop_map(|(mut rules, all)| {
        rules.extend(all.into_iter().map(|(to, queue)| (Carries::All, to, queue)));
        Steering { rules, queues: MOST_QUEUES }
    })
}

/// Mostly valid frame, sometimes with an error or truncated.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let port = || prop::sample::select(vec![5201_u16, 7009, 65535, 40000]);
    let ports = (port(), port()).prop_map(|(from, to)| [from.to_be_bytes(), to.to_be_bytes()].concat());
    let rest = prop_oneof![4 => ports, 1 => prop::collection::vec(126..146_u8, 0..6)];
    let protocol = prop_oneof![6 => prop::sample::select(vec![1_u8, 6, 17, 58]), 1 => any::<u8>()];
    let dscp = prop::sample::select(vec![0_u8, 46, 63, 7]);
    let offset = prop::sample::select(vec![0_u16, 0, 0x4000, 0x2000, 0x2001, 0x1000]);
    let old = (protocol.clone(), dscp.clone(), 0..11_u8, offset, rest.clone()).prop_map(
        |(protocol, dscp, options, offset, rest)| (0x0800, v4(protocol, dscp, options, offset, &rest)),
    );
    let extension = prop::sample::select(vec![
        (0_u8, vec![0_u8; 8]),
        (43, [vec![0, 1], vec![0; 14]].concat()),
        (60, vec![0; 8]),
        (51, [vec![0, 1], vec![0; 10]].concat()),
        (44, vec![0, 0, 0, 1, 0, 0, 0, 0]),
        (44, vec![0, 0, 0, 8, 0, 0, 0, 0]),
    ]);
    let few = prop::collection::vec(extension.clone(), 0..3);
    let chain = prop_oneof![3 => few, 1 => prop::collection::vec(extension, 0..11)];
    let new = (chain, protocol, dscp, rest).prop_map(|(chain, protocol, dscp, rest)| {
        let chain: Vec<(u8, &[u8])> = chain.iter().map(|(kind, bytes)| (*kind, &bytes[..])).collect();
        (0x86dd, v6(&chain, protocol, dscp, &rest))
    });
    let odd = prop::collection::vec(any::<u8>(), 0..60).prop_map(|bytes| (0x0806, bytes));
    let packet = prop_oneof![5 => old, 5 => new, 1 => odd];
    let tags = prop::collection::vec(prop::sample::select(vec![0x8100_u16, 0x88a8]), 0..4);
    // Most often in the version and length of the packet.
    let slip = prop::option::weighted(0.2, (prop_oneof![Just(14), 14..80_usize], 0x3d..0x70_u8));
    let cut = prop::option::weighted(0.3, 0..16_usize);
    let to = prop_oneof![
        4 => (0..4_usize).prop_map(|node| mac(node).0),
        1 => prop::sample::select(vec![[0xff; 6], [0x33, 0x33, 0, 0, 0, 1], [2; 6], [2, b'L', b'X', 0, 0, 0]]),
    ];
    (tags, packet, slip, cut, to).prop_map(|(tags, (kind, packet), slip, cut, to)| {
        let mut frame = framed(&tags, kind, &packet);
        frame[..6].copy_from_slice(&to);
        if let Some((at, byte)) = slip
            && let Some(place) = frame.get_mut(at)
        {
            *place = byte;
        }
        frame.truncate(frame.len().saturating_sub(cut.unwrap_or(0)).max(14));
        frame
    })
}

#[test]
fn the_kernel_decides_as_the_reader_does() {
    let Some(owner) = permitted(RunOwner::claim()) else { return };
    let name = format!("lx-steer-{}", std::process::id());
    let Some(namespace) = permitted(owner.namespace(&name)) else { return };
    let mac = Mac([2, 0, 0, 0, 0, 1]);
    let setup =
        TapSetup { name: "tap0".into(), mac, mtu: 1500, ipv6: false, queues: MOST_QUEUES, offloads: false };
    let Some(tap) = permitted(Tap::open(&setup, Some(&namespace))) else { return };
    let socket = raw(&namespace, "tap0");
    let nothing = Steering { rules: Vec::new(), queues: MOST_QUEUES };
    if permitted(nothing.program().hand_over()).is_none() {
        return;
    }
    let seen = [const { std::cell::Cell::new(0) }; MOST_QUEUES as usize];
    proptest!(|(steering in steering(), frames in prop::collection::vec(frame(), 100))| {
        tap.steer(&steering.program().hand_over().unwrap()).unwrap();
        let mut buffer = [0; 2048];
        for frame in frames {
            send(&socket, &frame);
            let destination = Destination::of(&frame);
            let wanted = steering.queue(destination, &Headers::of(&frame)).into();
            let waits = (0..tap.queues()).find(|queue| tap.receive(*queue, &mut buffer, &mut []).unwrap().is_some());
            prop_assert_eq!(waits, Some(wanted), "{:?}, {:?} by {:?}", destination, Headers::of(&frame), steering);
            seen[wanted].set(seen[wanted].get() + 1);
        }
    });
    assert!(seen.iter().all(|count| count.get() > 0), "every queue has its share: {seen:?}");
}
