//! A scene as a scenario file, which `laxity run` runs to the same worst.
//!
//! The file is the one that was attacked, at the point that was attacked, with every channel by
//! itself and its source a script. It says all that admission had from sources before (the smallest
//! message, a copy's name), so that the bounds are the same; and it stands on its own wherever it
//! is put: the files that it names are named from there.

use std::fmt::Write;
use std::fs;
use std::path::{Component, Path, PathBuf};

use laxity_model::source::Arrival;
use laxity_qos::limits::MessageLimit;
use laxity_report::output::{self, FileKind};
use laxity_scenario::{PointIndex, Scenario};
use laxity_units::Span;
use laxity_world::experiment::{ChannelSpec, Experiment, SourceSpec};
use laxity_world::promise;
use laxity_world::text::clean;
use laxity_world::{Steps, conforms};
use toml::de::{DeTable, DeValue};

use super::{Found, Goal, Play, Scene, SearchPhase, TimeLimit, ground};

/// Whether a scene that was written was run once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmed {
    /// The file runs to the same worst case, or no file was requested.
    Yes,
    /// The time limit was reached before the run of the file had ended.
    TimeOver,
}

/// Why a scene could not be written down.
#[derive(Debug)]
pub enum WriteError {
    /// The written file does not run to the same worst case: an error of ours.
    Differs {
        /// The file.
        path: PathBuf,
        /// The result of the file, or why it cannot be read.
        instead: String,
    },
    /// The file cannot be written, or is not ours to replace.
    Output(output::OutputError),
}

impl From<output::OutputError> for WriteError {
    fn from(error: output::OutputError) -> Self {
        WriteError::Output(error)
    }
}

impl std::fmt::Display for WriteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WriteError::Differs { path, instead } => {
                write!(f, "{} does not show what was found: {instead}", path.display())
            }
            WriteError::Output(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for WriteError {}

/// Writes what shows `found`, of `scenario` at `point`, to `path`, and runs it once more from there
/// while `time` allows.
pub fn write(
    scenario: &Scenario,
    point: &PointIndex,
    found: &Found,
    path: &Path,
    time: TimeLimit<'_>,
) -> Result<Confirmed, WriteError> {
    let Some(scene) = &found.scene else { return Ok(Confirmed::Yes) };
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder).map_err(|error| output::OutputError::failed(path, error))?;
    let text = text(scenario, point, found, scene, folder);
    output::write(path, FileKind::Scene, &scenario.inputs(), text.as_bytes())?;
    let differs = |instead: String| WriteError::Differs { path: path.to_path_buf(), instead };
    let written = crate::load(path).map_err(|errors| differs(errors.render(false)))?;
    let only = written.points().next().expect("a scenario has a point");
    let experiment = written.experiment(&only);
    let go_on = || time.allows(SearchPhase::Confirm);
    if !go_on() {
        return Ok(Confirmed::TimeOver);
    }
    let mut steps = Steps::open(&experiment).expect("a scene is simulated");
    if !steps.finish_while(u64::MAX, &go_on) {
        return Ok(Confirmed::TimeOver);
    }
    let run = steps.close();
    let channel = &run.channels[found.channel];
    let (worst, bound) = (found.goal.worst(channel), found.goal.bound(channel));
    if worst != Some(found.worst) || bound != Some(found.bound) {
        let word = |span: Option<Span>| span.map_or("nothing".into(), |span| span.to_string());
        return Err(differs(format!(
            "it comes to {} of a bound of {}, and not to {} of {}",
            word(worst),
            word(bound),
            found.worst,
            found.bound
        )));
    }
    Ok(Confirmed::Yes)
}

/// The file as text, to be put into `folder`.
fn text(scenario: &Scenario, point: &PointIndex, found: &Found, scene: &Scene, folder: &Path) -> String {
    let experiment = ground::as_counted(scenario.experiment(point));
    let mut text = format!(
        "# Found by `laxity attack`: {} took {} of the {} that are its bound ({:.2} %).\n",
        match found.goal {
            Goal::Delivery | Goal::Sent => format!("`{}`", found.name),
            Goal::Exchange => format!("the exchange that ends with `{}`", found.name),
        },
        found.worst,
        found.bound,
        found.share() * 100.0
    );
    let at = scenario.describe(point);
    let at = if at.is_empty() { String::new() } else { format!(" at {}", clean(&at)) };
    writeln!(text, "# The experiment is {}{at}.", clean(&scenario.name)).expect("a text takes text");
    let title = format!("The worst that was found of {}: {}", found.title(), scenario.title);
    entry(&mut text, "title", &quoted(&title));
    let promises = promise::of_channels(&experiment, experiment.admission.formula);
    // A refused channel has no packets. With a source within its contract it may be admitted.
    let exceeds = |i: usize, spec: &ChannelSpec| {
        promises[i].is_refused() && !spec.source.is_answer() && !conforms(spec)
    };
    scenario.with_document(point, |document| {
        let tables = |table: bool| {
            document.iter().filter(move |(_, value)| value.get_ref().as_table().is_some() == table)
        };
        for (key, value) in tables(false).filter(|(key, _)| key.get_ref() != "channel") {
            entry(&mut text, key.get_ref(), &inline(value.get_ref()));
        }
        for (key, value) in tables(true).filter(|(key, _)| key.get_ref() != "run") {
            let table = value.get_ref().as_table().expect("it was asked for");
            writeln!(text, "\n[{}]", bare(key.get_ref())).expect("a text takes text");
            section(&mut text, key.get_ref(), table, scenario, folder);
        }
        write!(text, "\n[run]\ntime = \"{}\"\n", scene.length).expect("a text takes text");
        let channels = document.get("channel").and_then(|value| value.get_ref().as_array());
        let mut specs = experiment.channels.iter().zip(&scene.plays).enumerate().peekable();
        for written in channels.into_iter().flat_map(|array| array.iter()) {
            let Some(written) = written.get_ref().as_table() else { continue };
            let name = written.get("name").and_then(|name| name.get_ref().as_str()).unwrap_or_default();
            let own = |spec: &ChannelSpec| spec.copy.is_some() || is_copy(&spec.name, name);
            while let Some((i, (spec, play))) = specs.next_if(|(_, (spec, _))| own(spec)) {
                if spec.copy.is_none() {
                    let play = if exceeds(i, spec) { None } else { Some(play) };
                    let receivers = &experiment.channels[experiment.multicast(i)][1..];
                    channel(&mut text, &experiment, written, (spec, receivers), play);
                }
            }
        }
    });
    text
}

/// The keys of a table under a heading, with paths of files relative to `folder`.
fn section(text: &mut String, name: &str, table: &DeTable<'_>, scenario: &Scenario, folder: &Path) {
    for (key, value) in table.iter() {
        let word = match (name, key.get_ref().as_ref()) {
            ("host", "profile") => Some("profile"),
            ("adapter", "file") => Some("adapter"),
            _ => None,
        };
        let file = word.zip(value.get_ref().as_str()).and_then(|(word, name)| scenario.file_of(name, word));
        let value = file.map_or_else(|| inline(value.get_ref()), |file| quoted(&path_from(folder, &file)));
        entry(text, key.get_ref(), &value);
    }
}

/// Whether the channel `spec` is the file's channel `name`, or a copy of it.
fn is_copy(spec: &str, name: &str) -> bool {
    let copy = spec.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
    spec == name || copy.is_some_and(|copy| copy.parse::<u32>().is_ok())
}

fn channel(
    text: &mut String,
    experiment: &Experiment,
    written: &DeTable<'_>,
    (spec, receivers): (&ChannelSpec, &[ChannelSpec]),
    play: Option<&Play>,
) {
    text.push_str("\n[[channel]]\n");
    entry(text, "name", &quoted(&spec.name));
    let mut replaced = vec!["name", "count", "min_message", "limits", "source"];
    if experiment.nodes[0].name.is_some() {
        // Of nodes by one name each copy has its own.
        replaced.extend(["from", "to", "route", "receivers"]);
        let place = |station: &usize| match experiment.outlet(*station) {
            Some(outlet) => quoted(&experiment.switches[outlet.switch].name),
            None => quoted(&experiment.name(*station)),
        };
        let route = |spec: &ChannelSpec| {
            let places: Vec<String> = spec.route.iter().map(place).collect();
            format!("[{}]", places.join(", "))
        };
        entry(text, "route", &route(spec));
        let further: Vec<String> =
            receivers.iter().map(|spec| format!("{{ route = {} }}", route(spec))).collect();
        if !further.is_empty() {
            entry(text, "receivers", &format!("[{}]", further.join(", ")));
        }
    }
    for (key, value) in written.iter().filter(|(key, _)| !replaced.contains(&key.get_ref().as_ref())) {
        entry(text, key.get_ref(), &inline(value.get_ref()));
    }
    let limit = |MessageLimit { burst, min_interval }: MessageLimit| {
        format!("{{ burst = {burst}, min_interval = \"{min_interval}\" }}")
    };
    let limits: Vec<String> = spec.limits.iter().map(limit).collect();
    if !limits.is_empty() {
        entry(text, "limits", &format!("[{}]", limits.join(", ")));
    }
    entry(text, "min_message", &quoted(&spec.spec.min_message.to_string()));
    let Some(play) = play else {
        text.push_str("source = { kind = \"poisson\" }\n");
        return;
    };
    match play {
        Play::Flood(size) => {
            writeln!(text, "source = {{ kind = \"continuous\", size = \"{size}\" }}")
                .expect("a text takes text");
        }
        Play::Stream(size, interval) => {
            writeln!(
                text,
                "source = {{ kind = \"periodic\", interval = \"{interval}\", size = \"{size}\" }}"
            )
            .expect("a text takes text");
        }
        Play::Window(size, outstanding) => {
            writeln!(
                text,
                "source = {{ kind = \"closed\", size = \"{size}\", outstanding = {outstanding} }}"
            )
            .expect("a text takes text");
        }
        Play::Rounds { size, window, after } => {
            let after = quoted(&experiment.channels[*after].name);
            writeln!(
                text,
                "source = {{ kind = \"rounds\", size = \"{size}\", outstanding = {window}, after = {after} }}"
            )
            .expect("a text takes text");
        }
        Play::Script(messages) if messages.is_empty() && matches!(spec.source, SourceSpec::None) => {
            text.push_str("source = { kind = \"none\" }\n");
        }
        Play::Script(messages) => {
            text.push_str("\n[channel.source]\nkind = \"script\"\nmessages = [\n");
            for together in messages.chunk_by(|a, b| a == b) {
                let Arrival { at, size } = together[0];
                let count = together.len();
                let count = if count > 1 { format!(", count = {count}") } else { String::new() };
                writeln!(text, "  {{ at = \"{at}\", size = \"{size}\"{count} }},")
                    .expect("a text takes text");
            }
            text.push_str("]\n");
        }
    }
}

fn entry(text: &mut String, key: &str, value: &str) {
    writeln!(text, "{} = {value}", bare(key)).expect("a text takes text");
}

fn bare(key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !key.is_empty() && key.chars().all(plain) { key.to_string() } else { quoted(key) }
}

/// A TOML value on one line.
fn inline(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => quoted(text),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => number.to_string(),
            Err(_) => number.as_str().to_string(),
        },
        DeValue::Float(number) => number.as_str().to_string(),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(date) => date.to_string(),
        DeValue::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| inline(item.get_ref())).collect();
            format!("[{}]", items.join(", "))
        }
        DeValue::Table(table) => {
            let entry = |(key, value): (&serde_spanned::Spanned<std::borrow::Cow<'_, str>>, _)| {
                let value: &serde_spanned::Spanned<DeValue<'_>> = value;
                format!("{} = {}", bare(key.get_ref()), inline(value.get_ref()))
            };
            let entries: Vec<String> = table.iter().map(entry).collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}

/// `text` as a TOML string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => write!(quoted, "\\u{:04X}", u32::from(c)).expect("a text takes text"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The path of `file` from `folder`: relative where both are on one tree.
fn path_from(folder: &Path, file: &Path) -> String {
    let whole = |path: &Path| {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        fs::canonicalize(path).or_else(|_| std::path::absolute(path))
    };
    let (Ok(folder), Ok(whole_file)) = (whole(folder), whole(file)) else {
        return file.display().to_string();
    };
    let (from, to): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (folder.components().collect(), whole_file.components().collect());
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n(Component::ParentDir, from.len() - shared);
    let path: PathBuf = up.chain(to[shared..].iter().copied()).collect();
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_read_as_they_were() {
        for text in ["plain", "a \"b\" \\ c", "line\nbreak\u{7}", "µ"] {
            let document = format!("{} = {}", bare("a key"), quoted(text));
            let table: std::collections::BTreeMap<String, String> = toml::from_str(&document).unwrap();
            assert_eq!(table["a key"], text);
        }
    }

    #[test]
    fn a_file_is_named_from_where_the_scenario_is() {
        let path = path_from(Path::new("/a/results/x"), Path::new("/a/profiles/p.toml"));
        assert_eq!(path, "../../profiles/p.toml");
    }
}
