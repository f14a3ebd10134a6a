//! A program that forks.

#![allow(unsafe_code, reason = "the test forks")]

use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};

use super::*;

/// A child has the memory and the socket of its parent: what it calls fails, and what it drops stays
/// the parent's.
#[test]
fn a_child_leaves_the_channels_of_its_parent_alone() {
    let net = Net::loopback(240, &["a", "b"]);
    let (sender, receiver) = (net.client("a"), net.client("b"));
    let mut listener = receiver.listen("film").unwrap();
    net.know("a", "film");
    let mut channel = sender.open("film", film()).unwrap();
    let address = sender.resolve("film").unwrap();
    channel.send(&text(0, 100)).unwrap();
    // SAFETY: the child calls nothing that needs another thread, and ends without destructors.
    let child = match unsafe { fork() }.unwrap() {
        ForkResult::Child => {
            let outcomes = [
                channel.send(&[1]).err(),
                channel.try_send(&[1]).err(),
                channel.drain().err(),
                listener.recv().err(),
                sender.datagram(address, &[1]).err(),
                sender.status().err(),
                channel.close().err(),
            ];
            let forked = outcomes.iter().all(|error| matches!(error, Some(Error::Forked)));
            drop((listener, sender, receiver));
            // SAFETY: it ends the process.
            unsafe { nix::libc::_exit(i32::from(!forked)) }
        }
        ForkResult::Parent { child } => child,
    };
    assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)));
    channel.send(&text(1, 100)).unwrap();
    assert_eq!(collect(&mut listener, 2), [text(0, 100), text(1, 100)]);
    channel.close().unwrap();
}
