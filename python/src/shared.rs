//! An end of the service's client that threads of Python share.

use laxity_client as client;
use parking_lot::Mutex;
use pyo3::prelude::*;

use crate::service::{over, raised};

/// An end, or nothing once it is closed.
///
/// Calls of several threads take turns. A thread waits without the interpreter, and the lock is fair:
/// it goes to a thread that waits rather than back to the one that had it.
#[derive(Debug)]
pub(crate) struct Shared<T> {
    end: Mutex<Option<T>>,
    /// The process that opened it. In a child of `fork` the lock may belong to a thread of the
    /// parent for ever.
    process: u32,
}

impl<T: Send> Shared<T> {
    pub(crate) fn new(end: T) -> Self {
        Self { end: Mutex::new(Some(end)), process: std::process::id() }
    }

    /// Calls `run` with the end.
    ///
    /// # Errors
    /// The error of `run`. The end is closed. A child of `fork` calls.
    pub(crate) fn call<R: Send>(
        &self,
        py: Python<'_>,
        run: impl FnOnce(&mut T) -> Result<R, client::Error> + Send,
    ) -> PyResult<R> {
        self.check_process()?;
        py.detach(|| self.end.lock().as_mut().map(run)).ok_or_else(over)?.map_err(raised)
    }

    /// Closes the end: the next call fails. `None` if it is closed already.
    ///
    /// # Errors
    /// A child of `fork` calls.
    pub(crate) fn take(&self, py: Python<'_>) -> PyResult<Option<T>> {
        self.check_process()?;
        Ok(py.detach(|| self.end.lock().take()))
    }

    fn check_process(&self) -> PyResult<()> {
        if self.process == std::process::id() { Ok(()) } else { Err(raised(client::Error::Forked)) }
    }
}
