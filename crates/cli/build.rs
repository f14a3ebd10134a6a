//! The commit that the program is built from, for reports to name: `LAXITY_BUILD`, or `unknown`
//! outside a repository. And the designer's WebAssembly module, compressed by gzip, if `LAXITY_MODULE`
//! names its file.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let crates = PathBuf::from("..");
    let root = crates.join("..");
    println!("cargo::rerun-if-changed={}", crates.display());
    println!("cargo::rustc-env=LAXITY_BUILD={}", build(&root).unwrap_or_else(|| "unknown".into()));
    module();
}

/// Puts the module, or an empty file, where the program includes it.
fn module() {
    println!("cargo::rerun-if-env-changed=LAXITY_MODULE");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it")).join("laxity.wasm.gz");
    let bytes = match std::env::var_os("LAXITY_MODULE") {
        Some(file) => std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())),
        None => Vec::new(),
    };
    std::fs::write(&out, bytes).unwrap_or_else(|error| panic!("{}: {error}", out.display()));
}

/// The commit, and whether what is built differs from it.
fn build(root: &Path) -> Option<String> {
    // A source archive unpacked inside another repository is not of that repository's commit.
    let top = PathBuf::from(git(root, &["rev-parse", "--show-toplevel"])?);
    if top.canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    // A commit moves the branch and is noted here; the working tree need not change with it.
    let moved = root.join(git(root, &["rev-parse", "--git-path", "logs/HEAD"])?);
    if moved.exists() {
        println!("cargo::rerun-if-changed={}", moved.display());
    }
    let commit = git(root, &["rev-parse", "--short=12", "HEAD"])?;
    let changes =
        git(root, &["status", "--porcelain", "--untracked-files=no", "--", "crates", "Cargo.lock"])?;
    Some(if changes.is_empty() { commit } else { format!("{commit} with changes") })
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_string())
}
