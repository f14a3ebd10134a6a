//! Why messages are dropped: each cause by its name in results, and what it is.

use laxity_qos::channel::Dropped;

/// Declares every cause once; one that the subsystem has and this list has not does not compile.
///
/// A message that is given up at its receiver for want of a packet lost that packet elsewhere, for a
/// cause of its own. It counts as `incomplete`, and not once more as dropped.
macro_rules! causes {
    ($($cause:ident $name:literal $means:literal;)*) => {
        /// Every cause, its name in `drops`, and what it means; without [`Dropped::Incomplete`].
        pub const ALL: &[(Dropped, &str, &str)] = &[$((Dropped::$cause, $name, $means)),*];

        /// The name of `cause` in `drops`; that of the count beside them for a message without a packet.
        pub fn name(cause: Dropped) -> &'static str {
            match cause {
                $(Dropped::$cause => $name,)*
                Dropped::Incomplete => "incomplete",
            }
        }
    };
}

causes! {
    MessageQueue "message_queue" "the channel's message queue was full when the message was sent";
    PacketQueue "packet_queue" "the channel's packet queue was full";
    Undersized "undersized"
        "the message was smaller than the smallest of its contract, or of what best effort declares";
    Oversize "oversize" "the message was larger than its contract and could not be carried in pieces of it";
    Adapter "adapter" "the adapter lost a packet of the message";
    Launch "launch" "a packet of the message was handed over after its launch time";
    Ring "ring" "it came in and the interface had no slot for it: nothing was spent on it";
    Early "early" "it came in and was refused at its first command, for want of a receive buffer";
    ReceiveBuffers "receive_buffers"
        "it came in, and when the protocol was done with it there was no receive buffer: what was spent on it is wasted";
    Contract "contract"
        "it came in beyond the contract that its channel was admitted with, and the interface kept it from the others";
    Late "late" "it came in and was late before the host had begun with it: nothing was spent on it";
    Displaced "displaced"
        "it came in and lost its slot to one that is due sooner, best effort being due never: nothing was spent on it";
    ProgramQueue "program_queue"
        "it came in whole, and the queue of its program was full: what was spent on it is wasted";
    NoDescriptor "no_descriptor"
        "it came in on a virtual interface whose program had posted no descriptor for it: it crossed the network for nothing";
    LateForProgram "late_for_program"
        "it came in, and was late before its program had begun with it: the protocol is wasted, the program's time is not";
}
