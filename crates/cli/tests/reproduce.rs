//! `laxity reproduce --check`: that a table is what its experiments give.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const EXPERIMENT: &str = r#"
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
id = "one"
says = "The camera misses no deadline"
holds = 'runs.all(|r| r.rt.all(|c| c.missed_messages == 0))'
shows = 'runs.map(|r| r.rt[0].delivered)'
"#;

/// A directory with an experiment and its table in it, gone afterwards.
struct Here(PathBuf);

impl Here {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("laxity-reproduce-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(path.join("experiments/system")).unwrap();
        let here = Self(path);
        here.write("experiments/system/camera.toml", EXPERIMENT);
        let made = here.laxity(&["reproduce"]);
        assert!(made.status.success(), "{made:?}");
        assert_eq!(here.laxity(&["reproduce", "--check"]).status.code(), Some(0));
        here
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn laxity(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_laxity"));
        command.args(arguments).current_dir(&self.0).stdin(Stdio::null()).output().unwrap()
    }

    /// Asks for a check that fails; what it printed.
    fn differs(&self) -> String {
        let output = self.laxity(&["reproduce", "--check"]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_number_that_changed_is_shown_as_it_was_and_is() {
    let here = Here::new("number");
    let table = here.path("docs/reproduction.md");
    let then = read(&table);
    let row = then.lines().find(|line| line.starts_with("| one |")).unwrap();
    let other = row.replace("holds | ", "holds | 9");
    fs::write(&table, then.replace(row, &other)).unwrap();
    let said = here.differs();
    assert!(said.contains(&format!("- {other}\n+ {row}\n")), "{said}");
    assert!(said.contains("other rows of experiments/system/camera.toml"), "{said}");
    assert_ne!(read(&table), then, "a check writes nothing");
}

#[test]
fn experiments_that_changed_came_or_went_are_named() {
    let here = Here::new("files");
    here.write("experiments/system/camera.toml", &EXPERIMENT.replace("\"2 s\"", "\"3 s\""));
    assert!(here.differs().contains("was made from another experiments/system/camera.toml"));
    here.write("experiments/system/camera.toml", EXPERIMENT);
    here.write("experiments/system/new.toml", EXPERIMENT);
    assert!(here.differs().contains("has nothing of experiments/system/new.toml"));
    fs::rename(here.path("experiments/system/camera.toml"), here.path("experiments/system/other.toml"))
        .unwrap();
    assert!(here.differs().contains("has rows of experiments/system/camera.toml, which is not there"));
}
