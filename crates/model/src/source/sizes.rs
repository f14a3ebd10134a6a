//! How large messages are.

use laxity_engine::Stream;
use laxity_units::Bytes;

use super::SourceError;

/// The sizes of a source's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizes {
    /// All alike.
    Fixed(Bytes),
    /// Every size from `least` to `most`, both included, as likely as any other.
    Uniform {
        /// The smallest; not zero.
        least: Bytes,
        /// The largest: M_max of a source that keeps to its specification.
        most: Bytes,
    },
}

impl Sizes {
    pub(super) fn check(self) -> Result<Sizes, SourceError> {
        let (least, most) = match self {
            Sizes::Fixed(size) => (size, size),
            Sizes::Uniform { least, most } => (least, most),
        };
        if least.is_zero() {
            return Err(SourceError::new("sizes", "allow a message of no bytes", "a size of at least 1 B"));
        }
        if least > most {
            let reason = format!("go from {least} down to {most}");
            return Err(SourceError::new("sizes", reason, "a least size that is not above the most"));
        }
        Ok(self)
    }

    /// A size; draws nothing if there is only one.
    #[inline]
    pub fn draw(self, random: &mut Stream) -> Bytes {
        match self {
            Sizes::Fixed(size) => size,
            Sizes::Uniform { least, most } => between(least, most, random),
        }
    }
}

/// A size from `least` to `most`.
#[inline(never)]
fn between(least: Bytes, most: Bytes, random: &mut Stream) -> Bytes {
    let choices = (most - least).get().saturating_add(1);
    least + Bytes::new(random.below(choices))
}
