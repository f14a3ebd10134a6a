//! `cargo xtask release`: all that a release consists of, built into `target/release-VERSION`.
//!
//! A part that needs a program which is not here is passed over, and said.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{self, cargo, target};
use crate::{book, designer, package, python};

/// The crates that are published, each after those that it uses.
pub(crate) const PUBLISHED: [&str; 7] = [
    "laxity-units",
    "laxity-engine",
    "laxity-qos",
    "laxity-curves",
    "laxity-admission",
    "laxity-vi",
    "laxity-client",
];

/// Shells, and the file by which each finds its completions.
const SHELLS: [(&str, &str); 3] = [("bash", "laxity.bash"), ("zsh", "_laxity"), ("fish", "laxity.fish")];

/// The largest command to hand out, bytes.
const MOST: u64 = 25_000_000;

/// Builds everything, and returns where it is.
pub(crate) fn build(root: &Path) -> Result<PathBuf, String> {
    let version = version(root)?;
    let changes = changes(root, &version)?;
    let out = target(root).join(format!("release-{version}"));
    drop(fs::remove_dir_all(&out));
    let program = program(root)?;
    let bytes = fs::metadata(&program).map_err(|error| format!("{}: {error}", program.display()))?.len();
    if bytes > MOST {
        return Err(format!("{} has {bytes} B, more than {MOST} B", program.display()));
    }
    let folder = out.join(format!("laxity-{version}"));
    copy(&program, &folder.join("laxity"))?;
    for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        copy(&root.join(file), &folder.join(file))?;
    }
    copy(&root.join("packaging/laxity@.service"), &folder.join("laxity@.service"))?;
    copy_all(&shell(root), &folder)?;
    write(&out.join("CHANGES.md"), changes.as_bytes())?;
    let mut pack = Command::new("tar");
    pack.current_dir(&out).args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "-czf"]);
    pack.arg(format!("laxity-{version}.tar.gz")).arg(format!("laxity-{version}"));
    step::run(pack)?;

    let wheel = python::release(root)?;
    copy(&wheel, &out.join(wheel.file_name().expect("a wheel has a name")))?;
    match is_here("cargo-deb") {
        true => {
            package::debian(root, &out)?;
        }
        false => println!("passed over: the Debian package, since `cargo install cargo-deb` was not done"),
    }
    match book::can_build() {
        true => {
            book::build(root)?;
            copy_all(&target(root).join("book"), &out.join("book"))?;
        }
        false => println!("passed over: the book, since `cargo install mdbook` was not done"),
    }
    publishable(root)?;
    sums(&out)?;
    Ok(out)
}

/// The command to hand out, with the designer's module in it, and with its man pages and completions
/// in [`shell`].
pub(crate) fn program(root: &Path) -> Result<PathBuf, String> {
    let program = designer::build(root)?;
    shell_files(&program, &shell(root))?;
    Ok(program)
}

/// Where man pages and completions are: beside the command, which is where cargo-deb finds files.
fn shell(root: &Path) -> PathBuf {
    target(root).join("dist/shell")
}

/// Checks that the crates can be published; they are built from what would be uploaded.
fn publishable(root: &Path) -> Result<(), String> {
    of_published(cargo(root, &["publish", "--dry-run", "--allow-dirty", "--quiet"]))
}

/// Checks that the crates can be packed to be published, without the builds, which take minutes.
pub(crate) fn packable(root: &Path) -> Result<(), String> {
    of_published(cargo(root, &["package", "--no-verify", "--allow-dirty", "--quiet"]))
}

fn of_published(mut command: Command) -> Result<(), String> {
    PUBLISHED.iter().for_each(|package| {
        command.args(["--package", package]);
    });
    step::run(command)
}

/// Man pages and completions, printed by `program` into `folder`.
fn shell_files(program: &Path, folder: &Path) -> Result<(), String> {
    let printed = |arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments);
        step::printed(command)
    };
    let pages = String::from_utf8(printed(&["reference", "--man"])?).map_err(|error| error.to_string())?;
    for page in pages.split("FILE ").skip(1) {
        let (name, text) = page.split_once('\n').ok_or("a page has no name")?;
        write(&folder.join("man").join(name), text.as_bytes())?;
    }
    for (shell, file) in SHELLS {
        write(&folder.join("completions").join(file), &printed(&["completions", shell])?)?;
    }
    Ok(())
}

/// The version in `Cargo.toml`.
fn version(root: &Path) -> Result<String, String> {
    let text = fs::read_to_string(root.join("Cargo.toml")).map_err(|error| format!("Cargo.toml: {error}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    line.map(str::to_string).ok_or_else(|| "Cargo.toml has no version".into())
}

/// The section of the changelog about `version`, or else that about what is unreleased.
fn changes(root: &Path, version: &str) -> Result<String, String> {
    let text =
        fs::read_to_string(root.join("CHANGELOG.md")).map_err(|error| format!("CHANGELOG.md: {error}"))?;
    let section = |title: &str| {
        let from = text.find(&format!("\n## [{title}]"))? + 1;
        let to = text[from + 1..].find("\n## [").map_or(text.len(), |end| from + 1 + end);
        Some(text[from..to].trim_end().to_string() + "\n")
    };
    let found = section(version).or_else(|| section("Unreleased"));
    found.ok_or_else(|| format!("CHANGELOG.md has neither {version} nor Unreleased"))
}

/// SHA-256 of every file right in `folder`.
fn sums(folder: &Path) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let files = entries.flatten().filter(|entry| entry.path().is_file());
    let mut names: Vec<String> =
        files.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let mut sum = Command::new("sha256sum");
    sum.current_dir(folder).args(&names);
    write(&folder.join("SHA256SUMS"), &step::printed(sum)?)
}

fn is_here(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let made = fs::create_dir_all(to.parent().expect("a file is in a folder"));
    made.and_then(|()| fs::copy(from, to)).map(drop).map_err(|error| format!("{}: {error}", from.display()))
}

fn copy_all(from: &Path, to: &Path) -> Result<(), String> {
    for entry in fs::read_dir(from).map_err(|error| format!("{}: {error}", from.display()))?.flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() { copy_all(&path, &to)? } else { copy(&path, &to)? }
    }
    Ok(())
}

fn write(file: &Path, bytes: &[u8]) -> Result<(), String> {
    let made = fs::create_dir_all(file.parent().expect("a file is in a folder"));
    made.and_then(|()| fs::write(file, bytes)).map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changelog_has_a_section_for_this_version() {
        let root = crate::root();
        let version = version(&root).unwrap();
        assert!(changes(&root, &version).unwrap().starts_with("## ["));
        assert!(changes(&root, "99.0.0").unwrap().starts_with("## [Unreleased]"));
    }
}
