//! The Ancor VME CIM 250, a Fiber Channel adapter of 1993 (thesis §5.1), and its two improvements
//! (§5.2).
//!
//! ```text
//!  host                     CIM
//!  write          ──▶  set up
//!                 ◀──  write ack, interrupt
//!  address list   ──▶  DMA of the segments, on the memory bus
//!                      Fiber Channel begins, beside the bus:
//!                 ◀──  address ack, interrupt
//!                      … then the rest of its overhead and the frames, which take the bus from a DMA in progress
//!                 ◀──  transmit ack, interrupt
//! ```
//!
//! The thesis measures `M_overhead`, the cost of a message beside DMA and Fiber Channel, as one sum
//! of host and adapter. Here the host pays its part itself, so the adapter has the rest. One number
//! in the thesis divides it: until the address ack, DMA left out, a small message takes about 1220
//! us of the 1280 us (§5.1.3.1). The remainder is a response and its interrupt, so a response costs
//! at most 60 us, and the two commands share the rest. That was measured on the device and the sum
//! on END, so it is only a hint: equal shares for all five crossings give a response 190 us.
//! `experiments/emulated-adapter/t5-split.toml` sweeps the split.
//!
//! When DMA is done, Fiber Channel is started and then the address ack is sent (Figure 5.3:
//! `Xmit.do()` is first): Fiber Channel's overhead runs from the end of the DMA, even if the
//! processor delays the ack. At depth 1 that hides the ack, and a message takes that much less than
//! Eq. 5.2. The ack goes before commands at the processor, which is not preemptible. Fiber Channel
//! would wait for the ack only if the ack waited for longer than the third of the overhead that
//! needs no bus, which takes a command and several responses at once.

use laxity_qos::costs::LinkCosts;
use laxity_units::{ByteTime, Bytes, Span};

use super::{
    AdapterBuffers, CommandQueue, Delay, Description, HostSide, Notification, PROCESSOR, Phase,
    QueueSelection, Resource, ResponseQueue, Stage, Tells,
};

/// Messages that the adapter keeps account of at once: far more than any host has outstanding.
const SEQUENCES: u32 = 64;

/// The parameters of thesis Table 5.1, and what can be improved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cim250 {
    /// The adapter's part of a command crossing the interface.
    pub command: Span,
    /// The same for a response.
    pub response: Span,
    /// `D_segsize`: bytes per DMA segment.
    pub dma_segment: Bytes,
    /// `D_overhead`: per DMA segment.
    pub dma_overhead: Span,
    /// `D_byte^small`: per byte up to `S_small`.
    pub dma_byte_small: Span,
    /// `S_small`.
    pub small: Bytes,
    /// `D_byte^large`: per byte past `S_small`.
    pub dma_byte_large: Span,
    /// `F_overhead`: Fiber Channel's overhead per message.
    pub fc_overhead: Span,
    /// The part of `F_overhead` that needs no memory bus: a third.
    pub fc_overlap: Span,
    /// `F_framesize`.
    pub fc_frame: Bytes,
    /// `F_framedelay`: per frame begun.
    pub fc_frame_delay: Span,
    /// The interface to the host.
    pub interface: HostInterface,
    /// The adapter's memory.
    pub memory: BufferMemory,
}

/// How a message is negotiated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostInterface {
    /// As built: two commands and three responses, and the second command waits for the first response.
    Full,
    /// Simplified (§5.2.1): the host names the transaction itself, so there is no initialization;
    /// one command has all, and the adapter answers when all is done.
    Simple,
}

/// How many buses lead to the adapter's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BufferMemory {
    /// One, which DMA and Fiber Channel share.
    Shared,
    /// Two banks with a bus each (§5.2.2), so that DMA and Fiber Channel go on side by side.
    Dual,
}

impl Cim250 {
    /// The adapter in the terms of every other.
    pub fn description(&self) -> Description {
        let resource = |name: &str, preemptive| Resource {
            name: name.into(),
            servers: 1,
            preemptive,
            urgent: false,
            host: false,
            bus: None,
        };
        let mut resources = vec![resource("processor", false), resource("bus", true)];
        let host_bus = 1;
        let network_bus = match self.memory {
            BufferMemory::Shared => host_bus,
            BufferMemory::Dual => {
                resources.push(resource("network-bus", true));
                2
            }
        };
        let work = |time, tells| Phase {
            delay: Delay::fixed(time),
            holds: vec![PROCESSOR],
            work: true,
            tells,
            ..Phase::default()
        };
        let command = work(self.command, Tells::Nothing);
        let response = |tells| work(self.response, tells);
        let full = self.interface == HostInterface::Full;
        let address_ack = || full.then(|| response(Tells::Progress));
        let dma = Phase {
            delay: Delay {
                segment: self.dma_segment,
                per_segment: self.dma_overhead,
                per_byte: ByteTime::of(self.dma_byte_small),
                knee: self.small,
                per_byte_past: ByteTime::of(self.dma_byte_large),
                ..Delay::default()
            },
            holds: vec![host_bus],
            priority: 1,
            ..Phase::default()
        };
        let beside_the_bus =
            Phase { delay: Delay::fixed(self.fc_overlap), since_service: true, ..Phase::default() };
        let on_the_bus = Phase {
            delay: Delay {
                fixed: self.fc_overhead.saturating_sub(self.fc_overlap),
                segment: self.fc_frame,
                per_segment: self.fc_frame_delay,
                ..Delay::default()
            },
            holds: vec![network_bus],
            medium: true,
            ..Phase::default()
        };
        let write = match self.interface {
            HostInterface::Full => vec![command.clone(), response(Tells::Handshake), command.clone()],
            HostInterface::Simple => vec![command.clone()],
        };
        let read = match self.interface {
            HostInterface::Full => vec![response(Tells::Handshake), command],
            HostInterface::Simple => vec![command],
        };
        let send = address_ack().into_iter().chain([beside_the_bus, on_the_bus]);
        let store = [dma.clone()].into_iter().chain(address_ack());
        Description {
            interface: HostSide {
                queues: vec![CommandQueue::default()],
                selection: QueueSelection::Priority,
                doorbell: Span::ZERO,
                poll: None,
                notification: Notification::Interrupt,
                responses: vec![ResponseQueue::default()],
            },
            resources,
            transmit: vec![
                stage("interface", SEQUENCES, write),
                stage("dma", 1, vec![dma]),
                stage("fc", 1, send.collect()),
                stage("completion", 1, vec![response(Tells::Nothing)]),
            ],
            receive: vec![
                stage("interface", SEQUENCES, read),
                stage("dma", 1, store.collect()),
                stage("completion", 1, vec![response(Tells::Nothing)]),
            ],
            transmit_buffers: AdapterBuffers::default(),
            receive_buffers: AdapterBuffers::default(),
            transmit_policing: None,
            receive_policing: None,
            link: LinkCosts::default(),
        }
    }
}

fn stage(name: &str, servers: u32, phases: Vec<Phase>) -> Stage {
    Stage { name: name.into(), servers, phases, ..Stage::default() }
}

#[cfg(test)]
mod tests {
    use laxity_qos::channel::{Carried, ChannelId, Packet};
    use laxity_qos::discipline::{Class, Tag};
    use laxity_qos::virtual_clock::Vtick;
    use laxity_units::Time;

    use super::*;
    use crate::adapter::{Adapter, AdapterOutput, AdapterResponse, Pipeline};
    use crate::told::Told;

    /// Thesis Table 5.1 with round numbers: a command 400, a response 30; DMA of 1024 B in segments
    /// of 256 B takes 4 · 2 + 512 · 1 + 512 · 0.5 = 776; Fiber Channel 300, a third of it beside
    /// the bus, and 2 frames of 512 B at 50 each.
    const CIM: Cim250 = Cim250 {
        command: Span::from_us(400),
        response: Span::from_us(30),
        dma_segment: Bytes::new(256),
        dma_overhead: Span::from_us(2),
        dma_byte_small: Span::from_us(1),
        small: Bytes::new(512),
        dma_byte_large: Span::from_ns(500),
        fc_overhead: Span::from_us(300),
        fc_overlap: Span::from_us(100),
        fc_frame: Bytes::new(512),
        fc_frame_delay: Span::from_us(50),
        interface: HostInterface::Full,
        memory: BufferMemory::Shared,
    };

    fn packet(message: u64) -> Packet {
        let at = Time::ZERO;
        let tag = Tag {
            class: Class::BestEffort,
            logical_arrival: at,
            deadline: Time::MAX,
            tick: Vtick::NONE,
            level: 31,
        };
        let (channel, size) = (ChannelId(0), Bytes::new(1024));
        let (due_from, sent, created, handed) = (at, at, at, at);
        Packet {
            channel,
            message,
            index: 0,
            count: 1,
            size,
            message_size: size,
            tag,
            due_from,
            sent,
            created,
            handed,
            carried: Carried::NOTHING,
        }
    }

    /// Responses with their times, for packets handed over at 0 and answered at once, and for one
    /// received packet.
    fn told(cim: &Cim250, packets: u64, received: bool) -> Vec<(u64, &'static str)> {
        let pipeline = Adapter::Pipeline(Box::new(Pipeline::new(cim.description())));
        let mut adapter = Told::new(pipeline);
        adapter.own_the_link();
        for message in 0..packets {
            assert!(adapter.transmit(Time::ZERO, &packet(message)), "there is room");
        }
        if received {
            adapter.receive(Time::ZERO, &packet(9));
        }
        let mut told = Vec::new();
        while let Some(now) = adapter.next_deadline() {
            adapter.timer(now);
            while let Some(output) = adapter.poll_output() {
                let what = match output {
                    AdapterOutput::Response(AdapterResponse::Handshake(packet)) => {
                        adapter.proceed(now, &packet);
                        "write ack"
                    }
                    AdapterOutput::Response(AdapterResponse::Progress(_)) => "address ack",
                    AdapterOutput::Response(AdapterResponse::Transmitted(_)) => "transmit ack",
                    AdapterOutput::Response(AdapterResponse::Received(_)) => "read ack",
                    AdapterOutput::Frame { .. } => "frame",
                    _ => continue,
                };
                told.push((now.since(Time::ZERO).as_ps() / 1_000_000, what));
            }
        }
        told
    }

    /// Command 400, write ack 430, addresses 830, DMA 1606, address ack 1636, which hides 30 of the
    /// 100 beside the bus: 1706, then 200 + 100 on it: 2006, and the transmit ack 2036.
    #[test]
    fn a_message_is_negotiated_moved_and_sent() {
        let expected = [(430, "write ack"), (1636, "address ack"), (2006, "frame"), (2036, "transmit ack")];
        assert_eq!(told(&CIM, 1, false), expected);
    }

    /// Write 400 and 830, addresses 1230 and 1660 (a write ack of 30 before each pair), so DMA ends
    /// at 1230 + 776 = 2006, when the processor has the third message's write, until 2060: the ack
    /// is at 2090. Fiber Channel began at 2006 and is on the bus from 2106 to 2406.
    #[test]
    fn fiber_channel_does_not_wait_behind_the_address_ack() {
        let told = told(&CIM, 3, false);
        let first = |what| told.iter().find(|(_, other)| *other == what).map(|(at, _)| *at);
        assert_eq!((first("address ack"), first("frame")), (Some(2090), Some(2406)), "{told:?}");
    }

    /// Commands and responses are work of the processor, which a faster one would do in less; DMA
    /// and frames are not.
    #[test]
    fn what_holds_the_processor_is_its_work() {
        let Description { transmit, receive, .. } = CIM.description();
        let phases = || transmit.iter().chain(&receive).flat_map(|stage| &stage.phases);
        assert!(phases().all(|phase| phase.work == (phase.holds == [PROCESSOR])));
        // Two commands and three responses to send, a command and three responses to receive.
        assert_eq!((phases().filter(|phase| phase.work).count(), phases().count()), (9, 13));
    }

    /// One command, no acks but the last: 400 + 776 + 100 + 300 = 1576, and 30.
    #[test]
    fn the_simple_interface_has_one_command() {
        let simple = Cim250 { interface: HostInterface::Simple, ..CIM };
        assert_eq!(told(&simple, 1, false), [(1576, "frame"), (1606, "transmit ack")]);
    }

    /// The second message's DMA begins when the first's is done, at 1176; its command was, at 800.
    /// With one bus the first's frames take that from 1276 to 1576, so the DMA ends at 1176 + 776 +
    /// 300 = 2252; with two it goes on until 1952. Then 100 beside the bus and 300 on it.
    #[test]
    fn two_memories_do_not_wait_for_each_other() {
        let simple = Cim250 { interface: HostInterface::Simple, ..CIM };
        let frames = |memory| {
            let told = told(&Cim250 { memory, ..simple.clone() }, 2, false);
            told.into_iter().filter(|(_, what)| *what == "frame").map(|(at, _)| at).collect::<Vec<_>>()
        };
        assert_eq!(frames(BufferMemory::Shared), [1576, 2252 + 100 + 300]);
        assert_eq!(frames(BufferMemory::Dual), [1576, 1952 + 100 + 300]);
    }

    /// Read ack 30, its command 430, DMA 1206, address ack 1236, and the last 1266. The simple
    /// interface has the command and the last: 400 + 776 + 30.
    #[test]
    fn a_frame_is_received_the_same_way() {
        let expected = [(30, "write ack"), (1236, "address ack"), (1266, "read ack")];
        assert_eq!(told(&CIM, 0, true), expected);
        let simple = Cim250 { interface: HostInterface::Simple, ..CIM };
        assert_eq!(told(&simple, 0, true), [(1206, "read ack")]);
    }
}
