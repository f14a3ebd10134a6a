//! JSON of which each value knows its line, so that an error of meaning has a place too.

use jsonc_parser::ast::Value as Ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::ImportError;

/// JSON as RFC 8259 has it.
const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A value and its line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) value: Value,
}

/// A value. Numbers are as they are written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

impl Node {
    /// Reads `text`.
    pub(super) fn read(file: &str, text: &str) -> Result<Node, ImportError> {
        let text = text.trim_start_matches('\u{feff}');
        let parsed = parse_to_ast(text, &CollectOptions::default(), &STRICT).map_err(|error| {
            ImportError::new(file, error.line_display(), format!("this is no JSON: {}", error.kind()))
        })?;
        let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        match parsed.value {
            Some(value) => Ok(Node::of(value, &ends)),
            None => Err(ImportError::new(file, ends.len() + 1, "the file ends where a value is expected")),
        }
    }

    /// `value` in a text of which the lines end there.
    fn of(value: Ast<'_>, ends: &[usize]) -> Node {
        let line = ends.partition_point(|end| *end < value.start()) + 1;
        let value = match value {
            Ast::NullKeyword(_) => Value::Null,
            Ast::BooleanLit(it) => Value::Bool(it.value),
            Ast::NumberLit(it) => Value::Number(it.value.to_string()),
            Ast::StringLit(it) => Value::Text(it.value.into_owned()),
            Ast::Array(it) => Value::List(it.elements.into_iter().map(|item| Node::of(item, ends)).collect()),
            Ast::Object(it) => {
                let pair =
                    |of: jsonc_parser::ast::ObjectProp<'_>| (of.name.into_string(), Node::of(of.value, ends));
                Value::Table(it.properties.into_iter().map(pair).collect())
            }
        };
        Node { line, value }
    }

    /// The value of a key of a table.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let Value::Table(pairs) = &self.value else { return None };
        pairs.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// The same; an error if there is none.
    pub(super) fn need(&self, file: &str, key: &str) -> Result<&Node, ImportError> {
        self.get(key).ok_or_else(|| ImportError::new(file, self.line, format!("`{key}` is missing")))
    }

    /// The items of a list.
    pub(super) fn list(&self, file: &str, what: &str) -> Result<&[Node], ImportError> {
        match &self.value {
            Value::List(items) => Ok(items),
            _ => Err(ImportError::new(file, self.line, format!("`{what}` is no list"))),
        }
    }

    /// The text of a text or a number.
    pub(super) fn text(&self, file: &str, what: &str) -> Result<&str, ImportError> {
        match &self.value {
            Value::Text(text) | Value::Number(text) => Ok(text),
            _ => Err(ImportError::new(file, self.line, format!("`{what}` is neither a text nor a number"))),
        }
    }
}
