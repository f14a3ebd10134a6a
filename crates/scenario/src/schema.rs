//! The format of scenario files as JSON Schema, for editors and for programs that write files.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::raw::{RawAdapterFile, RawScenario};
use crate::profile::RawProfile;

/// JSON Schema of a scenario file, descriptions included.
pub fn schema() -> Value {
    schema_of::<RawScenario>()
}

/// JSON Schema of a host profile.
pub fn profile_schema() -> Value {
    schema_of::<RawProfile>()
}

/// JSON Schema of an adapter file.
pub fn adapter_schema() -> Value {
    schema_of::<RawAdapterFile>()
}

/// JSON Schema of files that are read as `T`, in the form from which references are made.
pub fn schema_of<T: schemars::JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    tidy(&mut schema);
    schema
}

/// Removes null, which TOML lacks, and the names of types, which are private.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.values_mut().for_each(tidy);
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".into(), only);
                }
            }
            if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
                choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
                // A reference beside its description, as the format allows, instead of in a choice of one.
                if let [Value::Object(only)] = choices.as_slice() {
                    let only = only.clone();
                    object.remove("anyOf");
                    object.extend(only);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}
