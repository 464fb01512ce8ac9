//! A real Slurm on loopback: munged, slurmctld, and a slurmd for each node, all private to one test.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::eventually;

const DAEMONS: [&str; 4] = ["munged", "slurmctld", "slurmd", "sbatch"];

pub(super) struct Cluster {
    folder: PathBuf,
    conf: PathBuf,
}

impl Cluster {
    /// Nodes `a` and `b` share everything. Node `c`, in a separate partition, sees an empty folder at
    /// `hidden`. `None` if Slurm cannot run; then `cargo xtask test` names the test.
    pub(super) fn start(test: &str, folder: &Path, hidden: &Path) -> Option<Self> {
        let missing = DAEMONS.iter().find(|name| !is_installed(name));
        let root = rustix::process::getuid().is_root();
        if missing.is_some() || !root {
            let why = missing.map_or("needs root".to_owned(), |name| format!("{name} is missing"));
            skip(test, &why);
            return None;
        }
        fs::create_dir_all(folder.join("state")).unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        let cluster = Self { folder: folder.to_owned(), conf: folder.join("slurm.conf") };
        cluster.configure();
        cluster.munge();
        cluster.daemon("slurmctld", &["-c"]);
        cluster.node("a");
        cluster.node("b");
        let script = "mount -t tmpfs none \"$0\" && exec slurmd -N c";
        let hidden = hidden.to_str().unwrap();
        cluster.daemon("unshare", &["--mount", "sh", "-c", script, hidden]);
        let idle = || {
            let nodes = cluster.said("sinfo", &["--noheader", "--Node", "--format=%T"]);
            nodes.lines().filter(|state| *state == "idle").count() == 3
        };
        assert!(eventually(idle), "{}", cluster.said("sinfo", &["--Node", "--long"]));
        Some(cluster)
    }

    fn configure(&self) {
        let ports: Vec<TcpListener> =
            (0..4).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let port = |index: usize| ports[index].local_addr().unwrap().port();
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let host = host.split('.').next().unwrap();
        let at = self.folder.display();
        let node = |(index, name): (usize, &str)| {
            let port = port(index + 1);
            format!("NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1")
        };
        let nodes: Vec<String> = ["a", "b", "c"].into_iter().enumerate().map(node).collect();
        let nodes = nodes.join("\n");
        let conf = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\n\
             SlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n\
             AuthInfo=socket={at}/munge.socket,cred_expire=5\n\
             StateSaveLocation={at}/state\nSlurmctldPidFile={at}/slurmctld.pid\n\
             SlurmctldLogFile={at}/slurmctld.log\nSlurmdLogFile={at}/slurmd-%n.log\n\
             SlurmdSpoolDir={at}/spool-%n\nSlurmdPidFile={at}/slurmd-%n.pid\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nMpiDefault=none\n\
             ReturnToService=2\nSlurmdParameters=config_overrides\nKillWait=5\nMinJobAge=30\n\
             SlurmdTimeout=10\nMaxArraySize=3\n\
             SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0\n{nodes}\n\
             PartitionName=main Nodes=a,b Default=YES State=UP\nPartitionName=island Nodes=c State=UP\n",
            port(0)
        );
        fs::write(&self.conf, conf).unwrap();
    }

    fn munge(&self) {
        let file = |name: &str| self.folder.join(name);
        let key: Vec<u8> = (0..1024_u32).map(|byte| (byte * 37 % 251) as u8).collect();
        fs::write(file("munge.key"), key).unwrap();
        fs::set_permissions(file("munge.key"), fs::Permissions::from_mode(0o600)).unwrap();
        let option = |name: &str, path: &str| format!("--{name}={}", file(path).display());
        let options = [
            "--force".to_owned(),
            option("key-file", "munge.key"),
            option("socket", "munge.socket"),
            option("pid-file", "munged.pid"),
            option("log-file", "munged.log"),
            option("seed-file", "munge.seed"),
        ];
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        self.daemon("munged", &options);
    }

    /// Starts the daemon of a node.
    pub(super) fn node(&self, name: &str) {
        self.daemon("slurmd", &["-N", name]);
    }

    /// Daemons move to the background by themselves.
    fn daemon(&self, name: &str, arguments: &[&str]) {
        let mut command = self.command(name);
        command.args(arguments).stdin(Stdio::null());
        let log = fs::File::create(self.folder.join(format!("{name}-start.txt"))).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log);
        assert!(command.status().unwrap().success(), "{name} does not start");
    }

    /// A command with the configuration of this cluster.
    pub(super) fn command(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        self.configured(&mut command);
        command
    }

    pub(super) fn configured(&self, command: &mut Command) {
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{path}:/usr/sbin:/sbin")).env("SLURM_CONF", &self.conf);
    }

    pub(super) fn said(&self, name: &str, arguments: &[&str]) -> String {
        let output = self.command(name).args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A power failure: the daemon of the node and all its processes are gone at once.
    pub(super) fn kill_node(&self, name: &str) {
        let mark =
            [format!("SLURMD_NODENAME={name}"), format!("SLURM_CONF={}", self.conf.display())];
        for pid in processes() {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let has = |wanted: &String| {
                environment.split(|&byte| byte == 0).any(|one| one == wanted.as_bytes())
            };
            if mark.iter().all(has) {
                if let Some(parent) = parent(pid).filter(|&parent| is_step(parent)) {
                    kill(parent);
                }
                kill(pid);
            }
        }
        kill(self.pid(&format!("slurmd-{name}.pid")).expect("the node runs"));
    }

    fn pid(&self, file: &str) -> Option<i32> {
        fs::read_to_string(self.folder.join(file)).ok()?.trim().parse().ok()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.said("scancel", &["--user=root"]);
        for name in ["a", "b", "c"] {
            if self.pid(&format!("slurmd-{name}.pid")).is_some() {
                self.kill_node(name);
            }
        }
        for file in ["slurmctld.pid", "munged.pid"] {
            self.pid(file).into_iter().for_each(kill);
        }
    }
}

/// Records a skipped test: the test command lists such tests, and fails if it expects none.
fn skip(test: &str, why: &str) {
    let Some(record) = std::env::var_os("FIRSTLIGHT_SKIPPED") else { return };
    let mut file = fs::File::options().append(true).create(true).open(record).unwrap();
    writeln!(file, "{test}: {why}").unwrap();
}

fn is_installed(name: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

fn processes() -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn parent(pid: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
}

fn is_step(pid: i32) -> bool {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.starts_with("slurmstepd")
}

fn kill(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, Signal::KILL);
    }
}
