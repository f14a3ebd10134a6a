//! The network manager of a node: it establishes, changes and closes channels with the managers of
//! other nodes.
//!
//! [`Manager`] is a component without I/O. Time and messages are arguments, messages and events are
//! polled. It has no clock, socket, thread or global state, and the same inputs give the same
//! outputs. The distributed manager of thesis 3.2.2 is the model: each manager holds only the
//! channels that begin at, pass or end at its node. `docs/design/signalling.md` has the reasons.
//!
//! # Messages
//!
//! Each message goes to a neighbour on the route ([`message`]; as bytes, [`codec`]).
//!
//! | message | direction | says |
//! |---|---|---|
//! | `Ask` | forward | reserve tentatively at the least delay, pass on the balance of the deadline |
//! | `Commit` | back | commit with these local deadlines |
//! | `Refuse` | back | the contract is refused: node, resource, how much is missing, what would be accepted |
//! | `Refresh` | forward | the contract is in use: renew the lease, end every other contract but one that is named |
//! | `Refreshed` | back | the refresh came to the destination |
//! | `Release` | forward | the channel is over; carries the route |
//! | `Released` | back | the release came to the destination |
//! | `Unknown` | either | the sender does not hold the contract: the path is broken there |
//! | `Left` | back | the same, since the receiver has left the channel |
//!
//! # States
//!
//! The source drives the channel. Every other node has soft state, which a lease ends.
//!
//! | at the source | input | then | program is notified |
//! |---|---|---|---|
//! | – | `open` | opening: `Ask` | |
//! | opening | timer | opening: `Ask` again, with backoff and jitter | |
//! | opening | `Commit` | established: `Refresh` | `Established` |
//! | opening | `Refuse` | – | `Refused` |
//! | opening | patience is over | closing | `Refused` |
//! | established | `change` | established, changing: `Ask` for the next version | |
//! | established, changing | `Commit` | established, retiring the old version | `Changed` |
//! | established, changing | `Refuse`, patience is over | established: `Refresh` | `ChangeRefused` |
//! | established, retiring | last old message is delivered | established: `Refresh` ends the old version | |
//! | established | `Unknown`, `Left`, no answer for a lease | closing: `Release` | `Lost` |
//! | opening, established | `close`, lease of the program is over | closing: `Release` | `Closed` at the end |
//! | closing | timer | closing: `Release` again | |
//! | closing | `Released`, patience is over | – | `Closed` if it is due |
//!
//! | at a node, per version | input | then |
//! |---|---|---|
//! | – | `Ask` that fits | tentative; at the destination committed, which answers |
//! | – | `Ask` that does not fit | –: `Refuse` |
//! | tentative | `Commit` | committed |
//! | tentative, committed | `Refuse`, `Release`, `Unknown`, `Left`, `Refresh` that does not name it, end of the lease, newer epoch of the source | – |
//! | committed | `Refresh` that names it | committed for another lease; the receiver is notified of `Opened` once |
//!
//! Within a node, on a route of that node alone, source and destination are one: no message is sent,
//! each outcome is there at once, and no lease has to be renewed.
//!
//! # Invariants
//!
//! The simulation (feature `simulation`) checks them on random networks at every step:
//!
//! 1. A node has a reservation for each contract that it holds, and no other. After release,
//!    refusal or lease it equals a node that never heard of the channel.
//! 2. Reservations together fit into the node, and their sums equal those of admission from
//!    scratch. The local deadlines and the time between the nodes are within the end-to-end
//!    deadline.
//! 3. Both ends agree in the end, and a program is notified of each outcome exactly once.
//! 4. A request ends within [`settings::Settings::request_ends`]. The holdings of a dead node or
//!    program are free within [`settings::Settings::all_free`]. Each table has a bound.

pub mod bound;
pub mod codec;
pub mod contract;
pub mod division;
pub mod event;
pub mod exact;
#[doc(hidden)]
pub mod faults;
pub mod identity;
pub mod message;
pub mod quota;
pub mod refusal;
pub mod resources;
pub mod routes;
pub mod settings;
pub mod tables;

mod call;
mod counters;
mod elapsed;
mod ended;
mod hop;
mod manager;
#[cfg(feature = "simulation")]
pub mod simulation;

pub use counters::ManagerCounters;
pub use manager::{HeldContract, Jitter, Manager};
