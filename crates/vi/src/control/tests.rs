use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn words_are_one_request_or_none(kind in 0..24_u64, rest in prop::collection::vec(prop_oneof![0..4_u64, any::<u64>()], WORDS - 1)) {
        let mut words = [kind; WORDS];
        words[1..].copy_from_slice(&rest);
        if let Some(request) = ControlRequest::of(&words) {
            prop_assert_eq!(ControlRequest::of(&request.to_words()), Some(request));
        }
        if let Some(answer) = Answer::of(&words) {
            prop_assert_eq!(Answer::of(&answer.to_words()), Some(answer));
        }
    }
}

#[test]
fn every_request_comes_as_it_was_sent() {
    let bandwidth = Bandwidth::Variable { bytes_per_second: 7, message: 9 };
    let to = Address { host: 1, discriminator: u64::MAX };
    for request in [
        ControlRequest::Open,
        ControlRequest::CreateTag,
        ControlRequest::DestroyTag(1),
        ControlRequest::Register { base: 1 << 40, length: 3, tag: 4, write: true, read: false },
        ControlRequest::Deregister(5),
        ControlRequest::CreateVi {
            tag: 6,
            reliability: Reliability::Reliable,
            write: false,
            read: true,
            bandwidth,
            queues: [None, Some(8)],
            playout: 12,
        },
        ControlRequest::DestroyVi(7),
        ControlRequest::CreateQueue(8),
        ControlRequest::DestroyQueue(9),
        ControlRequest::Connect { vi: 10, to, from: 11 },
        ControlRequest::Await(12),
        ControlRequest::Accept { call: 13, vi: 14 },
        ControlRequest::Reject(15),
        ControlRequest::Disconnect(16),
        ControlRequest::Renegotiate(17, Bandwidth::None),
    ] {
        assert_eq!(ControlRequest::of(&request.to_words()), Some(request));
    }
    let absurd = Bandwidth::Variable { bytes_per_second: 1, message: u64::MAX };
    assert_eq!(ControlRequest::of(&ControlRequest::Renegotiate(1, absurd).to_words()), None);
    let nothing = Bandwidth::Constant { bytes_per_second: 0, message: 1 };
    assert_eq!(
        ControlRequest::of(&ControlRequest::Renegotiate(1, nothing).to_words()),
        None,
        "a rate of nothing is none"
    );
    assert_eq!(ControlRequest::of(&[16; WORDS]), None);
}
