//! Other traffic that arrives on an interface is dropped beyond a rate.
//!
//! Incoming packets take CPU time before anything orders them: enough of them leave none for the
//! daemon (receive livelock, thesis 7). A chain of nftables at the ingress of the interface, before IP,
//! drops other traffic beyond the rate that `host.delay` was chosen for. Packets between the two
//! addresses of the link at the daemon's ports pass, and so does ARP.
//!
//! The chain is in a table of its own, which is removed at the end. One that a crashed daemon left is
//! replaced at the next start. No other table is touched.

use std::io::Write;
use std::process::{Command, Stdio};

use laxity_units::Rate;

use crate::node_file::LinkFile;

/// Bytes of other traffic that may arrive at once.
const BURST: u32 = 65_536;

/// The program that installs chains.
const PROGRAM: &str = "nft";

/// Whether `nft` is in one of the directories of `PATH`.
pub(crate) fn is_there() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(PROGRAM).is_file())
}

/// A chain that is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Policer {
    table: String,
}

impl Policer {
    /// Limits the packets that arrive on `interface` beside those of `link`.
    ///
    /// # Errors
    /// A sentence: `nft` is not there, or the system refuses.
    pub(crate) fn install(interface: &str, link: &LinkFile, rate: Rate) -> Result<Self, String> {
        let table = format!("laxity-{interface}");
        nft(&script(&table, interface, link, rate))?;
        Ok(Self { table })
    }
}

impl Drop for Policer {
    fn drop(&mut self) {
        let _ = nft(&format!("delete table netdev {}\n", self.table));
    }
}

/// The table, which replaces one of that name at once.
fn script(table: &str, interface: &str, link: &LinkFile, rate: Rate) -> String {
    let family = if link.local.is_ipv4() { "ip" } else { "ip6" };
    let (local, remote, bytes) = (link.local, link.remote, rate.bytes_per_sec_f64() as u64);
    let between = format!("{family} saddr {} {family} daddr {}", remote.ip(), local.ip());
    format!(
        "add table netdev {table}\ndelete table netdev {table}\ntable netdev {table} {{\n\
         chain in {{\ntype filter hook ingress device \"{interface}\" priority -450; policy accept;\n\
         {between} udp sport {1} udp dport {0} accept\n{between} tcp dport {0} accept\n\
         {between} tcp sport {1} accept\nmeta protocol arp accept\n\
         limit rate over {bytes} bytes/second burst {BURST} bytes counter drop\n}}\n}}\n",
        local.port(),
        remote.port(),
    )
}

fn nft(script: &str) -> Result<(), String> {
    let wrong = |why: std::io::Error| format!("`nft`, which `ingress` needs: {why}");
    let mut command = Command::new(PROGRAM);
    command.args(["-f", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(wrong)?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(script.as_bytes()).map_err(wrong)?;
    }
    let output = child.wait_with_output().map_err(wrong)?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("`nft`: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::NodeFile;

    #[test]
    fn packets_of_the_link_pass_and_all_else_is_limited() {
        let text = "name = \"a\"\nid = 1\nsecurity = \"none\"\n[[link]]\npeer = \"b\"\npeer_id = 2\n\
            local = \"10.0.0.1:4700\"\nremote = \"10.0.0.2:4701\"\nrate = \"40 Mbit/s\"\n\
            interface = \"eth0\"\nline = \"100 Mbit/s\"\ningress = \"8 Mbit/s\"\n";
        let file = NodeFile::parse(text, Path::new(".")).unwrap();
        let link = &file.links[0];
        let script = script("laxity-eth0", "eth0", link, link.ingress.unwrap());
        for line in [
            "add table netdev laxity-eth0",
            "ip saddr 10.0.0.2 ip daddr 10.0.0.1 udp sport 4701 udp dport 4700 accept",
            "ip saddr 10.0.0.2 ip daddr 10.0.0.1 tcp sport 4701 accept",
            "limit rate over 1000000 bytes/second burst 65536 bytes counter drop",
        ] {
            assert!(script.lines().any(|known| known == line), "{script}");
        }
    }
}
