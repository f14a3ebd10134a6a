//! Reasons why no analysis covers a system: the name of each, the key that it is about, a sentence.

use std::fmt;

macro_rules! reasons {
    ($($(#[$about:meta])* $reason:ident $key:literal $sentence:literal;)*) => {
        /// Why no analysis covers a part of an experiment.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Uncovered {
            $(#[doc = $sentence] $reason,)*
        }

        impl Uncovered {
            /// All reasons.
            pub const ALL: &'static [Uncovered] = &[$(Uncovered::$reason),*];

            /// The name, which stays the same when the sentence changes.
            pub fn code(self) -> &'static str {
                match self {
                    $(Uncovered::$reason => stringify!($reason),)*
                }
            }

            /// The key of scenarios that the reason is about, as `laxity explain` knows it.
            pub fn key(self) -> &'static str {
                match self {
                    $(Uncovered::$reason => $key,)*
                }
            }

            /// The reason in words.
            pub fn sentence(self) -> &'static str {
                match self {
                    $(Uncovered::$reason => $sentence,)*
                }
            }
        }
    };
}

impl fmt::Display for Uncovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

reasons! {
    Interfaces "via.firmware" "virtual interfaces have an analysis of their own";
    Receiver "interface.policy" "a host's reception at interfaces has an analysis of its own";
    PathUnbound "channel.interface"
        "a real-time channel that ends at the same host has no bound on its path, so it may fill the interface";
    PathAhead "host.subsystem.early"
        "no station on the path of a channel holds packets that come ahead of their time, so any number of them \
         may arrive at once";
    Signalled "channel.open" "nodes admit channels at request; a run shows the promise of each";
    Station "admission.formula" "no analysis covers the station";
    ContractRange "channel.min_interval" "a contract is out of range";
    BudgetRange "host.compute.budget" "a budget is out of range";
    Budgets "host.compute.budget" "the CPU cannot keep the budgets of its applications";
    HostRange "host.costs" "the host is out of range";
    TooMany "channel.burst" "too many packets may come together";
    PapersCores "host.cores" "the papers' host has one core";
    PapersAdapters "admission.formula" "the papers' host has one adapter";
    PapersO3 "host.subsystem.resources" "the papers have no formula for link scheduling by O3";
    PapersStages "adapter.kind" "the papers' adapter is a delay and has no stages";
    PapersCpu "host.receive" "the papers' handlers have the CPU to themselves";
    PapersOrder "host.subsystem.link" "the papers' host has one order for CPU and link";
    PapersLaunch "host.subsystem.link.launch" "the papers' adapter knows no launch times";
    PapersShapers "host.subsystem.link.shapers" "the papers' adapter knows no shapers";
    PapersRates "host.subsystem.link" "the papers' formulas are of deadlines, and not of rates";
    Sharing "host.subsystem.link"
        "no analysis covers a link that is shared by rates before an adapter of stages";
    HandOverEach "host.subsystem.resources"
        "no analysis covers several adapters that get each packet as it is made";
    SeveralLinks "host.subsystem.link"
        "hosts with several adapters are analysed where links go by the order of the CPU";
    HostBus "host.bus" "no analysis covers adapters that wait for each other at a bus of their host";
    SeveralLevels "host.subsystem.cpu"
        "the tables of several links do not agree where channels are more than levels";
    LevelsOfSome "channel.level"
        "some real-time channels have a level by hand, and others get one by admission: a `level` for each, or for \
         none";
    LevelsBeforeDeadlines "channel.level"
        "before a link that goes by deadlines, admission proves bounds for levels that it chooses, and not for \
         levels chosen by hand";
    AheadDecay "host.subsystem.early" "a handler that works ahead decays the deadlines that it was promised";
    Outside "channel.interface" "a program outside sends on this CPU at times that nothing bounds";
    WaitedForRoom "channel.source.kind"
        "an application on this CPU that waited for room sends at times that nothing bounds";
    SentAnyTime "channel.source.kind" "an application on this CPU sends at times that nothing bounds";
    FillsProgram "host.subsystem.early" "handlers that work ahead may fill the queue of a program";
    FreePackets "host.costs" "packets that take no time to send come in any number at once";
    Enforcement "host.subsystem.enforcement" "without traffic enforcement no contract limits a channel, and none has a bound";
    NativePace "emulation.pace" "the profile has no times of a host at its own pace";
    Kernel "emulation.host" "the profile has no times of a real kernel";
    Thread "emulation.host" "the profile has no times of a host in a thread";
    OversizeByPackets "host.subsystem.oversize"
        "after an oversize message that is spaced by its packets, more arrives in an interval than a \
         contract has";
    Immediate "host.subsystem.preemption" "immediate preemption is analysed for ideal resources under O1";
    Orders "host.subsystem.cpu"
        "bounds hold behind a CPU by multi-class EDF or fixed priorities; behind one by another order, with one \
         core and one adapter, if neither CPU nor link holds messages";
    CpuBestEffort "host.subsystem.cpu"
        "best effort shares a FIFO CPU with real time, and no contract bounds it: `cpu = \"strict_priority\"` has \
         a bound beside it";
    SentAhead "host.subsystem.cpu"
        "a CPU that holds no message serves all that its sources send, and one of them is not known to keep its \
         contract: `cpu = \"multiclass_edf\"` holds the excess";
    AheadInClasses "host.subsystem.early"
        "CPU and link by different orders have a bound where no message is early: `horizon = \"0 us\"`";
    LinkBestEffort "host.subsystem.link"
        "best effort shares a FIFO link with real time, and no contract bounds it: `order = \"strict_priority\"` \
         has a bound beside it";
    LinkHolds "host.subsystem.link" "no analysis covers a link of a host that holds packets";
    AheadByRates "host.subsystem.early"
        "no analysis covers handlers that work ahead before a link that is shared by rates";
    EarlyYields "host.subsystem.early" "early handlers are analysed if they yield as often as current ones";
    NeverYields "host.subsystem.early"
        "a handler that works ahead and never yields keeps the CPU while messages come";
    BudgetLevels "host.compute.level"
        "admission proves bounds for levels that it chooses, and not for those of budgets: a `level` for each \
         channel";
    DriverResets "host.driver.reset_after" "the driver resets the adapter while the adapter works";
    ServedOrder "host.subsystem.link"
        "an order that reckons with the link's speed, or with frames of time, does not count the CPU \
         between two packets";
    ThreadEach "host.subsystem.processing"
        "a thread for each message lets messages pass each other before a link that is shared by rates";
    RatesBehindEdf "host.subsystem.cpu"
        "a link that is shared by rates is analysed behind a CPU that goes by multi-class EDF";
    RatesByO1 "host.subsystem.resources"
        "a link that is shared by rates is analysed where completions interrupt and start the next packet \
         (O1)";
    LinkOrder "host.subsystem.link" "no latency is known of the order at a host's link";
    CpuFull "host.speedup" "work above the handlers takes all of the CPU";
    ChanceStations "channel.late" "no analysis covers the chance of a late message over several stations";
    ChanceHost "channel.late"
        "the chance of a late message is analysed for one core and one link by deadlines, by the demand test";
    CoresProgress "host.cores"
        "several cores are analysed before an adapter that interrupts once for each packet";
    CoresQueues "adapter.interrupts" "several cores are analysed where an adapter interrupts one of them";
    CoresFree "adapter.startup" "packets that take an adapter no time complete at any rate";
    CoresOther "adapter.startup" "packets that take another adapter no time complete at any rate";
    CoresOrder "host.cores"
        "several cores are analysed under O1 and O2, with CPU and link by multi-class EDF";
    CoresPoll "host.subsystem.resources" "no analysis covers several cores of which one looks for responses";
    CoresStall "host.cores" "no analysis covers several cores beside an adapter that stalls";
    CoresCopies "channel.core" "the core of each copy is not known beforehand";
    CoresRoom "host.cores"
        "an application may take its core each time that a handler on another core has room";
    CoresProgram "channel.reader.core"
        "no analysis follows a message from its handler to a program on another core";
    CoresIncoming "channel.core"
        "a guaranteed channel that comes in is analysed on the core that its adapter interrupts";
    Passes "channel.route"
        "a channel that passes a station twice is analysed at a null adapter and at a port by deadlines or \
         levels";
    Contended "network.kind" "no analysis covers a medium that stations share";
    Duplication "network.impairments.duplication" "duplicated packets are work that no contract has";
    Reordering "network.impairments.reordering"
        "packets that overtake each other hold up their channel at the next host";
    PortOrders "node.order"
        "bounds hold at ports under multi-class EDF, fixed priorities, or orders that keep rates apart";
    PortLatency "node.order" "no latency is known of the order at a port";
    Answers "host.applications" "answers take the CPU of a shared host at no known times";
    FifoLeft "node.order"
        "copies of a channel are not counted beside a host or a port that has messages from FIFO queues";
    FifoTwice "channel.route" "no analysis covers a channel that passes a FIFO queue twice";
    FifoEarly "node.horizon"
        "no analysis covers a station between FIFO queues that does not hold early messages: \
         `horizon = \"0 us\"`";
    FifoExcess "host.subsystem.cpu"
        "a path without a station that holds messages passes excess on to a FIFO queue, and the source \
         is not known to keep its contract: `cpu = \"multiclass_edf\"` holds the excess";
    FifoFraming "network.framing" "FIFO queues have a bound where all links of a path frame packets alike";
    MeterTolerance "node.policing"
        "frames may be later against each other, when they come to a switch with flow meters, than `policing` \
         tolerates";
    FifoForwarding "node.forwarding"
        "FIFO and strict-priority ports have a bound where switches wait for whole frames: `forwarding = \"store_and_forward\"`";
    CyclicOthers "channel.level"
        "cyclic classes have a bound above all other classes of a port: a more urgent `level`, which is less";
    CyclicCycle "node.cyclic.cycle" "cyclic classes of a port have a bound if they have one `cycle`";
    AtsOrder "node.ats"
        "a regulator has a bound where its channels have been in the same queues since they were sent or \
         regulated: `ats` at all switches, and `link.order = \"fifo\"` at hosts without costs or another order \
         at hosts with costs";
    FifoAdapter "adapter.kind" "a FIFO host has a bound before an adapter without stages: `kind = \"null\"`";
    FaultKeeps "fault.for" "no bound covers the time that a fault takes";
    FifoReader "channel.reader.work"
        "a FIFO host has a bound where no receiving program delays the CPU's next packet: `reader.work = \
         \"0 us\"`";
    FifoRelay "path.relays" "no analysis covers a host with a FIFO link that relays";
    FifoStartup "adapter.startup"
        "FIFO queues have a bound where each byte takes a time on the link, and a packet no other: \
         `startup = \"0 us\"`, and no adapter slower than the network that frames its packets";
    FifoBestEffort "node.order"
        "best effort shares a FIFO queue, and no contract bounds it: `order = \"strict_priority\"` has a \
         bound beside it";
    LowestLevel "channel.level" "the lowest level is that of best effort: `level = 30` at most";
    FifoImpairments "network.impairments"
        "FIFO queues have a bound where networks keep the order, the number and the distance of frames: no \
         `jitter`, `reordering` or `duplication`";
    IncomingRead "adapter.receive_buffers" "incoming frames wait for the host to read earlier ones";
    IncomingFast "network.rate" "frames may arrive faster than the adapter takes them";
    IncomingHeld "adapter.receive.linger" "no analysis covers an adapter that holds incoming frames back";
    IncomingAnnounced "adapter.notification"
        "no analysis covers announcements of frames that are not there yet";
    IncomingSeveral "adapter.resource"
        "incoming frames wait for several resources while others hold one after the other";
    IncomingMedium "network.kind" "incoming frames wait for those on the medium";
    IncomingAfter "adapter.resource.urgent" "outgoing frames go before incoming ones at a resource of both";
    IncomingClose "channel.min_interval" "incoming frames have no least distance";
    ViaMemory "via.receive_buffers" "no analysis covers waiting for room in an adapter's memory";
    ViaPosted "via.post" "no analysis covers descriptors that are posted for each message";
    ViaCredits "via.credits" "no analysis covers waiting for credits";
    ViaOverlap "via.overlap" "no analysis covers a sequence that overlaps";
    ViaDepth "via.depth"
        "best effort whose send queues have no end (`depth`) may keep an adapter's processor for ever";
    ToldPolicy "command.kind" "an interface that changes its policy during the run has no single bound";
    FreeProgram "program.work" "packets that take a program no time come in any number in its budget";
    DrawnCosts "host.receive.costs" "costs that are drawn from a distribution have no bound";
    TwoCommands "interface.handshake" "no analysis covers packets of two commands";
    SharedQueue "interface.sharing.kind"
        "real time waits behind all incoming packets where classes share a queue";
    Spare "interface.spare" "spare packets are bounded by the programs, which need buffers for them";
    Batches "interface.sharing.kind" "no analysis covers turns of whole batches";
    NoClock "interface.policy" "an interface without a clock is not polled";
    SoftTimers "interface.policy" "no analysis covers a thread at soft timers";
    Backoff "interface.policy" "backoff follows the load, which has no bound";
    PollsGoOn "interface.policy" "polls that go on while packets come may take all of the CPU";
    CycleShare "interface.share" "no analysis covers polls by a share of cycles";
    ProtocolInProgram "program.work" "no analysis covers a protocol in the program's time";
    ProgramOrder "program.order"
        "real time waits behind all incoming packets where a program takes them by arrival";
    InterruptFlood "interface.policy" "interrupts for packets may take all of the CPU";
    Collisions "network.kind" "collisions have a probability, and no largest number";
    NoToken "adapter.transmit.selection" "frames go onto a ring without a token";
    RingAndOthers "network.joins" "no analysis covers an adapter at a ring and at other networks";
    TokenKept "fault.for" "no bound covers the time for which a fault keeps the token";
    TokenUnasked "adapter.kind" "an adapter at the ring does not ask for the token";
    TokenLeaves "network.holding" "the token leaves while the adapter has frames for it";
    TokenWaits "adapter.transmit" "a frame that waits for its adapter keeps the token";
    DropsInTime "adapter.transmit_policing" "the adapter drops packets that might still be in time";
    LittleTolerance "adapter.transmit_policing.tolerance"
        "the adapter's policing tolerates less than the lateness that packets may have before it";
    CommandQueue "adapter.queue.slots"
        "the host's driver waits for room in a command queue: `slots` for a window of `depth`";
    HeldBack "adapter.transmit.linger" "no analysis covers an adapter that holds packets back";
    SideBySide "adapter.transmit.servers" "packets that are served side by side may pass each other";
    LosesPlaces "adapter.queue.slots" "the adapter loses packets for want of places in a queue";
    TurnOrder "adapter.queue.kind"
        "queues in turn have a bound in order of arrival: `order = \"fifo\"`";
    BestEffortLevel "channel.level"
        "best effort passes real time within the adapter: a smaller `level` of real time";
    NoQueue "adapter.queue.takes" "a class has no queue";
    BestEffortPasses "adapter.queue.priority" "best effort passes real time within the adapter";
    QueueOrder "adapter.queue.kind" "the adapter's queues go by another order than the host";
    EarlyUrgent "host.subsystem.link"
        "a queue in the adapter serves early packets as urgent ones: `horizon = \"0 us\"` of the host's link";
    OtherOrder "adapter.queue.kind" "host and adapter go by different orders";
    ResetIncoming "host.driver.reset_after"
        "the driver resets the adapter while incoming frames hold the adapter up";
    TurnPlaces "adapter.queue.slots"
        "packets of queues that are served in turn, or together, wait for places: `slots` for a window of `depth`";
    PassAndWait "adapter.queue.kind"
        "packets that pass each other in the adapter wait for the host on their way";
    HostCopies "adapter.resource.host" "the host copies over a resource that the adapter moves packets over";
    Segments "adapter.transmit" "no analysis covers bytes that are added to a packet before segmentation";
    BetweenSegments "adapter.resource.urgent"
        "outgoing packets may go before incoming ones between segments, or as urgent ones";
    PassAtResource "adapter.resource.servers" "packets pass each other at a resource of the adapter";
    WatchdogCompany "host.driver.watchdog" "the driver's watchdog reads packets that wait for a batch";
    WaitsForReading "adapter.receive_buffers" "the adapter waits until the host has read of incoming packets";
    WaitsForAnswers "adapter.response_queue" "the adapter waits until the host has read its responses";
    ChosenByLevel "adapter.interrupts"
        "without a window, no analysis covers queues that packets choose by their level";
    ChosenByFlow "adapter.interrupts"
        "without a window, no analysis covers queues that packets choose by their flow";
    FetchedFirst "adapter.transmit_buffers"
        "best effort that is fetched first takes the buffers of urgent packets";
    OwnBuffer "adapter.transmit_buffers.per_channel"
        "a channel that waits for a buffer of its own lets others pass";
    LosesBuffers "adapter.transmit_buffers.overload" "the adapter loses packets for want of buffers";
    StageRates "host.subsystem.cpu" "stages by rates are analysed behind a CPU that goes by multi-class EDF";
    WindowBefore "adapter.interface" "packets wait for a window before the adapter schedules them";
    BestEffortRate "adapter.transmit.selection"
        "best effort with a rate of its own passes real time within the adapter";
    FetchedIntoOthers "adapter.transmit_buffers"
        "packets are fetched into buffers of those that are under way";
    PassedUntilReset "host.driver.reset_after"
        "packets that others pass in the adapter may stay until the driver resets it";
    UnevenRates "fault.kind" "a fault or a resource that keeps a part of the adapter makes its rates uneven";
    AheadWithoutWindow "adapter.transmit.ahead"
        "without a window, no analysis covers a stage that chooses so far ahead";
    NoStages "adapter.transmit" "the adapter has no stages";
    Prefetch "adapter.transmit.queue" "no analysis covers a prefetch into several queues";
    NullLink "adapter.kind" "no analysis covers a null device that is no link of its own";
    LaunchOrder "host.subsystem.cpu"
        "launch times are analysed behind a CPU that goes by multi-class EDF, and a link that holds no packet: \
         `cpu = \"multiclass_edf\"` and `link.order = \"fifo\"`";
    ShapedOrder "host.subsystem.cpu"
        "shapers are analysed behind a CPU that goes by multi-class EDF, and a link that holds no packet: \
         `cpu = \"multiclass_edf\"` and `link.order = \"fifo\"`";
    ShapedEarly "host.subsystem.early"
        "any number of early packets may join the queue of a shaper: `early = \"hold\"`";
    ShapedStartup "adapter.startup"
        "shapers have a bound where each byte takes a time on the link, and a packet no other: \
         `startup = \"0 us\"`, and no adapter slower than the network that frames its packets";
    BestEffortFills "adapter.queue.slots"
        "best effort may fill the adapter's queue before packets with deadlines";
    StallIncoming "fault.kind" "a stall holds incoming frames up";
    StallReset "fault.kind" "the driver may reset the adapter while a part of it stands still";
    StageNone "adapter.transmit.selection" "no stage of the adapter goes by rates";
    StageMixed "adapter.transmit.selection"
        "no analysis covers stages by rates beside stages by another order";
    StageFluid "adapter.transmit.selection"
        "the fluid server of WFQ counts with a faster stage than the adapter has";
    StageHeldUp "adapter.transmit.selection"
        "an order that reckons with the stage's speed does not count the stage behind that holds it up";
    StageSlow "adapter.transmit.selection"
        "a FIFO stage may be slower than its arrivals, and best effort fills it";
    StageMedium "network.kind" "no analysis covers stages by rates before a medium that stations share";
    RoomInOrder "adapter.queue.slots"
        "without a window, packets wait for room in the adapter in the order of their arrival";
    Entangled "adapter.transmit"
        "without a window, stages before the last that hold each other up have no bound";
    Talkative "adapter.notification" "without a window, no analysis covers notifications beside completions";
    ServedTogether "adapter.transmit.batch"
        "without a window, no analysis covers packets that an adapter serves together";
}
