//! Files that the code generates: the scenario schema, and the references of the CLI, of claims and of words.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::step::{self, Report, cargo};

/// A generated file, and the arguments of `laxity` that print it.
const FILES: [(&str, &[&str]); 6] = [
    ("docs/schema.json", &["schema"]),
    ("docs/cli.md", &["reference"]),
    ("docs/claims.md", &["reference", "--claims"]),
    ("docs/glossary.md", &["reference", "--glossary"]),
    ("docs/coverage.md", &["reference", "--coverage"]),
    ("docs/node-file.md", &["reference", "--node"]),
];

/// Prints the pages of the scenario format, each after a line `FILE path`.
const PAGES: &[&str] = &["reference", "--scenario"];
/// Where all of those are but the index.
const SECTIONS: &str = "docs/scenario";

/// Columns of a line of prose.
const WIDTH: usize = 100;

/// Rewrites all of them.
pub(crate) fn write(root: &Path) -> Result<(), String> {
    let fresh = || cargo(root, &["run", "--quiet", "--package", "laxity", "--bin", "laxity", "--"]);
    let mut files: Vec<(String, Vec<u8>)> = pages(fresh())?;
    for page in stale(root, &files) {
        fs::remove_file(root.join(&page)).map_err(|error| format!("{page}: {error}"))?;
        println!("{page} removed");
    }
    for (file, command) in FILES {
        files.push((file.to_string(), laxity(fresh(), command)?));
    }
    for (file, now) in files {
        let path = root.join(&file);
        if fs::read(&path).is_ok_and(|then| then == now) {
            println!("{file} is current");
            continue;
        }
        let directory = path.parent().expect("generated files have a directory");
        fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        fs::write(&path, now).map_err(|error| format!("{file}: {error}"))?;
        println!("{file} written");
    }
    println!("docs/reproduction.md is written by `laxity reproduce`, which runs every experiment");
    Ok(())
}

/// Checks that all of them are current, by the program of the tests.
pub(crate) fn check(root: &Path, report: &mut Report) {
    for (file, command) in FILES {
        report.check(&format!("{file} is current"), || {
            let now = laxity(step::built(root, "laxity"), command)?;
            match fs::read(root.join(file)) {
                Ok(then) if normal(&then) == normal(&now) => Ok(()),
                Ok(_) => Err(format!("{file} is stale: run `cargo xtask generate`")),
                Err(error) => Err(format!("{file}: {error}: run `cargo xtask generate`")),
            }
        });
    }
    report.check("docs/scenario.md and its pages are current", || {
        let pages = pages(step::built(root, "laxity"))?;
        let differs = |(file, now): &&(String, Vec<u8>)| {
            fs::read(root.join(file)).map_or(true, |then| normal(&then) != normal(now))
        };
        let mut wrong = stale(root, &pages);
        wrong.extend(pages.iter().filter(differs).map(|(file, _)| file.clone()));
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(format!("{}: run `cargo xtask generate`", wrong.join(", "))),
        }
    });
}

/// The pages of the scenario format: path and text.
fn pages(program: Command) -> Result<Vec<(String, Vec<u8>)>, String> {
    let text = String::from_utf8(laxity(program, PAGES)?).map_err(|error| error.to_string())?;
    let mut pages: Vec<(String, String)> = Vec::new();
    for line in text.split_inclusive('\n') {
        match (line.strip_prefix("FILE "), pages.last_mut()) {
            (Some(file), _) => pages.push((file.trim_end().to_string(), String::new())),
            (None, Some((_, page))) => page.push_str(line),
            (None, None) => return Err(format!("no page begins with {line}")),
        }
    }
    Ok(pages.into_iter().map(|(file, page)| (file, page.into_bytes())).collect())
}

/// Pages of sections that the format no longer has.
fn stale(root: &Path, pages: &[(String, Vec<u8>)]) -> Vec<String> {
    let here = fs::read_dir(root.join(SECTIONS)).into_iter().flatten().flatten();
    let files = here.map(|entry| format!("{SECTIONS}/{}", entry.file_name().to_string_lossy()));
    files.filter(|file| !pages.iter().any(|(page, _)| page == file)).collect()
}

/// Output of `command`, which starts `laxity`.
fn laxity(mut command: Command, arguments: &[&str]) -> Result<Vec<u8>, String> {
    command.args(arguments);
    let printed = step::printed(command)?;
    if arguments.first() != Some(&"reference") {
        return Ok(printed);
    }
    let text = String::from_utf8(printed).map_err(|error| error.to_string())?;
    Ok(wrapped(&text).into_bytes())
}

/// Markdown with its paragraphs wrapped at [`WIDTH`] columns; headings, tables, lists and code stay.
fn wrapped(text: &str) -> String {
    let (mut all, mut code) = (String::with_capacity(text.len()), false);
    for line in text.lines() {
        code ^= line.starts_with("```");
        let kept = code || line.len() <= WIDTH || line.starts_with(['|', '#', '<', '-', ' ']);
        if kept {
            all.extend([line, "\n"]);
            continue;
        }
        let mut column = 0;
        for word in line.split(' ') {
            let width = word.chars().count();
            // A line that began with one of these would be a list, a table or a heading.
            let marks = matches!(word, "-" | "+" | "|" | "#");
            let breaks = column > 0 && column + 1 + width > WIDTH && !marks;
            all.push_str(match column {
                0 => "",
                _ if breaks => "\n",
                _ => " ",
            });
            column = if breaks || column == 0 { width } else { column + 1 + width };
            all.push_str(word);
        }
        all.push('\n');
    }
    all
}

/// The text without the line ends that a checkout on another system may have put in.
fn normal(text: &[u8]) -> Vec<u8> {
    text.iter().copied().filter(|byte| *byte != b'\r').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_wrapped_and_all_else_is_kept() {
        let long = vec!["word"; 50].join(" ");
        let kept = format!("# {long}\n\n| {long} |\n\n```text\n{long}\n```\n");
        assert_eq!(wrapped(&kept), kept);
        let lines = wrapped(&format!("{long}\n"));
        assert!(lines.lines().count() == 3 && lines.lines().all(|line| line.len() <= WIDTH), "{lines}");
        assert_eq!(lines.split_whitespace().count(), 50);
    }
}
