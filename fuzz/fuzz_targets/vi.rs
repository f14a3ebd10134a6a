//! Bytes of a hostile process: into the slots of descriptors, doorbells and their count, and onto
//! the socket. The reader gives a descriptor that encodes to the same words, or an error.
#![no_main]

use std::sync::atomic::{AtomicU64, Ordering};

use laxity_vi::Status;
use laxity_vi::provider::{
    Answer, ControlRequest, Doorbell, Hearer, MOST_BYTES, Memory, ReadDescriptor, doorbells,
};

thread_local! {
    static BELLS: Memory = doorbells().expect("there is memory").0;
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let words: Vec<u64> =
        data.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes"))).collect();
    // A slot, the count of doorbells twice, and some of them, or a datagram.
    let slot: [AtomicU64; 32] = std::array::from_fn(|i| AtomicU64::new(words.get(i).copied().unwrap_or(0)));
    match ReadDescriptor::read(&slot) {
        Ok(posted) => {
            assert!(posted.len() <= MOST_BYTES);
            assert_eq!(ReadDescriptor::read(&slot), Ok(posted));
        }
        Err(error) => assert!(error.is_error() && !error.has(Status::DONE)),
    }
    let datagram = std::array::from_fn(|i| words.get(i).copied().unwrap_or(0));
    if let Some(request) = ControlRequest::of(&datagram) {
        assert_eq!(ControlRequest::of(&request.to_words()), Some(request));
    }
    if let Some(answer) = Answer::of(&datagram) {
        assert_eq!(Answer::of(&answer.to_words()), Some(answer));
    }
    BELLS.with(|memory| {
        let mut hearer = Hearer::default();
        for turn in words.chunks(6) {
            memory.word32(0).store(turn[0] as u32, Ordering::Relaxed);
            for (place, word) in turn.iter().enumerate() {
                memory.word64(512 + 8 * place).store(*word, Ordering::Relaxed);
            }
            let mut heard = 0;
            hearer.hear(memory, u32::MAX, |doorbell: Option<Doorbell>| {
                heard += 1;
                assert!(doorbell.is_none_or(|doorbell| doorbell.count as u64 <= u64::from(u16::MAX)));
            });
            assert!(heard <= 1024 && !hearer.is_rung(memory));
        }
    });
});
