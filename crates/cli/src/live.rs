//! How an emulation stands while it runs, on standard error: a table that is redrawn, or now and then a line.

use laxity_emulator::emulate::Glance;
use laxity_units::{Span, Time};
use laxity_world::experiment::Experiment;
use laxity_world::text::clean;
use laxity_world::{Live, LiveChannel};

/// Between two drawings on a terminal, and between two lines elsewhere.
const REDRAW: Span = Span::from_ms(500);
const LINE: Span = Span::from_secs(5);

/// The table.
pub(crate) struct Table {
    term: console::Term,
    names: Vec<String>,
    /// In seconds.
    deadlines: Vec<Option<f64>>,
    last: Live,
    drawn: usize,
}

impl Table {
    pub(crate) fn new(experiment: &Experiment) -> Self {
        Self {
            term: console::Term::stderr(),
            names: experiment.channels.iter().map(|channel| clean(&channel.name)).collect(),
            deadlines: experiment.channels.iter().map(|c| c.deadline.map(Span::as_secs_f64)).collect(),
            last: Live::default(),
            drawn: 0,
        }
    }

    /// Shows `glance`, if it is time to.
    pub(crate) fn update(&mut self, glance: &Glance) {
        let live = &glance.live;
        let since = live.now.saturating_since(self.last.now);
        if since < if self.term.is_term() { REDRAW } else { LINE } {
            return;
        }
        let lines =
            if self.term.is_term() { self.table(glance, since) } else { vec![self.line(glance, since)] };
        self.clear();
        // A terminal that is gone does not stop an emulation.
        let width = self.term.size_checked().map_or(usize::MAX, |(_, columns)| usize::from(columns));
        for line in &lines {
            let _ = self.term.write_line(&line.chars().take(width.saturating_sub(1)).collect::<String>());
        }
        self.drawn = if self.term.is_term() { lines.len() } else { 0 };
        self.last = live.clone();
    }

    fn clear(&mut self) {
        let _ = self.term.clear_last_lines(std::mem::take(&mut self.drawn));
    }

    fn before(&self, i: usize) -> LiveChannel {
        self.last.channels.get(i).cloned().unwrap_or_default()
    }

    fn table(&self, glance: &Glance, since: Span) -> Vec<String> {
        let live = &glance.live;
        let widest = self.names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(7);
        let mut lines = vec![
            format!("{}", seconds(live.now)),
            format!(
                "{:widest$} {:>10} {:>10} {:>9} {:>12} {:>8} {:>10} {:>10}",
                "channel", "messages", "delivered", "lost", "Mbit/s", "missed", "worst", "deadline"
            ),
        ];
        for (i, channel) in live.channels.iter().enumerate() {
            let bits = (channel.bytes - self.before(i).bytes) as f64 * 8.0;
            lines.push(format!(
                "{:widest$} {:>10} {:>10} {:>9} {:>12.3} {:>8} {:>10} {:>10}",
                self.names[i],
                channel.messages,
                channel.delivered,
                channel.lost,
                bits / since.as_secs_f64() / 1e6,
                channel.missed,
                milliseconds(channel.worst),
                milliseconds(self.deadlines[i])
            ));
        }
        let waiting: Vec<String> =
            live.stages.iter().map(|(name, waiting)| format!("{} {waiting}", clean(name))).collect();
        lines.push(format!("waiting: {}", waiting.join(", ")));
        lines.push(late(glance));
        lines
    }

    fn line(&self, glance: &Glance, since: Span) -> String {
        let live = &glance.live;
        let sum = |of: fn(&LiveChannel) -> u64| live.channels.iter().map(of).sum::<u64>();
        let before: u64 = self.last.channels.iter().map(|channel| channel.bytes).sum();
        let rate = (sum(|channel| channel.bytes) - before) as f64 * 8.0 / since.as_secs_f64() / 1e6;
        format!(
            "{}: {} messages, {} delivered, {rate:.3} Mbit/s, {} missed; {}",
            seconds(live.now),
            sum(|channel| channel.messages),
            sum(|channel| channel.delivered),
            sum(|channel| channel.missed),
            late(glance)
        )
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.clear();
    }
}

fn seconds(now: Time) -> String {
    format!("{:.1} s", now.as_secs_f64())
}

fn milliseconds(seconds: Option<f64>) -> String {
    seconds.map_or("-".into(), |seconds| format!("{:.3} ms", seconds * 1e3))
}

fn late(glance: &Glance) -> String {
    let us = |span: Span| span.as_secs_f64() * 1e6;
    let (median, tail, most) = (us(glance.late_p50), us(glance.late_p999), us(glance.late_max));
    format!("events late by {median:.2} us (median), {tail:.1} us (99.9 %), {most:.1} us (most)")
}
