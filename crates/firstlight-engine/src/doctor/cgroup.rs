//! How much CPU time our control group may take: its own limit and those above it.

use firstlight_schema::machine_state::CpuQuota;

use super::files::Files;

const MOUNT: &str = "sys/fs/cgroup";
/// Where the controller may be mounted, in the second version and in the first.
const SECOND: [&str; 2] = [MOUNT, "sys/fs/cgroup/unified"];
const FIRST: [&str; 2] = ["sys/fs/cgroup/cpu,cpuacct", "sys/fs/cgroup/cpu"];

pub(super) fn quota(files: &Files) -> Option<CpuQuota> {
    let text = files.text("proc/self/cgroup")?;
    if !files.exists(MOUNT) {
        return None;
    }
    let limits = text.lines().filter_map(|line| limit(files, line));
    Some(match limits.reduce(f64::min) {
        Some(cores) => CpuQuota::Cores { cores },
        None => CpuQuota::Unlimited,
    })
}

/// The tightest limit, in cores, that a line of `/proc/self/cgroup` leads to.
fn limit(files: &Files, line: &str) -> Option<f64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    let (mounts, read): (_, fn(&Files, &str) -> Option<f64>) = match controllers {
        "" => (SECOND, second),
        _ if controllers.split(',').any(|name| name == "cpu") => (FIRST, first),
        _ => return None,
    };
    let mounts = mounts.into_iter().filter(|mount| files.exists(mount));
    mounts
        .flat_map(|mount| upwards(path).map(move |folder| format!("{mount}{folder}")))
        .filter_map(|folder| read(files, &folder))
        .reduce(f64::min)
}

/// The folder and all above it. A group outside our namespace begins with `..` and is not seen.
fn upwards(path: &str) -> impl Iterator<Item = &str> {
    let path = path.trim_start_matches("/..").trim_end_matches('/');
    std::iter::successors(Some(path), |path| path.rfind('/').map(|end| &path[..end]))
}

/// `150000 100000`, or `max 100000`.
fn second(files: &Files, folder: &str) -> Option<f64> {
    let text = files.text(&format!("{folder}/cpu.max"))?;
    let (quota, period) = text.split_once(' ')?;
    share(quota.parse().ok()?, period.parse().ok()?)
}

/// A quota of -1 is none.
fn first(files: &Files, folder: &str) -> Option<f64> {
    let quota = files.number(&format!("{folder}/cpu.cfs_quota_us"))?;
    share(quota, files.number(&format!("{folder}/cpu.cfs_period_us"))?)
}

fn share(quota_us: f64, period_us: f64) -> Option<f64> {
    (quota_us > 0.0 && period_us > 0.0).then(|| quota_us / period_us)
}

#[cfg(test)]
mod tests {
    use firstlight_schema::machine_state::CpuQuota;

    use super::quota;
    use crate::doctor::files::fake::Fake;

    fn cores(fake: &Fake) -> f64 {
        match quota(&fake.files()) {
            Some(CpuQuota::Cores { cores }) => cores,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_container_sees_its_quota_at_the_root_of_its_namespace() {
        let fake = Fake::new()
            .with("proc/self/cgroup", "0::/\n")
            .with("sys/fs/cgroup/cpu.max", "150000 100000\n");
        assert!((cores(&fake) - 1.5).abs() < 1e-9);
    }

    #[test]
    fn the_tightest_limit_on_the_way_up_counts() {
        let fake = Fake::new()
            .with("proc/self/cgroup", "0::/pod/box\n")
            .with("sys/fs/cgroup/pod/box/cpu.max", "max 100000\n")
            .with("sys/fs/cgroup/pod/cpu.max", "50000 100000\n")
            .with("sys/fs/cgroup/cpu.max", "400000 100000\n");
        assert!((cores(&fake) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn the_first_version_is_read_too() {
        let fake = Fake::new()
            .with("proc/self/cgroup", "4:memory:/x\n3:cpu,cpuacct:/docker/abc\n0::/\n")
            .with("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n")
            .with("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
        assert!((cores(&fake) - 2.0).abs() < 1e-9, "found above a path that is not mounted");
    }

    #[test]
    fn no_limit_and_no_knowledge_are_different() {
        let free = Fake::new()
            .with("proc/self/cgroup", "1:cpu:/\n0::/../other\n")
            .with("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
            .with("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
        assert_eq!(quota(&free.files()), Some(CpuQuota::Unlimited));
        assert_eq!(quota(&Fake::new().with("proc/self/cgroup", "0::/\n").files()), None);
        assert_eq!(quota(&Fake::new().files()), None);
    }
}
