//! The routes of the service, and what each answers.
//!
//! | request | answer |
//! |---|---|
//! | `POST /records` | 201 and the record; 400 bad body, 413 too large, 415 no JSON, 507 full |
//! | `GET /records/{id}` | 200 and the record; 400 bad id, 404 no such record |
//! | `GET /records?limit=&after=` | 200 and a page; 400 bad query |
//! | `DELETE /records/{id}` | 204; 400 bad id, 404 no such record |
//!
//! Every refusal has a body `{"error": "…"}` that says what to change.

use std::sync::Arc;

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::header::LOCATION;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::json;

use super::record::{Fields, Page, Record};
use super::store::Store;

/// A larger request body is refused.
pub(crate) const BODY_BYTES_MAX: usize = 64 * 1024;
/// A larger page is refused.
const LIMIT_MAX: usize = 100;
const LIMIT_DEFAULT: usize = 20;

pub(crate) fn router(store: Arc<Store>) -> Router {
    Router::new()
        .route("/records", post(create).get(list))
        .route("/records/{id}", get(read).delete(delete))
        .fallback(no_such_route)
        .method_not_allowed_fallback(no_such_method)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(store)
}

async fn create(
    State(store): State<Arc<Store>>,
    body: Result<Json<Fields>, JsonRejection>,
) -> Result<Response, Refusal> {
    let Json(fields) = body?;
    if let Some(objection) = fields.objection() {
        return Err(Refusal::new(StatusCode::BAD_REQUEST, objection));
    }
    let record = store.insert(fields).ok_or_else(|| Refusal::full(store.capacity()))?;
    let location = [(LOCATION, format!("/records/{}", record.id))];
    Ok((StatusCode::CREATED, location, Json(&*record)).into_response())
}

async fn read(
    State(store): State<Arc<Store>>,
    id: Result<Path<u64>, PathRejection>,
) -> Result<Response, Refusal> {
    let Path(id) = id?;
    let record = store.get(id).ok_or_else(|| Refusal::no_record(id))?;
    Ok(Json(&*record).into_response())
}

async fn delete(
    State(store): State<Arc<Store>>,
    id: Result<Path<u64>, PathRejection>,
) -> Result<StatusCode, Refusal> {
    let Path(id) = id?;
    store.remove(id).ok_or_else(|| Refusal::no_record(id))?;
    Ok(StatusCode::NO_CONTENT)
}

/// Which part of the listing is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Window {
    limit: Option<usize>,
    #[serde(default)]
    after: u64,
}

async fn list(
    State(store): State<Arc<Store>>,
    window: Result<Query<Window>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Query(window) = window?;
    let limit = window.limit.unwrap_or(LIMIT_DEFAULT);
    if !(1..=LIMIT_MAX).contains(&limit) {
        let reason = format!("`limit` is {limit}; use 1 to {LIMIT_MAX}");
        return Err(Refusal::new(StatusCode::BAD_REQUEST, reason));
    }
    let page = store.page(window.after, limit);
    let records: Vec<&Record> = page.records.iter().map(|it| &**it).collect();
    Ok(Json(Page { records, next: page.next }).into_response())
}

async fn no_such_route(uri: Uri) -> Refusal {
    let reason = format!("no route `{}`; there are /records and /records/{{id}}", uri.path());
    Refusal::new(StatusCode::NOT_FOUND, reason)
}

async fn no_such_method(method: Method, uri: Uri) -> Refusal {
    let path = uri.path();
    let reason = format!("`{path}` does not take {method}; the Allow header says what it takes");
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, reason)
}

/// Why a request is not carried out.
struct Refusal {
    status: StatusCode,
    reason: String,
}

impl Refusal {
    fn new(status: StatusCode, reason: String) -> Refusal {
        Refusal { status, reason }
    }

    fn no_record(id: u64) -> Refusal {
        Refusal::new(StatusCode::NOT_FOUND, format!("no record {id}"))
    }

    fn full(capacity: usize) -> Refusal {
        let reason = format!("the store is full with {capacity} records; delete one first");
        Refusal::new(StatusCode::INSUFFICIENT_STORAGE, reason)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(json!({ "error": self.reason }))).into_response()
    }
}

impl From<JsonRejection> for Refusal {
    fn from(rejection: JsonRejection) -> Refusal {
        match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                let reason = format!("the body is too large; send at most {BODY_BYTES_MAX} bytes");
                Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, reason)
            }
            // JSON of another shape is no less of a mistake than text that is not JSON.
            StatusCode::UNPROCESSABLE_ENTITY => {
                Refusal::new(StatusCode::BAD_REQUEST, rejection.body_text())
            }
            status => Refusal::new(status, rejection.body_text()),
        }
    }
}

impl From<PathRejection> for Refusal {
    fn from(rejection: PathRejection) -> Refusal {
        Refusal::new(StatusCode::BAD_REQUEST, rejection.body_text())
    }
}

impl From<QueryRejection> for Refusal {
    fn from(rejection: QueryRejection) -> Refusal {
        Refusal::new(StatusCode::BAD_REQUEST, rejection.body_text())
    }
}
