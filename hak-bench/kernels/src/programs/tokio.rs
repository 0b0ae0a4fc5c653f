//! Tasks that send each other strings.

use std::collections::VecDeque;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::stop::stop;
use super::text::{self, words};
use crate::kernel::{Group, Kernel, parameter, seed};
use crate::measure::{Measured, measure};
use crate::random::Random;

pub(super) const KERNEL: Kernel = Kernel {
    name: "tokio",
    about: "on two worker threads 8 tasks send boxed requests of one to twelve words to 4 others, \
            each with up to 16 unanswered, and get a string back on a channel of its own",
    group: Group::Program,
    operation: "request",
    parameters: &[parameter("requests", 500_000), seed(42)],
    run,
};

const CLIENTS: u64 = 8;
const SERVICES: u64 = 4;
/// Requests of one client that may be unanswered.
const UNANSWERED_MAX: usize = 16;
/// Requests that may wait for one service.
const WAITING_MAX: usize = 64;

struct Request {
    text: String,
    answer: oneshot::Sender<String>,
}

fn run(parameters: &[u64]) -> Measured {
    let &[requests, seed] = parameters else { unreachable!("one number for each parameter") };
    let runtime = Builder::new_multi_thread().worker_threads(2).build();
    let runtime = runtime.unwrap_or_else(|why| stop(format_args!("could not start tokio: {why}")));
    measure(requests, || work(requests, seed, &runtime))
}

#[inline(never)]
fn work(requests: u64, seed: u64, runtime: &Runtime) -> u64 {
    runtime.block_on(exchange(requests, seed))
}

/// Ends when all tasks have ended. The sum does not depend on their order.
async fn exchange(requests: u64, seed: u64) -> u64 {
    let mut seeds = Random::new(seed);
    let mut tasks = JoinSet::new();
    let mut services = Vec::new();
    for _ in 0..SERVICES {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        services.push(sender);
        tasks.spawn(serve(receiver));
    }
    for client in 0..CLIENTS {
        let share = requests / CLIENTS + u64::from(client < requests % CLIENTS);
        tasks.spawn(ask(share, services.clone(), Random::new(seeds.next())));
    }
    drop(services);
    tasks.join_all().await.iter().sum()
}

/// Until all clients have ended.
async fn serve(mut requests: mpsc::Receiver<Box<Request>>) -> u64 {
    let mut sum = 0;
    while let Some(request) = requests.recv().await {
        let Request { text, answer } = *request;
        sum += text::sum(&text);
        answer.send(text.to_uppercase()).expect("the client waits for its answers");
    }
    sum
}

async fn ask(requests: u64, services: Vec<mpsc::Sender<Box<Request>>>, mut random: Random) -> u64 {
    let mut sum = 0;
    let mut unanswered = VecDeque::new();
    for _ in 0..requests {
        if unanswered.len() == UNANSWERED_MAX {
            sum += next_answer(&mut unanswered).await;
        }
        let count = random.within(1, 12);
        let (answer, answered) = oneshot::channel();
        let request = Box::new(Request { text: words(&mut random, count), answer });
        let service = &services[random.below(SERVICES) as usize];
        service.send(request).await.expect("services outlive their clients");
        unanswered.push_back(answered);
    }
    while !unanswered.is_empty() {
        sum += next_answer(&mut unanswered).await;
    }
    sum
}

/// Zero if there is none.
async fn next_answer(unanswered: &mut VecDeque<oneshot::Receiver<String>>) -> u64 {
    match unanswered.pop_front() {
        Some(answered) => text::sum(&answered.await.expect("services answer every request")),
        None => 0,
    }
}
