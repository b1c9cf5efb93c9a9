//! Records that are read for clients: some at a time, since each may be megabytes.

use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::store::StoreError;
use crate::sync::{Mutex, lock};

/// Records, or pages of them, that are read at a time.
const AT_ONCE: usize = 8;
/// A read that fails after this time has waited for a store that hangs. One that fails sooner has its own reason, such
/// as a damaged record.
const HANGS: Duration = Duration::from_millis(500);

/// The turns of those who read.
pub(in crate::server) struct Reading {
    turns: Semaphore,
    /// When the store was last seen to hang, and what it said.
    hung: Mutex<Option<(Instant, StoreError)>>,
}

impl Reading {
    pub(super) fn new() -> Self {
        Self { turns: Semaphore::new(AT_ONCE), hung: Mutex::default() }
    }

    /// Reads when there is a turn. Who waited for one while the store was seen to hang gets that error: all who wait
    /// are answered within the time of one read, however many they are.
    ///
    /// # Errors
    /// Those of the read.
    pub(in crate::server) async fn read<T>(
        &self,
        read: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let asked = Instant::now();
        // Not an error: the semaphore is never closed.
        let _turn = self.turns.acquire().await;
        if let Some((_, error)) = lock(&self.hung).as_ref().filter(|(when, _)| *when >= asked) {
            return Err(error.clone());
        }
        let begun = Instant::now();
        let result = read.await;
        if let Err(error) = &result
            && begun.elapsed() >= HANGS
        {
            *lock(&self.hung) = Some((Instant::now(), error.clone()));
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::task::JoinSet;
    use tokio::time::sleep;

    use super::*;

    /// How often the store is asked when many read at once, and it fails after that time.
    async fn asked_by_many(fails_after: Duration) -> usize {
        let (reading, asked) = (Arc::new(Reading::new()), Arc::new(AtomicUsize::new(0)));
        let mut all = JoinSet::new();
        for _ in 0..5 * AT_ONCE {
            let (reading, asked) = (reading.clone(), asked.clone());
            all.spawn(async move {
                let read = async {
                    asked.fetch_add(1, Ordering::Relaxed);
                    sleep(fails_after).await;
                    Err::<(), _>(StoreError("there was no answer".into()))
                };
                reading.read(read).await
            });
        }
        for result in all.join_all().await {
            assert_eq!(result.expect_err("the error").0, "there was no answer");
        }
        asked.load(Ordering::Relaxed)
    }

    #[tokio::test]
    async fn all_who_wait_for_a_store_that_hangs_have_the_error_of_one() {
        assert_eq!(asked_by_many(HANGS).await, AT_ONCE);
    }

    #[tokio::test]
    async fn what_fails_at_once_is_of_one_alone() {
        assert_eq!(asked_by_many(Duration::ZERO).await, 5 * AT_ONCE);
    }
}
