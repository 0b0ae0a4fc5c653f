//! The language described for editors and for people, from the table of keys.

mod reference;
mod schema;

pub use reference::reference;
pub use schema::json_schema;
