//! The Python package: a wheel, and its tests in an environment of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{self, Report, cargo};

/// Builds the wheel, installs it and runs the tests, if there is a Python.
pub(crate) fn check(root: &Path, report: &mut Report) {
    let version =
        Command::new("python3").args(["-c", "import sys; sys.exit(sys.version_info < (3, 10))"]).output();
    if !version.is_ok_and(|output| output.status.success()) {
        println!("== passed over: Python 3.10 or later is not here");
        return;
    }
    let place = target(root).join("python");
    let python = match environment(root, &place) {
        Ok(python) => python,
        // A machine without a registry; CI has one.
        Err(reason) if std::env::var_os("CI").is_none() => {
            println!("== passed over: the packages that Python's tests need cannot be had: {reason}");
            return;
        }
        Err(reason) => {
            report.check("the Python package", || Err(reason));
            return;
        }
    };
    report.check("the Python package", || tests(root, &place, &python));
}

/// Where builds go.
fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |place| root.join(place))
}

/// The Python of an environment with everything that the tests need, made if it is not there or is
/// of other requirements.
fn environment(root: &Path, place: &Path) -> Result<PathBuf, String> {
    let (venv, wanted) = (place.join("venv"), root.join("python/tests/requirements.txt"));
    let (python, had) = (venv.join("bin/python"), venv.join("requirements.txt"));
    let read = |file: &Path| fs::read(file).ok();
    if python.exists() && read(&had) == read(&wanted) {
        return Ok(python);
    }
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).arg(&venv);
    step::run(make)?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]).arg(&wanted);
    step::run(install)?;
    fs::copy(&wanted, &had).map_err(|error| format!("{}: {error}", had.display()))?;
    Ok(python)
}

/// Builds the wheel of a `profile` of cargo into `place`, and returns its file.
pub(crate) fn wheel(root: &Path, place: &Path, python: &Path, profile: &str) -> Result<PathBuf, String> {
    let wheels = place.join("wheels");
    drop(fs::remove_dir_all(&wheels));
    let mut build = Command::new(python);
    build.current_dir(root.join("python")).args(["-m", "maturin", "build", "--quiet", "--profile", profile]);
    build.arg("--out").arg(&wheels);
    build.env("CARGO_TARGET_DIR", target(root));
    step::run(build)?;
    let found = fs::read_dir(&wheels).ok().and_then(|mut entries| entries.next());
    let found = found.and_then(Result::ok).ok_or("maturin built no wheel")?;
    Ok(found.path())
}

/// The same, with an environment made for it.
pub(crate) fn release(root: &Path) -> Result<PathBuf, String> {
    let place = target(root).join("python");
    let python = environment(root, &place)?;
    wheel(root, &place, &python, "dist")
}

fn tests(root: &Path, place: &Path, python: &Path) -> Result<(), String> {
    step::run(cargo(root, &["build", "--quiet", "--package", "laxity"]))?;
    let wheel = wheel(root, place, python, "dev")?;
    let mut install = Command::new(python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    install.args(["--force-reinstall", "--no-deps"]).arg(wheel);
    step::run(install)?;
    let mut test = Command::new(python);
    test.current_dir(root.join("python/tests")).args(["-m", "unittest", "discover", "--verbose"]);
    test.env("LAXITY", target(root).join("debug/laxity"));
    test.env("MPLBACKEND", "Agg");
    step::run(test)
}
