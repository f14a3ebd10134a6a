//! Connection of a port, and reading of frames from it.

use std::io;
use std::os::fd::BorrowedFd;

use laxity_machine::offload::{CutBulk, Offload, Piece};
use laxity_machine::tap::Tap;

/// Source and sink of frames.
pub trait Wire {
    /// Number of queues; the first is for frames that no real-time channel carries.
    fn queues(&self) -> usize {
        1
    }

    /// Reads a frame of `queue` into `buffer` and then `beyond`; returns its length, and the
    /// remaining work. `None` if there is none.
    fn receive(
        &self,
        queue: usize,
        buffer: &mut [u8],
        beyond: &mut [u8],
    ) -> io::Result<Option<(usize, Offload)>>;

    /// Sends a frame with its remaining work; `false` if it cannot be taken now.
    fn send(&self, frame: &[u8], offload: Offload) -> io::Result<bool>;
}

/// Wire that can be polled.
pub trait PolledWire: Wire {
    /// Descriptor that is readable when `queue` has a frame.
    fn descriptor(&self, queue: usize) -> BorrowedFd<'_>;
}

impl Wire for Tap {
    fn queues(&self) -> usize {
        Tap::queues(self)
    }

    #[inline]
    fn receive(
        &self,
        queue: usize,
        buffer: &mut [u8],
        beyond: &mut [u8],
    ) -> io::Result<Option<(usize, Offload)>> {
        Tap::receive(self, queue, buffer, beyond)
    }

    #[inline]
    fn send(&self, frame: &[u8], offload: Offload) -> io::Result<bool> {
        Tap::send(self, frame, offload)
    }
}

impl PolledWire for Tap {
    fn descriptor(&self, queue: usize) -> BorrowedFd<'_> {
        Tap::descriptor(self, queue)
    }
}

/// Next frame of `queue`, into `buffer`: of the bulk in segmentation, or else one that is read,
/// which may be a bulk.
#[inline]
pub(super) fn next_frame<W: Wire>(
    wire: &W,
    queue: usize,
    buffer: &mut [u8],
    cut: &mut CutBulk,
) -> io::Result<Option<(usize, Offload, Option<Piece>)>> {
    let piece = |(length, offload, piece)| (length, offload, Some(piece));
    if cut.is_pending() {
        return Ok(cut.next(buffer).map(piece));
    }
    let together = buffer.len();
    let Some((length, offload)) = wire.receive(queue, buffer, &mut cut.room()[together..])? else {
        return Ok(None);
    };
    if !offload.is_bulk() {
        return Ok(Some((length, offload, None)));
    }
    let here = length.min(together);
    cut.room()[..here].copy_from_slice(&buffer[..here]);
    // A bulk that cannot be cut is too long for every channel, and counted so.
    Ok(match cut.begin(length, offload) {
        true => cut.next(buffer).map(piece),
        false => Some((together, Offload::NONE, None)),
    })
}
