//! As much of HTTP/1.1 as a page on the same machine needs: one request for each connection.
//!
//! A page of another site can make a browser send requests here. They are refused by their `Host`
//! and `Origin`, so that no other page uses this program.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::Page;

/// The longest head of a request, bytes.
const HEAD: u64 = 16 << 10;
/// The longest body: a scenario of the largest size, with its characters escaped.
const BODY: u64 = 64 << 20;
/// How long a connection may be silent.
const PATIENCE: Duration = Duration::from_secs(10);

/// The parts of a request that matter here.
#[derive(Debug, Default, PartialEq, Eq)]
struct Head {
    method: String,
    path: String,
    host: String,
    origin: Option<String>,
    length: u64,
}

/// Reads one request from `stream`, which came to `port`, and answers it.
pub(super) fn answer(stream: &TcpStream, port: u16, page: &Page) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream);
    let Some(head) = read(&mut reader)? else {
        return reply(stream, "400 Bad Request", "text/plain", b"this is no request");
    };
    if !is_own(&head, port) {
        return reply(stream, "403 Forbidden", "text/plain", b"this page is for browsers of this machine");
    }
    match head.method.as_str() {
        "GET" => match page.file(head.path.trim_start_matches('/')) {
            Some((bytes, media)) => reply(stream, "200 OK", media, bytes),
            None => reply(stream, "404 Not Found", "text/plain", b"there is no such file"),
        },
        "POST" if head.path == "/answer" && head.length <= BODY => {
            let mut request = Vec::new();
            reader.take(head.length).read_to_end(&mut request)?;
            reply(stream, "200 OK", "application/json", &laxity_browser::answer(&request))
        }
        "POST" if head.path == "/answer" => {
            reply(stream, "413 Content Too Large", "text/plain", b"the request is too large")
        }
        _ => reply(stream, "405 Method Not Allowed", "text/plain", b"valid are GET, and POST to /answer"),
    }
}

/// The head of a request; `None` if it is none, or too long.
fn read(reader: &mut impl BufRead) -> io::Result<Option<Head>> {
    let mut lines = reader.by_ref().take(HEAD);
    let mut line = String::new();
    lines.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let mut head = Head { method: method.into(), path: path.into(), ..Head::default() };
    loop {
        line.clear();
        if lines.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let Some((name, value)) = line.trim_end().split_once(':') else {
            return Ok(line.trim_end().is_empty().then_some(head));
        };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "host" => head.host = value.into(),
            "origin" => head.origin = Some(value.into()),
            "content-length" => match value.parse() {
                Ok(length) => head.length = length,
                Err(_) => return Ok(None),
            },
            _ => {}
        }
    }
}

/// Whether the request is for this server by its name, from no page or from one of this server.
fn is_own(head: &Head, port: u16) -> bool {
    let own = ["localhost", "127.0.0.1"].map(|name| format!("{name}:{port}"));
    let from_own = |origin: &String| own.iter().any(|own| *origin == format!("http://{own}"));
    own.contains(&head.host) && head.origin.as_ref().is_none_or(from_own)
}

fn reply(mut stream: &TcpStream, status: &str, media: &str, bytes: &[u8]) -> io::Result<()> {
    let length = bytes.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media}\r\nContent-Length: {length}\r\n\
         Cache-Control: no-cache\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(bytes)?;
    stream.flush()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    fn ask(request: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            answer(&stream, port, &Page { module: None })
        });
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(request.replace("PORT", &port.to_string()).as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        server.join().unwrap().unwrap();
        reply
    }

    #[test]
    fn files_and_answers_are_for_pages_of_this_server() {
        let page = ask("GET / HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html"), "{page}");
        assert!(page.contains("<title>Laxity designer</title>"));
        let body = r#"{"do":"digest","text":"title = 1"}"#;
        let post = |origin: &str| {
            ask(&format!(
                "POST /answer HTTP/1.1\r\nHost: localhost:PORT\r\nOrigin: {origin}\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ))
        };
        assert!(post("http://localhost:PORT").contains("\"error\""));
        assert!(post("http://example.org").starts_with("HTTP/1.1 403"));
        assert!(ask("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n").starts_with("HTTP/1.1 403"));
    }

    #[test]
    fn what_is_no_request_has_an_answer_too() {
        for (request, status) in [
            ("nonsense\r\n\r\n", "400"),
            ("GET /../../etc/passwd HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n", "404"),
            ("PUT / HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n", "405"),
            ("POST /answer HTTP/1.1\r\nHost: localhost:PORT\r\nContent-Length: 99999999999\r\n\r\n", "413"),
            ("POST /answer HTTP/1.1\r\nHost: localhost:PORT\r\nContent-Length: many\r\n\r\n", "400"),
        ] {
            let reply = ask(request);
            assert!(reply.starts_with(&format!("HTTP/1.1 {status}")), "{request}: {reply}");
        }
    }
}
