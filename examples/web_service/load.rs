//! All clients together: starts them, shows how far they are, gathers what they measured.

use std::fmt;
use std::net::SocketAddr;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use tokio::task::JoinSet;

use super::client::Client;
use super::failure::Failure;
use super::options::LoadPlan;
use super::tally::Tally;

/// Sends the requests of the plan to the service at `address`, up to the first wrong answer.
pub(crate) async fn send(plan: &LoadPlan, address: SocketAddr) -> Result<Tally, Failure> {
    let progress = progress_bar(plan.requests);
    let mut clients = JoinSet::new();
    for index in 0..plan.clients {
        clients.spawn(Client::connect(plan, index, address).await?.run(progress.clone()));
    }
    let tally = gather(clients).await;
    progress.finish_and_clear();
    tally
}

/// The first failure ends all clients: the others are aborted as the set is dropped.
async fn gather(mut clients: JoinSet<Result<Tally, Failure>>) -> Result<Tally, Failure> {
    let mut sum = Tally::new();
    while let Some(ended) = clients.join_next().await {
        let tally = ended.map_err(|error| Failure::could_not("run a client to its end", error))?;
        sum.add(&tally?);
    }
    Ok(sum)
}

/// On stderr, and only if that is a terminal.
fn progress_bar(requests: u64) -> ProgressBar {
    let template = "{bar:40} {pos}/{len} requests, {rate}/s, {eta} left";
    let rate = |state: &ProgressState, line: &mut dyn fmt::Write| {
        // A line that cannot be written is not shown, and nothing else is lost.
        let _ = write!(line, "{:.0}", state.per_sec());
    };
    let style = ProgressStyle::with_template(template).expect("the template is constant");
    ProgressBar::new(requests).with_style(style.with_key("rate", rate))
}
