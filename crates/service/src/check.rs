//! The check of a node file: each fault that keeps the daemon from its work and can be seen without the
//! host, by its key.

use std::collections::BTreeSet;

use laxity_node::{Node, NotANode};
use laxity_signalling::codec;
use laxity_signalling::identity::Epoch;
use laxity_transport::HEADER_LEN;
use laxity_units::Span;

use crate::etcd::Endpoint;
use crate::node_file::{LinkFile, NodeFile, Off, Security};
use crate::owners::Owners;
use crate::policer;

/// The highest priority under `SCHED_FIFO`.
const HIGHEST: u8 = 99;
/// The longest name of an interface (IFNAMSIZ).
const INTERFACE: usize = 15;
/// The longest path of a socket (`sun_path` of unix(7), and a zero).
const SOCKET: usize = 107;
/// No spacing of signalling messages is longer.
const LONGEST_SPACING: Span = Span::from_secs(3600);

/// Whether `name` can be that of a node or an interface.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !name.is_empty() && name.len() <= 64 && name.bytes().all(plain)
}

/// The form of a name.
pub(crate) const NAME: &str = "1 to 64 letters, digits, hyphens, underscores and dots";

/// Checks that links are in the list `link`.
pub(crate) fn links_are_named(text: &str) -> Result<(), String> {
    // Text that is no TOML has an error with its line.
    let Ok(table) = text.parse::<toml::Table>() else { return Ok(()) };
    let instead = match (table.get("link"), table.get("links")) {
        (Some(toml::Value::Array(_)), _) => return Ok(()),
        (Some(_), _) => ", where this file has `[link]`",
        (None, Some(_)) => ", where this file has `links`",
        (None, None) => "",
    };
    Err(format!("a node has at least one `[[link]]`{instead}"))
}

impl NodeFile {
    pub(crate) fn check(&self) -> Result<(), String> {
        if !is_name(&self.name) {
            return Err(format!("`name` is {NAME}"));
        }
        if !(1..=SOCKET).contains(&self.socket().as_os_str().len()) {
            return Err(format!("`socket` is a path of 1 to {SOCKET} bytes"));
        }
        self.check_links()?;
        let endpoints = self.names.as_ref().map_or(&[][..], |names| &names.etcd);
        if self.names.is_some() && endpoints.is_empty() {
            return Err("`names.etcd` has one server at least".to_owned());
        }
        if self.security == Security::Off(Off::None) && endpoints.iter().any(Endpoint::is_secure) {
            return Err("`names.etcd` with `https` needs the certificates of `security`".to_owned());
        }
        Owners::of(&self.quota)?;
        for (owner, quota) in &self.quota {
            if quota.cpu.is_some_and(|part| !(0.0..=1.0).contains(&part)) {
                return Err(format!("`cpu` in `[quota.{owner}]` is a part of a processor, from 0 to 1"));
            }
        }
        if self.host.priority > HIGHEST {
            return Err(format!("`host.priority` is {HIGHEST} at most"));
        }
        if self.host.places == 0 {
            return Err("`host.places` is 1 at least".to_owned());
        }
        self.check_signalling()
    }

    /// Whether a link has `ingress` and this host has no `nft`, without which the daemon does not start.
    pub fn lacks_nft(&self) -> bool {
        self.links.iter().any(|link| link.ingress.is_some()) && !policer::is_there()
    }

    fn check_links(&self) -> Result<(), String> {
        if self.links.is_empty() {
            return Err("a node has at least one `[[link]]`".to_owned());
        }
        let (mut ids, mut peers) = (BTreeSet::from([self.id]), BTreeSet::from([&self.name]));
        let (mut locals, mut interfaces) = (BTreeSet::new(), BTreeSet::new());
        for link in &self.links {
            let of = |what: &str| Err(format!("the link to `{}`: {what}", link.peer));
            if !is_name(&link.peer) || !ids.insert(link.peer_id) || !peers.insert(&link.peer) {
                return of("`peer` and `peer_id` name one neighbour, on one link");
            }
            if link.local.port() == 0 || link.remote.port() == 0 {
                return of("`local` and `remote` have a port from 1 to 65535");
            }
            if link.local == link.remote {
                return of("`remote` is the address of the neighbour, and not `local`");
            }
            if !locals.insert(link.local) {
                return of("`local` is the address of one link");
            }
            if let Some(interface) = &link.interface
                && (!is_name(interface) || interface.len() > INTERFACE || !interfaces.insert(interface))
            {
                return of("`interface` names an interface of one link, in 15 characters at most");
            }
            link.check(self.packet).or_else(|what| of(&what))?;
        }
        Ok(())
    }

    /// Checks that links and processor have time for signalling, and leases for signalling messages.
    fn check_signalling(&self) -> Result<(), String> {
        let node = self.node(Epoch(1));
        let spacing = node.signalling;
        if spacing.is_zero() {
            return Err("`signalling` is above zero".to_owned());
        }
        let refused = |signalling: Span, packet_time: Span| {
            let node = laxity_node::NodeConfig { signalling, packet_time, ..node.clone() };
            Node::new(node, Box::new(|| 0)).err()
        };
        match refused(spacing, node.packet_time) {
            None => {}
            Some(NotANode::Signalling(_)) => {
                let fits = |spacing| refused(spacing, Span::ZERO).is_none();
                let least = least(spacing, LONGEST_SPACING, fits).rounded_up(3);
                return Err(format!("`signalling` is {spacing}, and {least} is the least for these links"));
            }
            Some(NotANode::Processor) => {
                let most = node.packet_time
                    - least(Span::ZERO, node.packet_time, |less| {
                        refused(spacing, node.packet_time - less).is_none()
                    });
                let is = node.packet_time;
                return Err(format!(
                    "`host.packet` is {is}, and {most} is the most where signalling messages are {spacing} \
                     apart"
                ));
            }
            Some(other) => return Err(other.to_string()),
        }
        // A source renews its channels each quarter of the lease.
        let least = spacing.saturating_mul(4).rounded_up(3);
        if self.lease < least {
            let lease = self.lease;
            let by = self.signalling.map_or(", by the `rate` of the slowest link", |_| "");
            return Err(format!(
                "`lease` is {lease}, and {least} is the least where signalling messages are {spacing} apart{by}"
            ));
        }
        Ok(())
    }
}

impl LinkFile {
    fn check(&self, packet: u32) -> Result<(), String> {
        if self.local.is_ipv4() != self.remote.is_ipv4() {
            return Err("`local` and `remote` are of one family".to_owned());
        }
        if self.rate.is_zero() {
            return Err("`rate` is above zero".to_owned());
        }
        let around = self.around_ip() + HEADER_LEN as u32;
        let (room, least) = (self.mtu.saturating_sub(around), codec::LONGEST as u32);
        if room < least {
            let (mtu, least) = (self.mtu, least + around);
            return Err(format!("`mtu` is {mtu} B, and {least} B is the least for signalling messages"));
        }
        if packet > room {
            return Err(format!("`packet` is {packet} B where `mtu` has room for {room} B"));
        }
        if packet < least {
            return Err(format!(
                "`packet` is {packet} B, and {least} B is the least for signalling messages"
            ));
        }
        match (&self.interface, self.line) {
            (Some(_), Some(line)) if line <= self.rate => {
                let why = "`rate` has to be below `line`, so that other traffic has a part of the line";
                return Err(why.to_owned());
            }
            (Some(_), Some(_)) | (None, None) => {}
            _ => return Err("`interface` and `line` belong together".to_owned()),
        }
        if self.ingress.is_some_and(|rate| rate.is_zero() || self.interface.is_none()) {
            return Err("`ingress` is above zero, and belongs to an `interface`".to_owned());
        }
        Ok(())
    }
}

/// The least span above `low` that `fits`, up to `high`, which does.
fn least(mut low: Span, mut high: Span, fits: impl Fn(Span) -> bool) -> Span {
    while high - low > Span::from_ps(1) {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::tests::FILE;
    use crate::make_keys;

    fn error(text: &str) -> String {
        NodeFile::parse(text, Path::new(".")).unwrap_err()
    }

    #[test]
    fn what_is_no_node_is_refused_by_name() {
        let second = |local: &str, peer: &str| {
            format!(
                "{FILE}\n[[link]]\npeer = '{peer}'\npeer_id = 3\nlocal = '{local}'\nremote = '10.0.0.3:4700'\n\
                 rate = '1 Mbit/s'"
            )
        };
        for (with, why) in [
            (FILE.replace("id = 1", "id = 2"), "one neighbour"),
            (FILE.replace("\"none\"", "\"off\""), "`security` is `\"none\"`, or the paths"),
            (FILE.replace("10.0.0.2:4700", "[::1]:4700"), "one family"),
            (FILE.replace("id = 1", "id = 1\npacket = 1400"), "room for 1376 B"),
            (format!("{FILE}\ninterface = \"eth0\""), "belong together"),
            (format!("{FILE}\ninterface = \"eth0\"\nline = \"80 Mbit/s\""), "below `line`"),
            (format!("{FILE}\ningress = \"1 Mbit/s\""), "belongs to an `interface`"),
            (format!("{FILE}\nspeed = 1"), "speed"),
            (format!("names.etcd = []\n{FILE}"), "one server"),
            (format!("names.etcd = ['http:/a:1']\n{FILE}"), "no address"),
            (format!("names.etcd = ['https://a:1']\n{FILE}"), "needs the certificates"),
            (format!("{FILE}\n[quota.film]\nusers = [1, 1]"), "user 1"),
            (format!("{FILE}\n[quota.1000]\ncpu = 1.5"), "from 0 to 1"),
            (FILE.replace("80 Mbit/s", "80"), "rate"),
            (FILE.replace("80 Mbit/s", "0 bit/s"), "above zero"),
            (FILE.replace("[[link]]", "[link]"), "one `[[link]]`, where this file has `[link]`"),
            (FILE.replace("[[link]]", "[[links]]"), "one `[[link]]`, where this file has `links`"),
            (FILE.split("[[link]]").next().unwrap().to_owned(), "at least one `[[link]]`"),
            (FILE.replace("\"recorder\"", "\"camera\""), "one neighbour"),
            (FILE.replace("10.0.0.2", "10.0.0.1"), "not `local`"),
            (FILE.replace("10.0.0.2:4700", "10.0.0.2:0"), "from 1 to 65535"),
            (second("10.0.0.1:4700", "b"), "`local` is the address of one link"),
            (second("10.0.0.1:4701", "recorder"), "one neighbour"),
            (format!("packet = 20\n{FILE}"), "`packet` is 20 B, and 731 B is the least"),
            (format!("{FILE}\nmtu = 100"), "`mtu` is 100 B, and 855 B is the least"),
            (format!("signalling = '0 s'\n{FILE}"), "`signalling` is above zero"),
            (format!("signalling = '1 us'\n{FILE}"), "is the least for these links"),
            (
                format!("{FILE}\n[host]\npacket = '10 ms'"),
                "`host.packet` is 10 ms, and 1042.8 us is the most",
            ),
            (format!("{FILE}\n[host]\npriority = 100"), "99 at most"),
            (format!("{FILE}\n[host]\nplaces = 0"), "1 at least"),
            (format!("lease = '0 s'\n{FILE}"), "`lease` is 0 ps, and 11.2 ms is the least"),
            (FILE.replace("80 Mbit/s", "1 bit/s"), "apart, by the `rate` of the slowest link"),
            (format!("socket = ''\n{FILE}"), "1 to 107 bytes"),
            (format!("socket = '/{}'\n{FILE}", "x".repeat(107)), "1 to 107 bytes"),
            (format!("{FILE}\ninterface = 'averyverylongname'\nline = '1 Gbit/s'"), "15 characters"),
        ] {
            let error = error(&with);
            assert!(error.contains(why), "{error}");
        }
    }

    /// The least value of an error is accepted.
    #[test]
    fn a_least_value_is_enough() {
        for (key, less) in [("packet", "20"), ("signalling", "'1 us'"), ("lease", "'1 ms'")] {
            let why = error(&format!("{key} = {less}\n{FILE}"));
            let least = why.split(", and ").nth(1).unwrap().split(" is the least").next().unwrap();
            let least = least.strip_suffix(" B").map_or_else(|| format!("'{least}'"), str::to_owned);
            NodeFile::parse(&format!("{key} = {least}\n{FILE}"), Path::new(".")).unwrap();
        }
        let why = error(&format!("{FILE}\n[host]\npacket = '10 ms'"));
        let most = why.split(", and ").nth(1).unwrap().split(" is the most").next().unwrap();
        NodeFile::parse(&format!("{FILE}\n[host]\npacket = '{most}'"), Path::new(".")).unwrap();
    }

    /// Certificates and keys that are there belong together, to the node, and to the authority.
    #[test]
    fn keys_belong_to_the_node() {
        let beside = std::env::temp_dir().join(format!("laxity-check-{}", std::process::id()));
        make_keys(&beside, &["camera".to_owned(), "other".to_owned()]).unwrap();
        make_keys(&beside.join("b"), &["camera".to_owned()]).unwrap();
        let read = |authority: &str, certificate: &str, key: &str| {
            let keys =
                format!("{{ authority = '{authority}', certificate = '{certificate}', key = '{key}' }}");
            let path = beside.join("camera.toml");
            std::fs::write(&path, FILE.replace("\"none\"", &keys)).unwrap();
            NodeFile::read(&path).map(|_| ()).map_err(|why| why.to_string())
        };
        assert_eq!(read("authority.pem", "camera.pem", "camera.key"), Ok(()));
        assert_eq!(read("authority.pem", "later.pem", "camera.key"), Ok(()), "it is not there yet");
        for ([authority, certificate, key], why) in [
            (["authority.pem", "camera.pem", "other.key"], "other.key: it is not the key of"),
            (["authority.pem", "camera.key", "camera.key"], "camera.key: it has no certificate"),
            (["authority.pem", "other.pem", "other.key"], "not that of `camera`, the `name`"),
            (["b/authority.pem", "camera.pem", "camera.key"], "b/authority.pem, did not sign it"),
            (["other.pem", "camera.pem", "camera.key"], "other.pem, did not sign it"),
        ] {
            let error = read(authority, certificate, key).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        std::fs::remove_dir_all(&beside).unwrap();
    }

    #[test]
    fn a_node_file_with_a_misnamed_link_is_one() {
        assert!(NodeFile::is_one(&FILE.replace("[[link]]", "[[links]]")));
        assert!(NodeFile::is_one(&FILE.replace("[[link]]", "[link]")));
        assert!(!NodeFile::is_one("[link]\nrate = '1 Mbit/s'"));
    }
}
