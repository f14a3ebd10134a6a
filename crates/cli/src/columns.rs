//! Text in columns.

use std::array;

/// A line for each of `rows`: cells padded to the width of their column, at the left of those that are
/// `right`-aligned, and two spaces apart. No line ends in spaces.
pub(crate) fn lines<const N: usize>(rows: &[[String; N]], right: [bool; N]) -> impl Iterator<Item = String> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = array::from_fn(width);
    rows.iter().map(move |row| {
        let cells: [String; N] = array::from_fn(|column| {
            let (cell, width) = (&row[column], widths[column]);
            if right[column] { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        cells.join("  ").trim_end().to_string()
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "1", "x"], ["µµµ", "10", ""]].map(|row| row.map(String::from));
        let lines: Vec<String> = super::lines(&rows, [false, true, false]).collect();
        assert_eq!(lines, ["a     1  x", "µµµ  10"]);
    }
}
