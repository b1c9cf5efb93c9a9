//! Where readings come from.

use super::By;
use super::TopOptions;
use super::followed::Followed;
use super::reading::Reading;
use super::scraped::Scraped;
use crate::cli::options::Options;
use crate::report::Failure;

pub(super) enum Source {
    Metrics(Box<Scraped>),
    AuditLog(Box<Followed>),
}

impl Source {
    /// # Errors
    /// If it is not known where it is, or it is off.
    pub(super) fn open(options: &Options, how: &TopOptions, by: By) -> Result<Self, Failure> {
        Ok(match by {
            By::Subject => Self::AuditLog(Box::new(Followed::open(options)?)),
            By::Plugin | By::Tool => {
                let (url, token) = (how.url.as_deref(), how.token_file.as_deref());
                Self::Metrics(Box::new(Scraped::of(options, url, token)?))
            }
        })
    }

    /// For people.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Metrics(scraped) => scraped.name(),
            Self::AuditLog(followed) => followed.name(),
        }
    }

    /// # Errors
    /// If it cannot be read now.
    pub(super) async fn read(&mut self) -> Result<Reading, Failure> {
        match self {
            Self::Metrics(scraped) => scraped.read().await,
            Self::AuditLog(followed) => followed.read(),
        }
    }
}
