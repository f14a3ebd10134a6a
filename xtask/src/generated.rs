//! Files that the code generates: the scenario schema, and the references of the CLI, of claims and of words.

use std::fs;
use std::path::Path;

use crate::step::{self, Report, cargo};

/// A generated file, and the arguments of `laxity` that print it.
const FILES: [(&str, &[&str]); 4] = [
    ("docs/schema.json", &["schema"]),
    ("docs/cli.md", &["reference"]),
    ("docs/claims.md", &["reference", "--claims"]),
    ("docs/glossary.md", &["reference", "--glossary"]),
];

/// Rewrites all of them.
pub(crate) fn write(root: &Path) -> Result<(), String> {
    for (file, command) in FILES {
        let path = root.join(file);
        let now = laxity(root, command)?;
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

/// Checks that all of them are current.
pub(crate) fn check(root: &Path, report: &mut Report) {
    for (file, command) in FILES {
        report.check(&format!("{file} is current"), || {
            let now = laxity(root, command)?;
            match fs::read(root.join(file)) {
                Ok(then) if normal(&then) == normal(&now) => Ok(()),
                Ok(_) => Err(format!("{file} is stale: run `cargo xtask generate`")),
                Err(error) => Err(format!("{file}: {error}: run `cargo xtask generate`")),
            }
        });
    }
}

/// What `laxity` prints.
fn laxity(root: &Path, arguments: &[&str]) -> Result<Vec<u8>, String> {
    let mut command = cargo(root, &["run", "--quiet", "--package", "laxity", "--bin", "laxity", "--"]);
    command.args(arguments);
    step::printed(command)
}

/// The text without the line ends that a checkout on another system may have put in.
fn normal(text: &[u8]) -> Vec<u8> {
    text.iter().copied().filter(|byte| *byte != b'\r').collect()
}
