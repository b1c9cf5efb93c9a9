//! Who may have the next of something that callers share: a plugin's turns, the slots of the pool.
//!
//! What becomes free goes round among the callers that wait, and among the calls of each in their
//! order. Two rules keep one caller from shutting out the others:
//!
//! - A quarter is only for callers that hold none. A call may take half a minute, and no caller
//!   should wait for that before its first one begins. Where there is one caller, nothing is kept.
//! - Where the line is full, the caller with the most calls in it loses the last of them.
//!
//! Callers are known as long as they hold something or wait, and so bounded by both.

use std::collections::VecDeque;

use tokio::sync::oneshot;

use crate::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One of so many parts is kept.
const KEPT: u32 = 4;

pub(in crate::plugin) struct Turns {
    /// For callers that hold none.
    kept: u32,
    /// Calls that may wait.
    places: usize,
    state: Mutex<State>,
}

struct State {
    free: u32,
    waiting: usize,
    /// The number of the next call that must wait.
    next: u64,
    /// Few: scanned, and compared by their address first.
    callers: Vec<Caller>,
    /// Callers that wait; whose turn it is comes first.
    round: VecDeque<Arc<str>>,
}

struct Caller {
    name: Arc<str>,
    holds: u32,
    /// By their numbers, which rise.
    waiting: VecDeque<(u64, oneshot::Sender<Turn>)>,
}

/// One of what is shared, until it is dropped.
pub(in crate::plugin) struct Turn {
    turns: Arc<Turns>,
    caller: Arc<str>,
}

impl Turns {
    /// `shared`: whether several callers come.
    pub(in crate::plugin) fn new(turns: u32, places: u32, shared: bool) -> Arc<Self> {
        let kept = if shared && turns > 1 { (turns / KEPT).max(1) } else { 0 };
        let state = State { free: turns, waiting: 0, next: 0, callers: Vec::new(), round: VecDeque::new() };
        Arc::new(Self { kept, places: places as usize, state: Mutex::new(state) })
    }

    /// One that this caller may have at once.
    pub(in crate::plugin) fn try_take(self: &Arc<Self>, caller: &Arc<str>) -> Option<Turn> {
        let mut state = self.state();
        // Whoever waits may not have it: what they may have they were given when it became free.
        if !state.may_have(caller, self.kept) {
            return None;
        }
        state.free -= 1;
        state.caller(caller).holds += 1;
        drop(state);
        Some(Turn { turns: self.clone(), caller: caller.clone() })
    }

    /// Waits for one. `None`: there is no place in the line, or none any more.
    pub(in crate::plugin) async fn take(self: &Arc<Self>, caller: &Arc<str>) -> Option<Turn> {
        if let Some(turn) = self.try_take(caller) {
            return Some(turn);
        }
        let (_place, given) = self.wait(caller)?;
        given.await.ok()
    }

    fn wait(self: &Arc<Self>, caller: &Arc<str>) -> Option<(Place<'_>, oneshot::Receiver<Turn>)> {
        let mut state = self.state();
        let refused = if state.waiting < self.places { None } else { Some(state.make_room(caller)?) };
        let (give, given) = oneshot::channel();
        let number = state.next;
        state.next += 1;
        state.waiting += 1;
        let waiting = &mut state.caller(caller).waiting;
        waiting.push_back((number, give));
        if waiting.len() == 1 {
            state.round.push_back(caller.clone());
        }
        drop(state);
        drop(refused);
        // Something may have become free since it was tried.
        self.hand_out();
        Some((Place { turns: self, caller: caller.clone(), number }, given))
    }

    /// Gives what is free to those who wait for it and may have it.
    fn hand_out(self: &Arc<Self>) {
        loop {
            let next = self.state().next_of_round(self.kept);
            let Some((caller, give)) = next else { return };
            // One that has given up meanwhile drops it, and it goes to the next.
            let _ = give.send(Turn { turns: self.clone(), caller });
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(in crate::plugin) fn free(&self) -> usize {
        self.state().free as usize
    }

    #[cfg(test)]
    pub(in crate::plugin) fn waiting(&self) -> usize {
        self.state().waiting
    }

    /// Whether nobody is known.
    #[cfg(test)]
    pub(in crate::plugin) fn is_forgotten(&self) -> bool {
        let state = self.state();
        state.callers.is_empty() && state.round.is_empty()
    }
}

impl State {
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

    fn may_have(&self, name: &Arc<str>, kept: u32) -> bool {
        self.free > kept || (self.free > 0 && self.find(name).is_none_or(|at| self.callers[at].holds == 0))
    }

    fn next_of_round(&mut self, kept: u32) -> Option<(Arc<str>, oneshot::Sender<Turn>)> {
        let at = self.round.iter().position(|name| self.may_have(name, kept))?;
        let name = self.round.remove(at)?;
        let caller = self.caller(&name);
        let (_, give) = caller.waiting.pop_front()?;
        caller.holds += 1;
        if !caller.waiting.is_empty() {
            self.round.push_back(name.clone());
        }
        self.free -= 1;
        self.waiting -= 1;
        Some((name, give))
    }

    /// Takes the last place of the caller that has the most; `None` if the one that asks would then
    /// have more.
    fn make_room(&mut self, asking: &Arc<str>) -> Option<oneshot::Sender<Turn>> {
        let asks = self.find(asking).map_or(0, |at| self.callers[at].waiting.len());
        let most = self.callers.iter_mut().max_by_key(|caller| caller.waiting.len())?;
        if most.waiting.len() <= asks + 1 {
            return None;
        }
        let (_, refused) = most.waiting.pop_back()?;
        self.waiting -= 1;
        Some(refused)
    }

    fn forget_if_gone(&mut self, name: &Arc<str>) {
        if let Some(at) = self.find(name)
            && self.callers[at].holds == 0
            && self.callers[at].waiting.is_empty()
        {
            self.callers.swap_remove(at);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.turns.state();
        state.free += 1;
        state.caller(&self.caller).holds -= 1;
        state.forget_if_gone(&self.caller);
        let nobody_waits = state.round.is_empty();
        drop(state);
        if !nobody_waits {
            self.turns.hand_out();
        }
    }
}

/// A place in the line, of a call that may have been served or refused since.
struct Place<'a> {
    turns: &'a Turns,
    caller: Arc<str>,
    number: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.turns.state();
        let Some(at) = state.find(&self.caller) else { return };
        let waiting = &mut state.callers[at].waiting;
        let Ok(place) = waiting.binary_search_by_key(&self.number, |(number, _)| *number) else { return };
        let given_up = waiting.remove(place);
        if waiting.is_empty() {
            state.round.retain(|name| *name != self.caller);
        }
        state.waiting -= 1;
        state.forget_if_gone(&self.caller);
        drop(state);
        drop(given_up);
    }
}
