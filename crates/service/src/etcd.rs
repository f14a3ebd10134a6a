//! A client of etcd: its JSON gateway over HTTP.
//!
//! Requests are few and short, so each has a connection of its own and is HTTP/1.0: the server sends
//! no chunks and closes the connection behind the answer. Over `https` the node and etcd prove their
//! identity as nodes do to each other.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::str::FromStr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::identity::Identity;
use crate::session::Stream;

/// How long an endpoint may take for an answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of an answer at most.
const LONGEST: u64 = 1 << 20;
/// Look-ups at once; further ones wait. Programs ask for them, and leases are renewed beside.
const AT_ONCE: usize = 16;

/// Where an etcd server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    is_secure: bool,
    host: String,
    port: u16,
}

impl Endpoint {
    /// Whether it is one of `https`.
    pub(crate) fn is_secure(&self) -> bool {
        self.is_secure
    }
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`{text}` is no address of etcd, as `http://127.0.0.1:2379` is");
        let (is_secure, rest) = match text.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            _ => return Err(bad()),
        };
        let (host, port) = rest.trim_end_matches('/').rsplit_once(':').ok_or_else(bad)?;
        let port = port.parse().map_err(|_| bad())?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b':');
        if bare.is_empty() || !bare.bytes().all(plain) || (bare.contains(':') && bare == host) {
            return Err(bad());
        }
        Ok(Self { is_secure, host: bare.to_owned(), port })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_secure { "https" } else { "http" };
        match self.host.contains(':') {
            true => write!(f, "{scheme}://[{}]:{}", self.host, self.port),
            false => write!(f, "{scheme}://{}:{}", self.host, self.port),
        }
    }
}

/// A client of the servers at several endpoints, which have the same contents.
pub(crate) struct Etcd {
    endpoints: Vec<Endpoint>,
    identity: Rc<Identity>,
    /// The endpoint that answered last.
    last: Cell<usize>,
    places: Semaphore,
}

/// A lease by its number; etcd writes numbers of 64 bits as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lease(String);

/// Why one endpoint gave no answer.
enum Failed {
    /// Another endpoint may.
    Unreachable(String),
    /// The servers refuse the request.
    Refused(String),
}

fn unreachable(why: impl fmt::Display) -> Failed {
    Failed::Unreachable(why.to_string())
}

impl Etcd {
    /// A client of `endpoints`, of which there is at least one.
    pub(crate) fn new(endpoints: Vec<Endpoint>, identity: Rc<Identity>) -> Self {
        Self { endpoints, identity, last: Cell::new(0), places: Semaphore::new(AT_ONCE) }
    }

    /// A lease of `ttl`, in whole seconds.
    ///
    /// # Errors
    /// A sentence: no server answers, or they refuse.
    pub(crate) async fn grant(&self, ttl: Duration) -> Result<Lease, String> {
        let granted = self.call("/v3/lease/grant", json!({ "TTL": ttl.as_secs().to_string() })).await?;
        let id = granted["ID"].as_str().ok_or("a lease without a number")?;
        Ok(Lease(id.to_owned()))
    }

    /// Renews a lease; whether it was not over.
    ///
    /// # Errors
    /// As of [`grant`](Self::grant).
    pub(crate) async fn keep_alive(&self, lease: &Lease) -> Result<bool, String> {
        let kept = self.call("/v3/lease/keepalive", json!({ "ID": lease.0 })).await?;
        // A lease that is over has no time.
        Ok(kept["result"]["TTL"].is_string())
    }

    /// Ends a lease, and what was put under it.
    ///
    /// # Errors
    /// As of [`grant`](Self::grant).
    pub(crate) async fn revoke(&self, lease: &Lease) -> Result<(), String> {
        self.call("/v3/lease/revoke", json!({ "ID": lease.0 })).await.map(drop)
    }

    /// Puts a value at `key`, as long as `lease` holds.
    ///
    /// # Errors
    /// As of [`grant`](Self::grant).
    pub(crate) async fn put(&self, key: &str, value: &str, lease: &Lease) -> Result<(), String> {
        let (key, value) = (STANDARD.encode(key), STANDARD.encode(value));
        self.call("/v3/kv/put", json!({ "key": key, "value": value, "lease": lease.0 })).await.map(drop)
    }

    /// Deletes `key`.
    ///
    /// # Errors
    /// As of [`grant`](Self::grant).
    pub(crate) async fn delete(&self, key: &str) -> Result<(), String> {
        self.call("/v3/kv/deleterange", json!({ "key": STANDARD.encode(key) })).await.map(drop)
    }

    /// Keys that begin with `prefix`, which ends with a byte below 255, and their values. Those that
    /// are no text are left out.
    ///
    /// # Errors
    /// As of [`grant`](Self::grant).
    pub(crate) async fn range(&self, prefix: &str) -> Result<Vec<(String, String)>, String> {
        let _place = self.places.acquire().await;
        let mut end = prefix.as_bytes().to_vec();
        if let Some(last) = end.last_mut() {
            *last += 1;
        }
        let (key, end) = (STANDARD.encode(prefix), STANDARD.encode(end));
        let ranged = self.call("/v3/kv/range", json!({ "key": key, "range_end": end })).await?;
        let text = |value: &Value| String::from_utf8(STANDARD.decode(value.as_str()?).ok()?).ok();
        let pairs = ranged["kvs"].as_array().into_iter().flatten();
        Ok(pairs.filter_map(|pair| Some((text(&pair["key"])?, text(&pair["value"])?))).collect())
    }

    /// Asks one endpoint after the other, the one that answered last first.
    async fn call(&self, path: &str, body: Value) -> Result<Value, String> {
        let body = body.to_string();
        let (first, mut failures) = (self.last.get(), Vec::new());
        for number in 0..self.endpoints.len() {
            let number = (first + number) % self.endpoints.len();
            let endpoint = &self.endpoints[number];
            let asked = timeout(PATIENCE, self.ask(endpoint, path, &body)).await;
            match asked.unwrap_or_else(|_| Err(unreachable("no answer within 2 s"))) {
                Ok(answer) => {
                    self.last.set(number);
                    return Ok(answer);
                }
                Err(Failed::Refused(why)) => return Err(format!("{endpoint}: {why}")),
                Err(Failed::Unreachable(why)) => failures.push(format!("{endpoint}: {why}")),
            }
        }
        Err(failures.join("; "))
    }

    /// The answer of one endpoint.
    async fn ask(&self, endpoint: &Endpoint, path: &str, body: &str) -> Result<Value, Failed> {
        let stream = TcpStream::connect((&endpoint.host[..], endpoint.port)).await.map_err(unreachable)?;
        let request = format!(
            "POST {path} HTTP/1.0\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            endpoint.host,
            body.len()
        );
        let stream: Box<dyn Stream> = if endpoint.is_secure {
            let connector = self.identity.connector().ok_or_else(|| unreachable("`https` needs keys"))?;
            let subject = Identity::subject(&endpoint.host).map_err(unreachable)?;
            Box::new(connector.connect(subject, stream).await.map_err(unreachable)?)
        } else {
            Box::new(stream)
        };
        exchange(stream, &request).await
    }
}

/// Sends a request, and reads the answer to its end.
async fn exchange(mut stream: Box<dyn Stream>, request: &str) -> Result<Value, Failed> {
    stream.write_all(request.as_bytes()).await.map_err(unreachable)?;
    stream.flush().await.map_err(unreachable)?;
    let mut answer = Vec::new();
    stream.take(LONGEST).read_to_end(&mut answer).await.map_err(unreachable)?;
    let answer = String::from_utf8(answer).map_err(unreachable)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| unreachable("it is cut off"))?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok());
    let said = serde_json::from_str::<Value>(body);
    match (status, said) {
        (Some(200), Ok(said)) => Ok(said),
        (Some(200), Err(why)) => Err(unreachable(why)),
        (Some(status), said) => {
            let why = said.ok().and_then(|said| Some(said["error"].as_str()?.to_owned()));
            let why = why.unwrap_or_else(|| format!("HTTP status {status}"));
            Err(if status < 500 { Failed::Refused(why) } else { Failed::Unreachable(why) })
        }
        (None, _) => Err(unreachable("no HTTP")),
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::node_file::{Off, Security};

    #[test]
    fn an_endpoint_is_a_url() {
        for text in ["http://127.0.0.1:2379", "https://etcd-1.example:2379", "http://[::1]:2379"] {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), text);
        }
        assert_eq!("http://a:1/".parse::<Endpoint>().unwrap().to_string(), "http://a:1");
        for text in [
            "",
            "127.0.0.1:2379",
            "ftp://a:1",
            "http://a",
            "http://:1",
            "http://::1:2379",
            "http://a:99999",
            "http://a b:1",
            "http://a\r\n:1",
        ] {
            assert!(text.parse::<Endpoint>().unwrap_err().contains("no address"), "{text}");
        }
    }

    /// A server that gives each answer to one connection, and the requests that it got.
    async fn server(answers: Vec<String>) -> (Endpoint, tokio::task::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let task = tokio::task::spawn_local(async move {
            let mut requests = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = [0; 4096];
                let length = stream.read(&mut request).await.unwrap();
                requests.push(String::from_utf8_lossy(&request[..length]).into_owned());
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
            requests
        });
        (endpoint, task)
    }

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, test);
    }

    fn client(endpoints: Vec<Endpoint>) -> Etcd {
        Etcd::new(endpoints, Rc::new(Identity::of(&Security::Off(Off::None)).unwrap()))
    }

    fn ok(body: &str) -> String {
        format!("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{body}")
    }

    /// Answers as etcd 3.4 writes them.
    #[test]
    fn requests_and_answers_are_those_of_the_gateway() {
        run(async {
            let answers = [
                ok(r#"{"header":{"revision":"1"},"ID":"2324035674850470661","TTL":"5"}"#),
                ok(r#"{"header":{"revision":"2"}}"#),
                ok(
                    r#"{"header":{},"kvs":[{"key":"YQ==","value":"Yg==","lease":"7"},{"key":"/w==","value":""}],"count":"2"}"#,
                ),
                ok("{\"result\":{\"ID\":\"77\",\"TTL\":\"5\"}}\n"),
                ok(r#"{"result":{"ID":"78"}}"#),
                "HTTP/1.0 404 Not Found\r\n\r\n{\"error\":\"lease not found\",\"code\":5}".to_owned(),
            ];
            let (endpoint, requests) = server(answers.to_vec()).await;
            let etcd = client(vec![endpoint]);
            let lease = etcd.grant(Duration::from_secs(5)).await.unwrap();
            assert_eq!(lease, Lease("2324035674850470661".to_owned()));
            etcd.put("a", "b", &lease).await.unwrap();
            assert_eq!(etcd.range("a").await.unwrap(), [("a".to_owned(), "b".to_owned())]);
            assert_eq!((etcd.keep_alive(&lease).await, etcd.keep_alive(&lease).await), (Ok(true), Ok(false)));
            assert!(etcd.revoke(&lease).await.unwrap_err().ends_with("lease not found"));
            let requests = requests.await.unwrap();
            let body = |number: usize| {
                serde_json::from_str::<Value>(requests[number].split_once("\r\n\r\n").unwrap().1).unwrap()
            };
            assert!(requests[1].starts_with("POST /v3/kv/put HTTP/1.0\r\nHost: 127.0.0.1\r\n"));
            let put = json!({ "key": "YQ==", "value": "Yg==", "lease": "2324035674850470661" });
            assert_eq!((body(0), body(1)), (json!({ "TTL": "5" }), put));
            assert_eq!(body(2), json!({ "key": "YQ==", "range_end": "Yg==" }));
        });
    }

    /// Three servers do not answer: one is dead, one speaks no HTTP, one is ill. The fourth does, and is
    /// asked first from then on.
    #[test]
    fn another_endpoint_answers_for_one_that_does_not() {
        run(async {
            let dead = "http://127.0.0.1:1".parse().unwrap();
            let (strange, _) = server(vec!["hello".to_owned()]).await;
            let (ill, _) = server(vec!["HTTP/1.0 503 x\r\n\r\n".to_owned()]).await;
            let (well, _) = server(vec![ok("{}"), ok("{}")]).await;
            let etcd = client(vec![dead, strange, ill, well]);
            assert_eq!((etcd.delete("a").await, etcd.delete("a").await), (Ok(()), Ok(())));
            // All are gone now.
            let why = etcd.delete("a").await.unwrap_err();
            assert!(why.starts_with("http://127.0.0.1:") && why.matches("http").count() == 4, "{why}");
        });
    }
}
