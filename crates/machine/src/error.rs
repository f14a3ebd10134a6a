//! What the operating system refused, why, and what to do about it.
//!
//! "Operation not permitted" sends a user to a search engine. Every place that asks for something privileged
//! knows which capability the kernel checks there, so it says so.

use std::fmt;
use std::io;

/// A request that the operating system did not grant.
#[derive(Debug)]
pub struct Refused {
    wanted: String,
    because: io::Error,
    /// What permits it, for the kinds of error that a permission would mend.
    permit: Option<&'static str>,
    advice: Option<&'static str>,
}

impl Refused {
    /// `wanted` completes "cannot …".
    pub(crate) fn new(wanted: impl Into<String>, because: impl Into<io::Error>) -> Self {
        Self { wanted: wanted.into(), because: because.into(), permit: None, advice: None }
    }

    /// Of a request made elsewhere, by means that do not say themselves what they wanted: `wanted` completes "cannot …".
    pub fn because(wanted: impl Into<String>, why: io::Error) -> Self {
        Self::new(wanted, why)
    }

    /// Names the capability that the kernel asks for here.
    pub(crate) fn needing(mut self, capability: &'static str) -> Self {
        self.permit = Some(capability);
        self
    }

    /// What to do when it is not for want of a permission.
    pub(crate) fn advising(mut self, advice: &'static str) -> Self {
        self.advice = Some(advice);
        self
    }

    /// The capability that would permit it, if permission is what is wanting.
    pub fn capability(&self) -> Option<&'static str> {
        let denied = matches!(self.because.raw_os_error(), Some(libc::EPERM | libc::EACCES));
        self.permit.filter(|_| denied)
    }
}

impl fmt::Display for Refused {
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

impl std::error::Error for Refused {
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
            Refused::new("open a door", io::Error::from_raw_os_error(errno))
                .needing("CAP_DOORS")
                .advising("is there a door?")
        };
        assert_eq!(refused(libc::EPERM).capability(), Some("CAP_DOORS"));
        assert!(refused(libc::EPERM).to_string().contains("this needs CAP_DOORS"));
        assert_eq!(refused(libc::ENOENT).capability(), None);
        assert!(refused(libc::ENOENT).to_string().ends_with("is there a door?"));
    }
}
