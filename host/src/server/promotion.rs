//! A call that may become a task while it runs, or is one.

use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use super::tasks::Run;
use crate::sync::lock;

/// Where such a call stands.
#[derive(Clone)]
enum Stage {
    /// Its request waits for it, and may stop to.
    Call,
    /// It has ended, or asks, before it became a task.
    Settled,
    /// Its record is being written: nothing more is sent for the request.
    Becoming,
    /// It has a record.
    Task(Arc<Run>),
}

pub(in crate::server) struct Promotion {
    stage: watch::Sender<Stage>,
    /// What it does now, if its record does not say so yet.
    message: Mutex<Option<String>>,
    /// Held while something is sent for its request.
    pub(in crate::server) sending: tokio::sync::Mutex<()>,
}

impl Promotion {
    /// Of a call with a request.
    pub(in crate::server) fn of_call() -> Self {
        Self::at(Stage::Call)
    }

    /// Of a task without a request.
    pub(in crate::server) fn of_task(run: Run) -> Self {
        Self::at(Stage::Task(Arc::new(run)))
    }

    fn at(stage: Stage) -> Self {
        Self { stage: watch::Sender::new(stage), message: Mutex::default(), sending: tokio::sync::Mutex::default() }
    }

    /// Begins to make a task of it. `false`: it is settled already.
    pub(in crate::server) fn begin(&self) -> bool {
        self.pass(Stage::Becoming)
    }

    /// It is settled without being a task. `false`: it is one, or becomes one.
    fn settle(&self) -> bool {
        self.pass(Stage::Settled)
    }

    /// From a call to something else.
    fn pass(&self, to: Stage) -> bool {
        self.stage.send_if_modified(|stage| {
            let is_call = matches!(stage, Stage::Call);
            if is_call {
                *stage = to;
            }
            is_call
        })
    }

    /// It has a record, or there can be none.
    pub(in crate::server) fn end(&self, run: Option<Run>) {
        self.stage.send_replace(run.map_or(Stage::Call, |run| Stage::Task(Arc::new(run))));
    }

    /// When it has a result or a question: the task that it is. `None`: it is none, and never will be.
    pub(in crate::server) async fn settled(&self) -> Option<Arc<Run>> {
        let mut stage = self.stage.subscribe();
        loop {
            let now = stage.borrow_and_update().clone();
            match now {
                Stage::Task(run) => return Some(run),
                Stage::Settled => return None,
                Stage::Call if self.settle() => return None,
                Stage::Call => {}
                // Never an error: this has the sender.
                Stage::Becoming => drop(stage.changed().await),
            }
        }
    }

    /// The key of its record, if it has one.
    pub(in crate::server) fn key(&self) -> Option<String> {
        match &*self.stage.borrow() {
            Stage::Task(run) => Some(run.key.clone()),
            _ => None,
        }
    }

    /// Whether its request gets no more messages.
    pub(in crate::server) fn is_task(&self) -> bool {
        matches!(*self.stage.borrow(), Stage::Becoming | Stage::Task(_))
    }

    /// What it does now.
    pub(in crate::server) fn say(&self, message: String) {
        *lock(&self.message) = Some(message);
    }

    /// What it does now, if that was not taken before.
    pub(in crate::server) fn said(&self) -> Option<String> {
        lock(&self.message).take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_call_is_settled_once_or_becomes_a_task() {
        let call = Promotion::of_call();
        assert!(!call.is_task() && call.settled().await.is_none() && !call.begin());
        // Without room for a task it is a call as before.
        let call = Promotion::of_call();
        assert!(call.begin() && call.is_task() && !call.begin());
        let settled = call.settled();
        tokio::pin!(settled);
        assert!(futures_util::poll!(&mut settled).is_pending());
        call.end(None);
        assert!(!call.is_task() && settled.await.is_none() && !call.begin());
    }
}
