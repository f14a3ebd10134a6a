//! Metrics in the text format of Prometheus.

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::control::Control;
use crate::exchange::{EngineStatus, Outcome, ToEngine};

const PATIENCE: Duration = Duration::from_secs(2);

/// From a failed connection to the next.
const RETRY: Duration = Duration::from_millis(100);

/// Answers requests for `/metrics` at `address`, if there is one, until the task is aborted.
///
/// # Errors
/// A sentence: the address is in use or not of this host.
pub(crate) async fn start(
    control: &Rc<Control>,
    address: Option<SocketAddr>,
) -> Result<Option<JoinHandle<()>>, String> {
    let Some(address) = address else { return Ok(None) };
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|why| format!("metrics at {address}: {why}"))?;
    Ok(Some(tokio::task::spawn_local(serve(control.clone(), listener))))
}

async fn serve(control: Rc<Control>, listener: TcpListener) {
    loop {
        match listener.accept().await {
            // One at a time: a scraper asks every few seconds.
            Ok((stream, _)) => drop(timeout(PATIENCE, respond(&control, stream)).await),
            Err(_) => tokio::time::sleep(RETRY).await,
        }
    }
}

async fn respond(control: &Rc<Control>, mut stream: TcpStream) -> io::Result<()> {
    let mut request = [0; 2048];
    let length = stream.read(&mut request).await?;
    let (status, body) = match request[..length].starts_with(b"GET /metrics ") {
        true => match control.ask(|request| ToEngine::Status(request, 0)).await {
            Outcome::Status(status) => ("200 OK", text(control.name(), &status)),
            _ => ("503 Service Unavailable", String::new()),
        },
        false => ("404 Not Found", "the metrics are at /metrics\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await
}

/// The metrics of a node: counters, reserved parts of links, and the histogram of laxity.
fn text(node: &str, status: &EngineStatus) -> String {
    let mut text = String::new();
    let mut line = |name: &str, labels: &str, value: f64| {
        let _ = writeln!(text, "laxity_{name}{{node=\"{node}\"{labels}}} {value}");
    };
    line("channels", "", f64::from(status.channels));
    for (name, value) in &status.counters {
        line(&format!("{name}_total"), "", *value as f64);
    }
    for (peer, share) in &status.reserved {
        line("link_reserved_ratio", &format!(",peer=\"{}\"", peer.0), f64::from(*share) / 1e6);
    }
    line("processor_reserved_ratio", "", f64::from(status.processor) / 1e6);
    line("packet_stated_seconds", "", status.packet.as_secs_f64());
    let mut sum = 0;
    for (edge, count) in &status.laxity {
        sum += count;
        line("message_laxity_seconds_bucket", &format!(",le=\"{}\"", *edge as f64 / 1e9), sum as f64);
    }
    line("message_laxity_seconds_bucket", ",le=\"+Inf\"", sum as f64);
    line("message_laxity_seconds_count", "", sum as f64);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_up() {
        let status = EngineStatus {
            channels: 3,
            processor: 250_000,
            packet: laxity_units::Span::from_us(3),
            counters: vec![("stalls".to_owned(), 7)],
            laxity: vec![(0, 1), (1000, 2), (2000, 0)],
            ..EngineStatus::default()
        };
        let text = text("a", &status);
        for line in [
            "laxity_channels{node=\"a\"} 3\n",
            "laxity_stalls_total{node=\"a\"} 7\n",
            "laxity_processor_reserved_ratio{node=\"a\"} 0.25\n",
            "laxity_packet_stated_seconds{node=\"a\"} 0.000003\n",
            "laxity_message_laxity_seconds_bucket{node=\"a\",le=\"0\"} 1\n",
            "laxity_message_laxity_seconds_bucket{node=\"a\",le=\"0.000002\"} 3\n",
            "laxity_message_laxity_seconds_count{node=\"a\"} 3\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}
