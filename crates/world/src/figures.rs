//! The further figures of a run, by name: what belongs to no channel and no resource.

/// Stands before the name of a figure of a simulation that was run beside what was measured in real
/// time.
pub const SIMULATED: &str = "simulated_";

/// A figure's name without the node that stands behind an `@`.
pub fn without_node(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}

/// The name of a figure without the node, and without the mark of a simulation beside it.
pub fn plain(name: &str) -> &str {
    let name = without_node(name);
    name.strip_prefix(SIMULATED).unwrap_or(name)
}

/// Those of `names`, which are in order, that differ in no more than the node, together.
pub fn by_node<'a, 'n>(names: &'a [&'n str]) -> impl Iterator<Item = &'a [&'n str]> {
    names.chunk_by(|a, b| without_node(a) == without_node(b))
}

/// Figures that a run may have; at node `n` past the first with `@n` behind the name, and with
/// `simulated_` before it where programs used emulated adapters and the file's own channels were
/// simulated beside. One that it has not is absent, any other name is a slip. With what each is.
pub const ALL: &[(&str, &str)] = &[
    ("admitted", "channels that a fill admitted"),
    ("fill_stopped", "1 of a fill that was stopped before a copy was refused, so that there may be more"),
    (
        "given_up",
        "1 of a run that was given up before its end: by packets, of which none had come to its end in 16 777 216 events, or by time, which stood still for as many",
    ),
    (
        "too_long",
        "1 of a run by packets that was ended at 720 h of simulated time, the longest for a run, before all of them had come",
    ),
    ("refused", "channels that were refused"),
    ("contracts_held", "contracts that a node holds at the end of the run"),
    ("as_new", "1 of a node that holds at the end what a new node holds, else 0"),
    ("clock_error", "greatest difference of a synchronised clock from that of the reference, in seconds"),
    ("clock_stated", "greatest error that a node stated of its synchronised clock, in seconds"),
    (
        "clock_bound",
        "bound on the stated error with the failures in a row that the run had, in seconds (steady_error)",
    ),
    (
        "term_remaining",
        "seconds that clocks add to the bound of the longest route where remaining time travels, without synchronisation",
    ),
    ("term_deadline", "the same where the deadline travels, by the worst `clock_bound`"),
    (
        "jitter_remaining",
        "bound on the jitter at the end of the longest route where remaining time travels, in seconds",
    ),
    ("jitter_deadline", "the same where the deadline travels"),
    ("signalling_waiting", "signalling messages that waited at a link at a time, at most"),
    (
        "broken_rules",
        "rules of nodes with signalling that the run broke: local deadlines, order, one answer for each request, holdings; a mistake of ours",
    ),
    (
        "exceeded",
        "bounds that were proved for a simulation and that it exceeded: of response times, deliveries, backlogs, jitter, computations and frames in adapters; a mistake of ours",
    ),
    (
        "papers_throughput",
        "throughput in bytes/s by the papers' formula, of messages that follow each other without a pause",
    ),
    ("corrected_throughput", "the same by the corrected formula"),
    (
        "host_stalls",
        "seconds for which the platform kept a host in a thread from running, or others the program of a kernel",
    ),
    ("host_longest_stall", "the longest of that at a time, in seconds"),
    ("socket_drops", "datagrams for which the socket of a kernel's program had no room, over the whole run"),
    ("device_drops", "frames that a TAP device did not take from the adapter, over the whole run"),
    ("token_holdings", "how often the station held the token"),
    ("token_held", "for how long in all, in seconds"),
    ("token_longest_wait", "the longest that it waited for the token, in seconds"),
    ("token_longest_rotation", "the longest between two arrivals of the token, in seconds"),
    ("token_overrun", "for how long it sent past the end of its holding time, in seconds"),
    ("token_longest_overrun", "the longest of that at a time, in seconds"),
    ("csma_attempts", "frames that the station tried to send, each attempt"),
    ("csma_collisions", "attempts that collided"),
    ("csma_given_up", "frames given up after too many collisions"),
    ("csma_longest_access", "the longest from the first attempt to the frame's success, in seconds"),
    ("csma_others_sent", "frames that others on the medium sent"),
    ("csma_others_collisions", "collisions of those"),
    ("network_lost", "frames lost on the way"),
    ("network_corrupted", "frames damaged on the way, which their receiver drops"),
    ("network_duplicated", "frames that came twice"),
    ("network_reordered", "frames that came out of order"),
    ("switch_lost", "frames for which a switch had no room at a port"),
    ("switch_policed", "frames that flow meters of a switch dropped before a port"),
    ("driver_interrupts", "interrupts that the adapter raised"),
    ("driver_lost_interrupts", "those of them that were lost"),
    ("driver_recovered", "responses that the watchdog found without one"),
    ("driver_resets", "how often the driver reset its adapter"),
    ("cpu_left_share", "share of the CPU that receiving leaves to programs, the receiving one included"),
    ("cpu_idle_share", "share of the CPU that nobody uses"),
    (
        "cpu_beside_share",
        "share of the CPU that a program beside a host in a thread got, by the work that it did",
    ),
    ("received_per_second", "packets a second that came in and were delivered, over all channels"),
    (
        "predicted_per_second",
        "the same by thesis Eqs. 7.1 to 7.4, for the policy and load of a single interface",
    ),
    (
        "queueing_throughput_per_second",
        "packets a second that a queue M/M/1/K with vacations delivers, for a single interface that the kernel polls",
    ),
    ("queueing_blocking_share", "share of packets that find no room in the same queue"),
    ("queueing_latency", "mean time that a packet spends in it, in seconds"),
    ("taken_share_importance_0", "share of the packets with importance 0 that programs took"),
    ("taken_share_importance_1", "the same with importance 1"),
    ("taken_share_importance_2", "the same with importance 2"),
    ("taken_share_importance_3", "the same with importance 3"),
    ("taken_share_importance_4", "the same with importance 4"),
    ("taken_share_importance_5", "the same with importance 5"),
    ("taken_share_importance_6", "the same with importance 6"),
    ("taken_share_importance_7", "the same with importance 7"),
    ("interrupts_per_second", "interrupts that the interface's policy let through, a second"),
    ("ticks_per_second", "ticks of the interface's clock that were taken, a second"),
    ("missed_ticks", "ticks that were missed because the thread of the last one was still at work"),
    ("batches_per_second", "batches of commands taken, a second"),
    ("longest_ring", "the most packets that the interface held at once, over the whole run"),
    (
        "send_descriptor_programmed_time",
        "sender: HDMA programmed for the descriptor, mean seconds after the doorbell: Table 1 of the virtual interfaces",
    ),
    (
        "send_descriptor_down_time",
        "sender: descriptor down, mean seconds after the doorbell: Table 1 of the virtual interfaces",
    ),
    (
        "send_data_programmed_time",
        "sender: HDMA programmed for the data, mean seconds after the doorbell: Table 1 of the virtual interfaces",
    ),
    (
        "send_data_down_time",
        "sender: data down, mean seconds after the doorbell: Table 1 of the virtual interfaces",
    ),
    (
        "send_network_done_time",
        "sender: NSDMA done, mean seconds after the doorbell: Table 1 of the virtual interfaces",
    ),
    (
        "send_status_programmed_time",
        "sender: HDMA programmed for the status, mean seconds after the doorbell: Table 1 of the virtual interfaces",
    ),
    (
        "send_status_done_time",
        "sender: status done, mean seconds after the doorbell: Table 1 of the virtual interfaces",
    ),
    (
        "receive_descriptor_programmed_time",
        "receiver: HDMA programmed for the descriptor, mean seconds after the arrival: Table 1 of the virtual interfaces",
    ),
    (
        "receive_descriptor_down_time",
        "receiver: descriptor down, mean seconds after the arrival: Table 1 of the virtual interfaces",
    ),
    (
        "receive_data_programmed_time",
        "receiver: HDMA programmed for the data, mean seconds after the arrival: Table 1 of the virtual interfaces",
    ),
    (
        "receive_data_up_time",
        "receiver: data up, mean seconds after the arrival: Table 1 of the virtual interfaces",
    ),
    (
        "receive_status_programmed_time",
        "receiver: HDMA programmed for the status, mean seconds after the arrival: Table 1 of the virtual interfaces",
    ),
    (
        "receive_status_done_time",
        "receiver: status done, mean seconds after the arrival: Table 1 of the virtual interfaces",
    ),
    (
        "displaced_requests",
        "requests that went behind where their stamps belong, so near the head of a queue that is at work",
    ),
    ("longest_doorbells", "the most doorbells that waited for the adapter's processor"),
    ("longest_hdma_queue", "the most requests that waited for HDMA"),
    ("longest_nsdma_queue", "the most messages that waited for NSDMA"),
    (
        "longest_best_effort_wait",
        "the longest that best effort waited where a rate is set aside for it, or a virtual interface of a group for its turn, in seconds",
    ),
    ("messages_sent", "messages that programs sent through emulated adapters, whose descriptors say so"),
    ("messages_received", "those that programs received"),
    ("messages_lost", "those that found no descriptor, or no room on the way"),
    ("descriptors_in_error", "descriptors that completed in error, those that were flushed not counted"),
    ("left_in_adapter", "messages and doorbells that the adapter had not done with when the run ended"),
    ("driver_backlog", "the most commands that waited for room in a full command queue"),
    (
        "frames_in_adapter",
        "the most frames that had come in at an adapter of stages and were in it at a time",
    ),
    ("frames_possible", "how many there can be, as admission counts them"),
];
