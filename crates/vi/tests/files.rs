//! Files received with a datagram when this process may open few more. The limit is per process, so
//! this test has its own.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "the limit of open files is set by a system call")]

use std::fs::File;
use std::io::IoSlice;
use std::os::fd::{AsFd, AsRawFd};

use laxity_vi::provider::Socket;
use nix::sys::socket::{ControlMessage, MsgFlags, UnixAddr, sendmsg};

fn limit() -> libc::rlimit {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes a value that lives through the call.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) }, 0);
    limit
}

fn set(limit: libc::rlimit) {
    // SAFETY: the kernel reads a value that lives through the call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }, 0);
}

/// The kernel opens three of five files, reports the cut list, and all three are closed again.
#[test]
fn files_of_a_list_that_the_kernel_cuts_are_closed() {
    let path = std::env::temp_dir().join(format!("laxity-vi-files-{}", std::process::id()));
    let door = Socket::listen(&path).unwrap();
    let here = Socket::connect(&path).unwrap();
    let there = door.accept().unwrap().unwrap();
    std::fs::remove_file(&path).unwrap();

    let file = File::open("/dev/null").unwrap();
    let lowest_free = File::open("/dev/null").unwrap().as_raw_fd();
    let files = [file.as_raw_fd(); 5];
    let send = || {
        let rights = [ControlMessage::ScmRights(&files)];
        let part = [IoSlice::new(&[1; 128])];
        sendmsg::<UnixAddr>(here.as_fd().as_raw_fd(), &part, &rights, MsgFlags::empty(), None).unwrap()
    };
    let before = limit();
    for _ in 0..100 {
        send();
        set(libc::rlimit { rlim_cur: lowest_free as u64 + 3, ..before });
        let datagram = there.receive();
        set(before);
        let datagram = datagram.unwrap().unwrap();
        assert!(datagram.words[0] == 0 && datagram.file.is_none());
        assert_eq!(File::open("/dev/null").unwrap().as_raw_fd(), lowest_free, "a file was left open");
    }
}
