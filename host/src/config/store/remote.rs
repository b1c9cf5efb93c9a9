//! Stores on other machines: each engine has its URLs, and takes of the settings what it needs.

use super::super::{Config, ConfigError, WrongValue};
use super::FORM;
use crate::store::Place;

/// The schemes of URLs, and the cargo feature that each needs.
const SCHEMES: [(&str, &str); 4] =
    [("postgres://", "postgres"), ("postgresql://", "postgres"), ("nats://", "nats"), ("tls://", "nats")];

/// What the URL names. Nothing of it is repeated in errors: it might be its password.
///
/// # Errors
/// If it is malformed, or names an engine that this program does not have.
pub(super) fn place(url: &str) -> Result<Place, WrongValue> {
    let Some((_, feature)) = SCHEMES.iter().find(|(scheme, _)| url.starts_with(scheme)) else {
        return Err(WrongValue::at(&["url"], "not a place for a store").hint(FORM));
    };
    #[cfg(any(feature = "nats", feature = "postgres"))]
    let wrong = |wrong: crate::store::UnusableUrl| WrongValue::at(&["url"], wrong.why).hint(wrong.hint);
    match *feature {
        #[cfg(feature = "postgres")]
        "postgres" => crate::store::PostgresSettings::of_url(url).map(Box::new).map(Place::Postgres).map_err(wrong),
        #[cfg(feature = "nats")]
        "nats" => crate::store::NatsSettings::of_url(url).map(Box::new).map(Place::Nats).map_err(wrong),
        feature => {
            let why = format!("this program was built without the cargo feature {feature}");
            Err(WrongValue::at(&["url"], why)
                .hint(format!("build it with --features {feature}, or write \"sqlite:PATH\"")))
        }
    }
}

/// The place with the other settings.
///
/// # Errors
/// If a file or a variable that they name cannot be read.
#[cfg_attr(not(any(feature = "nats", feature = "postgres")), allow(unused_variables, reason = "files have no more"))]
pub(super) fn open(config: &Config, place: Place) -> Result<Place, ConfigError> {
    #[cfg(any(feature = "nats", feature = "postgres"))]
    let store = &config.store;
    #[cfg(any(feature = "nats", feature = "postgres"))]
    let password = match &store.password {
        Some(password) => Some(password.read(config, "store.password: the password", 1)?),
        None => None,
    };
    match place {
        Place::File(path) => Ok(Place::File(path)),
        #[cfg(feature = "postgres")]
        Place::Postgres(mut settings) => {
            if let Some(password) = password {
                settings.set_password(&password);
            }
            settings.ca = store.ca.as_ref().map(|file| config.resolve(file));
            settings.connect_timeout = store.connect_timeout;
            settings.request_timeout = store.request_timeout;
            settings.connections = store.connections;
            Ok(Place::Postgres(settings))
        }
        #[cfg(feature = "nats")]
        Place::Nats(mut settings) => {
            if let Some(password) = password {
                settings.set_password(&password);
            }
            if let Some(file) = &store.credentials {
                use super::super::source::Place;
                let text = Place::File(config.resolve(file)).text();
                let text = text.map_err(|unusable| unusable.error("store.credentials: the file", None))?;
                settings.set_credentials(&text).map_err(|why| {
                    let hint = "write the path of a file of nsc, or of a seed of nk";
                    ConfigError::new(format!("store.credentials: {why}"), Some(hint.into()))
                })?;
            }
            settings.ca = store.ca.as_ref().map(|file| config.resolve(file));
            settings.connect_timeout = store.connect_timeout;
            settings.request_timeout = store.request_timeout;
            Ok(Place::Nats(settings))
        }
    }
}
