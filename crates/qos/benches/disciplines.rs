//! The cost of one decision: an item is selected and the next of its flow arrives, each time the
//! link is free.
//!
//! Every flow always has two items waiting, with rates from one to eight parts that sum up to the
//! link's. Held items are polled at their release times, and those polls count too. All disciplines
//! take turns, five times; the median counts. EDF is the reference: it stores no state of flows.

use std::hint::black_box;
use std::time::Instant;

use laxity_qos::channel::{Carried, ChannelId};
use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::{Discipline, EarlyPolicy, ItemRequest, Order, ServerParameters, Tag};
use laxity_qos::virtual_clock::Vtick;
use laxity_units::{Bytes, Span, Time};

const ITEM: Bytes = Bytes::new(1500);
const ROUNDS: usize = 5;

/// 10 Gbit/s.
fn server() -> ServerParameters {
    let speed = LinkCosts::new(Span::ZERO, Span::from_ps(800));
    ServerParameters { speed, frame: Span::from_us(100), ..ServerParameters::with(EarlyPolicy::CONSERVE) }
}

struct Bench {
    queue: Discipline<u32>,
    requests: Vec<ItemRequest>,
    now: Time,
}

impl Bench {
    fn new(order: Order, flows: u64) -> Self {
        let weight = |flow: u64| 1 + flow * flow % 8;
        let all: u64 = (0..flows).map(weight).sum();
        let request = |flow: u64| {
            let interval = server().speed.transmit(ITEM).scale_ceil(all, weight(flow));
            let tag = Tag::real_time(Time::ZERO, interval, Vtick::new(interval, ITEM), (flow % 31) as u8);
            let carried = Carried { hops: 1 + (flow % 8) as u8, ..Carried::NOTHING };
            ItemRequest { flow: ChannelId(flow as u32), size: ITEM, tag, carried }
        };
        let mut bench = Self {
            queue: order.discipline(&server()),
            requests: (0..flows).map(request).collect(),
            now: Time::ZERO,
        };
        for flow in (0..flows as u32).chain(0..flows as u32) {
            bench.come(flow);
        }
        bench
    }

    fn come(&mut self, flow: u32) {
        let mut request = self.requests[flow as usize];
        request.tag.logical_arrival = self.now;
        request.tag.deadline = self.now + request.tag.tick.interval();
        request.carried.due = request.tag.deadline;
        self.queue.enqueue(self.now, &request, flow);
    }

    fn decide(&mut self) {
        loop {
            if let Some((_, flow)) = self.queue.select(self.now) {
                self.now += server().speed.transmit(ITEM);
                self.come(black_box(flow));
                return;
            }
            self.now = self.queue.next_eligible(self.now).expect("somebody waits");
        }
    }
}

fn main() {
    let decisions: u32 = if std::env::args().any(|argument| argument == "--bench") { 400_000 } else { 100 };
    println!("{:<18} {:>8} {:>8} {:>8} {:>8}   ns a decision, of so many flows", "", 10, 100, 1000, 10_000);
    let mut times = vec![[(); 4].map(|()| Vec::new()); Order::ALL.len()];
    for _ in 0..ROUNDS {
        for (column, flows) in [10, 100, 1000, 10_000].into_iter().enumerate() {
            for (row, order) in times.iter_mut().zip(Order::ALL) {
                row[column].push(measure(*order, flows, decisions));
            }
        }
    }
    for (order, row) in Order::ALL.iter().zip(&mut times) {
        print!("{:<18}", order.short());
        for of_flows in row.iter_mut() {
            of_flows.sort_by(f64::total_cmp);
            print!(" {:>8.0}", of_flows[ROUNDS / 2]);
        }
        println!();
    }
}

#[allow(clippy::disallowed_methods, reason = "a benchmark is what clocks are for")]
fn measure(order: Order, flows: u64, decisions: u32) -> f64 {
    let mut bench = Bench::new(order, flows);
    (0..decisions / 4).for_each(|_| bench.decide());
    let start = Instant::now();
    (0..decisions).for_each(|_| bench.decide());
    start.elapsed().as_secs_f64() * 1e9 / f64::from(decisions)
}
