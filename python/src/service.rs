//! The service's client as classes of Python. Calls that wait release the interpreter.

use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::time::Duration;

use laxity_client as client;
use pyo3::create_exception;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::Error;
use crate::shared::Shared;

create_exception!(laxity, Refused, Error);
create_exception!(laxity, Excess, Error);
create_exception!(laxity, Lost, Error);

/// A wait is cut into parts of this length, so that Ctrl-C ends it.
const PART: Duration = Duration::from_millis(100);

pub(crate) fn raised(error: client::Error) -> PyErr {
    let text = error.to_string();
    match error {
        client::Error::Refused(_) => Refused::new_err(text),
        client::Error::Excess => Excess::new_err(text),
        client::Error::Lost | client::Error::Ended | client::Error::Disconnected => Lost::new_err(text),
        _ => Error::new_err(text),
    }
}

fn contract(size: u32, interval: f64, deadline: f64, burst: u32) -> PyResult<client::Contract> {
    let span = |seconds: f64| {
        Duration::try_from_secs_f64(seconds).map_err(|_| Error::new_err(format!("{seconds} s is no time")))
    };
    Ok(client::Contract::periodic(size, span(interval)?, span(deadline)?).with_burst(burst))
}

pub(crate) fn over() -> PyErr {
    Lost::new_err("it was closed before")
}

/// A connection to the local node.
#[pyclass(frozen, module = "laxity._laxity")]
struct Node(client::Client);

#[pymethods]
impl Node {
    #[new]
    #[pyo3(signature = (socket=None))]
    fn new(py: Python<'_>, socket: Option<PathBuf>) -> PyResult<Self> {
        let made = py
            .detach(|| socket.map_or_else(client::Client::connect, |path| client::Client::connect_to(&path)));
        made.map(Self).map_err(raised)
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.node()
    }

    fn listen(&self, py: Python<'_>, name: &str) -> PyResult<Queue> {
        py.detach(|| self.0.listen(name)).map(|queue| Queue(Shared::new(queue))).map_err(raised)
    }

    #[pyo3(signature = (name, size, interval, deadline, burst=1))]
    fn open(
        &self,
        py: Python<'_>,
        name: &str,
        size: u32,
        interval: f64,
        deadline: f64,
        burst: u32,
    ) -> PyResult<Channel> {
        let contract = contract(size, interval, deadline, burst)?;
        py.detach(|| self.0.open(name, contract)).map(|channel| Channel(Shared::new(channel))).map_err(raised)
    }

    fn datagram(&self, py: Python<'_>, name: &str, payload: &[u8]) -> PyResult<()> {
        py.detach(|| self.0.datagram(self.0.resolve(name)?, payload)).map_err(raised)
    }
}

/// The receiving end of channels.
#[pyclass(frozen, module = "laxity._laxity")]
struct Queue(Shared<client::Listener>);

#[pymethods]
impl Queue {
    #[pyo3(signature = (timeout=None))]
    fn recv(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Message>> {
        let mut left =
            timeout.map(Duration::try_from_secs_f64).transpose().map_err(|_| Error::new_err("no time"))?;
        loop {
            let part = left.map_or(PART, |left| left.min(PART));
            if let Some(message) = self.0.call(py, |queue| queue.recv_timeout(part))? {
                return Ok(Some(Message(message)));
            }
            py.check_signals()?;
            left = left.map(|left| left.saturating_sub(part));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
        }
    }

    fn try_recv(&self, py: Python<'_>) -> PyResult<Option<Message>> {
        Ok(self.0.call(py, client::Listener::try_recv)?.map(Message))
    }

    fn fileno(&self, py: Python<'_>) -> PyResult<i32> {
        self.0.call(py, |queue| Ok(queue.as_fd().as_raw_fd()))
    }

    fn arm(&self, py: Python<'_>) -> PyResult<bool> {
        self.0.call(py, |queue| Ok(queue.arm()))
    }

    fn silence(&self, py: Python<'_>) -> PyResult<()> {
        self.0.call(py, |queue| {
            queue.silence();
            Ok(())
        })
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let queue = self.0.take(py)?;
        py.detach(|| drop(queue));
        Ok(())
    }
}

/// A received message.
#[pyclass(frozen, module = "laxity._laxity")]
struct Message(client::Message);

#[pymethods]
impl Message {
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.payload)
    }

    #[getter]
    fn delay(&self) -> f64 {
        self.0.delay.as_secs_f64()
    }

    #[getter]
    fn channel(&self) -> Option<String> {
        self.0.channel.map(|channel| channel.to_string())
    }
}

/// The sending end of a channel.
#[pyclass(frozen, module = "laxity._laxity")]
struct Channel(Shared<client::Channel>);

#[pymethods]
impl Channel {
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        self.0.call(py, |channel| Ok(channel.name().to_string()))
    }

    #[getter]
    fn route(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.0.call(py, |channel| Ok(channel.route().to_vec()))
    }

    #[getter]
    fn accepted(&self, py: Python<'_>) -> PyResult<u64> {
        self.0.call(py, |channel| Ok(channel.accepted()))
    }

    #[getter]
    fn excess(&self, py: Python<'_>) -> PyResult<u64> {
        self.0.call(py, |channel| Ok(channel.excess()))
    }

    fn send(&self, py: Python<'_>, message: &[u8]) -> PyResult<()> {
        self.0.call(py, |channel| channel.send(message))
    }

    fn try_send(&self, py: Python<'_>, message: &[u8]) -> PyResult<()> {
        self.0.call(py, |channel| channel.try_send(message))
    }

    fn drain(&self, py: Python<'_>) -> PyResult<()> {
        self.0.call(py, client::Channel::drain)
    }

    #[pyo3(signature = (size, interval, deadline, burst=1))]
    fn renegotiate(
        &self,
        py: Python<'_>,
        size: u32,
        interval: f64,
        deadline: f64,
        burst: u32,
    ) -> PyResult<()> {
        let contract = contract(size, interval, deadline, burst)?;
        self.0.call(py, |channel| channel.renegotiate(contract))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let channel = self.0.take(py)?.ok_or_else(over)?;
        py.detach(|| channel.close()).map_err(raised)
    }
}

/// Adds the classes to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add_class::<Node>()?;
    module.add_class::<Queue>()?;
    module.add_class::<Channel>()?;
    module.add_class::<Message>()?;
    module.add("Refused", py.get_type::<Refused>())?;
    module.add("Excess", py.get_type::<Excess>())?;
    module.add("Lost", py.get_type::<Lost>())
}
