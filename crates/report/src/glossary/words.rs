//! Words that are not fields of results: what scripts can call, verdicts, columns of tables, and notions.

/// The functions and variables of scripts: name, meaning, and an example that has to compile.
pub(super) const HELPERS: &[(&str, &str, &str)] = &[
    ("runs", "every point of the sweep, in order: a list of runs", "runs.len() > 0"),
    (
        "at",
        "the axis's value at a run: a number in the unit of its label, or its text: `r.at(\"load\")`",
        "runs[0].at(\"load\") > 0",
    ),
    (
        "channel",
        "the channel of that name, an error if there is none: `r.channel(\"camera\")`",
        "runs[0].channel(\"rt\").messages > 0",
    ),
    (
        "resource",
        "the resource of that name: `r.resource(\"cpu\")`, `r.resource(\"cpu@1\")` at the second host, `r.resource(\"cpu0\")` of several cores",
        "runs[0].resource(\"cpu\").utilisation <= 1",
    ),
    ("stage", "the stage of that name: `r.stage(\"dma\")`", "runs.all(|r| r.stages.len() == 0)"),
    (
        "computation",
        "the computing application of that name: `r.computation(\"video\")`, `r.computation(\"video@1\")` at the second \
         host",
        "runs.all(|r| r.computations.len() == 0)",
    ),
    ("keys", "the names of a record's fields, as a list: `c.keys()`", "runs[0].channels[0].keys().len() > 3"),
    (
        "column",
        "a value of each run: `column(|r| …)` over `runs`, or as a method of any list",
        "max(column(|r| r.window)) > 0",
    ),
    (
        "where",
        "the runs at one value of an axis: `where(\"P\", 4)` of `runs`, or as a method of any list of runs",
        "where(\"load\", 100).len() == 1",
    ),
    (
        "pooled",
        "the misses of a channel, pooled over a list of runs: `runs.pooled(\"camera\")` has `due` messages, `missed` ones among \
         them, `miss_share`, and `miss_limit`: with 95 % confidence no larger share of messages is late or lost \
         (Clopper and Pearson, messages taken as independent); and `runs`, `deadline`, `bound`",
        "runs.pooled(\"rt\").miss_limit < 1",
    ),
    ("axis", "the values of an axis, in order: `axis(\"P\")`", "axis(\"load\").len() == 2"),
    (
        "all",
        "whether a test holds for every element; no answer for an empty list: `runs.all(|r| …)`",
        "runs.all(|r| r.window > 0)",
    ),
    ("any", "whether a test holds for an element; no answer for an empty list", "runs.any(|r| r.window > 0)"),
    ("some", "the same as `any`", "runs.some(|r| r.window > 0)"),
    ("map", "a list of a function's results for each element", "runs.map(|r| r.window).len() == 2"),
    (
        "filter",
        "the elements for which a test holds; that no element is left is an answer, but an empty list has no answer",
        "runs.filter(|r| r.window > 0).len() == 2",
    ),
    (
        "find",
        "the first element for which a test holds, `()` if there is none; no answer for an empty list",
        "runs.find(|r| r.window < 0) == ()",
    ),
    ("near", "|a − b| ≤ tol · |b|: `near(a, b, 0.01)`", "near(1.0, 1.001, 0.01)"),
    (
        "rising",
        "rises from first to last, and falls on the way by at most `tol` of the largest: `rising(xs, tol)`",
        "rising([1, 2], 0.01)",
    ),
    ("falling", "the same, downwards", "falling([2, 1], 0.01)"),
    ("never_falling", "the same as `rising`, but may stay constant", "never_falling([1, 1], 0.0)"),
    ("never_rising", "the same as `falling`, but may stay constant", "never_rising([1, 1], 0.0)"),
    ("monotone", "never falling, or never rising", "monotone([1, 1, 2], 0.0)"),
    ("flat", "the spread is at most `tol` of the largest", "flat([1, 1], 0.0)"),
    ("linear", "least squares: R² ≥ 1 − tol: `linear(xs, ys, tol)`", "linear([1, 2, 3], [2, 4, 6], 0.01)"),
    ("slope", "the slope of the line of least squares: `slope(xs, ys)`", "slope([1, 2], [2, 4]) == 2"),
    ("r2", "R² of the line of least squares: `r2(xs, ys)`", "r2([1, 2], [2, 4]) > 0.9"),
    ("max", "the largest of a list of numbers", "max([1, 2]) == 2"),
    ("min", "the smallest of a list of numbers", "min([1, 2]) == 1"),
    ("mean", "the arithmetic mean of a list of numbers", "mean([1, 3]) == 2"),
    ("sum", "the sum of a list of numbers", "sum([1, 3]) == 4"),
    (
        "spread",
        "half the width of the interval that holds the mean of repetitions with 95 % confidence (Student's t)",
        "spread([1.0, 3.0]) > 12",
    ),
    ("argmax", "the position of the first largest, counted from 0", "argmax([1, 3]) == 1"),
    ("argmin", "the position of the first smallest, counted from 0", "argmin([1, 3]) == 0"),
    ("ms", "seconds as text in milliseconds, for `shows`", "ms(0.5) == \"500 ms\""),
    ("us", "seconds as text in microseconds, for `shows`", "us(0.5) != \"\""),
    ("kib", "bytes as text in KiB, for `shows`", "kib(2048) == \"2 KiB\""),
    ("mb", "bytes as text in MB, for `shows`", "mb(2000000) == \"2 MB\""),
    ("percent", "a share as text in per cent, for `shows`", "percent(0.5) == \"50 %\""),
    (
        "round",
        "a number as text, with the given maximum number of decimals: `round(x, 2)`",
        "round(1.234, 1) == \"1.2\"",
    ),
];

/// Fields of runs for scripts that are in no file by themselves.
pub(super) const OF_SCRIPTS: &[(&str, &str, &str)] = &[
    (
        "point",
        "record",
        "the axes' values at this run by name: `r.point.load`; the JSON file has positions on the axes instead",
    ),
    ("label", "text", "the whole point in words"),
    ("rt", "list: a channel", "the real-time channels of a run"),
    ("be", "list: a channel", "the best-effort channels of a run"),
    ("total", "count", "the sum of `c.drops` or of a resource's `uses`: `c.drops.total`"),
];

/// Words of verdicts, and the exit code of `laxity run` for each.
pub(super) const VERDICTS: &[(&str, &str)] = &[
    ("holds", "Every check of the claim held. Without other findings, the exit code is 0."),
    (
        "holds within",
        "Every check held at some values of the axis that the claim ranges over (`range`), and not at others; the range \
         is printed. The exit code is 0.",
    ),
    (
        "contradicted",
        "A check did not hold, at any value of the axis that it ranges over. The exit code is 1.",
    ),
    (
        "not judged",
        "These results do not decide the claim, for the printed reason: no message was carried, there is no bound, a \
         figure does not exist, or the platform stalled for longer than the slack. Neither green nor red; the exit code \
         is 4.",
    ),
    (
        "refused",
        "Admission cannot promise the channel its deadline. The exit code is 1 unless the file says `refusal = \"expected\"`.",
    ),
    (
        "fit",
        "A run in real time with figures that the platform has not decided; `NOT FIT` lists those that it may have.",
    ),
    ("fit to be judged by", "The same as `fit`."),
];

/// Notions that the tables rest on.
pub(super) const NOTIONS: &[(&str, &str)] = &[
    (
        "local deadline",
        "The part of a channel's end-to-end deadline that one station has. The parts, and the paths between stations, add \
         up to the deadline at most.",
    ),
    (
        "corrected formulas",
        "The analyses that hold. The formulas of the papers (`papers`, `printed` under `[admission] formula`) are \
         misprinted or unsound in places; docs/design/printed-numbers.md has them side by side.",
    ),
    (
        "O1",
        "The resource model of resource-management §4 in which each completion interrupts the CPU, and the routine \
         starts the next packet. In O2 a thread of the link scheduler starts packets; in O3 the protocol handler does.",
    ),
    ("station", "A host, or a port of a switch: a place at which packets wait for a CPU or a link."),
    (
        "draw",
        "A run with a seed of its own. A claim of a scenario with `draws` is judged in each draw, and its row has the \
         number of draws in which it held.",
    ),
    (
        "stop (of the platform)",
        "A time in which the system gave a real-time thread of Laxity no CPU. It is measured, and each late message that \
         it covers is attributed to it.",
    ),
    (
        "change (of a file)",
        "The output of `laxity admit --fix`: a line for the file with which admission takes every channel. The file with \
         that line was read and admitted. A change that is 2 % smaller was not enough. Admission is not always monotonic, \
         so a much smaller change may be enough, which the search does not find.",
    ),
    (
        "window",
        "The run without its warm-up and cool-down (`warmup`, `cooldown` under `[run]`). All counts, rates, shares and \
         distributions of a row are of the window. An event belongs to the window if it *happens* in it: a message that \
         was offered before the window and is completed inside counts as completed and not as offered. The columns differ \
         only by the messages in transit at the edges of the window. The exceptions: `worst`, `delivery_worst` and \
         longest queues are of the whole run, since a bound admits no exception; `late_outside` counts the late messages \
         before and after; figures of the medium and the drivers are of the whole run. `on_time` is of messages offered \
         in the window.",
    ),
    (
        "laxity (of a message)",
        "The time between a message's completion and its deadline; negative if the message was late. The deadline counts \
         from the message's logical arrival. A message larger than its contract is carried as messages of the contract, \
         each with a logical arrival and a laxity of its own; `sojourn` counts from the moment of sending. A refused or \
         dropped message has neither latency nor laxity: it is in `drops`, and `on_time` counts it as not in time.",
    ),
    (
        "logical arrival",
        "The time at which a message counts as arrived under its contract: the time of sending, or `min_interval` after \
         the logical arrival of the message before it, if that is later.",
    ),
    (
        "late (of frames)",
        "A message of a program's frame is late if it is late from its logical arrival or from its actual arrival, at \
         which the frame was read from its port. The wait in the port before, as far as it can be known, is `waited_p50` \
         and its neighbours.",
    ),
    (
        "slack",
        "The distance of a channel's median message from its deadline, on either side. A longer stop of the platform may \
         decide misses and extremes; claims that read them are not judged then, unless they have `stalls = \
         \"accounted\"`.",
    ),
    (
        "absent",
        "A value that the results do not have, with the reason. A claim that computes with it is not judged; `x == ()` \
         tests for it.",
    ),
];

/// Columns of tables in the terminal and the report that are no number of a channel: table, title,
/// what it is.
pub(super) const COLUMNS: &[(&str, &str, &str)] = &[
    ("admission", "asked", "The deadline that the channel asks for, from end to end."),
    ("admission", "bound", "The end-to-end delay bound of the channel, rounded up."),
    (
        "admission",
        "margin",
        "The deadline less the bound: by how much the channel is early in the worst case, rounded down.",
    ),
    (
        "admission",
        "least margin at",
        "The station with the bound closest to its per-hop deadline; for a refused channel, the station that refuses.",
    ),
    (
        "exchanges",
        "exchange",
        "Channels that answer each other by `rounds`: the first message's, and its answers.",
    ),
    (
        "exchanges",
        "bound",
        "From the logical arrival of the first message, or in a closed loop from the end of the round before, to the \
         delivery of the last answer, rounded up.",
    ),
    ("exchanges", "round mean", "The bound on the mean time of a round of a closed loop, rounded up."),
    ("changes", "change", "The relative change of a value; `setting` if it has no size."),
    ("changes", "of", "The thing in the file that is changed."),
    ("changes", "now", "The value in the file, or the default."),
    ("changes", "in the file", "The table of the file and the line to put there."),
    ("channels", "channel", "The channel's name, or the number of channels of a class in the row."),
    ("channels", "used", "Worst as a share of the bound; above 100 % the bound is broken."),
    ("channels", "messages dropped", "Messages dropped by cause: `drops`."),
    ("answers", "at", "When a node answered its program, or a fault began or was over."),
    ("answers", "channel", "The channel; empty for a fault."),
    (
        "answers",
        "answer",
        "`established`, `refused`, `changed`, `change refused`, `lost`, `closed`, or the fault.",
    ),
    (
        "answers",
        "detail",
        "The bound that is promised from then on, the reason of a refusal, or the place of a fault.",
    ),
    ("answers", "took", "The time since the request."),
    (
        "stages",
        "stage",
        "The stage's name; `rx` before it on the receiving side, `@1` after it at the second node.",
    ),
    ("stages", "packets", "Packets that passed it in the window."),
    ("stages", "utilisation", "Busy share of the window, summed over servers."),
    ("stages", "longest queue", "The maximum number of packets in its queue, of the whole run."),
    (
        "stages",
        "waited mean",
        "The time from joining its queue to the start of service; `p99` and `max` follow.",
    ),
    ("stages", "served mean", "The time from the start to the end of service; `p99` and `max` follow."),
    ("stages", "p99", "99th percentile of the quantity in the column before it."),
    ("stages", "max", "The maximum of the quantity in the columns before it."),
    (
        "applications",
        "application",
        "The application that computes beside communication; `@1` after it at the second node.",
    ),
    ("applications", "reserved", "The share of the CPU that its budgets add up to."),
    ("applications", "progress", "The share of the CPU that it got, in the window."),
    ("applications", "budgets", "Budgets done in the window."),
    ("applications", "late", "Those among them that were done after their deadline."),
    ("applications", "deadline", "The deadline of a budget, from the beginning of its period."),
    ("applications", "response mean", "The time from there to its completion; `p99` follows."),
    ("applications", "p99", "99th percentile of the quantity in the column before it."),
    ("applications", "worst", "The longest response, of the whole run."),
    ("applications", "bound", "The upper bound of the response."),
    ("real time", "events", "Events of the emulation."),
    ("real time", "inputs", "Inputs from outside."),
    ("real time", "late median", "Lateness of events: median; `p99`, `p99.9` and `max` follow."),
    ("real time", "p99", "99th percentile of the quantity in the column before it."),
    ("real time", "p99.9", "99.9th percentile of the quantity in the column before it."),
    ("real time", "max", "The maximum of the quantity in the columns before it."),
    ("real time", "behind", "Events that were late because the machine is too slow: `behind`."),
    ("real time", "stalled", "Events that were late because the platform stalled: `stalled`."),
    ("real time", "stalls total", "The total time of all stalls: `stall_total`."),
    ("real time", "longest stall", "The longest stall: `stall_longest`."),
    ("frames", "frames", "Frames that were written at the other end."),
    ("frames", "logical p50", "Latency in the model, from the logical arrival: median; `p99` follows."),
    (
        "frames",
        "arrival to delivery p50",
        "In real time, from reading to writing the frame: median; `p99` and `max` follow.",
    ),
    (
        "frames",
        "before, at most p50",
        "Upper bound of the time in the port before reading: median; `p99` and `max` follow.",
    ),
    ("frames", "p99", "99th percentile of the quantity in the column before it."),
    ("frames", "max", "The maximum of the quantity in the columns before it."),
    ("frames", "deadline", "The channel's deadline."),
    (
        "frames",
        "missed",
        "Messages late from their logical or their actual arrival, in the window. A frame arrives when it is read: its \
         wait in the port before is in `before, at most` and not included here.",
    ),
    ("frames", "of contract", "The rate of its messages as a share of the contract's."),
    ("delays", "frames", "Frames that were written."),
    (
        "delays",
        "delay too long p50",
        "How much longer than in the model a frame took: median; `p99` and `max` follow.",
    ),
    ("delays", "p99", "99th percentile of the quantity in the column before it."),
    ("delays", "max", "The maximum of the quantity in the columns before it."),
    ("delays", "early", "Frames that were written too early: an error of Laxity."),
    ("delays", "earliest", "The maximum earliness."),
    ("stops", "ended at", "When the stop of the platform ended."),
    ("stops", "length", "How long it was."),
    ("stops", "while idle", "1 if no thread of Laxity ran; else it may have been a long step of Laxity."),
];
