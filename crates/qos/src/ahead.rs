//! Memory asked for ahead of time.
//!
//! Of ten thousand channels each is looked at for an instant and then not for a tenth of a second of virtual time, in which all others pass through the cache.
//! Who knows what will be looked at next says so, and the processor fetches it beside what it is doing.

use std::collections::VecDeque;

/// Asks for all lines of `value`: a hint, which changes nothing.
#[inline(always)]
pub fn fetch<T: ?Sized>(value: &T) {
    ask_all(std::ptr::from_ref(value).cast(), size_of_val(value));
}

/// The same of those before `end`, which is a part of it.
#[inline(always)]
pub fn fetch_before<T, P>(value: &T, end: &P) {
    let start = std::ptr::from_ref(value);
    ask_all(start.cast(), std::ptr::from_ref(end).addr() - start.addr());
}

/// Asks for the place behind the last of `items`, where the next will be written if there is room.
#[inline]
pub fn fetch_end<T>(items: &[T]) {
    ask_all(items.as_ptr().wrapping_add(items.len()).cast(), size_of::<T>());
}

/// The same of a queue.
#[inline]
pub fn fetch_back<T>(queue: &VecDeque<T>) {
    let (front, back) = queue.as_slices();
    fetch_end(if back.is_empty() { front } else { back });
}

/// Takes out the first. A queue that is empty then begins anew where its memory does: there [`fetch_back`] asks for the next, and not behind the last.
#[inline]
pub fn pop_front<T>(queue: &mut VecDeque<T>) -> Option<T> {
    let first = queue.pop_front();
    if queue.is_empty() {
        queue.clear();
    }
    first
}

/// Asks for the lines of so many bytes.
#[inline(always)]
fn ask_all(at: *const i8, bytes: usize) {
    for line in 0..bytes.div_ceil(64) {
        ask(at.wrapping_add(64 * line));
    }
    // What begins within a line may end in one more.
    if bytes > 1 {
        ask(at.wrapping_add(bytes - 1));
    }
}

/// Asks for a line, if there is one at that address: as far as the second cache. The first is too small to keep it until somebody looks, and an AMD processor that is asked
/// for more lines at once than it can wait for there leaves out the rest.
#[inline(always)]
#[cfg_attr(target_arch = "x86_64", allow(unsafe_code, reason = "an intrinsic without a safe form"))]
fn ask(at: *const i8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction, and it neither reads nor writes what a program could see.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(at);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
