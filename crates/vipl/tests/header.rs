//! The header says what the library has: a program in C compiles against it without a warning, and two of it exchange messages.

#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use laxity_emulator::via::{Service, Setup, serve};
use laxity_machine::place::Placement;
use laxity_model::via::{Firmware, ViaConfig};
use laxity_units::Span;

/// Compiles a program with `arguments`; false, and says so, if there is no compiler.
fn compiles(source: &str, arguments: &[&str]) -> bool {
    let compiler = std::env::var("CC").unwrap_or("cc".into());
    if Command::new(&compiler).arg("--version").output().is_err() {
        println!("passed over: there is no compiler called {compiler}");
        return false;
    }
    let here = env!("CARGO_MANIFEST_DIR");
    let compiled = Command::new(&compiler)
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror"])
        .arg(format!("-I{here}/include"))
        .arg(format!("{here}/tests/{source}"))
        .args(arguments)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    true
}

/// Where the library was built, which is where tests are.
fn built() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

/// Compiles a program to run; none if there is no compiler.
fn program(source: &str, directory: &Path) -> Option<PathBuf> {
    std::fs::create_dir_all(directory).unwrap();
    let program = directory.join("program");
    let text = |path: &Path| path.to_str().expect("a path in text").to_string();
    let library = text(&built());
    let arguments =
        ["-o", &text(&program), &format!("-L{library}"), &format!("-Wl,-rpath,{library}"), "-lvipl"];
    compiles(source, &arguments).then_some(program)
}

/// The program, with the library that was built for this test and none that was built before.
fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", built());
    command
}

fn adapters(directory: &Path) -> Service {
    let adapter = ViaConfig::table_1(Firmware::QualityOfService);
    let setup =
        Setup { adapter, nodes: 2, latency: Span::from_ns(500), longest: Setup::LONGEST, recorded: false };
    serve(setup, directory, Placement::default()).unwrap()
}

#[test]
fn programs_in_c_compile() {
    compiles("uses.c", &["-fsyntax-only"]);
    compiles("tells.c", &["-fsyntax-only"]);
    compiles("asks.c", &["-fsyntax-only"]);
}

#[test]
fn two_programs_in_c_exchange_messages() {
    let directory = std::env::temp_dir().join(format!("laxity-vipl-{}", std::process::id()));
    if let Some(program) = program("uses.c", &directory) {
        let service = adapters(&directory);
        let mut answers = command(&program).arg(service.socket(1)).spawn().unwrap();
        let calls = command(&program).arg(service.socket(0)).arg("call").status().unwrap();
        let answered = answers.wait().unwrap();
        assert!(calls.success() && answered.success(), "{calls}, {answered}: the number is that in uses.c");
        let served = service.stop().unwrap();
        assert_eq!((served.tally.sent, served.tally.received, served.tally.errors), (2, 2, 0));
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn two_programs_in_c_connect_as_peers() {
    let directory = std::env::temp_dir().join(format!("laxity-vipl-peers-{}", std::process::id()));
    if let Some(program) = program("asks.c", &directory) {
        let service = adapters(&directory);
        let mut other = command(&program).arg(service.socket(1)).spawn().unwrap();
        let first = command(&program).arg(service.socket(0)).arg("first").status().unwrap();
        let other = other.wait().unwrap();
        assert!(first.success() && other.success(), "{first}, {other}: the number is that in asks.c");
        let served = service.stop().unwrap();
        assert_eq!((served.tally.sent, served.tally.received, served.tally.errors), (8, 8, 0));
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn two_programs_in_c_are_told_later() {
    let directory = std::env::temp_dir().join(format!("laxity-vipl-told-{}", std::process::id()));
    if let Some(program) = program("tells.c", &directory) {
        let service = adapters(&directory);
        let names = directory.join("names");
        std::fs::write(&names, "0 alpha\n1 beta\n").unwrap();
        let start = |node: usize, more: &[&str]| {
            let mut command = command(&program);
            command.arg(service.socket(node)).arg(&names).args(more).stdout(Stdio::piped());
            command.spawn().unwrap()
        };
        let mut programs = [start(1, &[]), start(0, &["call"])];
        for program in &mut programs {
            // It says so, or has ended by what its number says.
            let said = program.stdout.as_mut().expect("it is piped");
            BufReader::new(said).read_line(&mut String::new()).unwrap();
        }
        service.stop().unwrap();
        let ended = programs.map(|mut program| program.wait().unwrap());
        assert!(ended.iter().all(ExitStatus::success), "{ended:?}: the numbers are those in tells.c");
    }
    std::fs::remove_dir_all(&directory).unwrap();
}
