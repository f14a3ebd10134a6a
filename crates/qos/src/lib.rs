//! The data path: traffic contracts, scheduling disciplines, reception policies and the
//! communication subsystem that enforces contracts. The proofs that a contract can be kept are in
//! `laxity-admission`.
//!
//! The crate reads no clock, does not sleep, draws no random number and opens no socket. Time is an
//! argument, and the subsystem only *decides* the next step; a driver (simulated or real) pays for
//! it. Simulation and service run the same scheduling code.
//!
//! # Embedding
//!
//! A driver gets the next step, does it, and reports its end. Here a step takes a fixed time; a
//! service does the work and reads its own clock.
//!
//! ```
//! use laxity_qos::channel::{
//!     Block, ChannelConfig, Config, CoreId, LinkConfig, LinkParadigm, Order, Oversize, Preemption, Processing,
//!     Slots, Step, Subsystem, TakenPacket,
//! };
//! use laxity_qos::costs::LinkCosts;
//! use laxity_qos::discipline::EarlyPolicy;
//! use laxity_qos::traffic::TrafficSpec;
//! use laxity_units::{Bytes, Span, Time};
//!
//! let packet = Bytes::new(1500);
//! let block = Block::Packets(2);
//! let order = Order::MultiClassEdf;
//! let early = EarlyPolicy::HOLD;
//! let mut subsystem = Subsystem::new(Config {
//!     cores: 1,
//!     processing: Processing::PerChannel,
//!     order,
//!     early,
//!     preemption: Preemption { real_time: block, early: block, best_effort: block, immediate: false },
//!     link: LinkConfig {
//!         paradigm: LinkParadigm::O1,
//!         core: CoreId::FIRST,
//!         order,
//!         early,
//!         depth: 1,
//!         launch: None,
//!         speed: LinkCosts::default(),
//!         frame: Span::ZERO,
//!     },
//!     packet,
//!     enforcement: true,
//!     oversize: Oversize::Intervals,
//! });
//! let contract = TrafficSpec {
//!     max_message: Bytes::new(6000),
//!     min_message: Bytes::new(1500),
//!     burst: 1,
//!     min_interval: Span::from_ms(10),
//! };
//! let camera = subsystem.open(ChannelConfig::real_time(contract, Span::from_ms(5), packet))?;
//! let bulk = subsystem.open(ChannelConfig::best_effort(Bytes::new(6000), 1, packet))?;
//!
//! let (core, mut now, mut packets) = (CoreId::FIRST, Time::ZERO, Slots::default());
//! subsystem.send(now, bulk, Bytes::new(6000))?;
//! subsystem.send(now, camera, Bytes::new(6000))?;
//! let mut order = Vec::new();
//! loop {
//!     let mut on_link = match subsystem.next_step(core, now) {
//!         Step::Idle => break,
//!         Step::Process { .. } => {
//!             now += Span::from_us(10);
//!             subsystem.finish(core, now, &mut packets);
//!             None
//!         }
//!         Step::Transmit { packet, .. } => Some(packet),
//!         other => unreachable!("{other:?} is of other hosts"),
//!     };
//!     // The adapter sends the packet and interrupts; under `O1` the interrupt hands over the next one.
//!     while let Some(slot) = on_link.take() {
//!         let packet = packets.take(slot);
//!         order.push(packet.channel);
//!         now += Span::from_us(120);
//!         subsystem.transmitted(core, now, &packet);
//!         if let TakenPacket::Packet(next) = subsystem.interrupt_transmit(core, now) {
//!             on_link = Some(next);
//!         }
//!     }
//! }
//! assert_eq!(order, [[camera; 4], [bulk; 4]].concat());
//! # Ok::<(), laxity_qos::channel::Misuse>(())
//! ```

pub mod ahead;
mod by_channel;
pub mod channel;
pub mod costs;
pub mod discipline;
pub mod few;
pub mod fragment;
pub mod limits;
mod names;
mod packet;
mod paradigm;
pub mod reception;
pub mod seldom;
pub mod short_queue;
mod tag;
pub mod token_bucket;
pub mod traffic;
pub mod virtual_clock;
pub mod wire;
