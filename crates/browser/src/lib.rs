//! The designer: simulator and admission as a WebAssembly module with a JSON interface.
//!
//! A page sends a [`PageRequest`] as JSON and gets JSON back ([`answer`]). The module has no imports:
//! an answer depends on the request only, and on no clock, no file and no randomness of the page.
//! The command `laxity designer` answers the same requests natively, with the same bits.
//!
//! ```text
//! scenario text ──design──▶ findings, document, drawing, admission
//!               ──run─────▶ channels, curves, stages, queue lengths, timelines
//!               ──sweep───▶ bounds for each value of one key
//! text and key  ──set─────▶ the text with that key changed, comments kept
//! ```
//!
//! Times in answers are seconds, rates bytes per second, sizes bytes. `page/` has the page.

mod admitted;
mod design;
mod drawing;
mod edit;
pub mod page;
mod request;
mod simulated;
mod timeline;

use laxity_scenario::Scenario;
use sha2::{Digest, Sha256};

pub use request::{PageRequest, PathStep};

/// The answer to a request in JSON, as JSON. An answer with a key `error` says why there is none.
pub fn answer(request: &[u8]) -> Vec<u8> {
    let answered = serde_json::from_slice::<PageRequest>(request).map_err(|error| error.to_string());
    let value =
        answered.and_then(PageRequest::answer).unwrap_or_else(|error| serde_json::json!({ "error": error }));
    serde_json::to_vec(&value).expect("a value is JSON")
}

/// First eight bytes of the SHA-256 of the results of a scenario's first point, as JSON with the
/// exact value of every double. The scenario names no files of its own. An error says why the
/// scenario is invalid.
pub fn digest(text: &[u8]) -> Result<u64, String> {
    let scenario = Scenario::from_text("scenario.toml", text).map_err(|errors| errors.to_string())?;
    let point = scenario.points().next().ok_or("a scenario has a point")?;
    let run = laxity_world::run(&scenario.experiment(&point));
    let json = serde_json::to_vec(&run).map_err(|error| error.to_string())?;
    Ok(u64::from_be_bytes(Sha256::digest(json)[..8].try_into().expect("a digest is longer")))
}

/// The module's functions.
#[allow(unsafe_code, reason = "a page and the module share memory by address")]
pub mod module {
    /// Buffer of `length` bytes, which [`laxity_digest`], [`laxity_answer`] or [`laxity_free`]
    /// frees.
    #[unsafe(no_mangle)]
    pub extern "C" fn laxity_room(length: usize) -> *mut u8 {
        Box::leak(vec![0; length].into_boxed_slice()).as_mut_ptr()
    }

    /// Digest of the scenario in the buffer `text`; 0 if the scenario is invalid.
    ///
    /// # Safety
    ///
    /// `text` is a result of [`laxity_room`] for the same `length`, and is not used afterwards.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn laxity_digest(text: *mut u8, length: usize) -> u64 {
        // SAFETY: the caller passes a leaked box of this length, which is taken back once.
        let text = unsafe { taken_back(text, length) };
        super::digest(&text).unwrap_or(0)
    }

    /// Answer to the request in the buffer `request`: a buffer that begins with the length of the
    /// JSON behind it, four bytes, little-endian. The whole is to be freed by [`laxity_free`].
    ///
    /// # Safety
    ///
    /// `request` is a result of [`laxity_room`] for the same `length`, and is not used afterwards.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn laxity_answer(request: *mut u8, length: usize) -> *mut u8 {
        // SAFETY: the caller passes a leaked box of this length, which is taken back once.
        let request = unsafe { taken_back(request, length) };
        let json = super::answer(&request);
        let length = u32::try_from(json.len()).expect("an answer is shorter than 4 GiB");
        let whole = [&length.to_le_bytes()[..], &json].concat();
        Box::leak(whole.into_boxed_slice()).as_mut_ptr()
    }

    /// Frees a buffer of `length` bytes.
    ///
    /// # Safety
    ///
    /// `buffer` is a result of [`laxity_room`] or [`laxity_answer`] of this length in all, and is
    /// not used afterwards.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn laxity_free(buffer: *mut u8, length: usize) {
        // SAFETY: the caller passes a leaked box of this length, which is taken back once.
        drop(unsafe { taken_back(buffer, length) });
    }

    /// # Safety
    ///
    /// `buffer` is a leaked box of this `length`, and is not used afterwards.
    unsafe fn taken_back(buffer: *mut u8, length: usize) -> Box<[u8]> {
        // SAFETY: see above.
        unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(buffer, length)) }
    }
}

#[cfg(test)]
mod tests;
