//! The line is shared: an HTB discipline with a class for the daemon and one for all else.
//!
//! The class of the daemon has its rate, whatever others send. A packet enters it by a socket
//! priority that equals the class, and the kernel asks for `CAP_NET_ADMIN` to set that; neither a
//! mark of DSCP nor an ordinary priority leads there. All other traffic has the rest of the line, and
//! borrows what the daemon leaves unused. A packet of the daemon leaves at once all the same, since its
//! class is below its own rate. It may find a packet of others on the line, and the burst of their
//! class behind it: [`blocking`] bytes, which the bound of the link includes.
//!
//! The handle [`HANDLE`] marks the discipline as ours. One that a crashed daemon left is replaced; one
//! of another program never is.

use std::process::Command;

use laxity_units::Rate;

/// The handle of the discipline: `LX`.
const HANDLE: u32 = 0x4c58;
/// The class of the daemon, as a socket priority.
pub(crate) const CLASS: u32 = HANDLE << 16 | 0x10;

/// Bytes of other traffic that may leave at once.
const LENT: u32 = 2048;

/// Bytes of other traffic that a packet of the daemon may find before it on the line, where an IP
/// packet has at most `longest` bytes on the line.
pub(crate) const fn blocking(longest: u32) -> u32 {
    longest.saturating_add(LENT)
}

/// A discipline that is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Shaper {
    interface: String,
}

impl Shaper {
    /// Shares the line of `interface`: `own` for the daemon, the rest for all else.
    ///
    /// # Errors
    /// A sentence: a discipline of another program is there, or the system refuses.
    pub(crate) fn install(interface: &str, line: Rate, own: Rate) -> Result<Self, String> {
        match root(interface)? {
            Root::Default => {}
            Root::Ours => drop(tc(&["qdisc", "del", "dev", interface, "root"])?),
            Root::Foreign(kind) => {
                return Err(format!(
                    "{interface} has the discipline `{kind}` of somebody else, which stays: remove it with \
                     `tc qdisc del dev {interface} root`, or leave `interface` out"
                ));
            }
        }
        let shaper = Self { interface: interface.to_owned() };
        let bits = |rate: Rate| (rate.bytes_per_sec_f64() * 8.0) as u64;
        let (all, own) = (bits(line), bits(own));
        let (handle, rest) = (format!("{HANDLE:x}:"), all - own);
        let class = |parent: &str, minor: &str, rate: u64, rest: &str| {
            let front = format!("class add dev {interface} parent {parent} classid {handle}{minor} htb");
            tc_words(&format!("{front} rate {rate}bit ceil {all}bit quantum 1514 {rest}"))
        };
        tc_words(&format!("qdisc add dev {interface} root handle {handle} htb default 20"))?;
        class(&handle, "1", all, &format!("burst {LENT} cburst {LENT}"))?;
        // The daemon paces its packets. The burst lets a few leave that a stop of the platform held
        // back; a packet of others is served for one quantum at a time.
        let line = format!("{handle}1");
        class(&line, "10", own, "prio 0 burst 16k cburst 16k")?;
        class(&line, "20", rest, &format!("prio 7 burst {LENT} cburst {LENT}"))?;
        Ok(shaper)
    }
}

impl Drop for Shaper {
    fn drop(&mut self) {
        if matches!(root(&self.interface), Ok(Root::Ours)) {
            let _ = tc(&["qdisc", "del", "dev", &self.interface, "root"]);
        }
    }
}

enum Root {
    Default,
    Ours,
    Foreign(String),
}

fn root(interface: &str) -> Result<Root, String> {
    let text = tc(&["-j", "qdisc", "show", "dev", interface])?;
    let disciplines: Vec<serde_json::Value> =
        serde_json::from_str(&text).map_err(|why| format!("`tc` says what is no JSON: {why}"))?;
    let Some(root) = disciplines.iter().find(|of| of.get("root").is_some()) else { return Ok(Root::Default) };
    let word = |key: &str| root.get(key).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
    // A discipline that the kernel gave to an interface by itself has the handle 0.
    match word("handle").as_str() {
        "0:" => Ok(Root::Default),
        handle if handle == format!("{HANDLE:x}:") => Ok(Root::Ours),
        _ => Ok(Root::Foreign(word("kind"))),
    }
}

fn tc_words(arguments: &str) -> Result<String, String> {
    tc(&arguments.split_whitespace().collect::<Vec<_>>())
}

fn tc(arguments: &[&str]) -> Result<String, String> {
    let called = format!("tc {}", arguments.join(" "));
    let output = Command::new("tc").args(arguments).output().map_err(|why| format!("`{called}`: {why}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("`{called}`: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
