//! Names of types: which are Rust identifiers, and which a file yields.

use std::path::Path;

/// Words no type may be called, raw identifiers aside.
const KEYWORDS: [&str; 53] = [
    "_", "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue",
    "crate", "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if",
    "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub",
    "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Whether a type may be called so.
pub fn is_identifier(name: &str) -> bool {
    let word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    word && !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !KEYWORDS.contains(&name)
}

/// The type a spec file declares: `specs/web-api.toml` → `WebApi`. Empty or no identifier when
/// the stem yields none.
pub fn type_name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let words = stem.split(|c: char| !c.is_alphanumeric());
    words.map(capitalized).collect()
}

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect()
}
