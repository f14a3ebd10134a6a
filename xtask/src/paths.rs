//! That documents name files which exist: the targets of links, and paths in backticks.
//!
//! A document is read long after the file that it names was renamed. A path in backticks counts as
//! one if it begins with a folder of this repository and has no placeholder.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders in which documents are not looked for.
const PASSED: [&str; 4] = ["target", "results", ".git", "node_modules"];
/// Folders that a path in backticks begins with.
const FOLDERS: [&str; 12] = [
    "crates/",
    "docs/",
    "adapters/",
    "examples/",
    "experiments/",
    "profiles/",
    "traces/",
    "distributions/",
    "dissector/",
    "fuzz/",
    "xtask/",
    ".github/",
];
/// Documents about files of the past.
const PAST: [&str; 2] = ["docs/history", "CHANGELOG.md"];

/// Checks all documents of the workspace.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let mut documents = Vec::new();
    find(root, &mut documents).map_err(|error| format!("documents: {error}"))?;
    let mut wrong = Vec::new();
    for document in documents {
        let name = document.strip_prefix(root).unwrap_or(&document).display().to_string();
        let text = fs::read_to_string(&document).map_err(|error| format!("{name}: {error}"))?;
        let beside = document.parent().unwrap_or(root);
        let past = PAST.iter().any(|past| name.starts_with(past));
        for (number, line) in prose(&text) {
            let links = targets(line).filter(|target| !beside.join(target).exists());
            let paths = quoted(line).filter(|path| !past && !root.join(path).exists());
            wrong.extend(links.chain(paths).map(|path| format!("{name}:{number}: {path} does not exist")));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

fn find(folder: &Path, documents: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !PASSED.contains(&name.as_str()) {
            find(&path, documents)?;
        } else if name.ends_with(".md") {
            documents.push(path);
        }
    }
    Ok(())
}

/// The lines outside blocks of code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut code = false;
    text.lines().enumerate().filter_map(move |(number, line)| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        (!code && !fence).then_some((number + 1, line))
    })
}

/// The files that links of `line` point to, without their anchors.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let files = targets.map(|target| target.split('#').next().unwrap_or_default());
    files.filter(|file| !file.is_empty() && !file.contains("://") && !file.starts_with("mailto:"))
}

/// The paths in backticks of `line`.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    let spans = line.split('`').enumerate().filter(|(number, _)| number % 2 == 1).map(|(_, span)| span);
    spans.filter(|span| {
        FOLDERS.iter().any(|folder| span.starts_with(folder))
            && !span.contains(['*', '<', ' ', '…', '{', ':'])
            && !span.contains("NAME")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_paths_are_found() {
        let line =
            "see [a](b.md#c), [d](https://e.f) and `crates/g/h.rs`, `crates/NAME`, `adapters/*.toml`, `i/j`";
        assert_eq!(targets(line).collect::<Vec<_>>(), ["b.md"]);
        assert_eq!(quoted(line).collect::<Vec<_>>(), ["crates/g/h.rs"]);
        let text = "one\n```sh\n`crates/no`\n```\ntwo";
        assert_eq!(prose(text).collect::<Vec<_>>(), [(1, "one"), (5, "two")]);
    }
}
