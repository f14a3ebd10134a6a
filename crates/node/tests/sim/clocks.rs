//! Clocks of the simulated nodes: they differ, drift within a tolerance, and are set now and then.

use super::*;

/// The clocks of `count` nodes, with their drifts.
pub(super) fn clocks(dice: &mut Stream, count: usize) -> (Vec<NodeClock>, Vec<Drift>, Quality) {
    let ppb = [0, 100_000, 10_000_000][below(dice, 3)];
    let grain = [Span::from_ps(1), Span::from_us(1), Span::from_us(20)][below(dice, 3)];
    let drift = |part: i64| Drift::from_ppb(part * ppb / 2).unwrap();
    let drifts: Vec<Drift> = (0..count).map(|_| drift(below(dice, 5) as i64 - 2)).collect();
    let clock = |(node, drift): (usize, &Drift)| {
        NodeClock::new(Time::ZERO + Span::from_ms(777) * (node as u64 + 1), *drift).with_grain(grain)
    };
    let clocks = drifts.iter().enumerate().map(clock).collect();
    (clocks, drifts, Quality { drift: Tolerance::of(drift(2)), grain })
}

impl Network {
    /// Plans steps of clocks, in some networks.
    pub(super) fn steps(&mut self, dice: &mut Stream) {
        if dice.chance(0.6) {
            return;
        }
        for _ in 0..1 + below(dice, 3) {
            let size = Span::from_us(1 + dice.below(40_000));
            let shift = if dice.chance(0.5) { Shift::Forward(size) } else { Shift::Backward(size) };
            let at = Time::ZERO + Span::from_us(dice.below(400_000));
            let node = below(dice, self.nodes.len());
            self.at(at, Item::Step(node, shift));
        }
    }

    /// Sets the clock of a node. The bound is void for channels through the node that are open, or
    /// opened while messages that were early or late by the step are still in the network. Channels
    /// over other nodes keep their bounds, whatever the step does to packets that they meet later.
    pub(super) fn set_clock(&mut self, node: usize, shift: Shift) {
        self.clocks[node].change(self.now, shift, self.drifts[node]).unwrap();
        let settled = self.now + UNSETTLED;
        self.unsettled[node] = settled;
        for channel in self.channels.values_mut().filter(|channel| channel.route.contains(&node)) {
            if channel.asked < settled {
                channel.excuse(settled);
            }
            if channel.route[0] == node {
                (channel.next, channel.stepped) = ([Time::ZERO; 2], true);
            }
        }
    }
}
