//! Two nodes with a port each, between which a test's programs are.

use std::fmt::Display;
use std::process::id;

/// The ports of nodes 0 and 1 in a scenario, each `tap0` in a namespace of its own, which is named after `test`; at these addresses.
pub(crate) fn ports(test: &str, [from, to]: [impl Display; 2]) -> String {
    let port = |node: u32, end: &str, address: &dyn Display| {
        format!(
            r#"
        [[port]]
        node = {node}
        interface = "tap0"
        namespace = "lx-{test}-{}-{end}"
        address = "{address}/24"
        "#,
            id()
        )
    };
    port(0, "a", &from) + &port(1, "b", &to)
}
