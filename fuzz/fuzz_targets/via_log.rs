//! Bytes as a log of programs, in blocks that are whole: a replay ends, as the log says or with an
//! error.
//!
//! Checksums would keep nearly all bytes from the reader of entries, so blocks have valid ones. The
//! first byte chooses adapters. Then blocks follow, each behind a byte with its length: one entry
//! if that is less than 128, else as many as the block says. So a damaged block leaves those before
//! it.
#![no_main]

use laxity_emulator::log::Log;
use laxity_emulator::via::{Setup, replay};
use laxity_model::via::{Doorbells, Engines, Firmware, FirmwareCosts, ViLimits, ViaConfig};
use laxity_units::{Rate, Span};

/// An empty header, as postcard has it behind its mark: three empty texts and three empty lists, a
/// length in time of three zeros, and no file.
const HEADER: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];

fn block(log: &mut Vec<u8>, bytes: &[u8]) {
    log.extend((bytes.len() as u32).to_le_bytes());
    log.extend(crc32fast::hash(bytes).to_le_bytes());
    log.extend(bytes);
}

fn setup(choice: u8) -> Setup {
    let firmware = match choice % 4 {
        0 => Firmware::Sequential { overlap: choice & 16 != 0 },
        1 => Firmware::Parallel,
        _ => Firmware::QualityOfService,
    };
    let doorbells = if choice & 4 != 0 { Doorbells::Apart { ahead: 2 } } else { Doorbells::Merged };
    let best_effort = (choice & 8 != 0).then_some(Rate::from_bytes_per_sec(1_000_000));
    let limits = ViLimits { doorbells, best_effort, ..ViLimits::NONE };
    let adapter = match choice & 32 != 0 {
        true => ViaConfig { firmware, costs: FirmwareCosts::FREE, engines: Engines::FREE, limits },
        false => ViaConfig { limits, ..ViaConfig::table_1(firmware) },
    };
    let latency = if choice & 64 != 0 { Span::from_us(3) } else { Span::ZERO };
    Setup { adapter, nodes: 2, latency, longest: Setup::LONGEST, recorded: choice & 128 != 0 }
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((choice, mut rest)) = data.split_first() else { return };
    let mut log = b"laxity log 5\n".to_vec();
    block(&mut log, &HEADER);
    while let Some((length, from)) = rest.split_first() {
        let (entries, behind) = from.split_at(usize::from(length & 127).min(from.len()));
        let mark: &[u8] = if *length < 128 { &[3, 1] } else { &[3] };
        block(&mut log, &[mark, entries].concat());
        rest = behind;
    }
    let log = Log::open(std::io::Cursor::new(log)).expect("its beginning is one");
    match replay(log, setup(*choice), Vec::new()) {
        Ok(replayed) => assert!(replayed.cut.is_some(), "it has no end"),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
