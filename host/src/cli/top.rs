//! `wharf top`: what calls cost per plugin, tool or user, as rates between two readings.
//!
//! It reads what servers show to anybody who may: their metrics, or, for users, the audit log, which alone has them.

mod buckets;
mod columns;
mod followed;
mod live;
mod reading;
mod rows;
mod scraped;
mod server;
mod source;
mod terminal;
mod view;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};

use self::columns::Column;
use self::source::Source;
use self::view::View;
use super::options::Options;
use crate::os::terminal::width;
use crate::report::{self, Failure};

/// How often one may look.
const INTERVALS: std::ops::RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(3600);

#[derive(Args)]
pub(super) struct TopOptions {
    /// Where the metrics are: http://HOST:PORT/metrics [default: `metrics.address` of the configuration]
    #[arg(long)]
    url: Option<String>,
    /// File with the token for --url
    #[arg(long, value_name = "FILE", requires = "url")]
    token_file: Option<PathBuf>,
    /// What a row is of; users are those in the audit log
    #[arg(long, value_name = "WHAT", default_value = "plugin")]
    by: By,
    /// The column that the rows are sorted by
    #[arg(long, value_name = "COLUMN", default_value = "cpu")]
    sort: Column,
    /// The time between two readings
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = interval)]
    every: Duration,
    /// Print one table after that time, and end; so it does if stdout is no terminal
    #[arg(long)]
    once: bool,
    /// Print one JSON object after that time, and end
    #[arg(long)]
    json: bool,
}

/// What a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    Plugin,
    Tool,
    Subject,
}

impl By {
    /// Whether both come from the same source.
    fn is_like(self, other: Self) -> bool {
        (self == Self::Subject) == (other == Self::Subject)
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).ok().filter(|time| INTERVALS.contains(time));
    time.ok_or_else(|| "expected a time of 100ms to 1h, such as 1s".to_owned())
}

pub(super) async fn run(options: &Options, how: TopOptions) -> Result<ExitCode, Failure> {
    if how.once || how.json || !terminal::is_there() {
        let text = once(options, &how).await?;
        report::print(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    live::run(options, &how).await
}

/// What is printed of one interval.
async fn once(options: &Options, how: &TopOptions) -> Result<String, Failure> {
    let mut source = Source::open(options, how, how.by)?;
    let first = source.read().await?;
    tokio::time::sleep(how.every).await;
    let second = source.read().await?;
    let view = View::of(how.by, how.sort, source.name(), Some(&first), &second);
    Ok(if how.json { view.to_json() } else { view.to_text(width(std::io::stdout())) })
}
