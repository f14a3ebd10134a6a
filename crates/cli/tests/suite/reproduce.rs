//! `laxity reproduce --check`: that a table is what its experiments give.

use std::fs;

use crate::common::{CAMERA, Here};

/// The experiment: its claim shows a figure, which a table can have wrong.
fn experiment() -> String {
    CAMERA.replace("'\"it does not\"'", "'runs.map(|r| r.rt[0].delivered)'")
}

/// With the experiment and its table in it.
fn here(name: &str) -> Here {
    let here = Here::new(name);
    here.write("experiments/system/camera.toml", &experiment());
    let made = here.laxity("reproduce");
    assert!(made.status.success(), "{made:?}");
    assert_eq!(here.laxity("reproduce --check").status.code(), Some(0));
    here
}

/// Asks for a check that fails; what it printed.
fn differs(here: &Here) -> String {
    let output = here.laxity("reproduce --check");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

#[test]
fn a_number_that_changed_is_shown_as_it_was_and_is() {
    let here = here("number");
    let table = "docs/reproduction.md";
    let then = here.read(table);
    let row = then.lines().find(|line| line.starts_with("| on-time |")).unwrap();
    let other = row.replace("holds | ", "holds | 9");
    here.write(table, &then.replace(row, &other));
    let said = differs(&here);
    assert!(said.contains(&format!("- {other}\n+ {row}\n")), "{said}");
    assert!(said.contains("other rows of experiments/system/camera.toml"), "{said}");
    assert_ne!(here.read(table), then, "a check writes nothing");
}

#[test]
fn experiments_that_changed_came_or_went_are_named() {
    let here = here("files");
    here.write("experiments/system/camera.toml", &experiment().replace("\"2 s\"", "\"3 s\""));
    assert!(differs(&here).contains("was made from another experiments/system/camera.toml"));
    here.write("experiments/system/camera.toml", &experiment());
    here.write("experiments/system/new.toml", &experiment());
    assert!(differs(&here).contains("has nothing of experiments/system/new.toml"));
    fs::rename(here.path("experiments/system/camera.toml"), here.path("experiments/system/other.toml"))
        .unwrap();
    assert!(differs(&here).contains("has rows of experiments/system/camera.toml, which is not there"));
}

#[test]
fn a_verdict_that_hangs_on_the_length_of_a_run_is_shown() {
    let here = Here::new("longer");
    let path = "experiments/system/camera.toml";
    here.write(path, &experiment());
    let output = here.laxity("reproduce --longer 3");
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("experiments/system/camera.toml: 1 of 1 verdicts the same 3 times as long"),
        "{said}"
    );
    assert!(!here.path("docs").exists(), "it writes nothing");
    // Fifty messages in two seconds, and as many again in each two more.
    here.write(path, &experiment().replace("c.missed_messages == 0", "c.messages < 100"));
    let output = here.laxity("reproduce --longer 3");
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("0 of 1 verdicts the same"), "{said}");
    assert!(said.contains("- on-time holds") && said.contains("+ on-time contradicted"), "{said}");
}

/// Rows of the table in this repository: those of the papers have a line of the source, those of
/// experiments that draw have their draws, and those with a range have a setting.
#[test]
fn every_row_names_its_line_its_draws_and_its_setting() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let table = fs::read_to_string(root.join("docs/reproduction.md")).unwrap();
    let groups = ["Our own:", "Of another paper:", "Real and virtual time:", "Test of the implementation:"];
    let sources = ["T", "S", "R", "Po", "V"];
    let is_line = |line: &str| {
        let number = sources.iter().find_map(|source| line.strip_prefix(source));
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    };
    let (mut rows, mut papers, mut draws) = (0, 0, false);
    for text in table.lines() {
        if let Some(file) = text.strip_prefix("<!-- experiment ") {
            let file = file.split(' ').next().unwrap();
            let scenario = fs::read_to_string(root.join(file)).unwrap();
            draws = scenario.lines().any(|line| line.starts_with("draws = "));
        }
        let Some(row) = text.strip_prefix("| ").filter(|row| !row.starts_with("claim | ")) else { continue };
        let cells: Vec<&str> = row.split(" | ").map(str::trim).collect();
        let [id, line, says, verdict, drawn, range] = cells[..6] else { panic!("{row}") };
        rows += 1;
        if !groups.iter().any(|group| says.starts_with(group)) {
            papers += 1;
            assert!(is_line(line), "{id} names no line of its source: `{line}`");
        }
        assert_eq!(drawn.contains(" of "), draws, "{id}: draws `{drawn}`");
        let set = verdict.contains(" at ") || verdict.starts_with("holds within");
        assert!(range.is_empty() || set, "{id} has a range and no setting: {verdict}");
    }
    assert!(rows > 200 && papers > 100, "{papers} of {rows} rows");
}

/// Rows of daemons stay when the experiments run again, and no experiment file is missed for them.
#[test]
fn rows_of_another_command_are_put_in_and_stay() {
    let here = here("merge");
    let rows = "<!-- system service -->\n## service\n\n### Channels\n\n\
        <!-- experiment crates/service 2026-11-27 -->\n`cargo xtask service-claims`\n\n\
        | claim | line | says | verdict | draws | range | figures |\n|---|---|---|---|---|---|---|\n\
        | N1 | T607 | Real and virtual time: x | holds |  |  | 3 |\n";
    here.write("rows.md", rows);
    assert_eq!(here.laxity("reproduce --merge rows.md").status.code(), Some(0));
    let merged = here.read("docs/reproduction.md");
    assert!(merged.contains(rows) && merged.contains("1 of 1 on real and virtual time"), "{merged}");
    assert_eq!(here.laxity("reproduce --check").status.code(), Some(0));
    assert!(here.laxity("reproduce").status.success());
    assert_eq!(here.read("docs/reproduction.md"), merged);
}
