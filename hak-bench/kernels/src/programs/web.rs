//! The web service of the examples, with its clients in the same process.

use std::cmp::min;

use web_service::options::LoadPlan;

use super::stop::stop;
use crate::kernel::{Group, Kernel, parameter, seed};
use crate::measure::{Measured, measure};

#[path = "../../../../examples/web_service/mod.rs"]
#[expect(dead_code, reason = "the command line and the report are for the examples")]
mod web_service;

pub(super) const KERNEL: Kernel = Kernel {
    name: "web",
    about: "the web service of the examples holds up to 2000 JSON records and answers 8 clients \
            over loopback, who check every answer; two threads serve, one sends",
    group: Group::Program,
    operation: "request",
    parameters: &[parameter("requests", 12_000), seed(1)],
    run,
};

const CLIENTS_MAX: u64 = 8;
const RECORDS: usize = 2_000;

fn run(parameters: &[u64]) -> Measured {
    let &[requests, seed] = parameters else { unreachable!("one number for each parameter") };
    let plan = LoadPlan {
        requests,
        clients: min(CLIENTS_MAX, requests),
        records: RECORDS,
        seed,
        server_threads: 2,
        client_threads: 1,
    };
    measure(requests, || work(&plan))
}

/// Which requests there are, and so how many records are held at the end, follows from the seed.
#[inline(never)]
fn work(plan: &LoadPlan) -> u64 {
    let report = web_service::test_load(plan, "the allocator of this subject", || None);
    let report = report.unwrap_or_else(|why| stop(why));
    let requests = report.tally.requests();
    let sum: u64 = (1..).zip(requests).map(|(kind, count): (u64, u64)| kind * count).sum();
    sum + report.records_held as u64
}
