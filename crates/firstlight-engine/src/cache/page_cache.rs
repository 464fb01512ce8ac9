//! The kernel's cache of file contents: dropped for an interpreter's own files, and counted.
//!
//! Dropping needs no privilege and touches no other file. Pages that another process maps stay;
//! the count shows how many.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use firstlight_schema::cache::Inventory;
use rustix::fs::{Advice, fadvise, sync};

use super::inventory::visit;

/// The files that a measured process will read.
#[derive(Debug)]
pub struct PageCache {
    files: Vec<(PathBuf, u64)>,
}

impl PageCache {
    /// All files below the folders.
    pub fn below(folders: &[PathBuf]) -> Self {
        let mut files = Vec::new();
        for folder in folders {
            visit(folder, &mut |path, metadata| {
                if metadata.len() > 0 {
                    files.push((path.to_owned(), metadata.len()));
                }
            });
        }
        files.sort();
        files.dedup();
        // Pages that wait to be written are not dropped.
        sync();
        Self { files }
    }

    pub fn drop_all(&self) {
        for (path, _) in &self.files {
            if let Ok(file) = File::open(path) {
                // The call is only advice to the kernel; the count shows which pages stayed.
                let _ = fadvise(&file, 0, None, Advice::DontNeed);
            }
        }
    }

    /// Files with any page in memory, and the bytes of those pages.
    pub fn count(&self) -> Inventory {
        let mut inventory = Inventory::default();
        for (path, length) in &self.files {
            let resident = resident_bytes(path, *length).unwrap_or(0);
            inventory.entries += u64::from(resident > 0);
            inventory.bytes += resident;
        }
        inventory
    }
}

#[expect(unsafe_code, reason = "no safe wrapper asks which pages of a file are in memory")]
fn resident_bytes(path: &Path, length: u64) -> Option<u64> {
    let file = File::open(path).ok()?;
    let length = usize::try_from(length).ok()?;
    let page = rustix::param::page_size();
    let mut pages = vec![0_u8; length.div_ceil(page)];
    // SAFETY: a new private mapping of a file we hold open; nothing reads through it.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_NONE,
            libc::MAP_PRIVATE,
            file.as_raw_fd(),
            0,
        )
    };
    if address == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the mapping is `length` bytes long, and `pages` has a byte for each of its pages.
    let answer = unsafe { libc::mincore(address, length, pages.as_mut_ptr()) };
    // SAFETY: the mapping made above, which nobody else knows.
    unsafe { libc::munmap(address, length) };
    let resident = pages.iter().filter(|&&flags| flags & 1 == 1).count();
    (answer == 0).then_some((resident * page) as u64)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::PageCache;

    #[test]
    fn a_file_just_read_is_in_memory_and_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), vec![1; 100_000]).unwrap();
        let cache = PageCache::below(&[folder.path().to_owned()]);
        let counted = cache.count();
        assert_eq!(counted.entries, 1);
        assert!(counted.bytes >= 100_000, "{counted:?}");
        // Whether the pages are dropped depends on the file system; the call must not fail.
        cache.drop_all();
    }
}
