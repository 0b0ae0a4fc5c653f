//! A database in memory: tables are filled, joined, grouped, changed and dropped.

use gluesql_core::data::Value;
use gluesql_core::prelude::{Glue, Payload};
use gluesql_memory_storage::MemoryStorage;

use super::text::{self, word, words};
use crate::kernel::{Group, Kernel, parameter, seed};
use crate::measure::{Measured, measure};
use crate::random::Random;

pub(super) const KERNEL: Kernel = Kernel {
    name: "query",
    about: "gluesql fills two tables in memory, by one INSERT for 100 rows, runs seven queries \
            and changes over them, and drops them; a tenth of the rows are customers, the others \
            their orders",
    group: Group::Program,
    operation: "row",
    parameters: &[parameter("passes", 1), parameter("rows", 10_000), seed(42)],
    run,
};

const TABLES: [&str; 2] = [
    "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, region TEXT, credit FLOAT)",
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, item TEXT, pieces INTEGER, \
     price FLOAT, note TEXT NULL)",
];

/// What is asked for is ordered by what no two rows have in common.
const QUERIES: [&str; 7] = [
    "SELECT region, COUNT(*), SUM(price * pieces) FROM orders \
     JOIN customers ON customers.id = orders.customer GROUP BY region ORDER BY region",
    "SELECT item, COUNT(*), AVG(price) FROM orders GROUP BY item HAVING COUNT(*) > 3 ORDER BY item",
    "SELECT id, name, credit FROM customers WHERE credit > 500 AND name LIKE '%er%' \
     ORDER BY credit DESC, id",
    "SELECT o.id, c.name, o.item, o.note FROM orders o JOIN customers c ON c.id = o.customer \
     WHERE o.pieces >= 8 ORDER BY o.price, o.id LIMIT 200",
    "UPDATE orders SET price = price * 0.5, note = 'halved' WHERE pieces = 3",
    "DELETE FROM orders WHERE note IS NULL",
    "SELECT id, item, note FROM orders ORDER BY item, id",
];

fn run(parameters: &[u64]) -> Measured {
    let &[passes, rows, seed] = parameters else { unreachable!("one number for each parameter") };
    let inserts = inserts(rows, &mut Random::new(seed));
    measure(passes * rows, || work(passes, &inserts))
}

#[inline(never)]
fn work(passes: u64, inserts: &[String]) -> u64 {
    (0..passes).map(|_| pass(inserts)).sum()
}

fn pass(inserts: &[String]) -> u64 {
    let mut database = Glue::new(MemoryStorage::default());
    let inserts = inserts.iter().map(String::as_str);
    let statements = TABLES.into_iter().chain(inserts).chain(QUERIES);
    statements.map(|statement| sum(&execute(&mut database, statement))).sum()
}

fn execute(database: &mut Glue<MemoryStorage>, statement: &str) -> Vec<Payload> {
    database.execute(statement).expect("the statements fit the tables")
}

/// Of the values that were found, or the number of rows that were changed.
fn sum(payloads: &[Payload]) -> u64 {
    let sum = |payload: &Payload| match payload {
        Payload::Select { rows, .. } => rows.iter().flatten().map(sum_of_value).sum(),
        Payload::Insert(rows) | Payload::Update(rows) | Payload::Delete(rows) => *rows as u64,
        _ => 0,
    };
    payloads.iter().map(sum).sum()
}

fn sum_of_value(value: &Value) -> u64 {
    match value {
        Value::Str(text) => text::sum(text),
        Value::I64(number) => *number as u64,
        Value::F64(number) => number.abs() as u64,
        _ => 0,
    }
}

/// Customers first, since orders name them by number.
fn inserts(rows: u64, random: &mut Random) -> Vec<String> {
    let customers = rows.div_ceil(10);
    let mut inserts = Vec::new();
    let lines = (0..customers).map(|id| customer(id, random)).collect();
    in_hundreds("customers", lines, &mut inserts);
    let lines = (customers..rows).map(|id| order(id, random.below(customers), random)).collect();
    in_hundreds("orders", lines, &mut inserts);
    inserts
}

fn in_hundreds(table: &str, lines: Vec<String>, inserts: &mut Vec<String>) {
    for lines in lines.chunks(100) {
        inserts.push(format!("INSERT INTO {table} VALUES {}", lines.join(", ")));
    }
}

fn customer(id: u64, random: &mut Random) -> String {
    let (name, region) = (words(random, 2), word(random));
    format!("({id}, '{name}', '{region}', {}.5)", random.below(1000))
}

fn order(id: u64, customer: u64, random: &mut Random) -> String {
    let item = format!("{} {}", word(random), random.below(10));
    let (pieces, price) = (random.within(1, 9), random.within(1, 400));
    let note = match random.below(4) {
        0 => "NULL".to_owned(),
        count => format!("'{}'", words(random, 3 * count)),
    };
    format!("({id}, {customer}, '{item}', {pieces}, {price}.25, {note})")
}

#[cfg(test)]
mod tests {
    use gluesql_core::prelude::{Glue, Payload};
    use gluesql_memory_storage::MemoryStorage;

    use super::{QUERIES, TABLES, execute, inserts};
    use crate::random::Random;

    #[test]
    fn every_row_is_inserted_and_every_query_finds_or_changes_some() {
        let mut database = Glue::new(MemoryStorage::default());
        for table in TABLES {
            execute(&mut database, table);
        }
        let mut inserted = 0;
        for statement in inserts(1010, &mut Random::new(42)) {
            let Payload::Insert(rows) = execute(&mut database, &statement)[0] else {
                panic!("{statement}")
            };
            inserted += rows;
        }
        assert_eq!(inserted, 1010);
        for query in QUERIES {
            match &execute(&mut database, query)[0] {
                Payload::Select { rows, .. } => assert!(rows.len() > 2, "{query}"),
                Payload::Update(rows) | Payload::Delete(rows) => assert!(*rows > 2, "{query}"),
                other => panic!("{query}: {other:?}"),
            }
        }
    }
}
