//! The base directories of the user.

use std::path::PathBuf;

/// The user's folders for Wharf: XDG base directories; on Windows `%APPDATA%`, and `%LOCALAPPDATA%` for
/// the cache.
pub struct Base {
    pub config: PathBuf,
    /// `$XDG_DATA_HOME/wharf/plugins`
    pub plugins: PathBuf,
    /// The key-value database. Its folder is separate from `plugins`, which the server must not write.
    pub store: PathBuf,
    pub cache: PathBuf,
    pub home: PathBuf,
    /// `$XDG_DATA_HOME/wharf`, which contains `plugins` and `store`.
    pub data: PathBuf,
    /// `$XDG_STATE_HOME/wharf`: the pin file and the audit log.
    pub state: PathBuf,
}

impl Base {
    /// The configuration file that is read unless another one is given.
    pub fn default_file(&self) -> PathBuf {
        self.config.join("wharf.toml")
    }
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
        // Systems without state folders: in the data folder.
        state: base.state_dir().unwrap_or_else(|| base.data_dir()).join("wharf"),
    })
}
