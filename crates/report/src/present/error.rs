//! Why an outcome could not be shown.

use std::fmt;

use laxity_scenario::figure::FigureError;

/// Why an outcome could not be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PresentError {
    /// A figure names what the results do not have.
    Figure(FigureError),
    /// The results have no form in Parquet.
    Parquet(String),
}

impl fmt::Display for PresentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PresentError::Figure(error) => error.fmt(f),
            PresentError::Parquet(reason) => write!(f, "cannot be written as Parquet: {reason}"),
        }
    }
}

impl std::error::Error for PresentError {}

impl From<FigureError> for PresentError {
    fn from(error: FigureError) -> PresentError {
        PresentError::Figure(error)
    }
}

impl From<PresentError> for std::io::Error {
    fn from(error: PresentError) -> std::io::Error {
        std::io::Error::new(std::io::ErrorKind::InvalidInput, error)
    }
}
