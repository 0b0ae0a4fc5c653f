//! The JSON schema and the reference page are what the table of keys says.
//!
//! `HAK_BLESS=1 cargo test -p hak-spec` rewrites both.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

fn compare_or_bless(path: &str, actual: &str) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    if std::env::var_os("HAK_BLESS").is_some() {
        fs::write(&path, actual).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(actual == expected, "{} is out of date: run with HAK_BLESS=1", path.display());
}

#[test]
fn schema_is_current() {
    compare_or_bless("specs/hak.schema.json", &hak_spec::describe::json_schema());
}

#[test]
fn reference_is_current() {
    compare_or_bless("docs/spec-reference.md", &hak_spec::describe::reference());
}

/// Checks what the schema uses of JSON schema; gives back the path of the first mismatch.
fn mismatch(schema: &Value, value: &Value, path: &str) -> Option<String> {
    let wrong = || Some(path.to_owned());
    if let Some(choices) = schema["anyOf"].as_array() {
        let fits = choices.iter().any(|choice| mismatch(choice, value, path).is_none());
        return if fits { None } else { wrong() };
    }
    if let Some(words) = schema["enum"].as_array() {
        return if words.contains(value) { None } else { wrong() };
    }
    match (schema["type"].as_str().expect("a schema has a type"), value) {
        ("object", Value::Object(fields)) => {
            let required = schema["required"].as_array().into_iter().flatten();
            let missing = required.filter_map(Value::as_str).find(|k| !fields.contains_key(*k));
            let inside = fields.iter().find_map(|(key, value)| {
                let path = format!("{path}.{key}");
                match schema["properties"].get(key) {
                    Some(property) => mismatch(property, value, &path),
                    None => Some(path),
                }
            });
            missing.map(|key| format!("{path}.{key}")).or(inside)
        }
        ("array", Value::Array(entries)) => {
            entries.iter().find_map(|entry| mismatch(&schema["items"], entry, path))
        }
        ("integer", Value::Number(n)) => {
            let (min, max) = (schema["minimum"].as_u64(), schema["maximum"].as_u64());
            let inside = n.as_u64().is_some_and(|n| min <= Some(n) && Some(n) <= max);
            if inside { None } else { wrong() }
        }
        ("string", Value::String(_)) | ("boolean", Value::Bool(_)) => None,
        _ => wrong(),
    }
}

fn to_json(value: &toml::de::DeValue<'_>) -> Value {
    use toml::de::DeValue;
    match value {
        DeValue::String(text) => json!(text),
        DeValue::Integer(i) => json!(i.as_str().parse::<u64>().unwrap()),
        DeValue::Boolean(flag) => json!(flag),
        DeValue::Array(entries) => entries.iter().map(|entry| to_json(entry.get_ref())).collect(),
        DeValue::Table(table) => {
            table.iter().map(|(k, v)| (k.get_ref().to_string(), to_json(v.get_ref()))).collect()
        }
        other => panic!("no spec holds {other:?}"),
    }
}

fn mismatch_of_spec(text: &str) -> Option<String> {
    let schema: Value = serde_json::from_str(&hak_spec::describe::json_schema()).unwrap();
    let spec = toml::de::DeTable::parse(text).unwrap();
    mismatch(&schema, &to_json(&toml::de::DeValue::Table(spec.into_inner())), "")
}

#[test]
fn shipped_specs_fit_the_schema() {
    for (name, text) in hak_spec::shipped() {
        assert_eq!(mismatch_of_spec(text), None, "{name}");
    }
}

#[test]
fn schema_takes_a_word_or_a_number() {
    for value in ["\"auto\"", "8"] {
        assert_eq!(mismatch_of_spec(&format!("schema = 1\nsuperslab.shards = {value}")), None);
    }
    for value in ["\"none\"", "\"1 GiB\"", "1_000_000"] {
        assert_eq!(mismatch_of_spec(&format!("schema = 1\ncache.limit = {value}")), None);
    }
}

#[test]
fn schema_takes_a_word_or_a_table() {
    for value in ["\"none\"", "{ min = 16, max = 256 }"] {
        assert_eq!(mismatch_of_spec(&format!("schema = 1\ncache.adaptive = {value}")), None);
    }
    for value in ["\"off\"", "{}", "{ min = 16 }", "{ min = 0, max = 16 }", "16"] {
        let wrong = mismatch_of_spec(&format!("schema = 1\ncache.adaptive = {value}"));
        assert_eq!(wrong.as_deref(), Some(".cache.adaptive"), "{value}");
    }
}

#[test]
fn schema_takes_every_list_of_layers() {
    for layers in ["[]", "[\"freelist\"]", "[\"magazine\", \"freelist\", \"depot\"]"] {
        assert_eq!(mismatch_of_spec(&format!("schema = 1\ncache.layers = {layers}")), None);
    }
}

#[test]
fn schema_refuses_what_hak_refuses() {
    let wrong = |text: &str| mismatch_of_spec(text).unwrap_or_default();
    assert_eq!(wrong("cache.slots = 8"), ".schema");
    assert_eq!(wrong("schema = 2"), ".schema");
    assert_eq!(wrong("schema = 1\ncache.slot = 8"), ".cache.slot");
    assert_eq!(wrong("schema = 1\ncache.slots = 0"), ".cache.slots");
    assert_eq!(wrong("schema = 1\nhints.hit = \"likly\""), ".hints.hit");
    assert_eq!(wrong("schema = 1\nsuperslab.shards = 65"), ".superslab.shards");
    assert_eq!(wrong("schema = 1\nsuperslab.prefault = 1"), ".superslab.prefault");
    assert_eq!(wrong("schema = 1\nsuperslab.purge.how = \"soon\""), ".superslab.purge.how");
    assert_eq!(wrong("schema = 1\nsuperslab.purge.after = 500"), ".superslab.purge.after");
    assert_eq!(wrong("schema = 1\nsuperslab.limit = 1"), ".superslab.limit");
    assert_eq!(wrong("schema = 1\nsuperslab.size = 1_048_576"), ".superslab.size");
    assert_eq!(wrong("schema = 1\nvalidation.level = \"most\""), ".validation.level");
    assert_eq!(wrong("schema = 1\nvalidation.canary = 1"), ".validation.canary");
    assert_eq!(wrong("schema = 1\nclasses.tune = [{}]"), ".classes.tune.size");
}

/// Editors complete what the schema lists: every key that can be written is there.
#[test]
fn every_key_is_on_the_page_and_in_the_schema() {
    let (page, schema) = (hak_spec::describe::reference(), hak_spec::describe::json_schema());
    for key in hak_spec::keys::all().filter(|key| key.kind != hak_spec::keys::Kind::Table) {
        assert!(page.contains(key.doc), "{} is not on the page", key.path);
        let listed = schema.contains(&serde_json::to_string(key.doc).unwrap());
        assert!(listed, "{} is not in the schema", key.path);
    }
}
