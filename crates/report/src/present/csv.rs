//! Results as CSV (RFC 4180), for spreadsheets: the table of [`Rows`], without its metadata. A null
//! is an empty field. Equal results give equal text.

use std::fmt::Write;

use laxity_world::results::Results;

use super::rows::{Rows, Values};

/// The file's text: a heading, and a line for each row.
pub fn text(results: &Results) -> String {
    let columns = Rows::of(results).columns;
    let length = columns.first().map_or(0, |column| column.values.len());
    let names: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
    let mut text = names.join(",") + "\n";
    for row in 0..length {
        for (number, column) in columns.iter().enumerate() {
            if number > 0 {
                text.push(',');
            }
            let written = match &column.values {
                Values::Text(values) => values[row].as_deref().map(|value| text.write_str(&quoted(value))),
                // The shortest decimals that are read back as the same double.
                Values::Double(values) => values[row].map(|value| write!(text, "{value:?}")),
                Values::Integer(values) => values[row].map(|value| write!(text, "{value}")),
            };
            written.transpose().expect("a string takes any text");
        }
        text.push('\n');
    }
    text
}

/// A field, in quotes if it holds what would end it.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn every_row_has_every_field() {
        let results = sample::grid();
        let text = text(&results);
        let mut lines = text.lines();
        let heading: Vec<&str> = lines.next().unwrap().split(',').collect();
        assert_eq!(heading[..5], ["run", "load", "load_text", "P", "P_text"]);
        let at = |name: &str| heading.iter().position(|other| *other == name).unwrap();
        let channels = results.runs.iter().flat_map(|run| &run.channels);
        for (line, channel) in lines.by_ref().zip(channels) {
            let fields: Vec<&str> = line.split(',').collect();
            assert_eq!(fields.len(), heading.len());
            assert_eq!(fields[at("channel")], channel.name);
            assert_eq!(fields[at("throughput")].parse::<f64>().unwrap(), channel.throughput);
            let worst = channel.worst.map_or(String::new(), |worst| format!("{worst:?}"));
            assert_eq!(fields[at("worst")], worst);
        }
        assert_eq!(lines.next(), None);
    }

    #[test]
    fn fields_with_separators_are_quoted() {
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("a b"), "a b");
    }
}
