//! The cost of each step, in the symbols of the papers.
//!
//! Admission sums these costs to prove a bound; the simulation charges them to a CPU and a link.
//! Both read the same two structs, so the parameters of a bound and of its measurement are equal.

mod delay;

use laxity_units::{ByteTime, Bytes, Span};

use crate::paradigm::LinkParadigm;

pub use delay::Delay;

/// Host CPU costs (structuring Table 1, resource Table 1). In the papers bytes by themselves have
/// no cost, except in thesis §3.4.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HostCosts {
    /// `C_sw`: time to switch contexts between threads.
    pub context_switch: Span,
    /// `C_cm`: penalty of the cache misses that follow a context switch.
    pub cache_miss: Span,
    /// `C_p^1st`: protocol processing of a message's first packet, with the fixed cost of the
    /// message.
    pub first_packet: Span,
    /// Protocol processing of a message of one packet, where the fragmentation protocol has a fast
    /// path for such messages (resource §4.1, footnote 4; thesis §3.4.2.1); else `C_p^1st`.
    pub single_packet: Span,
    /// `C_p`: protocol processing of every further packet.
    pub packet: Span,
    /// Further processing of each packet of a real-time channel: queues in the order of deadlines
    /// (thesis §4.4.1: 580 us a packet, and 364 us of best effort).
    pub real_time_packet: Span,
    /// `C_l`: selecting a packet for transmission and starting it.
    pub link_scheduling: Span,
    /// Issuing a transmit command where the adapter schedules the link, in place of `C_l`.
    pub hand_over: Span,
    /// Entering and leaving an interrupt, without the work inside; zero where `C_l` includes it.
    pub interrupt: Span,
    /// A poll for responses of the adapter without an interrupt, whether there are any or not.
    pub poll: Span,
    /// Taking one response out of the adapter's queue, beside the interrupt or poll that found it.
    pub response: Span,
    /// A timer's interrupt, which releases work that waited for its time; zero where `C_p` includes
    /// it.
    pub timer: Span,
    /// An inter-processor interrupt (IPI) to an idle core, until the core starts to schedule.
    pub ipi: Span,
    /// Creating a thread: once a message with a thread per message, once a packet with option O3.
    pub thread_creation: Span,
    /// Protocol processing of a received packet: demultiplexing, header, reassembly queue.
    pub receive_packet: Span,
    /// Completing a reassembled message and handing it to the application.
    pub receive_message: Span,
    /// CPU time of an application's send per message, if the application shares the CPU.
    pub send_call: Span,
    /// Copying, checksumming or encrypting a sent byte, beside `C_p`.
    pub send_byte: Span,
    /// As `send_byte`, for a byte that is received or relayed.
    pub receive_byte: Span,
    /// Moving a byte to the adapter by the CPU (programmed I/O), beside `C_l`; zero where the
    /// adapter fetches it.
    pub transfer_byte: Span,
}

impl HostCosts {
    /// `C_sw + C_cm`: the whole cost of a switch to another thread.
    pub fn switch(&self) -> Span {
        self.context_switch + self.cache_miss
    }

    /// The costs of a host that is interrupted for each response: taking the response is then part
    /// of the interrupt.
    #[must_use]
    pub fn interrupted_for_each(self) -> Self {
        Self { interrupt: self.interrupt + self.response, response: Span::ZERO, ..self }
    }

    /// Every cost divided by `C_sf`, as by [`Span::divided`]: a host faster by that factor
    /// (thesis §4.4.2).
    #[must_use]
    pub fn with_speedup(self, csf: f64) -> Self {
        self.zip(self, |cost, _| cost.divided(csf))
    }

    /// The costs of a host on which packets of every class cost what those of real time do: an upper
    /// bound.
    #[must_use]
    pub fn with_real_time_packets(self) -> Self {
        let further = self.real_time_packet;
        Self {
            first_packet: self.first_packet + further,
            single_packet: self.single_packet + further,
            packet: self.packet + further,
            receive_packet: self.receive_packet + further,
            real_time_packet: Span::ZERO,
            ..self
        }
    }

    /// Combines each cost with the `other`'s cost of the same name by `of`.
    #[must_use]
    pub fn zip(self, other: Self, of: impl Fn(Span, Span) -> Span) -> Self {
        Self {
            context_switch: of(self.context_switch, other.context_switch),
            cache_miss: of(self.cache_miss, other.cache_miss),
            first_packet: of(self.first_packet, other.first_packet),
            single_packet: of(self.single_packet, other.single_packet),
            packet: of(self.packet, other.packet),
            real_time_packet: of(self.real_time_packet, other.real_time_packet),
            link_scheduling: of(self.link_scheduling, other.link_scheduling),
            hand_over: of(self.hand_over, other.hand_over),
            interrupt: of(self.interrupt, other.interrupt),
            poll: of(self.poll, other.poll),
            response: of(self.response, other.response),
            timer: of(self.timer, other.timer),
            ipi: of(self.ipi, other.ipi),
            thread_creation: of(self.thread_creation, other.thread_creation),
            receive_packet: of(self.receive_packet, other.receive_packet),
            receive_message: of(self.receive_message, other.receive_message),
            send_call: of(self.send_call, other.send_call),
            send_byte: of(self.send_byte, other.send_byte),
            receive_byte: of(self.receive_byte, other.receive_byte),
            transfer_byte: of(self.transfer_byte, other.transfer_byte),
        }
    }

    /// The costs of a host with packets of `size` only, with the costs per byte included in those
    /// per packet. An upper bound for packets of at most `size`.
    #[must_use]
    pub fn with_packets_of(self, size: Bytes) -> Self {
        let bytes = size.get();
        let [send, receive, transfer] =
            [self.send_byte, self.receive_byte, self.transfer_byte].map(|of| of * bytes);
        Self {
            first_packet: self.first_packet + send,
            single_packet: self.single_packet + send,
            packet: self.packet + send,
            receive_packet: self.receive_packet + receive,
            link_scheduling: self.link_scheduling + transfer,
            hand_over: self.hand_over + transfer,
            send_byte: Span::ZERO,
            receive_byte: Span::ZERO,
            transfer_byte: Span::ZERO,
            ..self
        }
    }

    /// The cost of starting a transmission: `C_l`, or `hand_over` where the adapter schedules the
    /// link.
    pub fn transmit(&self, paradigm: LinkParadigm) -> Span {
        match paradigm {
            LinkParadigm::Adapter => self.hand_over,
            LinkParadigm::O1 | LinkParadigm::O2 | LinkParadigm::O3 => self.link_scheduling,
        }
    }

    /// Whether a packet that is made, and its response, take the CPU no further time.
    pub fn hands_on_at_once(&self, paradigm: LinkParadigm) -> bool {
        [self.transmit(paradigm), self.interrupt, self.response].iter().all(|cost| cost.is_zero())
    }

    /// `C_p^1st + (n − 1) C_p`: protocol processing of the first `n` packets of a message of
    /// several.
    pub fn protocol(&self, n: u64) -> Span {
        match n {
            0 => Span::ZERO,
            n => self.first_packet + self.packet * (n - 1),
        }
    }

    /// The most that the first packet of a message costs that has at most `packets`.
    pub fn first_of(&self, packets: u64) -> Span {
        if packets == 1 { self.single_packet } else { self.first_packet.max(self.single_packet) }
    }
}

/// How long a packet occupies the adapter: `L_x(S) = C_x + S / min(B_l, B_x)` (structuring §3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkCosts {
    /// `C_x`: overhead of initiating a transmission.
    pub startup: Span,
    /// Time per byte of the slower of link and host transfer.
    pub per_byte: ByteTime,
    /// Minimum size to which the link pads a packet: 46 B behind the header of Ethernet, zero
    /// elsewhere.
    pub shortest: Bytes,
    /// Bytes on the link beside the packet, the interframe gap included; each takes `per_byte`.
    pub around: Bytes,
    /// The interframe gap: the end of the transmission time, when the last byte of the frame has
    /// left already.
    pub gap: Span,
}

impl LinkCosts {
    /// A link without framing on which a byte takes whole picoseconds.
    pub const fn new(startup: Span, per_byte: Span) -> Self {
        let per_byte = ByteTime::of(per_byte);
        Self { startup, per_byte, shortest: Bytes::ZERO, around: Bytes::ZERO, gap: Span::ZERO }
    }

    /// Bytes on the link of a packet of `size`, with its padding and all that surrounds it.
    #[inline]
    pub fn on_link(&self, size: Bytes) -> Bytes {
        size.max(self.shortest) + self.around
    }

    /// `L_x(size)`, rounded up once to the picosecond; the interframe gap is included.
    #[inline]
    pub fn transmit(&self, size: Bytes) -> Span {
        self.startup + self.per_byte.time(self.on_link(size))
    }

    /// The part of [`transmit`](Self::transmit) that does not depend on the size, rounded up, for
    /// packets that are not padded.
    pub fn fixed(&self) -> Span {
        self.startup + self.per_byte.time(self.around)
    }

    /// At least [`transmit`](Self::transmit), and a bound that stays valid in proportion to the
    /// size.
    ///
    /// Rounding up adds up to a picosecond to each packet, however small. Where the share of a link
    /// is computed from the smallest packets, that picosecond has to be counted.
    pub fn transmit_in_proportion(&self, size: Bytes) -> Span {
        self.transmit(size) + self.per_byte.rounding()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: HostCosts = HostCosts {
        context_switch: Span::from_us(1),
        cache_miss: Span::from_us(2),
        first_packet: Span::from_us(40),
        single_packet: Span::from_us(25),
        packet: Span::from_us(20),
        real_time_packet: Span::from_us(9),
        link_scheduling: Span::from_us(10),
        hand_over: Span::from_us(7),
        interrupt: Span::from_us(5),
        poll: Span::from_us(3),
        response: Span::from_us(1),
        timer: Span::from_us(4),
        ipi: Span::from_us(6),
        thread_creation: Span::from_us(100),
        receive_packet: Span::from_us(30),
        receive_message: Span::from_us(8),
        send_call: Span::from_us(15),
        send_byte: Span::from_ns(3),
        receive_byte: Span::from_ns(2),
        transfer_byte: Span::from_ns(1),
    };

    #[test]
    fn sums_are_the_papers() {
        assert_eq!(COSTS.switch(), Span::from_us(3));
        assert_eq!([0, 1, 2, 5].map(|n| COSTS.protocol(n)), [0, 40, 60, 120].map(Span::from_us));
        let link = LinkCosts::new(Span::from_us(40), Span::from_ns(50));
        assert_eq!(
            [0, 1, 1000].map(|n| link.transmit(Bytes::new(n))),
            [40_000, 40_050, 90_000].map(Span::from_ns)
        );
    }

    #[test]
    fn bytes_are_part_of_packets_that_are_alike() {
        let of = COSTS.with_packets_of(Bytes::new(1000));
        let each = [
            of.first_packet,
            of.single_packet,
            of.packet,
            of.receive_packet,
            of.link_scheduling,
            of.hand_over,
        ];
        assert_eq!(each, [43, 28, 23, 32, 11, 8].map(Span::from_us));
        assert_eq!([1, 2].map(|packets| of.first_of(packets)), [28, 43].map(Span::from_us));
        assert_eq!(of.with_packets_of(Bytes::new(1 << 20)), of);
    }

    #[test]
    fn packets_of_real_time_cost_more() {
        let of = COSTS.with_real_time_packets();
        let each = [of.first_packet, of.single_packet, of.packet, of.receive_packet];
        assert_eq!(each, [49, 34, 29, 39].map(Span::from_us));
        assert_eq!(of.with_real_time_packets(), of);
    }

    #[test]
    fn starting_a_transmission_costs_by_who_schedules() {
        let paradigms = [LinkParadigm::O1, LinkParadigm::O2, LinkParadigm::O3, LinkParadigm::Adapter];
        assert_eq!(paradigms.map(|paradigm| COSTS.transmit(paradigm)), [10, 10, 10, 7].map(Span::from_us));
    }

    /// To the nearest picosecond: a third of 10 us down, a sixth of 40 us up. A factor of one has
    /// no effect.
    #[test]
    fn a_faster_host_pays_less() {
        assert_eq!(COSTS.with_speedup(1.0), COSTS);
        let each = COSTS.interrupted_for_each();
        assert_eq!((each.interrupt, each.response, each.poll), (Span::from_us(6), Span::ZERO, COSTS.poll));
        let third = COSTS.with_speedup(3.0);
        assert_eq!(third.link_scheduling, Span::from_ps(3_333_333));
        assert_eq!(COSTS.with_speedup(1.5).receive_message, Span::from_ps(5_333_333));
        assert_eq!(COSTS.with_speedup(1.5).interrupt, Span::from_ps(3_333_333));
        assert_eq!(COSTS.with_speedup(0.5).send_call, Span::from_us(30));
        assert_eq!(third.hand_over, Span::from_ps(2_333_333));
        assert_eq!(COSTS.with_speedup(6.0).cache_miss, Span::from_ps(333_333));
        assert_eq!(COSTS.with_speedup(6.0).packet, Span::from_ps(3_333_333));
        assert_eq!(COSTS.with_speedup(6.0).first_packet, Span::from_ps(6_666_667));
    }
}
