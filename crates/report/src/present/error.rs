//! Why an outcome could not be shown.

use std::fmt;

use laxity_scenario::figure::FigureError;

/// Why an outcome could not be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// A figure names what the results do not have.
    Figure(FigureError),
    /// The results have no form in Parquet.
    Parquet(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Figure(error) => error.fmt(f),
            Error::Parquet(reason) => write!(f, "cannot be written as Parquet: {reason}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<FigureError> for Error {
    fn from(error: FigureError) -> Error {
        Error::Figure(error)
    }
}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> std::io::Error {
        std::io::Error::new(std::io::ErrorKind::InvalidInput, error)
    }
}
