//! Validity of a description: every packet has a path, and no capacity is zero.

use laxity_qos::discipline::{Class, LEVELS, Tag};
use laxity_qos::virtual_clock::Vtick;
use laxity_units::Time;

use super::{
    AdapterBuffers, Answers, BufferPool, Description, LatePolicy, Overload, Own, Phase, Queue, ResponseQueue,
    Stage, Takes, Tells,
};

/// Why a description is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flaw {
    /// There is no transmit stage.
    NoStage,
    /// The stage of this name lacks a phase, a server or a queue.
    Empty(String),
    /// No queue of the stage accepts this class.
    Unserved(String, Class),
    /// No command queue accepts this class.
    NoCommandQueue(Class),
    /// More than one phase, or a receive phase, is on the medium.
    Medium,
    /// The stage with the phase on the medium has several servers.
    MediumServers(String),
    /// A resource, queue or pool has capacity zero.
    NoRoom(String),
    /// A received frame cannot wait on the medium: this receive stage or its buffers block.
    Receive(String),
    /// No response queue accepts responses about received packets (`true`) or others, of this
    /// class.
    Unanswered(bool, Class),
    /// The response queue of this number has an invalid overload rule: only received packets can be
    /// lost, and only in a queue for them alone.
    Answers(usize),
    /// The stage of this name serves batches, and one of its phases is not for all packets alike,
    /// is on the medium or responds to the host.
    Batch(String),
    /// The response queue of this number moderates interrupts without a maximum delay, so its last
    /// responses would wait for ever.
    Moderation(usize),
    /// The stage of this name selects ahead and is the last of its path, or serves batches.
    Ahead(String),
    /// A queue of the stage of this name drops late packets, after their frame has left.
    Late(String),
    /// A queue of the stage of this name drops by importance, in a discipline that accounts for
    /// waiting packets.
    Importance(String),
    /// A pool with replacement has buffers of single channels, which are of no use to others; or a
    /// pool cannot order packets by deadline.
    GivesWay,
    /// A phase of the stage of this name yields between segments, of which it has none, or without
    /// a resource; or is on the medium, in a batch, or counts from the start of service.
    Yields(String),
    /// A phase of the stage of this name frees buffers, of which there is an unlimited number.
    Releases(String),
}

/// Whether these rules admit all packets of `class`, of every priority level.
fn all_admitted(class: Class, rules: impl Iterator<Item = Takes>) -> bool {
    let rules: Vec<Takes> = rules.collect();
    (0..LEVELS as u8).all(|level| {
        let tag = Tag { class, logical_arrival: Time::ZERO, deadline: Time::MAX, tick: Vtick::NONE, level };
        rules.iter().any(|takes| takes.admits(&tag))
    })
}

impl Description {
    /// Checks that the description is valid.
    pub fn check(&self) -> Result<(), Flaw> {
        if self.transmit.is_empty() {
            return Err(Flaw::NoStage);
        }
        for class in [Class::RealTime, Class::BestEffort] {
            if !all_admitted(class, self.interface.queues.iter().map(|queue| queue.takes)) {
                return Err(Flaw::NoCommandQueue(class));
            }
            for stage in self.transmit.iter().chain(&self.receive) {
                if !all_admitted(class, stage.queues.iter().map(|queue| queue.takes)) {
                    return Err(Flaw::Unserved(stage.name.clone(), class));
                }
            }
        }
        for stage in self.transmit.iter().chain(&self.receive) {
            if stage.phases.is_empty() || stage.servers == 0 || stage.batch == 0 {
                return Err(Flaw::Empty(stage.name.clone()));
            }
            if stage.queues.iter().any(|queue| queue.slots == Some(0) || queue.spread == 0) {
                return Err(Flaw::NoRoom(stage.name.clone()));
            }
            let alike = |phase: &Phase| phase.is_for_all() && !phase.medium && phase.tells == Tells::Nothing;
            if stage.batch > 1 && !stage.phases.iter().all(alike) {
                return Err(Flaw::Batch(stage.name.clone()));
            }
        }
        if let Some(resource) = self.resources.iter().find(|resource| resource.servers == 0) {
            return Err(Flaw::NoRoom(resource.name.clone()));
        }
        let roomless = |buffers: &AdapterBuffers| {
            // A channel without a contract has a part of the shared buffers only.
            let none = BufferPool::Reserved { own: Own::Contract, shared: 0 };
            let of_nobody = BufferPool::Reserved { own: Own::Each(0), shared: 0 };
            let pools = [BufferPool::Shared(0), BufferPool::PerChannel(0), none, of_nobody];
            pools.contains(&buffers.pool)
        };
        if roomless(&self.transmit_buffers) || roomless(&self.receive_buffers) {
            return Err(Flaw::NoRoom("buffers".into()));
        }
        if self.interface.queues.iter().any(|queue| queue.slots == Some(0) || queue.spread == 0) {
            return Err(Flaw::NoRoom("a command queue".into()));
        }
        self.check_responses()?;
        self.check_choices()?;
        let on_medium = |stages: &[Stage]| stages.iter().flat_map(|s| &s.phases).filter(|p| p.medium).count();
        if on_medium(&self.transmit) > 1 || on_medium(&self.receive) > 0 {
            return Err(Flaw::Medium);
        }
        let link = self.transmit.iter().find(|stage| stage.phases.iter().any(|phase| phase.medium));
        if let Some(stage) = link.filter(|stage| stage.servers > 1) {
            return Err(Flaw::MediumServers(stage.name.clone()));
        }
        // A frame that waits for the first receive queue would wait on the medium, which is
        // impossible.
        if let Some(first) = self.receive.first()
            && first.queues.iter().any(|q| q.slots.is_some() && q.overload == Overload::Block)
        {
            return Err(Flaw::Receive(first.name.clone()));
        }
        if self.receive_buffers.overload == Overload::Block
            && self.receive_buffers.pool != BufferPool::Unlimited
        {
            return Err(Flaw::Receive("buffers".into()));
        }
        Ok(())
    }

    /// Checks selection ahead, lateness, replacement and early release.
    fn check_choices(&self) -> Result<(), Flaw> {
        let sent = self.transmit.iter().position(|stage| stage.phases.iter().any(|phase| phase.medium));
        let behind = |n: usize| sent.is_some_and(|sent| n > sent);
        let drops = |stage: &Stage| stage.queues.iter().any(|queue| queue.late == LatePolicy::Drop);
        let mut stages = self.transmit.iter().enumerate();
        if let Some((_, stage)) = stages.find(|(n, stage)| behind(*n) && drops(stage)) {
            return Err(Flaw::Late(stage.name.clone()));
        }
        for (stages, buffers) in
            [(&self.transmit, &self.transmit_buffers), (&self.receive, &self.receive_buffers)]
        {
            for (n, stage) in stages.iter().enumerate() {
                if stage.ahead.is_some() && (n + 1 == stages.len() || stage.batch > 1) {
                    return Err(Flaw::Ahead(stage.name.clone()));
                }
                let counts =
                    |queue: &Queue| queue.overload == Overload::Importance && !queue.order.displaces();
                if stage.queues.iter().any(counts) {
                    return Err(Flaw::Importance(stage.name.clone()));
                }
                let whole = |phase: &Phase| {
                    let cut = !phase.delay.segment.is_zero() && !phase.holds.is_empty();
                    !cut || phase.medium || phase.since_service || stage.batch > 1
                };
                let batched = |phase: &Phase| stage.batch > 1 && !phase.trailer.is_zero();
                if stage.phases.iter().any(|phase| phase.yields && whole(phase) || batched(phase)) {
                    return Err(Flaw::Yields(stage.name.clone()));
                }
                if buffers.pool == BufferPool::Unlimited && stage.phases.iter().any(|phase| phase.releases) {
                    return Err(Flaw::Releases(stage.name.clone()));
                }
            }
            let reserved = matches!(buffers.pool, BufferPool::Reserved { .. });
            if reserved && buffers.overload == Overload::Priority || buffers.overload == Overload::Importance
            {
                return Err(Flaw::GivesWay);
            }
        }
        Ok(())
    }

    fn check_responses(&self) -> Result<(), Flaw> {
        let queues = &self.interface.responses;
        for class in [Class::RealTime, Class::BestEffort] {
            for received in [true, false] {
                let other = if received { Answers::Received } else { Answers::Sent };
                let asked = queues.iter().filter(|q| q.answers == Answers::All || q.answers == other);
                if !all_admitted(class, asked.map(|queue| queue.takes)) {
                    return Err(Flaw::Unanswered(received, class));
                }
            }
        }
        for (number, queue) in queues.iter().enumerate() {
            let ResponseQueue { answers, takes: _, slots, overload, moderation, spread } = queue;
            if *slots == Some(0) || *spread == 0 || moderation.frames == Some(0) {
                return Err(Flaw::NoRoom("a response queue".into()));
            }
            let loses = match overload {
                Overload::Block => false,
                Overload::Drop => true,
                Overload::Priority | Overload::Importance => return Err(Flaw::Answers(number)),
            };
            if loses && *answers != Answers::Received {
                return Err(Flaw::Answers(number));
            }
            if moderation.frames.is_some() && moderation.delay.is_zero() {
                return Err(Flaw::Moderation(number));
            }
            // Without a receive stage a blocked response has no queue.
            let waits = slots.is_some() && !loses && *answers != Answers::Sent;
            if waits && self.receive.is_empty() {
                return Err(Flaw::Receive("a response queue".into()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use laxity_qos::channel::Order;
    use laxity_qos::costs::LinkCosts;
    use laxity_units::{Bytes, Span};

    use super::*;
    use crate::adapter::{
        CommandQueue, Delay, HostSide, Moderation, Notification, Phase, Queue, QueueSelection, Resource,
        Takes,
    };

    fn stage(name: &str) -> Stage {
        let phases = vec![Phase { delay: Delay::fixed(Span::from_us(10)), ..Phase::default() }];
        Stage { name: name.into(), phases, ..Stage::default() }
    }

    fn good() -> Description {
        Description {
            interface: HostSide {
                queues: vec![CommandQueue::default()],
                selection: QueueSelection::Priority,
                doorbell: Span::ZERO,
                poll: None,
                notification: Notification::Interrupt,
                responses: vec![ResponseQueue::default()],
            },
            resources: vec![Resource {
                name: "processor".into(),
                servers: 1,
                preemptive: false,
                urgent: false,
                host: false,
                bus: None,
            }],
            transmit: vec![stage("tx"), stage("link")],
            receive: vec![stage("rx"), stage("up")],
            transmit_buffers: AdapterBuffers::default(),
            receive_buffers: AdapterBuffers::default(),
            transmit_policing: None,
            receive_policing: None,
            link: LinkCosts::default(),
        }
    }

    /// Result of `check` for the good description after one change.
    fn after(change: impl FnOnce(&mut Description)) -> Result<(), Flaw> {
        let mut description = good();
        change(&mut description);
        description.check()
    }

    const REAL_TIME: Takes = Takes::Only(Class::RealTime);
    const BEST_EFFORT: Takes = Takes::Only(Class::BestEffort);

    /// 10, then 20, then the rest of 45 or of 25 since the start, then 5 only for packets longer
    /// than 100 B.
    #[test]
    fn a_server_has_a_packet_for_all_its_phases() {
        let phase = |us| Phase { delay: Delay::fixed(Span::from_us(us)), ..Phase::default() };
        let service = |since, size| {
            let since = Phase { since_service: true, ..phase(since) };
            let long = Phase { from: Bytes::new(101), ..phase(5) };
            let stage = Stage { phases: vec![phase(10), phase(20), since, long], ..stage("a") };
            stage.service(Bytes::new(size))
        };
        assert_eq!([service(45, 100), service(25, 100), service(25, 101)], [45, 30, 35].map(Span::from_us));
    }

    #[test]
    fn every_packet_has_a_way_through() {
        assert_eq!(good().check(), Ok(()));
        assert_eq!(after(|d| d.transmit.clear()), Err(Flaw::NoStage));
        assert_eq!(after(|d| d.receive.clear()), Ok(()));
        let command = |takes| CommandQueue { takes, slots: Some(1), ..CommandQueue::default() };
        assert_eq!(
            after(|d| d.interface.queues = vec![command(REAL_TIME)]),
            Err(Flaw::NoCommandQueue(Class::BestEffort))
        );
        assert_eq!(
            after(|d| d.interface.queues = vec![command(BEST_EFFORT)]),
            Err(Flaw::NoCommandQueue(Class::RealTime))
        );
        assert_eq!(after(|d| d.interface.queues = vec![command(BEST_EFFORT), command(REAL_TIME)]), Ok(()));
        assert_eq!(
            after(|d| d.receive[1].queues[0].takes = REAL_TIME),
            Err(Flaw::Unserved("up".into(), Class::BestEffort))
        );
        assert_eq!(
            after(|d| d.transmit[0].queues[0].takes = BEST_EFFORT),
            Err(Flaw::Unserved("tx".into(), Class::RealTime))
        );
    }

    /// Levels 0 to 15 and 16 to 31 are all; without the last, its packets have no queue.
    #[test]
    fn every_level_has_a_way_through() {
        let by_level = |to| [Takes::Levels(0, 15), Takes::Levels(16, to)];
        let queues =
            |to| by_level(to).map(|takes| CommandQueue { takes, ..CommandQueue::default() }).to_vec();
        assert_eq!(after(|d| d.interface.queues = queues(31)), Ok(()));
        let missing = after(|d| d.interface.queues = queues(30));
        assert_eq!(missing, Err(Flaw::NoCommandQueue(Class::RealTime)));
        let lines = |to| by_level(to).map(|takes| Queue { takes, ..Queue::default() }).to_vec();
        assert_eq!(after(|d| d.receive[0].queues = lines(31)), Ok(()));
        let missing = after(|d| d.receive[0].queues = lines(30));
        assert_eq!(missing, Err(Flaw::Unserved("rx".into(), Class::RealTime)));
    }

    /// Packets of a batch are served alike, and none has a response of its own.
    #[test]
    fn a_batch_is_of_packets_that_are_alike() {
        let batched = |change: &dyn Fn(&mut Stage)| {
            after(|d| {
                d.transmit[0].batch = 4;
                change(&mut d.transmit[0]);
            })
        };
        assert_eq!(batched(&|_| {}), Ok(()));
        let flaw = Err(Flaw::Batch("tx".into()));
        assert_eq!(batched(&|stage| stage.phases[0].medium = true), flaw);
        assert_eq!(batched(&|stage| stage.phases[0].tells = Tells::Progress), flaw);
        assert_eq!(batched(&|stage| stage.phases[0].takes = REAL_TIME), flaw);
        assert_eq!(batched(&|stage| stage.phases[0].up_to = Some(Bytes::new(100))), flaw);
        assert_eq!(batched(&|stage| stage.batch = 0), Err(Flaw::Empty("tx".into())));
        assert_eq!(after(|d| d.receive[1].queues[0].spread = 0), Err(Flaw::NoRoom("up".into())));
    }

    #[test]
    fn nothing_is_empty() {
        assert_eq!(after(|d| d.transmit[1].phases.clear()), Err(Flaw::Empty("link".into())));
        assert_eq!(after(|d| d.receive[0].servers = 0), Err(Flaw::Empty("rx".into())));
        assert_eq!(after(|d| d.transmit[1].queues[0].slots = Some(0)), Err(Flaw::NoRoom("link".into())));
        assert_eq!(after(|d| d.transmit[1].queues[0].slots = Some(1)), Ok(()));
        assert_eq!(after(|d| d.resources[0].servers = 0), Err(Flaw::NoRoom("processor".into())));
        assert_eq!(
            after(|d| d.interface.queues[0].slots = Some(0)),
            Err(Flaw::NoRoom("a command queue".into()))
        );
        let pool = |pool| AdapterBuffers { pool, overload: Overload::Drop };
        for pool in [pool(BufferPool::Shared(0)), pool(BufferPool::PerChannel(0))] {
            assert_eq!(after(|d| d.transmit_buffers = pool), Err(Flaw::NoRoom("buffers".into())));
            assert_eq!(after(|d| d.receive_buffers = pool), Err(Flaw::NoRoom("buffers".into())));
        }
        assert_eq!(after(|d| d.transmit_buffers = pool(BufferPool::Shared(1))), Ok(()));
    }

    #[test]
    fn one_server_of_the_way_out_is_on_the_medium() {
        let on_medium = |stage: &mut Stage| stage.phases[0].medium = true;
        assert_eq!(after(|d| on_medium(&mut d.transmit[1])), Ok(()));
        assert_eq!(after(|d| on_medium(&mut d.receive[0])), Err(Flaw::Medium));
        assert_eq!(after(|d| d.transmit.iter_mut().for_each(on_medium)), Err(Flaw::Medium));
        let several = |d: &mut Description| {
            on_medium(&mut d.transmit[1]);
            d.transmit[1].servers = 2;
        };
        assert_eq!(after(several), Err(Flaw::MediumServers("link".into())));
        assert_eq!(after(|d| d.transmit[1].servers = 2), Ok(()));
        assert!(!good().asks_for_medium());
        let mut asks = good();
        on_medium(&mut asks.transmit[0]);
        assert!(asks.asks_for_medium());
    }

    /// A received frame cannot wait: the first stage may be full only if it then drops; the second
    /// may block the first.
    #[test]
    fn a_frame_does_not_wait_on_the_medium() {
        let slots = |d: &mut Description, n: usize, overload| {
            let queue = &mut d.receive[n].queues[0];
            (queue.slots, queue.overload) = (Some(3), overload);
        };
        assert_eq!(after(|d| slots(d, 0, Overload::Block)), Err(Flaw::Receive("rx".into())));
        assert_eq!(after(|d| slots(d, 0, Overload::Drop)), Ok(()));
        assert_eq!(after(|d| slots(d, 1, Overload::Block)), Ok(()));
        let shared = |overload| AdapterBuffers { pool: BufferPool::Shared(3), overload };
        assert_eq!(
            after(|d| d.receive_buffers = shared(Overload::Block)),
            Err(Flaw::Receive("buffers".into()))
        );
        assert_eq!(after(|d| d.receive_buffers = shared(Overload::Drop)), Ok(()));
        assert_eq!(after(|d| d.transmit_buffers = shared(Overload::Block)), Ok(()));
    }

    /// Every response has a queue; only received packets can be lost at one, and no response waits
    /// for ever.
    #[test]
    fn every_response_has_a_queue() {
        let queue = |answers, slots| ResponseQueue { answers, slots, ..ResponseQueue::default() };
        let (sent, received) = (queue(Answers::Sent, Some(4)), queue(Answers::Received, Some(4)));
        let with = |queues: &[ResponseQueue]| after(|d| d.interface.responses = queues.to_vec());
        assert_eq!(with(&[]), Err(Flaw::Unanswered(true, Class::RealTime)));
        assert_eq!(with(&[sent]), Err(Flaw::Unanswered(true, Class::RealTime)));
        assert_eq!(with(&[received]), Err(Flaw::Unanswered(false, Class::RealTime)));
        assert_eq!(with(&[sent, received]), Ok(()));
        let only = |takes| [ResponseQueue { takes, ..sent }, received];
        assert_eq!(with(&only(REAL_TIME)), Err(Flaw::Unanswered(false, Class::BestEffort)));
        assert_eq!(with(&[queue(Answers::All, Some(0))]), Err(Flaw::NoRoom("a response queue".into())));
        let lossy = |queue| ResponseQueue { overload: Overload::Drop, ..queue };
        assert_eq!(with(&[sent, lossy(received)]), Ok(()));
        assert_eq!(with(&[lossy(sent), received]), Err(Flaw::Answers(0)));
        assert_eq!(with(&[lossy(queue(Answers::All, None))]), Err(Flaw::Answers(0)));
        let first = ResponseQueue { overload: Overload::Priority, ..received };
        assert_eq!(with(&[sent, first]), Err(Flaw::Answers(1)));
        let after_frames = |frames, us| {
            let moderation =
                Moderation { frames: Some(frames), delay: Span::from_us(us), ..Moderation::default() };
            with(&[ResponseQueue { moderation, ..ResponseQueue::default() }])
        };
        assert_eq!(after_frames(8, 0), Err(Flaw::Moderation(0)));
        assert_eq!(after_frames(0, 10), Err(Flaw::NoRoom("a response queue".into())));
        assert_eq!(after_frames(8, 10), Ok(()));
        let waits = |queue: ResponseQueue| {
            after(|d| {
                d.receive.clear();
                d.interface.responses = vec![sent, queue];
            })
        };
        assert_eq!(waits(received), Err(Flaw::Receive("a response queue".into())));
        assert_eq!(waits(lossy(received)), Ok(()));
    }

    /// A stage that selects ahead has a next stage; a frame that has left is not late; and a
    /// replaced packet has a buffer to give.
    #[test]
    fn what_is_chosen_or_given_up_is_there() {
        assert_eq!(after(|d| d.transmit[0].ahead = Some(0)), Ok(()));
        assert_eq!(after(|d| d.transmit[1].ahead = Some(1)), Err(Flaw::Ahead("link".into())));
        assert_eq!(after(|d| d.receive[1].ahead = Some(1)), Err(Flaw::Ahead("up".into())));
        let together = after(|d| (d.receive[0].ahead, d.receive[0].batch) = (Some(1), 2));
        assert_eq!(together, Err(Flaw::Ahead("rx".into())));
        let late = |d: &mut Description, n: usize| {
            d.transmit[0].phases[0].medium = true;
            d.transmit[n].queues[0].late = LatePolicy::Drop;
        };
        assert_eq!((after(|d| late(d, 0)), after(|d| late(d, 1))), (Ok(()), Err(Flaw::Late("link".into()))));
        assert_eq!(after(|d| d.receive[1].queues[0].late = LatePolicy::Drop), Ok(()));
        let important = |order| {
            after(|d| {
                let queue = &mut d.receive[0].queues[0];
                (queue.slots, queue.overload, queue.order) = (Some(2), Overload::Importance, order);
            })
        };
        assert_eq!(important(Order::Edf), Ok(()));
        assert_eq!(important(Order::WeightedFair), Err(Flaw::Importance("rx".into())));
        let pool = |pool, overload| after(|d| d.receive_buffers = AdapterBuffers { pool, overload });
        let reserved = |own, shared| BufferPool::Reserved { own, shared };
        assert_eq!(pool(reserved(Own::Each(1), 0), Overload::Drop), Ok(()));
        assert_eq!(pool(reserved(Own::Contract, 1), Overload::Drop), Ok(()));
        assert_eq!(pool(reserved(Own::Contract, 0), Overload::Drop), Err(Flaw::NoRoom("buffers".into())));
        assert_eq!(pool(reserved(Own::Each(1), 2), Overload::Priority), Err(Flaw::GivesWay));
        assert_eq!(pool(BufferPool::Shared(3), Overload::Importance), Err(Flaw::GivesWay));
        let releases = |pool| {
            after(|d| {
                d.transmit_buffers.pool = pool;
                d.transmit[1].phases[0].releases = true;
            })
        };
        assert_eq!(releases(BufferPool::Shared(1)), Ok(()));
        assert_eq!(releases(BufferPool::Unlimited), Err(Flaw::Releases("link".into())));
    }

    /// A faster processor shortens only work.
    #[test]
    fn a_faster_processor_works_faster() {
        let mut description = good();
        description.transmit[1].phases[0].work = true;
        description.receive[0].phases[0].work = true;
        let faster = description.with_speedup(2.0);
        let fixed = |stages: &[Stage]| stages.iter().map(|s| s.phases[0].delay.fixed).collect::<Vec<_>>();
        assert_eq!(fixed(&faster.transmit), [10, 5].map(Span::from_us));
        assert_eq!(fixed(&faster.receive), [5, 10].map(Span::from_us));
    }

    #[test]
    fn a_phase_is_for_sizes_from_to() {
        let phase = Phase { from: Bytes::new(10), up_to: Some(Bytes::new(20)), ..Phase::default() };
        let applies = [9, 10, 20, 21].map(|size| phase.applies(Bytes::new(size)));
        assert_eq!(applies, [false, true, true, false]);
        assert!(Phase::default().applies(Bytes::ZERO));
    }
}
