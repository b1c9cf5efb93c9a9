use serde_json::{Value, json};

use super::CompleteResult;
use crate::plugin::abi::Completion;

fn sent(count: usize, total: Option<u32>, has_more: bool) -> (usize, Value, Value) {
    let values = (0..count).map(|number| number.to_string()).collect();
    let mut sent = json!(CompleteResult::new(&Completion { values, total, has_more }));
    let completion = &mut sent["completion"];
    let count = completion["values"].as_array().expect("a list").len();
    (count, completion["total"].take(), completion["hasMore"].take())
}

#[test]
fn a_hundred_values_are_sent_with_the_total_if_it_is_known() {
    assert_eq!(sent(0, None, false), (0, Value::Null, json!(false)));
    assert_eq!(sent(2, None, true), (2, Value::Null, json!(true)));
    assert_eq!(sent(2, Some(9), true), (2, json!(9), json!(true)));
    assert_eq!(sent(100, None, false), (100, Value::Null, json!(false)));
    assert_eq!(sent(101, None, false), (100, json!(101), json!(true)));
    assert_eq!(sent(101, None, true), (100, Value::Null, json!(true)));
    assert_eq!(sent(101, Some(5000), true), (100, json!(5000), json!(true)));
    // A total that is too small is corrected.
    assert_eq!(sent(101, Some(7), false), (100, json!(101), json!(true)));
}
