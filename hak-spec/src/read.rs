//! Shape: is every key known, and is its value of the right type and within bounds?

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeInteger, DeString, DeTable, DeValue};

use crate::keys::{self, Key, Kind, Status};
use crate::problem::{At, Draft, Located, Problems};
use crate::raw::{Value, Values, Written};
use crate::units::{self, Scale, Unread};
use crate::words::{any_of, nearest, shown};

/// Reads one text; what is wrong with its shape is added to `problems`. `None` when it is no TOML
/// or of another version, so that nothing is known about its keys.
pub(crate) fn read(text: &str, file: usize, problems: &mut Problems) -> Option<Written> {
    let (root, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let span = error.span().unwrap_or(0..0);
        let mut message = error.message().to_owned();
        if message == "duplicate key" {
            message =
                format!("duplicate key `{}`", shown_value(text.get(span.clone()).unwrap_or("")));
        }
        problems.add(Some(&At { file, span }), message);
    }
    let mut reader = Reader { text, file, problems, tunes: Vec::new() };
    if !errors.is_empty() || !reader.is_of_this_version(root.get_ref()) {
        return None;
    }
    let values = reader.table("", root.get_ref());
    Some(Written { values, tunes: reader.tunes })
}

/// The value a key has when no file writes it.
pub(crate) fn default_of(key: &Key) -> Value {
    let text = key.default.expect("asked only for keys with a default");
    let value = DeValue::parse(text).expect("defaults are TOML");
    let mut problems = Problems::default();
    let mut reader = Reader { text, file: 0, problems: &mut problems, tunes: Vec::new() };
    reader.convert(key, &value, &format!("`{}`", key.path)).without_places()
}

struct Reader<'a> {
    text: &'a str,
    file: usize,
    problems: &'a mut Problems,
    tunes: Vec<Values>,
}

impl Reader<'_> {
    fn at(&self, span: Range<usize>) -> At {
        At { file: self.file, span }
    }

    /// `schema = 1` comes first: in another version every other key may mean something else.
    fn is_of_this_version(&mut self, root: &DeTable<'_>) -> bool {
        let Some((_, value)) = root.iter().find(|(key, _)| key.get_ref() == "schema") else {
            let misspelt = root.iter().any(|(key, _)| nearest(key.get_ref(), ["schema"]).is_some());
            if !misspelt {
                let start = self.at(0..0);
                let draft = self.problems.add(Some(&start), "`schema` is missing");
                draft.help("add `schema = 1`, the version of the language, as the first line");
            }
            return true;
        };
        let DeValue::Integer(version) = value.get_ref() else {
            self.wrong_type("`schema`", "the integer 1", value);
            return false;
        };
        let known = number(version) == Some(1);
        if !known {
            let at = self.at(value.span());
            let message = format!("unknown version `schema = {version}`; expected `schema = 1`");
            let draft = self.problems.add(Some(&at), message);
            draft.help("another version of hak may read this spec");
        }
        known
    }

    /// All values of a table and of the tables in it.
    fn table(&mut self, path: &str, table: &DeTable<'_>) -> Values {
        let mut values = Values::new();
        for (name, value) in table.iter() {
            let full = join(path, name.get_ref());
            match keys::find(&full) {
                Some(key) => {
                    let read = self.key(key, value, &mut values);
                    values.insert(key.path, read);
                }
                None => {
                    let is_free = |key: &Key| !table.iter().any(|(n, _)| n.get_ref() == key.name());
                    if let Some(key) = self.unknown(path, name, value).filter(|key| is_free(key)) {
                        let read = self.key(key, value, &mut values);
                        values.insert(key.path, read);
                    }
                }
            }
        }
        values
    }

    /// One key's value; those of a table inside go to `values` themselves.
    fn key(
        &mut self,
        key: &'static Key,
        value: &Spanned<DeValue<'_>>,
        values: &mut Values,
    ) -> Located<Value> {
        let at = self.at(value.span());
        let read = match (key.status, key.kind.without_word(), value.get_ref()) {
            (Status::OnlyDefault, ..) => self.only_default(key, value),
            (_, Kind::Table, DeValue::Table(table)) => {
                values.extend(self.table(key.path, table));
                Value::Table
            }
            (_, Kind::Tables, DeValue::Array(array)) => self.tables(key, array),
            _ => self.convert(key, value, &format!("`{}`", key.path)),
        };
        Located { value: read, at: Some(at) }
    }

    /// Reports an unknown key; gives back the one it was meant to be, to read on with.
    fn unknown(
        &mut self,
        table: &str,
        name: &Spanned<DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<&'static Key> {
        let word = name.get_ref().as_ref();
        let is_table = matches!(value.get_ref(), DeValue::Table(_));
        let what = if is_table { "table" } else { "key" };
        let message = format!("unknown {what} `{}`", shown(&join(table, word)));
        let guess = nearest(word, keys::inside(table).map(|key| key.name()));
        let at = self.at(name.span());
        self.problems.add(Some(&at), message).help(match guess {
            Some(guess) => format!("did you mean `{guess}`?"),
            None => elsewhere(table, word),
        });
        keys::find(&join(table, guess?))
    }

    fn only_default(&mut self, key: &Key, value: &Spanned<DeValue<'_>>) -> Value {
        let mut ignored = Problems::default();
        let mut reader =
            Reader { text: self.text, file: self.file, problems: &mut ignored, tunes: Vec::new() };
        let read = reader.convert(key, value, "").without_places();
        if read != default_of(key) {
            let at = self.at(value.span());
            let default = key.default.unwrap_or_default();
            let message = format!("`{}` other than `{default}` is not supported yet", key.path);
            let draft = self.problems.add(Some(&at), message);
            draft.help(format!("write `{} = {default}`, or leave it out", key.name()));
        }
        read
    }

    /// The entries of `[[classes.tune]]`, each with the size it is about.
    fn tables(&mut self, key: &Key, array: &DeArray<'_>) -> Value {
        for entry in array.iter() {
            let at = self.at(entry.span());
            let DeValue::Table(table) = entry.get_ref() else {
                let subject = format!("an entry of `{}`", key.path);
                self.wrong_type(&subject, "a table", entry);
                continue;
            };
            let mut values = self.table(key.path, table);
            if !values.contains_key("classes.tune.size") {
                let draft = self.problems.add(Some(&at), "`classes.tune` has no `size`");
                draft.help("say which class it is about, such as `size = 64`");
            }
            values.insert(key.path, Located { value: Value::Table, at: Some(at) });
            self.tunes.push(values);
        }
        Value::Table
    }

    /// A value of the kind the key asks for, or a problem about `subject`.
    fn convert(&mut self, key: &Key, value: &Spanned<DeValue<'_>>, subject: &str) -> Value {
        let kind = key.kind;
        match (kind.without_word(), value.get_ref()) {
            (_, DeValue::String(text)) if kind.word() == Some(text) => {
                Value::Text(text.to_string())
            }
            (Kind::Text, DeValue::String(text)) => Value::Text(text.to_string()),
            (Kind::Flag, DeValue::Boolean(flag)) => Value::Flag(*flag),
            (Kind::Count(..), DeValue::Integer(i)) => self.bounded(kind, number(i), value, subject),
            (Kind::Bytes(..), _) => self.bytes(kind, value, subject),
            (Kind::Time(..), DeValue::String(text)) => {
                self.quantity(kind, (&units::TIME, text), value, subject)
            }
            (Kind::Word(words), DeValue::String(word)) => self.word(key, words, word, value),
            (Kind::Words(..) | Kind::Sizes, DeValue::Array(array)) => self.list(key, array),
            (_, DeValue::String(_)) if kind.word().is_some() => {
                self.unexpected(kind, value, subject).helps(as_meant(key, value.get_ref()));
                Value::Broken
            }
            (_, found) => {
                let draft = self.wrong_type(subject, &expected(kind), value);
                draft.helps(as_meant(key, found));
                Value::Broken
            }
        }
    }

    /// All entries of a list, or nothing when one of them is wrong.
    fn list(&mut self, key: &Key, array: &DeArray<'_>) -> Value {
        let subject = format!("an entry of `{}`", key.path);
        let entries: Vec<Located<Value>> = array
            .iter()
            .map(|entry| {
                let at = Some(self.at(entry.span()));
                let value = match (key.kind, entry.get_ref()) {
                    (Kind::Words(words), DeValue::String(word)) => {
                        self.word(key, words, word, entry)
                    }
                    (Kind::Words(words), _) => {
                        self.wrong_type(&subject, &any_of(&quoted(words)), entry);
                        Value::Broken
                    }
                    _ => self.bytes(keys::CLASS, entry, &subject),
                };
                Located { value, at }
            })
            .collect();
        let broken = entries.iter().any(|entry| entry.value == Value::Broken);
        if broken { Value::Broken } else { Value::List(entries) }
    }

    /// One word out of several.
    fn word(
        &mut self,
        key: &Key,
        words: &[&'static str],
        word: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Value {
        if words.contains(&word) {
            return Value::Text(word.to_owned());
        }
        let at = self.at(value.span());
        let (path, word_shown) = (key.path, shown(word));
        let choices = any_of(&quoted(words));
        let message = match key.kind {
            Kind::Words(_) => format!("unknown entry `\"{word_shown}\"` in `{path}`"),
            _ => format!("`{path}` is `\"{word_shown}\"`"),
        };
        let draft = self.problems.add(Some(&at), format!("{message}; expected {choices}"));
        let guess = nearest(word, words.iter().copied());
        draft.helps(guess.map(|guess| format!("did you mean `\"{guess}\"`?")));
        Value::Broken
    }

    /// A size: an integer of bytes, or text with a unit.
    fn bytes(&mut self, kind: Kind, value: &Spanned<DeValue<'_>>, subject: &str) -> Value {
        match value.get_ref() {
            DeValue::Integer(i) => self.bounded(kind, number(i), value, subject),
            DeValue::String(text) => self.quantity(kind, (&units::SIZE, text), value, subject),
            _ => {
                self.wrong_type(subject, &expected(kind), value);
                Value::Broken
            }
        }
    }

    /// Text with a unit.
    fn quantity(
        &mut self,
        kind: Kind,
        (scale, text): (&Scale, &str),
        value: &Spanned<DeValue<'_>>,
        subject: &str,
    ) -> Value {
        let guess = match scale.parse(text) {
            Ok(number) => return self.bounded(kind, Some(number), value, subject),
            Err(Unread::TooLarge) => return self.bounded(kind, None, value, subject),
            Err(Unread::Form(guess)) => guess,
        };
        let (at, noun) = (self.at(value.span()), scale.noun);
        let which = match kind.word() {
            Some(word) => format!("neither `\"{word}\"` nor a {noun}"),
            None => format!("not a {noun}"),
        };
        let message = format!("{subject} is `{}`, which is {which}", self.written(value));
        let draft = self.problems.add(Some(&at), message);
        let word = kind.word().and_then(|word| nearest(text, [word]));
        let guess = guess.or(word.map(str::to_owned));
        draft.helps(guess.map(|guess| format!("did you mean `\"{guess}\"`?")));
        draft.help(form(scale));
        Value::Broken
    }

    /// A number within the bounds of its kind; `None` is one that no 64 bits hold.
    fn bounded(
        &mut self,
        kind: Kind,
        number: Option<u64>,
        value: &Spanned<DeValue<'_>>,
        subject: &str,
    ) -> Value {
        let bounds = kind.bounds().expect("asked only for numbers");
        if let Some(number) = number.filter(|number| bounds.contains(number)) {
            return Value::Number(number);
        }
        self.unexpected(kind, value, subject);
        Value::Broken
    }

    /// Reports a value of a right type that is none of those that may stand there.
    fn unexpected(
        &mut self,
        kind: Kind,
        value: &Spanned<DeValue<'_>>,
        subject: &str,
    ) -> &mut Draft {
        let at = self.at(value.span());
        let written = self.written(value);
        let message = format!("{subject} is `{written}`; expected {}", expected(kind));
        self.problems.add(Some(&at), message)
    }

    fn wrong_type(
        &mut self,
        subject: &str,
        expected: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> &mut Draft {
        let at = self.at(value.span());
        let found = match value.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a float",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.problems.add(Some(&at), format!("{subject} is {found}; expected {expected}"))
    }

    /// A value as it stands in the text.
    fn written(&self, value: &Spanned<DeValue<'_>>) -> String {
        shown_value(self.text.get(value.span()).unwrap_or_default())
    }
}

/// Like [`shown`], but quotes stay as they are.
fn shown_value(text: &str) -> String {
    shown(text).replace("\\\"", "\"").replace("\\'", "'")
}

fn join(table: &str, name: &str) -> String {
    if table.is_empty() { name.to_owned() } else { format!("{table}.{name}") }
}

/// Help for a key that resembles none of its table.
fn elsewhere(table: &str, word: &str) -> String {
    let homes = keys::all().filter(|key| key.name() == word && !key.table().is_empty());
    let homes: Vec<String> = homes.map(|key| header(key.table())).collect();
    if !homes.is_empty() {
        return format!("`{word}` belongs in {}", any_of(&homes));
    }
    let names: Vec<&str> = keys::inside(table).map(Key::name).collect();
    format!("expected {}", any_of(&names))
}

/// Help for a value that may have been meant well.
fn as_meant(key: &Key, found: &DeValue<'_>) -> Option<String> {
    match (key.kind.without_word(), found) {
        (Kind::Tables, DeValue::Table(_)) => {
            Some(format!("write two brackets: `[[{}]]`", key.path))
        }
        (Kind::Time(..), DeValue::Integer(_)) => Some(form(&units::TIME)),
        (Kind::Count(..), DeValue::String(text)) if text.parse::<u64>().is_ok() => {
            Some("write the number without quotes".to_owned())
        }
        (_, DeValue::String(text)) => {
            let guess = nearest(text, key.kind.word())?;
            Some(format!("did you mean `\"{guess}\"`?"))
        }
        _ => None,
    }
}

/// Help: how a size or a time is written.
fn form(scale: &Scale) -> String {
    format!("{}: {}", scale.form, any_of(&scale.names()))
}

/// A table as its header is written.
fn header(table: &str) -> String {
    match keys::find(table).map(|key| key.kind) {
        Some(Kind::Tables) => format!("[[{table}]]"),
        _ => format!("[{table}]"),
    }
}

fn number(integer: &DeInteger<'_>) -> Option<u64> {
    u64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

pub(crate) fn quoted(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| format!("\"{word}\"")).collect()
}

/// What may stand at a key, as the end of a sentence.
pub(crate) fn expected(kind: Kind) -> String {
    let sizes = |min, max| format!("from {} to {}", units::show(min), units::show(max));
    match kind {
        Kind::Table => "a table".to_owned(),
        Kind::Tables => "a list of tables".to_owned(),
        Kind::Text => "a string".to_owned(),
        Kind::Flag => "`true` or `false`".to_owned(),
        Kind::Count(min, max) => format!("an integer from {min} to {max}"),
        Kind::Bytes(min, max) => format!("a size {}", sizes(min, max)),
        Kind::Word(words) => any_of(&quoted(words)),
        Kind::Words(words) => format!("a list of {}", any_of(&quoted(words))),
        Kind::Sizes => match keys::CLASS {
            Kind::Bytes(min, max) => format!("a list of sizes {}", sizes(min, max)),
            _ => unreachable!("class sizes are sizes"),
        },
        Kind::Time(min, max) => {
            format!("a time from {} to {}", units::show_time(min), units::show_time(max))
        }
        Kind::Or(word, other) => format!("`\"{word}\"` or {}", expected(*other)),
    }
}
