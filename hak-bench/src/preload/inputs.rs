//! What the programs read, made from a seed.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use fastrand::Rng;

use super::git;
use crate::failure::Failure;

/// Of all inputs: each begins anew with it.
const SEED: u64 = 42;

pub(super) const LINES: u64 = 600_000;
pub(super) const FEWER_LINES: u64 = 60_000;
pub(super) const ROWS: u64 = 100_000;
pub(super) const RECORDS: u64 = 15_000;
pub(super) const FUNCTIONS: u64 = 40;
pub(super) const COMMITS: u64 = 300;

/// The git repository, by its name in the folder.
pub(super) const REPOSITORY: &str = "repository.git";

/// Makes the text of a file.
type Maker = fn(&mut Rng) -> String;

/// The files, by their names.
pub(super) const FILES: [(&str, Maker); 8] = [
    ("lines.txt", |random| lines(random, LINES)),
    ("fewer-lines.txt", |random| lines(random, FEWER_LINES)),
    ("rows.sql", sql),
    ("records.json", records),
    ("functions.c", functions),
    ("records.py", |_| include_str!("scripts/records.py").to_owned()),
    ("words.pl", |_| include_str!("scripts/words.pl").to_owned()),
    ("words.awk", |_| include_str!("scripts/words.awk").to_owned()),
];

/// Where the inputs are.
#[derive(Debug)]
pub(super) struct Inputs {
    folder: PathBuf,
}

impl Inputs {
    /// Below a folder; nothing is written.
    pub(super) fn below(folder: &Path) -> Inputs {
        Inputs { folder: folder.join("inputs") }
    }

    /// Writes the files that are not there as they should be.
    pub(super) fn write(&self) -> Result<(), Failure> {
        let made = fs::create_dir_all(&self.folder);
        let could_not = |what, path: &Path, error| {
            Failure::could_not(format!("{what} {}", path.display()), error)
        };
        made.map_err(|error| could_not("make", &self.folder, error))?;
        for (name, make) in FILES {
            let path = self.folder.join(name);
            let text = make(&mut Rng::with_seed(SEED));
            if !fs::read(&path).is_ok_and(|old| old == text.as_bytes()) {
                fs::write(&path, text).map_err(|error| could_not("write", &path, error))?;
            }
        }
        Ok(())
    }

    /// A word of a command line with the folder's path in it.
    pub(super) fn filled(&self, word: &str) -> String {
        word.replace("INPUTS", &self.folder.display().to_string())
    }

    /// Makes the repository, with git itself.
    pub(super) fn repository(&self, git: &Path) -> Result<(), Failure> {
        let stream = git::stream(&mut Rng::with_seed(SEED), COMMITS);
        git::import(git, &self.folder.join(REPOSITORY), &stream)
    }
}

/// How many words there are.
const WORDS: usize = 4000;

/// Words of one to four syllables. Those in front are taken more often.
pub(super) struct Words(Vec<String>);

impl Words {
    pub(super) fn new(random: &mut Rng) -> Words {
        let syllable = |random: &mut Rng| {
            let consonant = char::from(b"bdfgklmnprstvz"[random.usize(0..14)]);
            let vowel = char::from(b"aeiou"[random.usize(0..5)]);
            format!("{consonant}{vowel}")
        };
        let word = |_| (0..random.usize(1..=4)).map(|_| syllable(random)).collect();
        Words((0..WORDS).map(word).collect())
    }

    pub(super) fn any(&self, random: &mut Rng) -> &str {
        let place = random.f64().powi(3) * WORDS as f64;
        &self.0[place as usize]
    }

    /// So many words with spaces between them.
    pub(super) fn some(&self, random: &mut Rng, number: usize) -> String {
        let words: Vec<_> = (0..number).map(|_| self.any(random)).collect();
        words.join(" ")
    }
}

/// Numbered lines of three to twelve words.
fn lines(random: &mut Rng, number: u64) -> String {
    let words = Words::new(random);
    let mut text = String::new();
    for line in 0..number {
        let many = random.usize(3..=12);
        let _ = writeln!(text, "{line} {}", words.some(random, many));
    }
    text
}

fn sql(random: &mut Rng) -> String {
    let words = Words::new(random);
    let mut text = "create table item(id integer primary key, name text, price real, note text);\n\
                    begin;\n"
        .to_owned();
    for row in 0..ROWS {
        let (name, price) = (words.some(random, 2), random.u32(0..100_000));
        let many = random.usize(1..=12);
        let note = words.some(random, many);
        let price = f64::from(price) / 100.0;
        let _ = writeln!(text, "insert into item values({row}, '{name}', {price}, '{note}');");
    }
    text.push_str(
        "commit;\n\
         create index by_name on item(name);\n\
         select substr(name, 1, 2) k, count(*), sum(length(note)), round(avg(price), 3)\n  \
         from item group by k order by k;\n\
         select count(*) from item a join item b on b.name = a.name where a.id < 20000;\n\
         update item set note = note || ' ' || name where price > 500;\n\
         select id, group_concat(note) from item group by id / 1000 order by id;\n\
         delete from item where id % 3 = 0;\n\
         select count(*), sum(length(note)) from item where note like '%ba%';\n",
    );
    text
}

/// One object of JSON on each line.
fn records(random: &mut Rng) -> String {
    let words = Words::new(random);
    let mut text = String::new();
    for record in 0..RECORDS {
        let tags: Vec<_> = (0..random.usize(0..8)).map(|_| words.any(random)).collect();
        let (many, width, height) = (random.usize(5..40), random.u16(..), random.u16(..));
        let record = serde_json::json!({
            "id": record,
            "name": words.some(random, 2),
            "tags": tags,
            "size": { "width": width, "height": height },
            "text": words.some(random, many),
        });
        let _ = writeln!(text, "{record}");
    }
    text
}

/// Functions with loops, a switch, and calls of those before them.
fn functions(random: &mut Rng) -> String {
    let mut text = "struct node { struct node *next; long key; double weight; char name[24]; };\n\
                    long work(struct node *, long);\n"
        .to_owned();
    for function in 0..FUNCTIONS {
        let _ = writeln!(text, "long f{function}(struct node *list, long a, long b) {{");
        text.push_str("  long sum = a;\n");
        for step in 0..random.u32(6..14) {
            let [x, y, z] = [(); 3].map(|()| random.u32(1..1000));
            let _ = match random.u32(0..4) {
                0 => writeln!(
                    text,
                    "  for (long i{step} = 0; i{step} < b % {x}; i{step}++) {{\n    \
                     sum += (i{step} * {y}) ^ (sum >> {});\n    \
                     if (sum & {z}) sum -= list->key; else list->weight += sum * 0.{y};\n  }}",
                    x % 31
                ),
                1 => writeln!(
                    text,
                    "  switch (sum % 7) {{\n  case 0: sum += {x}; break;\n  case 1: sum *= {y};\n  \
                     case 2: sum ^= b; break;\n  case 5: list = list->next; break;\n  \
                     default: sum -= {z};\n  }}"
                ),
                2 => writeln!(
                    text,
                    "  for (struct node *n = list; n; n = n->next)\n    \
                     if (n->key > {x} && n->name[{}] != '{}') sum += n->key / {y};",
                    y % 24,
                    char::from(b'a' + (z % 26) as u8)
                ),
                _ => {
                    let callee = random.u64(0..=function);
                    let before = callee.checked_sub(1);
                    let callee = before.map_or("work(list, ".to_owned(), |before| {
                        format!("f{before}(list, sum, ")
                    });
                    writeln!(text, "  sum = {callee}sum + {x}) * {y} + b;")
                }
            };
        }
        text.push_str("  return sum;\n}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::{FILES, Inputs, LINES, ROWS, SEED};

    #[test]
    fn a_seed_makes_the_same_files() {
        for (name, make) in FILES {
            let text = make(&mut Rng::with_seed(SEED));
            assert!(!text.is_empty() && text == make(&mut Rng::with_seed(SEED)), "{name}");
        }
    }

    #[test]
    fn a_file_has_as_many_lines_as_it_is_said_to() {
        let lines = |name: &str| {
            let (_, make) = FILES.iter().find(|(file, _)| *file == name).unwrap();
            make(&mut Rng::with_seed(SEED)).lines().count() as u64
        };
        assert_eq!(lines("lines.txt"), LINES);
        assert!(lines("rows.sql") > ROWS);
    }

    #[test]
    fn a_file_that_was_changed_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("inputs/rows.sql");
        let inputs = Inputs::below(folder.path());
        inputs.write().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, "changed").unwrap();
        inputs.write().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        assert_eq!(inputs.filled(".read INPUTS/rows.sql"), format!(".read {}", path.display()));
    }
}
