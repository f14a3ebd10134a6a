//! The lines of one node, and the variables that name its interfaces.

use laxity_units::Span;

/// The lines of a node.
#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) lines: Vec<String>,
}

impl Section {
    /// A command or a line of the shell.
    pub(super) fn line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    /// A comment.
    pub(super) fn comment(&mut self, text: impl AsRef<str>) {
        self.lines.push(format!("# {}", text.as_ref()));
    }

    /// The following commands are for the interface in the variable `DEV_NAME`, or `DEV`, which is
    /// `default` if it is not set.
    pub(super) fn interface(&mut self, name: Option<&str>, default: &str) {
        let variable = match name {
            Some(name) => format!("DEV_{}", shouted(name)),
            None => "DEV".into(),
        };
        self.line(format!("dev=${{{variable}:-{default}}}"));
    }

    /// A `tc` command at the interface: `qdisc replace`, say, and what follows the interface.
    pub(super) fn tc(&mut self, what: &str, rest: impl AsRef<str>) {
        self.line(format!("tc {what} dev \"$dev\" {}", rest.as_ref()));
    }
}

/// A time as `tc` and `chrt` take it, rounded down.
pub(super) fn nanoseconds(span: Span) -> u64 {
    span.as_ps() / 1000
}

/// A time as `ethtool` takes it, rounded down.
pub(super) fn microseconds(span: Span) -> u64 {
    span.as_ps() / 1_000_000
}

/// `name` as a part of the name of a variable.
fn shouted(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}
