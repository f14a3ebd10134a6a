//! Two daemons over loopback, beside plain UDP in the same run: round trips of small messages, best
//! effort at full speed, and establishments.

#![allow(clippy::disallowed_methods, reason = "a benchmark reads the machine's clock")]

use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use laxity_client::{Client, Contract};
use laxity_machine::udp::{Receiver, Sender};
use laxity_service::{NodeFile, make_keys, serve};
use nix::time::{ClockId, clock_gettime};

const TRIPS: usize = 2000;
const SECONDS: u64 = 2;
const LENGTH: usize = 1300;
const OTHERS: usize = 20;

fn node(directory: &Path, (name, id): (&str, u32), (peer, peer_id): (&str, u32), idle: &str) -> PathBuf {
    let text = format!(
        "name = \"{name}\"\nid = {id}\nsocket = \"{0}/{name}.sock\"\nstate = \"{0}\"\n\
         security = {{ authority = \"keys/authority.pem\", certificate = \"keys/{name}.pem\", key = \"keys/{name}.key\" }}\n\
         [host]\nidle = \"{idle}\"\npriority = 0\ndatagrams = 2048\n[[link]]\npeer = \"{peer}\"\npeer_id = {peer_id}\n\
         local = \"127.99.0.{id}:4700\"\nremote = \"127.99.0.{peer_id}:4700\"\nrate = \"100 Gbit/s\"\n",
        directory.display()
    );
    let path = directory.join(format!("{name}.toml"));
    std::fs::write(&path, text).unwrap();
    path
}

/// CPU time of the process, kernel included: on a busy machine it says more than the clock.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// The outcome of `f`, and the CPU time it took.
fn counted<T>(f: impl FnOnce() -> T) -> (T, Duration) {
    let before = cpu_time();
    let outcome = f();
    (outcome, cpu_time() - before)
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Half a round trip of a blocking exchange over UDP.
fn plain_trip() -> Duration {
    let (here, there) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    here.connect(there.local_addr().unwrap()).unwrap();
    there.connect(here.local_addr().unwrap()).unwrap();
    std::thread::spawn(move || {
        let mut buffer = [0; 64];
        while let Ok(length) = there.recv(&mut buffer) {
            if there.send(&buffer[..length]).is_err() {
                return;
            }
        }
    });
    let mut buffer = [0; 64];
    let trip = |_| {
        std::thread::park_timeout(Duration::from_micros(300));
        let begin = Instant::now();
        here.send(&[1; 64]).unwrap();
        here.recv(&mut buffer).unwrap();
        begin.elapsed() / 2
    };
    middle((0..TRIPS).map(trip).collect())
}

/// The same over two channels.
fn trip(a: &Client, b: &Client) -> Duration {
    let contract =
        Contract::periodic(64, Duration::from_micros(200), Duration::from_millis(50)).with_burst(4);
    let (mut there, mut here) = (b.listen("there").unwrap(), a.listen("here").unwrap());
    let open = |client: &Client, name: &str| {
        (0..200).find_map(|_| {
            let opened = client.open(name, contract).ok();
            if opened.is_none() {
                std::thread::park_timeout(Duration::from_millis(50));
            }
            opened
        })
    };
    let (mut forth, mut back) = (open(a, "there").unwrap(), open(b, "here").unwrap());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..TRIPS {
                let message = there.recv().unwrap();
                back.try_send(&message.payload).unwrap();
            }
        });
        let trip = |_| {
            std::thread::park_timeout(Duration::from_micros(300));
            let begin = Instant::now();
            forth.try_send(&[1; 64]).unwrap();
            here.recv().unwrap();
            begin.elapsed() / 2
        };
        middle((0..TRIPS).map(trip).collect())
    })
}

/// Packets a second of a pair of sendmmsg and recvmmsg.
fn plain_packets() -> f64 {
    let (here, there) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    here.connect(there.local_addr().unwrap()).unwrap();
    let stop = AtomicBool::new(false);
    let count = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut receiver = Receiver::new();
            while !stop.load(Ordering::Relaxed) {
                if let Ok(taken) = receiver.receive(&there, |_| {}) {
                    count.fetch_add(taken as u64, Ordering::Relaxed);
                }
            }
        });
        let (begin, mut sender) = (Instant::now(), Sender::new(false));
        while begin.elapsed() < Duration::from_secs(SECONDS) {
            (0..32).for_each(|_| sender.add(&[1; LENGTH]));
            sender.flush(&here);
        }
        stop.store(true, Ordering::Relaxed);
    });
    count.load(Ordering::Relaxed) as f64 / SECONDS as f64
}

/// Datagrams a second from program to program.
fn packets(a: &Client, b: &Client) -> f64 {
    let mut listener = b.listen("flood").unwrap();
    let address = (0..200)
        .find_map(|_| {
            std::thread::park_timeout(Duration::from_millis(50));
            a.resolve("flood").ok()
        })
        .unwrap();
    let stop = AtomicBool::new(false);
    let mut count = 0_u64;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                if a.datagram(address, &[1; LENGTH]).is_err() {
                    std::thread::yield_now();
                }
            }
        });
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(SECONDS) {
            count += u64::from(listener.recv_timeout(Duration::from_millis(10)).unwrap().is_some());
        }
        stop.store(true, Ordering::Relaxed);
    });
    count as f64 / SECONDS as f64
}

/// Channels opened and dropped a second, one after the other.
fn establishments(a: &Client, b: &Client) -> f64 {
    let _listener = b.listen("often").unwrap();
    while a.resolve("often").is_err() {
        std::thread::park_timeout(Duration::from_millis(50));
    }
    let contract = Contract::periodic(64, Duration::from_millis(50), Duration::from_millis(50));
    let (begin, mut count) = (Instant::now(), 0_u32);
    while begin.elapsed() < Duration::from_secs(SECONDS) {
        drop(a.open("often", contract).unwrap());
        count += 1;
    }
    f64::from(count) / SECONDS as f64
}

fn main() {
    let directory = std::env::temp_dir().join(format!("laxity-bench-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    make_keys(&directory.join("keys"), &["a".to_owned(), "b".to_owned()]).unwrap();
    let idle = std::env::args().nth(1).filter(|word| !word.starts_with('-')).unwrap_or("sleep".to_owned());
    for (own, peer) in [(("a", 1), ("b", 2)), (("b", 2), ("a", 1))] {
        let file = NodeFile::read(&node(&directory, own, peer, &idle)).unwrap();
        std::thread::spawn(move || serve(&file, |_| {}).unwrap());
    }
    let client = |name: &str| {
        let path = directory.join(format!("{name}.sock"));
        let connected = || {
            std::thread::park_timeout(Duration::from_millis(50));
            Client::connect_to(&path).ok()
        };
        (0..200).find_map(|_| connected()).unwrap()
    };
    let (a, b) = (client("a"), client("b"));
    // Programs that are connected and silent.
    let _others: Vec<Client> = (0..OTHERS).map(|_| client("a")).collect();
    println!(
        "idle strategy: {idle}; 64 B and {LENGTH} B, packets sealed; medians of {TRIPS}; {OTHERS} other programs"
    );
    let ((plain, plain_cpu), (channel, cpu)) = (counted(plain_trip), counted(|| trip(&a, &b)));
    let ratio = channel.as_secs_f64() / plain.as_secs_f64();
    let (plain_cpu, cpu) = (plain_cpu / (2 * TRIPS as u32), cpu / (2 * TRIPS as u32));
    println!(
        "one way, program to program: UDP blocking {plain:.1?}, channel {channel:.1?}, {ratio:.2} times; CPU time \
         {plain_cpu:.1?} and {cpu:.1?}"
    );
    let (plain, (daemons, cpu)) = (plain_packets(), counted(|| packets(&a, &b)));
    let each = cpu.as_secs_f64() * 1e6 / (daemons * SECONDS as f64);
    println!(
        "best effort: sendmmsg {plain:.0}/s, daemons {daemons:.0}/s, {:.2} times; CPU time {each:.2} us",
        daemons / plain
    );
    let (each, cpu) = counted(|| establishments(&a, &b));
    let cpu = cpu.as_secs_f64() * 1e6 / (each * SECONDS as f64);
    println!("establishments, one after the other: {each:.0}/s; CPU time {cpu:.0} us");
    let _ = std::fs::remove_dir_all(&directory);
    // The daemons' threads end with the process.
    std::process::exit(0);
}
