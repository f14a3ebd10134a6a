//! Virtual interfaces: user-level networking with bandwidth guarantees, as a library for programs.
//!
//! ```text
//!  program ─┬─ descriptors, doorbells, completions: memory that both see ─┬─▶ adapter (END, another process)
//!           ├─ data: memory that the program has registered ──────────────┤
//!           └─ set-up: a Unix socket ─────────────────────────────────────┘
//! ```
//!
//! The library follows the VI Architecture: names are those of its provider library (VIPL) in Rust
//! style. It adds the [`Bandwidth`] of a virtual interface after Nagar et al. ("Incorporating
//! Quality-of-Service in the Virtual Interface Architecture"). A program [opens](Nic::open) an
//! adapter, [registers](Nic::register) memory with a [protection tag](RegionTag),
//! [creates](Nic::create_vi) a virtual interface, and connects it. It then posts descriptors and
//! polls for completions without a system call. Only a sleeping wait makes one.
//!
//! ```no_run
//! use laxity_vi::{Address, Bandwidth, Descriptor, Nic, ViAttributes};
//! # fn main() -> Result<(), laxity_vi::ViError> {
//! let nic = Nic::open("/run/via/0")?;
//! let tag = nic.create_tag()?;
//! let memory = nic.register(4096, tag, Default::default())?;
//! let rate = Bandwidth::Constant { bytes_per_second: 1_000_000, message: 4096 };
//! let mut vi = nic.create_vi(&ViAttributes { bandwidth: rate, ..ViAttributes::new(tag) })?;
//! vi.connect(Address { host: 1, discriminator: 7 }, None)?;
//! memory.write(0, b"a message");
//! vi.post_send(&Descriptor::send(&[memory.segment(0..9)]))?;
//! let sent = vi.wait_send(None)?;
//! assert!(sent.status.is_done());
//! # Ok(())
//! # }
//! ```
//!
//! **Words of another process are untrusted numbers.** Both sides share plain words. Each is loaded
//! once, as an atomic, and checked before use; no reference points into memory that another process
//! can change. Whatever a process writes at any time leads at worst to a descriptor that completes
//! in error.
//!
//! This crate is independent of simulations and scenarios: it is the library that a program links,
//! and the half of the provider that reads programs' words ([`provider`]).

#![cfg(target_os = "linux")]

mod completion;
mod control;
mod descriptor;
mod doorbell;
mod error;
mod layout;
mod link;
mod memory;
mod nic;
pub mod provider;
mod queue;
mod region;
mod sleeper;
mod socket;
mod state;
mod vi;
mod wait;

pub use completion::{CompletionQueue, MOST_ENTRIES};
pub use control::{Address, Attributes, Bandwidth, Reliability, State, ViFault};
pub use descriptor::{Completion, Descriptor, Operation, Remote, Segment, Status};
pub use doorbell::Which;
pub use error::{ViError, ViRefusal};
pub use layout::{DEPTH, MOST_SEGMENTS};
pub use nic::{ArrivedConnection, Nic};
pub use region::{Access, Region, RegionTag};
pub use sleeper::Sleeper;
pub use vi::{Vi, ViAttributes};
