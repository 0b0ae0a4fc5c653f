//! The JSON schema with which editors complete and check specs.

use serde_json::{Map, Value, json};
use toml::de::DeValue;

use crate::keys::{self, Key, Kind, Status};
use crate::units::{self, Scale};

/// The schema of a spec, as JSON text (draft 7).
pub fn json_schema() -> String {
    let mut root = object("", "A memory allocator: its classes, its caches and its hints.");
    root.insert("$schema".to_owned(), json!("http://json-schema.org/draft-07/schema#"));
    root.insert("title".to_owned(), json!("hak spec"));
    root.insert("required".to_owned(), json!(["schema"]));
    format!("{:#}\n", Value::Object(root))
}

/// A table with the keys that stand directly in it.
fn object(table: &str, doc: &str) -> Map<String, Value> {
    let properties: Map<String, Value> =
        keys::inside(table).map(|key| (key.name().to_owned(), property(key))).collect();
    let mut object = Map::new();
    object.insert("type".to_owned(), json!("object"));
    object.insert("description".to_owned(), json!(doc));
    object.insert("additionalProperties".to_owned(), json!(false));
    object.insert("properties".to_owned(), Value::Object(properties));
    object
}

fn property(key: &Key) -> Value {
    if key.kind == Kind::Table {
        return Value::Object(object(key.path, key.doc));
    }
    let default = key.default.map(|text| DeValue::parse(text).expect("defaults are TOML"));
    let default = default.map(|value| to_json(value.get_ref()));
    let mut property = match (key.status, &default) {
        (Status::OnlyDefault, Some(default)) => json!({ "enum": [default] }),
        _ => of_kind(key.kind, key.path),
    };
    let fields = property.as_object_mut().expect("a property is an object");
    fields.insert("description".to_owned(), json!(key.doc));
    if let Some(default) = default {
        fields.insert("default".to_owned(), default);
    }
    property
}

/// What may stand at a key of this kind.
fn of_kind(kind: Kind, path: &str) -> Value {
    match kind {
        Kind::Table => optional_table(path),
        Kind::Tables => {
            let mut entry = object(path, "One class and what differs for it.");
            entry.insert("required".to_owned(), json!(["size"]));
            json!({ "type": "array", "items": entry })
        }
        Kind::Text => json!({ "type": "string" }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Count(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Bytes(min, max) => size(min, max),
        Kind::Time(..) => with_unit(&units::TIME),
        Kind::Or(word, other) => json!({ "anyOf": [{ "enum": [word] }, of_kind(*other, path)] }),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Words(words) => {
            json!({ "type": "array", "items": { "enum": words }, "uniqueItems": true })
        }
        Kind::Sizes => match keys::CLASS {
            Kind::Bytes(min, max) => json!({ "type": "array", "items": size(min, max) }),
            _ => unreachable!("class sizes are sizes"),
        },
    }
}

/// A table that a word stands for when it is left out: written, it needs the keys that have no
/// default.
fn optional_table(path: &str) -> Value {
    let mut table = object(path, "What the word leaves out.");
    let required = keys::inside(path).filter(|key| key.default.is_none());
    table.insert("required".to_owned(), required.map(Key::name).collect());
    Value::Object(table)
}

/// Bytes, or text with a unit; bounds of the latter are left to hak.
fn size(min: u64, max: u64) -> Value {
    let integer = json!({ "type": "integer", "minimum": min, "maximum": max });
    json!({ "anyOf": [integer, with_unit(&units::SIZE)] })
}

fn with_unit(scale: &Scale) -> Value {
    let pattern = format!("^[0-9]+ ?({})$", scale.names().join("|"));
    json!({ "type": "string", "pattern": pattern })
}

fn to_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::Integer(i) => json!(i.as_str().parse::<u64>().expect("defaults are decimal")),
        DeValue::Boolean(flag) => json!(flag),
        DeValue::String(text) => json!(text),
        DeValue::Array(entries) => entries.iter().map(|entry| to_json(entry.get_ref())).collect(),
        _ => unreachable!("no default is of this type"),
    }
}
