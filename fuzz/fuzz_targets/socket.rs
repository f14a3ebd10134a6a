//! Datagrams of a program at the socket of its daemon, and of a daemon at a program: no bytes make a
//! reader panic, and what is read is written as it was.
#![no_main]

use laxity_client::protocol::{FromDaemon, ProgramRequest};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok((number, request)) = postcard::from_bytes::<(u32, ProgramRequest)>(data) {
        let again = postcard::to_stdvec(&(number, &request)).expect("a request has bytes");
        assert_eq!(
            postcard::from_bytes::<(u32, ProgramRequest)>(&again).expect("its bytes"),
            (number, request)
        );
    }
    if let Ok(datagram) = postcard::from_bytes::<FromDaemon>(data) {
        let again = postcard::to_stdvec(&datagram).expect("a datagram has bytes");
        assert_eq!(postcard::from_bytes::<FromDaemon>(&again).expect("its bytes"), datagram);
    }
});
