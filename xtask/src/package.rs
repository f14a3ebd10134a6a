//! `cargo xtask package`: the Debian package, and that it installs and removes cleanly.
//!
//! `cargo deb` makes the package from the metadata in crates/cli/Cargo.toml. It is installed into an
//! empty directory as the root of dpkg, so this system stays as it is.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::release;
use crate::step::{self, cargo, target};

/// Files that the package brings.
const FILES: [&str; 4] = [
    "usr/bin/laxity",
    "usr/lib/systemd/system/laxity@.service",
    "usr/share/doc/laxity/serve.md",
    "usr/share/doc/laxity/examples/camera.toml",
];

pub(crate) fn run(root: &Path) -> ExitCode {
    match make(root).and_then(|package| check(root, &package)) {
        Ok(package) => {
            println!("{}: installed and removed in a directory of its own", package.display());
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn make(root: &Path) -> Result<PathBuf, String> {
    if step::printed(cargo(root, &["deb", "--version"])).is_err() {
        return Err("`cargo deb` is not here: `cargo install cargo-deb`".to_owned());
    }
    let package = target(root).join("laxity.deb");
    release::program(root)?;
    debian(root, &package)?;
    Ok(package)
}

/// Packs what [`release::program`] made into the file or directory `out`.
pub(crate) fn debian(root: &Path, out: &Path) -> Result<(), String> {
    let mut deb = cargo(root, &["deb", "--no-build", "--profile", "dist", "--package", "laxity"]);
    deb.arg("--output").arg(out);
    step::run(deb)
}

/// Installs the package, looks at its files, and removes it.
fn check(root: &Path, package: &Path) -> Result<PathBuf, String> {
    let own = target(root).join("package-root");
    let wrong = |why: std::io::Error| format!("{}: {why}", own.display());
    if own.exists() {
        std::fs::remove_dir_all(&own).map_err(wrong)?;
    }
    for directory in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"] {
        std::fs::create_dir_all(own.join(directory)).map_err(wrong)?;
    }
    std::fs::write(own.join("var/lib/dpkg/status"), "").map_err(wrong)?;
    let dpkg = |words: &[&str]| {
        let mut command = Command::new("dpkg");
        command.arg(format!("--root={}", own.display()));
        // Packages that it depends on are not in the directory, and no script may change the root.
        command.args(["--force-depends", "--force-not-root", "--force-script-chrootless", "--log=/dev/null"]);
        command.args(words);
        step::run(command)
    };
    let path = package.to_str().ok_or("a path that is no UTF-8")?;
    dpkg(&["--install", path])?;
    for file in FILES {
        if !own.join(file).is_file() {
            return Err(format!("the package brings no {file}"));
        }
    }
    let mut version = Command::new(own.join("usr/bin/laxity"));
    version.arg("--version");
    step::printed(version)?;
    dpkg(&["--purge", "laxity"])?;
    let mut left = Vec::new();
    files(&own, &mut left).map_err(wrong)?;
    left.retain(|path| !path.starts_with(own.join("var/lib/dpkg")));
    if left.is_empty() { Ok(package.to_path_buf()) } else { Err(format!("it leaves {left:?}")) }
}

fn files(directory: &Path, all: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            files(&path, all)?;
        } else {
            all.push(path);
        }
    }
    Ok(())
}
