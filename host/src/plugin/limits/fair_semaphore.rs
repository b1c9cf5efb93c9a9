//! A semaphore that is fair to callers: for the concurrent calls of a plugin and the slots of the
//! instance pool.
//!
//! Free permits go round-robin to the waiting callers, and first in, first out to the calls of
//! each. Two rules keep one caller from starving the others:
//!
//! - A quarter of the permits is reserved for callers that hold none. A call may take half a minute,
//!   and no caller should wait for that before its first one begins. With a single caller, nothing
//!   is reserved.
//! - When the queue is full, the caller with the most waiting calls loses the last of them.
//!
//! A caller is stored only while it holds a permit or waits, so both limits bound the memory.

use std::collections::VecDeque;

use tokio::sync::oneshot;

use crate::sync::{Arc, Mutex, MutexGuard, lock};

/// The divisor of the reserved part of the permits.
const RESERVED_SHARE: u32 = 4;

pub(in crate::plugin) struct FairSemaphore {
    /// Permits that only callers without one may acquire.
    reserved: u32,
    /// Maximum length of the queue.
    max_waiting: usize,
    state: Mutex<SemaphoreState>,
}

struct SemaphoreState {
    free: u32,
    waiting: usize,
    /// The number of the next call that must wait.
    next: u64,
    /// Few: a linear scan, comparing addresses first.
    callers: Vec<Caller>,
    /// Waiting callers in round-robin order.
    round: VecDeque<Arc<str>>,
}

struct Caller {
    name: Arc<str>,
    holds: u32,
    /// Sorted by number.
    waiting: VecDeque<(u64, oneshot::Sender<FairPermit>)>,
}

/// A permit, released on drop.
pub(in crate::plugin) struct FairPermit {
    semaphore: Arc<FairSemaphore>,
    caller: Arc<str>,
}

impl FairSemaphore {
    /// `shared`: whether there are several callers.
    pub(in crate::plugin) fn new(permits: u32, max_waiting: u32, shared: bool) -> Arc<Self> {
        let reserved = if shared && permits > 1 { (permits / RESERVED_SHARE).max(1) } else { 0 };
        let state = SemaphoreState { free: permits, waiting: 0, next: 0, callers: Vec::new(), round: VecDeque::new() };
        Arc::new(Self { reserved, max_waiting: max_waiting as usize, state: Mutex::new(state) })
    }

    /// A permit, if this caller may acquire one at once.
    pub(in crate::plugin) fn try_acquire(self: &Arc<Self>, caller: &Arc<str>) -> Option<FairPermit> {
        let mut state = self.state();
        // Waiting calls are not overtaken: a permit they may acquire was granted when it became free.
        if !state.may_acquire(caller, self.reserved) {
            return None;
        }
        state.free -= 1;
        state.caller(caller).holds += 1;
        drop(state);
        Some(FairPermit { semaphore: self.clone(), caller: caller.clone() })
    }

    /// Waits for a permit. `None`: the queue is full, or this call was evicted from it.
    pub(in crate::plugin) async fn acquire(self: &Arc<Self>, caller: &Arc<str>) -> Option<FairPermit> {
        if let Some(permit) = self.try_acquire(caller) {
            return Some(permit);
        }
        let (_waiter, receiver) = self.enqueue(caller)?;
        receiver.await.ok()
    }

    fn enqueue(self: &Arc<Self>, caller: &Arc<str>) -> Option<(Waiter<'_>, oneshot::Receiver<FairPermit>)> {
        let mut state = self.state();
        let evicted = if state.waiting < self.max_waiting { None } else { Some(state.evict_for(caller)?) };
        let (sender, receiver) = oneshot::channel();
        let number = state.next;
        state.next += 1;
        state.waiting += 1;
        let waiting = &mut state.caller(caller).waiting;
        waiting.push_back((number, sender));
        if waiting.len() == 1 {
            state.round.push_back(caller.clone());
        }
        drop(state);
        drop(evicted);
        // A permit may have become free since `try_acquire`.
        self.grant_waiting();
        Some((Waiter { semaphore: self, caller: caller.clone(), number }, receiver))
    }

    /// Grants free permits to waiting calls.
    fn grant_waiting(self: &Arc<Self>) {
        loop {
            let next = self.state().next_waiter(self.reserved);
            let Some((caller, sender)) = next else { return };
            // If the receiver is gone, the permit is dropped and goes to the next call.
            let _ = sender.send(FairPermit { semaphore: self.clone(), caller });
        }
    }

    fn state(&self) -> MutexGuard<'_, SemaphoreState> {
        lock(&self.state)
    }

    /// Permits that nobody has.
    pub(in crate::plugin) fn free(&self) -> usize {
        self.state().free as usize
    }

    /// Those who wait for one.
    pub(in crate::plugin) fn waiting(&self) -> usize {
        self.state().waiting
    }

    /// Whether no caller is stored.
    #[cfg(test)]
    pub(in crate::plugin) fn is_forgotten(&self) -> bool {
        let state = self.state();
        state.callers.is_empty() && state.round.is_empty()
    }
}

impl SemaphoreState {
    fn find(&self, name: &Arc<str>) -> Option<usize> {
        let same = |caller: &Caller| Arc::ptr_eq(&caller.name, name) || caller.name == *name;
        self.callers.iter().position(same)
    }

    fn caller(&mut self, name: &Arc<str>) -> &mut Caller {
        let at = self.find(name).unwrap_or_else(|| {
            self.callers.push(Caller { name: name.clone(), holds: 0, waiting: VecDeque::new() });
            self.callers.len() - 1
        });
        &mut self.callers[at]
    }

    fn may_acquire(&self, name: &Arc<str>, reserved: u32) -> bool {
        self.free > reserved || (self.free > 0 && self.find(name).is_none_or(|at| self.callers[at].holds == 0))
    }

    fn next_waiter(&mut self, reserved: u32) -> Option<(Arc<str>, oneshot::Sender<FairPermit>)> {
        let at = self.round.iter().position(|name| self.may_acquire(name, reserved))?;
        let name = self.round.remove(at)?;
        let caller = self.caller(&name);
        let (_, sender) = caller.waiting.pop_front()?;
        caller.holds += 1;
        if !caller.waiting.is_empty() {
            self.round.push_back(name.clone());
        }
        self.free -= 1;
        self.waiting -= 1;
        Some((name, sender))
    }

    /// Evicts the last call of the caller with the most waiting; `None` if the requester would then
    /// have more.
    fn evict_for(&mut self, requester: &Arc<str>) -> Option<oneshot::Sender<FairPermit>> {
        let waiting_of_requester = self.find(requester).map_or(0, |at| self.callers[at].waiting.len());
        let most = self.callers.iter_mut().max_by_key(|caller| caller.waiting.len())?;
        if most.waiting.len() <= waiting_of_requester + 1 {
            return None;
        }
        let (_, evicted) = most.waiting.pop_back()?;
        self.waiting -= 1;
        Some(evicted)
    }

    fn remove_if_unused(&mut self, name: &Arc<str>) {
        if let Some(at) = self.find(name)
            && self.callers[at].holds == 0
            && self.callers[at].waiting.is_empty()
        {
            self.callers.swap_remove(at);
        }
    }
}

impl Drop for FairPermit {
    fn drop(&mut self) {
        let mut state = self.semaphore.state();
        state.free += 1;
        state.caller(&self.caller).holds -= 1;
        state.remove_if_unused(&self.caller);
        let no_waiters = state.round.is_empty();
        drop(state);
        if !no_waiters {
            self.semaphore.grant_waiting();
        }
    }
}

/// A queued call, removed from the queue on drop; it may have been served or evicted before.
struct Waiter<'a> {
    semaphore: &'a FairSemaphore,
    caller: Arc<str>,
    number: u64,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut state = self.semaphore.state();
        let Some(at) = state.find(&self.caller) else { return };
        let waiting = &mut state.callers[at].waiting;
        let Ok(position) = waiting.binary_search_by_key(&self.number, |(number, _)| *number) else { return };
        let abandoned = waiting.remove(position);
        if waiting.is_empty() {
            state.round.retain(|name| *name != self.caller);
        }
        state.waiting -= 1;
        state.remove_if_unused(&self.caller);
        drop(state);
        drop(abandoned);
    }
}
