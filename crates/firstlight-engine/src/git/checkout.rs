//! Two commits in worktrees of their own, in a private folder. Their paths are equally long, because a path's
//! length alone can change how fast a program starts.

use std::fs;
use std::path::{Path, PathBuf};

use super::repository::{Commit, LIMIT, Repository};
use crate::EngineError;
use crate::cache::PrivateFolder;
use crate::helper::closing_output;

/// Worktrees that are removed when this is dropped.
#[derive(Debug)]
pub struct Checkouts {
    repository: Repository,
    /// Of the commits, in their order.
    folders: Vec<PathBuf>,
    private: PrivateFolder,
}

impl Checkouts {
    /// Checks the commits out, each into a folder with the given name.
    pub fn new(repository: &Repository, commits: &[(&str, &Commit)]) -> Result<Self, EngineError> {
        forget_removed(repository)?;
        let private = PrivateFolder::new()?;
        let mut checkouts = Self { repository: repository.clone(), folders: Vec::new(), private };
        for (name, commit) in commits {
            checkouts.add(name, commit)?;
        }
        Ok(checkouts)
    }

    fn add(&mut self, name: &str, commit: &Commit) -> Result<(), EngineError> {
        let folder = self.private.path().join(name);
        self.folders.push(folder.clone());
        let path = folder.to_string_lossy();
        let add = ["worktree", "add", "--quiet", "--force", "--detach", &path, &commit.id];
        self.repository.git(&add).map(drop)
    }

    /// The folder of a commit, by its place.
    pub fn folder(&self, place: usize) -> &Path {
        &self.folders[place]
    }
}

impl Drop for Checkouts {
    fn drop(&mut self) {
        for folder in &self.folders {
            let path = folder.to_string_lossy();
            let mut remove =
                self.repository.command(&["worktree", "remove", "--force", "--force", &path]);
            let _ = closing_output(&mut remove, LIMIT);
        }
    }
}

/// Removes git's records of worktrees that a killed firstlight left and the next one has removed.
fn forget_removed(repository: &Repository) -> Result<(), EngineError> {
    let common = repository.git(&["rev-parse", "--git-common-dir"])?;
    let records = repository.root().join(common).join("worktrees");
    for record in fs::read_dir(records).into_iter().flatten().flatten() {
        let Ok(link) = fs::read_to_string(record.path().join("gitdir")) else { continue };
        let worktree = Path::new(link.trim_end());
        if PrivateFolder::contains(worktree) && !worktree.exists() {
            let _ = fs::remove_dir_all(record.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use super::{Checkouts, Repository};
    use crate::EngineError;

    fn git(folder: &Path, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.arg("-C").arg(folder).args(["-c", "user.name=a", "-c", "user.email=a@b"]);
        let done = command.args(arguments).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    fn repository(folder: &Path) -> Repository {
        git(folder, &["init", "--quiet", "--initial-branch=main"]);
        for version in ["one", "two"] {
            fs::write(folder.join("file"), version).unwrap();
            git(folder, &["add", "."]);
            git(folder, &["commit", "--quiet", "-m", version]);
        }
        Repository::find(folder).unwrap()
    }

    fn worktrees(folder: &Path) -> usize {
        fs::read_dir(folder.join(".git/worktrees")).map_or(0, Iterator::count)
    }

    #[test]
    fn two_commits_are_checked_out_and_leave_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let repository = repository(folder.path());
        let (base, head) =
            (repository.commit("HEAD~1").unwrap(), repository.commit("main").unwrap());
        assert_eq!((base.subject.as_str(), head.subject.as_str()), ("one", "two"));
        let checkouts = Checkouts::new(&repository, &[("base", &base), ("head", &head)]).unwrap();
        let folders = [checkouts.folder(0).to_owned(), checkouts.folder(1).to_owned()];
        let read = |folder: &Path| fs::read_to_string(folder.join("file")).unwrap();
        assert_eq!((read(&folders[0]).as_str(), read(&folders[1]).as_str()), ("one", "two"));
        fs::write(folders[0].join("made-by-a-build"), "x").unwrap();
        drop(checkouts);
        assert!(folders.iter().all(|folder| !folder.exists()));
        assert_eq!(worktrees(folder.path()), 0);
        assert_eq!(fs::read_to_string(folder.path().join("file")).unwrap(), "two");
    }

    #[test]
    fn uncommitted_changes_and_new_files_are_a_commit_and_the_index_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let repository = repository(folder.path());
        let clean = repository.working_tree().unwrap();
        assert!(!clean.uncommitted && clean == repository.commit("HEAD").unwrap());
        fs::write(folder.path().join("file"), "three").unwrap();
        fs::write(folder.path().join("new"), "n").unwrap();
        fs::write(folder.path().join(".gitignore"), "ignored\n").unwrap();
        fs::write(folder.path().join("ignored"), "i").unwrap();
        let before = repository.git(&["status", "--porcelain"]).unwrap();
        let dirty = repository.working_tree().unwrap();
        assert!(dirty.uncommitted);
        assert_eq!(repository.git(&["status", "--porcelain"]).unwrap(), before);
        let checkouts = Checkouts::new(&repository, &[("head", &dirty)]).unwrap();
        let has = |name: &str| checkouts.folder(0).join(name).exists();
        assert!(has("new") && !has("ignored"));
        assert_eq!(fs::read_to_string(checkouts.folder(0).join("file")).unwrap(), "three");
    }

    #[test]
    fn records_of_a_killed_firstlight_are_forgotten_and_those_of_the_user_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let repository = repository(folder.path());
        let head = repository.commit("HEAD").unwrap();
        let killed = Checkouts::new(&repository, &[("head", &head)]).unwrap();
        fs::remove_dir_all(killed.folder(0)).unwrap();
        std::mem::forget(killed);
        let own = tempfile::tempdir().unwrap();
        let path = own.path().join("mine");
        git(folder.path(), &["worktree", "add", "--quiet", "--detach", path.to_str().unwrap()]);
        assert_eq!(worktrees(folder.path()), 2);
        drop(Checkouts::new(&repository, &[]).unwrap());
        assert_eq!(worktrees(folder.path()), 1);
    }

    #[test]
    fn what_is_not_there_is_an_error_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let error = Repository::find(folder.path()).unwrap_err();
        assert!(matches!(error, EngineError::NoRepository { .. }), "{error}");
        let repository = repository(folder.path());
        for name in ["nowhere", "--all", ""] {
            let error = repository.commit(name).unwrap_err();
            assert!(matches!(error, EngineError::NoRevision { .. }), "{name}: {error}");
        }
        let (one, two) = (repository.commit("HEAD~1").unwrap(), repository.commit("HEAD").unwrap());
        assert_eq!(repository.between(&one, &two).unwrap(), std::slice::from_ref(&two));
        let error = repository.between(&two, &one).unwrap_err();
        assert!(matches!(error, EngineError::NotAnAncestor { .. }), "{error}");
    }
}
