//! The Python package against two daemons.

use std::path::Path;
use std::process::Command;

use crate::step::{self, Report, cargo};

/// Builds the module and runs its tests, if there is a Python.
pub(crate) fn check(root: &Path, report: &mut Report) {
    let version =
        Command::new("python3").args(["-c", "import sys; sys.exit(sys.version_info < (3, 9))"]).output();
    if !version.is_ok_and(|output| output.status.success()) {
        println!("== passed over: Python 3.9 or later is not here");
        return;
    }
    report.check("the Python package", || tests(root));
}

fn tests(root: &Path) -> Result<(), String> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |place| root.join(place));
    let (place, of_module) = (target.join("python"), target.join("python/package/laxity"));
    step::run(cargo(root, &["build", "--quiet", "--package", "laxity"]))?;
    let mut build = cargo(root, &["build", "--quiet", "--manifest-path", "python/Cargo.toml"]);
    build.env("CARGO_TARGET_DIR", &place);
    step::run(build)?;
    let wrong = |why: std::io::Error| format!("{}: {why}", of_module.display());
    std::fs::create_dir_all(&of_module).map_err(wrong)?;
    std::fs::copy(root.join("python/laxity/__init__.py"), of_module.join("__init__.py")).map_err(wrong)?;
    std::fs::copy(place.join("debug/lib_laxity.so"), of_module.join("_laxity.abi3.so")).map_err(wrong)?;
    let mut test = Command::new("python3");
    test.current_dir(root).arg("python/tests/test_service.py").arg(target.join("debug/laxity"));
    test.env("PYTHONPATH", place.join("package"));
    step::run(test)
}
