//! Terms of bounds: the lines of `laxity admit --terms`.

/// Each term and its meaning.
pub(super) const TERMS: &[(&str, &str)] = &[
    (
        "waiting for what is below",
        "The maximum wait of a message for work of lower priority that cannot be preempted. It is the \
         switch to that work, its block of packets, the packets that the adapter already has, and their completions.",
    ),
    (
        "the message itself",
        "The CPU time and link time of the packets of one largest message. Packets bound by the CPU \
         take longer in the CPU than on the link; packets bound by the link take longer on the link.",
    ),
    (
        "messages of channels above",
        "The work of messages of channels with higher priority in that time. With the demand test \
         these are `other messages due before it`, and `less, for what was over when it came` is the part of that work \
         that ends before the message arrives.",
    ),
    (
        "work above all handlers",
        "The work that preempts all channels. It is interrupts and receptions of other frames, and \
         threads of applications.",
    ),
    (
        "switch to a lower handler",
        "The context switch to work of lower priority that began just before the message arrived.",
    ),
    (
        "its block",
        "The packets that a handler of lower priority processes before it yields the CPU \
         (`preemption` under `[host] subsystem`).",
    ),
    (
        "CPU time stolen from it by transmissions",
        "Link scheduling and completions of transmissions, which interrupt a handler. Before the \
         message it is stolen from the block below; else it is stolen from the message's own packets.",
    ),
    ("link scheduling in progress", "The call of the link scheduler that goes on when the message arrives."),
    (
        "packets already with the adapter",
        "The packets that were handed to the adapter before, as many as `depth` lets there be. They \
         are transmitted first, whatever their priority.",
    ),
    (
        "the crossing packet's second share",
        "The packet with which the message passes from the CPU to the link is counted at both.",
    ),
    (
        "transmission of the packets bound by the link",
        "The time on the link of the message's packets that take longer there than in the CPU.",
    ),
    (
        "other messages due before it",
        "The messages of other channels that may go before, by the demand test.",
    ),
    (
        "less, for what was over when it came",
        "The part of that work, by the demand test, that ends before the message arrives.",
    ),
    (
        "protocol processing of the packets bound by the CPU",
        "The CPU time of the message's packets that take longer in the CPU than on the link.",
    ),
    (
        "overhead of their blocks",
        "The context switches to the handler of the message, one for each block of its packets.",
    ),
    (
        "link scheduling and completions",
        "The calls of the link scheduler and the completion interrupts of the message's packets.",
    ),
    (
        "completions in progress",
        "The completion interrupts of packets that were with the adapter before, or were made since.",
    ),
    ("their completions", "The completion interrupts of the packets that were with the adapter before."),
    (
        "completions of packets already with the adapter",
        "The completion interrupts of those packets, which take the CPU from the link scheduler's thread.",
    ),
    (
        "packets already with the adapter, and interrupts",
        "The packets that were handed to the adapter before, and their completion interrupts.",
    ),
    (
        "packets of other links already made",
        "The starts and completions of packets that leave by other links of the host.",
    ),
    (
        "CPU time stolen from them by transmissions",
        "The starts and completions of transmissions that interrupt the processing of the message's packets.",
    ),
    (
        "CPU time stolen from it by completions",
        "The completion interrupts that interrupt the block of a lower handler.",
    ),
    (
        "a run of the link scheduler after it",
        "A run of the link scheduler's thread that follows the block in progress (O2).",
    ),
    (
        "the CPU, until all of it waits at the link",
        "The time until the CPU has made all packets of the message, where CPU and link are counted apart.",
    ),
    (
        "its core, until all of it waits at the link",
        "The same on the core that makes the packets of the channel.",
    ),
    ("its own transmission", "The time of the message's packets on the link."),
    ("transmission of the message", "The time of all packets of the message on the link."),
    (
        "transmission, and for each packet a completion and two turns of the link scheduler",
        "The time of the message's packets on the link, with the CPU time that starts and ends each transmission.",
    ),
    (
        "transmission, and for each packet a completion, a block before the link scheduler's thread, and its run",
        "The same where a thread schedules the link (O2): it waits for a block before each run.",
    ),
    ("a packet of best effort on the link", "A packet of best effort whose transmission has begun."),
    (
        "a packet without a rate, already begun",
        "A packet of best effort, or beyond a contract, whose transmission has begun at a port by rates.",
    ),
    (
        "the launch time, by which the CPU is done",
        "The time between the logical arrival and the launch time of a packet (`host.subsystem.link.launch`).",
    ),
    (
        "frames before it in the FIFO queue",
        "The frames that a FIFO queue or a level of strict priority transmits before those of the message, by network calculus.",
    ),
    (
        "the largest message at the rate of the contract",
        "The time of the largest message at the reserved rate, `I_min`.",
    ),
    (
        "its largest packet at that rate; the message was paid for before",
        "The time of the largest packet at the reserved rate. A station before has paid for the message (*pay bursts once*).",
    ),
    (
        "others between what its rate is worth",
        "The latency of the discipline by rates: how late it may be behind the clock of the channel's own rate.",
    ),
    (
        "filling the adapter's stages",
        "The time of the first packet in the stages of the adapter that are not the slowest.",
    ),
    ("starting the first packet", "The time until an idle adapter has noticed and fetched the first packet."),
    (
        "the adapter's slowest stages for the packets bound by it",
        "The time of the message's packets in the slowest stages that a packet passes, where stages work at once.",
    ),
    (
        "all stages of the adapter for the packets bound by it, one by one",
        "The time of the message's packets in all stages, where one packet is in the adapter at a time.",
    ),
    (
        "the last packet in the adapter's slowest stages",
        "The time of the message's last packet in the slowest stages that it passes.",
    ),
    (
        "packets already in the adapter's servers",
        "The packets in service at stages of the adapter when the message arrives.",
    ),
    (
        "earlier packets in those stages",
        "The packets before the message in those stages, as many as may be under way.",
    ),
    (
        "later packets that pass in the adapter",
        "The packets that are handed over later and overtake: in other queues, or of a higher priority.",
    ),
    ("packets that pass it there", "The packets that overtake the message in queues of the adapter."),
    (
        "what later packets hold of the adapter",
        "The time for which packets of lower priority, handed over later, hold a resource of the adapter.",
    ),
    (
        "waits of stages that serve several packets",
        "The time for which a stage with several servers or batches makes packets wait for each other.",
    ),
    (
        "what is behind in a packet's batches",
        "The packets behind one in its batches, with which it completes.",
    ),
    ("looking for commands", "The time until the adapter polls its command queues again."),
    (
        "looking for commands and responses",
        "The time until the adapter polls its command queues, and the host its response queues.",
    ),
    (
        "commands and responses that wait to be seen",
        "The same for packets that are under way: each may wait for a poll.",
    ),
    ("waiting for the token", "The longest time until a token ring lets the station transmit."),
    (
        "until the interface's next turn",
        "The longest time until the interface is served next (`[[interface]]`).",
    ),
    (
        "further turns, for real time before it",
        "The turns of the interface that serve frames before those of the message.",
    ),
    ("from then to the end of the protocol", "The time of the last turn until the message is processed."),
    ("until the program's next period", "The longest time until the receiving program's next budget."),
    (
        "further periods, for real time before it",
        "The periods in which the program takes messages before this one.",
    ),
    ("from then to delivery", "The time of the last period until the program has the message."),
];
