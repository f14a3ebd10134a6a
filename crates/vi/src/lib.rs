//! Virtual interfaces: user-level networking with bandwidths, as a library that programs use.
//!
//! ```text
//!  program ─┬─ descriptors, doorbells, completions: memory that both see ─┬─▶ adapter (END, another process)
//!           ├─ data: memory that the program has registered ──────────────┤
//!           └─ set-up: a Unix socket ─────────────────────────────────────┘
//! ```
//!
//! After the VI Architecture, whose provider library (VIPL) the names follow in Rust's manner, with what Nagar et al.
//! ("Incorporating Quality-of-Service in the Virtual Interface Architecture") add: a [`Bandwidth`] when a virtual interface is
//! created. A program [opens](Nic::open) an adapter, [registers](Nic::register) memory with a [protection tag](Tag), [creates](Nic::create_vi)
//! a virtual interface, connects it, and then posts descriptors and looks for their completion without a system call. Only a
//! wait that sleeps makes one.
//!
//! ```no_run
//! use laxity_vi::{Address, Bandwidth, Descriptor, Nic, ViAttributes};
//! # fn main() -> Result<(), laxity_vi::Error> {
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
//! **What another process wrote is a number until it was looked at.** Both sides share plain words; each is loaded once, as an
//! atomic, and checked before it is used, and nothing here is ever a reference into what another process can change. So whatever it
//! writes, at whatever time, is at worst a descriptor that completes in error.
//!
//! This crate knows nothing of simulations and scenarios: it is what a program links, and the half of the provider that reads what
//! programs wrote ([`provider`]).

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
pub use control::{Address, Attributes, Bandwidth, Fault, Reliability, State};
pub use descriptor::{Completion, Descriptor, Operation, Remote, Segment, Status};
pub use doorbell::Which;
pub use error::{Error, Refusal};
pub use layout::{DEPTH, MOST_SEGMENTS};
pub use nic::{Arrived, Nic};
pub use region::{Access, Region, Tag};
pub use sleeper::Sleeper;
pub use vi::{Vi, ViAttributes};
