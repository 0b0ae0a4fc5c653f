//! A web service that holds JSON records in memory, and the load test that checks its answers.
//!
//! Without arguments the program serves on a free loopback port and sends itself requests over
//! TCP, from several clients at once. Every answer is compared with what its client knows to be
//! stored. With `--listen` it only serves.
//!
//! | file | what is in it |
//! |---|---|
//! | `options.rs` | the command line, and the plan that it means |
//! | `record.rs`, `store.rs` | what is stored, and where |
//! | `service.rs`, `server.rs` | routes and their answers; start and graceful stop |
//! | `script.rs` | which request comes next, and what its record holds: from the seed alone |
//! | `connection.rs`, `client.rs` | one HTTP connection; one client that checks every answer |
//! | `load.rs` | all clients together, and the progress bar |
//! | `tally.rs`, `memory.rs`, `report.rs` | counts and latencies, memory in use, the report |
//! | `failure.rs` | what can go wrong, and the exit code that it means |

use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use tokio::runtime::{self, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use failure::Failure;
use memory::Memory;
use options::{LoadPlan, Options, Plan, ServePlan};
use report::Report;
use server::Server;

mod client;
pub(crate) mod connection;
pub(crate) mod failure;
pub(crate) mod load;
mod memory;
pub(crate) mod options;
pub(crate) mod record;
pub(crate) mod report;
mod script;
pub(crate) mod server;
mod service;
mod store;
mod tally;

/// The program: reads the command line, does what it says and reports to stdout.
///
/// `name` says which allocator is in use. `allocator_report` is asked once, after the last request
/// and while the records are still held; what it returns closes the report.
pub(crate) fn run(name: &str, allocator_report: impl Fn() -> Option<String>) -> ExitCode {
    let done = Options::parse().plan().and_then(|plan| match plan {
        Plan::Serve(plan) => serve(&plan, name),
        Plan::Load(plan) => test_load(&plan, name, allocator_report).and_then(|it| print(&it)),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Serves until Ctrl-C, then lets the requests that have begun finish.
pub(crate) fn serve(plan: &ServePlan, name: &str) -> Result<(), Failure> {
    let runtime = start_runtime("server", plan.server_threads)?;
    runtime.block_on(async {
        // Before the address is printed: who reads it may stop the service at once.
        let mut interrupt = signal(SignalKind::interrupt())
            .map_err(|error| Failure::could_not("listen for Ctrl-C", error))?;
        let server = Server::start(plan.address, plan.records).await?;
        print(format!("serving on http://{} with {name}; Ctrl-C stops", server.address()))?;
        interrupt.recv().await;
        server.stop().await
    })
}

/// Starts the service, sends it the requests of the plan, and stops it again.
///
/// Service and clients have threads of their own, so that a busy client cannot hold up an answer.
pub(crate) fn test_load<'a>(
    plan: &'a LoadPlan,
    name: &'a str,
    allocator_report: impl Fn() -> Option<String>,
) -> Result<Report<'a>, Failure> {
    let for_server = start_runtime("server", plan.server_threads)?;
    let for_clients = start_runtime("client", plan.client_threads)?;
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = for_server.block_on(Server::start(any_port, plan.records))?;

    let start = Instant::now();
    let tally = for_clients.block_on(load::send(plan, server.address()))?;
    let elapsed = start.elapsed();

    let records_held = server.records_held();
    let memory = Memory::read();
    let allocator = allocator_report();
    drop(for_clients);
    for_server.block_on(server.stop())?;
    drop(for_server);
    let memory_at_end = Memory::read();
    Ok(Report { name, plan, tally, elapsed, records_held, memory, memory_at_end, allocator })
}

fn start_runtime(name: &str, threads: usize) -> Result<Runtime, Failure> {
    runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name(name)
        .enable_all()
        .build()
        .map_err(|error| Failure::could_not(format!("start {threads} {name} threads"), error))
}

/// Writes a line to stdout, now: another program may wait for it.
fn print(line: impl std::fmt::Display) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}")
        .and_then(|()| stdout.flush())
        .map_err(|error| Failure::could_not("write to stdout", error))
}
