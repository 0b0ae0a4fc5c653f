//! The web example: its routes and refusals, its load test, and its stop on Ctrl-C.
//!
//! The example's own modules run here, in this process and on free loopback ports.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use axum::Router;
use clap::Parser;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use web_service::connection::{Answer, Connection};
use web_service::failure::Failure;
use web_service::load;
use web_service::options::{LoadPlan, Options, Plan, ServePlan};
use web_service::server::Server;

#[path = "../examples/web_service/mod.rs"]
#[expect(dead_code, reason = "`run` is for the examples")]
mod web_service;

const ANY_PORT: &str = "127.0.0.1:0";

/// A service of its own for a test, and a connection to it.
struct Service {
    server: Server,
    connection: Connection,
}

impl Service {
    async fn with_capacity(records: usize) -> Service {
        let server = Server::start(ANY_PORT.parse().unwrap(), records).await.unwrap();
        let connection = Connection::open(server.address()).await.unwrap();
        Service { server, connection }
    }

    async fn ask(&mut self, method: Method, path: &str, body: &str) -> Answer {
        self.connection.ask(method, path, body.to_owned()).await.unwrap()
    }

    async fn create(&mut self, name: &str) -> Answer {
        self.ask(Method::POST, "/records", &fields(name).to_string()).await
    }

    async fn stop(self) {
        drop(self.connection);
        self.server.stop().await.unwrap();
    }
}

fn fields(name: &str) -> Value {
    json!({
        "owner": "tests",
        "name": name,
        "note": "with \"quotes\" and ünïcode",
        "number": 7,
        "tags": ["a", "b"],
        "attributes": { "size": { "height": 3, "deep": [1, true, null] } },
    })
}

/// Runs a test body on a runtime of its own.
fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(test);
}

#[test]
fn a_record_is_created_read_and_deleted() {
    run(async {
        let mut service = Service::with_capacity(10).await;
        let record = json!({ "id": 1, "fields": fields("lamp") });

        let created = service.create("lamp").await;
        assert_eq!(created.location(), Some("/records/1"));
        assert_eq!(created.json::<Value>(StatusCode::CREATED).unwrap(), record);

        let read = service.ask(Method::GET, "/records/1", "").await;
        assert_eq!(read.json::<Value>(StatusCode::OK).unwrap(), record);

        let deleted = service.ask(Method::DELETE, "/records/1", "").await;
        assert_eq!((deleted.status(), deleted.text()), (StatusCode::NO_CONTENT, String::new()));

        for method in [Method::GET, Method::DELETE] {
            let gone = service.ask(method, "/records/1", "").await;
            assert_eq!(gone.status(), StatusCode::NOT_FOUND);
            assert_eq!(gone.text(), r#"{"error":"no record 1"}"#);
        }
        service.stop().await;
    });
}

#[test]
fn pages_follow_each_other_to_the_end() {
    run(async {
        let mut service = Service::with_capacity(10).await;
        for name in ["one", "two", "three", "four", "five"] {
            service.create(name).await;
        }
        service.ask(Method::DELETE, "/records/2", "").await;
        let pages = [
            ("/records?limit=2", vec![1, 3], Some(3)),
            ("/records?limit=2&after=3", vec![4, 5], None),
            ("/records?limit=2&after=5", vec![], None),
            ("/records?after=1", vec![3, 4, 5], None),
            ("/records", vec![1, 3, 4, 5], None),
        ];
        for (path, ids, next) in pages {
            let page: Value =
                service.ask(Method::GET, path, "").await.json(StatusCode::OK).unwrap();
            let records = page["records"].as_array().unwrap().iter();
            let listed: Vec<_> = records.map(|it| it["id"].as_u64().unwrap()).collect();
            assert_eq!((listed, page["next"].as_u64()), (ids, next), "{path}");
        }
        service.stop().await;
    });
}

#[test]
fn refusals_say_what_to_change() {
    let long_name = fields(&"n".repeat(201)).to_string();
    let many_tags = json!({ "owner": "o", "name": "n", "number": 1, "tags": vec!["t"; 33] });
    let no_owner = json!({ "name": "n", "number": 1 }).to_string();
    let extra = json!({ "owner": "o", "name": "n", "number": 1, "colour": "red" }).to_string();
    let cases = [
        (Method::POST, "/records", "{", 400, "EOF while parsing"),
        (Method::POST, "/records", "", 400, "EOF while parsing"),
        (Method::POST, "/records", "[]", 400, "invalid length 0"),
        (Method::POST, "/records", &no_owner, 400, "missing field `owner`"),
        (Method::POST, "/records", &extra, 400, "unknown field `colour`"),
        (Method::POST, "/records", &fields("").to_string(), 400, "give the record a name"),
        (Method::POST, "/records", &long_name, 400, "use at most 200"),
        (Method::POST, "/records", &many_tags.to_string(), 400, "use at most 32"),
        (Method::GET, "/records/lamp", "", 400, "lamp"),
        (Method::DELETE, "/records/-1", "", 400, "-1"),
        (Method::GET, "/records/18446744073709551616", "", 400, "18446744073709551616"),
        (Method::GET, "/records?limit=0", "", 400, "use 1 to 100"),
        (Method::GET, "/records?limit=101", "", 400, "use 1 to 100"),
        (Method::GET, "/records?limit=ten", "", 400, "limit"),
        (Method::GET, "/records?before=3", "", 400, "unknown field `before`"),
        (Method::GET, "/records/1", "", 404, "no record 1"),
        (Method::GET, "/lamps", "", 404, "no route `/lamps`"),
        (Method::PUT, "/records", "", 405, "does not take PUT"),
        (Method::POST, "/records/1", "", 405, "does not take POST"),
    ];
    run(async {
        let mut service = Service::with_capacity(10).await;
        for (method, path, body, status, reason) in cases {
            let answer = service.ask(method.clone(), path, body).await;
            let text = answer.text();
            assert_eq!(answer.status(), status, "{method} {path} {body}: {text}");
            let error: Value = serde_json::from_str(&text).unwrap();
            let said = error["error"].as_str().unwrap();
            assert!(said.contains(reason), "{method} {path} {body}: {said}");
        }
        assert_eq!(service.server.records_held(), 0);
        service.stop().await;
    });
}

#[test]
fn a_body_may_have_64_kib_and_no_more() {
    // Blanks after a record do not make it another one.
    let body = |bytes: usize| {
        let mut body = fields("lamp").to_string();
        body.push_str(&" ".repeat(bytes - body.len()));
        body
    };
    run(async {
        let mut service = Service::with_capacity(10).await;
        let fits = service.ask(Method::POST, "/records", &body(64 * 1024)).await;
        assert_eq!(fits.status(), StatusCode::CREATED, "{}", fits.text());
        let too_large = service.ask(Method::POST, "/records", &body(64 * 1024 + 1)).await;
        assert_eq!(too_large.status(), StatusCode::PAYLOAD_TOO_LARGE);
        assert!(too_large.text().contains("send at most 65536 bytes"), "{}", too_large.text());
        service.stop().await;
    });
}

#[test]
fn a_body_must_be_declared_as_json() {
    run(async {
        let service = Service::with_capacity(10).await;
        let mut stream = TcpStream::connect(service.server.address()).unwrap();
        let head = "POST /records HTTP/1.1\r\nhost: test\r\nconnection: close\r\n";
        stream.write_all(format!("{head}content-length: 2\r\n\r\n{{}}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 415 "), "{answer}");
        assert!(answer.contains("Content-Type: application/json"), "{answer}");
        service.stop().await;
    });
}

#[test]
fn a_stop_waits_for_a_request_that_has_begun() {
    run(async {
        let Service { server, connection } = Service::with_capacity(10).await;
        drop(connection);
        let body = fields("lamp").to_string();
        let bytes = body.len();
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let head = "POST /records HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\n";
        let wait = format!("content-length: {bytes}\r\nexpect: 100-continue\r\n\r\n");
        stream.write_all(format!("{head}{wait}").as_bytes()).unwrap();
        // The service says this when it begins to read the body.
        let mut go_on = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
        stream.read_exact(&mut go_on).unwrap();
        assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");

        let stop = tokio::spawn(server.stop());
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!stop.is_finished());
        stream.write_all(body.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
        stop.await.unwrap().unwrap();
    });
}

#[test]
fn a_full_store_takes_a_record_again_after_a_delete() {
    run(async {
        let mut service = Service::with_capacity(1).await;
        service.create("lamp").await;
        let full = service.create("chair").await;
        assert_eq!(full.status(), StatusCode::INSUFFICIENT_STORAGE);
        assert!(full.text().contains("the store is full with 1 records"), "{}", full.text());
        service.ask(Method::DELETE, "/records/1", "").await;
        assert_eq!(service.create("chair").await.location(), Some("/records/2"));
        service.stop().await;
    });
}

fn plan(arguments: &str) -> Result<Plan, Failure> {
    let words = std::iter::once("web").chain(arguments.split_whitespace());
    match Options::try_parse_from(words) {
        Ok(options) => options.plan(),
        Err(error) => Err(Failure::CouldNotRun(error.to_string())),
    }
}

fn load_plan(arguments: &str) -> LoadPlan {
    match plan(arguments).unwrap() {
        Plan::Load(plan) => plan,
        Plan::Serve(plan) => panic!("{plan:?}"),
    }
}

#[test]
fn a_load_test_finds_every_answer_as_expected() {
    // Few records, so that the clients meet full and empty shares; enough requests to reconnect.
    let plan = load_plan("--requests 9001 --clients 4 --records 41 --seed 3");
    let allocator_report = || Some("  64 bytes: 12 blocks\n".to_owned());
    let report = web_service::test_load(&plan, "a test", allocator_report).unwrap();
    assert_eq!(report.tally.requests().iter().sum::<u64>(), 9001);
    assert!(report.tally.requests().iter().all(|&count| count > 0));
    assert!(report.records_held <= 41);

    let text = report.to_string();
    assert!(text.starts_with("web service on a test\n"), "{text}");
    assert!(text.contains("9001 from 4 clients with seed 3\n"), "{text}");
    assert!(text.ends_with("what the allocator served\n  64 bytes: 12 blocks"), "{text}");
}

#[test]
fn the_same_seed_sends_the_same_requests() {
    let requests = |seed: u64| {
        let plan = load_plan(&format!("--requests 2000 --clients 3 --records 60 --seed {seed}"));
        let report = web_service::test_load(&plan, "a test", || None).unwrap();
        (report.tally.requests(), report.records_held)
    };
    assert_eq!(requests(5), requests(5));
    assert_ne!(requests(5), requests(6));
}

/// What a client says about a service that answers every request with `status` and `body`.
fn objection_to(status: StatusCode, body: &'static str) -> String {
    let mut objection = None;
    run(async {
        let listener = tokio::net::TcpListener::bind(ANY_PORT).await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(move || async move { (status, body) });
        let server = tokio::spawn(axum::serve(listener, router).into_future());
        match load::send(&load_plan("--requests 9 --clients 1 --records 5"), address).await {
            Err(failure) => {
                assert_eq!(failure.exit_code(), 1, "{failure}");
                objection = Some(failure.to_string());
            }
            Ok(_) => panic!("every answer is as expected"),
        }
        server.abort();
    });
    objection.unwrap()
}

#[test]
fn a_wrong_answer_is_told_with_what_was_expected() {
    let status = objection_to(StatusCode::OK, "fine");
    assert!(status.starts_with("client 0, request 1: POST /records\n"), "{status}");
    assert!(status.ends_with("expected 201 Created\n  got 200 OK fine"), "{status}");

    let body = objection_to(
        StatusCode::CREATED,
        r#"{"id":1,"fields":{"owner":"client-0","name":"other","number":1}}"#,
    );
    assert!(body.contains(r#"expected {"owner":"client-0","name":""#), "{body}");
    assert!(body.contains(r#"got 201 Created {"id":1"#), "{body}");
}

#[test]
fn bad_arguments_say_how_to_mend_them() {
    let cases = [
        ("--clients 0", "0 is not in 1..=1024"),
        ("--requests 0", "0 is not in 1..="),
        ("--records none", "invalid digit"),
        ("--clients 8 --records 5", "give --records at least 8, or fewer --clients"),
        ("--clients 8 --requests 7", "give --requests at least 8, or fewer --clients"),
        ("--listen localhost", "expected an IP address and a port, like 127.0.0.1:8080"),
        ("--listen --seed 4", "cannot be used with"),
        ("--sed 4", "unexpected argument '--sed'"),
    ];
    for (arguments, reason) in cases {
        let said = plan(arguments).unwrap_err().to_string();
        assert!(said.contains(reason), "{arguments}: {said}");
    }
}

#[test]
fn an_address_in_use_is_told() {
    let taken = TcpListener::bind(ANY_PORT).unwrap();
    let address = taken.local_addr().unwrap();
    let plan = ServePlan { address, records: 1, server_threads: 1 };
    let failure = web_service::serve(&plan, "a test").unwrap_err();
    assert_eq!(failure.exit_code(), 2);
    let said = failure.to_string();
    assert!(said.starts_with(&format!("could not listen on {address}: ")), "{said}");
    assert!(said.ends_with("choose another port, or 0 for a free one"), "{said}");
}

/// Not a test: the process that `ctrl_c_stops_the_service_gracefully` starts.
#[test]
#[ignore = "serves until Ctrl-C"]
fn child_that_serves() {
    let Plan::Serve(plan) = plan("--listen").unwrap() else { panic!("not a plan to serve") };
    web_service::serve(&plan, "a test").unwrap();
}

/// Ended at the latest when its test is over.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // Errors if it has ended already, as it should have.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn ctrl_c_stops_the_service_gracefully() {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["child_that_serves", "--exact", "--ignored", "--nocapture"]);
    let mut child = Killed(child.stdout(Stdio::piped()).spawn().unwrap());
    let mut stdout = BufReader::new(child.0.stdout.take().unwrap());
    let address = announced_address(&mut stdout);
    run(async {
        // Stays open: a graceful stop does not wait for connections without a request.
        let mut connection = Connection::open(address).await.unwrap();
        let body = fields("lamp").to_string();
        let created = connection.ask(Method::POST, "/records", body).await.unwrap();
        assert_eq!(created.status(), StatusCode::CREATED);

        let kill = format!("kill -INT {}", child.0.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        assert!(ends_within(&mut child.0, Duration::from_secs(5)), "still serving");
        assert!(Connection::open(address).await.is_err());
    });
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("test result: ok. 1 passed"), "{rest}");
}

/// The address in the line `serving on http://ADDRESS with …`.
fn announced_address(stdout: &mut impl BufRead) -> SocketAddr {
    for line in stdout.lines() {
        let line = line.unwrap();
        if let Some((_, rest)) = line.split_once("serving on http://") {
            assert!(rest.ends_with("with a test; Ctrl-C stops"), "{line}");
            return rest.split(' ').next().unwrap().parse().unwrap();
        }
    }
    panic!("the service ended before it told its address")
}

fn ends_within(child: &mut Child, patience: Duration) -> bool {
    let start = Instant::now();
    while start.elapsed() < patience {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}
