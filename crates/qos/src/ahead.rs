//! Prefetching of memory.
//!
//! Each of ten thousand channels is read for an instant and then not for a tenth of a second of
//! virtual time, while all others pass through the cache. A caller that knows what will be read
//! next prefetches it, in parallel with its work.

use std::collections::VecDeque;

/// Prefetches all cache lines of `value`; changes no state.
#[inline(always)]
pub fn fetch<T: ?Sized>(value: &T) {
    ask_all(std::ptr::from_ref(value).cast(), size_of_val(value));
}

/// Prefetches the cache lines of `value` before its field `end`.
#[inline(always)]
pub fn fetch_before<T, P>(value: &T, end: &P) {
    let start = std::ptr::from_ref(value);
    ask_all(start.cast(), std::ptr::from_ref(end).addr() - start.addr());
}

/// Prefetches the place after the last of `items`, where the next is written if capacity is free.
#[inline]
pub fn fetch_end<T>(items: &[T]) {
    ask_all(items.as_ptr().wrapping_add(items.len()).cast(), size_of::<T>());
}

/// Prefetches the place of the queue's next item.
#[inline]
pub fn fetch_back<T>(queue: &VecDeque<T>) {
    let (front, back) = queue.as_slices();
    fetch_end(if back.is_empty() { front } else { back });
}

/// Removes the first item. An emptied queue restarts at the beginning of its memory, where
/// [`fetch_back`] prefetches the next item.
#[inline]
pub fn pop_front<T>(queue: &mut VecDeque<T>) -> Option<T> {
    let first = queue.pop_front();
    if queue.is_empty() {
        queue.clear();
    }
    first
}

#[inline(always)]
fn ask_all(at: *const i8, bytes: usize) {
    for line in 0..bytes.div_ceil(64) {
        ask(at.wrapping_add(64 * line));
    }
    // A value that begins within a line may end in one more.
    if bytes > 1 {
        ask(at.wrapping_add(bytes - 1));
    }
}

/// Prefetches a line into the second-level cache, if the address is mapped. The first-level cache
/// is too small to keep the line until its use. An AMD processor with more prefetches than it can
/// track for that cache drops the excess.
#[inline(always)]
#[cfg_attr(target_arch = "x86_64", allow(unsafe_code, reason = "an intrinsic without a safe form"))]
fn ask(at: *const i8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction, which reads and writes no state that a
    // program can observe.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(at);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
