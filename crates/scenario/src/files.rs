//! Reading of untrusted files.
//!
//! A path from a command line or a scenario may be missing, a directory, a gigabyte, or a text of
//! another encoding. Each is an error in words, before more than the limit has been read.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics, Place, SourceText};

/// The largest scenario or profile: 16 MiB, room for ten thousand nodes and as many channels, each
/// described by itself.
pub const LARGEST: u64 = 16 << 20;

/// Origin of files: a disk, or for tests and browsers, memory.
pub trait Files {
    /// Opens the file at `path`; a directory is an error of that kind.
    fn open(&self, path: &Path) -> io::Result<Opened<'_>>;
}

/// An open file.
pub struct Opened<'a> {
    /// Length according to the file; special files have none or zero.
    pub length: Option<u64>,
    /// Its bytes.
    pub bytes: Box<dyn Read + 'a>,
}

/// The files of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Files for Disk {
    fn open(&self, path: &Path) -> io::Result<Opened<'_>> {
        // Asked first: on some systems opening a directory succeeds, on others it is a matter of permission.
        // A pipe without a writer would block before there is anything to say, and a device may have no end.
        let metadata = std::fs::metadata(path)?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !metadata.is_file() && !is_handed_over(path) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, NOT_REGULAR));
        }
        let file = std::fs::File::open(path)?;
        Ok(Opened { length: Some(metadata.len()), bytes: Box::new(file) })
    }
}

/// The error of a path that is no regular file.
const NOT_REGULAR: &str = "it is not a regular file (a pipe, a device or a socket)";

/// Whether `path` is a file that the caller has open, as standard input is: naming it hands its
/// contents over.
pub(crate) fn is_handed_over(path: &Path) -> bool {
    ["/dev/stdin", "/dev/fd", "/proc/self/fd"].iter().any(|open| path.starts_with(open))
}

/// Files in memory, by path; no directories.
impl Files for std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    fn open(&self, path: &Path) -> io::Result<Opened<'_>> {
        let bytes = self.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Opened { length: Some(bytes.len() as u64), bytes: Box::new(bytes.as_slice()) })
    }
}

/// Why a file cannot be read, in words.
pub(crate) fn refusal(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".into(),
        io::ErrorKind::PermissionDenied => "this user may not read the file".into(),
        io::ErrorKind::IsADirectory => "this is a directory, not a file".into(),
        io::ErrorKind::NotADirectory => "a part of the path is a file, not a directory".into(),
        _ => format!("the file cannot be read: {error}"),
    }
}

/// The text of the file at `path`, which is `what` ("a scenario").
///
/// # Errors
/// The file cannot be read, is larger than [`LARGEST`], or is no text.
pub fn read_text(files: &dyn Files, path: &Path, what: &str) -> Result<Arc<SourceText>, Diagnostics> {
    let name = path.display().to_string();
    let opened = files.open(path).map_err(|error| {
        let diagnostic = Diagnostic::of_file(&name, refusal(&error));
        match error.kind() {
            io::ErrorKind::IsADirectory => {
                diagnostic.help(format!("name {what} in it, a file ending in .toml"))
            }
            _ => diagnostic,
        }
    });
    let opened = opened.map_err(Diagnostics::from)?;
    let too_large = || {
        Diagnostic::of_file(
            &name,
            format!("the file is larger than {} MiB, which {what} never is", LARGEST >> 20),
        )
        .help("was another file meant? A trace is named by a source, in `trace`")
    };
    if opened.length.is_some_and(|length| length > LARGEST) {
        return Err(too_large().into());
    }
    let mut bytes = Vec::new();
    let mut limited = opened.bytes.take(LARGEST + 1);
    limited.read_to_end(&mut bytes).map_err(|error| Diagnostic::of_file(&name, refusal(&error)))?;
    if bytes.len() as u64 > LARGEST {
        return Err(too_large().into());
    }
    decode(name, &bytes)
}

/// `bytes` as UTF-8, with or without a byte order mark.
pub(crate) fn decode(name: String, bytes: &[u8]) -> Result<Arc<SourceText>, Diagnostics> {
    const AS_UTF8: &str = "save the file as UTF-8";
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(Diagnostic::of_file(name, "the text is in UTF-16").help(AS_UTF8).into());
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Arc::new(SourceText::new(name, text))),
        Err(error) => {
            let at = error.valid_up_to();
            let bad = bytes.get(at).copied().unwrap_or_default();
            let line = bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |end| at + end);
            // The text up to the end of that line, the bad bytes as replacement characters.
            let lossy = String::from_utf8_lossy(&bytes[..line]).into_owned();
            let source = Arc::new(SourceText::new(name, lossy));
            let place = Place::new(&source, at..at + char::REPLACEMENT_CHARACTER.len_utf8());
            Err(Diagnostic::new(place, format!("the byte {bad:#04x} is not UTF-8")).help(AS_UTF8).into())
        }
    }
}
