//! Files that a scenario names: profiles, adapters and traces, each read once; and video streams,
//! each made once.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use laxity_model::source::SourceError;
use laxity_model::source::mpeg::{Film, FilmParameters};
use laxity_model::source::trace::{self, Trace, TraceLimits, TracePosition};
use sha2::{Digest, Sha256};

use super::adapter_file::{self, AdapterFile};
use super::context::{Context, Reported};
use super::distribution::{self, Distribution};
use super::files::{Files, refusal};
use crate::diagnostic::{Diagnostic, Diagnostics, Place, SourceText, list, shown};
use crate::profile::{self, Profile};

/// Files read so far, by the name in the scenario; of files that could not be read, the reason.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shelf {
    profiles: BTreeMap<String, Result<Arc<Profile>, Diagnostics>>,
    adapters: BTreeMap<String, Result<Arc<ReadAdapter>, Diagnostics>>,
    distributions: BTreeMap<String, Result<Arc<Distribution>, Diagnostics>>,
    traces: BTreeMap<String, Result<Arc<Trace>, Diagnostics>>,
    /// Traces without headers of captured links.
    packets: BTreeMap<String, Arc<Trace>>,
    /// By their parameters in words.
    films: BTreeMap<String, Result<Arc<Trace>, SourceError>>,
    digests: Vec<[u8; 32]>,
    /// The files that were read.
    pub(crate) paths: Vec<PathBuf>,
}

/// A kind of file that scenarios name.
struct Kind<T: 'static> {
    article: &'static str,
    /// Its plural, with an `s`, is the folder where such files are looked for.
    word: &'static str,
    /// The built-in files, by name.
    built_in: &'static [(&'static str, &'static str)],
    parse: fn(&Arc<SourceText>) -> Result<T, Diagnostics>,
}

const PROFILES: Kind<Profile> =
    Kind { article: "a", word: "profile", built_in: &profile::BUILT_IN, parse: Profile::parse };

/// An adapter's file, and its text for what is laid over it.
#[derive(Debug)]
struct ReadAdapter {
    file: Arc<AdapterFile>,
    text: Arc<SourceText>,
}

const ADAPTERS: Kind<ReadAdapter> =
    Kind { article: "an", word: "adapter", built_in: &adapter_file::BUILT_IN, parse: read_adapter };

fn read_adapter(text: &Arc<SourceText>) -> Result<ReadAdapter, Diagnostics> {
    Ok(ReadAdapter { file: Arc::new(AdapterFile::parse(text)?), text: Arc::clone(text) })
}

const DISTRIBUTIONS: Kind<Distribution> = Kind {
    article: "a",
    word: "distribution",
    built_in: &distribution::BUILT_IN,
    parse: Distribution::parse,
};

/// Finds and reads what a scenario names.
pub(crate) struct Library<'a> {
    files: &'a dyn Files,
    directory: PathBuf,
    pub(crate) shelf: Shelf,
}

impl<'a> Library<'a> {
    /// For a scenario at `path`.
    pub(crate) fn new(files: &'a dyn Files, path: &Path, shelf: Shelf) -> Self {
        let directory = path.parent().unwrap_or(Path::new("")).to_path_buf();
        Self { files, directory, shelf }
    }

    /// SHA-256 over the scenario's digest and those of all files read for it, in hexadecimal: the same for
    /// the same contents, wherever the files are.
    pub(crate) fn hash(&self, scenario: &str) -> String {
        let mut digests = self.shelf.digests.clone();
        digests.sort_unstable();
        let mut all = Sha256::new();
        all.update(Sha256::digest(scenario.as_bytes()));
        digests.iter().for_each(|digest| all.update(digest));
        all.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The profile that the scenario names at `span`.
    pub(crate) fn profile(
        &mut self,
        cx: &mut Context<'_>,
        name: &str,
        span: &Range<usize>,
    ) -> Result<Arc<Profile>, Reported> {
        if !self.shelf.profiles.contains_key(name) {
            let profile = self.find(cx, name, span, &PROFILES);
            self.shelf.profiles.insert(name.to_string(), profile);
        }
        report(cx, &self.shelf.profiles[name])
    }

    /// The adapter that the scenario names at `span`.
    pub(crate) fn adapter(
        &mut self,
        cx: &mut Context<'_>,
        name: &str,
        span: &Range<usize>,
    ) -> Result<Arc<AdapterFile>, Reported> {
        self.find_adapter(cx, name, span);
        report(cx, &self.shelf.adapters[name]).map(|read| Arc::clone(&read.file))
    }

    /// The text of the adapter that the scenario names at `span`; `None` if it cannot be used,
    /// which is reported elsewhere.
    pub(crate) fn text_of_adapter(
        &mut self,
        cx: &Context<'_>,
        name: &str,
        span: &Range<usize>,
    ) -> Option<Arc<SourceText>> {
        self.find_adapter(cx, name, span);
        self.shelf.adapters[name].as_ref().ok().map(|read| Arc::clone(&read.text))
    }

    fn find_adapter(&mut self, cx: &Context<'_>, name: &str, span: &Range<usize>) {
        if !self.shelf.adapters.contains_key(name) {
            let adapter = self.find(cx, name, span, &ADAPTERS);
            self.shelf.adapters.insert(name.to_string(), adapter);
        }
    }

    /// The distribution that the scenario names at `span`.
    pub(crate) fn distribution(
        &mut self,
        cx: &mut Context<'_>,
        name: &str,
        span: &Range<usize>,
    ) -> Result<Arc<Distribution>, Reported> {
        if !self.shelf.distributions.contains_key(name) {
            let distribution = self.find(cx, name, span, &DISTRIBUTIONS);
            self.shelf.distributions.insert(name.to_string(), distribution);
        }
        report(cx, &self.shelf.distributions[name])
    }

    /// Finds and reads the file of a `kind` that is named, and remembers its digest.
    fn find<T>(
        &mut self,
        cx: &Context<'_>,
        name: &str,
        span: &Range<usize>,
        kind: &Kind<T>,
    ) -> Result<Arc<T>, Diagnostics> {
        let here = cx.place(span).label("named here");
        let source = self.named(cx, name, span, kind).map_err(|(errors, elsewhere)| match elsewhere {
            true => relate(&errors, &here),
            false => errors,
        })?;
        self.shelf.digests.push(Sha256::digest(source.text().as_bytes()).into());
        self.shelf.paths.push(PathBuf::from(source.name()));
        (kind.parse)(&source).map(Arc::new).map_err(|errors| relate(&errors, &here))
    }

    /// The text that is named, or why there is none, and whether that is said of another file.
    fn named<T>(
        &self,
        cx: &Context<'_>,
        name: &str,
        span: &Range<usize>,
        kind: &Kind<T>,
    ) -> Result<Arc<SourceText>, (Diagnostics, bool)> {
        let Kind { article, word, built_in, .. } = kind;
        let read = |path: &Path| {
            let source = super::files::read_text(self.files, path, &format!("{article} {word}"));
            source.map_err(|errors| (errors, true))
        };
        if name.ends_with(".toml") {
            return read(&self.directory.join(name));
        }
        let good = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || !name.chars().all(good) || name.starts_with('.') {
            let reason = format!("`{}` is neither {article} {word}'s name nor the path of one", shown(name));
            let help = format!(
                "valid is a name such as `\"{}\"`, or a path ending in `.toml`",
                built_in.last().map_or("", |(name, _)| name)
            );
            return Err((Diagnostic::new(cx.place(span), reason).help(help).into(), false));
        }
        let file = format!("{name}.toml");
        for path in self.places(&file, word) {
            match self.files.open(&path) {
                Ok(_) => return read(&path),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => {}
                Err(error) => {
                    let path = path.display().to_string();
                    return Err((Diagnostic::of_file(path, refusal(&error)).into(), true));
                }
            }
        }
        if let Some((_, text)) = built_in.iter().find(|(built_in, _)| *built_in == name) {
            return Ok(SourceText::built_in(word, name, text));
        }
        let beside = self.directory.join(&file);
        let reason = format!("there is no {word} `{}`", shown(name));
        let error = Diagnostic::new(cx.place(span), reason)
            .help(format!(
                "looked for {}, and for {word}s/{file} in the folder of this file and in each folder above it",
                beside.display()
            ))
            .help(format!(
                "{word}s that come with Laxity are {}",
                list(built_in.iter().map(|(name, _)| name))
            ));
        Err((error.into(), false))
    }

    /// The file for `name`, of the kind `word`; `None` if it is built in.
    pub(crate) fn file_of(&self, name: &str, word: &str) -> Option<PathBuf> {
        if name.ends_with(".toml") {
            return Some(self.directory.join(name));
        }
        let places = self.places(&format!("{name}.toml"), word);
        places.into_iter().find(|path| self.files.open(path).is_ok())
    }

    /// Where a file of a kind may be: beside the scenario, then in a folder of the kind's plural there and in
    /// every folder above.
    fn places(&self, file: &str, word: &str) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = self.directory.ancestors().map(Path::to_path_buf).collect();
        if self.directory.is_relative()
            && let Ok(here) = std::path::absolute(".")
        {
            folders.extend(here.ancestors().skip(1).map(Path::to_path_buf));
        }
        let folders = folders.into_iter().map(|folder| folder.join(format!("{word}s")).join(file));
        [self.directory.join(file)].into_iter().chain(folders).collect()
    }

    /// The trace that the scenario names at `span`; if it is `framed` again where it is sent,
    /// without headers of captured links.
    pub(crate) fn trace_for(
        &mut self,
        cx: &mut Context<'_>,
        name: &str,
        span: &Range<usize>,
        framed: bool,
    ) -> Result<Arc<Trace>, Reported> {
        let whole = self.trace(cx, name, span)?;
        if !framed {
            return Ok(whole);
        }
        let packets = self.shelf.packets.entry(name.to_string());
        Ok(packets.or_insert_with(|| whole.without_link_headers().map_or(whole, Arc::new)).clone())
    }

    /// The trace that the scenario names at `span`.
    fn trace(
        &mut self,
        cx: &mut Context<'_>,
        name: &str,
        span: &Range<usize>,
    ) -> Result<Arc<Trace>, Reported> {
        if !self.shelf.traces.contains_key(name) {
            let path = self.directory.join(name);
            let trace = self.read_trace(&path).map_err(|(at, reason, help)| {
                let path = path.display().to_string();
                let reason = format!("the trace {}{at} cannot be used: {reason}", shown(&path));
                Diagnostic::new(cx.place(span), reason).help(help).into()
            });
            let trace = trace.map(|(trace, digest)| {
                self.shelf.digests.push(digest);
                self.shelf.paths.push(path.clone());
                Arc::new(trace)
            });
            self.shelf.traces.insert(name.to_string(), trace);
        }
        report(cx, &self.shelf.traces[name])
    }

    /// The film with `parameters`; all channels that show it share it.
    pub(crate) fn film(&mut self, parameters: &FilmParameters) -> Result<Arc<Trace>, SourceError> {
        let film = self.shelf.films.entry(parameters.to_string());
        film.or_insert_with(|| known_film(parameters).map_or_else(|| parameters.film().map(Arc::new), Ok))
            .clone()
    }

    /// Reads a trace, or says where in it, why not, and what would be valid.
    fn read_trace(&self, path: &Path) -> Result<(Trace, [u8; 32]), (String, String, String)> {
        let whole =
            |error: io::Error| (String::new(), refusal(&error), "valid is the path of a trace".into());
        let opened = self.files.open(path).map_err(whole)?;
        let mut hashed =
            Hashed { bytes: opened.bytes.take(TraceLimits::DEFAULT.bytes + 1), digest: Sha256::new() };
        let name = path.display().to_string();
        let trace =
            trace::parse(&name, &mut BufReader::new(&mut hashed), TraceLimits::DEFAULT).map_err(|error| {
                let at = match error.at() {
                    TracePosition::Whole => String::new(),
                    TracePosition::Text { line, column } => format!(":{line}:{column}"),
                    TracePosition::Byte(byte) => format!(", byte {byte},"),
                };
                (at, error.reason().to_string(), format!("valid is {}", error.valid()))
            })?;
        io::copy(&mut hashed, &mut io::sink()).map_err(whole)?;
        Ok((trace, hashed.digest.finalize().into()))
    }
}

/// A reader that hashes what passes.
struct Hashed<R> {
    bytes: R,
    digest: Sha256,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(buffer)?;
        self.digest.update(&buffer[..read]);
        Ok(read)
    }
}

/// The errors of a file, each with the place that names the file.
fn relate(errors: &Diagnostics, here: &Place) -> Diagnostics {
    let mut related = Diagnostics::default();
    errors.iter().for_each(|error| related.push(error.clone().related(here.clone())));
    related
}

fn report<T>(cx: &mut Context<'_>, read: &Result<Arc<T>, Diagnostics>) -> Result<Arc<T>, Reported> {
    match read {
        Ok(value) => Ok(Arc::clone(value)),
        Err(errors) => {
            let mut last = None;
            for error in errors.iter() {
                last = Some(cx.report(error.clone()));
            }
            Err(last.expect("a failed read says why"))
        }
    }
}

/// The film of thesis Table 6.4 with `parameters`, if one is: fitting it takes longer than reading
/// its scenario, and a campaign shows the same six in many.
fn known_film(parameters: &FilmParameters) -> Option<Arc<Trace>> {
    static FILMS: [OnceLock<Arc<Trace>>; Film::ALL.len()] = [const { OnceLock::new() }; Film::ALL.len()];
    let known = Film::ALL.into_iter().position(|film| film.parameters() == *parameters)?;
    Some(FILMS[known].get_or_init(|| Arc::new(Film::ALL[known].film())).clone())
}
