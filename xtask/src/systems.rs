//! The wheels on other systems: the oldest common glibc, the newest Python, and another processor.
//!
//! debootstrap unpacks such a system once and runs nothing of it. Programs for another processor run in
//! qemu. The system is entered in namespaces of its own, so nothing stays mounted or registered.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::installed::{EXPECTED, FIRST_STEPS, SAMPLE_PROJECT, SAMPLES};
use crate::python::NEWEST;
use crate::shell::{Result, install, output, root, step};
use crate::wheel::{Product, uv};

struct System {
    words: &'static str,
    release: &'static str,
    /// Debian's word for the processor.
    architecture: &'static str,
    /// The processor in the names of wheels.
    processor: &'static str,
    /// The Python of this release.
    python: &'static str,
    products: &'static [Product],
    /// Whether the sample project of the pytest plug-in runs, too.
    has_jax: bool,
}

const SYSTEMS: [System; 3] = [
    System {
        words: "Debian 11 (glibc 2.31, Python 3.9)",
        release: "bullseye",
        architecture: "amd64",
        processor: "x86_64",
        python: "3.9",
        // histfactory needs a newer Python.
        products: &[Product::Firstlight],
        has_jax: false,
    },
    System {
        words: "Debian 14 (Python 3.14)",
        release: "forky",
        architecture: "amd64",
        processor: "x86_64",
        python: "3.14",
        products: &Product::ALL,
        has_jax: true,
    },
    System {
        words: "Debian 12 for aarch64 in qemu (Python 3.11)",
        release: "bookworm",
        architecture: "arm64",
        processor: "aarch64",
        python: "3.11",
        products: &Product::ALL,
        has_jax: false,
    },
];

/// Tells the kernel of this namespace to run programs for aarch64 in qemu. From qemu's `qemu-binfmt-conf.sh`.
const AARCH64: &str = r":qemu-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:/usr/bin/qemu-aarch64-static:F";

/// Enters the system `$1` with the handler `$2` and runs `$3` there.
const ENTER: &str = r#"
if [ -n "$2" ]; then
    mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
    printf '%s' "$2" > /proc/sys/fs/binfmt_misc/register
fi
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount -t tmpfs tmpfs "$1/tmp"
exec chroot "$1" /usr/bin/env --ignore-environment HOME=/tmp PATH=/opt/wheels/bin:/usr/bin:/bin \
    PYTHONPATH=/opt/wheels PYTHONDONTWRITEBYTECODE=1 JAX_PLATFORMS=cpu /bin/sh -euc "$3"
"#;

const SNAPSHOT: &str = "fixtures/snapshots/jax-1.0.tar.zst";

/// How debootstrap unpacks any release, also one that is newer than debootstrap.
const SCRIPT: &str = "sid";

/// Unpacks the downloaded packages over the base system.
const UNPACK: &str = r#"
for package in var/cache/apt/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" |
        tar --extract --keep-old-files --keep-directory-symlink --file=- 2> /dev/null || true
    rm "$package"
done
mkdir --parents opt
touch unpacked
"#;

/// The program and the package, without a measurement.
const PROGRAM: &str = "\
firstlight --version
firstlight verify /opt/jax-1.0.tar.zst > /tmp/verified || { cat /tmp/verified; exit 1; }
python3 -c 'import firstlight; firstlight.mark(\"nobody measures\")'
";

/// A measurement. qemu lacks a system call that it needs: `prctl` with `PR_SET_CHILD_SUBREAPER`.
const COLD: &str = "\
firstlight cold --quiet --runs 2 --output /tmp/true -- true
firstlight cold --quiet --runs 2 --output /tmp/python -- \
    python3 -c 'import firstlight; firstlight.mark(\"here\")'
firstlight verify /tmp/true /tmp/python > /tmp/verified || { cat /tmp/verified; exit 1; }
";

/// Tries the wheels on each system. Returns a line for each system on which they were not tried.
pub fn test(wheels: &[&Path]) -> Result<Vec<String>> {
    let mut untried = Vec::new();
    for system in &SYSTEMS {
        let fitting: Vec<&Path> =
            wheels.iter().copied().filter(|wheel| system.can_install(wheel)).collect();
        let folder = if fitting.len() == system.products.len() {
            system.provide()
        } else {
            Err("its wheels are missing".to_owned())
        };
        match folder {
            Ok(folder) => system.test(&folder, &fitting)?,
            Err(why) => untried.push(format!("not tried: {}, because {why}", system.words)),
        }
    }
    Ok(untried)
}

impl System {
    fn can_install(&self, wheel: &Path) -> bool {
        let name = wheel.file_name().unwrap_or_default().to_string_lossy();
        let is_product = |product: &Product| name.starts_with(&format!("{}-", product.name()));
        name.ends_with(&format!("_{}.whl", self.processor)) && self.products.iter().any(is_product)
    }

    fn is_foreign(&self) -> bool {
        self.processor != std::env::consts::ARCH
    }

    /// Unpacks the system below `target`, once.
    fn provide(&self) -> Result<PathBuf> {
        if output(Command::new("id").arg("-u"))?.trim() != "0" {
            return Err("only root can unpack it".to_owned());
        }
        let mut needed = vec![("debootstrap", "debootstrap"), ("unshare", "util-linux")];
        if self.is_foreign() {
            needed.push(("qemu-aarch64-static", "qemu-user-static"));
        }
        if let Some((program, _)) = needed.iter().find(|(name, package)| !install(name, package)) {
            return Err(format!("`{program}` is not installed"));
        }
        let name = format!("{}-{}", self.release, self.architecture);
        let folder = root().join("target/systems").join(name);
        if !folder.join("unpacked").exists() {
            let _ = fs::remove_dir_all(&folder);
            self.unpack(&folder)?;
        }
        let entered = self.enter(&folder, "true").status();
        if !entered.is_ok_and(|status| status.success()) {
            return Err("this machine cannot enter it".to_owned());
        }
        Ok(folder)
    }

    /// Downloads a small Debian and unpacks its packages without configuring them.
    fn unpack(&self, folder: &Path) -> Result {
        let mut debootstrap = Command::new("debootstrap");
        debootstrap.args(["--foreign", "--variant=minbase", "--include=python3", "--arch"]);
        debootstrap.args([self.architecture, self.release]).arg(folder).arg(mirror()?).arg(SCRIPT);
        step(self.words, debootstrap.stdout(Stdio::null()))
            .map_err(|_| "debootstrap cannot download it".to_owned())?;
        let mut packages = Command::new("sh");
        step("its packages", packages.args(["-euc", UNPACK]).current_dir(folder))
            .map_err(|_| "its packages cannot be unpacked".to_owned())
    }

    fn test(&self, folder: &Path, wheels: &[&Path]) -> Result {
        let site = folder.join("opt/wheels");
        let _ = fs::remove_dir_all(&site);
        let platform = format!("{}-manylinux_2_28", self.processor);
        let mut install = uv(&["pip", "install", "--quiet", "--python-version", self.python]);
        install.args(["--python-platform", &platform, "--target"]).arg(site).args(wheels);
        if self.has_jax {
            install.args(["jax", "pytest", "--constraints", NEWEST.lock]);
        }
        step(&format!("the wheels for {}", self.words), &mut install)?;
        let mut copy = Command::new("cp");
        copy.arg("--recursive").args([SAMPLE_PROJECT, SNAPSHOT].map(|name| root().join(name)));
        step("the sample project and a snapshot", copy.arg(folder.join("opt")))?;
        let mut script = vec![PROGRAM.to_owned()];
        if !self.is_foreign() {
            script.push(COLD.to_owned());
        }
        if self.products.contains(&Product::Histfactory) {
            script.push(format!("python3 - <<'EOF'\n{FIRST_STEPS}\nEOF\n"));
        }
        if self.has_jax {
            script.push(sample_project());
        }
        let mut entered = self.enter(folder, &script.concat());
        step(&format!("first steps on {}", self.words), &mut entered)
    }

    fn enter(&self, folder: &Path, script: &str) -> Command {
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"]);
        unshare.args(["sh", "-euc", ENTER, "enter"]).arg(folder);
        unshare.arg(if self.is_foreign() { AARCH64 } else { "" }).arg(script);
        unshare
    }
}

/// The mirror from which this machine installs its packages.
fn mirror() -> Result<String> {
    let mut apt = Command::new("apt-get");
    let addresses = output(apt.args(["indextargets", "--format", "$(REPO_URI)"]))?;
    let mirror = addresses.lines().find(|address| !address.contains("security"));
    mirror.map(str::to_owned).ok_or_else(|| "apt-get names no mirror".to_owned())
}

/// One test that passes and one that recompiles.
fn sample_project() -> String {
    let [all, cause] = EXPECTED;
    let tests = SAMPLES.join(" ");
    format!(
        "cd /opt/pytest
        python3 -m pytest -q -p no:cacheprovider {tests} > /tmp/said || test $? = 1
        grep -qF '{all}' /tmp/said && grep -qF '{cause}' /tmp/said || {{ cat /tmp/said; exit 1; }}\n"
    )
}
