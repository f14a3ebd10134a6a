//! A program scribbles over the memory that it shares with its daemon: no words make the ring's other
//! side panic or read outside of the ring.
#![no_main]

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use laxity_client::ring::{self, RecordConsumer, RecordProducer, RingRecord};
use laxity_vi::provider::Memory;

const CAPACITY: usize = 1024;

thread_local! {
    static MEMORY: RefCell<Option<Arc<Memory>>> = const { RefCell::new(None) };
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let memory = MEMORY.with(|kept| {
        let mut kept = kept.borrow_mut();
        let made = || Arc::new(Memory::create("fuzz", ring::bytes(CAPACITY)).expect("a page of memory").0);
        kept.get_or_insert_with(made).clone()
    });
    for at in 0..memory.bytes() / 8 {
        memory.word64(8 * at).store(0, Ordering::Relaxed);
    }
    let (mut producer, mut consumer) =
        (RecordProducer::new(&memory, 0, CAPACITY), RecordConsumer::new(&memory, 0, CAPACITY));
    let mut payload = Vec::new();
    for step in data.chunks(10) {
        let Some((kind, rest)) = step.split_first() else { return };
        let mut word = [0; 8];
        let length = rest.len().min(8);
        word[..length].copy_from_slice(&rest[..length]);
        let word = u64::from_le_bytes(word);
        match kind % 4 {
            0 => drop(
                producer
                    .push(RingRecord { kind: word as u32, words: [word; 3] }, &data[..data.len().min(200)]),
            ),
            1 => {
                let Ok(_) = consumer.pop(&mut payload) else { return };
                assert!(payload.len() <= CAPACITY);
            }
            // Head, tail, and the front of a record.
            2 => memory.word64(64 * usize::from(kind >> 2 & 3)).store(word, Ordering::Relaxed),
            _ => memory.word64(8 * (word as usize % (memory.bytes() / 8))).store(word, Ordering::Relaxed),
        }
    }
});
