use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn words_are_one_request_or_none(kind in 0..24_u64, rest in prop::collection::vec(prop_oneof![0..4_u64, any::<u64>()], WORDS - 1)) {
        let mut words = [kind; WORDS];
        words[1..].copy_from_slice(&rest);
        if let Some(request) = Request::of(&words) {
            prop_assert_eq!(Request::of(&request.to_words()), Some(request));
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
        Request::Open,
        Request::CreateTag,
        Request::DestroyTag(1),
        Request::Register { base: 1 << 40, length: 3, tag: 4, write: true, read: false },
        Request::Deregister(5),
        Request::CreateVi {
            tag: 6,
            reliability: Reliability::Reliable,
            write: false,
            read: true,
            bandwidth,
            queues: [None, Some(8)],
            playout: 12,
        },
        Request::DestroyVi(7),
        Request::CreateQueue(8),
        Request::DestroyQueue(9),
        Request::Connect { vi: 10, to, from: 11 },
        Request::Await(12),
        Request::Accept { call: 13, vi: 14 },
        Request::Reject(15),
        Request::Disconnect(16),
        Request::Renegotiate(17, Bandwidth::None),
    ] {
        assert_eq!(Request::of(&request.to_words()), Some(request));
    }
    let absurd = Bandwidth::Variable { bytes_per_second: 1, message: u64::MAX };
    assert_eq!(Request::of(&Request::Renegotiate(1, absurd).to_words()), None);
    let nothing = Bandwidth::Constant { bytes_per_second: 0, message: 1 };
    assert_eq!(Request::of(&Request::Renegotiate(1, nothing).to_words()), None, "a rate of nothing is none");
    assert_eq!(Request::of(&[16; WORDS]), None);
}
