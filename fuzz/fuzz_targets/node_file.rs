//! A node file with any text is a node, or is refused with a sentence.
#![no_main]

use std::path::Path;

use laxity_service::NodeFile;
use laxity_signalling::identity::Epoch;

libfuzzer_sys::fuzz_target!(|text: &str| {
    match NodeFile::parse(text, Path::new(".")) {
        Ok(file) => drop(laxity_node::Node::new(file.node(Epoch(1)), Box::new(|| 0))),
        Err(why) => assert!(!why.is_empty()),
    }
});
