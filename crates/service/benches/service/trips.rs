//! Round trips of small messages from program to program, beside the same exchange over plain UDP:
//! with threads that sleep, and with threads that are awake.
//!
//! Each program is on the processor of its daemon, and each end of the plain exchange is on the
//! processor of one program, so that all cross from one processor to the other.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use laxity_client::{Channel, Client, Contract, Listener};

use crate::daemons::{Daemons, open};
use crate::relays::relayed;
use crate::{counted, stay_on};

const TRIPS: usize = 2000;
/// Programs that are connected and silent.
const OTHERS: usize = 20;

/// How the threads wait for a message.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Wait {
    /// In the kernel.
    Asleep,
    /// A thread that shares its processor gives it to others between two looks; one that has it alone
    /// spins.
    Awake,
}

/// Half a round trip, the median of [`TRIPS`]: `send` begins one, and `receive` waits for its end.
pub(crate) fn middle(wait: Wait, mut send: impl FnMut(), mut receive: impl FnMut()) -> Duration {
    let trip = |_| {
        let begin = Instant::now();
        match wait {
            Wait::Asleep => std::thread::park_timeout(Duration::from_micros(300)),
            Wait::Awake => {
                while begin.elapsed() < Duration::from_micros(300) {
                    std::thread::yield_now();
                }
            }
        }
        let begin = Instant::now();
        send();
        receive();
        begin.elapsed() / 2
    };
    let mut times: Vec<Duration> = (0..TRIPS).map(trip).collect();
    times.sort_unstable();
    times[TRIPS / 2]
}

/// Two sockets that are connected to each other.
pub(crate) fn sockets() -> [UdpSocket; 2] {
    let [here, there] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    here.connect(there.local_addr().unwrap()).unwrap();
    there.connect(here.local_addr().unwrap()).unwrap();
    [here, there]
}

/// The exchange over UDP.
fn plain(wait: Wait) -> Duration {
    let [here, there] = sockets();
    for socket in [&here, &there] {
        socket.set_nonblocking(wait == Wait::Awake).unwrap();
    }
    let receive = |socket: &UdpSocket, stop: &AtomicBool| {
        let mut buffer = [0; 64];
        while !stop.load(Ordering::Relaxed) && socket.recv(&mut buffer).is_err() {
            std::hint::spin_loop();
        }
    };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            stay_on(1);
            while !stop.load(Ordering::Relaxed) {
                receive(&there, &stop);
                there.send(&[1; 64]).unwrap();
            }
        });
        let median = middle(wait, || assert!(here.send(&[1; 64]).is_ok()), || receive(&here, &stop));
        stop.store(true, Ordering::Relaxed);
        here.send(&[1; 64]).unwrap();
        median
    })
}

/// The same over two channels.
fn channels(wait: Wait, a: &Client, b: &Client) -> Duration {
    let contract =
        Contract::periodic(64, Duration::from_micros(200), Duration::from_millis(50)).with_burst(4);
    let (mut there, mut here) = (b.listen("there").unwrap(), a.listen("here").unwrap());
    let (mut forth, mut back) = (open(a, "there", contract), open(b, "here", contract));
    let receive = |listener: &mut Listener| {
        if wait == Wait::Asleep {
            return listener.recv().unwrap().payload;
        }
        loop {
            match listener.try_recv().unwrap() {
                Some(message) => return message.payload,
                None => std::thread::yield_now(),
            }
        }
    };
    let send = |channel: &mut Channel, payload: &[u8]| channel.try_send(payload).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            stay_on(1);
            for _ in 0..TRIPS {
                let payload = receive(&mut there);
                send(&mut back, &payload);
            }
        });
        middle(wait, || send(&mut forth, &[1; 64]), || drop(receive(&mut here)))
    })
}

/// Prints the figures. Daemons keep the processors out of idle states, from which a blocking exchange
/// has to wake them up; so it is measured before `start` starts daemons, and beside them.
pub(crate) fn measure(wait: Wait, start: impl FnOnce() -> Daemons) {
    stay_on(0);
    let (alone, alone_cpu) = counted(|| plain(wait));
    // Threads that are awake are measured without daemons, which would take turns with them.
    let awake = (wait == Wait::Awake).then(|| (alone, relayed(wait)));
    let daemons = start();
    let (a, b) = (daemons.client(0), daemons.client(1));
    let _others: Vec<Client> = (0..OTHERS).map(|_| daemons.client(0)).collect();
    let (channel, cpu) = counted(|| channels(wait, &a, &b));
    let times = |plain: Duration| channel.as_secs_f64() / plain.as_secs_f64();
    let [alone_cpu, cpu] = [alone_cpu, cpu].map(|cpu| cpu / (2 * TRIPS as u32));
    let how = match wait {
        Wait::Asleep => "asleep",
        Wait::Awake => "awake",
    };
    println!(
        "one way, 64 B, program to program, {how}, {OTHERS} other programs, medians of {TRIPS}: channel \
         {channel:.1?}, UDP {alone:.1?}, {:.2} times; CPU time {cpu:.1?} and {alone_cpu:.1?}",
        times(alone)
    );
    let (beside, relays) = awake.unwrap_or_else(|| (plain(wait), relayed(wait)));
    if wait == Wait::Asleep {
        println!("UDP beside the daemons {beside:.1?}, {:.2} times", times(beside));
    }
    let least = relays.as_secs_f64() / beside.as_secs_f64();
    println!("UDP through two threads that pass it on {relays:.1?}, {least:.2} times UDP");
}
