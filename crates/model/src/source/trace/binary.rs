//! Binary input that knows where it is: every fault of a capture names the byte it was found at.

use std::io::{BufRead, ErrorKind};

use super::TraceLimits;
use super::error::{Fault, TracePosition};
use super::text::TOO_LONG;

/// The valid input where a capture breaks off.
pub(super) const CAPTURE: &str =
    "a complete pcap or pcapng capture, such as `tcpdump -w FILE` or Wireshark writes";

/// The order of a number's bytes, which a capture takes from the machine that wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    /// The two bytes from `place` on as a number; `bytes` holds them.
    pub(super) fn u16(self, bytes: &[u8], place: usize) -> u16 {
        let bytes = [bytes[place], bytes[place + 1]];
        match self {
            Order::Little => u16::from_le_bytes(bytes),
            Order::Big => u16::from_be_bytes(bytes),
        }
    }

    /// The four bytes from `place` on as a number; `bytes` holds them.
    pub(super) fn u32(self, bytes: &[u8], place: usize) -> u32 {
        let (first, second) = (u32::from(self.u16(bytes, place)), u32::from(self.u16(bytes, place + 2)));
        match self {
            Order::Little => second << 16 | first,
            Order::Big => first << 16 | second,
        }
    }
}

/// The bytes of a file, counted and bounded.
pub(super) struct Stream<'a> {
    input: &'a mut dyn BufRead,
    limits: TraceLimits,
    offset: u64,
}

impl<'a> Stream<'a> {
    pub(super) fn new(input: &'a mut dyn BufRead, limits: TraceLimits) -> Stream<'a> {
        Stream { input, limits, offset: 0 }
    }

    /// Offset of the next byte, the first of the file being 0.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// A fault at the next byte.
    pub(super) fn fault(&self, reason: impl Into<String>) -> Fault {
        Fault::new(TracePosition::Byte(self.offset), reason, CAPTURE)
    }

    /// The buffered bytes; empty at the end of the file and only there.
    fn buffered(&mut self) -> Result<&[u8], Fault> {
        loop {
            match self.input.fill_buf() {
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Fault::io(TracePosition::Byte(self.offset), &error)),
            }
        }
        // The second call returns what the first has read; the borrow checker does not let one do for both.
        self.input.fill_buf().map_err(|error| Fault::io(TracePosition::Byte(self.offset), &error))
    }

    /// Whether the file ends here.
    pub(super) fn ended(&mut self) -> Result<bool, Fault> {
        Ok(self.buffered()?.is_empty())
    }

    /// Hands the next `count` bytes to `take` in pieces; `what` is what they are, for the fault of a file
    /// that ends before they do.
    fn pass(&mut self, count: u64, what: &str, mut take: impl FnMut(&[u8])) -> Result<(), Fault> {
        let mut left = count;
        while left > 0 {
            let buffered = self.buffered()?;
            if buffered.is_empty() {
                let reason = format!("the file ends inside {what}, {left} bytes short; it was cut off");
                return Err(self.fault(reason));
            }
            let now = buffered.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            take(&buffered[..now]);
            self.input.consume(now);
            self.offset += now as u64;
            left -= now as u64;
            if self.offset > self.limits.bytes {
                let reason = format!("the capture is longer than {} bytes", self.limits.bytes);
                return Err(Fault::new(TracePosition::Byte(self.offset), reason, TOO_LONG));
            }
        }
        Ok(())
    }

    /// Passes over `count` bytes of `what`.
    pub(super) fn skip(&mut self, count: u64, what: &str) -> Result<(), Fault> {
        self.pass(count, what, |_| {})
    }

    /// The next `N` bytes, which are `what`.
    pub(super) fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        let mut filled = 0;
        self.pass(N as u64, what, |piece| {
            bytes[filled..filled + piece.len()].copy_from_slice(piece);
            filled += piece.len();
        })?;
        Ok(bytes)
    }

    /// The next `count` bytes, which are `what`; the caller has bounded `count`.
    pub(super) fn bytes(&mut self, count: u64, what: &str) -> Result<Vec<u8>, Fault> {
        let mut bytes = Vec::new();
        self.pass(count, what, |piece| bytes.extend_from_slice(piece))?;
        Ok(bytes)
    }
}
