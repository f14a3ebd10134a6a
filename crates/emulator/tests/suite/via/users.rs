//! Resources remain for another user, whatever the programs of one user take. Skipped, with the
//! reason, where threads may not change their user.

#![allow(clippy::disallowed_methods, reason = "a silent connection is ended after so long")]
#![allow(
    unsafe_code,
    reason = "the user of one thread alone is changed by a system call that no safe call wraps"
)]

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::raw::Raw;
use super::support::{Site, sparse, zero};
use laxity_model::via::Firmware;
use laxity_vi::provider::{Answer, ControlRequest, Memory, Socket};
use laxity_vi::{Access, Nic, Reliability, ViAttributes};

/// A user other than this process's.
const OTHER: libc::c_long = 65_534;

/// Result of `part` on a thread of another user; `None` if that is not permitted.
fn as_another_user<R: Send>(part: impl FnOnce() -> R + Send) -> Option<R> {
    let on_thread = || {
        // SAFETY: three numbers; the call changes the user of this thread, and the thread ends.
        let changed = unsafe { libc::syscall(libc::SYS_setresuid, OTHER, OTHER, OTHER) };
        if changed != 0 {
            println!("skipped: {}", std::io::Error::last_os_error());
        }
        (changed == 0).then(part)
    };
    std::thread::scope(|scope| scope.spawn(on_thread).join()).unwrap()
}

/// Adapters, the first of which any user may open.
fn site(test: &'static str) -> (Site, PathBuf) {
    let site = Site::new(test, zero(Firmware::QualityOfService));
    let socket = site.socket(0);
    std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o777)).unwrap();
    (site, socket)
}

/// Whether a program can open the adapter and create one object of each kind.
fn works(socket: &PathBuf) -> bool {
    let Ok(nic) = Nic::open(socket) else { return false };
    let tag = nic.create_tag().unwrap();
    let memory = nic.register(64 << 20, tag, Access::default());
    memory.is_ok() && nic.create_vi(&ViAttributes::new(tag)).is_ok()
}

#[test]
fn silent_connections_lock_out_no_other_user_and_are_ended() {
    let (site, socket) = site("via::users::silent_connections_lock_out_no_other_user_and_are_ended");
    let began = Instant::now();
    let silent: Vec<Socket> = (0..200).map_while(|_| Socket::connect(&socket).ok()).collect();
    let other = as_another_user(|| works(&socket));
    assert!(other.unwrap_or(true), "{} connections of one user lock another user out", silent.len());
    while !works(&socket) {
        assert!(began.elapsed() < Duration::from_secs(30), "silent connections are never ended");
        std::thread::sleep(Duration::from_millis(50));
    }
    // A process that has opened the adapter may be silent for any time.
    let raw = Raw::open(&socket);
    std::thread::sleep(Duration::from_millis(1500));
    assert!(silent.iter().all(Socket::has_hung_up));
    raw.make(ControlRequest::CreateTag);
    site.end();
}

#[test]
fn what_one_user_takes_leaves_room_for_another() {
    let (site, socket) = site("via::users::what_one_user_takes_leaves_room_for_another");
    let mut programs = Vec::new();
    let (mut interfaces, mut registered) = (Vec::new(), 0_u64);
    // A sparse file.
    let (_memory, file) = Memory::create("raw", 4096).unwrap();
    let long = sparse(256 << 20);
    for _ in 0..12 {
        let raw = Raw::open(&socket);
        let (tag, _) = raw.make(ControlRequest::CreateTag);
        interfaces.extend((0..70).map_while(|_| raw.try_vi(tag, Reliability::Unreliable)));
        let register = |length| ControlRequest::Register { base: 0, length, tag, write: false, read: false };
        if let (Answer::Made(_), _) = raw.ask(register(256 << 20), Some(&long)) {
            registered += 256 << 20;
        }
        raw.ask(register(4096), Some(&file));
        programs.push(raw);
    }
    let attributes = Nic::open(&socket).unwrap().attributes();
    assert_eq!(attributes.virtual_interfaces, 64);
    assert_eq!(interfaces.len(), 256, "half of what an adapter has");
    // Half of 4 GiB, including the queues of the interfaces: one registration less.
    assert_eq!(registered, (2 << 30) - (256 << 20));
    assert!(as_another_user(|| works(&socket)).unwrap_or(true), "another user finds no room");
    drop((programs, interfaces));
    let began = Instant::now();
    while !works(&socket) {
        assert!(began.elapsed() < Duration::from_secs(30), "what programs had is not given back");
        std::thread::sleep(Duration::from_millis(20));
    }
    site.end();
}
