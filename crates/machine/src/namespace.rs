//! Network namespaces for the real programs of an emulation.
//!
//! Two programs on one machine communicate over loopback, whatever interfaces the machine has. To
//! pass frames through an emulated network, each needs its own interfaces, and hence its own
//! network namespace. Names are those of `ip netns`, in `/run/netns`, so `ip netns exec lx-a iperf3
//! -s` works without tools of Laxity.
//!
//! A [`RunOwner`] owns all namespaces of a run. The module `ownership` describes how the remains of a
//! crashed run are found, and why no other namespace is touched.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};

use crate::RefusedBySystem;
use crate::link::Links;
use crate::ownership::{self, Record};
use crate::socket;

const NAMED: &str = "/run/netns";
/// Prefix of a record's line for the file of a socket; its path follows.
const SOCKET: &str = "socket ";

/// A run, as the owner of namespaces and of socket files.
#[derive(Debug, Clone)]
pub struct RunOwner {
    record: Arc<Mutex<Record>>,
    swept: Vec<String>,
}

impl RunOwner {
    /// Removes the remains of dead runs, and opens a record of this run's resources.
    pub fn claim() -> Result<Self, RefusedBySystem> {
        let refused = |why| {
            RefusedBySystem::new("record what this run owns in /run/laxity", why)
                .needing("CAP_DAC_OVERRIDE, or a directory of its own in XDG_RUNTIME_DIR")
        };
        let directory = ownership::directory().map_err(refused)?;
        let mut swept = Vec::new();
        let record = Record::claim(&directory, |line| {
            if let Some(left) = Left::parse(line)
                && left.remove()?.is_some()
            {
                swept.push(format!("namespace {}", left.name));
            }
            if let Some(path) = line.strip_prefix(SOCKET)
                && socket::remove_dead(Path::new(path))?
            {
                swept.push(format!("socket {path}"));
            }
            Ok(())
        });
        Ok(Self { record: Arc::new(Mutex::new(record.map_err(refused)?)), swept })
    }

    /// Namespaces and sockets of dead runs that were removed.
    pub fn swept(&self) -> &[String] {
        &self.swept
    }

    /// Creates a socket with a file at `path` by `make`. The caller keeps this owner until it has
    /// removed the file.
    ///
    /// A path that is not UTF-8, or has several lines, is not recorded, and is not swept.
    pub fn socket<T>(&self, path: &Path, make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let absolute = std::path::absolute(path)?;
        match absolute.to_str().filter(|text| !text.contains('\n')) {
            None => make(),
            Some(text) => {
                let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
                record.making(&format!("{SOCKET}{text}"), make)
            }
        }
    }

    /// Creates a namespace with its loopback interface up; dropping it removes it.
    pub fn namespace(&self, name: &str) -> Result<Namespace, RefusedBySystem> {
        let refused = |why: io::Error| {
            RefusedBySystem::new(format!("make network namespace {name}"), why)
                .needing("CAP_SYS_ADMIN, CAP_NET_ADMIN and, for /run/netns, CAP_DAC_OVERRIDE")
                .advising(
                    "`ip netns list` shows those there are; ours are removed with the run that made them",
                )
        };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
            let why = "a name is 1 to 64 letters, digits, hyphens and underscores";
            return Err(refused(io::Error::new(io::ErrorKind::InvalidInput, why)));
        }
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        let record: &mut Record = &mut record;
        // A thread can hardly return to the process's namespace, so a short-lived thread does this.
        let made = thread::scope(|scope| scope.spawn(|| make(name, record)).join());
        let (left, file) = made.expect("nothing there panics").map_err(refused)?;
        Ok(Namespace { left, file, owner: self.record.clone() })
    }
}

/// Network namespace of this run.
#[derive(Debug)]
pub struct Namespace {
    left: Left,
    file: File,
    /// The record lists this namespace and stays until the namespace is removed.
    owner: Arc<Mutex<Record>>,
}

impl Namespace {
    /// Name, as `ip netns` shows it.
    pub fn name(&self) -> &str {
        &self.left.name
    }

    /// Runs `f` on a thread inside the namespace. Files that it opens work in every thread.
    pub fn within<R: Send>(&self, f: impl FnOnce() -> R + Send) -> Result<R, RefusedBySystem> {
        let inside = thread::scope(|scope| {
            let enter = || setns(&self.file, CloneFlags::CLONE_NEWNET).map(|()| f());
            scope.spawn(enter).join()
        });
        inside.unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(|why| {
            RefusedBySystem::new(format!("enter network namespace {}", self.name()), why)
                .needing("CAP_SYS_ADMIN")
        })
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if self.left.remove().is_err() {
            self.owner.lock().unwrap_or_else(PoisonError::into_inner).keep();
        }
    }
}

/// Creates and names a namespace, and leaves the calling thread in it.
fn make(name: &str, record: &mut Record) -> io::Result<(Left, File)> {
    let path = Path::new(NAMED).join(name);
    if path.exists() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    prepare_directory()?;
    unshare(CloneFlags::CLONE_NEWNET)?;
    let own = "/proc/thread-self/ns/net";
    let file = File::open(own)?;
    let about = file.metadata()?;
    let left = Left { name: name.to_owned(), device: about.dev(), inode: about.ino() };
    record.making(&left.to_string(), || {
        OpenOptions::new().write(true).create_new(true).open(&path)?;
        let bound = mount(Some(own), &path, None::<&str>, MsFlags::MS_BIND, None::<&str>);
        if bound.is_err() {
            let _ = fs::remove_file(&path);
        }
        Ok(bound?)
    })?;
    if let Err(why) = Links::open().and_then(|links| links.set_up("lo")) {
        let _ = left.remove();
        return Err(why);
    }
    Ok((left, file))
}

/// Makes `/run/netns` a mount that propagates its mounts to other mount namespaces, as `ip netns`
/// does.
fn prepare_directory() -> io::Result<()> {
    fs::create_dir_all(NAMED)?;
    let nothing = None::<&str>;
    let share = || mount(Some(""), NAMED, nothing, MsFlags::MS_SHARED | MsFlags::MS_REC, nothing);
    match share() {
        // The directory is no mount yet: bind it onto itself.
        Err(Errno::EINVAL) => {
            mount(Some(NAMED), NAMED, nothing, MsFlags::MS_BIND | MsFlags::MS_REC, nothing)?;
            share()?;
        }
        shared => shared?,
    }
    Ok(())
}

/// Name and identity of a namespace, as recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Left {
    name: String,
    device: u64,
    inode: u64,
}

impl std::fmt::Display for Left {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "netns {} {} {}", self.name, self.device, self.inode)
    }
}

impl Left {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let (kind, name) = (words.next()?, words.next()?.to_owned());
        let (device, inode) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        (kind == "netns" && !name.contains('/')).then_some(Self { name, device, inode })
    }

    fn path(&self) -> PathBuf {
        Path::new(NAMED).join(&self.name)
    }

    /// Removes the namespace if the file of this name is still the recorded one; `None` if there
    /// was none to remove.
    fn remove(&self) -> io::Result<Option<()>> {
        let path = self.path();
        let about = match fs::symlink_metadata(&path) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
            about => about?,
        };
        // File of a run that crashed between creating and mounting it.
        let unmounted = about.is_file() && about.len() == 0 && about.dev() == fs::metadata(NAMED)?.dev();
        if (about.dev(), about.ino()) == (self.device, self.inode) {
            umount2(&path, MntFlags::MNT_DETACH)?;
        } else if !unmounted {
            return Ok(None);
        }
        fs::remove_file(&path)?;
        Ok(Some(()))
    }
}
