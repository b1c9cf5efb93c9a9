use super::*;
use crate::plugin::abi::GuestError;
use crate::plugin::fault::TrapKind;
use crate::plugin::policy::access::Access;
use crate::plugin::policy::denial::Denial;

const SECOND: Duration = Duration::from_secs(1);

/// A breaker with a test clock, and the pauses that it reported, in seconds.
struct TestBreaker {
    breaker: Breaker,
    now: Instant,
    caller_pauses: Arc<Mutex<Vec<u64>>>,
    /// Pauses for all callers.
    global_pauses: Arc<Mutex<Vec<u64>>>,
    caller: Arc<str>,
}

impl TestBreaker {
    fn new() -> Self {
        let caller_pauses = Arc::new(Mutex::new(Vec::new()));
        let global_pauses = Arc::new(Mutex::new(Vec::new()));
        let (pauses, of_all) = (caller_pauses.clone(), global_pauses.clone());
        let breaker = Breaker::new(move |pause| {
            let pauses = if pause.caller.is_some() { &pauses } else { &of_all };
            pauses.lock().unwrap().push(pause.length.as_secs());
        });
        Self { breaker, now: Instant::now(), caller_pauses, global_pauses, caller: "alice".into() }
    }

    fn admit(&self) -> BreakerGuard<'_> {
        self.breaker.admit(&self.caller, self.now).map_err(|fault| format!("{fault:?}")).expect("no pause")
    }

    fn ends(&self, error: Option<CallError>) {
        self.admit().ended(error.as_ref(), self.now);
    }

    fn crashes(&self, times: usize) {
        for _ in 0..times {
            self.ends(Some(Fault::Trap(TrapKind::Unreachable).into()));
        }
    }

    /// The remaining pause, in milliseconds.
    fn left(&self) -> Option<u64> {
        match self.breaker.admit(&self.caller, self.now) {
            Ok(_) => None,
            Err(Fault::Quarantined { left }) => Some(left.as_millis() as u64),
            Err(other) => panic!("{other:?}"),
        }
    }

    /// Continues as another caller.
    fn as_caller(&mut self, caller: &str) -> &mut Self {
        self.caller = caller.into();
        self
    }

    fn caller_pauses(&self) -> Vec<u64> {
        self.caller_pauses.lock().unwrap().clone()
    }
}

#[test]
fn five_faults_within_a_minute_open_the_circuit() {
    let mut test = TestBreaker::new();
    test.crashes(4);
    test.now += WINDOW;
    test.crashes(4);
    assert_eq!(test.left(), None);
    test.crashes(1);
    assert_eq!(test.left(), Some(1000));
    test.now += Duration::from_millis(999);
    assert_eq!(test.left(), Some(1));
    assert_eq!(test.caller_pauses(), [1]);
}

#[test]
fn a_call_queued_before_the_pause_is_rejected() {
    let mut test = TestBreaker::new();
    assert!(test.breaker.still_admits(&test.caller, test.now).is_ok());
    test.crashes(5);
    assert!(test.breaker.still_admits(&test.caller, test.now).is_err());
    test.now += SECOND;
    let trial = test.admit();
    assert!(test.breaker.still_admits(&test.caller, test.now).is_ok());
    drop(trial);
}

#[test]
fn each_failed_trial_doubles_the_pause_up_to_five_minutes() {
    let mut test = TestBreaker::new();
    test.crashes(5);
    for seconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
        test.now += Duration::from_secs(seconds);
        test.crashes(1);
    }
    assert_eq!(test.caller_pauses(), [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
}

#[test]
fn a_successful_trial_closes_the_circuit() {
    let mut test = TestBreaker::new();
    test.crashes(5);
    test.now += SECOND;
    test.ends(None);
    test.crashes(4);
    assert_eq!(test.left(), None);
    test.crashes(1);
    assert_eq!(test.caller_pauses(), [1, 1]);
}

#[test]
fn one_trial_runs_at_a_time_and_a_dropped_one_is_replaced() {
    let mut test = TestBreaker::new();
    test.crashes(5);
    test.now += SECOND;
    let trial = test.admit();
    assert_eq!(test.left(), Some(0));
    drop(trial);
    // A full queue is not the plugin's fault.
    test.ends(Some(Fault::Busy.into()));
    test.crashes(1);
    assert_eq!(test.caller_pauses(), [1, 2]);
}

#[test]
fn calls_from_before_the_pause_neither_end_nor_lengthen_it() {
    let test = TestBreaker::new();
    let (one, other) = (test.admit(), test.admit());
    test.crashes(5);
    one.ended(None, test.now);
    other.ended(Some(&Fault::Trap(TrapKind::Unreachable).into()), test.now);
    assert_eq!(test.left(), Some(1000));
    assert_eq!(test.caller_pauses(), [1]);
}

#[test]
fn faults_of_one_caller_pause_that_caller_only() {
    let mut test = TestBreaker::new();
    test.as_caller("mallory").crashes(5);
    assert_eq!(test.left(), Some(1000));
    // A second one too, and the first repeatedly.
    test.as_caller("mallet").crashes(5);
    for _ in 0..4 {
        test.now += SECOND * 10;
        test.as_caller("mallory").crashes(1);
    }
    assert_eq!(test.as_caller("alice").left(), None);
    test.ends(None);
    assert!(test.global_pauses.lock().unwrap().is_empty());
}

#[test]
fn several_failing_callers_without_a_success_pause_all() {
    let mut test = TestBreaker::new();
    let others = ["one", "two", "three"];
    others.iter().for_each(|caller| test.as_caller(caller).crashes(5));
    assert_eq!(*test.global_pauses.lock().unwrap(), [1]);
    assert_eq!(test.as_caller("alice").left(), Some(1000));
    // Any caller's call is the trial.
    test.now += SECOND;
    test.crashes(1);
    assert_eq!(*test.global_pauses.lock().unwrap(), [1, 2]);
    test.now += SECOND * 2;
    test.ends(None);
    assert_eq!(test.as_caller("bob").left(), None);

    let mut test = TestBreaker::new();
    test.as_caller("one").crashes(5);
    test.as_caller("alice").ends(None);
    for caller in others {
        while test.as_caller(caller).left().is_none() {
            test.crashes(1);
        }
    }
    assert_eq!(test.as_caller("alice").left(), None);
}

#[test]
fn the_number_of_stored_callers_is_limited() {
    let mut test = TestBreaker::new();
    for number in 0..MAX_CALLERS * 2 {
        test.now += Duration::from_millis(1);
        test.as_caller(&format!("caller {number}")).crashes(1);
    }
    assert_eq!(test.breaker.state().callers.len(), MAX_CALLERS);
    test.as_caller("caller 0").crashes(4);
    assert_eq!(test.left(), None);
    test.as_caller(&format!("caller {}", MAX_CALLERS * 2 - 1)).crashes(4);
    assert_eq!(test.left(), Some(1000));
}

#[test]
fn only_faults_of_the_plugin_count() {
    let counted = [
        Fault::Trap(TrapKind::Unreachable),
        Fault::Timeout { limit: SECOND, of_task: false },
        Fault::Cpu { limit: SECOND, of_task: false },
        Fault::Memory { limit: 1 },
        Fault::BadOutput("text".into()),
    ];
    for fault in counted {
        let test = TestBreaker::new();
        (0..5).for_each(|_| test.ends(Some(fault.clone().into())));
        assert!(test.left().is_some(), "{fault:?}");
    }
    let others: [CallError; 7] = [
        Fault::OutputTooLarge { limit: 1 }.into(),
        Fault::Busy.into(),
        Fault::SharedMemory.into(),
        Fault::Host.into(),
        Fault::Denied { denial: Denial::without_grant(Access::Elicit), message: None }.into(),
        CallError::Guest(GuestError::Failed("no".into())),
        CallError::Guest(GuestError::NotFound),
    ];
    for error in others {
        let test = TestBreaker::new();
        (0..10).for_each(|_| test.ends(Some(error.clone())));
        assert_eq!(test.left(), None, "{error:?}");
    }
}
