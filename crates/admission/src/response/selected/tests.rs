//! The response times of published examples, and those of all small sets, found by running them.

use super::super::{Effort, Late, Task};
use super::Selected;

const LOOKS: u64 = 1 << 20;

/// The response time of `own` beside `others`, each an interval with a service, below `wait`.
fn response(wait: u128, own: (u64, u128), last: u128, others: &[(u64, u128)]) -> Result<u64, Late> {
    let task = |(interval, service): (u64, u128)| Task::new(interval, service).unwrap();
    let others: Vec<Task> = others.iter().copied().map(task).collect();
    Selected { wait, task: task(own), last }.response(&others, u64::MAX, &Effort::of(LOOKS))
}

/// Davis, Burns, Bril and Lukkien (2007), Table 1: three messages of 1 ms each 2.5, 3.5 and 3.5 ms,
/// 97 % of the bus. Their exact response times are 2, 3 and 3.5 ms; the first message of C after a
/// critical instant takes 3.
#[test]
fn the_refuted_example_has_its_exact_times() {
    let (a, b, c) = ((25, 10), (35, 10), (35, 10));
    assert_eq!(response(10, a, 10, &[]), Ok(20));
    assert_eq!(response(10, b, 10, &[a]), Ok(30));
    assert_eq!(response(0, c, 10, &[a, b]), Ok(35));
}

/// A message of four packets of 10 before the last of 5, beside 20 each 100 and below 30: the
/// last is selected at 30 + 40 + 20.
#[test]
fn higher_messages_count_until_the_last_packet_is_selected() {
    assert_eq!(response(30, (1000, 45), 5, &[(100, 20)]), Ok(95));
    // At 100 exactly one more may go before it.
    assert_eq!(response(40, (1000, 45), 5, &[(100, 20)]), Ok(125));
    assert_eq!(response(39, (1000, 45), 5, &[(100, 20)]), Ok(104));
}

#[test]
fn what_has_no_end_or_takes_too_long_is_not_known() {
    assert_eq!(response(0, (10, 5), 5, &[(10, 5)]), Err(Late::Untold));
    let own = Selected { wait: 1, task: Task::new(10, 4).unwrap(), last: 4 };
    let others = [Task::new(10, 5).unwrap()];
    assert_eq!(own.response(&others, u64::MAX, &Effort::of(3)), Err(Late::Untold));
    assert_eq!(own.response(&others, 9, &Effort::of(LOOKS)), Err(Late::AtLeast(10)));
}

/// A message on the link: its channel, and which packets.
#[derive(Clone, Copy)]
struct Channel {
    interval: u64,
    packets: u64,
    /// Of each packet but the last.
    full: u64,
    last: u64,
}

impl Channel {
    fn service(&self) -> u64 {
        self.full * (self.packets - 1) + self.last
    }
}

/// The longest response time of each channel, by priority, where `lower` takes the link just before
/// its first instant, for that long, and channel `j` sends first at `first[j]`.
fn run(channels: &[Channel], first: &[u64], lower: u64, until: u64) -> Vec<u64> {
    let mut longest = vec![0; channels.len()];
    // By channel: messages that were sent, and packets of the next.
    let mut sent = vec![(0u64, 0u64); channels.len()];
    let mut now = lower;
    while now < until {
        let waits = |j: &usize| first[*j] + sent[*j].0 * channels[*j].interval <= now;
        let Some(j) = (0..channels.len()).find(waits) else {
            now += 1;
            continue;
        };
        let channel = &channels[j];
        let is_last = sent[j].1 + 1 == channel.packets;
        now += if is_last { channel.last } else { channel.full };
        sent[j].1 += 1;
        if is_last {
            let released = first[j] + sent[j].0 * channel.interval;
            longest[j] = longest[j].max(now - released);
            sent[j] = (sent[j].0 + 1, 0);
        }
    }
    longest
}

/// All sets of three channels of these sizes, with all first instants. No response time is longer
/// than its bound, and where all send first together, just after a lower packet has begun, the
/// bound is reached.
#[test]
fn no_small_set_exceeds_its_times_and_each_reaches_them() {
    let shapes = [(5, 1, 0, 2), (7, 2, 2, 1), (9, 2, 1, 2), (6, 1, 0, 1), (8, 3, 1, 1)];
    let shape = |(interval, packets, full, last)| Channel { interval, packets, full, last };
    let mut checked = 0;
    for set in 0..shapes.len().pow(3) {
        let [a, b, c] = [set % 5, set / 5 % 5, set / 25].map(|at| shape(shapes[at]));
        let channels = [a, b, c];
        let share: f64 = channels.iter().map(|c| c.service() as f64 / c.interval as f64).sum();
        if share >= 1.0 {
            continue;
        }
        for lower in [0, 3] {
            let wait = |j: usize| -> u64 {
                let below = channels[j + 1..].iter().map(|c| c.full.max(c.last));
                below.chain([lower]).max().unwrap()
            };
            let bound = |j: usize| {
                let others: Vec<(u64, u128)> =
                    channels[..j].iter().map(|c| (c.interval, c.service().into())).collect();
                let own = (channels[j].interval, channels[j].service().into());
                response(wait(j).into(), own, channels[j].last.into(), &others).unwrap()
            };
            let bounds: Vec<u64> = (0..3).map(bound).collect();
            for phase in 0..a.interval * b.interval * c.interval {
                let (x, y, z) =
                    (phase % a.interval, phase / a.interval % b.interval, phase / a.interval / b.interval);
                for (worst, bound) in run(&channels, &[x, y, z], lower, 300).iter().zip(&bounds) {
                    assert!(worst <= bound, "{worst} {bound}");
                }
            }
            // The longest lower packet begins just before all messages, as good as with them.
            for j in 0..3 {
                let worst = run(&channels[..=j], &[0, 0, 0][..=j], wait(j), 2000)[j];
                assert_eq!(worst, bounds[j], "channel {j}");
            }
            checked += 1;
        }
    }
    assert!(checked > 60, "{checked}");
}
