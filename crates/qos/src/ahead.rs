//! Memory asked for ahead of time.
//!
//! Of ten thousand channels each is looked at for an instant and then not for a tenth of a second of virtual time, in which all others pass through the cache.
//! Who knows what will be looked at next says so, and the processor fetches it beside what it is doing.

/// Asks for all lines of `value`: a hint, which changes nothing.
#[inline(always)]
#[cfg_attr(target_arch = "x86_64", allow(unsafe_code, reason = "an intrinsic without a safe form"))]
pub fn fetch<T: ?Sized>(value: &T) {
    let lines = size_of_val(value).div_ceil(64);
    for line in 0..lines {
        let at = std::ptr::from_ref(value).cast::<i8>().wrapping_add(64 * line);
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 processor has the instruction, and it neither reads nor writes what a program could see.
        unsafe {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(at);
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = at;
    }
}
