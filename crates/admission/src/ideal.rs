//! Corrected bound for the ideal host of R-ideal: a CPU that is preempted anywhere, at no cost.
//!
//! The papers say "no CPU preemption cost and an immediately preemptible CPU" and give no formula.
//! Read here as O1 without switches, cache misses and blocks to wait for. Scheduling the link still
//! costs `C_l` and a completion `C_i`; the link is still not preemptible, so one packet per place
//! of the adapter is waited for.
//!
//! The proof is that of [`super::o1`] with two changes. No lower handler runs in `(s, τ]`. And at
//! `τ` every preempted level handler may be in the middle of a packet, which then has used the CPU
//! before `τ` and will use the link after it. So a packet counts on both sides for each message
//! instead of once for all ([`super::trajectory`]). Calling the link scheduler is taken not to be
//! preempted by handlers: were it, a lower handler could keep the link idle for as long as level
//! packets are being made.

use super::decision::Impossible;
use super::environment::Environment;
use super::o1::stolen;
use super::population::Population;
use super::terms::Breakdown;
use super::trajectory::{Beside, Charges};
use super::transmission::{in_adapter, once_behind, start};

/// The charges of the ideal host.
pub(super) fn charges(
    environment: &Environment,
    population: &Population,
    beside: &Beside,
) -> Result<Charges, Impossible> {
    let (stretch, once) = stolen(environment, population)?;
    let (occupied, completions) = in_adapter(environment, population);
    let completions = completions + beside.per_start * u128::from(environment.depth);
    let wait = Breakdown::default()
        .and("packets of other links already made", stretch.scale(beside.once))
        .and("link scheduling in progress", once)
        .and("packets already with the adapter", occupied)
        .and("their completions", completions)
        .with(once_behind(environment, population));
    Ok(Charges {
        stretch,
        per_block: 0,
        per_made: 0,
        per_other: beside.each,
        per_start: start(environment) + beside.per_start,
        per_activation: 0,
        preemptible: true,
        on_cpu: false,
        prolonged: None,
        wait,
    })
}
