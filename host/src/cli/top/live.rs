//! The table in the terminal, until it is quit.

use std::process::ExitCode;

use tokio::sync::mpsc::{self, Receiver};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::task::AbortOnDropHandle;
use wharf_report::{DIM, WARNING, cut, line};

use super::columns::Column;
use super::reading::Reading;
use super::source::Source;
use super::terminal::{Key, Screen};
use super::view::{View, packed};
use super::{By, TopOptions};
use crate::cli::options::Options;
use crate::os::signals::{Received, Signals};
use crate::report::Failure;

const KEYS: [&str; 3] = ["q quits", "p, t, s: plugins, tools, users", "← → or a column's letter: sort"];

pub(super) async fn run(options: &Options, how: &TopOptions) -> Result<ExitCode, Failure> {
    let mut signals = Signals::listen().map_err(|error| Failure::new(format!("listen for signals: {error}")))?;
    let mut source = Source::open(options, how, how.by)?;
    // What does not work at all is no matter for a screen.
    let first = source.read().await?;
    let mut watched = Watched { name: source.name(), before: None, now: first, readings: follow(source, how) };
    let (mut by, mut sort) = (how.by, how.sort);
    let mut note = None;
    let (screen, mut keys) = Screen::enter()?;
    loop {
        watched.show(&screen, by, sort, note.as_deref())?;
        tokio::select! {
            signal = signals.next() => return Ok(match signal {
                Received::Terminate(code) => ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)),
                Received::HangUp => ExitCode::FAILURE,
            }),
            Some(key) = keys.recv() => match act(key, by, sort) {
                Act::Quit => return Ok(ExitCode::SUCCESS),
                Act::Sort(column) => sort = column,
                Act::Group(other) if other.is_like(by) => by = other,
                Act::Group(other) => match switched(options, how, other).await {
                    Ok(next) => (watched, by, note) = (next, other, None),
                    Err(failure) => note = Some(told(failure)),
                },
                Act::Nothing => {}
            },
            reading = watched.readings.receiver.recv() => match reading {
                Some(Ok(reading)) => {
                    watched.before = Some(std::mem::replace(&mut watched.now, reading));
                    note = None;
                }
                // A server may be started again.
                Some(Err(failure)) => note = Some(told(failure)),
                None => return Err(Failure::new("read more")),
            },
        }
    }
}

/// A source, and its last two readings.
struct Watched {
    name: String,
    before: Option<Reading>,
    now: Reading,
    readings: Readings,
}

/// Readings as they come, until this is dropped.
struct Readings {
    receiver: Receiver<Result<Reading, Failure>>,
    _task: AbortOnDropHandle<()>,
}

impl Watched {
    fn show(&self, screen: &Screen, by: By, sort: Column, note: Option<&str>) -> Result<(), Failure> {
        let (width, height) = screen.size();
        let view = View::of(by, sort, self.name.clone(), self.before.as_ref(), &self.now);
        let mut footer = match note {
            Some(note) => vec![format!("{WARNING}{}{WARNING:#}", cut(note, width))],
            None => Vec::new(),
        };
        let keys = packed(&KEYS.map(str::to_owned), Some(width));
        footer.extend(keys.first().map(|keys| format!("{DIM}{keys}{DIM:#}")));
        // One line is for what is left out.
        let room = height.saturating_sub(footer.len() + 1);
        let (mut lines, left_out) = view.to_lines(width, room);
        lines.push(if left_out > 0 { cut(&format!("… {left_out} more"), width) } else { String::new() });
        lines.extend(footer);
        lines.truncate(height);
        screen.show(&lines)
    }
}

/// Reads another source.
async fn switched(options: &Options, how: &TopOptions, by: By) -> Result<Watched, Failure> {
    let mut source = Source::open(options, how, by)?;
    let now = source.read().await?;
    Ok(Watched { name: source.name(), before: None, now, readings: follow(source, how) })
}

fn follow(mut source: Source, how: &TopOptions) -> Readings {
    let (sender, receiver) = mpsc::channel(1);
    let mut ticks = interval(how.every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let task = tokio::spawn(async move {
        // The first one is at once, and that reading is there.
        ticks.tick().await;
        loop {
            ticks.tick().await;
            if sender.send(source.read().await).await.is_err() {
                return;
            }
        }
    });
    Readings { receiver, _task: AbortOnDropHandle::new(task) }
}

/// A failure and its hint on one line.
fn told(failure: Failure) -> String {
    let (what, hint) = failure.into_parts();
    let hint = hint.map(|hint| format!("; hint: {hint}")).unwrap_or_default();
    line(&format!("failed to {what}{hint}"))
}

/// What a key does.
#[derive(Debug, PartialEq)]
enum Act {
    Quit,
    Sort(Column),
    Group(By),
    Nothing,
}

fn act(key: Key, by: By, sort: Column) -> Act {
    match key {
        Key::Left => Act::Sort(sort.beside(false)),
        Key::Right => Act::Sort(sort.beside(true)),
        Key::Char('q') => Act::Quit,
        Key::Char('p') => Act::Group(By::Plugin),
        Key::Char('t') => Act::Group(By::Tool),
        Key::Char('s') if by == By::Subject => Act::Nothing,
        Key::Char('s') => Act::Group(By::Subject),
        Key::Char(letter) => {
            Column::ALL.into_iter().find(|column| column.key() == letter).map_or(Act::Nothing, Act::Sort)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Act, By, Column, Key, act};

    #[test]
    fn keys_quit_sort_and_group() {
        let does = |key| act(key, By::Plugin, Column::Calls);
        assert_eq!(does(Key::Char('q')), Act::Quit);
        assert_eq!((does(Key::Left), does(Key::Right)), (Act::Sort(Column::Name), Act::Sort(Column::P50)));
        assert_eq!(does(Key::Char('u')), Act::Sort(Column::Cpu));
        assert_eq!(does(Key::Char('s')), Act::Group(By::Subject));
        assert_eq!(act(Key::Char('s'), By::Subject, Column::Calls), Act::Nothing);
        assert_eq!(does(Key::Char('?')), Act::Nothing);
    }
}
