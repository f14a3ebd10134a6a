//! Rows and columns of text for stages of adapters, applications, and timekeeping in real time.

use laxity_world::metric::Kind;
use laxity_world::results::{
    Channel, Computation, Delays, FrameResults, PlatformGap, RealTime, Results, Run, StageResults, Summary,
    Verdict,
};

use super::grid::{Column, Grid, Mark, Row, axis_columns, point_cells, point_text};
use super::units::{Format, Readable};

/// The maximum number of unfit runs that are listed one by one.
const NAMED: usize = 4;

/// Lines about the runs that precede their results, each with a flag for bad news.
///
/// They say whether the runs in real time can be judged, which runs were given up, and, if there is
/// no claim, which runs are no evidence.
pub(crate) fn fitness(results: &Results, verdicts: &[Verdict]) -> Vec<(String, bool)> {
    let mut lines = in_real_time(results);
    let several = results.runs.len() > 1;
    lines.extend(named(results.runs.iter().filter(|run| run.is_given_up()), |run| {
        let at = if several { format!(", at {}", point_text(results, run)) } else { String::new() };
        let why = match run.is_too_long() {
            true => "a run has 720 h of simulated time at most, and its `packets` take longer",
            false => "nothing came to its end any more, though much happened",
        };
        format!("given up after {:.3} s{at}: {why}", run.simulated)
    }));
    if verdicts.is_empty() {
        let silent = results.runs.iter().filter_map(|run| Some((run, run.shows_nothing()?)));
        lines.extend(named(silent, |(run, why)| {
            let at = if several { format!(" at {}", point_text(results, run)) } else { String::new() };
            format!("not judged{at}: {why}")
        }));
    }
    lines
}

/// The first of `all` in words, and how many more there are: bad news.
fn named<T>(all: impl Iterator<Item = T>, words: impl Fn(T) -> String) -> Vec<(String, bool)> {
    let mut lines: Vec<(String, bool)> = all.map(|one| (words(one), true)).collect();
    if let Some(more) = lines.len().checked_sub(NAMED).filter(|more| *more > 0) {
        lines.truncate(NAMED);
        lines.push((format!("and {more} more"), true));
    }
    lines
}

fn in_real_time(results: &Results) -> Vec<(String, bool)> {
    let real = || results.runs.iter().filter_map(|run| Some((run, &run.real_time.as_ref()?.fitness)));
    if let ([_], Some((_, fitness))) = (results.runs.as_slice(), real().next()) {
        return vec![(format!("real time: {}", fitness.words()), !fitness.is_fit())];
    }
    let unfit: Vec<_> = real().filter(|(_, fitness)| !fitness.is_fit()).collect();
    let mut lines = match (real().count(), unfit.len()) {
        (0, _) => return Vec::new(),
        (all, 0) => vec![(format!("real time: all {all} points are fit to be judged by"), false)],
        (all, some) => vec![(format!("real time: {some} of {all} points are NOT FIT to be judged by"), true)],
    };
    for (run, fitness) in unfit.iter().take(NAMED) {
        lines.push((format!("at {}: {}", point_text(results, run), fitness.words()), true));
    }
    if let Some(more) = unfit.len().checked_sub(NAMED).filter(|more| *more > 0) {
        lines.push((format!("and {more} more"), true));
    }
    lines
}

/// The source of a column: title, kind, rank, reading.
struct Field<T>(&'static str, Kind, u8, fn(&T) -> Option<f64>);

/// The rows of a run, each with its name if it has one.
type Rows<T> = Vec<(Option<String>, T)>;

fn of(summary: &Option<Summary>, read: fn(&Summary) -> f64) -> Option<f64> {
    summary.as_ref().filter(|summary| summary.count > 0).map(read)
}

const STAGES: &[Field<StageResults>] = &[
    Field("packets", Kind::Count, 2, |s| Some(s.packets as f64)),
    Field("utilisation", Kind::Share, 0, |s| Some(s.utilisation)),
    Field("longest queue", Kind::Count, 0, |s| Some(s.longest_queue as f64)),
    Field("waited mean", Kind::Time, 0, |s| of(&s.waited, |w| w.mean)),
    Field("p99", Kind::Time, 1, |s| of(&s.waited, |w| w.p99)),
    Field("max", Kind::Time, 0, |s| of(&s.waited, |w| w.max)),
    Field("served mean", Kind::Time, 0, |s| of(&s.served, |w| w.mean)),
    Field("p99", Kind::Time, 4, |s| of(&s.served, |w| w.p99)),
    Field("max", Kind::Time, 3, |s| of(&s.served, |w| w.max)),
];

const COMPUTATIONS: &[Field<Computation>] = &[
    Field("reserved", Kind::Share, 0, |c| c.budget_share),
    Field("progress", Kind::Share, 0, |c| Some(c.progress)),
    Field("budgets", Kind::Count, 1, |c| c.budget_share.map(|_| c.budgets as f64)),
    Field("late", Kind::Count, 0, |c| c.budget_share.map(|_| c.late as f64)),
    Field("deadline", Kind::Time, 2, |c| c.deadline),
    Field("response mean", Kind::Time, 3, |c| of(&c.response, |r| r.mean)),
    Field("p99", Kind::Time, 4, |c| of(&c.response, |r| r.p99)),
    Field("worst", Kind::Time, 0, |c| c.worst),
    Field("bound", Kind::Time, 0, |c| c.bound),
];

/// The value of a run in real time, if the run has one.
fn told(real: &RealTime, value: f64) -> Option<f64> {
    (!real.fitness.untold).then_some(value)
}

const REAL_TIME: &[Field<RealTime>] = &[
    Field("events", Kind::Count, 2, |r| told(r, r.events as f64)),
    Field("inputs", Kind::Count, 2, |r| told(r, r.inputs as f64)),
    Field("late median", Kind::Time, 0, |r| told(r, r.late_p50)),
    Field("p99", Kind::Time, 1, |r| told(r, r.late_p99)),
    Field("p99.9", Kind::Time, 0, |r| told(r, r.late_p999)),
    Field("max", Kind::Time, 0, |r| told(r, r.late_max)),
    Field("behind", Kind::Count, 0, |r| told(r, r.behind as f64)),
    Field("stalled", Kind::Count, 0, |r| told(r, r.stalled as f64)),
    Field("stalls total", Kind::Time, 0, |r| told(r, r.stall_total)),
    Field("longest stall", Kind::Time, 0, |r| told(r, r.stall_longest)),
];

/// The stages of described adapters, at every point.
pub(crate) fn stages(results: &Results) -> Grid {
    let rows = |run: &Run| run.stages.iter().map(|stage| (Some(stage.name.clone()), stage.clone())).collect();
    grid(results, STAGES, Some("stage"), rows)
}

/// The applications that compute, at every point.
pub(crate) fn computations(results: &Results) -> Grid {
    let rows = |run: &Run| run.computations.iter().map(|of| (Some(of.name.clone()), of.clone())).collect();
    let mut grid = grid(results, COMPUTATIONS, Some("application"), rows);
    let all = results.runs.iter().flat_map(|run| &run.computations);
    for (row, _) in
        grid.rows.iter_mut().zip(all).filter(|(_, of)| of.judged().is_some_and(|j| j.is_exceeded()))
    {
        row.mark = Mark::Broken;
    }
    grid
}

/// A time of frames that were written, if any were.
fn written((frames, _): &(FrameResults, Channel), seconds: f64) -> Option<f64> {
    (frames.written > 0).then_some(seconds)
}

/// A time of frames that were read, if any were.
fn read((frames, _): &(FrameResults, Channel), seconds: f64) -> Option<f64> {
    (frames.read > 0).then_some(seconds)
}

/// The source of the table of frames: title, kind, rank, reading.
const FRAMES: &[Field<(FrameResults, Channel)>] = &[
    Field("frames", Kind::Count, 2, |f| Some(f.0.written as f64)),
    Field("logical p50", Kind::Time, 0, |f| of(&f.1.latency, |l| l.p50)),
    Field("p99", Kind::Time, 1, |f| of(&f.1.latency, |l| l.p99)),
    Field("arrival to delivery p50", Kind::Time, 0, |f| written(f, f.0.p50)),
    Field("p99", Kind::Time, 0, |f| written(f, f.0.p99)),
    Field("max", Kind::Time, 0, |f| written(f, f.0.max)),
    Field("before, at most p50", Kind::Time, 3, |f| read(f, f.0.waited_p50)),
    Field("p99", Kind::Time, 0, |f| read(f, f.0.waited_p99)),
    Field("max", Kind::Time, 1, |f| read(f, f.0.waited_max)),
    Field("deadline", Kind::Time, 2, |f| f.1.deadline),
    Field("missed", Kind::Count, 0, |f| f.1.deadline.map(|_| f.1.missed_messages as f64)),
    Field("of contract", Kind::Share, 4, |f| f.0.of_contract),
];

const DELAYS: &[Field<Delays>] = &[
    Field("frames", Kind::Count, 2, |d| Some(d.frames as f64)),
    Field("delay too long p50", Kind::Time, 0, |d| Some(d.p50)),
    Field("p99", Kind::Time, 0, |d| Some(d.p99)),
    Field("max", Kind::Time, 0, |d| Some(d.max)),
    Field("early", Kind::Count, 0, |d| Some(d.early as f64)),
    Field("earliest", Kind::Time, 1, |d| Some(d.earliest)),
];

const GAPS: &[Field<PlatformGap>] = &[
    Field("ended at", Kind::Time, 0, |g| Some(g.at)),
    Field("length", Kind::Time, 0, |g| Some(g.length)),
    Field("while idle", Kind::Count, 0, |g| Some(f64::from(u8::from(g.idle)))),
];

/// Frames of real programs: from a message's logical arrival in the model, and from the frame's
/// actual one in real time.
pub(crate) fn frames(results: &Results) -> Grid {
    let with_channel = |run: &Run, frames: &FrameResults| {
        let channel = run.channel(&frames.channel).cloned().unwrap_or_default();
        (Some(frames.channel.clone()), (frames.clone(), channel))
    };
    let rows = |run: &Run| {
        let frames = run.real_time.iter().flat_map(|real| &real.frames);
        frames.map(|frames| with_channel(run, frames)).collect()
    };
    grid(results, FRAMES, Some("channel"), rows)
}

/// How well delays were kept.
pub(crate) fn delays(results: &Results) -> Grid {
    let rows = |run: &Run| {
        let delays = run.real_time.iter().filter_map(|real| real.delays.clone());
        delays.map(|delays| (None, delays)).collect()
    };
    grid(results, DELAYS, None, rows)
}

/// When the platform stood still longest.
pub(crate) fn gaps(results: &Results) -> Grid {
    let rows = |run: &Run| {
        let gaps = run.real_time.iter().flat_map(|real| &real.gaps);
        gaps.map(|gap| (None, gap.clone())).collect()
    };
    grid(results, GAPS, None, rows)
}

/// How well the clock was kept, at every point that ran in real time.
///
/// *behind* counts events that were late because the machine is too slow for what is emulated,
/// *stalled* those that were late because the platform stood still.
pub(crate) fn real_time(results: &Results) -> Grid {
    let rows = |run: &Run| run.real_time.iter().map(|real| (None, real.clone())).collect();
    grid(results, REAL_TIME, None, rows)
}

fn grid<T>(
    results: &Results,
    fields: &[Field<T>],
    name: Option<&str>,
    rows: impl Fn(&Run) -> Rows<T>,
) -> Grid {
    let found: Vec<(&Run, Rows<T>)> = results.runs.iter().map(|run| (run, rows(run))).collect();
    let all = || found.iter().flat_map(|(_, rows)| rows).map(|(_, row)| row);
    if all().next().is_none() {
        return Grid::default();
    }
    // Mean, p99 and max of one thing are compared along the row; how late events are spans too many
    // powers of ten.
    let waiting = |field: &&Field<T>| field.1 == Kind::Time && name.is_some();
    let times = fields.iter().filter(waiting).flat_map(|field| all().filter_map(field.3));
    let time = Kind::Time.scale(times.fold(0.0, f64::max));
    let format = |field: &Field<T>| match waiting(&field) {
        true => Format::at(field.1, time, all().filter_map(field.3), 2),
        false => Format::of(field.1, all().filter_map(field.3)),
    };
    let formats: Vec<Format> = fields.iter().map(format).collect();
    let mut columns = axis_columns(results);
    columns.extend(name.map(|name| Column { title: name.into(), unit: "", numeric: false, rank: 0 }));
    columns.extend(fields.iter().zip(&formats).map(|(field, format)| Column {
        title: field.0.into(),
        unit: format.scale.unit,
        numeric: true,
        rank: field.2,
    }));
    let mut lines = Vec::new();
    for (run, rows) in &found {
        for (i, (name, row)) in rows.iter().enumerate() {
            let mut cells = point_cells(results, run);
            cells.extend(name.clone());
            cells.extend(fields.iter().zip(&formats).map(|(field, format)| format.cell((field.3)(row))));
            lines.push(Row { cells, leads: i == 0, mark: Mark::Plain });
        }
    }
    Grid { columns, rows: lines, alike: None }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use laxity_world::results::Fitness;

    #[test]
    fn frames_that_never_came_took_no_time_at_all() {
        let mut results = sample::sweep();
        let one = FrameResults { channel: "one".into(), read: 1, written: 1, ..FrameResults::default() };
        let none = FrameResults { channel: "none".into(), ..FrameResults::default() };
        results.runs.truncate(1);
        results.runs[0].real_time = Some(RealTime { frames: vec![one, none], ..RealTime::default() });
        let grid = frames(&results);
        let longest =
            grid.columns.iter().position(|column| column.title == "arrival to delivery p50").unwrap();
        assert_ne!(grid.rows[0].cells[longest], "-");
        assert_eq!(grid.rows[1].cells[longest], "-");
    }

    #[test]
    fn what_was_not_told_of_a_platform_is_no_nought() {
        let mut results = sample::sweep();
        results.runs.truncate(1);
        results.runs[0].real_time = Some(RealTime { fitness: Fitness::untold(), ..RealTime::default() });
        let grid = real_time(&results);
        let figures =
            grid.columns.iter().zip(&grid.rows[0].cells).filter(|(column, _)| column.title.contains("late"));
        assert!(figures.clone().count() > 0 && figures.clone().all(|(_, cell)| cell == "-"), "{grid:?}");
        assert!(fitness(&results, &[])[0].0.contains("cut off"));
    }

    #[test]
    fn every_column_is_in_the_glossary() {
        fn titles<T>(table: &'static str, fields: &[Field<T>]) -> Vec<(&'static str, &'static str)> {
            fields.iter().map(|field| (table, field.0)).collect()
        }
        let mut all = titles("stages", STAGES);
        all.extend(titles("applications", COMPUTATIONS));
        all.extend(titles("real time", REAL_TIME));
        all.extend(titles("frames", FRAMES));
        all.extend(titles("delays", DELAYS));
        all.extend(titles("stops", GAPS));
        for column in all {
            let known = crate::glossary::columns();
            assert!(known.iter().any(|(table, title, _)| (*table, *title) == column), "{column:?}");
        }
    }

    #[test]
    fn fitness_is_said_of_what_ran_in_real_time_and_of_nothing_else() {
        let mut results = sample::sweep();
        for run in &mut results.runs {
            run.real_time = None;
        }
        assert!(fitness(&results, &[]).is_empty());
        let late = |latest_share| {
            let fitness = Fitness { latest: 1.0, latest_share, ..Fitness::default() };
            Some(RealTime { fitness, ..RealTime::default() })
        };
        results.runs[1].real_time = late(0.0);
        assert_eq!(
            fitness(&results, &[]),
            [("real time: all 1 points are fit to be judged by".to_string(), false)]
        );
        results.runs[0].real_time = late(0.5);
        let lines = fitness(&results, &[]);
        assert_eq!(lines[0], ("real time: 1 of 2 points are NOT FIT to be judged by".to_string(), true));
        assert!(lines.len() == 2 && lines[1].0.contains("NOT FIT for rates and means") && lines[1].1);
        results.runs.truncate(1);
        assert!(fitness(&results, &[])[0].0.starts_with("real time: NOT FIT"));
    }

    #[test]
    fn a_run_that_was_given_up_says_so() {
        let mut results = sample::sweep();
        results.runs.iter_mut().for_each(|run| run.real_time = None);
        results.runs[1].figures.insert("given_up".into(), 1.0);
        let lines = fitness(&results, &[]);
        assert!(lines.len() == 1 && lines[0].0.starts_with("given up after ") && lines[0].1, "{lines:?}");
        assert!(lines[0].0.contains(", at "), "{lines:?}");
        results.runs.swap(0, 1);
        results.runs.truncate(1);
        assert!(!fitness(&results, &[])[0].0.contains(", at "));
        assert!(!fitness(&results, &[])[0].0.contains("720 h"));
        results.runs[0].figures = [("too_long".into(), 1.0)].into();
        assert!(fitness(&results, &[])[0].0.contains("720 h"));
    }

    #[test]
    fn a_run_that_shows_nothing_says_so_where_nothing_is_claimed() {
        let mut results = sample::sweep();
        results.runs.iter_mut().for_each(|run| run.real_time = None);
        results.runs[0].channels.clear();
        let lines = fitness(&results, &[]);
        assert!(lines.len() == 1 && lines[0].0.starts_with("not judged at ") && lines[0].1, "{lines:?}");
        assert!(lines[0].0.ends_with("nothing was sent in the window"), "{lines:?}");
        assert!(fitness(&results, &sample::verdicts()).is_empty());
        results.runs.truncate(1);
        assert!(fitness(&results, &[])[0].0.starts_with("not judged: "));
    }

    #[test]
    fn only_what_ran_in_real_time_and_had_stages_has_rows() {
        let mut results = sample::sweep();
        for run in &mut results.runs {
            (run.stages, run.real_time) = (Vec::new(), None);
        }
        assert_eq!((stages(&results), real_time(&results)), (Grid::default(), Grid::default()));
        let run = &mut results.runs[1];
        let waited = Summary { count: 3, mean: 2e-6, p99: 4e-6, max: 5e-6, ..Summary::default() };
        let wire =
            StageResults { name: "wire".into(), packets: 3, waited: Some(waited), ..StageResults::default() };
        run.stages = vec![wire, StageResults { name: "dma".into(), ..StageResults::default() }];
        run.real_time = Some(RealTime { events: 9, late_p50: 1.2e-8, late_max: 3e-3, ..RealTime::default() });
        let (stages, real) = (stages(&results), real_time(&results));
        assert_eq!((stages.rows.len(), real.rows.len()), (2, 1));
        assert!(stages.rows.iter().chain(&real.rows).all(|row| !row.cells.is_empty()));
        for grid in [&stages, &real] {
            assert!(grid.rows.iter().all(|row| row.cells.len() == grid.columns.len()));
        }
        assert!(stages.rows[0].cells.contains(&"wire".to_string()));
        let waited = stages.columns.iter().position(|column| column.title == "waited mean").unwrap();
        assert_eq!((stages.columns[waited].unit, stages.rows[1].cells[waited].as_str()), ("us", "-"));
    }
}
