//! The service's client as classes of Python. Calls that wait release the interpreter.

use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::time::Duration;

use laxity_client as client;
use pyo3::create_exception;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::Error;

create_exception!(laxity, Refused, Error);
create_exception!(laxity, Excess, Error);
create_exception!(laxity, Lost, Error);

/// A wait is cut into parts of this length, so that Ctrl-C ends it.
const PART: Duration = Duration::from_millis(100);

fn raised(error: client::Error) -> PyErr {
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

fn over() -> PyErr {
    Lost::new_err("it was closed before")
}

/// A connection to the local node.
#[pyclass(module = "laxity._laxity")]
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
        py.detach(|| self.0.listen(name)).map(|queue| Queue(Some(queue))).map_err(raised)
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
        py.detach(|| self.0.open(name, contract)).map(|channel| Channel(Some(channel))).map_err(raised)
    }

    fn datagram(&self, py: Python<'_>, name: &str, payload: &[u8]) -> PyResult<()> {
        py.detach(|| self.0.datagram(self.0.resolve(name)?, payload)).map_err(raised)
    }
}

/// The receiving end of channels.
#[pyclass(module = "laxity._laxity")]
struct Queue(Option<client::Listener>);

#[pymethods]
impl Queue {
    #[pyo3(signature = (timeout=None))]
    fn recv(&mut self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Message>> {
        let mut left =
            timeout.map(Duration::try_from_secs_f64).transpose().map_err(|_| Error::new_err("no time"))?;
        let queue = self.0.as_mut().ok_or_else(over)?;
        loop {
            let part = left.map_or(PART, |left| left.min(PART));
            if let Some(message) = py.detach(|| queue.recv_timeout(part)).map_err(raised)? {
                return Ok(Some(Message(message)));
            }
            py.check_signals()?;
            left = left.map(|left| left.saturating_sub(part));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
        }
    }

    fn try_recv(&mut self) -> PyResult<Option<Message>> {
        let queue = self.0.as_mut().ok_or_else(over)?;
        Ok(queue.try_recv().map_err(raised)?.map(Message))
    }

    fn fileno(&self) -> PyResult<i32> {
        Ok(self.0.as_ref().ok_or_else(over)?.as_fd().as_raw_fd())
    }

    fn arm(&mut self) -> PyResult<bool> {
        Ok(self.0.as_mut().ok_or_else(over)?.arm())
    }

    fn silence(&self) -> PyResult<()> {
        self.0.as_ref().ok_or_else(over)?.silence();
        Ok(())
    }

    fn close(&mut self, py: Python<'_>) {
        let queue = self.0.take();
        py.detach(|| drop(queue));
    }
}

/// A received message.
#[pyclass(module = "laxity._laxity")]
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
#[pyclass(module = "laxity._laxity")]
struct Channel(Option<client::Channel>);

impl Channel {
    fn open(&mut self) -> PyResult<&mut client::Channel> {
        self.0.as_mut().ok_or_else(over)
    }
}

#[pymethods]
impl Channel {
    #[getter]
    fn name(&mut self) -> PyResult<String> {
        Ok(self.open()?.name().to_string())
    }

    #[getter]
    fn route(&mut self) -> PyResult<Vec<String>> {
        Ok(self.open()?.route().to_vec())
    }

    #[getter]
    fn accepted(&mut self) -> PyResult<u64> {
        Ok(self.open()?.accepted())
    }

    #[getter]
    fn excess(&mut self) -> PyResult<u64> {
        Ok(self.open()?.excess())
    }

    fn send(&mut self, py: Python<'_>, message: &[u8]) -> PyResult<()> {
        let channel = self.open()?;
        py.detach(|| channel.send(message)).map_err(raised)
    }

    fn try_send(&mut self, py: Python<'_>, message: &[u8]) -> PyResult<()> {
        let channel = self.open()?;
        py.detach(|| channel.try_send(message)).map_err(raised)
    }

    fn drain(&mut self, py: Python<'_>) -> PyResult<()> {
        let channel = self.open()?;
        py.detach(|| channel.drain()).map_err(raised)
    }

    #[pyo3(signature = (size, interval, deadline, burst=1))]
    fn renegotiate(
        &mut self,
        py: Python<'_>,
        size: u32,
        interval: f64,
        deadline: f64,
        burst: u32,
    ) -> PyResult<()> {
        let contract = contract(size, interval, deadline, burst)?;
        let channel = self.open()?;
        py.detach(|| channel.renegotiate(contract)).map_err(raised)
    }

    fn close(&mut self, py: Python<'_>) -> PyResult<()> {
        let channel = self.0.take().ok_or_else(over)?;
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
