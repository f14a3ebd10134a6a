//! Tables with a line of headings, each cell with its line.

use super::ImportError;

/// A table.
#[derive(Debug)]
pub(super) struct Table<'a> {
    file: &'a str,
    headings: Vec<String>,
    rows: Vec<(usize, Vec<String>)>,
    /// Lines of comments `# key = value`.
    pub(super) settings: Vec<(usize, String, String)>,
}

impl<'a> Table<'a> {
    /// Reads a table; lines that begin with `#` are comments, and empty lines are skipped.
    pub(super) fn read(file: &'a str, text: &str) -> Result<Self, ImportError> {
        let mut table = Self { file, headings: Vec::new(), rows: Vec::new(), settings: Vec::new() };
        let mut last = 1;
        for (number, line) in (1..).zip(text.lines()) {
            last = number;
            let line = line.trim_start_matches('\u{feff}').trim();
            if let Some(comment) = line.strip_prefix('#') {
                if let Some((key, value)) = comment.split_once('=') {
                    let key = key.trim().to_ascii_lowercase();
                    table.settings.push((number, key, value.trim().to_string()));
                }
                continue;
            }
            if line.is_empty() {
                continue;
            }
            let cells = cells(line).map_err(|what| ImportError::new(file, number, what))?;
            if table.headings.is_empty() {
                table.headings = cells.iter().map(|cell| cell.to_ascii_lowercase()).collect();
                continue;
            }
            if cells.len() != table.headings.len() {
                let (has, needs) = (cells.len(), table.headings.len());
                return Err(ImportError::new(
                    file,
                    number,
                    format!("the row has {has} cells, and there are {needs} headings"),
                ));
            }
            table.rows.push((number, cells));
        }
        match table.rows.is_empty() {
            true => Err(ImportError::new(file, last, "the table has no rows")),
            false => Ok(table),
        }
    }

    /// The headings of a text that may be a table.
    pub(super) fn headings(text: &str) -> Vec<String> {
        let mut lines = text.lines().map(|line| line.trim_start_matches('\u{feff}').trim());
        let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
        let cells = first.and_then(|line| cells(line).ok()).unwrap_or_default();
        cells.iter().map(|cell| cell.to_ascii_lowercase()).collect()
    }

    /// The column with one of these headings.
    pub(super) fn find(&self, names: &[&str]) -> Option<usize> {
        self.headings.iter().position(|heading| names.contains(&heading.as_str()))
    }

    /// The same; an error without one.
    pub(super) fn column(&self, names: &[&str]) -> Result<usize, ImportError> {
        let has = || self.headings.join(", ");
        self.find(names).ok_or_else(|| {
            ImportError::new(
                self.file,
                1,
                format!("there is no column `{}`; the table has {}", names[0], has()),
            )
        })
    }

    /// The rows, each with its line.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|(line, cells)| Row { file: self.file, line: *line, cells })
    }
}

/// A row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    file: &'a str,
    pub(super) line: usize,
    cells: &'a [String],
}

impl<'a> Row<'a> {
    /// The text of a cell.
    pub(super) fn text(&self, column: usize) -> &'a str {
        &self.cells[column]
    }

    /// The value of a cell, as `read` has it.
    pub(super) fn get<T>(
        &self,
        column: usize,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, ImportError> {
        read(self.text(column)).map_err(|what| self.fault(what))
    }

    /// An error of the row.
    pub(super) fn fault(&self, what: impl Into<String>) -> ImportError {
        ImportError::new(self.file, self.line, what)
    }
}

/// The cells of a line. A cell in quotes, in brackets or in parentheses may have commas.
fn cells(line: &str) -> Result<Vec<String>, String> {
    let (mut cells, mut cell, mut quoted, mut depth) = (Vec::new(), String::new(), false, 0u32);
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            '[' | '(' if !quoted => {
                depth += 1;
                cell.push(character);
            }
            ']' | ')' if !quoted => {
                depth = depth.saturating_sub(1);
                cell.push(character);
            }
            ',' if !quoted && depth == 0 => cells.push(std::mem::take(&mut cell).trim().to_string()),
            other => cell.push(other),
        }
    }
    if quoted {
        return Err("a quote is not closed".into());
    }
    if depth > 0 {
        return Err("a bracket is not closed".into());
    }
    cells.push(cell.trim().to_string());
    Ok(cells)
}

/// The items of a list such as `[7, 8]`, `(0, 1)` or `7 8`.
pub(super) fn items(text: &str) -> Vec<&str> {
    let text = text.trim().trim_start_matches(['[', '(']).trim_end_matches([']', ')']);
    text.split([',', ' ', '\t'])
        .map(|item| item.trim_matches(['\'', '"']))
        .filter(|item| !item.is_empty())
        .collect()
}
