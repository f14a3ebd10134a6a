//! Namespaces and TAP devices of living and dead runs, and of other users. Skipped, with the
//! reason, where namespaces are not permitted.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio, id};

use laxity_machine::ip::Ip;
use laxity_machine::namespace::{Namespace, RunOwner};
use laxity_machine::offload::Offload;
use laxity_machine::tap::{Tap, TapSetup};
use laxity_machine::{Mac, RefusedBySystem};

/// Set for the child process of the test; the value is the namespace that it creates.
const CHILD: &str = "LAXITY_TEST_CHILD";

fn path(name: &str) -> PathBuf {
    Path::new("/run/netns").join(name)
}

/// Result of `attempt`, or `None` without the permission.
fn permitted<T>(attempt: Result<T, RefusedBySystem>) -> Option<T> {
    match attempt {
        Ok(made) => Some(made),
        Err(refused) if refused.capability().is_some() => {
            println!("skipped: {refused}");
            None
        }
        Err(refused) => panic!("{refused}"),
    }
}

fn namespace(name: &str) -> Option<Namespace> {
    permitted(permitted(RunOwner::claim())?.namespace(name))
}

#[test]
fn a_namespace_is_there_while_it_lives_and_its_name_is_taken() {
    let name = format!("lx-test-live-{}", id());
    let Some(living) = namespace(&name) else { return };
    assert!(path(&name).exists());
    let links = Ip::inside(&living).run(&["-o", "link"]).unwrap();
    assert!(links.lines().count() == 1 && links.contains("lo: <LOOPBACK,UP"), "{links}");
    // Another run sweeps and finds no resource of this one.
    let other = RunOwner::claim().unwrap();
    assert!(!other.swept().contains(&format!("namespace {name}")));
    let taken = other.namespace(&name).unwrap_err().to_string();
    assert!(taken.contains("exists"), "{taken}");
    drop(other);
    assert!(path(&name).exists(), "what another run was refused is not its to remove");
    drop(living);
    assert!(!path(&name).exists());
}

#[test]
fn names_with_slashes_are_refused() {
    let Some(owner) = permitted(RunOwner::claim()) else { return };
    for name in ["", "../evil", "a b"] {
        assert!(owner.namespace(name).unwrap_err().to_string().contains("letters, digits"));
    }
}

#[test]
fn what_a_killed_run_left_is_removed_and_what_a_user_made_is_not() {
    if let Ok(name) = std::env::var(CHILD) {
        let _namespace = namespace(&name).expect("the parent was permitted");
        println!("made");
        // Until the parent kills this process.
        let _ = std::io::stdin().read(&mut [0]);
        unreachable!("the parent closes nothing");
    }
    let name = format!("lx-test-dead-{}", id());
    if namespace(&name).is_none() {
        return;
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "what_a_killed_run_left_is_removed_and_what_a_user_made_is_not", "--nocapture"])
        .env(CHILD, &name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().ends_with("made")), "the child ended early");
    assert!(!RunOwner::claim().unwrap().swept().contains(&format!("namespace {name}")), "the child lives");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(path(&name).exists(), "a killed process removes nothing");
    let user = format!("lx-test-user-{}", id());
    let added = Command::new("ip").args(["netns", "add", &user]).status().unwrap().success();
    // A record that claims the user's namespace by name, with another identity.
    let record = format!("/run/laxity/0.{}.run", id());
    fs::write(&record, format!("netns {user} 4 1\n")).unwrap();
    let swept = RunOwner::claim().unwrap().swept().to_owned();
    let (left, spared) = (path(&name).exists(), path(&user).exists());
    let _ = Command::new("ip").args(["netns", "delete", &user]).status();
    let _ = fs::remove_file(record);
    // Another test's claim may have swept it already.
    assert!(!left, "the dead run's namespace is still there");
    assert!(
        added && spared && !swept.contains(&format!("namespace {user}")),
        "a user's namespace was removed"
    );
}

#[test]
fn the_file_of_a_socket_that_a_killed_run_left_is_removed_and_one_that_is_listened_at_is_not() {
    let Some(owner) = permitted(RunOwner::claim()) else { return };
    let at = |name: &str| std::env::temp_dir().join(format!("laxity-{name}-{}", id()));
    let (dead, living) = (at("dead"), at("living"));
    let bound = |path: &PathBuf| UnixListener::bind(path).unwrap();
    drop(owner.socket(&dead, || Ok(bound(&dead))).unwrap());
    let _listening = bound(&living);
    // The owner lives, so its resources are not swept.
    let _other = RunOwner::claim().unwrap();
    assert!(dead.exists());
    let record = format!("/run/laxity/0.{}1.run", id());
    fs::write(&record, format!("socket {}\nsocket {}\n", dead.display(), living.display())).unwrap();
    let _sweeps = RunOwner::claim().unwrap();
    let (left, spared) = (dead.exists(), living.exists());
    [&dead, &living].into_iter().for_each(|path| _ = fs::remove_file(path));
    let _ = fs::remove_file(record);
    assert!(!left, "the file of the dead run's socket is still there");
    assert!(spared, "a file at which a process listens was removed");
}

/// Length of the frame that is read into `frame`.
fn received(tap: &Tap, frame: &mut [u8]) -> Option<usize> {
    tap.receive(0, frame, &mut []).unwrap().map(|(length, _)| length)
}

#[test]
fn frames_go_through_a_tap_both_ways_and_nothing_else_does() {
    let Some(namespace) = namespace(&format!("lx-test-tap-{}", id())) else { return };
    let mac = Mac([2, 0, 0, 0, 0, 1]);
    let setup = TapSetup { name: "tap0".into(), mac, mtu: 1400, ipv6: false, queues: 1, offloads: false };
    let Some(tap) = permitted(Tap::open(&setup, Some(&namespace))) else { return };
    let (here, there) = (Ipv4Addr::new(10, 9, 8, 1), Ipv4Addr::new(10, 9, 8, 2));
    let peer = Mac([2, 0, 0, 0, 0, 2]);
    let ip = Ip::inside(&namespace);
    ip.address("tap0", IpAddr::V4(here), 24).unwrap();
    ip.neighbour("tap0", IpAddr::V4(there), peer).unwrap();
    let link = ip.run(&["-o", "link", "show", "tap0"]).unwrap();
    assert!(link.contains("mtu 1400") && link.contains("02:00:00:00:00:01") && link.contains("UP"), "{link}");

    let socket = namespace.within(|| UdpSocket::bind((here, 7))).unwrap().unwrap();
    let mut frame = [0; 1500];
    assert_eq!(received(&tap, &mut frame), None, "a frame that nobody sent");
    socket.send_to(b"there and back", (there, 7)).unwrap();
    let length = received(&tap, &mut frame).expect("a frame was sent");
    assert_eq!((length, &frame[..6], &frame[6..12]), (14 + 20 + 8 + 14, &peer.0[..], &mac.0[..]));

    // Returned with exchanged addresses of both layers, which leaves the checksums of IP and UDP
    // unchanged.
    let (ethernet, packet) = frame.split_at_mut(14);
    ethernet[..12].rotate_left(6);
    packet[12..20].rotate_left(4);
    assert!(tap.send(&frame[..length], Offload::NONE).unwrap());
    let mut message = [0; 100];
    let (count, from) = socket.recv_from(&mut message).unwrap();
    assert_eq!((&message[..count], from.ip()), (&b"there and back"[..], IpAddr::V4(there)));

    drop(tap);
    // Child processes of other tests have inherited the open device until their exec.
    let mut looks = (0..1000).map(|_| ip.run(&["link", "show", "tap0"]));
    assert!(looks.any(|look| look.is_err()), "a dropped device is gone");
}

#[test]
fn a_device_that_cannot_be_made_says_why() {
    let Some(namespace) = namespace(&format!("lx-test-err-{}", id())) else { return };
    let mut setup =
        TapSetup { name: "a/b".into(), mac: Mac([2; 6]), mtu: 1500, ipv6: false, queues: 1, offloads: false };
    let bad = Tap::open(&setup, Some(&namespace)).unwrap_err().to_string();
    assert!(bad.contains("\"a/b\" is no name"), "{bad}");
    setup.name = "tap0".into();
    let Some(_tap) = permitted(Tap::open(&setup, Some(&namespace))) else { return };
    let twice = Tap::open(&setup, Some(&namespace)).unwrap_err().to_string();
    assert!(twice.contains("tap0") && twice.contains("busy"), "{twice}");
    let device = Ip::inside(&namespace).up("nothing0").unwrap_err().to_string();
    assert!(device.contains("ip link set dev nothing0 up") && device.contains("nothing0"), "{device}");
}
