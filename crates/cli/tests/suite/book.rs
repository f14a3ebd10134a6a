//! The book: every scenario and every command in its pages, in an empty folder for each page.
//!
//! Blocks of a page are taken in order. A block `toml,file=NAME` is written to that file. A block
//! `console` has commands after `$ ` and what each prints below it, standard error included; the
//! block's info string says `exit=N` if the last command ends with another code than 0, and `root`
//! if the commands need root and network namespaces. In an output `…` stands for any text, and a
//! line `…` for any number of lines. A block `console,elsewhere` is run by another test, because it
//! installs software or serves for ever.
//!
//! `UPDATE_BOOK=1` writes what commands print into the pages, except where it fits already.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::Here;

/// Folders of the repository that commands may name.
const FOLDERS: [&str; 4] = ["adapters", "examples", "experiments", "dissector"];

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The pages of the book, in the order of its summary.
fn pages() -> Vec<PathBuf> {
    let summary = fs::read_to_string(docs().join("SUMMARY.md")).unwrap();
    let links = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    links.filter(|link| !link.is_empty()).map(|link| docs().join(link)).collect()
}

/// A fenced block: its info string, its lines, and the number of its first line.
struct Block {
    info: String,
    lines: Vec<String>,
    at: usize,
}

impl Block {
    fn has(&self, word: &str) -> bool {
        self.info.split(',').any(|part| part == word)
    }

    fn value(&self, key: &str) -> Option<&str> {
        self.info.split(',').find_map(|part| part.strip_prefix(key)?.strip_prefix('='))
    }
}

fn blocks(text: &str) -> Vec<Block> {
    let (mut blocks, mut open): (Vec<Block>, Option<Block>) = (Vec::new(), None);
    for (number, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(info), None) => {
                open = Some(Block { info: info.into(), lines: Vec::new(), at: number + 1 });
            }
            (Some(_), Some(block)) => blocks.push(block),
            (None, Some(mut block)) => {
                block.lines.push(line.into());
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    blocks
}

/// Whether `actual` is what `expected` says, line by line.
fn fits(expected: &[String], actual: &[String]) -> bool {
    match (expected.split_first(), actual.split_first()) {
        (None, None) => true,
        (Some((line, rest)), _) if line == "…" => (0..=actual.len()).any(|n| fits(rest, &actual[n..])),
        (Some((line, rest)), Some((got, others))) => fits_line(line, got) && fits(rest, others),
        _ => false,
    }
}

fn fits_line(expected: &str, actual: &str) -> bool {
    let mut parts = expected.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = actual.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// The output of a command, and its exit code.
fn shell(here: &Here, command: &str) -> (Vec<String>, i32) {
    let laxity = Path::new(env!("CARGO_BIN_EXE_laxity"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", laxity.parent().unwrap().display());
    let script = format!("exec 2>&1\n{command}");
    let output = Command::new("sh")
        .args(["-c", &script])
        .current_dir(&here.0)
        .env("PATH", path)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (text.lines().map(|line| line.trim_end().to_string()).collect(), output.status.code().unwrap_or(-1))
}

/// Runs the commands of `block`; returns its lines with what the commands printed.
fn console(here: &Here, block: &Block, place: &str, wrong: &mut Vec<String>) -> Vec<String> {
    let mut written = Vec::new();
    let mut lines = block.lines.as_slice();
    while let Some((line, rest)) = lines.split_first() {
        let command = line.strip_prefix("$ ").unwrap_or_else(|| panic!("{place}: {line} is no command"));
        let end = rest.iter().position(|line| line.starts_with("$ ")).unwrap_or(rest.len());
        let (expected, others) = rest.split_at(end);
        lines = others;
        let (printed, code) = shell(here, command);
        let wanted = match block.value("exit") {
            Some(code) if others.is_empty() => code.parse().unwrap(),
            _ => 0,
        };
        written.push(line.clone());
        if code != wanted {
            wrong.push(format!("{place}: `{command}` ended with {code}:\n{}", printed.join("\n")));
        }
        if fits(expected, &printed) {
            written.extend_from_slice(expected);
        } else {
            wrong.push(format!("{place}: `{command}` printed\n{}", printed.join("\n")));
            written.extend(printed);
        }
    }
    written
}

/// Whether namespaces can be made.
fn is_root() -> bool {
    Command::new("ip").args(["netns", "add", "lxbook"]).output().is_ok_and(|made| made.status.success())
        && Command::new("ip").args(["netns", "del", "lxbook"]).status().is_ok_and(|gone| gone.success())
}

#[cfg(target_os = "linux")]
#[test]
fn every_command_prints_what_its_page_shows() {
    let mut wrong = Vec::new();
    let mut commands = 0;
    let root = is_root();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        let name = page.strip_prefix(docs()).unwrap().display().to_string();
        let here = Here::new(&format!("book-{}", name.replace('/', "-")));
        let blocks = blocks(&text);
        if blocks.iter().filter(|b| b.has("console")).any(|b| {
            b.lines.iter().any(|line| {
                FOLDERS.iter().any(|folder| line.starts_with("$ ") && line.contains(&format!(" {folder}")))
            })
        }) {
            for folder in FOLDERS {
                std::os::unix::fs::symlink(docs().join("..").join(folder), here.path(folder)).unwrap();
            }
        }
        let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
        for block in &blocks {
            if let Some(file) = block.value("file") {
                here.write(file, &(block.lines.join("\n") + "\n"));
            }
            let runs = block.has("console") && !block.has("elsewhere") && (root || !block.has("root"));
            if runs {
                commands += block.lines.iter().filter(|line| line.starts_with("$ ")).count();
                let written = console(&here, block, &format!("{name}:{}", block.at), &mut wrong);
                // One line for all of them, so that places of later blocks stay.
                lines[block.at] = written.join("\n");
                lines[block.at + 1..block.at + block.lines.len()].fill("\u{0}".into());
            }
        }
        if std::env::var_os("UPDATE_BOOK").is_some() {
            let kept: Vec<String> = lines.into_iter().filter(|line| line != "\u{0}").collect();
            fs::write(&page, kept.join("\n") + "\n").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(commands > 30, "{commands} commands");
}

/// Pages that are generated or read on their own are in the book too.
#[test]
fn every_page_of_the_reference_is_in_the_book() {
    let pages: Vec<PathBuf> = pages().into_iter().map(|page| page.canonicalize().unwrap()).collect();
    for folder in ["scenario", "design", "guide"] {
        for entry in fs::read_dir(docs().join(folder)).unwrap() {
            let page = entry.unwrap().path().canonicalize().unwrap();
            assert!(pages.contains(&page), "{} is not in docs/SUMMARY.md", page.display());
        }
    }
}

#[test]
fn placeholders_stand_for_any_text() {
    let lines = |text: &str| text.lines().map(str::to_string).collect::<Vec<_>>();
    let fit = |expected: &str, actual: &str| fits(&lines(expected), &lines(actual));
    assert!(fit("a … c\n…\nend", "a b c\nx\ny\nend") && fit("…", "") && fit("…x…", "axb"));
    assert!(!fit("a … c", "a b d") && !fit("a", "a\nb") && !fit("a\nb", "a") && !fit("a…a", "a"));
}
