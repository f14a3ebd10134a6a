//! SIGHUP: a node file that is read again.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use super::net::Net;
use super::steady::beside_a_stream;
use super::{film, until};

/// An address that is free now.
fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// The metrics at an address.
fn scraped(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

#[test]
fn a_reloaded_file_costs_no_message() {
    let net = Net::loopback(150, &["a", "b"]);
    let (first, second) = (free(), free());
    let text = net.text("a");
    let at = |address: SocketAddr| format!("metrics = \"{address}\"\n{text}");
    let reloaded = |text: &str, said: &str| {
        let before = net.log("a").matches(said).count();
        net.set_text("a", text);
        net.signal("a", "-HUP");
        until(said, || net.log("a").matches(said).count() > before);
    };
    beside_a_stream(&net, "a", "b", || {
        reloaded(&at(first), "reloaded");
        assert!(scraped(first).unwrap().contains("laxity_channels{node=\"a\"} 1\n"));
        reloaded(&at(second), "reloaded");
        assert!(scraped(second).is_ok());
        until("the old address is closed", || scraped(first).is_err());
        // A file that is none has no effect.
        reloaded("name = 1", "not reloaded");
        assert!(scraped(second).is_ok());
        let idle = at(second).replace("[host]", "[host]\nidle = \"yield\"");
        reloaded(&idle.replace("80 Mbit/s", "70 Mbit/s"), "a restart is needed for `[[link]]`");
        // Certificates of another authority: for the next session.
        net.make_keys("renewed");
        reloaded(&at(second).replace("keys/", "renewed/"), "reloaded");
    });
    net.set_text("b", &net.text("b").replace("keys/", "renewed/"));
    net.stop("b");
    net.start("b");
    let _listener = net.client("b").listen("film").unwrap();
    let client = net.client("a");
    until("a session under the new certificates", || client.open("film", film()).is_ok());
}
