//! The common part of tests of times worked out by hand.

/// The costs of a host that does everything in no time, as a file has them.
pub(crate) fn free() -> String {
    let costs = [
        "context_switch",
        "cache_miss",
        "first_packet",
        "packet",
        "link_scheduling",
        "hand_over",
        "interrupt",
        "thread_creation",
        "receive_packet",
        "receive_message",
        "send_call",
    ];
    costs.map(|cost| format!("{cost} = \"0 us\"")).join(", ")
}
