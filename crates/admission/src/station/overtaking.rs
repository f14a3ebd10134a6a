//! Packets that overtake each other between the stages of an adapter with a window.
//!
//! [`super::window`] charges a packet by the slowest cluster of stages where no packet overtakes
//! another. The argument here is for stages whose queues are served in turn, by priority or
//! by deadline, and the number of packets that overtake a packet at queues in turn.
//!
//! # Served by number
//!
//! Count packets instead of naming them. A stage that always serves while a packet waits ends its
//! `j`-th service by
//!
//! ```text
//! d_j = max(d_{j−1}, a_j) + s_j,                                                          (1)
//! ```
//!
//! `a_j` being the `j`-th arrival there, `s_j` the `j`-th service, in whatever order the stage takes
//! packets. The `j`-th arrival is the `j`-th departure of the stage before, and the `j`-th packet is
//! handed over when the window opens for it, by completion `j − D`. These are the relations of a
//! row in which no packet overtakes another, so the path of [`super::window`] holds for numbers.
//! Packets that a stage serves under one number are not those of another stage, so each number is
//! charged as the largest packet:
//!
//! ```text
//! L = max(max_k c_k(S), min(E/(D − 1), (c(S) + E)/D)),   once = E + V L.                   (2)
//! ```
//!
//! The path ends at the number under which the last packet of message `m` leaves. Before it are the
//! packets handed over before it, those of the level that overtake it, which the caller counts, and
//! `V` others. While that packet is in the adapter, the stage that has it is busy. So the path
//! reaches no stage later than that packet does. It ends at the handing over of a packet that was
//! handed over no later, and until then the host has packets of the level to hand over.
//!
//! *Clusters.* The path leaves a cluster of several stages at `v`, the last instant at which the
//! cluster was empty. Look at the last stage that has a packet at an instant after `v`. The stages
//! behind it are empty, so they have a slot for its packet, and the number that it serves is not
//! beyond that of the path. It serves, or waits for a resource that another phase of the cluster
//! holds. So each number of the path pays for all stages of the cluster, once. Beyond these numbers
//! earlier stages serve as many as there are slots and servers behind them. They are charged for what
//! they hold of resources, and for one service; for all services in a cluster of more than two stages.
//!
//! The same is true where the cluster ends with the medium of a token ring. The cluster is not empty
//! after `v`, so the token stays.
//!
//! # In turn
//!
//! Several stages have `Q` equal queues each, and a packet has the same queue at each of them. Each
//! stage takes from its queues in turn. Other stages serve in order of arrival, and every stage
//! finishes in the order in which it took. How many packets of another queue `q` that were fetched
//! after packet `m` does the last of these `K` stages take before `m`?
//!
//! Let `A ≤ D − 1` packets of `m`'s own queue be in the adapter before it when it is fetched. At the
//! last stage, let `y` be the last of them, or `m`, that came when its queue was empty there. From
//! then on the queue is not empty until `m` is taken. Between two of its packets each other queue
//! has one turn. So at most `o + 1` of `q` are taken in that time, if `o` own packets are. Those
//! taken before had left the stage before earlier than `y`, so there they were taken before `y`: go
//! on with `y` there. At the first stage none of `q` is left, for `y` was fetched no later than `m`.
//! No own packet counts at two stages, so
//!
//! ```text
//! Σ_k (o_k + 1) ≤ A + K ≤ D − 1 + K     of each other queue,   V = (Q − 1) (D − 1 + K).    (3)
//! ```
//!
//! Thus a burst in the packet's own queue is paid for once, not at each stage. `F` flows use at most
//! `F` queues, so `Q ≤ F`. Where packets have other queues at each stage, each stage counts by
//! itself, with `K = 1`.

/// `V` of (3): the most packets that overtake one at `stages` in turn, with `others` queues beside
/// its own, if `depth` packets are under way.
pub fn in_turn(depth: u32, others: u64, stages: u64) -> u64 {
    if others == 0 || stages == 0 || depth == 0 {
        return 0;
    }
    others.saturating_mul(u64::from(depth - 1).saturating_add(stages))
}
