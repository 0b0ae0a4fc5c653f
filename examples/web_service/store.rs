//! The records that the service holds: a bounded number of them, in memory, by id.
//!
//! Records are shared, so an answer is written from one without holding the lock, also when the
//! record is deleted at the same time. None is ever dropped under the lock.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::record::{Fields, Page, Record};

pub(crate) struct Store {
    capacity: usize,
    shelf: RwLock<Shelf>,
}

#[derive(Default)]
struct Shelf {
    /// Ids count up and are never given twice.
    last_id: u64,
    records: BTreeMap<u64, Arc<Record>>,
}

impl Store {
    pub(crate) fn with_capacity(capacity: usize) -> Store {
        Store { capacity, shelf: RwLock::default() }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(crate) fn len(&self) -> usize {
        self.read().records.len()
    }

    /// The new record, or nothing when the store is full.
    pub(crate) fn insert(&self, fields: Fields) -> Option<Arc<Record>> {
        let mut shelf = self.write();
        if shelf.records.len() >= self.capacity {
            return None;
        }
        shelf.last_id += 1;
        let record = Arc::new(Record { id: shelf.last_id, fields });
        shelf.records.insert(record.id, Arc::clone(&record));
        Some(record)
    }

    pub(crate) fn get(&self, id: u64) -> Option<Arc<Record>> {
        self.read().records.get(&id).cloned()
    }

    pub(crate) fn remove(&self, id: u64) -> Option<Arc<Record>> {
        self.write().records.remove(&id)
    }

    /// Up to `limit` records with ids above `after`, in order of their ids.
    pub(crate) fn page(&self, after: u64, limit: usize) -> Page<Arc<Record>> {
        let shelf = self.read();
        let mut rest = shelf.records.range((Excluded(after), Unbounded)).map(|(_, it)| it);
        let records: Vec<_> = rest.by_ref().take(limit).cloned().collect();
        let more = rest.next().is_some();
        let next = records.last().map(|last| last.id).filter(|_| more);
        Page { records, next }
    }

    fn read(&self) -> RwLockReadGuard<'_, Shelf> {
        self.shelf.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Shelf> {
        self.shelf.write().unwrap_or_else(PoisonError::into_inner)
    }
}
