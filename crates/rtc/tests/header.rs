//! The header for C, which is written by hand in the order in which a reader needs it, declares
//! exactly what the library has.

use std::collections::{BTreeMap, BTreeSet};

const HEADER: &str = include_str!("../include/laxity.h");
const LIBRARY: &str = include_str!("../src/lib.rs");

/// The type in C of a type in Rust.
fn in_c(rust: &str) -> String {
    for (front, constant) in [("*mut ", ""), ("*const ", "const ")] {
        if let Some(of) = rust.strip_prefix(front) {
            return format!("{constant}{}*", in_c(of));
        }
    }
    let known = [
        ("c_char", "char"),
        ("c_int", "int"),
        ("c_long", "long"),
        ("c_uint", "unsigned int"),
        ("u8", "uint8_t"),
        ("usize", "size_t"),
        ("", "void"),
    ];
    known.iter().find(|(name, _)| *name == rust).map_or(rust, |(_, c)| c).to_owned()
}

/// The functions of the library: result, and the type and name of each argument.
fn of_library() -> BTreeMap<String, String> {
    let mut functions = BTreeMap::new();
    for text in LIBRARY.split("extern \"C\" fn ").skip(1) {
        let (name, rest) = text.split_once('(').unwrap();
        let (arguments, rest) = rest.split_once(')').unwrap();
        let result = rest.split('{').next().unwrap().trim().trim_start_matches("->").trim();
        let arguments = arguments.split(',').map(str::trim).filter(|argument| !argument.is_empty());
        let arguments = arguments.map(|argument| {
            let (name, kind) = argument.split_once(':').unwrap();
            format!("{} {name}", in_c(kind.trim()))
        });
        let arguments: Vec<String> = arguments.collect();
        functions.insert(name.to_owned(), format!("{} ({})", in_c(result), arguments.join(", ")));
    }
    functions
}

/// The header without comments and preprocessor.
fn declarations() -> String {
    let mut text = String::new();
    let mut rest = HEADER;
    while let Some((before, behind)) = rest.split_once("/*") {
        text += before;
        rest = behind.split_once("*/").unwrap().1;
    }
    text += rest;
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.starts_with("extern"));
    lines.collect::<Vec<_>>().join(" ")
}

/// `const char *name` as `const char* name`.
fn spaced(declaration: &str) -> String {
    let words = declaration.split_whitespace().collect::<Vec<_>>().join(" ");
    words.replace(" *", "* ").replace("  ", " ")
}

fn of_header() -> BTreeMap<String, String> {
    let text = declarations();
    let mut functions = BTreeMap::new();
    for declaration in text.split(';').filter(|part| part.contains('(')) {
        let (front, arguments) = declaration.split_once('(').unwrap();
        let front = spaced(front.trim_matches(['}', ' ']));
        let (result, name) = front.rsplit_once(' ').unwrap();
        let arguments = arguments.trim_end_matches(')');
        let arguments: Vec<String> =
            arguments.split(',').map(spaced).filter(|argument| argument != "void").collect();
        functions.insert(name.to_owned(), format!("{result} ({})", arguments.join(", ")));
    }
    functions
}

#[test]
fn the_header_declares_the_functions_of_the_library() {
    assert_eq!(of_header(), of_library());
    assert!(of_library().len() > 10);
}

#[test]
fn constants_and_the_contract_are_equal() {
    for (name, value) in [("RTC_FAILED", -1), ("RTC_EXCESS", -2), ("RTC_LOST", -3), ("RTC_NONE", -4)] {
        assert!(HEADER.contains(&format!("#define {name} ({value})")), "{name}");
        assert!(LIBRARY.contains(&format!("pub const {name}: c_int = {value};")), "{name}");
    }
    let between =
        |text: &'static str, from: &str| text.split_once(from).unwrap().1.split_once('}').unwrap().0;
    let fields = between(LIBRARY, "pub struct RtcContract {").lines().filter_map(|line| {
        let (name, kind) = line.trim().strip_prefix("pub ")?.trim_end_matches(',').split_once(": ")?;
        Some(format!("{} {name}", in_c(kind)))
    });
    let declared = between(HEADER, "typedef struct RtcContract {").lines();
    let declared = declared.filter_map(|line| line.split_once(';').map(|(field, _)| field.trim().to_owned()));
    let [fields, declared]: [Vec<String>; 2] = [fields.collect(), declared.collect()];
    assert_eq!(declared, fields);
    let opaque = |text: &'static str, front: &'static str| {
        let names = text.lines().filter_map(move |line| line.strip_prefix(front));
        names.filter_map(|rest| rest.split([' ', '(']).next()).map(str::to_owned).collect::<BTreeSet<_>>()
    };
    assert_eq!(opaque(HEADER, "typedef struct "), opaque(LIBRARY, "pub struct "));
}
