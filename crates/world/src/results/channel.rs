//! The record of a channel, and the one table of its numbers.
//!
//! A number that no output prints is as good as not measured, and a number with two names looks
//! like two numbers. A field is therefore declared once, with its properties for all outputs, and
//! [`FIELDS`](Channel::FIELDS) is made from the declaration. Columns of tables, figures' axes,
//! columns of the Parquet file, names in the JSON file, fields of claims and the words of the
//! glossary are made from it. A new field needs a line here, and its measurement.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::field::{Field, Read, asks, column, distribution, messages, number, packets, words};
use super::{ChannelColumn, Kind, RefusedChannel, Summary};

/// Declares a record and the table of its fields from the same lines.
macro_rules! record {
    ($(#[$of:meta])* $record:ident { $($(#[$about:meta])* $name:ident: $type:ty = $spec:expr;)* }) => {
        $(#[$of])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        pub struct $record {
            $($(#[$about])* pub $name: $type,)*
        }

        impl $record {
            /// Every field, in the order of the record.
            pub const FIELDS: &[Field] = &[
                $(Field { name: stringify!($name), spec: $spec, read: |record| record.$name.read() },)*
            ];
        }
    };
}

/// Where the tail is, to the last transmission.
const LATENCY_PERCENTILES: [(&str, ChannelColumn); 5] = [
    ("deviation", column("jitter", 9, 9).in_full()),
    ("p50", column("latency p50", 10, 9).in_full()),
    ("p99", column("latency p99", 11, 9).in_full()),
    ("p999", column("latency p99.9", 12, 9).in_full()),
    ("p9999", column("latency p99.99", 13, 9).in_full()),
];

/// Where it is to the receiver.
const DELIVERY_PERCENTILES: [(&str, ChannelColumn); 4] = [
    ("p50", column("delivery p50", 14, 9).in_full()),
    ("p99", column("delivery p99", 15, 9).in_full()),
    ("p999", column("delivery p99.9", 16, 9).in_full()),
    ("p9999", column("delivery p99.99", 17, 9).in_full()),
];

/// Where it is from a message to the last answer.
const RESPONSE: [(&str, ChannelColumn); 2] =
    [("p50", column("exchange p50", 27, 9).in_full()), ("p99", column("exchange p99", 27, 9).in_full())];

/// How long a program waits for a channel.
const ESTABLISHMENT: [(&str, ChannelColumn); 1] = [("p50", column("establishment p50", 49, 3))];

record! {
    /// The request, the promise and the results of one channel.
    Channel {
        /// Name in the file.
        name: String = words();
        /// `real_time` or `best_effort`.
        class: String = words();
        /// Reserved rate `R_max × M_max`, bytes per second; `None` for best effort.
        reserved: Option<f64> = number(Kind::Rate, "reserved rate", column("reserved", 2, 6));
        /// End-to-end deadline from the logical arrival to delivery (to the end of the last
        /// transmission where no host receives), seconds; `None` for best effort.
        deadline: Option<f64> = number(Kind::Time, "deadline", column("deadline", 20, 0));
        /// The bound in force on the response time (completion − logical arrival), seconds.
        bound: Option<f64> = number(Kind::Time, "bound on the response time", column("bound", 23, 0));
        /// The papers' formula for the same bound, where it differs from the one in force.
        bound_papers: Option<f64> = number(Kind::Time, "bound by the papers' formula", column("papers' bound", 24, 7));
        /// The result of admission, if it did not admit a channel that asks for a deadline.
        #[serde(default)]
        refused: Option<RefusedChannel> = words();
        /// Why a channel that asks for a deadline has no bound; empty if it has one, or asks for
        /// none.
        #[serde(default)]
        no_bound: String = words();
        /// Worst response time seen, over the *whole* run, warm-up included: a bound admits no
        /// exception.
        worst: Option<f64> = number(Kind::Time, "worst response time", column("worst", 21, 0));
        /// Worst response time that an attack has found, seconds; `None` if there was none.
        #[serde(default)]
        worst_found: Option<f64> = number(Kind::Time, "worst response time that an attack found", column("worst found", 22, 0));
        /// Bytes per second the source offered in the window.
        offered: f64 = number(Kind::Rate, "offered load", column("offered", 1, 4));
        /// Bytes per second in packets that left the last link of the way in the window, or came to
        /// their program at interfaces and virtual interfaces; what a receiver then lost is in it,
        /// for which see `delivered`.
        throughput: f64 = number(Kind::Rate, "throughput", column("throughput", 3, 1));
        /// Bytes per second in messages that reached their end whole in the window: the program
        /// that takes them, the host where there is none, or the end of the last link without a
        /// receiver. All of a message counts when its last byte is there.
        #[serde(default)]
        goodput: f64 = number(Kind::Rate, "goodput", column("goodput", 3, 9).in_full());
        /// Messages offered in the window.
        messages: u64 = messages("messages offered", column("messages", 30, 9).in_full());
        /// Messages completed in the window.
        completed: u64 = messages("messages completed", column("completed", 31, 9).in_full());
        /// Packets transmitted in the window.
        packets: u64 = packets("packets transmitted", column("packets", 34, 9).in_full());
        /// Packets transmitted past their deadline in the window.
        missed_packets: u64 = packets("packets past their deadline", column("missed", 6, 2).of_deadlines());
        /// Messages of which the last transmission ended after their deadline, in the window.
        missed_messages: u64 = messages("messages past their deadline", column("late messages", 35, 9).of_deadlines().in_full());
        /// Messages that were late in the run, and not in the window: completed or delivered before
        /// it opened or after it closed.
        #[serde(default)]
        late_outside: u64 = messages("messages past their deadline outside the window", column("late outside", 36, 9).of_deadlines().in_full());
        /// Messages sent within their contract in the window of which the deadlines lie in the run,
        /// or which were lost or dropped in it other than by impairments. `None` without a deadline,
        /// and if there are none.
        #[serde(default)]
        due_messages: Option<u64> = messages("messages due within their contract", column("due", 37, 9).in_full());
        /// Those among them that were late, lost, dropped or incomplete, except those that were dropped
        /// behind messages of the channel beyond its contract. If they are more than `impaired_messages`,
        /// they fail the run unless the file says `misses = "expected"`.
        #[serde(default)]
        failed_messages: Option<u64> = messages("messages late or lost within their contract", column("failed", 37, 9).in_full());
        /// Those among them of which a network took a packet by its `impairments`, and which are expected.
        #[serde(default)]
        impaired_messages: u64 = messages("failed messages of which impairments of a network took a packet", column("failed, impaired", 37, 9).in_full());
        /// The share of `due_messages` that were delivered (transmitted whole, where no host
        /// receives) by their deadline.
        #[serde(default)]
        on_time: Option<f64> = number(Kind::Share, "messages by their deadline, of those sent within their contract", column("on time", 6, 1).of_deadlines());
        /// Whether the scenario expects missed deadlines of the channel: else they fail the run.
        #[serde(default)]
        misses_expected: bool = words();
        /// What was dropped in the window, by cause (`message_queue`, `packet_queue` …): messages
        /// that found no place, and packets of messages that lost some.
        drops: BTreeMap<String, u64> = words();
        /// Messages given up at their receiver in the window, since a packet was lost on the way:
        /// where, `drops` and `lost_packets` say.
        #[serde(default)]
        incomplete: u64 = messages("messages given up for want of a packet", column("incomplete", 37, 9).in_full());
        /// Packets in the window that found no place in a host's queues, with those of messages
        /// that found none, and those that the sending adapter lost; messages dropped at their end
        /// for want of a place with their program (`program_queue`) are in `drops` only.
        dropped_packets: u64 = packets("packets dropped", column("dropped", 4, 3));
        /// Packets lost by an adapter or on the way in the window.
        #[serde(default)]
        lost_packets: u64 = packets("packets lost by an adapter or on the way", column("lost", 5, 3).if_any());
        /// Those among them that a network lost by its `impairments`, which no host could help.
        #[serde(default)]
        impaired_packets: u64 = packets("packets lost by impairments of a network", column("impaired", 5, 9).in_full());
        /// Messages that reached their receiver whole in the window; `None` without a receiver.
        #[serde(default)]
        delivered: Option<u64> = messages("messages received whole", column("delivered", 32, 9).in_full());
        /// Those among them that came after their deadline.
        #[serde(default)]
        delivered_late: Option<u64> = messages("messages received past their deadline", column("delivered late", 33, 4).if_any());
        /// The bound in force on delivery − logical arrival, seconds; `None` without a receiver.
        #[serde(default)]
        delivery_bound: Option<f64> = number(Kind::Time, "bound on the time to delivery", column("delivery bound", 27, 7));
        /// Worst delivery − logical arrival seen of a message with a guarantee, over the *whole*
        /// run.
        #[serde(default)]
        delivery_worst: Option<f64> = number(Kind::Time, "worst time to delivery", column("delivery worst", 26, 7));
        /// The worst time to delivery that an attack has found, seconds; `None` if there was none.
        #[serde(default)]
        delivery_found: Option<f64> = number(Kind::Time, "worst time to delivery that an attack found", column("delivery found", 26, 7));
        /// Delivery − logical arrival for real time, − actual arrival for best effort, seconds.
        #[serde(default)]
        delivery: Option<Summary> = distribution("time to delivery", &DELIVERY_PERCENTILES);
        /// The most packets with a guarantee that were at a station at a time, where that came
        /// closest to the bound; `None` if there is none.
        #[serde(default)]
        backlog: Option<u64> = packets("packets at a station at a time", column("backlog", 38, 9).in_full());
        /// The bound on it there: with that number of buffers none is lost.
        #[serde(default)]
        backlog_bound: Option<u64> = packets("bound on the packets at a station at a time", column("backlog bound", 39, 9).in_full());
        /// The longest delay of the run less the shortest of the window, seconds; `None` without a
        /// request for a jitter.
        #[serde(default)]
        delay_jitter: Option<f64> = number(Kind::Time, "longest delay less the shortest", column("delay jitter", 28, 7));
        /// The bound on it, seconds.
        #[serde(default)]
        delay_jitter_bound: Option<f64> = number(Kind::Time, "bound on the longest delay less the shortest", column("delay jitter bound", 28, 7));
        /// From the logical arrival of the first message of an exchange to the delivery of the last answer,
        /// seconds; in a closed loop from the delivery of the round before, which is the time of a round.
        /// `None` for a channel that answers no other, or begins the rounds of a loop.
        #[serde(default)]
        response: Option<Summary> = distribution("time to an answer of messages", &RESPONSE);
        /// The longest of them in the *whole* run, seconds.
        #[serde(default)]
        response_worst: Option<f64> = number(Kind::Time, "worst time to an answer of messages", column("exchange worst", 27, 3));
        /// The longest of them that an attack has found, seconds; `None` if there was none.
        #[serde(default)]
        response_found: Option<f64> = number(Kind::Time, "worst time to an answer that an attack found", column("exchange found", 27, 3));
        /// The bound on it, seconds.
        #[serde(default)]
        response_bound: Option<f64> = number(Kind::Time, "bound on the time to an answer of messages", column("exchange bound", 27, 3));
        /// The mean time of a round of a closed loop from the beginning of the run on, seconds; of the
        /// channel that ends the rounds.
        #[serde(default)]
        round_mean: Option<f64> = number(Kind::Time, "mean time of a round", column("round mean", 27, 4));
        /// The bound on it, seconds.
        #[serde(default)]
        round_bound: Option<f64> = number(Kind::Time, "bound on the mean time of a round", column("round bound", 27, 4));
        /// When a closed loop stopped for ever, seconds: one of its messages was lost. Of the channel that
        /// ends the rounds. Fails the run unless the scenario expects missed deadlines of that channel.
        #[serde(default)]
        round_stopped: Option<f64> = number(Kind::Time, "when a closed loop stopped", column("stopped", 27, 1));
        /// The bound on the share of messages that networks lose; `None` without a request.
        #[serde(default)]
        lost_bound: Option<f64> = number(Kind::Share, "bound on the share of messages that networks lose", column("loss bound", 28, 9).in_full());
        /// The bound on the share of messages that are late or dropped, for a channel that accepts
        /// some.
        #[serde(default)]
        late_bound: Option<f64> = number(Kind::Share, "bound on the share of late messages", column("late bound", 28, 9).in_full());
        /// Mean jitter duration, seconds: the excess of the time since the message before over the
        /// negotiated inter-arrival time of its virtual interface. The mean is over all messages,
        /// with zero for those without an excess; `None` without a negotiation.
        #[serde(default)]
        jitter_duration: Option<f64> = number(Kind::Time, "mean jitter duration", column("jitter duration", 28, 7));
        /// θ: mean jitter duration / negotiated inter-arrival time.
        #[serde(default)]
        jitter_fraction: Option<f64> = number(Kind::Share, "jitter fraction", column("jitter fraction", 28, 3));
        /// The bound on θ by admission, for a channel of which the messages were sent at the
        /// negotiated rate; other channels have none.
        #[serde(default)]
        jitter_fraction_bound: Option<f64> = number(Kind::Share, "bound on the jitter fraction", column("jitter bound", 28, 7));
        /// The share of messages that arrive later after the message before than was negotiated.
        #[serde(default)]
        jittered: Option<f64> = number(Kind::Share, "messages that incur a jitter", column("jittered", 28, 6));
        /// Requests for the channel in the window; `None` where admission is before the run.
        #[serde(default)]
        requests: Option<u64> = asks("requests", column("requests", 40, 2).if_any());
        /// Requests that were answered by an establishment in the window.
        #[serde(default)]
        established: Option<u64> = asks("established channels", column("requests established", 41, 2).if_any());
        /// Requests that were refused in the window.
        #[serde(default)]
        refused_requests: Option<u64> = asks("refused requests", column("requests refused", 42, 2).if_any());
        /// Refused requests of the whole run by the node and the resource that it lacks.
        #[serde(default)]
        refusals: BTreeMap<String, u64> = words();
        /// Changes of the contract in the window.
        #[serde(default)]
        changed: Option<u64> = asks("changes of the contract", column("changed", 43, 4).if_any());
        /// Changes of the contract that were refused in the window.
        #[serde(default)]
        refused_changes: Option<u64> = asks("refused changes", column("changes refused", 44, 4).if_any());
        /// Established channels that broke in the window.
        #[serde(default)]
        lost: Option<u64> = asks("channels that were lost", column("channels lost", 45, 3).if_any());
        /// Refusals, refused changes and losses in the run that the scenario does not expect. They
        /// fail the run.
        #[serde(default)]
        unexpected: Option<u64> = asks("unexpected answers", column("unexpected", 46, 1).if_any());
        /// The share of requests in the window that was refused.
        #[serde(default)]
        blocking: Option<f64> = number(Kind::Share, "requests that were refused", column("blocking", 47, 2).if_any());
        /// Half the width of the 95 % interval of `blocking`, by 20 parts of the window; `None` if
        /// one of them has no request.
        #[serde(default)]
        blocking_half: Option<f64> = number(Kind::Share, "half width of the interval of refused requests", column("blocking ±", 48, 5).if_any());
        /// Seconds from a request to its establishment, of requests in the window.
        #[serde(default)]
        establishment: Option<Summary> = distribution("time to establishment", &ESTABLISHMENT);
        /// The longest time to the answer of a request that no fault touched, seconds, of the whole
        /// run.
        #[serde(default)]
        establishment_worst: Option<f64> = number(Kind::Time, "worst time to an answer", column("answer worst", 50, 2));
        /// The bound on it, seconds, where no message is lost. It follows from the file, with at most
        /// `establishment_queue` signalling messages ahead at each link.
        #[serde(default)]
        establishment_bound: Option<f64> = number(Kind::Time, "bound on the time to an answer", column("answer bound", 51, 3));
        /// At most this number of signalling messages wait at a link of the route, or left within the
        /// last spacing, before one that arrives. It follows from the channels that the file has there,
        /// and is the limit of the queue, 256, where a channel has `calls`.
        #[serde(default)]
        establishment_queue: Option<u64> = asks("signalling messages before one, counted by the bound on an answer", column("answer queue", 52, 3));
        /// Deadline − delivery (− completion where no host receives), seconds; real-time channels
        /// only.
        laxity: Option<Summary> = distribution("laxity", &[("min", column("laxity min", 7, 5)), ("mean", column("laxity mean", 8, 8))]);
        /// Completion − logical arrival for real time, − actual arrival for best effort, seconds.
        latency: Option<Summary> = distribution("latency", &LATENCY_PERCENTILES);
        /// Completion − actual arrival, seconds: what the application waits.
        sojourn: Option<Summary> = distribution("time from arrival to completion", &[]);
        /// Slot time: from a packet's creation to the end of its transmission, seconds, per packet.
        queueing: Option<Summary> = distribution("slot time", &[]);
        /// Medium access latency: from handing a packet to the adapter to the end of its
        /// transmission, seconds, per packet.
        access: Option<Summary> = distribution("medium access latency", &[]);
    }
}
