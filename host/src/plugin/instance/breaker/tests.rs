use super::*;
use crate::plugin::abi::GuestError;
use crate::plugin::policy::access::Access;
use crate::plugin::policy::denial::Denial;

const SECOND: Duration = Duration::from_secs(1);

/// A breaker with a test clock, and the pauses that it reported, in seconds.
struct Tried {
    breaker: Breaker,
    now: Instant,
    told: Arc<Mutex<Vec<u64>>>,
    /// Pauses for all callers.
    told_for_all: Arc<Mutex<Vec<u64>>>,
    caller: Arc<str>,
}

impl Tried {
    fn new() -> Self {
        let told = Arc::new(Mutex::new(Vec::new()));
        let told_for_all = Arc::new(Mutex::new(Vec::new()));
        let (pauses, of_all) = (told.clone(), told_for_all.clone());
        let breaker = Breaker::new(move |pause| {
            let pauses = if pause.caller.is_some() { &pauses } else { &of_all };
            pauses.lock().unwrap().push(pause.length.as_secs());
        });
        Self { breaker, now: Instant::now(), told, told_for_all, caller: "alice".into() }
    }

    fn admit(&self) -> Admitted<'_> {
        self.breaker.admit(&self.caller, self.now).map_err(|fault| format!("{fault:?}")).expect("no pause")
    }

    fn ends(&self, error: Option<CallError>) {
        self.admit().ended(error.as_ref(), self.now);
    }

    fn crashes(&self, times: usize) {
        for _ in 0..times {
            self.ends(Some(Fault::Trap.into()));
        }
    }

    /// For how long it is still left alone, in milliseconds.
    fn left(&self) -> Option<u64> {
        match self.breaker.admit(&self.caller, self.now) {
            Ok(_) => None,
            Err(Fault::Quarantined { left }) => Some(left.as_millis() as u64),
            Err(other) => panic!("{other:?}"),
        }
    }

    /// The same of another caller.
    fn as_caller(&mut self, caller: &str) -> &mut Self {
        self.caller = caller.into();
        self
    }

    fn told(&self) -> Vec<u64> {
        self.told.lock().unwrap().clone()
    }
}

#[test]
fn five_faults_within_a_minute_are_too_many() {
    let mut tried = Tried::new();
    tried.crashes(4);
    tried.now += WINDOW;
    tried.crashes(4);
    assert_eq!(tried.left(), None);
    tried.crashes(1);
    assert_eq!(tried.left(), Some(1000));
    tried.now += Duration::from_millis(999);
    assert_eq!(tried.left(), Some(1));
    assert_eq!(tried.told(), [1]);
}

#[test]
fn who_waited_through_the_fifth_fault_is_not_called() {
    let mut tried = Tried::new();
    assert!(tried.breaker.still_admits(&tried.caller, tried.now).is_ok());
    tried.crashes(5);
    assert!(tried.breaker.still_admits(&tried.caller, tried.now).is_err());
    tried.now += SECOND;
    let trial = tried.admit();
    assert!(tried.breaker.still_admits(&tried.caller, tried.now).is_ok());
    drop(trial);
}

#[test]
fn each_trial_that_fails_doubles_the_pause_up_to_five_minutes() {
    let mut tried = Tried::new();
    tried.crashes(5);
    for seconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
        tried.now += Duration::from_secs(seconds);
        tried.crashes(1);
    }
    assert_eq!(tried.told(), [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
}

#[test]
fn a_trial_that_succeeds_closes_it() {
    let mut tried = Tried::new();
    tried.crashes(5);
    tried.now += SECOND;
    tried.ends(None);
    tried.crashes(4);
    assert_eq!(tried.left(), None);
    tried.crashes(1);
    assert_eq!(tried.told(), [1, 1]);
}

#[test]
fn one_trial_is_let_through_at_a_time_and_one_given_up_leaves_its_place() {
    let mut tried = Tried::new();
    tried.crashes(5);
    tried.now += SECOND;
    let trial = tried.admit();
    assert_eq!(tried.left(), Some(0));
    drop(trial);
    // That no permit is free is not the plugin's fault.
    tried.ends(Some(Fault::Busy.into()));
    tried.crashes(1);
    assert_eq!(tried.told(), [1, 2]);
}

#[test]
fn calls_from_before_the_pause_neither_end_nor_lengthen_it() {
    let tried = Tried::new();
    let (one, other) = (tried.admit(), tried.admit());
    tried.crashes(5);
    one.ended(None, tried.now);
    other.ended(Some(&Fault::Trap.into()), tried.now);
    assert_eq!(tried.left(), Some(1000));
    assert_eq!(tried.told(), [1]);
}

#[test]
fn what_one_caller_brings_about_is_its_own_matter() {
    let mut tried = Tried::new();
    tried.as_caller("mallory").crashes(5);
    assert_eq!(tried.left(), Some(1000));
    // Also a second one, and the first again and again.
    tried.as_caller("mallet").crashes(5);
    for _ in 0..4 {
        tried.now += SECOND * 10;
        tried.as_caller("mallory").crashes(1);
    }
    assert_eq!(tried.as_caller("alice").left(), None);
    tried.ends(None);
    assert!(tried.told_for_all.lock().unwrap().is_empty());
}

#[test]
fn it_is_the_plugin_when_several_callers_fail_and_nobody_else_does_not() {
    let mut tried = Tried::new();
    let others = ["one", "two", "three"];
    others.iter().for_each(|caller| tried.as_caller(caller).crashes(5));
    assert_eq!(*tried.told_for_all.lock().unwrap(), [1]);
    assert_eq!(tried.as_caller("alice").left(), Some(1000));
    // Anybody's call is the trial.
    tried.now += SECOND;
    tried.crashes(1);
    assert_eq!(*tried.told_for_all.lock().unwrap(), [1, 2]);
    tried.now += SECOND * 2;
    tried.ends(None);
    assert_eq!(tried.as_caller("bob").left(), None);

    let mut tried = Tried::new();
    tried.as_caller("one").crashes(5);
    tried.as_caller("alice").ends(None);
    for caller in others {
        while tried.as_caller(caller).left().is_none() {
            tried.crashes(1);
        }
    }
    assert_eq!(tried.as_caller("alice").left(), None);
}

#[test]
fn of_many_callers_only_the_last_are_remembered() {
    let mut tried = Tried::new();
    for number in 0..MAX_CALLERS * 2 {
        tried.now += Duration::from_millis(1);
        tried.as_caller(&format!("caller {number}")).crashes(1);
    }
    assert_eq!(tried.breaker.state().callers.len(), MAX_CALLERS);
    tried.as_caller("caller 0").crashes(4);
    assert_eq!(tried.left(), None);
    tried.as_caller(&format!("caller {}", MAX_CALLERS * 2 - 1)).crashes(4);
    assert_eq!(tried.left(), Some(1000));
}

#[test]
fn only_faults_of_the_plugin_count() {
    let counted = [
        Fault::Trap,
        Fault::Timeout { limit: SECOND },
        Fault::Cpu { limit: SECOND },
        Fault::Memory { limit: 1 },
        Fault::BadOutput("text".into()),
    ];
    for fault in counted {
        let tried = Tried::new();
        (0..5).for_each(|_| tried.ends(Some(fault.clone().into())));
        assert!(tried.left().is_some(), "{fault:?}");
    }
    let others: [CallError; 6] = [
        Fault::OutputTooLarge { limit: 1 }.into(),
        Fault::Busy.into(),
        Fault::Host.into(),
        Fault::Denied { denial: Denial::without_grant(Access::Elicit), said: None }.into(),
        CallError::Guest(GuestError::Failed("no".into())),
        CallError::Guest(GuestError::NotFound),
    ];
    for error in others {
        let tried = Tried::new();
        (0..10).for_each(|_| tried.ends(Some(error.clone())));
        assert_eq!(tried.left(), None, "{error:?}");
    }
}
