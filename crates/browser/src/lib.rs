//! The simulator as a WebAssembly module: two functions over its memory, called by `run.mjs` in
//! node or by a web page. A run uses no clock, no files and no randomness of its environment.
//!
//! The module proves that a run has the same bits there as on every other platform (`cargo xtask
//! test` compares them).

use laxity_scenario::Scenario;
use sha2::{Digest, Sha256};

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
    /// Buffer of `length` bytes for a scenario, which [`laxity_digest`] frees.
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
        let text = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(text, length)) };
        super::digest(&text).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &[u8] = br#"
        title = "One message"
        [host]
        profile = "mc68040"
        [adapter]
        kind = "null"
        startup = "40 us"
        per_byte = "50 ns"
        [run]
        time = "100 ms"
        [[channel]]
        name = "rt"
        class = "real_time"
        max_message = "4 KiB"
        burst = 1
        min_interval = "20 ms"
        deadline = "20 ms"
        source = { kind = "periodic" }
    "#;

    #[test]
    fn a_digest_is_of_the_results_and_an_error_in_words() {
        let one = digest(SCENARIO).unwrap();
        assert_eq!(digest(SCENARIO), Ok(one));
        let longer = String::from_utf8_lossy(SCENARIO).replace("100 ms", "200 ms");
        assert_ne!(digest(longer.as_bytes()), Ok(one));
        assert!(digest(b"title = 1").unwrap_err().contains("title"));
    }

    #[test]
    #[allow(unsafe_code, reason = "as a page does")]
    fn a_page_has_the_same() {
        for (text, expected) in [(SCENARIO, digest(SCENARIO).unwrap()), (b"title = 1".as_slice(), 0)] {
            let room = module::laxity_room(text.len());
            // SAFETY: the buffer has this length, and is used once.
            let digest = unsafe {
                room.copy_from_nonoverlapping(text.as_ptr(), text.len());
                module::laxity_digest(room, text.len())
            };
            assert_eq!(digest, expected);
        }
    }
}
