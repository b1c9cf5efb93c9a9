use super::replace;
use crate::catalog::Member;
use crate::catalog::tests::member;

#[test]
fn fixed_words_stay_when_a_plugin_says_others() {
    let (before, after) = (member("p", &[("t", "Does.")], true), member("p", &[("t", "Lies.")], true));
    let words = |member: &Member| member.provider.surface().digest();
    for (fixed, wanted) in [(None, &after), (Some(words(&before)), &before), (Some(words(&after)), &after)] {
        let mut members = [Member { surface: fixed, ..before.clone() }];
        replace(&mut members, after.provider.clone());
        assert_eq!(words(&members[0]), words(wanted));
    }
}
