//! The folders for runs and for caches. Measured processes load the hooks, so the folder with the hooks must
//! belong to the user.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use firstlight_schema::variables;

use crate::EngineError;

/// Folders of a configuration file.
#[derive(Clone, Debug, Default)]
pub struct Folders {
    pub runs: Option<PathBuf>,
    pub cache: Option<PathBuf>,
}

static CONFIGURED: OnceLock<Folders> = OnceLock::new();

/// Sets the folders that are used where no environment variable names one. Only the first call counts.
pub fn set_configured(folders: Folders) {
    let _ = CONFIGURED.set(folders);
}

/// The folder below which runs are kept.
pub fn runs_folder() -> PathBuf {
    let configured = CONFIGURED.get().and_then(|folders| folders.runs.clone());
    let place = ("firstlight/runs", ".local/state");
    folder(variables::RUNS, configured, variables::XDG_STATE_HOME, place)
}

/// The cache folder: environments and the Python side.
pub fn cache_folder() -> PathBuf {
    let configured = CONFIGURED.get().and_then(|folders| folders.cache.clone());
    folder(variables::CACHE, configured, variables::XDG_CACHE_HOME, ("firstlight", ".cache"))
}

fn folder(
    own: &str,
    configured: Option<PathBuf>,
    xdg: &str,
    (name, below_home): (&str, &str),
) -> PathBuf {
    let set = |variable: &str| {
        std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
    };
    let shared = || {
        let user = rustix::process::getuid().as_raw();
        std::env::temp_dir().join(format!("firstlight-{user}")).join(name)
    };
    set(own)
        .or(configured)
        .or_else(|| set(xdg).map(|path| path.join(name)))
        .or_else(|| set(variables::HOME).map(|path| path.join(below_home).join(name)))
        .unwrap_or_else(shared)
}

/// Creates a folder for code that will be run. Refuses an existing one unless it belongs to this user and
/// nobody else can write to it.
pub(crate) fn own_folder(path: &Path) -> Result<(), EngineError> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(EngineError::file("make", path))?;
    let known = fs::symlink_metadata(path).map_err(EngineError::file("look at", path))?;
    let foreign = || EngineError::ForeignFolder { path: path.to_owned() };
    if !known.is_dir() || known.uid() != rustix::process::geteuid().as_raw() {
        return Err(foreign());
    }
    let mode = known.mode();
    if mode & 0o002 != 0 || path.ancestors().skip(1).any(others_may_rename_below) {
        return Err(foreign());
    }
    if mode & 0o020 != 0 {
        // Groups of one member are common, and so is a umask that lets them write.
        let closed = fs::Permissions::from_mode(mode & !0o020);
        fs::set_permissions(path, closed).map_err(EngineError::file("close", path))?;
    }
    Ok(())
}

/// Whether another user can replace the content of this folder: its owner, or anybody if the folder is
/// writable for all and not sticky.
fn others_may_rename_below(folder: &Path) -> bool {
    // In a user namespace, folders of the outer root belong to another user, including `/`.
    let root = fs::metadata("/").map_or(0, |known| known.uid());
    let trusted = [0, root, rustix::process::geteuid().as_raw()];
    fs::metadata(folder)
        .is_ok_and(|known| known.mode() & 0o1002 == 0o0002 || !trusted.contains(&known.uid()))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    #[test]
    fn a_folder_that_others_may_write_to_holds_no_code_of_ours() {
        let parent = tempfile::tempdir().unwrap();
        let cache = parent.path().join("cache");
        own_folder(&cache).unwrap();
        assert_eq!(fs::metadata(&cache).unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(&cache, Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(own_folder(&cache), Err(EngineError::ForeignFolder { .. })));
    }

    #[test]
    fn a_link_in_the_place_of_the_folder_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let (real, link) = (parent.path().join("real"), parent.path().join("link"));
        fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert!(matches!(own_folder(&link), Err(EngineError::ForeignFolder { .. })));
    }

    #[test]
    fn a_folder_of_another_user_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let planted = parent.path().join("planted");
        fs::create_dir(&planted).unwrap();
        // Only root can change the owner of a folder; for other users this test has nothing to check.
        if std::os::unix::fs::chown(&planted, Some(12_345), None).is_ok() {
            assert!(matches!(own_folder(&planted), Err(EngineError::ForeignFolder { .. })));
            let below = planted.join("cache");
            assert!(matches!(own_folder(&below), Err(EngineError::ForeignFolder { .. })));
        }
    }
}
