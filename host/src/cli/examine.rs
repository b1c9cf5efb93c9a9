//! Examines the files of a folder as a server loads them: several at once, and no more than it serves. All of them
//! together take a bounded time, whatever they do; what was not examined is said.

use std::cell::RefCell;
use std::pin::pin;
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};
use tokio::time::{Instant, timeout_at};

use crate::catalog::{MAX_PLUGINS, PARALLEL_LOADS};
use crate::report::Screen;

/// More than a folder of honest plugins takes to be compiled. One that hangs while it lists is stopped after 2 s.
const LIMIT: Duration = Duration::from_secs(300);

/// What is done to files, and until when.
pub(super) struct Examination<'a> {
    screen: &'a Screen,
    /// Such as `loading`; the names of files follow.
    verb: &'a str,
    until: Instant,
}

impl<'a> Examination<'a> {
    pub(super) fn begin(screen: &'a Screen, verb: &'a str) -> Self {
        Self { screen, verb, until: Instant::now() + LIMIT }
    }

    /// Examines files, each with its name. Returns the results in any order, and why the rest was not examined. `served`:
    /// whether a server would have the file in service, as it is.
    pub(super) async fn of<T, R, F: Future<Output = R>>(
        &self,
        files: Vec<(String, T)>,
        one: impl Fn(T) -> F,
        served: impl Fn(&R) -> bool,
    ) -> (Vec<R>, Option<String>) {
        let (all, now) = (files.len(), RefCell::new(Vec::new()));
        let begin = |(name, file): (String, T)| {
            let work = one(file);
            let now = &now;
            async move {
                now.borrow_mut().push(name.clone());
                let result = work.await;
                now.borrow_mut().retain(|other| *other != name);
                result
            }
        };
        let work = async {
            let (mut results, mut places) = (Vec::new(), MAX_PLUGINS);
            let mut examined = pin!(stream::iter(files).map(begin).buffer_unordered(PARALLEL_LOADS));
            while places > 0 {
                match timeout_at(self.until, examined.next()).await {
                    Ok(Some(result)) => {
                        places -= usize::from(served(&result));
                        results.push(result);
                    }
                    Ok(None) => break,
                    Err(_) => return (results, Some("the time for all of them is over")),
                }
            }
            (results, None)
        };
        let what = || format!("{} {}", self.verb, now.borrow().join(", "));
        let (results, over) = self.screen.timed_as(what, work).await;
        let left = all - results.len();
        let why = (left > 0).then(|| match over {
            Some(why) => format!("look at {left} of the files: {why}"),
            None => format!("look at {left} of the files: a server loads at most {MAX_PLUGINS} plugins"),
        });
        (results, why)
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures_util::future::{Either, FutureExt as _};

    use super::*;

    fn numbered(count: usize) -> Vec<(String, usize)> {
        (0..count).map(|number| (number.to_string(), number)).collect()
    }

    #[tokio::test]
    async fn files_that_never_end_leave_the_rest_and_that_is_said() {
        let screen = Screen::default();
        let hanging =
            |number| if number < PARALLEL_LOADS { Either::Left(pending()) } else { Either::Right(ready(number)) };
        let over = Examination { until: Instant::now(), ..Examination::begin(&screen, "loading") };
        let (results, left) = over.of(numbered(20), hanging, |_| true).await;
        assert_eq!(
            (results.len(), left.as_deref()),
            (0, Some("look at 20 of the files: the time for all of them is over"))
        );
        // One that hangs does not keep others from being examined.
        let one = |number| if number == 0 { pending().left_future() } else { ready(number).right_future() };
        let soon = Examination { until: Instant::now() + Duration::from_millis(50), ..over };
        let (results, left) = soon.of(numbered(20), one, |_| true).await;
        assert_eq!((results.len(), left.is_some()), (19, true));
    }

    #[tokio::test]
    async fn as_many_are_examined_as_a_server_serves() {
        let screen = Screen::default();
        let all = Examination::begin(&screen, "loading");
        let (results, left) = all.of(numbered(MAX_PLUGINS), ready, |_| true).await;
        assert_eq!((results.len(), left), (MAX_PLUGINS, None));
        // Those that are refused or held give their places back.
        let (results, left) = all.of(numbered(MAX_PLUGINS + 3), ready, |number| *number > 0).await;
        assert_eq!(results.len(), MAX_PLUGINS + 1);
        assert_eq!(left.as_deref(), Some("look at 2 of the files: a server loads at most 256 plugins"));
    }
}
