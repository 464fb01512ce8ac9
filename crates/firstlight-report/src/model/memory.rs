//! Memory by phase: the largest over the valid processes.

use firstlight_schema::message::DeviceMemory;
use firstlight_schema::phase::Phase;
use firstlight_schema::run::{ArmResult, RegimeResult};
use firstlight_schema::sample::PhaseMemory;
use firstlight_schema::suite::Regime;

#[derive(Debug)]
pub struct MemoryOf<'a> {
    pub arm: &'a str,
    pub regime: Regime,
    /// The peak memory of any process.
    pub peak_bytes: u64,
    /// In the order of the phases.
    pub phases: Vec<PhaseRow>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseRow {
    pub phase: Phase,
    pub peak_bytes: u64,
    pub end_bytes: u64,
    pub devices: Vec<DeviceMemory>,
}

impl<'a> MemoryOf<'a> {
    pub(super) fn new((arm, memory): (&'a ArmResult, &RegimeResult)) -> Option<Self> {
        let valid = || memory.samples.iter().filter(|sample| sample.valid);
        let peak_bytes = valid().map(|sample| sample.peak_rss_bytes).max()?;
        let mut phases: Vec<PhaseRow> = Vec::new();
        for one in valid().flat_map(|sample| &sample.memory) {
            match phases.iter_mut().find(|row| row.phase == one.phase) {
                Some(row) => row.grow(one),
                None => phases.push(PhaseRow::new(one)),
            }
        }
        phases.sort_by_key(|row| row.phase);
        Some(Self { arm: &arm.name, regime: memory.regime, peak_bytes, phases })
    }
}

impl PhaseRow {
    fn new(memory: &PhaseMemory) -> Self {
        Self {
            phase: memory.phase,
            peak_bytes: memory.peak_rss_bytes,
            end_bytes: memory.end_rss_bytes,
            devices: memory.devices.clone(),
        }
    }

    fn grow(&mut self, memory: &PhaseMemory) {
        self.peak_bytes = self.peak_bytes.max(memory.peak_rss_bytes);
        self.end_bytes = self.end_bytes.max(memory.end_rss_bytes);
        for device in &memory.devices {
            match self.devices.iter_mut().find(|known| known.device == device.device) {
                Some(known) => {
                    known.in_use_bytes = known.in_use_bytes.max(device.in_use_bytes);
                    known.peak_bytes = known.peak_bytes.max(device.peak_bytes);
                }
                None => self.devices.push(device.clone()),
            }
        }
    }
}
