//! Names in etcd. The test passes over itself where there is no etcd server (Debian: etcd-server).

use std::net::TcpListener;
use std::path::Path;
use std::process::Child;

use super::*;

/// An etcd server on loopback; dropped, it ends.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    /// A server with its data in `directory`, and with keys there if its name has some.
    fn start(directory: &Path, port: u16, secure: bool) -> Option<Self> {
        let scheme = if secure { "https" } else { "http" };
        let url = format!("{scheme}://localhost:{port}");
        let mut command = Command::new("etcd");
        command.current_dir(directory).arg("--data-dir").arg(format!("etcd-{port}"));
        command.args(["--listen-client-urls", &format!("{scheme}://127.0.0.1:{port}")]);
        command.args(["--advertise-client-urls", &url, "--listen-peer-urls", "http://127.0.0.1:0"]);
        if secure {
            command.args(["--cert-file", "keys/localhost.pem", "--key-file", "keys/localhost.key"]);
            command.args(["--client-cert-auth", "--trusted-ca-file", "keys/authority.pem"]);
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        match child {
            Ok(child) => Some(Self { child, url }),
            Err(why) => {
                println!("skipped: no etcd server: {why}");
                None
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ports that are free now.
fn ports<const N: usize>() -> [u16; N] {
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

/// Starts the daemons of these nodes again with names at `servers`.
fn keep_names(net: &Net, nodes: &[(&str, &str)], servers: &str) {
    for (node, text) in nodes {
        net.stop(node);
        net.set_text(node, &format!("names.etcd = [{servers}]\n{text}"));
        net.start(node);
    }
}

fn put(net: &Net, node: &str, times: usize) {
    until("names are in etcd", || net.log(node).matches("names are in etcd\n").count() >= times);
}

/// Three nodes, the third of which floods its names: it finds none of the others, and they find its own.
#[test]
fn names_are_in_etcd_as_long_as_their_node_lives() {
    let net = Net::loopback(230, &["a", "b", "c"]);
    let [first, second] = ports();
    let directory = net.path(".");
    let Some(server) = Server::start(&directory, first, false) else { return };
    let texts = ["a", "b"].map(|node| (node, net.text(node)));
    let nodes = texts.each_ref().map(|(node, text)| (*node, &text[..]));
    // The first server of the list is not there.
    keep_names(&net, &nodes, &format!("\"http://127.0.0.1:{second}\", \"{}\"", server.url));
    ["a", "b"].iter().for_each(|node| put(&net, node, 1));
    let (client, receiver, flooding) = (net.client("a"), net.client("b"), net.client("c"));
    let (receiving, mut mail) = (receiver.listen("film").unwrap(), receiver.listen("film/x").unwrap());
    net.know("a", "film");
    net.know("a", "film/x");
    let _flooded = flooding.listen("flooded").unwrap();
    net.know("a", "flooded");
    assert!(flooding.resolve("film").is_err(), "no record has the name");
    let mut channel = client.open("film", film()).unwrap();
    assert_eq!(channel.route(), ["a", "b"]);
    channel.send(&[1; 100]).unwrap();
    client.datagram(client.resolve("film/x").unwrap(), b"hello").unwrap();
    assert_eq!(mail.recv_timeout(LONG).unwrap().unwrap().payload, b"hello");
    // A name ends with its receiver, and with its node at once if the node ends in order.
    drop(receiving);
    until("the name is gone", || client.resolve("film").is_err());
    assert!(client.resolve("film/x").is_ok());
    net.stop("b");
    assert!(client.resolve("film/x").is_err());
    // A node that is killed: its names belong to a former life.
    net.start("b");
    let receiver = net.client("b");
    let _film = receiver.listen("film").unwrap();
    net.know("a", "film");
    net.kill("b");
    until("the name is gone", || client.resolve("film").is_err());
    net.start("b");
    let receiver = net.client("b");
    let _other = receiver.listen("other").unwrap();
    net.know("a", "other");
    assert!(client.resolve("film").is_err());
    // Without a server programs learn why, and a server that is empty gets the names again.
    let times = |node: &str| net.log(node).matches("names are in etcd\n").count();
    let before = times("b");
    drop(server);
    let why = client.resolve("other").unwrap_err().to_string();
    assert!(why.contains("no node knows a receiver `other`") && why.contains("localhost"), "{why}");
    until("the daemon says so", || net.log("b").contains("names are not in etcd"));
    std::fs::remove_dir_all(directory.join(format!("etcd-{first}"))).unwrap();
    let _server = Server::start(&directory, first, false).unwrap();
    put(&net, "b", before + 1);
    net.know("a", "other");
}

/// Servers and nodes prove their identity by certificates of one authority.
#[test]
fn etcd_is_reached_with_the_certificates_of_nodes() {
    let net = Net::loopback(236, &["a", "b"]);
    let [port] = ports();
    let mut keys = net.laxity();
    assert!(keys.args(["keys", "keys", "localhost"]).output().unwrap().status.success());
    let Some(server) = Server::start(&net.path("."), port, true) else { return };
    let texts = ["a", "b"].map(|node| (node, net.text(node)));
    let nodes = texts.each_ref().map(|(node, text)| (*node, &text[..]));
    keep_names(&net, &nodes, &format!("\"{}\"", server.url));
    let receiver = net.client("b");
    let _film = receiver.listen("film").unwrap();
    net.know("a", "film");
    // The certificate is for another name.
    keep_names(&net, &nodes[..1], &format!("\"https://127.0.0.1:{port}\""));
    until("the daemon says why", || net.log("a").contains("names are not in etcd: https://127.0.0.1"));
    assert!(net.client("a").resolve("film").is_err());
}
