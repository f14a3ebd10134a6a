//! A host that receives at interfaces: when it takes packets from them.

use laxity_qos::reception::{BatchSharing, Operations, Policy};
use laxity_units::Span;
use laxity_world::experiment::ReceiverSpec;

use super::missing::Missing;
use super::section::{Section, microseconds, nanoseconds};

pub(super) fn write(receiver: &ReceiverSpec, section: &mut Section, missing: &mut Missing) {
    for (number, interface) in receiver.interfaces.iter().enumerate() {
        if number > 0 {
            section.line("");
        }
        section.interface(Some(&interface.name), &format!("eth{number}"));
        let config = &interface.config;
        section.line(format!("ethtool -G \"$dev\" rx {}", config.slots));
        policy(&config.policy, &interface.name, section, missing);
        if config.sharing != BatchSharing::Common {
            missing.at(&interface.name, "a quota that classes share");
        }
        if config.early_drop {
            missing.at(&interface.name, "packets dropped before the protocol for want of buffers");
        }
        if let Some(buffers) = config.buffers {
            section.comment(format!(
                "SO_RCVBUF of the program has room for {buffers} packets; Linux counts their overhead too."
            ));
        }
    }
    for program in &receiver.programs {
        if let Some(reserved) = program.config.reserved {
            section.comment(format!(
                "{}: chrt -d --sched-runtime {} --sched-deadline {period} --sched-period {period} 0 PROGRAM",
                program.name,
                nanoseconds(reserved.budget),
                period = nanoseconds(reserved.period),
            ));
        }
    }
}

fn policy(policy: &Policy, place: &str, section: &mut Section, missing: &mut Missing) {
    let mut near = |what: &str| missing.at(place, format!("{what}; the settings of NAPI are near that"));
    match policy {
        Policy::PerCommand(_) => {
            section.comment("An interrupt for each packet; NAPI still masks them while it polls.");
            section.line("ethtool -C \"$dev\" adaptive-rx off rx-usecs 0 rx-frames 1");
        }
        Policy::Coalescing(coalescing) => section.line(format!(
            "ethtool -C \"$dev\" adaptive-rx off rx-usecs {} rx-frames {}",
            microseconds(coalescing.delay),
            coalescing.frames
        )),
        Policy::Adaptive(_) => section.line("ethtool -C \"$dev\" adaptive-rx on"),
        Policy::Napi(napi) => {
            section.line(format!("sysctl -w net.core.dev_weight={}", napi.quota()));
        }
        Policy::Limited(limited) => {
            section.line(format!(
                "ethtool -C \"$dev\" adaptive-rx off rx-usecs {}",
                microseconds(limited.interval())
            ));
        }
        Policy::Explicit(explicit) => {
            near("interrupts that are off for an interval");
            deferred(explicit.interval(), section);
        }
        Policy::Timed(_) | Policy::Clocked(_) => {
            near("a clock that polls");
            section.line("echo 1000 > /sys/class/net/\"$dev\"/napi_defer_hard_irqs");
        }
        Policy::Continuous(_) => {
            near("a thread that polls all the time");
            section.line("echo 1 > /sys/class/net/\"$dev\"/threaded");
            section.comment("The program sets SO_BUSY_POLL and SO_PREFER_BUSY_POLL.");
        }
        Policy::Backoff(_) => {
            near("interrupts as far apart as the load asks for");
            section.line("ethtool -C \"$dev\" adaptive-rx on");
        }
        Policy::Guaranteed(_) => near("a quota of packets in each interval"),
        Policy::CycleLimited(_) => near("a share of the CPU for polls"),
        Policy::Lazy(_) => {
            near("the protocol in the program");
            section.line("echo 1 > /sys/class/net/\"$dev\"/threaded");
        }
    }
}

/// Interrupts stay off for `interval` after a poll.
fn deferred(interval: Span, section: &mut Section) {
    section.line("echo 1 > /sys/class/net/\"$dev\"/napi_defer_hard_irqs");
    section.line(format!("echo {} > /sys/class/net/\"$dev\"/gro_flush_timeout", interval.as_ps() / 1000));
}
