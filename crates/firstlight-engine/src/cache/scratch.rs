//! The private cache directories of one command, brought into the declared state before each
//! process.
//!
//! The path is part of JAX's keys and of Inductor's files, so a primed cache must keep its path. All
//! processes therefore share one path, whose content is replaced.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use firstlight_schema::cache::{CachePolicy, Inventory, Layer, LayerReading, Policy};

use super::inventory::{Found, Seen, inventory, walk};
use super::private::PrivateFolder;
use super::settings::{TEMPORARY, folder, variables};
use crate::EngineError;

/// Layers with a folder whose content is counted.
const COUNTED: [Layer; 7] = [
    Layer::Jax,
    Layer::XlaAutotune,
    Layer::Inductor,
    Layer::Triton,
    Layer::Cuda,
    Layer::Numba,
    Layer::Bytecode,
];
const FOLDERS: [&str; 6] = ["jax", "inductor", "triton", "cuda", "numba", TEMPORARY];
const AUTOTUNE: &str = "autotune";
const BYTECODE: &str = "bytecode";

/// Directories below one temporary folder; gone when this is dropped.
#[derive(Debug)]
pub struct Scratch {
    root: PrivateFolder,
    /// The policy and the content that the folders were last brought into. The settings name these folders
    /// too: a process without its temporary folder would write to the machine's own.
    known: Option<(CachePolicy, Found)>,
    /// The inventory after the last process and its children exited. Nothing else writes to these folders, so
    /// the next process starts from it.
    last: Option<Found>,
}

impl Scratch {
    pub fn new() -> Result<Self, EngineError> {
        let root = PrivateFolder::new()?;
        Ok(Self { root, known: None, last: None })
    }

    /// The caches of the measured process.
    fn live(&self) -> PathBuf {
        self.root.path().join("c")
    }

    /// The files that the priming process left.
    fn primed(&self) -> PathBuf {
        self.root.path().join("primed")
    }

    /// A folder that no policy touches, for an arm's artefacts.
    pub fn artefacts(&self) -> Result<PathBuf, EngineError> {
        let folder = self.root.path().join("artefacts");
        fs::create_dir_all(&folder).map_err(EngineError::file("make", &folder))?;
        Ok(folder)
    }

    /// The settings that place the caches here, in addition to the command's own.
    pub fn variables(
        &self,
        policy: CachePolicy,
        own: &[(OsString, Option<OsString>)],
    ) -> Vec<(OsString, Option<OsString>)> {
        variables(policy, &self.live(), own)
    }

    /// Puts the directories into the declared state and counts their files.
    pub fn prepare(&mut self, policy: CachePolicy) -> Result<Vec<(Layer, Inventory)>, EngineError> {
        let live = self.live();
        let found = self.last.take().unwrap_or_else(|| walk(&live));
        let unchanged =
            self.known.as_ref().is_some_and(|(known, seen)| *known == policy && *seen == found);
        if unchanged {
            return Ok(count(policy, &found.files));
        }
        replace(&live, None)?;
        fs::create_dir_all(live.join(TEMPORARY)).map_err(EngineError::file("make", &live))?;
        for name in FOLDERS.into_iter().chain([BYTECODE]) {
            let of_layer = if name == BYTECODE { policy.bytecode } else { policy.compilers };
            if of_layer == Policy::Primed {
                replace(&live.join(name), Some(&self.primed().join(name)))?;
            }
        }
        let found = walk(&live);
        let counts = count(policy, &found.files);
        self.known = Some((policy, found));
        Ok(counts)
    }

    /// Keeps the files of a priming process for later samples.
    pub fn keep_as_primed(&mut self) -> Result<(), EngineError> {
        let (live, primed) = (self.live(), self.primed());
        replace(&primed, None)?;
        fs::rename(&live, &primed).map_err(EngineError::file("keep", &live))?;
        self.known = None;
        self.last = None;
        Ok(())
    }

    /// Counts again, after a process, and pairs the counts into readings.
    pub fn readings(
        &mut self,
        policy: CachePolicy,
        before: &[(Layer, Inventory)],
    ) -> Vec<LayerReading> {
        let found = walk(&self.live());
        let after = count(policy, &found.files);
        self.last = Some(found);
        before
            .iter()
            .zip(after)
            .map(|(&(layer, before), (_, after))| LayerReading {
                layer,
                policy: policy.for_layer(layer),
                directory: folder(layer)
                    .map(|folder| self.live().join(folder).to_string_lossy().into_owned()),
                before,
                after,
            })
            .collect()
    }
}

/// Counts every layer that has a private directory under this policy.
fn count(policy: CachePolicy, files: &[Seen]) -> Vec<(Layer, Inventory)> {
    COUNTED
        .into_iter()
        .filter(|&layer| policy.for_layer(layer) != Policy::AsFound)
        .map(|layer| (layer, inventory(files, |path| belongs(layer, path))))
        .collect()
}

fn belongs(layer: Layer, path: &Path) -> bool {
    let own = folder(layer).is_some_and(|folder| path.starts_with(folder));
    match layer {
        Layer::Jax => own && !is_autotune(path),
        Layer::XlaAutotune => own && is_autotune(path),
        Layer::Inductor => own || (path.starts_with(TEMPORARY) && is_inductor(path)),
        _ => own,
    }
}

fn is_inductor(path: &Path) -> bool {
    path.to_string_lossy().contains("torchinductor")
}

fn is_autotune(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().to_string_lossy().contains(AUTOTUNE))
}

/// Makes `target` a copy of `source`, or nothing at all.
fn replace(target: &Path, source: Option<&Path>) -> Result<(), EngineError> {
    match fs::remove_dir_all(target) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(EngineError::file("empty", target)(error));
        }
        _ => {}
    }
    match source {
        Some(source) if source.is_dir() => {
            copy(source, target).map_err(EngineError::file("copy", source))
        }
        _ => Ok(()),
    }
}

/// Copies a tree with its times: byte code names the time of the source it belongs to, and a cache
/// may look at the age of its entries.
fn copy(source: &Path, target: &Path) -> io::Result<()> {
    fs::create_dir_all(target)?;
    for entry in fs::read_dir(source)? {
        let entry = entry?;
        let (from, to) = (entry.path(), target.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy(&from, &to)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&from)?, &to)?;
        } else if kind.is_file() {
            fs::copy(&from, &to)?;
            let modified = entry.metadata()?.modified()?;
            fs::File::options().write(true).open(&to)?.set_modified(modified)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use firstlight_schema::cache::{CachePolicy, Layer, Policy};

    use super::Scratch;

    fn policy(compilers: Policy) -> CachePolicy {
        CachePolicy { compilers, bytecode: Policy::AsFound, page_cache: Policy::AsFound }
    }

    fn entries(scratch: &Scratch, layer: Layer) -> u64 {
        let counts = super::count(policy(Policy::Clean), &super::walk(&scratch.live()).files);
        counts.iter().find(|(known, _)| *known == layer).unwrap().1.entries
    }

    fn write(scratch: &Scratch, name: &str) {
        let path = scratch.live().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }

    #[test]
    fn clean_is_empty_again_after_each_process() {
        let mut scratch = Scratch::new().unwrap();
        for _ in 0..2 {
            scratch.prepare(policy(Policy::Clean)).unwrap();
            assert_eq!(entries(&scratch, Layer::Jax), 0);
            write(&scratch, "jax/entry");
        }
    }

    #[test]
    fn a_temporary_folder_that_a_process_took_away_stands_again_for_the_next() {
        let mut scratch = Scratch::new().unwrap();
        let elsewhere = Scratch::new().unwrap();
        let policy = policy(Policy::Clean);
        let temporary = scratch.live().join(super::TEMPORARY);
        for _ in 0..3 {
            let before = scratch.prepare(policy).unwrap();
            assert!(temporary.is_dir());
            fs::remove_dir(&temporary).unwrap();
            scratch.readings(policy, &before);
        }
        let before = scratch.prepare(policy).unwrap();
        fs::remove_dir_all(scratch.live()).unwrap();
        std::os::unix::fs::symlink(elsewhere.root.path(), scratch.live()).unwrap();
        scratch.readings(policy, &before);
        scratch.prepare(policy).unwrap();
        assert!(scratch.live().is_dir() && temporary.is_dir());
        assert!(elsewhere.root.path().is_dir());
    }

    #[test]
    fn primed_is_what_the_priming_process_left_whatever_later_ones_do() {
        let mut scratch = Scratch::new().unwrap();
        scratch.prepare(policy(Policy::Clean)).unwrap();
        write(&scratch, "jax/entry");
        scratch.keep_as_primed().unwrap();
        for _ in 0..2 {
            scratch.prepare(policy(Policy::Primed)).unwrap();
            assert_eq!(entries(&scratch, Layer::Jax), 1);
            write(&scratch, "jax/another");
        }
    }

    #[test]
    fn the_two_regimes_share_one_path() {
        let mut scratch = Scratch::new().unwrap();
        scratch.prepare(policy(Policy::Clean)).unwrap();
        write(&scratch, "jax/entry");
        scratch.keep_as_primed().unwrap();
        scratch.prepare(policy(Policy::Primed)).unwrap();
        scratch.prepare(policy(Policy::Clean)).unwrap();
        assert_eq!(entries(&scratch, Layer::Jax), 0);
        scratch.prepare(policy(Policy::Primed)).unwrap();
        assert_eq!(entries(&scratch, Layer::Jax), 1);
    }

    #[test]
    fn autotuning_results_and_precompiled_headers_are_counted_where_they_belong() {
        let mut scratch = Scratch::new().unwrap();
        scratch.prepare(policy(Policy::Clean)).unwrap();
        write(&scratch, "jax/xla_gpu_per_fusion_autotune_cache_dir/a");
        write(&scratch, "tmp/torchinductor_me/precompiled_headers/b.gch");
        write(&scratch, "tmp/unrelated");
        assert_eq!(entries(&scratch, Layer::Jax), 0);
        assert_eq!(entries(&scratch, Layer::XlaAutotune), 1);
        assert_eq!(entries(&scratch, Layer::Inductor), 1);
    }
}
