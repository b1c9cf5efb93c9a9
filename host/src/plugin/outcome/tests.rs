use super::*;

#[test]
fn questions_have_keys_of_their_own_and_small_states() {
    let question = || super::super::abi::Question { key: "k".into(), ask: Ask::Roots };
    let wanted = |questions, state: usize| InputRequired { questions, state: Some(vec![0; state]) };
    assert_eq!(input_required(&mut wanted(vec![question()], MAX_STATE)), Ok(()));
    assert!(input_required(&mut wanted(vec![question(), question()], 0)).is_err());
    assert!(input_required(&mut wanted(vec![], MAX_STATE + 1)).is_err());
}
