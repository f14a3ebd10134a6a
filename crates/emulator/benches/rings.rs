//! Entries per second from one thread to another.
//!
//! Contestants: the standard library's bounded channel, the default choice; `rtrb`, the usual
//! faster choice; and the ring of this crate. Both threads spin on their own processors. An entry
//! is a descriptor of 16 bytes. `echo` is the rate of round trips of one entry, as of a command and
//! its completion.
//!
//! `cargo bench -p laxity-emulator --bench rings`, or with `-- --quick` for fewer rounds.

#[cfg(target_os = "linux")]
#[path = "support/rounds.rs"]
mod rounds;

#[cfg(target_os = "linux")]
mod contest {
    use std::hint::spin_loop;
    use std::sync::mpsc;

    use laxity_engine::Ticks;
    use laxity_machine::place::{ThreadPlacement, cores, spawn_on};
    use laxity_machine::ring::ring;

    use crate::rounds::{interleaved, median, rounds};

    type Entry = [u64; 2];

    const COUNT: u64 = 2_000_000;
    const ECHOES: u64 = 200_000;
    const SIZE: usize = 1024;

    #[derive(Clone, Copy)]
    struct Ends {
        ticks: Ticks,
        sender: ThreadPlacement,
        receiver: ThreadPlacement,
    }

    impl Ends {
        /// Runs both, and returns how many of `count` entries were transferred per second.
        fn rate(
            self,
            count: u64,
            send: impl FnOnce() + Send + 'static,
            receive: impl FnOnce() + Send + 'static,
        ) -> f64 {
            let sender = spawn_on(self.sender, "send", send).expect("there is a thread to be had");
            let receiver = spawn_on(self.receiver, "receive", move || {
                let began = self.ticks.read();
                receive();
                self.ticks.read() - began
            });
            let took = receiver.expect("there is a thread to be had").join().expect("all entries arrive");
            sender.join().expect("all entries are sent");
            count as f64 * self.ticks.per_second() / took as f64
        }

        fn channel(self) -> f64 {
            let (send, receive) = mpsc::sync_channel::<Entry>(SIZE);
            let send = move || (0..COUNT).for_each(|n| send.send([n, n]).expect("somebody receives"));
            self.rate(COUNT, send, move || {
                (0..COUNT).for_each(|n| assert_eq!(receive.recv().expect("somebody sends"), [n, n]));
            })
        }

        fn rtrb(self) -> f64 {
            let (mut producer, mut consumer) = rtrb::RingBuffer::<Entry>::new(SIZE);
            let send = move || {
                for n in 0..COUNT {
                    while producer.push([n, n]).is_err() {
                        spin_loop();
                    }
                }
            };
            self.rate(COUNT, send, move || {
                for n in 0..COUNT {
                    assert_eq!(wait(|| consumer.pop().ok()), [n, n]);
                }
            })
        }

        fn rtrb_batches<const BATCH: usize>(self) -> f64 {
            let (mut producer, mut consumer) = rtrb::RingBuffer::<Entry>::new(SIZE);
            let send = move || {
                let mut next = 0;
                while next < COUNT {
                    let room = producer.slots().min(BATCH).min((COUNT - next) as usize);
                    if room == 0 {
                        spin_loop();
                        continue;
                    }
                    let chunk = producer.write_chunk_uninit(room).expect("there is room");
                    chunk.fill_from_iter((next..).map(|n| [n, n]));
                    next += room as u64;
                }
            };
            self.rate(COUNT, send, move || {
                let mut expected = 0;
                while expected < COUNT {
                    let waiting = consumer.slots().min(BATCH);
                    if waiting == 0 {
                        spin_loop();
                    }
                    for entry in consumer.read_chunk(waiting).expect("they are there") {
                        assert_eq!(entry, [expected; 2]);
                        expected += 1;
                    }
                }
            })
        }

        fn ours(self) -> f64 {
            let (mut producer, mut consumer) = ring::<Entry>(SIZE);
            let send = move || {
                for n in 0..COUNT {
                    while producer.push([n, n]).is_err() {
                        spin_loop();
                    }
                }
            };
            self.rate(COUNT, send, move || {
                for n in 0..COUNT {
                    assert_eq!(wait(|| consumer.pop()), [n, n]);
                }
            })
        }

        fn our_batches<const BATCH: usize>(self) -> f64 {
            let (mut producer, mut consumer) = ring::<Entry>(SIZE);
            let send = move || {
                let mut next = 0;
                while next < COUNT {
                    let count = BATCH.min((COUNT - next) as usize);
                    let entries: [Entry; BATCH] = std::array::from_fn(|offset| [next + offset as u64; 2]);
                    match producer.push_all(&entries[..count]) {
                        0 => spin_loop(),
                        pushed => next += pushed as u64,
                    }
                }
            };
            self.rate(COUNT, send, move || {
                let mut expected = 0;
                while expected < COUNT {
                    let taken = consumer.pop_each(BATCH, |entry| {
                        assert_eq!(entry, [expected; 2]);
                        expected += 1;
                    });
                    if taken == 0 {
                        spin_loop();
                    }
                }
            })
        }

        fn channel_echo(self) -> f64 {
            let (send, receive) = mpsc::sync_channel::<Entry>(SIZE);
            let (back, returned) = mpsc::sync_channel::<Entry>(SIZE);
            let echo = move || {
                (0..ECHOES)
                    .for_each(|_| back.send(wait(|| receive.try_recv().ok())).expect("somebody waits"));
            };
            self.rate(ECHOES, echo, move || {
                for n in 0..ECHOES {
                    send.send([n, n]).expect("somebody echoes");
                    assert_eq!(wait(|| returned.try_recv().ok()), [n, n]);
                }
            })
        }

        fn rtrb_echo(self) -> f64 {
            let (mut send, mut receive) = rtrb::RingBuffer::<Entry>::new(SIZE);
            let (mut back, mut returned) = rtrb::RingBuffer::<Entry>::new(SIZE);
            let echo = move || {
                (0..ECHOES).for_each(|_| back.push(wait(|| receive.pop().ok())).expect("one is under way"));
            };
            self.rate(ECHOES, echo, move || {
                for n in 0..ECHOES {
                    send.push([n, n]).expect("one is under way");
                    assert_eq!(wait(|| returned.pop().ok()), [n, n]);
                }
            })
        }

        fn our_echo(self) -> f64 {
            let (mut send, mut receive) = ring::<Entry>(SIZE);
            let (mut back, mut returned) = ring::<Entry>(SIZE);
            let echo = move || {
                (0..ECHOES).for_each(|_| back.push(wait(|| receive.pop())).expect("one is under way"));
            };
            self.rate(ECHOES, echo, move || {
                for n in 0..ECHOES {
                    send.push([n, n]).expect("one is under way");
                    assert_eq!(wait(|| returned.pop()), [n, n]);
                }
            })
        }
    }

    fn wait<T>(mut look: impl FnMut() -> Option<T>) -> T {
        loop {
            match look() {
                Some(found) => return found,
                None => spin_loop(),
            }
        }
    }

    pub(crate) fn main() {
        let cores = cores();
        let [first, .., last] = cores[..] else {
            println!("skipped: two spinning threads need two processors, and there is {cores:?}");
            return;
        };
        let (sender, receiver) = (ThreadPlacement::on(first), ThreadPlacement::on(last));
        let ends = Ends { ticks: Ticks::calibrate(), sender, receiver };
        let rounds = rounds();
        println!(
            "million entries of 16 bytes a second, ring of {SIZE}; medians of {rounds} interleaved rounds"
        );
        println!(
            "{:<10} {:>12} {:>12} {:>12} {:>12} {:>12}",
            "batch", "channel", "rtrb", "ours", "to channel", "to rtrb"
        );
        let row = |name: &str, channel: fn(Ends) -> f64, rtrb: fn(Ends) -> f64, ours: fn(Ends) -> f64| {
            let turns: &mut [&mut dyn FnMut() -> f64] =
                &mut [&mut || channel(ends), &mut || rtrb(ends), &mut || ours(ends)];
            let results = interleaved(rounds, turns);
            let [channel, rtrb, ours] = [0, 1, 2].map(|who| median(&results[who], |rate| rate / 1e6));
            println!(
                "{name:<10} {channel:>12.2} {rtrb:>12.2} {ours:>12.2} {:>12.2} {:>12.2}",
                ours / channel,
                ours / rtrb
            );
        };
        row("1", Ends::channel, Ends::rtrb, Ends::ours);
        row("8", Ends::channel, Ends::rtrb_batches::<8>, Ends::our_batches::<8>);
        row("32", Ends::channel, Ends::rtrb_batches::<32>, Ends::our_batches::<32>);
        row("echo", Ends::channel_echo, Ends::rtrb_echo, Ends::our_echo);
    }
}

fn main() {
    #[cfg(target_os = "linux")]
    contest::main();
}
