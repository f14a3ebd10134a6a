//! Results and verdicts as JSON, for programs without a Parquet reader.
//!
//! Fields have the order of the types, maps the order of their keys: equal results give equal
//! bytes. A number that is not finite becomes `null`, because JSON cannot express it.

use serde::Serialize;

use laxity_world::results::{Results, Verdict};

#[derive(Serialize)]
struct Document<'a> {
    results: &'a Results,
    verdicts: &'a [Verdict],
}

/// The document `{"results": …, "verdicts": […]}`, indented, ending in a newline.
pub fn text(results: &Results, verdicts: &[Verdict]) -> String {
    let document = Document { results, verdicts };
    let mut text = serde_json::to_string_pretty(&document).expect("results are plain data with string keys");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn results_come_back_equal() {
        let results = sample::grid();
        let written = text(&results, &sample::verdicts());
        let read: serde_json::Value = serde_json::from_str(&written).unwrap();
        assert!(serde_json::from_value::<Results>(read["results"].clone()).unwrap() == results);
        assert_eq!(read["verdicts"][0]["id"], "S5a");
        assert!(text(&sample::gaps(), &[]).contains("\"odd\": null"));
    }
}
