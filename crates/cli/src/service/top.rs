//! `laxity top` at a terminal: channels with their laxity, reservations of links, stops and misses.

use std::time::Duration;

use laxity_client::{Client, Error, Event, NodeStatus};
use laxity_world::text::clean;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event as Input, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::Stylize;
use ratatui::text::Text;
use ratatui::widgets::{Block, Cell, LineGauge, Row, Table};

use crate::Exit;
use crate::service::show::{bound, headline, here};
use crate::service::span;
use crate::terminal::Stopwatch;

/// From one look at the keyboard to the next.
const KEYS: Duration = Duration::from_millis(100);
/// Stops that are shown.
const STOPS: usize = 4;

/// Shows the node until `q`, or `left` views.
pub(crate) fn live(client: &Client, every: Duration, left: Option<u64>) -> Result<Exit, Error> {
    let mut terminal = ratatui::try_init()?;
    let ended = views(client, every, left, &mut |status, first| {
        terminal.draw(|frame| view(frame, status, first)).map(drop).map_err(Error::from)
    });
    ratatui::restore();
    ended
}

fn views(
    client: &Client,
    every: Duration,
    mut left: Option<u64>,
    draw: &mut dyn FnMut(&NodeStatus, usize) -> Result<(), Error>,
) -> Result<Exit, Error> {
    let mut first = 0_usize;
    while left != Some(0) {
        let status = client.status()?;
        let watch = Stopwatch::start();
        loop {
            draw(&status, first)?;
            if matches!(client.event(Duration::ZERO), Some(Event::Stopping)) {
                return Err(Error::Disconnected);
            }
            if event::poll(KEYS.min(every))? {
                match event::read()? {
                    Input::Key(key) if key.kind == KeyEventKind::Press => match key.code {
                        KeyCode::Char('q') | KeyCode::Esc => return Ok(Exit::Holds),
                        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                            return Ok(Exit::Holds);
                        }
                        KeyCode::Down => first = (first + 1).min(status.rows.len().saturating_sub(1)),
                        KeyCode::Up => first = first.saturating_sub(1),
                        _ => {}
                    },
                    _ => {}
                }
            }
            if watch.passed().as_secs_f64() >= every.as_secs_f64() {
                break;
            }
        }
        left = left.map(|left| left - 1);
    }
    Ok(Exit::Holds)
}

/// Draws a state, with the channels from the row `first` on.
fn view(frame: &mut Frame<'_>, status: &NodeStatus, first: usize) {
    let gauges = status.links.len() as u16 + 1;
    let stops = status.stalls.len().min(STOPS) as u16;
    let parts = [
        Constraint::Length(1),
        Constraint::Length(gauges + 2),
        Constraint::Min(4),
        Constraint::Length(if stops > 0 { stops + 2 } else { 0 }),
        Constraint::Length(1),
    ];
    let [head, reserved, channels, stopped, help] = Layout::vertical(parts).areas(frame.area());
    frame.render_widget(Text::from(headline(status)), head);
    draw_reserved(frame, status, reserved);
    frame.render_widget(table(status, first), channels);
    if stops > 0 {
        let line = |(at, length): &(u64, u64)| format!("{} at {} after the start", span(*length), span(*at));
        let lines: Vec<String> = status.stalls.iter().take(STOPS).map(line).collect();
        let block = Block::bordered().title("last stops of the platform");
        frame.render_widget(Text::from(lines.join("\n")), block.inner(stopped));
        frame.render_widget(block, stopped);
    }
    frame.render_widget(Text::from("q ends, arrows move").dim(), help);
}

/// The reserved parts of the links and of the processor.
fn draw_reserved(frame: &mut Frame<'_>, status: &NodeStatus, area: Rect) {
    let block = Block::bordered().title("reserved");
    let link =
        |(peer, up, share): &(String, bool, u32)| (clean(peer), *share, if *up { "" } else { ", down" });
    let processor = ("processor".to_owned(), status.processor, "");
    let gauges: Vec<_> = status.links.iter().map(link).chain([processor]).collect();
    let rows = vec![Constraint::Length(1); gauges.len()];
    let areas = Layout::vertical(rows).split(block.inner(area));
    for ((name, share, state), area) in gauges.iter().zip(areas.iter()) {
        let part = f64::from(*share) / 1e6;
        let label = format!("{name} {:5.1} %{state}", part * 100.0);
        frame.render_widget(LineGauge::default().ratio(part.clamp(0.0, 1.0)).label(label), *area);
    }
    frame.render_widget(block, area);
}

fn table(status: &NodeStatus, first: usize) -> Table<'static> {
    let head = [
        "channel", "here", "receiver", "messages", "excess", "worst", "bound", "laxity", "missed",
        "by stops", "lost",
    ];
    let right = |text: String| Cell::from(Text::from(text).alignment(Alignment::Right));
    let rows = status.rows.iter().skip(first).map(|row| {
        let late = row.worst_ns > bound(row);
        let left = bound(row).saturating_sub(row.worst_ns);
        let laxity = if late { "none".to_owned() } else { span(left) };
        let cells = Row::new([
            Cell::from(row.channel.to_string()),
            Cell::from(here(row)),
            Cell::from(clean(&row.name)),
            right(row.messages.to_string()),
            right(row.excess.to_string()),
            right(span(row.worst_ns)),
            right(span(bound(row))),
            right(laxity),
            right(row.missed.to_string()),
            right(row.attributed.to_string()),
            right(row.lost.to_string()),
        ]);
        if late || row.lost > 0 { cells.red() } else { cells }
    });
    let widths = [10, 11, 16, 9, 8, 10, 10, 10, 7, 8, 6].map(Constraint::Length);
    let header = head.into_iter().enumerate().map(|(at, word)| match at {
        0..3 => Cell::from(word),
        _ => right(word.to_owned()),
    });
    Table::new(rows, widths).header(Row::new(header).bold()).block(Block::bordered().title("channels"))
}

#[cfg(test)]
mod tests {
    use laxity_client::{ChannelName, Contract, Direction};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;

    fn row(worst_ns: u64) -> laxity_client::Row {
        laxity_client::Row {
            channel: ChannelName { node: 1, epoch: 4, local: 7 },
            direction: Direction::Destination,
            name: "film".to_owned(),
            contract: Contract::periodic(1000, Duration::from_millis(10), Duration::from_millis(5)),
            local_ns: 0,
            messages: 1234,
            excess: 0,
            worst_ns,
            missed: 0,
            attributed: 0,
            lost: 0,
            since_ns: 0,
        }
    }

    /// The text on a terminal of 120 columns.
    fn shown(rows: Vec<laxity_client::Row>, first: usize) -> String {
        let status = NodeStatus {
            name: "recorder".to_owned(),
            id: 2,
            uptime_s: 60,
            channels: rows.len() as u32,
            rows,
            links: vec![("camera".to_owned(), true, 250_000), ("relay".to_owned(), false, 0)],
            processor: 125_000,
            packet_ns: 3000,
            owners: Vec::new(),
            names: Vec::new(),
            counters: vec![("stalls".to_owned(), 3)],
            stalls: vec![(2_000_000_000, 700_000)],
            began_ns: 0,
            clocks: Vec::new(),
        };
        let mut terminal = Terminal::new(TestBackend::new(120, 20)).unwrap();
        terminal.draw(|frame| view(frame, &status, first)).unwrap();
        let cells = terminal.backend().buffer().content();
        let line =
            |cells: &[ratatui::buffer::Cell]| cells.iter().map(|cell| cell.symbol()).collect::<String>();
        cells.chunks(120).map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_view_has_laxity_reservations_and_stops() {
        let text = shown(vec![row(1_250_000)], 0);
        for part in [
            "recorder (node 2), up 60 s",
            "camera  25.0 %",
            "processor  12.5 %",
            "down",
            "film",
            "3.75 ms",
            "1234",
            "700 us at 2 s",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
    }

    #[test]
    fn a_late_channel_has_no_laxity_and_the_arrows_move() {
        let rows = vec![row(1_000_000), row(5_500_000)];
        assert!(shown(rows.clone(), 0).contains("4 ms"));
        let text = shown(rows, 1);
        assert!(text.contains("none") && text.contains("5.5 ms") && !text.contains("4 ms"), "{text}");
    }
}
