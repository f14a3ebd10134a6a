//! Output for people: results to standard output, errors and progress to standard error.
//!
//! A reader that stops reading (`| head`) is not an error and does not stop a run: the rest is on
//! disk. Colour and width are asked of each stream once, at the start.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use laxity_lab::campaign::Progress;
use laxity_report::output;
use laxity_units::Span;
use laxity_world::text::{clean, clean_lines};

use crate::Exit;

/// The two streams.
pub(crate) struct Terminal {
    out_colour: bool,
    error_colour: bool,
    /// The reader of the output has closed it.
    closed: bool,
    failed: Option<io::Error>,
}

impl Terminal {
    pub(crate) fn new() -> Self {
        let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self {
            out_colour: colours && io::stdout().is_terminal(),
            error_colour: colours && io::stderr().is_terminal(),
            closed: false,
            failed: None,
        }
    }

    /// Whether results may be coloured.
    pub(crate) fn colour(&self) -> bool {
        self.out_colour
    }

    /// Whether errors may be coloured.
    pub(crate) fn error_colour(&self) -> bool {
        self.error_colour
    }

    /// Columns of the terminal that results go to, if they go to one.
    pub(crate) fn width(&self) -> Option<u16> {
        console::Term::stdout().size_checked().map(|(_, columns)| columns)
    }

    /// Prints to standard output.
    pub(crate) fn print(&mut self, text: &str) {
        if self.closed || self.failed.is_some() {
            return;
        }
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.closed = true,
            Err(error) => self.failed = Some(error),
        }
    }

    /// Prints a line to standard output.
    pub(crate) fn line(&mut self, text: &str) {
        self.print(&format!("{text}\n"));
    }

    /// Prints an error to standard error.
    pub(crate) fn error(&self, text: &str) {
        let label = if self.error_colour { "\u{1b}[1;31merror\u{1b}[0m" } else { "error" };
        self.note(&format!("{label}: {text}"));
    }

    /// Says why a file was not written, and is the exit code for it.
    pub(crate) fn unwritten(&self, error: &output::OutputError) -> Exit {
        self.error(&clean_lines(&error.to_string()));
        match error {
            output::OutputError::Refused { .. } => Exit::BadInput,
            output::OutputError::Failed { .. } => Exit::Broken,
        }
    }

    /// Prints text as it is to standard error.
    pub(crate) fn note(&self, text: &str) {
        // Standard error is closed as well: there is no other place for the message.
        drop(writeln!(io::stderr().lock(), "{text}"));
    }

    /// `text` in the colour of a verdict.
    pub(crate) fn verdict(&self, holds: bool, text: &str) -> String {
        match (self.out_colour, holds) {
            (false, _) => text.to_string(),
            (true, true) => format!("\u{1b}[32m{text}\u{1b}[0m"),
            (true, false) => format!("\u{1b}[1;31m{text}\u{1b}[0m"),
        }
    }

    /// The exit code, once everything is printed.
    pub(crate) fn finish(self, exit: Exit) -> Exit {
        match &self.failed {
            None => exit,
            Some(error) => {
                self.error(&format!("standard output: {error}"));
                exit.max(Exit::Broken)
            }
        }
    }
}

/// A bar on standard error for work that takes longer than a second; no bar if that is no terminal.
pub(crate) struct Bar {
    bar: ProgressBar,
    /// Hangs up when the bar goes, which ends the thread that waits to show it.
    show: Option<mpsc::Sender<()>>,
    waiting: Option<thread::JoinHandle<()>>,
}

impl Bar {
    pub(crate) fn new(name: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let style =
            ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {elapsed} of about {duration}");
        bar.set_style(style.expect("the template is valid"));
        bar.set_message(clean(name));
        let (show, hidden) = mpsc::channel::<()>();
        let shown = bar.clone();
        let waiting = thread::spawn(move || {
            if hidden.recv_timeout(Duration::from_secs(1)) == Err(mpsc::RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(Duration::from_millis(500));
            }
        });
        Self { bar, show: Some(show), waiting: Some(waiting) }
    }

    pub(crate) fn update(&self, progress: Progress) {
        if progress.waiting {
            drop(writeln!(io::stderr().lock(), "{}", waiting(&self.bar.message())));
            return;
        }
        self.reach(progress.done as u64, progress.total as u64);
    }

    /// Shows `done` of `total`.
    pub(crate) fn reach(&self, done: u64, total: u64) {
        self.bar.set_length(total);
        self.bar.set_position(done);
    }

    /// Says what stands before the bar; clean text.
    pub(crate) fn say(&self, text: &str) {
        self.bar.set_message(text.to_string());
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        drop(self.show.take());
        if let Some(waiting) = self.waiting.take() {
            drop(waiting.join());
        }
        self.bar.finish_and_clear();
    }
}

/// The message while another run works for the same directory of results.
pub(crate) fn waiting(name: &str) -> String {
    format!("{name}: waiting for another run that writes to the same directory; `--out` names another")
}

/// Wall-clock time of a command.
pub(crate) struct Stopwatch(std::time::Instant);

impl Stopwatch {
    #[allow(clippy::disallowed_methods, reason = "tells a person how long it took; no result depends on it")]
    pub(crate) fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// The elapsed time.
    pub(crate) fn passed(&self) -> Span {
        Span::from_secs_f64(self.0.elapsed().as_secs_f64()).unwrap_or(Span::MAX)
    }

    /// `12.3 s`.
    pub(crate) fn read(&self) -> String {
        format!("{:.1} s", self.0.elapsed().as_secs_f64())
    }
}
