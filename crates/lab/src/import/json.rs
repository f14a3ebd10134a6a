//! JSON of which each value knows its line, so that an error of meaning has a place too.

use super::Fault;

/// The deepest nesting that is read.
const DEEPEST: u32 = 64;

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
    pub(super) fn read(file: &str, text: &str) -> Result<Node, Fault> {
        let mut reader = Reader { file, text, at: 0, line: 1 };
        let node = reader.value(0)?;
        reader.space();
        match reader.peek() {
            None => Ok(node),
            Some(_) => Err(reader.fault("text follows the end of the value")),
        }
    }

    /// The value of a key of a table.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let Value::Table(pairs) = &self.value else { return None };
        pairs.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// The same; an error if there is none.
    pub(super) fn need(&self, file: &str, key: &str) -> Result<&Node, Fault> {
        self.get(key).ok_or_else(|| Fault::new(file, self.line, format!("`{key}` is missing")))
    }

    /// The items of a list.
    pub(super) fn list(&self, file: &str, what: &str) -> Result<&[Node], Fault> {
        match &self.value {
            Value::List(items) => Ok(items),
            _ => Err(Fault::new(file, self.line, format!("`{what}` is no list"))),
        }
    }

    /// The text of a text or a number.
    pub(super) fn text(&self, file: &str, what: &str) -> Result<&str, Fault> {
        match &self.value {
            Value::Text(text) | Value::Number(text) => Ok(text),
            _ => Err(Fault::new(file, self.line, format!("`{what}` is neither a text nor a number"))),
        }
    }
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    at: usize,
    line: usize,
}

impl Reader<'_> {
    fn fault(&self, what: impl Into<String>) -> Fault {
        Fault::new(self.file, self.line, what)
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.at += character.len_utf8();
        self.line += usize::from(character == '\n');
        Some(character)
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|c| matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{feff}')) {
            self.next();
        }
    }

    fn expect(&mut self, wanted: char) -> Result<(), Fault> {
        self.space();
        match self.peek() {
            Some(found) if found == wanted => {
                self.next();
                Ok(())
            }
            Some(found) => {
                Err(self.fault(format!("`{wanted}` is expected and not `{}`", found.escape_default())))
            }
            None => Err(self.fault(format!("the file ends where `{wanted}` is expected"))),
        }
    }

    fn value(&mut self, depth: u32) -> Result<Node, Fault> {
        self.space();
        if depth > DEEPEST {
            return Err(self.fault("values are nested too deeply"));
        }
        let line = self.line;
        let value = match self.peek() {
            None => return Err(self.fault("the file ends where a value is expected")),
            Some('{') => self.table(depth)?,
            Some('[') => self.list(depth)?,
            Some('"') => Value::Text(self.string()?),
            Some('-' | '0'..='9') => Value::Number(self.run(|c| c.is_ascii_digit() || "+-.eE".contains(c))),
            Some(_) => match self.run(|c| c.is_ascii_alphabetic()).as_str() {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                "null" => Value::Null,
                _ => return Err(self.fault("this is no value of JSON")),
            },
        };
        Ok(Node { line, value })
    }

    fn run(&mut self, belongs: impl Fn(char) -> bool) -> String {
        let from = self.at;
        while self.peek().is_some_and(&belongs) {
            self.next();
        }
        self.text[from..self.at].to_string()
    }

    /// Whether another item follows behind the one before; the closing bracket is taken.
    fn more(&mut self, first: bool, close: char) -> Result<bool, Fault> {
        self.space();
        if self.peek() == Some(close) {
            self.next();
            return Ok(false);
        }
        if !first {
            self.expect(',')?;
        }
        Ok(true)
    }

    fn table(&mut self, depth: u32) -> Result<Value, Fault> {
        self.expect('{')?;
        let mut pairs: Vec<(String, Node)> = Vec::new();
        while self.more(pairs.is_empty(), '}')? {
            self.space();
            if self.peek() != Some('"') {
                return Err(self.fault("a key in quotes is expected"));
            }
            let key = self.string()?;
            self.expect(':')?;
            pairs.push((key, self.value(depth + 1)?));
        }
        Ok(Value::Table(pairs))
    }

    fn list(&mut self, depth: u32) -> Result<Value, Fault> {
        self.expect('[')?;
        let mut items = Vec::new();
        while self.more(items.is_empty(), ']')? {
            items.push(self.value(depth + 1)?);
        }
        Ok(Value::List(items))
    }

    fn string(&mut self) -> Result<String, Fault> {
        self.expect('"')?;
        let mut text = String::new();
        loop {
            match self.next() {
                None | Some('\n') => return Err(self.fault("a quote is not closed")),
                Some('"') => return Ok(text),
                Some('\\') => match self.next() {
                    Some('n' | 'r' | 't' | 'b' | 'f') => text.push(' '),
                    Some('u') => {
                        let digits: String = (0..4).map_while(|_| self.next()).collect();
                        let code = u32::from_str_radix(&digits, 16).ok();
                        text.push(code.and_then(char::from_u32).unwrap_or('?'));
                    }
                    Some(other) => text.push(other),
                    None => return Err(self.fault("a quote is not closed")),
                },
                Some(other) => text.push(other),
            }
        }
    }
}
