//! Errors before a descriptor is posted, by the names of the provider library.

use std::fmt;
use std::io;

/// Declares the refusals: VIPL's number, and the meaning.
macro_rules! refusals {
    ($($name:ident = $code:literal, $words:literal;)*) => {
        /// Reason for which the provider, or the library, refuses a request.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum ViRefusal {
            $(#[doc = concat!("It ", $words, ".")] $name = $code,)*
        }

        impl ViRefusal {
            pub(crate) fn of(code: u64) -> Option<Self> {
                match code {
                    $($code => Some(ViRefusal::$name),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for ViRefusal {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(ViRefusal::$name => $words,)* })
            }
        }
    };
}

// The numbers are those of `VIP_RETURN`.
refusals! {
    NotDone = 1, "is not done yet";
    InvalidParameter = 2, "has a parameter that means nothing";
    Resource = 3, "asks for more than there is";
    Timeout = 4, "took longer than it was given";
    Reject = 5, "was rejected by the other side";
    InvalidQos = 8, "asks for a bandwidth that the adapter has not left";
    InvalidTag = 9, "names no protection tag of this process";
    InvalidState = 12, "is nothing that this virtual interface can do in its state";
    NoMatch = 14, "reached nobody who waits for it";
    NotReachable = 15, "names no adapter of this network";
}

/// Error of a call.
#[derive(Debug)]
pub enum ViError {
    /// The request was refused.
    Refused(ViRefusal),
    /// The provider has ended, and with it the adapter: VIA's catastrophic error. Every connection
    /// is lost, and posted descriptors complete as flushed.
    Lost,
    /// The provider cannot be reached, or a system call failed.
    System(io::Error),
}

impl ViError {
    /// Whether the error is this refusal.
    pub fn is(&self, refusal: ViRefusal) -> bool {
        matches!(self, ViError::Refused(why) if *why == refusal)
    }
}

impl fmt::Display for ViError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ViError::Refused(refusal) => write!(f, "refused: it {refusal}"),
            ViError::Lost => f.write_str("the adapter's provider is gone"),
            ViError::System(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ViError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ViError::Refused(_) | ViError::Lost => None,
            ViError::System(error) => Some(error),
        }
    }
}

impl From<ViRefusal> for ViError {
    fn from(refusal: ViRefusal) -> Self {
        ViError::Refused(refusal)
    }
}

impl From<io::Error> for ViError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // The provider has ended, whichever call detects it.
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => ViError::Lost,
            _ => ViError::System(error),
        }
    }
}
