//! A scenario file as a whole: its experiments, point by point, and what it says of their results.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use serde_spanned::Spanned;
use toml::de::DeTable;

use laxity_world::experiment::Experiment;
use laxity_world::results::{Axis, Run};

use crate::claim::{Claim, Scripts, Unread};
use crate::context::{Context, Reported, WHOLE};
use crate::diagnostic::{Diagnostic, Diagnostics, SourceText};
use crate::edits::{Edits, Laid};
use crate::figure::FigureSpec;
use crate::files::{self, Disk, Files};
use crate::library::{Library, Shelf};
use crate::raw::RawScenario;
use crate::sweep::{Change, Plan, PointIndex};
use crate::trial::{self, Trial};
use crate::tune::Tune;
use crate::{convert, document, judged, leaf, templates, tune};

/// A scenario, valid throughout.
#[derive(Debug)]
pub struct Scenario {
    /// File stem, `s5-conforming`.
    pub name: String,
    /// Subject of the experiment, one line.
    pub title: String,
    /// Origin of the experiment; may be empty.
    pub about: String,
    /// Root of every random stream, unless a sweep sets it.
    pub seed: u64,
    /// The axes of the sweep, outermost first; empty for a single run.
    pub axes: Vec<Axis>,
    /// Claims that the results must show; their scripts passed the reader of scripts.
    pub claims: Vec<Claim>,
    /// The figures to draw; empty for those that suit the results.
    pub figures: Vec<FigureSpec>,
    /// Goal of `laxity tune`.
    pub tune: Option<Tune>,
    /// SHA-256 over the file and the profiles, adapters and traces it names, hexadecimal.
    pub hash: String,
    path: PathBuf,
    laid: Laid,
    source: Arc<SourceText>,
    shelf: Shelf,
}

impl Scenario {
    /// Reads the scenario at `path` and all files that it names; `scripts` reads the scripts of its
    /// claims. For an adapter's description it reads the scenario that tries it: the one of the
    /// same name in a folder `trials` beside it, or else one that is derived from it.
    pub fn load(path: &FilePath, scripts: &dyn Scripts) -> Result<Scenario, Diagnostics> {
        Scenario::read(path, &Disk, scripts)
    }

    /// Reads the scenario at `path` of `files` and all it names there; `scripts` looks at those of
    /// its claims.
    pub fn read(path: &FilePath, files: &dyn Files, scripts: &dyn Scripts) -> Result<Scenario, Diagnostics> {
        Scenario::edited(path, files, scripts, &Edits::default())
    }

    /// The same with `edits` laid over the file, as if it had been written so.
    pub fn edited(
        path: &FilePath,
        files: &dyn Files,
        scripts: &dyn Scripts,
        edits: &Edits,
    ) -> Result<Scenario, Diagnostics> {
        let laid = Laid::new(edits)?;
        let named = files::read_text(files, path, "a scenario")?;
        let document = document::parse(&named)?;
        document::of_this_format(&named, document.get_ref())?;
        let trial = trial::of(&named, document.get_ref(), path, files)?;
        let (path, source, scenario) = match &trial {
            Some(Trial { of: _, path, source }) => (path.as_path(), source, document::parse(source)?),
            None => (path, &named, document),
        };
        let mut diagnostics = Diagnostics::default();
        let mut library = Library::new(files, path, Shelf::default());
        let cx = &mut Context::new(source, &mut diagnostics).edited(Some(laid.source()));
        let read = read(cx, &mut library, scenario, &laid, scripts);
        match read {
            Ok(read) if diagnostics.is_empty() => Ok(Scenario {
                name: path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default(),
                title: match &trial {
                    Some(Trial { of, .. }) => format!("{of}. {}", read.title),
                    None => read.title,
                },
                about: read.about,
                seed: read.seed,
                axes: read.axes,
                claims: read.claims,
                figures: read.figures,
                tune: read.tune,
                hash: match laid.source().text() {
                    "" => library.hash(source.text()),
                    edits => library.hash(&format!("{}\0{edits}", source.text())),
                },
                path: path.to_path_buf(),
                shelf: library.shelf,
                source: source.clone(),
                laid,
            }),
            _ => Err(diagnostics),
        }
    }

    /// The scenario in `text`, as if it stood in a file called `name`. It can name built-in files
    /// only, and its scripts are accepted unread.
    pub fn from_text(name: &str, text: impl AsRef<[u8]>) -> Result<Scenario, Diagnostics> {
        let file = PathBuf::from(name);
        let files = BTreeMap::from([(file.clone(), text.as_ref().to_vec())]);
        Scenario::read(&file, &files, &Unread)
    }

    /// The experiment at the first point, which is the only one of a scenario without a sweep.
    pub fn first(&self) -> Experiment {
        self.experiment(&self.points().next().expect("a scenario has a point"))
    }

    /// The points of the sweep in the order in which they are run, the last axis fastest; one for no sweep.
    pub fn points(&self) -> impl Iterator<Item = PointIndex> + use<> {
        PointIndex::all(self.axes.iter().map(|axis| axis.points.len()).collect())
    }

    /// The files it was read from: its own, and the profiles, adapters and traces it names.
    pub fn inputs(&self) -> Vec<PathBuf> {
        [&self.path].into_iter().chain(&self.shelf.paths).cloned().collect()
    }

    /// The point in words, `load = 400 KiB/s, variant = O1`; empty for no sweep.
    pub fn describe(&self, point: &PointIndex) -> String {
        point.describe(&self.axes)
    }

    /// The experiment at `point`, which must be one of [`points`](Self::points).
    pub fn experiment(&self, point: &PointIndex) -> Experiment {
        // No file is read again: all files that the scenario names are on the shelf.
        let nothing = BTreeMap::new();
        let mut library = Library::new(&nothing, &self.path, self.shelf.clone());
        let mut diagnostics = Diagnostics::default();
        let cx = &mut Context::new(&self.source, &mut diagnostics).edited(Some(self.laid.source()));
        let experiment = document::parse(&self.source).ok().and_then(|document| {
            let (_, base, plan) = plan(cx, document, &self.laid).ok()?;
            at(cx, &mut library, &base, &plan, Some(point)).ok()
        });
        let experiment = experiment
            .unwrap_or_else(|| panic!("every point was valid when the scenario was read: {diagnostics}"));
        Experiment { curves: self.figures.iter().any(|figure| figure.y.curve().is_some()), ..experiment }
    }

    /// The experiment at `point` of the file with `changes` in it, or why such a file is not valid.
    ///
    /// A change wins over a value that the sweep puts into the same place.
    pub fn changed(&self, point: &PointIndex, changes: &[Change]) -> Result<Experiment, Diagnostics> {
        let nothing = BTreeMap::new();
        let mut library = Library::new(&nothing, &self.path, self.shelf.clone());
        let mut diagnostics = Diagnostics::default();
        let cx = &mut Context::new(&self.source, &mut diagnostics).edited(Some(self.laid.source()));
        let mut values = Vec::new();
        for change in changes {
            let Some(value) = change.parsed() else {
                let reason = format!("`{}` is not a value", change.value);
                cx.fault(&WHOLE, reason, "valid is a value as a file has it");
                return Err(diagnostics);
            };
            values.push((Spanned::new(WHOLE, change.key.clone()), Spanned::new(WHOLE, value)));
        }
        let experiment = document::parse(&self.source).ok().and_then(|document| {
            let (_, base, mut plan) = plan(cx, document, &self.laid).ok()?;
            plan.change(cx, base.get_ref(), values).ok()?;
            at(cx, &mut library, &base, &plan, Some(point)).ok()
        });
        experiment.filter(|_| diagnostics.is_empty()).ok_or(diagnostics)
    }

    /// Result of `look` on the document at `point`: a file with this experiment and no other.
    pub fn with_document<R>(&self, point: &PointIndex, look: impl FnOnce(&DeTable<'_>) -> R) -> R {
        let mut diagnostics = Diagnostics::default();
        let cx = &mut Context::new(&self.source, &mut diagnostics).edited(Some(self.laid.source()));
        let nothing = BTreeMap::new();
        let mut library = Library::new(&nothing, &self.path, self.shelf.clone());
        let looked = document::parse(&self.source).ok().and_then(|document| {
            let (_, base, plan) = plan(cx, document, &self.laid).ok()?;
            plan.at(cx, &mut library, &base, Some(point), |_, _, document, _| Ok(look(document.get_ref())))
                .ok()
        });
        looked.expect("every point was valid when the scenario was read")
    }

    /// The file for the `word` (`profile`, `adapter`) called `name`; `None` for a built-in one.
    pub fn file_of(&self, name: &str, word: &str) -> Option<PathBuf> {
        Library::new(&Disk, &self.path, Shelf::default()).file_of(name, word)
    }
}

/// A scenario without its experiments.
struct Read {
    title: String,
    about: String,
    seed: u64,
    axes: Vec<Axis>,
    claims: Vec<Claim>,
    figures: Vec<FigureSpec>,
    tune: Option<Tune>,
}

/// The whole scenario's raw form, the document that points are made from, and the sweep.
type Planned<'i> = (RawScenario, Spanned<DeTable<'i>>, Plan<'i>);

fn plan<'i>(
    cx: &mut Context<'_>,
    mut document: Spanned<DeTable<'i>>,
    laid: &'i Laid,
) -> Result<Planned<'i>, Reported> {
    laid.join_axes(document.get_mut());
    let mut raw: RawScenario = document::read(cx, document.clone())?;
    let plan = Plan::new(cx, raw.sweep.take(), raw.draws.take(), document.get_ref());
    let mut base = document;
    for part in ["title", "about", "draws", "sweep", "claim", "figure", "tune"] {
        base.get_mut().remove(part);
    }
    let mut plan = plan?;
    plan.change(cx, base.get_ref(), laid.changes())?;
    plan.check_changes(cx)?;
    Ok((raw, base, plan))
}

fn at<'i>(
    cx: &mut Context<'_>,
    library: &mut Library<'_>,
    base: &Spanned<DeTable<'i>>,
    plan: &Plan<'i>,
    point: Option<&PointIndex>,
) -> Result<Experiment, Reported> {
    plan.at(cx, library, base, point, |cx, library, mut document, files| {
        templates::lay_over(document.get_mut(), files);
        let raw = document::read(cx, document)?;
        convert::experiment(cx, library, raw)
    })
}

fn read(
    cx: &mut Context<'_>,
    library: &mut Library<'_>,
    document: Spanned<DeTable<'_>>,
    laid: &Laid,
    scripts: &dyn Scripts,
) -> Result<Read, Reported> {
    let planned = plan(cx, document.clone(), laid);
    let (mut raw, base, plan) = match planned {
        Ok(planned) => planned,
        Err(reported) => {
            // The sweep is wrong; what else is can still be said, if the rest stands by itself.
            let raw: RawScenario = document::read(cx, document)?;
            let _ = beside(cx, raw, scripts);
            return Err(reported);
        }
    };
    let title = cx.required(raw.title.take(), "title", &WHOLE, "the scenario");
    let about = cx.or(raw.about.take(), String::new());
    let claims = judged::claims(cx, raw.claim.take(), Some(&plan.axes), scripts);
    let figures = judged::figures(cx, raw.figure.take(), &plan.axes);
    let tune = tune::tune(cx, raw.tune.take(), &plan.axes);
    let seed = raw.seed.take().and_then(|seed| seed.value.ok()).map_or(1, leaf::Whole::get);
    let seed = plan.changed_seed().unwrap_or(seed);
    let judged = claims.as_ref().is_ok_and(|claims| !claims.is_empty());
    let channels = every_point(cx, library, &base, &plan, judged);
    let (claims, figures, (channels, stub)) = (claims?, figures?, channels?);
    let names = judged::check_names(cx, &claims, &plan.axes, stub, scripts);
    judged::check_channels(cx, &figures, &channels)?;
    let tune = match tune? {
        Some((tune, named)) => {
            judged::check_named(cx, named.iter(), &channels)?;
            Some(tune)
        }
        None => None,
    };
    names?;
    let by_draw = plan.draws;
    let claims = claims.into_iter().map(|placed| {
        let setting = placed.claim.range.as_ref().and_then(|range| plan.setting(range));
        Claim { by_draw, setting, ..placed.claim }
    });
    let claims: Vec<Claim> = claims.collect();
    Ok(Read {
        title: title?.into_inner(),
        about: about?,
        seed,
        axes: plan.axes,
        claims,
        figures: figures.into_iter().map(|(figure, _)| figure).collect(),
        tune,
    })
}

/// Reports what is wrong with the title and the claims.
fn beside(cx: &mut Context<'_>, raw: RawScenario, scripts: &dyn Scripts) -> Result<(), Reported> {
    let title = cx.required(raw.title, "title", &WHOLE, "the scenario");
    let about = cx.optional(raw.about);
    let claims = judged::claims(cx, raw.claim, None, scripts);
    title.map(drop).and(about.map(drop)).and(claims.map(drop))
}

/// Reads every point of the sweep, and returns the names of all channels that there are at any, and
/// a stub of the results if they are `judged`.
///
/// An error that a point shares with the file without its sweep is the file's; any other is
/// reported with the first point that has it.
fn every_point(
    cx: &mut Context<'_>,
    library: &mut Library<'_>,
    base: &Spanned<DeTable<'_>>,
    plan: &Plan<'_>,
    judged: bool,
) -> Result<(Vec<String>, Vec<Run>), Reported> {
    let mut names: Vec<String> = Vec::new();
    let mut stub = Vec::new();
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut outcome = Ok(());
    let mut unswept = Diagnostics::default();
    if !plan.axes.is_empty() {
        // Wrong by itself it may be: a swept key can be left out of it.
        let raw = &mut Context::new(cx.source, &mut unswept).edited(cx.edits);
        let _ = at(raw, library, base, plan, None);
    }
    let mut seen: Vec<Diagnostic> = Vec::new();
    // The other draws differ in the seed, which is valid.
    let first_draw = |point: &PointIndex| !plan.draws || point.indices().last() == Some(&0);
    for point in plan.points().filter(first_draw) {
        let mut here = Diagnostics::default();
        let at_point = &mut Context::new(cx.source, &mut here).edited(cx.edits);
        match at(at_point, library, base, plan, Some(&point)) {
            Ok(experiment) => {
                stub.extend(judged.then(|| laxity_world::stub(&experiment, point.indices())));
                for channel in experiment.channels {
                    if known.insert(channel.name.clone()) {
                        names.push(channel.name);
                    }
                }
            }
            Err(reported) => outcome = Err(reported),
        }
        for error in here.iter().filter(|error| !seen.contains(error)).collect::<Vec<_>>() {
            seen.push(error.clone());
            let of_point = !plan.axes.is_empty() && !unswept.iter().any(|other| other == error);
            cx.report(match of_point {
                true => error.clone().note(format!("this is so at the point {}", point.describe(&plan.axes))),
                false => error.clone(),
            });
        }
        if cx.diagnostics.is_full() {
            break;
        }
    }
    outcome.map(|()| (names, stub))
}
