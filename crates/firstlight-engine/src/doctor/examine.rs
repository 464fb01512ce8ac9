//! All readings at one moment.

use std::path::Path;

use firstlight_schema::machine_state::{GpuState, MachineState};

use super::files::Files;
use super::{cgroup, cpu, gpu, host, kernel};
use crate::clock::utc;

/// Reads the state of this machine; unreadable values are unknown.
pub fn examine() -> MachineState {
    examine_below(Path::new("/"), gpu::ask())
}

fn examine_below(root: &Path, gpus: Option<Vec<GpuState>>) -> MachineState {
    let files = &Files::below(root);
    let memory = kernel::memory(files);
    MachineState {
        taken: utc(),
        cores: cpu::online(files),
        allowed_cores: cpu::allowed(files),
        smt: cpu::smt(files),
        numa_nodes: cpu::numa_nodes(files),
        governors: cpu::governors(files),
        turbo: cpu::turbo(files),
        frequency: cpu::frequency(files),
        throttled: cpu::throttled(files),
        load: kernel::load(files),
        running: kernel::running(files),
        ticks: kernel::ticks(files),
        cpu_quota: cgroup::quota(files),
        memory_total_bytes: memory.total,
        memory_available_bytes: memory.available,
        swap_used_bytes: memory.swap_used,
        huge_pages: kernel::huge_pages(files),
        aslr: kernel::aslr(files),
        clock_source: kernel::clock_source(files),
        host: host::host(files),
        container: host::container(files),
        on_battery: host::on_battery(files),
        gpus,
    }
}

#[cfg(test)]
mod tests {
    use firstlight_schema::machine_state::{CpuQuota, Host, MachineState};

    use super::{examine, examine_below};
    use crate::doctor::files::fake::Fake;

    #[test]
    fn a_machine_that_tells_nothing_is_unknown_and_no_error() {
        let state = examine_below(Fake::new().path(), None);
        assert_eq!(state, MachineState { taken: state.taken.clone(), ..MachineState::default() });
    }

    #[test]
    fn a_laptop_is_read_as_a_whole() {
        let fake = Fake::laptop();
        let state = examine_below(fake.path(), Some(Vec::new()));
        assert_eq!((state.cores, state.allowed_cores, state.smt), (Some(4), Some(4), Some(true)));
        assert_eq!(state.governors["powersave"], 4);
        assert!(state.turbo.unwrap().on);
        assert_eq!(state.host, Some(Host::Physical));
        assert_eq!(state.cpu_quota, Some(CpuQuota::Unlimited));
        assert_eq!(state.on_battery, Some(true));
        assert_eq!(state.throttled.unwrap().core, 12);
    }

    #[test]
    fn a_virtual_machine_without_frequencies_is_read_as_a_whole() {
        let fake = Fake::virtual_machine();
        let state = examine_below(fake.path(), None);
        assert!(state.governors.is_empty());
        assert_eq!((state.turbo, state.frequency, state.throttled), (None, None, None));
        let name = Some("Amazon EC2 c5.large".to_owned());
        assert_eq!(state.host, Some(Host::Virtual { name }));
        assert_eq!(state.ticks.unwrap().stolen, 300);
        assert_eq!(state.on_battery, Some(false));
    }

    #[test]
    fn this_machine_tells_at_least_its_load_and_its_memory() {
        let state = examine();
        assert!(state.load.is_some() && state.ticks.is_some());
        assert!(state.memory_available_bytes <= state.memory_total_bytes);
    }
}
