//! Errors of a file: the error, its place, and the valid alternatives.
//!
//! The reader answers like a compiler: every error has the file, the line, the line's text with the
//! place underlined, the reason, and the valid alternatives. All errors that can be told apart are
//! collected before any is shown. Text quoted from a file is made harmless first: a terminal must
//! not obey the text of a scenario.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use laxity_world::text::acts;
use serde::Serialize;

/// Errors kept per file: fifty errors have one cause.
pub const MOST: usize = 20;

/// A text file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceText {
    name: String,
    text: String,
}

impl SourceText {
    /// The file called `name` in messages, and its text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// The `word` ("adapter") called `name` that is built in, and its text.
    pub(crate) fn built_in(word: &str, name: &str, text: &str) -> Arc<Self> {
        Arc::new(Self::new(format!("{word}s/{name}.toml (built in)"), text))
    }

    /// Name of the file in messages: its path as the user gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its text, without a byte order mark.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line and column of the byte at `offset`, both counted from 1, the column in characters.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let before = &self.text[..self.boundary(offset)];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
    }

    /// The last character boundary at or before `offset`.
    fn boundary(&self, offset: usize) -> usize {
        let mut at = offset.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    /// `span`, on character boundaries and inside the text.
    fn clamp(&self, span: &Range<usize>) -> Range<usize> {
        let start = self.boundary(span.start);
        start..self.boundary(span.end).max(start)
    }
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    source: Arc<SourceText>,
    span: Range<usize>,
    label: String,
}

impl Place {
    /// The bytes `span` of `source`.
    pub fn new(source: &Arc<SourceText>, span: Range<usize>) -> Self {
        Self { source: Arc::clone(source), span, label: String::new() }
    }

    /// The same place with a few words beside the underline.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = harmless(&label.into());
        self
    }

    /// The file.
    pub fn source(&self) -> &Arc<SourceText> {
        &self.source
    }

    /// Bytes from the start of the file's text.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Line and column, counted from 1.
    pub fn position(&self) -> (usize, usize) {
        self.source.position(self.span.start)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.position();
        write!(f, "{}:{line}:{column}", self.source.name)
    }
}

/// Where an error is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum At {
    /// A file as a whole: it is missing, or is no text.
    File(String),
    Place(Place),
}

/// One error: place, reason, and what would be valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    at: At,
    reason: String,
    related: Vec<Place>,
    help: Vec<String>,
    note: Option<String>,
}

impl Diagnostic {
    /// An error at `place`.
    pub fn new(place: Place, reason: impl Into<String>) -> Self {
        let reason = harmless(&reason.into());
        Self { at: At::Place(place), reason, related: Vec::new(), help: Vec::new(), note: None }
    }

    /// An error of the file called `name` as a whole.
    pub fn of_file(name: impl Into<String>, reason: impl Into<String>) -> Self {
        let reason = harmless(&reason.into());
        Self {
            at: At::File(harmless(&name.into())),
            reason,
            related: Vec::new(),
            help: Vec::new(),
            note: None,
        }
    }

    /// Adds what would be valid, or what to do.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(harmless(&help.into()));
        self
    }

    /// Adds the circumstances.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(harmless(&note.into()));
        self
    }

    /// Adds a place that the error has to do with, in this file or another.
    pub fn related(mut self, place: Place) -> Self {
        self.related.push(place);
        self
    }

    /// The file the error is in.
    pub fn file(&self) -> &str {
        match &self.at {
            At::File(name) => name,
            At::Place(place) => place.source.name(),
        }
    }

    /// Where in the file, if the error has a place there.
    pub fn place(&self) -> Option<&Place> {
        match &self.at {
            At::File(_) => None,
            At::Place(place) => Some(place),
        }
    }

    /// The error.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The valid alternatives, or the remedy.
    pub fn advice(&self) -> &[String] {
        &self.help
    }

    /// The error as data.
    pub fn finding(&self) -> Finding {
        let position = |place: &Place, at: usize| {
            let (line, column) = place.source.position(at);
            Position { line, column }
        };
        let (place, file) = (self.place(), harmless(self.file()));
        Finding {
            severity: Severity::Error,
            file,
            start: place.map(|place| position(place, place.span.start)),
            end: place.map(|place| position(place, place.span.end)),
            message: self.reason.clone(),
            help: self.help.clone(),
            note: self.note.clone(),
        }
    }

    /// The error as text for a terminal, with colour or without.
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let mut group = Group::with_title(Level::ERROR.primary_title(self.reason.as_str()));
        match &self.at {
            At::File(name) => group = group.element(Origin::path(name.as_str())),
            At::Place(place) => {
                let source = &place.source;
                let near = self.related.iter().filter(|other| other.source == *source);
                let annotations = near
                    .map(|other| annotation(AnnotationKind::Context, other))
                    .chain([annotation(AnnotationKind::Primary, place)]);
                group = group.element(snippet(source).annotations(annotations));
            }
        }
        let home = self.place().map(|place| &place.source);
        for other in self.related.iter().filter(|other| Some(&other.source) != home) {
            let annotation = annotation(AnnotationKind::Context, other);
            group = group.element(snippet(&other.source).annotation(annotation));
        }
        group = group.elements(self.help.iter().map(|help| Level::HELP.message(help.as_str())));
        group = group.elements(self.note.iter().map(|note| Level::NOTE.message(note.as_str())));
        renderer.decor_style(DecorStyle::Ascii).render(&[group])
    }
}

/// An error for programs: an editor, a page, another tool. The text for people is [`Diagnostic::render`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The file it is in, as its reader was given it.
    pub file: String,
    /// Where it begins; `None` if the file as a whole is meant.
    pub start: Option<Position>,
    /// Where it ends: the position behind its last character.
    pub end: Option<Position>,
    /// The error.
    pub message: String,
    /// The valid alternatives, or the remedy.
    pub help: Vec<String>,
    /// The circumstances, if any.
    pub note: Option<String>,
}

/// How bad a finding is. A file is read or refused, so there is one answer so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The file is refused.
    Error,
}

/// A place in a text, counted from 1; columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

fn snippet(source: &SourceText) -> Snippet<'_, annotate_snippets::Annotation<'_>> {
    Snippet::source(source.text.as_str()).path(source.name.as_str())
}

fn annotation(kind: AnnotationKind, place: &Place) -> annotate_snippets::Annotation<'_> {
    let mut span = place.source.clamp(&place.span);
    // A whole table underlined line by line says less than its first line.
    if let Some(end) = place.source.text[span.clone()].find('\n') {
        span.end = span.start + end;
    }
    let annotation = kind.span(span);
    if place.label.is_empty() { annotation } else { annotation.label(place.label.as_str()) }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

/// All that is wrong with a file: at least one error once it leaves a function as an error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    more: bool,
}

impl Diagnostics {
    /// Adds an error unless the same one is known, or [`MOST`] are.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.list.contains(&diagnostic) {
            return;
        }
        if self.list.len() == MOST {
            self.more = true;
        } else {
            self.list.push(diagnostic);
        }
    }

    /// Whether no error is known.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether further errors would not be kept.
    pub fn is_full(&self) -> bool {
        self.more
    }

    /// The errors, in the order in which they were found.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// The errors as data, in the same order.
    pub fn findings(&self) -> Vec<Finding> {
        self.list.iter().map(Diagnostic::finding).collect()
    }

    /// All errors as text for a terminal, with colour or without, and how many there are.
    pub fn render(&self, colour: bool) -> String {
        let mut text: Vec<String> = self.list.iter().map(|d| d.render(colour)).collect();
        match self.list.len() {
            _ if self.more => text.push(format!("More than {MOST} errors; only the first are shown.")),
            0 | 1 => {}
            n => text.push(format!("{n} errors.")),
        }
        text.join("\n\n")
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self { list: vec![diagnostic], more: false }
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Diagnostics {}

/// `text` without characters that a terminal acts on, and not longer than a few lines.
fn harmless(text: &str) -> String {
    const LONGEST: usize = 1200;
    let mut out = String::with_capacity(text.len().min(LONGEST));
    for (count, c) in text.chars().enumerate() {
        match c {
            _ if count == LONGEST => {
                out.push('…');
                break;
            }
            c if acts(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// `text` for quoting in a message: cut where it gets long.
pub fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_string(),
    }
}

/// The candidate that `word` was probably meant to be.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let distance = strsim::damerau_levenshtein(&lower, &candidate.to_lowercase());
            let parts = |longer: &str, shorter: &str| longer.split(['_', '-']).any(|part| part == shorter);
            let related = parts(candidate, &lower) || parts(&lower, candidate);
            let close = distance * 3 <= candidate.chars().count().max(3);
            (close || related).then_some((!close, distance, candidate))
        })
        .min()
        .map(|(_, _, candidate)| candidate)
}

/// `` `a`, `b` and `c` ``.
pub fn list<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> String {
    const SHOWN: usize = 32;
    let mut words: Vec<String> =
        words.into_iter().map(|word| format!("`{}`", shown(word.as_ref()))).collect();
    let hidden = words.len().saturating_sub(SHOWN);
    if hidden > 0 {
        words.truncate(SHOWN);
        return format!("{} and {hidden} more", words.join(", "));
    }
    match words.split_last() {
        None => "none".into(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters_from_one() {
        let source = SourceText::new("a.toml", "é = 1\nb = \"ü\" x");
        assert_eq!(source.position(0), (1, 1));
        assert_eq!(source.position(3), (1, 3));
        assert_eq!(source.position(source.text().len() - 1), (2, 9));
        assert_eq!(source.position(usize::MAX), (2, 10));
    }

    #[test]
    fn quoted_text_commands_no_terminal() {
        let source = Arc::new(SourceText::new("a.toml", "a = \"\u{1b}[2J\"\n"));
        let error = Diagnostic::new(Place::new(&source, 4..9), "bad \u{1b}[2J\u{202e}").help("x\ny");
        assert!(!error.render(false).contains(['\u{1b}', '\u{202e}']), "{error}");
    }

    #[test]
    fn the_nearest_word_is_found() {
        let words = ["deadline", "min_interval", "max_message", "rate"];
        assert_eq!(nearest("dedline", words), Some("deadline"));
        assert_eq!(nearest("interval", words), Some("min_interval"));
        assert_eq!(nearest("Rate", words), Some("rate"));
        assert_eq!(nearest("colour", words), None);
    }

    #[test]
    fn errors_beyond_the_most_are_counted_and_not_kept() {
        let mut all = Diagnostics::default();
        for n in 0..50 {
            all.push(Diagnostic::of_file("a.toml", n.to_string()));
            all.push(Diagnostic::of_file("a.toml", n.to_string()));
        }
        assert_eq!(all.iter().count(), MOST);
        assert!(all.to_string().contains("More than 20"));
    }

    #[test]
    fn an_error_is_data_as_well() {
        let source = Arc::new(SourceText::new("a.toml", "title = 1\nrun = \"é\" # 2\n"));
        let place = Place::new(&source, 16..20);
        let all = Diagnostics::from(Diagnostic::new(place, "bad").help("worse").note("so"));
        let json = serde_json::to_value(all.findings()).unwrap();
        let expected = serde_json::json!([{
            "severity": "error", "file": "a.toml", "message": "bad", "help": ["worse"], "note": "so",
            "start": { "line": 2, "column": 7 }, "end": { "line": 2, "column": 10 },
        }]);
        assert_eq!(json, expected);
        let whole = Diagnostic::of_file("b.toml", "gone").finding();
        assert_eq!((whole.file.as_str(), whole.start, whole.end), ("b.toml", None, None));
    }
}
