//! Text for people: which text of a file may reach a terminal, a page or a drawing, and seconds in
//! a sentence.
//!
//! A name in a file may hold control sequences of a terminal, characters that no XML document may
//! hold, or a mark that turns the direction of the text around it, so that a reader sees another
//! number. All output of text from a file passes this one place, which handles all three.

/// Whether `c` acts on what shows it: a control, or a mark of direction.
pub fn acts(c: char) -> bool {
    let turns = matches!(
        c,
        '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    c.is_control() || turns
}

/// `text` on one line: its line ends and tabs are spaces, and what else acts is seen as a
/// replacement.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { tame(c) }).collect()
}

/// `text` with its line ends, for where they are wanted.
pub fn clean_lines(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\r' | '\t') { c } else { tame(c) }).collect()
}

/// Seconds as a sentence has them: `1.20 s`, `3.40 ms`, `0.5 us`.
pub fn in_words(seconds: f64) -> String {
    match seconds {
        1.0.. => format!("{seconds:.2} s"),
        1e-3.. => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{:.1} us", seconds * 1e6),
    }
}

fn tame(c: char) -> char {
    if acts(c) { char::REPLACEMENT_CHARACTER } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_seen_and_the_rest_is_left() {
        assert_eq!(clean("a\u{1b}[2J\tb\n\u{202e}1.5 µs–é"), "a\u{fffd}[2J b \u{fffd}1.5 µs–é");
        assert_eq!(clean_lines("a\n\u{2066}b\u{7f}"), "a\n\u{fffd}b\u{fffd}");
    }
}
