//! An adapter as a pipeline of stages that share resources.
//!
//! A packet passes the stages in order; each stage holds one packet at a time and queues the rest. Within
//! a stage it goes through phases, each a [`Delay`] that may need a shared resource such as the adapter's
//! memory bus. A phase of higher priority takes its resource from one of lower priority, which later
//! resumes with the time it had left: that is how the CIM 250's Fiber Channel engine takes the bus from
//! its DMA (thesis §5.1.3.2).

use std::collections::VecDeque;

use laxity_qos::channel::Packet;
use laxity_units::{Bytes, Span, Time};

use super::AdapterOutput;

/// How long a phase takes for a packet: `fixed + ⌈S / segment⌉ × per_segment + bytes`, where the first
/// `knee` bytes take `per_byte` and those past it `per_byte_past` each (thesis Eq. 5.1 and 5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Delay {
    /// Whatever the size.
    pub fixed: Span,
    /// Size of a segment; zero for none.
    pub segment: Bytes,
    /// Per segment begun.
    pub per_segment: Span,
    /// Per byte up to the knee.
    pub per_byte: Span,
    /// Where the cost of a byte changes; zero for nowhere.
    pub knee: Bytes,
    /// Per byte past the knee.
    pub per_byte_past: Span,
}

impl Delay {
    /// The delay of a packet of `size`.
    pub fn of(&self, size: Bytes) -> Span {
        let segments = if self.segment.is_zero() { 0 } else { size.div_ceil(self.segment) };
        let near = if self.knee.is_zero() { size } else { size.min(self.knee) };
        let past = size - near;
        self.fixed
            + self.per_segment * segments
            + self.per_byte * near.get()
            + self.per_byte_past * past.get()
    }
}

/// A part of a stage's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Phase {
    /// How long.
    pub delay: Delay,
    /// The shared resource it needs, by index, and with what priority, 0 the highest.
    pub resource: Option<(usize, u8)>,
}

/// A stage of the pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// Name in results.
    pub name: String,
    /// What it does to a packet, in order.
    pub phases: Vec<Phase>,
}

/// A stage at work.
#[derive(Debug)]
struct Station {
    stage: Stage,
    queue: VecDeque<Packet>,
    job: Option<Job>,
    busy: Span,
}

#[derive(Debug)]
struct Job {
    packet: Packet,
    phase: usize,
    /// What is left of the phase.
    left: Span,
    /// Since when it runs; `None` while it waits for its resource.
    since: Option<Time>,
}

/// The pipeline.
#[derive(Debug)]
pub struct Staged {
    stations: Vec<Station>,
    output: VecDeque<AdapterOutput>,
}

impl Staged {
    /// An idle pipeline; panics if it has no stage, or a stage no phase.
    pub fn new(stages: Vec<Stage>) -> Self {
        assert!(!stages.is_empty(), "an adapter has a stage");
        assert!(stages.iter().all(|stage| !stage.phases.is_empty()), "a stage has a phase");
        let station = |stage| Station { stage, queue: VecDeque::new(), job: None, busy: Span::ZERO };
        Self { stations: stages.into_iter().map(station).collect(), output: VecDeque::new() }
    }

    pub(super) fn transmit(&mut self, now: Time, packet: Packet) {
        self.stations[0].queue.push_back(packet);
        self.settle(now);
    }

    pub(super) fn timer(&mut self, now: Time) {
        self.settle(now);
    }

    pub(super) fn next_deadline(&self) -> Option<Time> {
        self.stations.iter().filter_map(Station::ends).min()
    }

    pub(super) fn poll_output(&mut self) -> Option<AdapterOutput> {
        self.output.pop_front()
    }

    pub(super) fn busy(&self) -> Vec<(&str, Span)> {
        self.stations.iter().map(|station| (station.stage.name.as_str(), station.busy)).collect()
    }

    fn settle(&mut self, now: Time) {
        for station in &mut self.stations {
            station.account(now);
        }
        // A finished phase may free a resource or feed the next stage, in either direction.
        while (0..self.stations.len()).any(|i| self.finish_phase(i) || self.take(i)) {}
        for i in 0..self.stations.len() {
            let runs = self.may_run(i);
            if let Some(job) = &mut self.stations[i].job {
                job.since = runs.then_some(now);
            }
        }
    }

    fn take(&mut self, i: usize) -> bool {
        let station = &mut self.stations[i];
        if station.job.is_some() {
            return false;
        }
        let Some(packet) = station.queue.pop_front() else { return false };
        let left = station.stage.phases[0].delay.of(packet.size);
        station.job = Some(Job { packet, phase: 0, left, since: None });
        true
    }

    fn finish_phase(&mut self, i: usize) -> bool {
        let zero_and_free = self.may_run(i);
        let station = &mut self.stations[i];
        let Some(job) = &mut station.job else { return false };
        if !job.left.is_zero() || job.since.is_none() && !zero_and_free {
            return false;
        }
        job.phase += 1;
        if let Some(phase) = station.stage.phases.get(job.phase) {
            job.left = phase.delay.of(job.packet.size);
            job.since = None;
            return true;
        }
        let packet = station.job.take().expect("a job just finished").packet;
        match self.stations.get_mut(i + 1) {
            Some(next) => next.queue.push_back(packet),
            None => self.output.push_back(AdapterOutput::Transmitted(packet)),
        }
        true
    }

    /// Whether station `i`'s job has its resource: no other job that needs it outranks it. Equal
    /// priorities go to the one that holds it, then to the later stage, which drains the pipeline.
    fn may_run(&self, i: usize) -> bool {
        let Some((resource, priority)) = self.stations[i].need() else {
            return self.stations[i].job.is_some();
        };
        let rank = |j: usize, priority: u8| (priority, !self.stations[j].holds(), usize::MAX - j);
        let own = rank(i, priority);
        (0..self.stations.len())
            .filter(|j| *j != i)
            .filter_map(|j| self.stations[j].need().map(|(r, p)| (j, r, p)))
            .all(|(j, r, p)| r != resource || own < rank(j, p))
    }
}

impl Station {
    fn need(&self) -> Option<(usize, u8)> {
        let job = self.job.as_ref()?;
        self.stage.phases[job.phase].resource
    }

    fn holds(&self) -> bool {
        self.job.as_ref().is_some_and(|job| job.since.is_some())
    }

    fn ends(&self) -> Option<Time> {
        let job = self.job.as_ref()?;
        job.since.map(|since| since + job.left)
    }

    /// Counts what ran since the last look against the phase.
    fn account(&mut self, now: Time) {
        if let Some(job) = &mut self.job
            && let Some(since) = &mut job.since
        {
            let ran = now.since(*since);
            job.left = job.left.saturating_sub(ran);
            self.busy += ran;
            *since = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laxity_qos::channel::ChannelId;
    use laxity_qos::discipline::{Class, Tag};

    fn packet(number: u64, size: u64) -> Packet {
        let tag =
            Tag { class: Class::BestEffort, logical_arrival: Time::ZERO, deadline: Time::MAX, level: 31 };
        Packet {
            channel: ChannelId(0),
            message: number,
            index: 0,
            count: 1,
            size: Bytes::new(size),
            message_size: Bytes::new(size),
            tag,
            due_from: Time::ZERO,
            sent: Time::ZERO,
            created: Time::ZERO,
            handed: Time::ZERO,
        }
    }

    fn phase(us: u64, resource: Option<(usize, u8)>) -> Phase {
        Phase { delay: Delay { fixed: Span::from_us(us), ..Delay::default() }, resource }
    }

    fn stage(name: &str, phases: Vec<Phase>) -> Stage {
        Stage { name: name.into(), phases }
    }

    /// Hands over packets at the given microseconds; answers when each left.
    fn run(stages: Vec<Stage>, handed: &[u64]) -> Vec<(u64, u64)> {
        let mut adapter = Staged::new(stages);
        let mut handed = handed.iter().enumerate().peekable();
        let mut out = Vec::new();
        loop {
            let arrival = handed.peek().map(|(_, us)| Time::ZERO + Span::from_us(**us));
            let Some(now) = [arrival, adapter.next_deadline()].into_iter().flatten().min() else {
                return out;
            };
            if arrival == Some(now) {
                let (number, _) = handed.next().expect("it was peeked");
                adapter.transmit(now, packet(number as u64, 100));
            } else {
                adapter.timer(now);
            }
            while let Some(AdapterOutput::Transmitted(packet)) = adapter.poll_output() {
                out.push((packet.message, now.as_ps() / 1_000_000));
            }
        }
    }

    #[test]
    fn stages_overlap_and_keep_order() {
        let stages = vec![stage("a", vec![phase(10, None)]), stage("b", vec![phase(4, None)])];
        assert_eq!(run(stages, &[0, 0, 0]), [(0, 14), (1, 24), (2, 34)]);
    }

    /// The transmission of the first packet takes the bus from the second's DMA, which later resumes with
    /// what it had left.
    #[test]
    fn a_higher_priority_takes_the_bus_and_gives_it_back() {
        let dma = stage("dma", vec![phase(10, Some((0, 1)))]);
        let fc = stage("fc", vec![phase(4, None), phase(20, Some((0, 0)))]);
        // First: DMA 0-10, then 4 off the bus, then the bus 14-34. Second's DMA: 10-14, stopped, 34-40; then
        // 4 off the bus and 20 on it.
        assert_eq!(run(vec![dma, fc], &[0, 0]), [(0, 34), (1, 64)]);
    }

    #[test]
    fn equal_priorities_do_not_interrupt() {
        let dma = stage("dma", vec![phase(10, Some((0, 0)))]);
        let fc = stage("fc", vec![phase(20, Some((0, 0)))]);
        // After its DMA the first packet wants the bus; so does the second. The later stage drains.
        assert_eq!(run(vec![dma, fc], &[0, 0]), [(0, 30), (1, 60)]);
    }

    #[test]
    fn a_stage_without_delay_takes_none() {
        let stages =
            vec![stage("a", vec![phase(0, None), phase(0, Some((0, 0)))]), stage("b", vec![phase(5, None)])];
        assert_eq!(run(stages, &[3, 3]), [(0, 8), (1, 13)]);
    }

    /// Thesis Eq. 5.3 on both sides of the knee: 4096 B in 16 segments, and 8192 B in 32.
    #[test]
    fn a_delay_bends_at_its_knee() {
        let dma = Delay {
            fixed: Span::ZERO,
            segment: Bytes::new(256),
            per_segment: Span::from_ns(1760),
            per_byte: Span::from_ns(420),
            knee: Bytes::new(4096),
            per_byte_past: Span::from_ns(310),
        };
        assert_eq!(dma.of(Bytes::new(4096)), Span::from_ns(16 * 1760 + 4096 * 420));
        assert_eq!(dma.of(Bytes::new(8192)), Span::from_ns(32 * 1760 + 4096 * 420 + 4096 * 310));
        assert_eq!(dma.of(Bytes::new(1)), Span::from_ns(1760 + 420));
    }
}
