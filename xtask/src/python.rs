//! The Python package: its tests in an environment of their own, and its wheel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{self, Report, target};

/// Runs the tests of the module, if there is a Python.
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

/// Builds the wheel of a release, and imports the package from it.
pub(crate) fn release(root: &Path) -> Result<PathBuf, String> {
    let place = target(root).join("python");
    let (python, wheels) = (environment(root, &place)?, place.join("wheels"));
    drop(fs::remove_dir_all(&wheels));
    let mut build = Command::new(&python);
    build.current_dir(root.join("python")).args(["-m", "maturin", "build", "--quiet", "--profile", "dist"]);
    build.arg("--out").arg(&wheels).env("CARGO_TARGET_DIR", target(root));
    step::run(build)?;
    let found = fs::read_dir(&wheels).ok().and_then(|mut entries| entries.next());
    let wheel = found.and_then(Result::ok).ok_or("maturin built no wheel")?.path();
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    install.args(["--force-reinstall", "--no-deps"]).arg(&wheel);
    step::run(install)?;
    let mut import = Command::new(&python);
    import.current_dir(&place).args(["-c", "import laxity; laxity.Scenario, laxity.sweep"]);
    step::run(import)?;
    Ok(wheel)
}

/// Runs the tests with the module that cargo built beside the tests of the workspace. Any other would
/// be a build of its own, since features of dependencies are chosen for what is built together.
fn tests(root: &Path, place: &Path, python: &Path) -> Result<(), String> {
    let package = place.join("package");
    let module = package.join("laxity");
    let wrong = |why: std::io::Error| format!("{}: {why}", module.display());
    fs::create_dir_all(&module).map_err(wrong)?;
    for entry in fs::read_dir(root.join("python/laxity")).map_err(wrong)?.flatten() {
        if entry.path().is_file() {
            fs::copy(entry.path(), module.join(entry.file_name())).map_err(wrong)?;
        }
    }
    let built = target(root).join("debug");
    fs::copy(built.join("deps/lib_laxity.so"), module.join("_laxity.abi3.so")).map_err(wrong)?;
    let mut test = Command::new(python);
    test.current_dir(root.join("python/tests")).args(["-m", "unittest", "discover", "--verbose"]);
    test.env("LAXITY", built.join("laxity")).env("MPLBACKEND", "Agg").env("PYTHONPATH", package);
    step::run(test)
}
