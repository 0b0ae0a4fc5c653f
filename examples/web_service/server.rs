//! The running service: bind, serve, and a stop that lets begun requests finish.

use std::future::IntoFuture;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::failure::Failure;
use super::service;
use super::store::Store;

/// How long a stop waits for requests that have begun.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct Server {
    address: SocketAddr,
    store: Arc<Store>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<io::Result<()>>,
}

impl Server {
    /// Serves up to `capacity` records on `address`, on the runtime of the caller.
    pub(crate) async fn start(address: SocketAddr, capacity: usize) -> Result<Server, Failure> {
        let cannot_bind = |error| Failure::could_not(format!("listen on {address}"), hint(error));
        let listener = TcpListener::bind(address).await.map_err(cannot_bind)?;
        let address = listener.local_addr().map_err(cannot_bind)?;
        let listener = listener.tap_io(|stream| {
            // Only speed is lost if this fails.
            let _ = stream.set_nodelay(true);
        });
        let store = Arc::new(Store::with_capacity(capacity));
        let router = service::router(Arc::clone(&store));
        let (stop, stopped) = oneshot::channel();
        let serve = axum::serve(listener, router).with_graceful_shutdown(async {
            // The sender is only ever dropped by a server that is dropped: stop then, too.
            let _ = stopped.await;
        });
        let task = tokio::spawn(serve.into_future());
        Ok(Server { address, store, stop, task })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn records_held(&self) -> usize {
        self.store.len()
    }

    /// Takes no new connections, waits for requests that have begun, and drops the records.
    pub(crate) async fn stop(self) -> Result<(), Failure> {
        let seconds = STOP_PATIENCE.as_secs();
        let _ = self.stop.send(());
        match timeout(STOP_PATIENCE, self.task).await {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(error))) => Err(Failure::could_not("serve to the end", error)),
            Ok(Err(error)) => Err(Failure::could_not("serve to the end", error)),
            Err(_) => Err(Failure::could_not(
                "stop the service",
                format!("requests are still being answered after {seconds} s"),
            )),
        }
    }
}

fn hint(error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => format!("{error}; choose another port, or 0 for a free one"),
        io::ErrorKind::AddrNotAvailable => format!("{error}; choose an address of this machine"),
        io::ErrorKind::PermissionDenied => format!("{error}; choose a port above 1023"),
        _ => error.to_string(),
    }
}
