//! Refused system requests: the cause, and the remedy.
//!
//! "Operation not permitted" does not help a user. Every privileged request therefore names the
//! capability that the kernel checks.

use std::fmt;
use std::io;

/// Request that the operating system refused.
#[derive(Debug)]
pub struct RefusedBySystem {
    wanted: String,
    because: io::Error,
    /// Capability that permits it, for errors of permission.
    permit: Option<&'static str>,
    advice: Option<&'static str>,
}

impl RefusedBySystem {
    /// `wanted` completes "cannot …".
    pub(crate) fn new(wanted: impl Into<String>, because: impl Into<io::Error>) -> Self {
        Self { wanted: wanted.into(), because: because.into(), permit: None, advice: None }
    }

    /// Refusal of a request made outside this crate; `wanted` completes "cannot …".
    pub fn because(wanted: impl Into<String>, why: io::Error) -> Self {
        Self::new(wanted, why)
    }

    /// Names the capability that the kernel checks.
    pub(crate) fn needing(mut self, capability: &'static str) -> Self {
        self.permit = Some(capability);
        self
    }

    /// Remedy when the cause is no missing permission.
    pub(crate) fn advising(mut self, advice: &'static str) -> Self {
        self.advice = Some(advice);
        self
    }

    /// Capability that would permit it, if the cause is a missing permission.
    pub fn capability(&self) -> Option<&'static str> {
        let denied = matches!(self.because.raw_os_error(), Some(libc::EPERM | libc::EACCES));
        self.permit.filter(|_| denied)
    }
}

impl fmt::Display for RefusedBySystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.wanted, self.because)?;
        if let Some(capability) = self.capability() {
            write!(f, "; this needs {capability}: run as root, or give it to the program with `setcap`")?;
        } else if let Some(advice) = self.advice {
            write!(f, "; {advice}")?;
        }
        Ok(())
    }
}

impl std::error::Error for RefusedBySystem {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.because)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capability_is_named_only_where_it_would_help() {
        let refused = |errno| {
            RefusedBySystem::new("open a door", io::Error::from_raw_os_error(errno))
                .needing("CAP_DOORS")
                .advising("is there a door?")
        };
        assert_eq!(refused(libc::EPERM).capability(), Some("CAP_DOORS"));
        assert!(refused(libc::EPERM).to_string().contains("this needs CAP_DOORS"));
        assert_eq!(refused(libc::ENOENT).capability(), None);
        assert!(refused(libc::ENOENT).to_string().ends_with("is there a door?"));
    }
}
