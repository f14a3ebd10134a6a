//! `laxity designer`: a page that edits a scenario and shows what follows, from a local server or as
//! files for any other.

mod http;

use std::fs;
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use flate2::read::GzDecoder;
use laxity_browser::page::{FILES, media_type};
use laxity_report::output;
use laxity_world::text::clean;

use crate::Exit;
use crate::arguments::Designer;
use crate::terminal::Terminal;

/// The simulator as WebAssembly, compressed by gzip: a third of the bytes. Empty if the build had none.
const MODULE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/laxity.wasm.gz"));

/// Examples beside those of the page: the scenarios of `laxity new`.
const EXAMPLES: [(&str, &str); 5] = [
    ("examples/camera.toml", include_str!("new/camera.toml")),
    ("examples/cluster.toml", include_str!("new/cluster.toml")),
    ("examples/nic.toml", include_str!("new/nic.toml")),
    ("examples/office.toml", include_str!("new/office.toml")),
    ("examples/receiver.toml", include_str!("new/receiver.toml")),
];

/// The files of the page.
struct Page {
    /// `None` if there is no module: then this program answers in its place.
    module: Option<Vec<u8>>,
}

impl Page {
    /// The file at `path` and its media type.
    fn file(&self, path: &str) -> Option<(&[u8], &'static str)> {
        let path = if path.is_empty() { "index.html" } else { path };
        if path == "laxity.wasm" {
            return Some((self.module.as_deref()?, media_type(path)));
        }
        let example = EXAMPLES.iter().find(|(name, _)| *name == path).map(|(_, text)| *text);
        let text = example.or_else(|| FILES.iter().find(|file| file.path == path).map(|file| file.text));
        Some((text?.as_bytes(), media_type(path)))
    }

    /// Every path that has a file.
    fn paths(&self) -> impl Iterator<Item = &'static str> {
        let module = self.module.as_ref().map(|_| "laxity.wasm");
        let examples = EXAMPLES.iter().map(|(path, _)| *path);
        FILES.iter().map(|file| file.path).chain(examples).chain(module)
    }
}

pub(crate) fn designer(arguments: &Designer, terminal: &mut Terminal) -> Exit {
    let module = match &arguments.module {
        None if MODULE.is_empty() => None,
        None => Some(unpacked(MODULE).expect("the build packed the module")),
        Some(file) => match fs::read(file) {
            Ok(bytes) => Some(bytes),
            Err(error) => {
                terminal.error(&format!("{}: {error}", clean(&file.display().to_string())));
                return Exit::BadInput;
            }
        },
    };
    let page = Page { module };
    match &arguments.out {
        Some(directory) => write(&page, directory, terminal),
        None => serve(page, arguments.port, terminal),
    }
}

/// The contents of a gzip file.
fn unpacked(file: &[u8]) -> io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    GzDecoder::new(file).read_to_end(&mut contents)?;
    Ok(contents)
}

/// Writes all files into `directory`.
fn write(page: &Page, directory: &Path, terminal: &mut Terminal) -> Exit {
    if page.module.is_none() {
        terminal.error(
            "this build has no WebAssembly module, which a page without `laxity designer` needs; \
             `cargo xtask designer` builds it, and `--module FILE` names it",
        );
        return Exit::BadInput;
    }
    let written = fresh(directory).and_then(|()| {
        page.paths().try_for_each(|path| {
            let (bytes, _) = page.file(path).expect("the path is of a file");
            let place = directory.join(path);
            let folder = place.parent().expect("a file is in a folder");
            fs::create_dir_all(folder)
                .and_then(|()| fs::write(&place, bytes))
                .map_err(|error| output::OutputError::failed(&place, error))
        })
    });
    match written {
        Ok(()) => {
            terminal.line(&format!("wrote {}", clean(&directory.display().to_string())));
            Exit::Holds
        }
        Err(error) => terminal.unwritten(&error),
    }
}

/// Makes `directory`, or finds it empty.
fn fresh(directory: &Path) -> Result<(), output::OutputError> {
    match fs::read_dir(directory) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(output::OutputError::refused(directory, "is not empty")),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(directory).map_err(|error| output::OutputError::failed(directory, error))
        }
        Err(error) => Err(output::OutputError::failed(directory, error)),
    }
}

/// Serves the page to browsers of this machine.
fn serve(page: Page, port: u16, terminal: &mut Terminal) -> Exit {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let (listener, port) = match listener.and_then(|at| at.local_addr().map(|own| (at, own.port()))) {
        Ok(listening) => listening,
        Err(error) => {
            terminal.error(&format!("port {port}: {error}; `--port` names another"));
            return Exit::Broken;
        }
    };
    terminal.line(&format!("designer at http://localhost:{port} until an interrupt (Ctrl-C)"));
    if page.module.is_none() {
        terminal.line("this build has no WebAssembly module: this program answers the page instead");
    }
    let page = Arc::new(page);
    for stream in listener.incoming().flatten() {
        let page = Arc::clone(&page);
        // A browser closes connections as it likes; an error concerns that connection only.
        thread::spawn(move || http::answer(&stream, port, &page).ok());
    }
    Exit::Holds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_only_examples_that_are_there() {
        let page = Page { module: None };
        let (list, _) = page.file("examples.js").unwrap();
        let list = std::str::from_utf8(list).unwrap();
        let names: Vec<&str> =
            list.split("name: \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(names.len(), EXAMPLES.len() + 1);
        for name in names {
            let (text, _) = page.file(&format!("examples/{name}.toml")).unwrap();
            let scenario = laxity_scenario::Scenario::from_text("example.toml", text);
            assert!(scenario.is_ok(), "{name}: {}", scenario.unwrap_err());
        }
        assert!(page.file("laxity.wasm").is_none() && page.file("../Cargo.toml").is_none());
        assert_eq!(page.file("").unwrap().1, "text/html; charset=utf-8");
    }

    #[test]
    fn a_module_in_the_program_is_whole() {
        assert!(MODULE.is_empty() || unpacked(MODULE).unwrap().starts_with(b"\0asm"));
    }

    #[test]
    fn a_page_is_written_once() {
        let directory = std::env::temp_dir().join(format!("laxity-designer-{}", std::process::id()));
        let page = Page { module: Some(b"module".to_vec()) };
        assert_eq!(write(&page, &directory, &mut Terminal::new()), Exit::Holds);
        assert_eq!(fs::read(directory.join("laxity.wasm")).unwrap(), b"module");
        assert!(directory.join("vendor/uplot.js").exists() && directory.join("examples/nic.toml").exists());
        assert_ne!(write(&page, &directory, &mut Terminal::new()), Exit::Holds, "it is not empty");
        fs::remove_dir_all(&directory).unwrap();
    }
}
