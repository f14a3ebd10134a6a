//! A core that is named: of a handler, an application, an interrupt.

use laxity_qos::channel::CoreId;

use super::*;

/// Refuses `core`, named at `at`, if `host` has fewer cores.
pub(super) fn core(
    cx: &mut Context<'_>,
    core: CoreId,
    at: &Range<usize>,
    cores: u8,
    host: &str,
) -> Result<(), Reported> {
    if core.0 < cores {
        return Ok(());
    }
    let (reason, help) = match cores {
        1 => (
            format!("{host} has one core, number 0"),
            format!("say `cores = {}` under `[host]`, or remove this", core.0 + 1),
        ),
        _ => (
            format!("{host} has {cores} cores, and there is no number {}", core.0),
            format!("valid is 0 to {}", cores - 1),
        ),
    };
    Err(cx.fault(at, reason, help))
}
