//! Parses the output of `nvidia-smi` into devices. Pure; each query is next to its parser.

use std::str::FromStr;

use firstlight_schema::machine_state::{ClockLimit, GpuProcess, GpuState};

/// Newer drivers use `clocks_event_reasons` and still accept the older name.
pub(super) const DEVICES: &str = "--query-gpu=index,uuid,name,driver_version,utilization.gpu,\
    temperature.gpu,power.draw,clocks.sm,clocks.mem,clocks_throttle_reasons.active,\
    persistence_mode";
pub(super) const PROCESSES: &str = "--query-compute-apps=gpu_uuid,pid,used_memory";
pub(super) const FORMAT: &str = "--format=csv,noheader,nounits";

/// A device and the name by which the list of processes calls it.
pub(super) struct Device {
    uuid: String,
    state: GpuState,
}

/// Skips lines that are not devices: the tool mixes warnings into its output.
pub(super) fn devices(text: &str) -> Vec<Device> {
    text.lines().filter_map(device).collect()
}

fn device(line: &str) -> Option<Device> {
    let cells = cells(line);
    let &[index, uuid, name, driver, busy, heat, power, clock, memory_clock, limits, persistence] =
        cells.as_slice()
    else {
        return None;
    };
    let state = GpuState {
        index: number(index)?,
        name: name.to_owned(),
        driver: cell_value(driver).map(str::to_owned),
        utilisation_percent: number(busy),
        temperature_celsius: number(heat),
        power_watts: number(power),
        clock_mhz: number(clock),
        memory_clock_mhz: number(memory_clock),
        clock_limits: clock_limits(limits),
        persistence: cell_value(persistence).map(|word| word == "Enabled"),
        processes: None,
    };
    Some(Device { uuid: uuid.to_owned(), state })
}

/// Assigns processes to their devices, if there was an answer.
pub(super) fn with_processes(devices: Vec<Device>, text: Option<&str>) -> Vec<GpuState> {
    let of = |uuid: &str| text.map(|text| processes(text, uuid));
    devices
        .into_iter()
        .map(|Device { uuid, state }| GpuState { processes: of(&uuid), ..state })
        .collect()
}

fn processes(text: &str, uuid: &str) -> Vec<GpuProcess> {
    const BYTES_PER_MIB: u64 = 1 << 20;
    text.lines()
        .filter_map(|line| match cells(line).as_slice() {
            &[of, pid, memory] if of == uuid => Some(GpuProcess {
                pid: number(pid)?,
                memory_bytes: number::<u64>(memory).map(|mebibytes| mebibytes * BYTES_PER_MIB),
            }),
            _ => None,
        })
        .collect()
}

fn clock_limits(mask: &str) -> Option<Vec<ClockLimit>> {
    let mask = u64::from_str_radix(mask.strip_prefix("0x")?, 16).ok()?;
    let limits = ClockLimit::BITS.into_iter().filter(|(_, bit)| mask & bit != 0);
    Some(limits.map(|(limit, _)| limit).collect())
}

fn cells(line: &str) -> Vec<&str> {
    line.split(',').map(str::trim).collect()
}

/// An unknown value is in brackets: `[N/A]`, `[Not Supported]`.
fn cell_value(cell: &str) -> Option<&str> {
    Some(cell).filter(|cell| !cell.is_empty() && !cell.starts_with('['))
}

fn number<T: FromStr>(cell: &str) -> Option<T> {
    cell_value(cell)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use firstlight_schema::machine_state::{ClockLimit, GpuProcess, GpuState};

    use super::{devices, with_processes};

    const TWO: &str = "\
0, GPU-aa, NVIDIA H100 80GB HBM3, 580.95.05, 97, 71, 698.25, 1395, 2619, 0x0000000000000024, Enabled
1, GPU-bb, NVIDIA H100 80GB HBM3, 580.95.05, 0, 34, 71.10, 1980, 2619, 0x0000000000000000, Enabled
";

    #[test]
    fn a_busy_device_and_an_idle_one_are_told_apart() {
        let apps = "GPU-aa, 4242, 61440\nGPU-aa, 4243, [N/A]\n";
        let gpus = with_processes(devices(TWO), Some(apps));
        let busy = GpuState {
            index: 0,
            name: "NVIDIA H100 80GB HBM3".to_owned(),
            driver: Some("580.95.05".to_owned()),
            utilisation_percent: Some(97),
            temperature_celsius: Some(71),
            power_watts: Some(698.25),
            clock_mhz: Some(1395),
            memory_clock_mhz: Some(2619),
            clock_limits: Some(vec![ClockLimit::SwPowerCap, ClockLimit::SwThermalSlowdown]),
            persistence: Some(true),
            processes: Some(vec![
                GpuProcess { pid: 4242, memory_bytes: Some(61_440 << 20) },
                GpuProcess { pid: 4243, memory_bytes: None },
            ]),
        };
        assert_eq!(gpus[0], busy);
        assert_eq!(gpus[1].processes, Some(Vec::new()));
        assert_eq!(gpus[1].clock_limits, Some(Vec::new()));
    }

    #[test]
    fn a_line_as_a_real_driver_prints_it_is_read() {
        let line = "0, GPU-00000000-0000-0000-0000-000000000000, NVIDIA H200, 580.159.04, 0, 36, \
                    130.69, 1980, 3201, 0x0000000000000000, Enabled\n";
        let gpus = with_processes(devices(line), Some(""));
        assert_eq!(gpus.len(), 1);
        assert_eq!((gpus[0].name.as_str(), gpus[0].power_watts), ("NVIDIA H200", Some(130.69)));
        assert_eq!(gpus[0].clock_limits, Some(Vec::new()));
        assert_eq!(gpus[0].processes, Some(Vec::new()));
    }

    #[test]
    fn what_a_device_does_not_tell_is_unknown() {
        let line = "0, GPU-cc, Tesla K80, [N/A], [N/A], [Not Supported], [N/A], [N/A], [N/A], \
                    [Unknown Error], Disabled\n";
        let gpus = with_processes(devices(line), None);
        let expected = GpuState {
            name: "Tesla K80".to_owned(),
            persistence: Some(false),
            ..GpuState::default()
        };
        assert_eq!(gpus, [expected]);
    }

    #[test]
    fn warnings_and_nothing_at_all_are_no_devices() {
        assert!(devices("No devices were found\n").is_empty());
        assert!(devices("").is_empty());
    }
}
