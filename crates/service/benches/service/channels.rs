//! The CPU time of a message beside few and beside many channels, and that of daemons at rest.

use std::time::Duration;

use laxity_client::{Channel, Client, Contract};

use crate::counted;
use crate::daemons::{Daemons, open};

/// Channels, which send in turn.
const COUNTS: [u32; 2] = [10, 10_000];
/// Channels of a program at most.
const OF_A_PROGRAM: u32 = 1000;
/// Time between two messages of all channels together: less than the processor needs for one.
const SPACING: Duration = Duration::from_nanos(500);
/// How far messages may be ahead of their intervals.
const AHEAD: Duration = Duration::from_millis(10);
const DEADLINE: Duration = Duration::from_millis(100);
const MESSAGES: u32 = 500_000;
/// How long daemons are at rest.
const REST: Duration = Duration::from_secs(5);

/// CPU time of a message of 64 B from program to program, with `count` channels in turn.
fn message(daemons: &Daemons, count: u32) -> Duration {
    let b = daemons.client(1);
    let programs: Vec<Client> = (0..count.div_ceil(OF_A_PROGRAM)).map(|_| daemons.client(0)).collect();
    let name = format!("{count} channels");
    let mut listener = b.listen(&name).unwrap();
    let burst = 2 + AHEAD.as_micros() as u32 / (SPACING * count).as_micros() as u32;
    let contract = Contract::periodic(64, SPACING * count, DEADLINE).with_burst(burst);
    let program = |number| &programs[number as usize / OF_A_PROGRAM as usize];
    let mut channels: Vec<Channel> =
        (0..count).map(|number| open(program(number), &name, contract)).collect();
    let receive = move || {
        for _ in 0..MESSAGES {
            listener
                .recv_timeout(Duration::from_secs(5))
                .unwrap()
                .expect("a message of each channel in turn");
        }
    };
    let exchange = || {
        std::thread::scope(|scope| {
            scope.spawn(receive);
            for number in 0..MESSAGES {
                let channel = &mut channels[(number % count) as usize];
                // A full outbox: the daemon on this processor empties it.
                while channel.post(&[1; 64]).is_err() {
                    std::thread::yield_now();
                }
            }
        });
    };
    let ((), cpu) = counted(exchange);
    assert_eq!(channels.iter().map(Channel::excess).sum::<u64>(), 0, "each message is within its contract");
    cpu / MESSAGES
}

/// Prints the figures.
pub(crate) fn measure(daemons: &Daemons) {
    let [few, many] = COUNTS.map(|count| message(daemons, count));
    let ratio = many.as_secs_f64() / few.as_secs_f64();
    println!("a message of 64 B: CPU time {few:.2?} of 10 channels, {many:.2?} of 10000, {ratio:.2} times");
}

/// Prints the share of a processor that a daemon takes without programs.
pub(crate) fn rest(daemons: u32) {
    // Their first sessions and routes are up by then.
    std::thread::park_timeout(Duration::from_secs(2));
    let ((), cpu) = counted(|| std::thread::park_timeout(REST));
    let share = 100.0 * cpu.as_secs_f64() / REST.as_secs_f64() / f64::from(daemons);
    println!("a daemon without programs: {share:.2} % of a processor");
}
