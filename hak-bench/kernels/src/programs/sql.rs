//! SQL that is read into a syntax tree and written again.

use gluesql_core::sqlparser::dialect::GenericDialect;
use gluesql_core::sqlparser::parser::Parser;

use super::text::{self, word, words};
use crate::kernel::{Group, Kernel, parameter, seed};
use crate::measure::{Measured, measure};
use crate::random::Random;

pub(super) const KERNEL: Kernel = Kernel {
    name: "sql",
    about: "sqlparser reads statements of some 500 bytes, most of them SELECT with joins and \
            subqueries, and writes each out again; one tree is kept at a time",
    group: Group::Program,
    operation: "statement",
    parameters: &[parameter("passes", 3), parameter("statements", 1_000), seed(42)],
    run,
};

fn run(parameters: &[u64]) -> Measured {
    let &[passes, statements, seed] = parameters else {
        unreachable!("one number for each parameter")
    };
    let mut random = Random::new(seed);
    let input: Vec<String> = (0..statements).map(|_| statement(&mut random)).collect();
    measure(passes * statements, || work(passes, &input))
}

#[inline(never)]
fn work(passes: u64, input: &[String]) -> u64 {
    (0..passes).map(|_| input.iter().map(|it| text::sum(&rewrite(it))).sum::<u64>()).sum()
}

fn rewrite(statement: &str) -> String {
    let tree = Parser::parse_sql(&GenericDialect {}, statement);
    let tree = tree.expect("the makers below write this dialect");
    tree.iter().map(ToString::to_string).collect()
}

fn statement(random: &mut Random) -> String {
    match random.below(10) {
        0 => insert(random),
        1 => update(random),
        2 => create(random),
        3 => format!("WITH recent AS ({}) {}", select(random, 1), select(random, 1)),
        _ => select(random, 2),
    }
}

/// With conditions that hold further queries, at most `depth` in one another.
fn select(random: &mut Random, depth: u64) -> String {
    let (left, right, kept) = (name(random), name(random), name(random));
    let total = column(random);
    let mut text = format!(
        "SELECT a.{kept}, COUNT(*) AS entries, SUM(b.{total}) AS total, \
         CASE WHEN b.{total} > {} THEN 'large' ELSE 'small' END AS size \
         FROM {left} AS a LEFT JOIN {right} AS b ON a.{left}_id = b.id WHERE {}",
        random.below(1000),
        condition(random, depth),
    );
    for _ in 0..random.below(3) {
        text += &format!(" AND {}", condition(random, depth));
    }
    if random.below(2) == 0 {
        text += &format!(" GROUP BY a.{kept} HAVING COUNT(*) > {}", random.below(20));
    }
    text += &format!(" ORDER BY total DESC, a.{kept} LIMIT {}", random.within(1, 100));
    text
}

fn condition(random: &mut Random, depth: u64) -> String {
    let column = column(random);
    match random.below(6) {
        0 => format!("a.{column} BETWEEN {} AND {}", random.below(100), random.within(100, 999)),
        1 => format!("b.{column} LIKE '%{}%'", word(random)),
        2 => format!("a.{column} IN ('{}', '{}', '{}')", word(random), word(random), word(random)),
        3 => format!("(a.{column} IS NOT NULL OR b.{column} <> {})", random.below(50)),
        4 if depth > 0 => format!("EXISTS ({})", select(random, depth - 1)),
        _ => format!("a.{column} * (1 + b.{column}) >= {}.5", random.below(10_000)),
    }
}

fn insert(random: &mut Random) -> String {
    let (table, text, number) = (name(random), column(random), column(random));
    let rows: Vec<String> = (0..random.within(2, 8))
        .map(|id| format!("({id}, '{}', {}.25)", words(random, 3), random.below(10_000)))
        .collect();
    format!("INSERT INTO {table} (id, {text}_text, {number}) VALUES {}", rows.join(", "))
}

fn update(random: &mut Random) -> String {
    let (table, column, text) = (name(random), column(random), words(random, 4));
    let condition = condition(random, 1);
    format!("UPDATE {table} SET {column} = {column} + 1, note = '{text}' WHERE {condition}")
}

fn create(random: &mut Random) -> String {
    let columns: Vec<String> = (0..random.within(3, 8))
        .map(|index| format!("{}_{index} VARCHAR(80) DEFAULT '{}'", column(random), word(random)))
        .collect();
    let (table, columns) = (name(random), columns.join(", "));
    format!("CREATE TABLE {table} (id BIGINT NOT NULL PRIMARY KEY, {columns})")
}

/// Of a table. No keyword ends like this.
fn name(random: &mut Random) -> String {
    format!("{}_list", word(random))
}

fn column(random: &mut Random) -> String {
    format!("{}_{}", word(random), word(random))
}

#[cfg(test)]
mod tests {
    use super::{rewrite, statement};
    use crate::random::Random;

    #[test]
    fn statements_are_as_long_as_is_told_and_stay_the_same_when_written_again() {
        let mut random = Random::new(42);
        let statements: Vec<_> = (0..1000).map(|_| statement(&mut random)).collect();
        for statement in &statements {
            assert_eq!(rewrite(statement), *statement);
        }
        let bytes = statements.iter().map(String::len).sum::<usize>() / statements.len();
        assert!((400..600).contains(&bytes), "{bytes}");
        for start in ["SELECT", "WITH", "INSERT", "UPDATE", "CREATE"] {
            assert!(statements.iter().any(|statement| statement.starts_with(start)), "{start}");
        }
    }
}
