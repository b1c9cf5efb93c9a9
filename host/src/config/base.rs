//! The user's folders.

use std::path::PathBuf;

/// The user's folders for this program, by the XDG rules.
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
    let xdg = etcetera::base_strategy::Xdg::new().ok()?;
    Some(Base {
        config: xdg.config_dir().join("wharf"),
        plugins: xdg.data_dir().join("wharf/plugins"),
        store: xdg.data_dir().join("wharf/store/keyvalue.sqlite"),
        cache: xdg.cache_dir().join("wharf"),
        home: xdg.home_dir().to_owned(),
        data: xdg.data_dir().join("wharf"),
        // On systems without state folders, it is the data folder.
        state: xdg.state_dir().unwrap_or_else(|| xdg.data_dir()).join("wharf"),
    })
}
