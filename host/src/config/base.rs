//! The user's folders.

use std::path::PathBuf;

/// The user's folders for this program: by the XDG rules, on Windows in `%APPDATA%` and, of the
/// cache, in `%LOCALAPPDATA%`.
pub struct Base {
    pub config: PathBuf,
    /// `$XDG_DATA_HOME/wharf/plugins`
    pub plugins: PathBuf,
    /// The key-value database, in a separate folder: the server must not write the plugins beside it.
    pub store: PathBuf,
    pub cache: PathBuf,
    pub home: PathBuf,
    /// `$XDG_DATA_HOME/wharf`, which holds plugins and the database.
    pub data: PathBuf,
    /// `$XDG_STATE_HOME/wharf`: the pins and the audit log.
    pub state: PathBuf,
}

/// `None` without a home folder.
pub fn base() -> Option<Base> {
    use etcetera::BaseStrategy as _;
    let base = etcetera::choose_base_strategy().ok()?;
    Some(Base {
        config: base.config_dir().join("wharf"),
        plugins: base.data_dir().join("wharf/plugins"),
        store: base.data_dir().join("wharf/store/keyvalue.sqlite"),
        cache: base.cache_dir().join("wharf"),
        home: base.home_dir().to_owned(),
        data: base.data_dir().join("wharf"),
        // Where there are no such folders by the system's rules, it is beside the data.
        state: base.state_dir().unwrap_or_else(|| base.data_dir()).join("wharf"),
    })
}
