//! A directory with a scenario in it, and the program run there.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A camera that keeps its deadlines, and a claim that says so.
pub(crate) const CAMERA: &str = r#"
title = "A camera"

[host]
profile = "mc68040"

[adapter]
kind = "null"
startup = "40 us"
per_byte = "50 ns"

[run]
time = "2 s"

[[channel]]
name = "camera"
class = "real_time"
max_message = "16 KiB"
burst = 2
min_interval = "40 ms"
deadline = "30 ms"
source = { kind = "periodic" }

[[claim]]
id = "on-time"
says = "The camera misses no deadline"
holds = 'runs.all(|r| r.rt.all(|c| c.missed_messages == 0))'
shows = '"it does not"'
"#;

/// A directory of the test's own, gone afterwards.
pub(crate) struct Here(pub(crate) PathBuf);

impl Here {
    /// An empty one.
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("laxity-cli-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The program with `arguments`, which have no spaces in them.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_laxity"));
        command.args(arguments.split(' ')).current_dir(&self.0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn laxity(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// What a program printed.
pub(crate) fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What a program printed beside its results.
pub(crate) fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
