//! Reaps a process and reads the kernel's counters for it.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use firstlight_schema::nanos::Nanos;
use firstlight_schema::reading::Usage;
use rustix::process::Pid;

/// Waits for the process to end and takes its counters; it must be a child not yet reaped.
#[expect(unsafe_code, reason = "no safe wrapper returns the counters of a single child")]
pub(super) fn reap(pid: Pid) -> io::Result<(ExitStatus, Usage)> {
    let mut status = 0;
    loop {
        // SAFETY: rusage is plain data, and all zeros is one of its values.
        let mut counters: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are to live locals of the types that wait4 fills in.
        let reaped = unsafe {
            libc::wait4(pid.as_raw_nonzero().get(), &raw mut status, 0, &raw mut counters)
        };
        if reaped >= 0 {
            return Ok((ExitStatus::from_raw(status), usage(&counters)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn usage(counters: &libc::rusage) -> Usage {
    let time = |value: libc::timeval| {
        Nanos(count(value.tv_sec) * 1_000_000_000 + count(value.tv_usec) * 1_000)
    };
    Usage {
        user_ns: time(counters.ru_utime),
        system_ns: time(counters.ru_stime),
        minor_faults: count(counters.ru_minflt),
        major_faults: count(counters.ru_majflt),
        voluntary_switches: count(counters.ru_nvcsw),
        involuntary_switches: count(counters.ru_nivcsw),
        max_rss_bytes: count(counters.ru_maxrss) * 1024,
    }
}

fn count(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}
