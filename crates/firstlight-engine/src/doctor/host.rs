//! The host: hardware or a hypervisor, a container, mains or battery.

use firstlight_schema::machine_state::Host;

use super::files::Files;

/// Makers of virtual hardware, for processors without a hypervisor flag.
const VIRTUAL_MAKERS: [&str; 9] = [
    "QEMU",
    "KVM",
    "VMware",
    "VirtualBox",
    "innotek",
    "Xen",
    "Virtual Machine",
    "Google Compute Engine",
    "OpenStack",
];

/// x86 has a flag; on other processors only a known maker is proof.
pub(super) fn host(files: &Files) -> Option<Host> {
    let maker = maker(files);
    let known =
        maker.as_ref().is_some_and(|maker| VIRTUAL_MAKERS.iter().any(|name| maker.contains(name)));
    match files.field("proc/cpuinfo", "flags") {
        Some(flags) if flags.split(' ').any(|flag| flag == "hypervisor") => {
            Some(Host::Virtual { name: maker })
        }
        Some(_) => Some(Host::Physical),
        None if known || files.exists("sys/hypervisor/type") => Some(Host::Virtual { name: maker }),
        None => None,
    }
}

fn maker(files: &Files) -> Option<String> {
    let dmi =
        ["sys_vendor", "product_name"]
            .into_iter()
            .filter_map(|name| files.text(&format!("sys/class/dmi/id/{name}")))
            .reduce(|vendor, product| {
                if product.starts_with(&vendor) { product } else { format!("{vendor} {product}") }
            });
    dmi.or_else(|| files.text("sys/hypervisor/type"))
}

pub(super) fn container(files: &Files) -> Option<String> {
    // Of process 1, zero bytes between the variables; readable only for its owner.
    let declared = files.text("proc/1/environ").and_then(|text| {
        text.split('\0').find_map(|pair| pair.strip_prefix("container=")).map(str::to_owned)
    });
    let group = files.text("proc/self/cgroup").unwrap_or_default();
    let hints = [
        (files.exists(".dockerenv") || group.contains("/docker"), "docker"),
        (files.exists("run/.containerenv"), "podman"),
        (group.contains("/kubepods"), "kubernetes"),
        (group.contains("/lxc"), "lxc"),
    ];
    let hinted = hints.into_iter().find(|(hint, _)| *hint).map(|(_, name)| name.to_owned());
    declared.filter(|name| !name.is_empty()).or(hinted)
}

/// A battery of the system that is being discharged; mice have batteries too.
pub(super) fn on_battery(files: &Files) -> Option<bool> {
    let supplies = files.names("sys/class/power_supply")?;
    let says = |supply: &str, file: &str, word: &str| {
        files.text(&format!("sys/class/power_supply/{supply}/{file}")).as_deref() == Some(word)
    };
    Some(supplies.iter().any(|supply| {
        says(supply, "type", "Battery")
            && says(supply, "status", "Discharging")
            && !says(supply, "scope", "Device")
    }))
}

#[cfg(test)]
mod tests {
    use firstlight_schema::machine_state::Host;

    use super::{container, host, on_battery};
    use crate::doctor::files::fake::Fake;

    #[test]
    fn a_processor_without_the_flag_is_hardware() {
        let metal = Fake::laptop().with("sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
        assert_eq!(host(&metal.files()), Some(Host::Physical));
    }

    #[test]
    fn a_hypervisor_without_a_name_is_one_all_the_same() {
        let fake = Fake::new().with("proc/cpuinfo", "flags : fpu hypervisor\n");
        assert_eq!(host(&fake.files()), Some(Host::Virtual { name: None }));
        let xen = fake.with("sys/hypervisor/type", "xen\n");
        assert_eq!(host(&xen.files()), Some(Host::Virtual { name: Some("xen".to_owned()) }));
    }

    #[test]
    fn a_processor_that_has_no_flags_is_known_by_its_maker_or_not_at_all() {
        let arm = || Fake::new().with("proc/cpuinfo", "processor : 0\nFeatures : fp asimd\n");
        assert_eq!(host(&arm().files()), None);
        let fake = arm()
            .with("sys/class/dmi/id/sys_vendor", "QEMU\n")
            .with("sys/class/dmi/id/product_name", "QEMU Virtual Machine\n");
        let name = Some("QEMU Virtual Machine".to_owned());
        assert_eq!(host(&fake.files()), Some(Host::Virtual { name }));
    }

    #[test]
    fn a_container_is_known_by_what_it_left() {
        let name = |fake: Fake| container(&fake.files());
        assert_eq!(name(Fake::new()), None);
        assert_eq!(name(Fake::new().with(".dockerenv", "")).as_deref(), Some("docker"));
        let pod = Fake::new().with("proc/self/cgroup", "0::/kubepods.slice/pod1\n");
        assert_eq!(name(pod).as_deref(), Some("kubernetes"));
        let container = Fake::new().with("proc/1/environ", "A=b\0container=systemd-nspawn\0");
        assert_eq!(name(container).as_deref(), Some("systemd-nspawn"));
    }

    #[test]
    fn a_mouse_on_battery_is_no_machine_on_battery() {
        assert_eq!(on_battery(&Fake::laptop().files()), Some(true));
        let mouse = Fake::laptop().with("sys/class/power_supply/BAT0/scope", "Device\n");
        assert_eq!(on_battery(&mouse.files()), Some(false));
        assert_eq!(on_battery(&Fake::new().files()), None);
    }
}
