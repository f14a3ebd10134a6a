//! A row's cells, and where in its line each stands.

use super::error::{Fault, TracePosition};
use super::field::BadField;

/// A cell and the character it starts at, from 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell<'a> {
    pub(super) column: u64,
    pub(super) text: &'a str,
}

impl Cell<'_> {
    pub(super) fn fault(&self, line: u64, bad: BadField) -> Fault {
        let column = self.column + bad.character as u64;
        Fault::new(TracePosition::Text { line, column }, bad.reason, bad.valid)
    }
}

/// The cells of a row before its side data and without the empty cell that a trailing comma leaves.
pub(super) fn cells(line: &str) -> Vec<Cell<'_>> {
    let separator = if line.contains('|') { '|' } else { ',' };
    let mut cells = Vec::new();
    let mut rest = line;
    let mut column = 1;
    loop {
        // A quoted cell may hold the separator; nothing that is kept is ever quoted, so quotes stay on.
        let quoted = rest.strip_prefix('"').and_then(|inner| inner.find('"')).map_or(0, |end| end + 2);
        let end = rest[quoted..].find(separator).map(|end| end + quoted);
        let cell = &rest[..end.unwrap_or(rest.len())];
        let text = cell.trim();
        if text == "side_data" && !cells.is_empty() {
            break;
        }
        let indent = cell.chars().take_while(|c| c.is_whitespace()).count() as u64;
        cells.push(Cell { column: column + indent, text });
        let Some(end) = end else { break };
        column += cell.chars().count() as u64 + 1;
        rest = &rest[end + separator.len_utf8()..];
    }
    while cells.len() > 1 && cells.last().is_some_and(|cell| cell.text.is_empty()) {
        cells.pop();
    }
    cells
}
