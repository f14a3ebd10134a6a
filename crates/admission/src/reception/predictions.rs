//! Predicted receive rates of a host by its costs: thesis Eqs. 7.1–7.5, and the corresponding ones
//! for a poll in the kernel.
//!
//! All rates are packets a second. A packet takes `commands` commands of the host, of which the
//! last brings the protocol `C_ri`; a quota counts commands, as in thesis Eq. 7.4 (its Fig. 7.6
//! speaks of packets). Cache misses, and ticks that a busy thread misses, are left out, as in the
//! thesis, which measured up to a tenth more for it.

use laxity_units::Span;

/// Costs of receiving on one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceivingCosts {
    /// Commands that a packet takes; 2 in the thesis, 1 where the adapter writes packets into host
    /// memory by itself.
    pub commands: u32,
    /// `C_intr`: an interrupt.
    pub interrupt: Span,
    /// `C_sw`: a context switch.
    pub switch: Span,
    /// `C_ri`: the protocol, for a packet.
    pub protocol: Span,
    /// `C_pp`: the program, for a packet.
    pub program: Span,
}

impl ReceivingCosts {
    /// MLFRR with an interrupt for each command, Eq. 7.1: `1 / (2 C_intr + C_ri + C_pp)`.
    pub fn per_command(&self) -> f64 {
        1.0 / (self.reception() + seconds(self.program))
    }

    /// Delivered of `offered` packets a second with an interrupt for each command, Eq. 7.2: `(1 − A
    /// (2 C_intr + C_ri)) / C_pp` beyond the MLFRR; zero at and beyond
    /// [`livelock`](Self::livelock).
    pub fn per_command_delivered(&self, offered: f64) -> f64 {
        let left = (1.0 - offered * self.reception()) / seconds(self.program);
        offered.min(left.max(0.0))
    }

    /// The offered rate from which no packet is delivered any more: `1 / (2 C_intr + C_ri)`.
    pub fn livelock(&self) -> f64 {
        1.0 / self.reception()
    }

    /// The same with early drop, which spends one interrupt on a packet that finds no buffer: `(1 −
    /// A C_intr) / (C_intr + C_ri + C_pp)` beyond the MLFRR. The thesis gives no formula; this one
    /// follows from its text.
    pub fn early_drop_delivered(&self, offered: f64) -> f64 {
        let interrupt = seconds(self.interrupt);
        let accepted = self.reception() + seconds(self.program) - interrupt;
        offered.min(((1.0 - offered * interrupt) / accepted).max(0.0))
    }

    /// MLFRR of continuous polling, Eq. 7.3: `1 / (C_ri + C_pp + C_sw / Q)`.
    ///
    /// The thesis evaluates it with `Q` as packets ("1303 to 1334 … as Q is increased from 1 to
    /// 8"), though Table 7.2 and the text count commands; so does this.
    pub fn continuous(&self, quota: u32) -> f64 {
        1.0 / (self.work() + seconds(self.switch) / f64::from(quota))
    }

    /// MLFRR of timed polling, Eq. 7.4: what the quota lets through or what the CPU can do,
    /// whichever is less.
    pub fn timed(&self, interval: Span, quota: u32) -> f64 {
        let interval = seconds(interval);
        let overhead = (seconds(self.interrupt) + seconds(self.switch)) / interval;
        let let_through = f64::from(quota) / (f64::from(self.commands) * interval);
        let_through.min((1.0 - overhead) / self.work())
    }

    /// The guarantee of an interface under adaptive backoff: `Q / (2 I_max)`. Eq. 7.5 asks that
    /// these add up to no more than the host's MLFRR.
    pub fn reserved(&self, quota: u32, maximum: Span) -> f64 {
        f64::from(quota) / (f64::from(self.commands) * seconds(maximum))
    }

    /// MLFRR of a poll in the kernel every `interval` on average that costs `poll` and grants
    /// `quota` packets (paper polling; our formula, on the pattern of Eq. 7.4): `min(Q / I, (1 −
    /// C_poll / I) / C_ri)`.
    pub fn clocked(&self, interval: Span, poll: Span, quota: u32) -> f64 {
        let interval = seconds(interval);
        (f64::from(quota) / interval).min((1.0 - seconds(poll) / interval) / self.work())
    }

    /// CPU time of a packet with an interrupt for each of its commands.
    fn reception(&self) -> f64 {
        f64::from(self.commands) * seconds(self.interrupt) + seconds(self.protocol)
    }

    /// CPU time of a packet without an interrupt.
    fn work(&self) -> f64 {
        seconds(self.protocol) + seconds(self.program)
    }
}

fn seconds(span: Span) -> f64 {
    span.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    const THESIS: ReceivingCosts = ReceivingCosts {
        commands: 2,
        interrupt: Span::from_us(28),
        switch: Span::from_us(20),
        protocol: Span::from_us(400),
        program: Span::from_us(347),
    };

    #[track_caller]
    fn prints(rate: f64, printed: u64) {
        assert!((rate - printed as f64).abs() < 1.0, "{rate} is not {printed}");
    }

    #[test]
    fn the_thesis_prints_these_figures() {
        prints(ReceivingCosts { program: Span::from_us(73), ..THESIS }.per_command(), 1890);
        prints(THESIS.per_command(), 1245);
        prints(THESIS.livelock(), 2193);
        prints(THESIS.continuous(1), 1303);
        prints(THESIS.continuous(8), 1334);
        prints(THESIS.timed(Span::from_ms(1), 8), 1274);
        prints(THESIS.timed(Span::from_ms(2), 8), 1306);
        prints(THESIS.timed(Span::from_ms(2), 3), 750);
        prints(THESIS.reserved(12, Span::from_ms(20)), 300);
    }

    #[test]
    fn interrupts_deliver_all_then_less_then_nothing() {
        assert_eq!(THESIS.per_command_delivered(1000.0), 1000.0);
        assert!(THESIS.per_command_delivered(2000.0) < 300.0);
        assert_eq!(THESIS.per_command_delivered(2200.0), 0.0);
        assert!(THESIS.early_drop_delivered(2200.0) > 1100.0);
    }

    #[test]
    fn a_poll_in_the_kernel_is_bounded_by_its_quota_and_by_the_cpu() {
        let polling = ReceivingCosts {
            commands: 1,
            interrupt: Span::ZERO,
            switch: Span::ZERO,
            protocol: Span::from_ns(5600),
            program: Span::ZERO,
        };
        prints(polling.clocked(Span::from_us(20), Span::from_ns(1590), 3), 150_000);
        prints(polling.clocked(Span::from_us(20), Span::from_ns(1590), 4), 164_375);
    }
}
