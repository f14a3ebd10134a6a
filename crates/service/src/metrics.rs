//! Metrics in the text format of Prometheus.

use std::collections::BTreeMap;
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

/// The greatest values so far among the counters of a status.
const MAXIMA: [&str; 3] = ["stall_longest_us", "turn_longest_us", "hidden_us"];

/// A counter of a status as a metric: its name, its type, and the neighbour if it is of a link.
fn metric(counter: &str) -> (String, &'static str, Option<&str>) {
    let of_link = counter.strip_prefix("link_").and_then(|rest| rest.split_once('_'));
    let (peer, what) = of_link.map_or((None, counter), |(peer, what)| (Some(peer), what));
    let link = if peer.is_some() { "link_" } else { "" };
    match MAXIMA.contains(&what) {
        true => (format!("{link}{what}"), "gauge", peer),
        false => (format!("{link}{what}_total"), "counter", peer),
    }
}

/// The metrics of a node: counters, reserved parts of links, and the histogram of laxity.
fn text(node: &str, status: &EngineStatus) -> String {
    // A metric has its samples behind its type.
    let mut metrics: BTreeMap<String, (&str, String)> = BTreeMap::new();
    let of_peer = |peer: Option<&str>| peer.map_or(String::new(), |peer| format!(",peer=\"{peer}\""));
    let mut sample = |metric: &str, kind, ending: &str, labels: &str, value: f64| {
        let (_, lines) = metrics.entry(metric.to_owned()).or_insert((kind, String::new()));
        let _ = writeln!(lines, "laxity_{metric}{ending}{{node=\"{node}\"{labels}}} {value}");
    };
    sample("channels", "gauge", "", "", f64::from(status.channels));
    for (name, value) in &status.counters {
        let (name, kind, peer) = metric(name);
        sample(&name, kind, "", &of_peer(peer), *value as f64);
    }
    for (peer, share) in &status.reserved {
        let peer = of_peer(Some(&peer.0.to_string()));
        sample("link_reserved_ratio", "gauge", "", &peer, f64::from(*share) / 1e6);
    }
    sample("processor_reserved_ratio", "gauge", "", "", f64::from(status.processor) / 1e6);
    sample("packet_stated_seconds", "gauge", "", "", status.packet.as_secs_f64());
    let (mut sum, laxity) = (0, "message_laxity_seconds");
    for (edge, count) in &status.laxity {
        sum += count;
        let edge = format!(",le=\"{}\"", *edge as f64 / 1e9);
        sample(laxity, "histogram", "_bucket", &edge, sum as f64);
    }
    sample(laxity, "histogram", "_bucket", ",le=\"+Inf\"", sum as f64);
    sample(laxity, "histogram", "_count", "", sum as f64);
    let each =
        |(metric, (kind, lines)): (String, (&str, String))| format!("# TYPE laxity_{metric} {kind}\n{lines}");
    metrics.into_iter().map(each).collect()
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
            counters: [("stalls", 7), ("stall_longest_us", 9), ("link_2_sent", 4), ("link_3_sent", 5)]
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
            laxity: vec![(0, 1), (1000, 2), (2000, 0)],
            ..EngineStatus::default()
        };
        let text = text("a", &status);
        for line in [
            "laxity_channels{node=\"a\"} 3\n",
            "# TYPE laxity_stalls_total counter\nlaxity_stalls_total{node=\"a\"} 7\n",
            "# TYPE laxity_stall_longest_us gauge\nlaxity_stall_longest_us{node=\"a\"} 9\n",
            "# TYPE laxity_link_sent_total counter\nlaxity_link_sent_total{node=\"a\",peer=\"2\"} 4\n\
             laxity_link_sent_total{node=\"a\",peer=\"3\"} 5\n",
            "# TYPE laxity_message_laxity_seconds histogram\n",
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
