//! The command line: what was typed (`Options`), and what it means (`Plan`).

use std::net::SocketAddr;

use clap::Parser;

use super::failure::Failure;

/// A JSON web service that sends itself requests and checks every answer
#[derive(Debug, Parser)]
#[command(version = None)]
pub(crate) struct Options {
    /// Requests to send, from all clients together
    #[arg(long, value_name = "N", default_value_t = 400_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    requests: u64,

    /// Clients that send at the same time, each on a connection of its own
    #[arg(long, value_name = "N", default_value_t = 8)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1024))]
    clients: u64,

    /// Records that the service may hold at once; the clients share them equally
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    records: u64,

    /// Chooses the requests and the records: the same seed sends the same ones again
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Threads that serve
    #[arg(long, value_name = "N", default_value_t = 2)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=256))]
    server_threads: u64,

    /// Threads that the clients run on
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=256))]
    client_threads: u64,

    /// Only serve, until Ctrl-C, on this address; without one on a free port of 127.0.0.1
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:0")]
    #[arg(value_parser = parse_address)]
    #[arg(conflicts_with_all = ["requests", "clients", "seed", "client_threads"])]
    listen: Option<SocketAddr>,
}

/// What to do.
#[derive(Debug)]
pub(crate) enum Plan {
    Serve(ServePlan),
    Load(LoadPlan),
}

/// Serve only.
#[derive(Debug)]
pub(crate) struct ServePlan {
    pub(crate) address: SocketAddr,
    pub(crate) records: usize,
    pub(crate) server_threads: usize,
}

/// Serve, and send requests to it.
#[derive(Debug)]
pub(crate) struct LoadPlan {
    pub(crate) requests: u64,
    pub(crate) clients: u64,
    pub(crate) records: usize,
    pub(crate) seed: u64,
    pub(crate) server_threads: usize,
    pub(crate) client_threads: usize,
}

impl Options {
    /// What the options mean together.
    pub(crate) fn plan(&self) -> Result<Plan, Failure> {
        let (records, server_threads) = (self.records as usize, self.server_threads as usize);
        if let Some(address) = self.listen {
            return Ok(Plan::Serve(ServePlan { address, records, server_threads }));
        }
        self.every_client_has_a_share("requests", self.requests)?;
        self.every_client_has_a_share("records", self.records)?;
        Ok(Plan::Load(LoadPlan {
            requests: self.requests,
            clients: self.clients,
            records,
            seed: self.seed,
            server_threads,
            client_threads: self.client_threads as usize,
        }))
    }

    fn every_client_has_a_share(&self, what: &str, count: u64) -> Result<(), Failure> {
        let clients = self.clients;
        if count >= clients {
            return Ok(());
        }
        let text = format!(
            "{count} {what} are too few for {clients} clients; \
             give --{what} at least {clients}, or fewer --clients"
        );
        Err(Failure::CouldNotRun(text))
    }
}

impl LoadPlan {
    /// How many of `total` are those of client `index`: equal shares, the first ones one larger.
    pub(crate) fn share(&self, total: u64, index: u64) -> u64 {
        total / self.clients + u64::from(index < total % self.clients)
    }
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected an IP address and a port, like 127.0.0.1:8080".to_owned())
}
