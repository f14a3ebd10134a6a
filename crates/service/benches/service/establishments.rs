//! Channels opened and closed a second, one after the other and by many threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use laxity_client::{Client, Contract};

use crate::daemons::{Daemons, patiently};
use crate::{SECONDS, counted};

/// Threads that open channels at once.
const THREADS: usize = 64;

/// Channels opened and dropped by `threads` in [`SECONDS`], and the longest time of one.
fn count(client: &Client, name: &str, threads: usize) -> (u64, Duration) {
    let contract = Contract::periodic(64, Duration::from_millis(50), Duration::from_millis(50));
    let (done, longest) = (AtomicU64::new(0), AtomicU64::new(0));
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while begin.elapsed() < Duration::from_secs(SECONDS) {
                    let asked = Instant::now();
                    let Ok(channel) = client.open(name, contract) else {
                        // A record that was late on a busy machine: the name is known again soon.
                        std::thread::park_timeout(Duration::from_millis(20));
                        continue;
                    };
                    drop(channel);
                    done.fetch_add(1, Ordering::Relaxed);
                    longest.fetch_max(asked.elapsed().as_micros() as u64, Ordering::Relaxed);
                }
            });
        }
    });
    (done.into_inner(), Duration::from_micros(longest.into_inner()))
}

/// Prints the figures.
pub(crate) fn measure(daemons: &Daemons) {
    let client = daemons.client(0);
    for hops in [1, 3] {
        let name = format!("behind {hops}");
        let receiver = daemons.client(hops);
        let _listener = receiver.listen(&name).unwrap();
        patiently(|| client.resolve(&name).ok());
        for threads in [1, THREADS] {
            let ((done, longest), cpu) = counted(|| count(&client, &name, threads));
            let each = cpu.as_secs_f64() * 1e6 / done as f64;
            println!(
                "establishments over {hops} hops, {threads} at once: {:.0}/s, the longest {longest:.1?}; CPU time {each:.0} us",
                done as f64 / SECONDS as f64
            );
        }
    }
}
