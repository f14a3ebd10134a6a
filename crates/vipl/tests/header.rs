//! The header says what the library has: a program in C compiles against it without a warning, and two of it exchange messages.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

use laxity_emulator::via::{Setup, serve};
use laxity_machine::place::Placement;
use laxity_model::via::{Firmware, ViaConfig};
use laxity_units::Span;

/// Compiles the program with `arguments`; false, and says so, if there is no compiler.
fn compiles(arguments: &[&str]) -> bool {
    let compiler = std::env::var("CC").unwrap_or("cc".into());
    if Command::new(&compiler).arg("--version").output().is_err() {
        println!("passed over: there is no compiler called {compiler}");
        return false;
    }
    let here = env!("CARGO_MANIFEST_DIR");
    let compiled = Command::new(&compiler)
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror"])
        .arg(format!("-I{here}/include"))
        .arg(format!("{here}/tests/uses.c"))
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

#[test]
fn a_program_in_c_compiles() {
    compiles(&["-fsyntax-only"]);
}

#[test]
fn two_programs_in_c_exchange_messages() {
    let directory = std::env::temp_dir().join(format!("laxity-vipl-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let program = directory.join("uses");
    let text = |path: &Path| path.to_str().expect("a path in text").to_string();
    let library = text(&built());
    if compiles(&["-o", &text(&program), &format!("-L{library}"), &format!("-Wl,-rpath,{library}"), "-lvipl"])
    {
        let adapter = ViaConfig::table_1(Firmware::QualityOfService);
        let setup = Setup { adapter, nodes: 2, latency: Span::from_ns(500), recorded: false };
        let service = serve(setup, &directory, Placement::default()).unwrap();
        let mut answers = Command::new(&program).arg(service.socket(1)).spawn().unwrap();
        let calls = Command::new(&program).arg(service.socket(0)).arg("call").status().unwrap();
        let answered = answers.wait().unwrap();
        assert!(calls.success() && answered.success(), "{calls}, {answered}: the number is that in uses.c");
        let served = service.stop().unwrap();
        assert_eq!((served.tally.sent, served.tally.received, served.tally.errors), (2, 2, 0));
    }
    std::fs::remove_dir_all(&directory).unwrap();
}
