//! Files as they are named on a command line: each by itself, or all that a folder has.

use std::io;
use std::path::{Path, PathBuf};

use laxity_world::text::clean;

/// The files that are meant: a folder stands for those that end in `.toml` right in it, in the
/// order of their names.
pub(crate) fn named(files: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut all = Vec::new();
    for file in files {
        if !file.is_dir() {
            // The reader of the file reports the error.
            all.push(file.clone());
            continue;
        }
        let shown = clean(&file.display().to_string());
        let (inside, folders) = of_folder(file).map_err(|error| format!("{shown}: {error}"))?;
        if inside.is_empty() {
            let advice = match folders.as_slice() {
                [] => "name a file, or a folder with some".to_string(),
                folders => format!("folders in it are {}", clean(&folders.join(", "))),
            };
            return Err(format!("{shown}: no file in this folder ends in .toml; {advice}"));
        }
        all.extend(inside);
    }
    Ok(all)
}

/// The files of a folder that end in `.toml`, and the names of the folders in it.
fn of_folder(folder: &Path) -> io::Result<(Vec<PathBuf>, Vec<String>)> {
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        match () {
            // An editor's, or the system's.
            () if name.starts_with('.') => {}
            () if path.is_dir() => folders.push(name),
            () if name.ends_with(".toml") => files.push(path),
            () => {}
        }
    }
    files.sort();
    folders.sort();
    Ok((files, folders))
}
