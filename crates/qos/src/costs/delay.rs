//! The duration of a phase for a packet.

use laxity_units::{ByteTime, Bytes, Span};

/// `fixed + per_packet + ⌈S / segment⌉ × per_segment + bytes`, where the first `knee` bytes take
/// `per_byte` and those past it `per_byte_past` each (thesis Eq. 5.1 and 5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Delay {
    /// Independent of the size, and once for several packets that are served together.
    pub fixed: Span,
    /// Independent of the size, for each packet.
    pub per_packet: Span,
    /// Size of a segment; zero for none.
    pub segment: Bytes,
    /// Per segment begun.
    pub per_segment: Span,
    /// Per byte up to the knee.
    pub per_byte: ByteTime,
    /// The size at which the cost of a byte changes; zero for no knee.
    pub knee: Bytes,
    /// Per byte past the knee.
    pub per_byte_past: ByteTime,
}

impl Delay {
    /// The same time for every packet.
    pub const fn fixed(span: Span) -> Self {
        Self {
            fixed: span,
            per_packet: Span::ZERO,
            segment: Bytes::ZERO,
            per_segment: Span::ZERO,
            per_byte: ByteTime::ZERO,
            knee: Bytes::ZERO,
            per_byte_past: ByteTime::ZERO,
        }
    }

    /// The delay of a packet of `size`. The times of the bytes up to the knee and past it are each
    /// rounded up to the picosecond.
    pub fn of(&self, size: Bytes) -> Span {
        let segments = if self.segment.is_zero() { 0 } else { size.div_ceil(self.segment) };
        let near = if self.knee.is_zero() { size } else { size.min(self.knee) };
        let past = size - near;
        self.fixed
            + self.per_packet
            + self.per_segment * segments
            + self.per_byte.time(near)
            + self.per_byte_past.time(past)
    }

    /// Maximum rounding error of a packet's delay.
    pub fn rounding(&self) -> Span {
        let past = if self.knee.is_zero() { Span::ZERO } else { self.per_byte_past.rounding() };
        self.per_byte.rounding() + past
    }

    /// The delay of packets of these sizes together: the fixed part once, the rest for each.
    pub fn of_all(&self, sizes: impl Iterator<Item = Bytes>) -> Span {
        self.fixed + sizes.map(|size| self.of(size) - self.fixed).sum::<Span>()
    }

    /// Every time divided by `factor`, rounded as by [`Span::divided`]; the time of a byte is not
    /// rounded.
    #[must_use]
    pub fn divided(self, factor: f64) -> Self {
        Self {
            fixed: self.fixed.divided(factor),
            per_packet: self.per_packet.divided(factor),
            per_segment: self.per_segment.divided(factor),
            per_byte: self.per_byte.divided(factor),
            per_byte_past: self.per_byte_past.divided(factor),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thesis Eq. 5.3 on both sides of the knee: 4096 B in 16 segments, and 8192 B in 32.
    #[test]
    fn a_delay_bends_at_its_knee() {
        let dma = Delay {
            fixed: Span::ZERO,
            per_packet: Span::ZERO,
            segment: Bytes::new(256),
            per_segment: Span::from_ns(1760),
            per_byte: ByteTime::from_ns(420),
            knee: Bytes::new(4096),
            per_byte_past: ByteTime::from_ns(310),
        };
        assert_eq!(dma.of(Bytes::new(4096)), Span::from_ns(16 * 1760 + 4096 * 420));
        assert_eq!(dma.of(Bytes::new(8192)), Span::from_ns(32 * 1760 + 4096 * 420 + 4096 * 310));
        assert_eq!(dma.of(Bytes::new(1)), Span::from_ns(1760 + 420));
        assert_eq!(dma.divided(2.0).of(Bytes::new(8192)), dma.of(Bytes::new(8192)) / 2);
    }

    /// A fixed part, and sizes that are no multiple of a segment and lie around the knee.
    #[test]
    fn each_part_of_a_delay_counts() {
        let delay = Delay {
            fixed: Span::from_us(1000),
            per_packet: Span::ZERO,
            segment: Bytes::new(10),
            per_segment: Span::from_us(100),
            per_byte: ByteTime::from_us(1),
            knee: Bytes::new(25),
            per_byte_past: ByteTime::from_us(2),
        };
        // 24 B: 3 segments, 24 bytes; 25 B as many and one more byte; 31 B: 4 segments, 25 bytes
        // and 6 past the knee.
        let of = |size| delay.of(Bytes::new(size));
        assert_eq!([of(0), of(24), of(25), of(31)], [1000, 1324, 1325, 1437].map(Span::from_us));
        let straight = Delay { knee: Bytes::ZERO, segment: Bytes::ZERO, ..delay };
        assert_eq!(straight.of(Bytes::new(31)), Span::from_us(1031));
        assert_eq!(Delay::fixed(Span::from_us(7)).of(Bytes::new(31)), Span::from_us(7));
        let each = Delay { per_packet: Span::from_us(10), ..delay };
        assert_eq!(each.of(Bytes::new(24)), Span::from_us(1334));
        let both = each.of_all([24, 31].map(Bytes::new).into_iter());
        assert_eq!(both, Span::from_us(1000 + 334 + 447), "what is fixed is paid once");
        let half = each.divided(2.0);
        let delay = each;
        assert_eq!((half.segment, half.knee), (delay.segment, delay.knee), "sizes are not times");
        assert_eq!(half.of(Bytes::new(31)), delay.of(Bytes::new(31)) / 2);
    }
}
