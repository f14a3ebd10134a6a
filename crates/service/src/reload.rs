//! SIGHUP: the parts of a node file that change while the daemon runs.
//!
//! Certificates and keys count from the next session on, so a certificate is renewed before it
//! expires without a packet lost. The address of the metrics, the idle strategy and quotas change at
//! once; channels stay, and a program keeps the owner that it connected as. Reservations were admitted
//! against all else: a change waits for a restart, and the log names it.

use std::mem::discriminant;
use std::rc::Rc;

use tokio::task::JoinHandle;

use crate::control::Control;
use crate::exchange::ToEngine;
use crate::identity::Identity;
use crate::metrics;
use crate::node_file::NodeFile;
use crate::owners::quotas;

/// The parts of the daemon that a node file can change.
pub(crate) struct Running {
    /// The file in force.
    file: NodeFile,
    control: Rc<Control>,
    identity: Rc<Identity>,
    metrics: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts what `file` asks for.
    ///
    /// # Errors
    /// The address of the metrics is in use or not of this host.
    pub(crate) async fn start(
        file: &NodeFile,
        control: Rc<Control>,
        identity: Rc<Identity>,
    ) -> Result<Self, String> {
        let metrics = metrics::start(&control, file.metrics).await?;
        Ok(Self { file: file.clone(), control, identity, metrics })
    }

    /// Reads the file again, and takes what can change. A bad file has no effect.
    pub(crate) async fn reload(&mut self) {
        let Some(source) = self.file.source.clone() else { return };
        let read = NodeFile::read(&source).map_err(|why| why.to_string());
        let read = read.and_then(|file| Ok((Identity::of(&file.security)?, file)));
        let (identity, file) = match read {
            Ok(read) => read,
            Err(why) => return self.control.warn(format!("not reloaded: {why}")),
        };
        let waiting = needs_restart(&self.file, &file);
        if discriminant(&self.file.security) == discriminant(&file.security) {
            self.identity.replace(identity);
            self.file.security = file.security.clone();
        }
        if self.file.metrics != file.metrics {
            match metrics::start(&self.control, file.metrics).await {
                Ok(started) => {
                    if let Some(old) = std::mem::replace(&mut self.metrics, started) {
                        old.abort();
                    }
                    self.file.metrics = file.metrics;
                }
                Err(why) => self.control.warn(why),
            }
        }
        if self.file.quota != file.quota {
            self.control.set_owners(file.owners());
            self.control.tell(ToEngine::Quotas(quotas(&file.quota)));
            self.file.quota = file.quota;
        }
        self.file.host.idle = file.host.idle;
        self.control.tell(ToEngine::Idle(file.host.idle));
        let rest = match waiting.is_empty() {
            true => String::new(),
            false => format!("; a restart is needed for {}", waiting.join(", ")),
        };
        self.control.log(format!("reloaded {}{rest}", source.display()));
    }
}

/// The keys of `new` that differ from those in force and cannot change.
fn needs_restart(old: &NodeFile, new: &NodeFile) -> Vec<&'static str> {
    let mut host = new.host.clone();
    host.idle = old.host.idle;
    let changed = [
        ("`name`", old.name != new.name),
        ("`id`", old.id != new.id),
        ("`socket`", old.socket != new.socket),
        ("`state`", old.state != new.state),
        ("`log`", old.log != new.log),
        ("`names`", old.names != new.names),
        ("`clocks`", old.clocks != new.clocks),
        ("`packet`", old.packet != new.packet),
        ("`signalling`", old.signalling != new.signalling),
        ("`lease`", old.lease != new.lease),
        ("`security`", discriminant(&old.security) != discriminant(&new.security)),
        ("`[host]`", old.host != host),
        ("`[[link]]`", old.links != new.links),
    ];
    changed.into_iter().filter_map(|(key, changed)| changed.then_some(key)).collect()
}
