//! Bytes to the decoder of signalling messages, and the messages to a manager: what decodes encodes
//! to the same bytes, and no sequence of messages makes the manager panic or hold more than it is
//! set to.
#![no_main]

use laxity_signalling::Manager;
use laxity_signalling::codec::{LONGEST, decode, encode};
use laxity_signalling::exact::{Capacity, Exact};
use laxity_signalling::identity::{Epoch, NodeId};
use laxity_signalling::settings::Settings;
use laxity_units::{Span, Time};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let links = (0..4).map(|node| (NodeId(node), (1_000_000, Span::from_us(1)))).collect();
    let exact = Exact::new(Capacity { links, cpu: Span::from_us(1), buffers: 1000, places: 100 });
    let settings = Settings { entries: 8, remembered: 8, peers: 8, waiting: 32, ..Settings::default() };
    let mut manager = Manager::new(NodeId(1), Epoch(1), settings, exact, Box::new(|| 0));
    let (mut left, mut now) = (data, Time::ZERO);
    // The neighbour, how many bytes follow, and the bytes of a message.
    while let [from, high, low, rest @ ..] = left {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
        let (bytes, after) = rest.split_at(length);
        left = after;
        now = now.saturating_add(Span::from_ms(100));
        if let Ok(message) = decode(bytes) {
            let mut again = [0; LONGEST];
            let encoded = encode(&message, &mut again).expect("what was decoded is not too long");
            assert_eq!(&again[..encoded], bytes);
            manager.handle(now, NodeId(u32::from(*from % 4)), message);
        }
        manager.handle_timeout(now);
        assert_eq!(manager.held().count(), manager.resources().held().len());
        while manager.poll_transmit().is_some() {}
    }
});
