//! What the service stores, as JSON says it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A stored record: what the user sent, and the id that the service gave it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) id: u64,
    pub(crate) fields: Fields,
}

/// The part of a record that the user chooses.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fields {
    pub(crate) owner: String,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) note: String,
    pub(crate) number: u64,
    #[serde(default)]
    pub(crate) tags: Vec<String>,
    #[serde(default)]
    pub(crate) attributes: BTreeMap<String, Value>,
}

/// One page of a listing.
///
/// The service fills it with records that it shares, a client reads records of its own.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Page<R> {
    pub(crate) records: Vec<R>,
    /// The `after` that asks for the next page; nothing on the last one.
    pub(crate) next: Option<u64>,
}

impl Fields {
    pub(crate) const NAME_BYTES_MAX: usize = 200;
    pub(crate) const TAGS_MAX: usize = 32;

    /// Why the service does not take these fields, if it does not.
    pub(crate) fn objection(&self) -> Option<String> {
        let (name_bytes, tags) = (self.name.len(), self.tags.len());
        if name_bytes == 0 {
            Some("`name` is empty; give the record a name".to_owned())
        } else if name_bytes > Fields::NAME_BYTES_MAX {
            let max = Fields::NAME_BYTES_MAX;
            Some(format!("`name` has {name_bytes} bytes; use at most {max}"))
        } else if tags > Fields::TAGS_MAX {
            Some(format!("`tags` has {tags} entries; use at most {}", Fields::TAGS_MAX))
        } else {
            None
        }
    }
}
