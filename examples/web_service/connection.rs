//! One HTTP connection that stays open from request to request.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use axum::http::header::{CONTENT_TYPE, HOST, LOCATION};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::failure::Failure;

/// How long an answer may take.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);
/// More of a text than this is not shown in a message.
const SHOWN_CHARS_MAX: usize = 400;

pub(crate) struct Connection {
    host: String,
    sender: SendRequest<Full<Bytes>>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Connection, Failure> {
        let cannot_connect =
            |why: &dyn fmt::Display| Failure::could_not(format!("connect to {address}"), why);
        let stream = TcpStream::connect(address).await.map_err(|error| cannot_connect(&error))?;
        stream.set_nodelay(true).map_err(|error| cannot_connect(&error))?;
        let (sender, driver) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| cannot_connect(&error))?;
        // What goes wrong in the driver is told to the request that waits for an answer.
        tokio::spawn(driver);
        Ok(Connection { host: address.to_string(), sender })
    }

    /// Sends one request and waits for the whole answer.
    pub(crate) async fn ask(
        &mut self,
        method: Method,
        path: &str,
        body: impl Into<Bytes>,
    ) -> Result<Answer, Failure> {
        let asked = format!("{method} {path}");
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, &self.host)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body.into()))
            .map_err(|error| Failure::could_not(format!("ask {asked}"), error))?;
        match timeout(ANSWER_PATIENCE, self.exchange(request)).await {
            Ok(Ok((head, body))) => Ok(Answer { asked, head, body }),
            Ok(Err(error)) => Err(Failure::could_not(format!("get an answer to {asked}"), error)),
            Err(_) => {
                let seconds = ANSWER_PATIENCE.as_secs();
                Err(Failure::WrongAnswer(format!("{asked}: no answer in {seconds} s")))
            }
        }
    }

    async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<(Response<()>, Bytes), hyper::Error> {
        self.sender.ready().await?;
        let (head, body) = self.sender.send_request(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok((Response::from_parts(head, ()), body))
    }
}

/// What the service answered, with what it was asked.
pub(crate) struct Answer {
    asked: String,
    head: Response<()>,
    body: Bytes,
}

impl Answer {
    pub(crate) fn status(&self) -> StatusCode {
        self.head.status()
    }

    pub(crate) fn location(&self) -> Option<&str> {
        self.head.headers().get(LOCATION)?.to_str().ok()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON, of an answer that should have `status`.
    pub(crate) fn json<T: DeserializeOwned>(&self, status: StatusCode) -> Result<T, Failure> {
        self.expect(self.status() == status, || status)?;
        serde_json::from_slice(&self.body)
            .map_err(|error| self.wrong(format_args!("a body of another shape ({error})")))
    }

    /// Nothing if `right`, else what was expected and what came.
    pub(crate) fn expect<D: fmt::Display>(
        &self,
        right: bool,
        expected: impl FnOnce() -> D,
    ) -> Result<(), Failure> {
        if right { Ok(()) } else { Err(self.wrong(expected())) }
    }

    fn wrong(&self, expected: impl fmt::Display) -> Failure {
        let expected = shorten(&expected.to_string());
        let (status, body) = (self.status(), shorten(&self.text()));
        let asked = &self.asked;
        Failure::WrongAnswer(format!("{asked}\n  expected {expected}\n  got {status} {body}"))
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}
