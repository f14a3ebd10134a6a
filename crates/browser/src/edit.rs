//! Changes of a scenario's text that keep all else of it: order, spacing and comments.

use serde_json::{Map, Value as Json};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};

use crate::request::PathStep;

/// Keys that stand before all others in a table that is added, as a reader expects them.
const FIRST: [&str; 4] = ["name", "kind", "class", "from"];

/// `text` with the key at `path` set to `value`; `null` removes the key.
///
/// Tables on the way are made if they are not there. The item behind the last of a list is added.
pub(crate) fn set(text: &str, path: &[PathStep], value: &Json) -> Result<String, String> {
    let mut document: DocumentMut = parse(text)?;
    let (last, way) = path.split_last().ok_or("the path is empty")?;
    let mut item = document.as_item_mut();
    for (depth, step) in way.iter().enumerate() {
        item = enter(item, step, if depth == 0 { Missing::Table } else { Missing::Inline })?;
    }
    match value {
        Json::Null => remove(item, last)?,
        _ if add(item, last, value)? => {}
        _ => put(enter(item, last, Missing::Value)?, toml(value)?),
    }
    Ok(document.to_string())
}

/// The document, or the first error in it.
pub(crate) fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|error: toml_edit::TomlError| error.message().to_string())
}

/// The item that a missing key gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// A table with a header of its own.
    Table,
    /// A table in the line of its key.
    Inline,
    /// A value that is put there next.
    Value,
}

fn enter<'a>(item: &'a mut Item, step: &PathStep, missing: Missing) -> Result<&'a mut Item, String> {
    match step {
        PathStep::Key(key) => {
            if let Item::Value(Value::InlineTable(table)) = item
                && !table.contains_key(key)
            {
                table.insert(key, Value::InlineTable(InlineTable::new()));
                table.fmt();
            }
            let table = item.as_table_like_mut().ok_or_else(|| format!("`{key}` is not in a table"))?;
            if !table.contains_key(key) {
                table.insert(
                    key,
                    match missing {
                        Missing::Table => Item::Table(Table::new()),
                        Missing::Inline => Item::Value(Value::InlineTable(InlineTable::new())),
                        Missing::Value => Item::Value(Value::from(false)),
                    },
                );
            }
            Ok(table.get_mut(key).expect("the key is there"))
        }
        PathStep::Item(number) => {
            let length = match &*item {
                Item::ArrayOfTables(tables) => tables.len(),
                Item::Value(Value::Array(values)) => values.len(),
                _ => 0,
            };
            match *number < length {
                true => Ok(&mut item[*number]),
                false => Err(format!("there is no item {number} of {length}")),
            }
        }
    }
}

fn remove(item: &mut Item, step: &PathStep) -> Result<(), String> {
    match (step, item) {
        (PathStep::Key(key), item) => {
            let table = item.as_table_like_mut().ok_or_else(|| format!("`{key}` is not in a table"))?;
            table.remove(key);
            Ok(())
        }
        (PathStep::Item(number), Item::ArrayOfTables(tables)) if *number < tables.len() => {
            tables.remove(*number);
            Ok(())
        }
        (PathStep::Item(number), Item::Value(Value::Array(values))) if *number < values.len() => {
            values.remove(*number);
            Ok(())
        }
        (PathStep::Item(number), _) => Err(format!("there is no item {number}")),
    }
}

/// Adds `value` to the list that `item` is, if `step` is behind its last; whether it was.
fn add(item: &mut Item, step: &PathStep, value: &Json) -> Result<bool, String> {
    match (step, item) {
        (PathStep::Item(number), Item::ArrayOfTables(tables)) if *number == tables.len() => {
            let Value::InlineTable(table) = toml(value)? else { return Err("the list is of tables".into()) };
            tables.push(table.into_table());
            Ok(true)
        }
        (PathStep::Item(number), Item::Value(Value::Array(values))) if *number == values.len() => {
            values.push(toml(value)?);
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Puts `value` in the place of `item`, with the space and the comment around that.
fn put(item: &mut Item, mut value: Value) {
    if let Some(old) = item.as_value() {
        // In JSON 20 and 20.0 are one number, in a file a key keeps its kind.
        if let (Value::Float(_), Value::Integer(whole)) = (old, &value) {
            value = Value::from(*whole.value() as f64);
        }
        *value.decor_mut() = old.decor().clone();
    }
    *item = Item::Value(value);
}

fn toml(json: &Json) -> Result<Value, String> {
    Ok(match json {
        Json::Null => return Err("a list or a table has no `null`".into()),
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::from(whole),
            None => Value::from(number.as_f64().ok_or("the number is too large")?),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::Array(items.iter().map(toml).collect::<Result<Array, _>>()?),
        Json::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries
                .sort_by_key(|(key, _)| FIRST.iter().position(|first| first == key).unwrap_or(FIRST.len()));
            let entries = entries.into_iter().map(|(key, value)| Ok((key.as_str(), toml(value)?)));
            Value::InlineTable(entries.collect::<Result<InlineTable, String>>()?)
        }
    })
}

/// A document, or a part of one, as JSON; dates are texts.
pub(crate) fn json(item: &Item) -> Json {
    match item {
        Item::None => Json::Null,
        Item::Value(value) => json_of(value),
        Item::Table(table) => object(table.iter().map(|(key, item)| (key, json(item)))),
        Item::ArrayOfTables(tables) => {
            tables.iter().map(|table| object(table.iter().map(|(key, item)| (key, json(item))))).collect()
        }
    }
}

fn json_of(value: &Value) -> Json {
    match value {
        Value::String(text) => Json::from(text.value().as_str()),
        Value::Integer(number) => Json::from(*number.value()),
        Value::Float(number) => Json::from(*number.value()),
        Value::Boolean(flag) => Json::from(*flag.value()),
        Value::Datetime(date) => Json::from(date.value().to_string()),
        Value::Array(items) => items.iter().map(json_of).collect(),
        Value::InlineTable(table) => object(table.iter().map(|(key, value)| (key, json_of(value)))),
    }
}

fn object<'a>(entries: impl Iterator<Item = (&'a str, Json)>) -> Json {
    Json::Object(entries.map(|(key, value)| (key.to_string(), value)).collect::<Map<_, _>>())
}

/// `text` with what the adapter's file says in place of the key `file` of the adapter at `path`;
/// keys beside `file` stay, as they replace those of the file.
pub(crate) fn inline(text: &str, path: &[PathStep]) -> Result<String, String> {
    let mut document = parse(text)?;
    let mut item = document.as_item_mut();
    for step in path {
        item = enter(item, step, Missing::Inline)?;
    }
    let own = item.as_table_like_mut().ok_or("there is no adapter at this path")?;
    let name = own.get("file").and_then(Item::as_str).ok_or("the adapter names no file")?;
    let file = laxity_scenario::built_in_adapter(name).ok_or_else(|| format!("`{name}` is not built in"))?;
    let file = parse(file)?;
    let common = file.get("adapter").ok_or("the file has no adapter")?;
    let mut whole = common.clone();
    let table = whole.as_table_mut().ok_or("the adapter of the file is not a table")?;
    own.remove("file");
    lay(table, own);
    // Tables of another document have places of their own, by which they would be printed.
    anywhere(table);
    if let Some(before) = item.as_table() {
        *table.decor_mut() = before.decor().clone();
        table.set_position(before.position());
    }
    *item = whole;
    Ok(document.to_string())
}

/// Lays `own` over `common`, table by table.
fn lay(common: &mut Table, own: &mut dyn toml_edit::TableLike) {
    for (key, value) in own.iter_mut() {
        let beneath = common.get_mut(key.get()).and_then(Item::as_table_mut);
        match (beneath, value.as_table_like_mut()) {
            (Some(beneath), Some(above)) => lay(beneath, above),
            _ => {
                common.insert(key.get(), value.clone());
            }
        }
    }
}

fn anywhere(table: &mut Table) {
    table.set_position(None);
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(table) => anywhere(table),
            Item::ArrayOfTables(tables) => tables.iter_mut().for_each(anywhere),
            _ => {}
        }
    }
}
