//! One client: sends the requests of its script and checks every answer.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Instant;

use hyper::body::Bytes;
use hyper::{Method, StatusCode};
use indicatif::ProgressBar;
use serde::Serialize;
use serde_json::Value;

use super::connection::{Answer, Connection};
use super::failure::Failure;
use super::options::LoadPlan;
use super::record::{Fields, Page, Record};
use super::script::{self, Held, Script, Step};
use super::tally::{Kind, Tally};

/// Requests on one connection before a new one is opened.
const CONNECTION_REQUESTS: u64 = 2_000;
/// Requests between two steps of the progress bar.
const PROGRESS_REQUESTS: u64 = 100;

pub(crate) struct Client {
    index: u64,
    seed: u64,
    clients: u64,
    requests: u64,
    address: SocketAddr,
    connection: Connection,
    script: Script,
    tally: Tally,
}

impl Client {
    pub(crate) async fn connect(
        plan: &LoadPlan,
        index: u64,
        address: SocketAddr,
    ) -> Result<Client, Failure> {
        let share = plan.share(plan.records as u64, index) as usize;
        Ok(Client {
            index,
            seed: plan.seed,
            clients: plan.clients,
            requests: plan.share(plan.requests, index),
            address,
            connection: Connection::open(address).await?,
            script: Script::new(plan.seed, index, share),
            tally: Tally::new(),
        })
    }

    /// Sends all requests of this client, up to the first wrong answer.
    pub(crate) async fn run(mut self, progress: ProgressBar) -> Result<Tally, Failure> {
        for request in 1..=self.requests {
            if request % CONNECTION_REQUESTS == 0 {
                self.connection = Connection::open(self.address).await?;
            }
            let step = self.script.next();
            self.carry_out(step).await.map_err(|failure| {
                failure.met_by(format_args!("client {}, request {request}", self.index))
            })?;
            if request % PROGRESS_REQUESTS == 0 {
                progress.inc(PROGRESS_REQUESTS);
            }
        }
        Ok(self.tally)
    }

    async fn carry_out(&mut self, step: Step) -> Result<(), Failure> {
        match step {
            Step::Create { number } => self.create(number).await,
            Step::Read(held) => self.read(held).await,
            Step::ReadGone { id } => self.read_gone(id).await,
            Step::List { after, limit } => self.list(after, limit).await,
            Step::Delete(held) => self.delete(held).await,
            Step::CreateCutOff { number } => self.create_cut_off(number).await,
        }
    }

    async fn create(&mut self, number: u64) -> Result<(), Failure> {
        let fields = self.fields(number);
        let answer = self.ask(Kind::Create, Method::POST, "/records", to_json(&fields)).await?;
        let record: Record = answer.json(StatusCode::CREATED)?;
        answer.expect(record.fields == fields, || to_text(&fields))?;
        let location = format!("/records/{}", record.id);
        let located = answer.location() == Some(location.as_str());
        answer.expect(located, || format!("the header location: {location}"))?;
        self.script.created(record.id, number);
        Ok(())
    }

    async fn read(&mut self, held: Held) -> Result<(), Failure> {
        let answer = self.ask(Kind::Read, Method::GET, &path(held.id), "").await?;
        let record: Record = answer.json(StatusCode::OK)?;
        let expected = Record { id: held.id, fields: self.fields(held.number) };
        answer.expect(record == expected, || to_text(&expected))
    }

    async fn read_gone(&mut self, id: u64) -> Result<(), Failure> {
        let answer = self.ask(Kind::ReadGone, Method::GET, &path(id), "").await?;
        let body: Value = answer.json(StatusCode::NOT_FOUND)?;
        let reason = format!("no record {id}");
        answer.expect(body["error"] == *reason, || reason)
    }

    async fn delete(&mut self, held: Held) -> Result<(), Failure> {
        let answer = self.ask(Kind::Delete, Method::DELETE, &path(held.id), "").await?;
        let right = answer.status() == StatusCode::NO_CONTENT && answer.text().is_empty();
        answer.expect(right, || "204 and no body")
    }

    async fn create_cut_off(&mut self, number: u64) -> Result<(), Failure> {
        let mut body = to_json(&self.fields(number));
        body.truncate(body.len() - 1);
        let answer = self.ask(Kind::CreateCutOff, Method::POST, "/records", body).await?;
        let body: Value = answer.json(StatusCode::BAD_REQUEST)?;
        answer.expect(body["error"].is_string(), || "400 and a body with an `error`")
    }

    async fn list(&mut self, after: u64, limit: u64) -> Result<(), Failure> {
        let path = format!("/records?limit={limit}&after={after}");
        let answer = self.ask(Kind::List, Method::GET, &path, "").await?;
        let page: Page<Record> = answer.json(StatusCode::OK)?;
        self.check_order(&answer, &page, after, limit)?;
        self.check_content(&answer, &page)?;
        self.check_own(&answer, &page, after)
    }

    /// Ids grow from `after` on, there are `limit` of them if there is a next page, else fewer.
    fn check_order(
        &self,
        answer: &Answer,
        page: &Page<Record>,
        after: u64,
        limit: u64,
    ) -> Result<(), Failure> {
        let grow = page.records.is_sorted_by(|before, it| before.id < it.id)
            && page.records.first().is_none_or(|first| after < first.id);
        answer.expect(grow, || format!("ids that grow from {after} on"))?;
        let count = page.records.len() as u64;
        let fits = match page.next {
            Some(next) => count == limit && page.records.last().is_some_and(|it| it.id == next),
            None => count <= limit,
        };
        answer.expect(fits, || format!("up to {limit} records, and the last id as `next`"))
    }

    /// Every record is just what its owner sent.
    fn check_content(&self, answer: &Answer, page: &Page<Record>) -> Result<(), Failure> {
        for Record { id, fields } in &page.records {
            let owner = script::client_of(&fields.owner).filter(|&it| it < self.clients);
            answer.expect(owner.is_some(), || format!("a client as the owner of record {id}"))?;
            let expected = owner.map(|owner| script::fields(self.seed, owner, fields.number));
            answer.expect(expected.as_ref() == Some(fields), || {
                format!("record {id} to be {}", to_text(&expected))
            })?;
        }
        Ok(())
    }

    /// Of this client's own records just those are on the page that it holds in that range.
    fn check_own(&self, answer: &Answer, page: &Page<Record>, after: u64) -> Result<(), Failure> {
        let own = script::owner(self.index);
        let mut listed: HashMap<u64, u64> = (page.records.iter())
            .filter(|record| record.fields.owner == own)
            .map(|record| (record.id, record.fields.number))
            .collect();
        let end = page.next.unwrap_or(u64::MAX);
        for held in self.script.held().iter().filter(|it| after < it.id && it.id <= end) {
            let number = listed.remove(&held.id);
            answer.expect(number == Some(held.number), || format!("record {} too", held.id))?;
        }
        answer.expect(listed.is_empty(), || format!("no deleted records like {listed:?}"))
    }

    fn fields(&self, number: u64) -> Fields {
        script::fields(self.seed, self.index, number)
    }

    /// Asks, and counts the request and the time until its answer.
    async fn ask(
        &mut self,
        kind: Kind,
        method: Method,
        path: &str,
        body: impl Into<Bytes>,
    ) -> Result<Answer, Failure> {
        let start = Instant::now();
        let answer = self.connection.ask(method, path, body).await?;
        self.tally.count(kind, start.elapsed());
        Ok(answer)
    }
}

fn path(id: u64) -> String {
    format!("/records/{id}")
}

fn to_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("a record has string keys only")
}

fn to_text(value: &impl Serialize) -> String {
    String::from_utf8_lossy(&to_json(value)).into_owned()
}
