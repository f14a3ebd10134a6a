//! Two nodes with a port each, for a test's programs.

use std::fmt::Display;
use std::process::id;

/// Ports of nodes 0 and 1 in a scenario, each `tap0` in its own namespace, which is named after
/// `test`; at these addresses.
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
