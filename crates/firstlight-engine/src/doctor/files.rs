//! The kernel's small text files below a root, which in tests is a made-up machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

pub(super) struct Files {
    root: PathBuf,
}

impl Files {
    pub(super) fn below(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Trimmed; `None` for a file that is missing, unreadable or empty.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.root.join(path)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    pub(super) fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// The value of a line `name: value`.
    pub(super) fn field(&self, path: &str, name: &str) -> Option<String> {
        self.text(path)?
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(key, _)| key.trim() == name)
            .map(|(_, value)| value.trim().to_owned())
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// Names in a folder, sorted; `None` if the folder does not exist.
    pub(super) fn names(&self, path: &str) -> Option<Vec<String>> {
        let mut names: Vec<String> = fs::read_dir(self.root.join(path))
            .ok()?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        Some(names)
    }
}

/// Number of entries in a list such as `0-3,8`.
pub(super) fn listed(list: &str) -> Option<u32> {
    list.trim()
        .split(',')
        .map(|part| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (from, to): (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
            Some(to.checked_sub(from)? + 1)
        })
        .sum()
}

#[cfg(test)]
pub(super) mod fake {
    //! Made-up machines.

    use std::fs;
    use std::path::Path;

    use tempfile::TempDir;

    use super::Files;

    pub(in crate::doctor) struct Fake {
        folder: TempDir,
    }

    const CPU: &str = "sys/devices/system/cpu";

    impl Fake {
        pub(in crate::doctor) fn new() -> Self {
            Self { folder: tempfile::tempdir().unwrap() }
        }

        pub(in crate::doctor) fn path(&self) -> &Path {
            self.folder.path()
        }

        pub(in crate::doctor) fn files(&self) -> Files {
            Files::below(self.path())
        }

        pub(in crate::doctor) fn with(self, path: &str, text: &str) -> Self {
            let full = self.path().join(path);
            fs::create_dir_all(full.parent().unwrap()).unwrap();
            fs::write(full, text).unwrap();
            self
        }

        /// Intel, on battery, with a governor that saves power, turbo, and a hot afternoon.
        pub(in crate::doctor) fn laptop() -> Self {
            let mut fake = Self::new()
                .with(&format!("{CPU}/online"), "0-3\n")
                .with(&format!("{CPU}/smt/active"), "1\n")
                .with(&format!("{CPU}/intel_pstate/no_turbo"), "0\n")
                .with("proc/self/status", "Name:\tdoctor\nCpus_allowed_list:\t0-3\n")
                .with("proc/self/cgroup", "0::/user.slice/session-2.scope\n")
                .with("sys/fs/cgroup/user.slice/cpu.max", "max 100000\n")
                .with("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme sse2 ht\n")
                .with("sys/class/power_supply/AC/type", "Mains\n")
                .with("sys/class/power_supply/AC/online", "0\n")
                .with("sys/class/power_supply/BAT0/type", "Battery\n")
                .with("sys/class/power_supply/BAT0/status", "Discharging\n");
            for core in 0..4 {
                let cpu = format!("{CPU}/cpu{core}");
                fake = fake
                    .with(&format!("{cpu}/cpufreq/scaling_governor"), "powersave\n")
                    .with(&format!("{cpu}/cpufreq/scaling_min_freq"), "400000\n")
                    .with(&format!("{cpu}/cpufreq/scaling_max_freq"), "4700000\n")
                    .with(&format!("{cpu}/thermal_throttle/core_throttle_count"), "3\n")
                    .with(&format!("{cpu}/thermal_throttle/package_throttle_count"), "5\n");
            }
            fake
        }

        pub(in crate::doctor) fn virtual_machine() -> Self {
            let mut fake = Self::new()
                .with(&format!("{CPU}/online"), "0-1\n")
                .with("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor sse2\n")
                .with("proc/stat", "cpu  4000 10 900 90000 50 0 90 300 0 0\ncpu0 1 2 3\n")
                .with("sys/class/dmi/id/sys_vendor", "Amazon EC2\n")
                .with("sys/class/dmi/id/product_name", "c5.large\n");
            for core in 0..2 {
                fake = fake.with(&format!("{CPU}/cpu{core}/topology/core_id"), "0\n");
            }
            fs::create_dir_all(fake.path().join("sys/class/power_supply")).unwrap();
            fake
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fake::Fake;
    use super::listed;

    #[test]
    fn lists_of_processors_are_counted() {
        assert_eq!(listed("0"), Some(1));
        assert_eq!(listed("0-3,8,10-11\n"), Some(7));
        assert_eq!(listed("3-1"), None);
        assert_eq!(listed("all"), None);
    }

    #[test]
    fn an_empty_file_says_nothing() {
        let fake = Fake::new().with("proc/a", "\n").with("proc/b", "key :  value\n");
        assert_eq!(fake.files().text("proc/a"), None);
        assert_eq!(fake.files().field("proc/b", "key").as_deref(), Some("value"));
        assert_eq!(fake.files().names("proc").unwrap(), ["a", "b"]);
    }
}
