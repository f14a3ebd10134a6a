//! The credit-based shaper of IEEE 802.1Qav: what it leaves to its own class, and to those below.
//!
//! The credit `V` of a class with idle slope `I` grows at `I` while a frame of the class waits, and
//! loses the bits that are sent. Resets lower it only. So over any period
//!
//! ```text
//! bits sent = I · time − (V at the end − V at the begin) − resets
//! ```
//!
//! **The class itself.** Let the period begin when the credit was last zero with an empty queue.
//! There were no resets since, so the class has at least `I t − V_max`, a rate-latency curve (De
//! Azua and Boyer 2014, *Complete modelling of AVB in network calculus framework*, theorem 3).
//!
//! **The highest credit.** Let `V` be positive since `u`, and let `o ≤ u` be the last instant at
//! which no higher class could send: its queue was empty or its credit negative. From `o` on the
//! link sends one frame that had begun, and higher classes, and the class itself. A higher class
//! with idle slope `I_j` begins with no credit above zero and ends with none below `−l_j (1 − I_j / C)`,
//! so it sends at most `I_j w + l_j (1 − I_j / C)` in `w`; one without a shaper sends what arrives.
//! So
//!
//! ```text
//! w ≤ (L + Σ l_j (1 − I_j / C) + α(w)) / (C − Σ I_j),     V_max = I w
//! ```
//!
//! with the frame `L` that had begun: a lower one, or one of the class itself, during which its
//! credit does not grow. For the two classes of AVB these are the formulas of De Azua and Boyer,
//! `I_A L / C` and `I_B (L / (C − I_A) + l_A / C)`.
//!
//! **Classes below** have `C w − L` less what the shaped classes send, by the same argument.
//!
//! **Behind the link** frames of the class arrive within `I t + V_max` and one frame.

use laxity_units::Bytes;

use crate::arrival::{Arrival, Line, picobits};
use crate::network::Server;
use crate::service::Service;

/// The classes above another one.
#[derive(Debug, Clone)]
pub(crate) struct Above {
    /// Traffic of those without a shaper.
    pub(crate) open: Arrival,
    /// Traffic that those with a shaper send from an instant on at which none of them can.
    pub(crate) shaped: Line,
}

impl Above {
    /// No classes.
    pub(crate) fn none() -> Self {
        Self { open: Arrival::none(), shaped: Line { burst: 0, rate: 0 } }
    }

    /// Adds a class with that idle slope and longest frame.
    pub(crate) fn add(&mut self, server: &Server, slope: u128, longest: Bytes) {
        let debt = picobits(longest);
        let earned = slope * (debt / u128::from(server.peak.bits_per_sec()));
        self.shaped.burst = self.shaped.burst.saturating_add(debt.saturating_sub(earned));
        self.shaped.rate += slope;
    }

    /// All that these classes send in a window.
    pub(crate) fn all(&self) -> Arrival {
        self.open.clone().plus(self.shaped)
    }
}

/// The service of a class with idle slope `slope` at `server`, and the limit of its traffic behind it;
/// `None` if the link is too slow for it and those `above`.
///
/// `own` is its longest frame and `lower` that of all below.
pub(crate) fn class(
    server: &Server,
    slope: u128,
    own: Bytes,
    lower: Bytes,
    above: &Above,
) -> Option<(Service, Line)> {
    let credit = highest(server, slope, picobits(own), picobits(lower), above)?;
    let late = slope.saturating_mul(u128::from(server.latency.as_ps()));
    let service = Service::one(slope, credit.saturating_add(late));
    // A window can begin within a frame. A slow frame earns more than a fast one loses.
    let own = picobits(own);
    let (slow, fast) = (u128::from(server.rate.bits_per_sec()), u128::from(server.peak.bits_per_sec()));
    let earned = slope.saturating_mul(own.div_ceil(slow) - own / fast);
    Some((service, Line { burst: credit.saturating_add(own).saturating_add(earned), rate: slope }))
}

/// The highest credit, in picobits.
fn highest(server: &Server, slope: u128, own: u128, lower: u128, above: &Above) -> Option<u128> {
    let link = u128::from(server.rate.bits_per_sec());
    let delayed = |line: &Line| line.rate.saturating_mul(u128::from(server.latency.as_ps()));
    let longest = |frame: u128| {
        let within = |line: &Line| {
            let left = link.checked_sub(above.shaped.rate + line.rate)?;
            let sent = above.shaped.burst.saturating_add(line.burst).saturating_add(delayed(line));
            (left >= slope && left > 0).then(|| frame.saturating_add(sent).div_ceil(left))
        };
        above.open.lines().iter().filter_map(within).min()
    };
    let behind_lower = longest(lower)?;
    let behind_own = longest(own)?.saturating_sub(own / link);
    Some(slope.saturating_mul(behind_lower.max(behind_own)))
}

#[cfg(test)]
mod tests {
    use laxity_units::{Rate, Span};

    use super::*;

    const MBIT: u64 = 1_000_000;

    /// The longest period without service.
    fn latency(service: &Service) -> Span {
        let piece = service.pieces()[0];
        Span::from_ps(u64::try_from(piece.debt.div_ceil(piece.rate)).unwrap_or(u64::MAX))
    }

    fn server() -> Server {
        let rate = Rate::from_bits_per_sec(100 * MBIT);
        Server::by_level(rate)
    }

    /// Class A of 30 Mbit/s and class B of 45 Mbit/s with frames of 250 B (20 us), above best effort
    /// of 1500 B (120 us): A waits 120 us at most, and B 120 / 0.7 + 20 us.
    #[test]
    fn the_classes_of_avb_have_the_published_latencies() {
        let (frame, lower) = (Bytes::new(250), Bytes::new(1500));
        let slope = |mbit: u64| u128::from(mbit * MBIT);
        let (a, behind) = class(&server(), slope(30), frame, lower, &Above::none()).expect("a rate");
        assert_eq!(latency(&a), Span::from_us(120));
        assert_eq!(behind.burst, (3600 + 2000) * 1_000_000_000_000);
        let mut above = Above::none();
        above.add(&server(), slope(30), frame);
        let (b, _) = class(&server(), slope(45), frame, lower, &above).expect("a rate");
        let published = 120.0 / 0.7 + 20.0;
        let found = latency(&b).as_ps() as f64 / 1e6;
        assert!(found >= published && found < published + 0.001, "{found}");
        assert!(class(&server(), slope(71), frame, lower, &above).is_none(), "more than the link has");
    }

    /// Without frames below, a frame of B of 120 us that has begun keeps A waiting, and B's own credit
    /// grows only behind it: A can then send for 120 · 0.3 / 0.7 + 20 us.
    #[test]
    fn a_frame_of_the_class_itself_lets_higher_classes_save_credit() {
        let mut above = Above::none();
        above.add(&server(), u128::from(30 * MBIT), Bytes::new(250));
        let long = Bytes::new(1500);
        let (b, _) = class(&server(), u128::from(45 * MBIT), long, Bytes::ZERO, &above).expect("a rate");
        let by_hand = 120.0 / 0.7 + 20.0 - 120.0;
        let found = latency(&b).as_ps() as f64 / 1e6;
        assert!(found >= by_hand && found < by_hand + 0.001, "{found}");
    }
}
