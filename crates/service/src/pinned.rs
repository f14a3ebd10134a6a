//! Memory that is not swapped out: a page that is read from a disk would be a stop of our own making.

use std::hint::black_box;

use nix::sys::mman::{MlockAllFlags, mlockall};

/// More than the real-time thread uses of its stack.
const STACK: usize = 256 << 10;

/// Locks each page of the process from its first use on, as far as the system permits.
///
/// Pages that are only reserved would be locked too without `MCL_ONFAULT`: a gigabyte that the allocator
/// keeps for later. With it, a first use costs about a microsecond, which `host.delay` has room for.
pub(crate) fn lock_memory() {
    let all = MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE;
    let used = all | MlockAllFlags::from_bits_retain(nix::libc::MCL_ONFAULT);
    // Linux before 4.4 does not have it.
    let _ = mlockall(used).or_else(|_| mlockall(all));
}

/// Uses the stack of the calling thread once, so that its pages are there when time counts.
#[inline(never)]
pub(crate) fn touch_stack() {
    black_box(&mut [1_u8; STACK]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of the process in memory.
    fn resident() -> usize {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        text.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    #[test]
    fn memory_that_is_only_reserved_is_not_locked() {
        const PAGES: usize = 65_536;
        let before = resident();
        let reserved = black_box(Vec::<u8>::with_capacity(PAGES * 4096));
        lock_memory();
        let later = black_box(Vec::<u8>::with_capacity(PAGES * 4096));
        let more = resident().saturating_sub(before);
        nix::sys::mman::munlockall().unwrap();
        assert!(more < PAGES / 2, "{more} pages more");
        drop((reserved, later));
    }
}
