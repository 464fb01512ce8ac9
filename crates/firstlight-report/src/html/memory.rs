//! Memory by phase.

use firstlight_schema::message::DeviceMemory;
use maud::{Markup, html};

use super::name;
use super::table::{Cell, Head, Order, table};
use crate::model::{Case, MemoryOf, PhaseRow};
use crate::svg::memory_bar;
use crate::words::format::bytes;

pub(super) fn memory(case: &Case<'_>) -> Markup {
    let most = case.memory.iter().map(|one| one.peak_bytes).max().unwrap_or(1);
    html! {
        @if !case.memory.is_empty() {
            h3 { "Memory by phase" }
            p class="note" {
                "The largest values over the valid processes: during each phase itself, and at its end."
            }
            @for one in &case.memory {
                details {
                    summary { (name(one.arm)) ", " (one.regime) ": peak " (bytes(one.peak_bytes)) }
                    (numbers(one, most))
                }
            }
        }
    }
}

fn numbers(memory: &MemoryOf<'_>, most: u64) -> Markup {
    let with_devices = memory.phases.iter().any(|row| !row.devices.is_empty());
    let mut heads = vec![
        Head::Text("phase"),
        Head::Number("peak"),
        Head::Number("at its end"),
        Head::Text("of the most"),
    ];
    if with_devices {
        heads.push(Head::Text("devices, as reported by the framework"));
    }
    let rows: Vec<Vec<Cell>> =
        memory.phases.iter().map(|row| cells(row, most, with_devices)).collect();
    let caption = format!("Resident memory of {} in the regime {}", memory.arm, memory.regime);
    table(&caption, Order::Fixed, &heads, &rows)
}

#[expect(clippy::cast_precision_loss, reason = "a key to sort by")]
fn cells(row: &PhaseRow, most: u64, with_devices: bool) -> Vec<Cell> {
    let mut cells = vec![
        Cell::text(row.phase.name()),
        Cell::number(bytes(row.peak_bytes), row.peak_bytes as f64),
        Cell::number(bytes(row.end_bytes), row.end_bytes as f64),
        Cell::Bar(memory_bar(row, most)),
    ];
    if with_devices {
        let shown: Vec<String> = row.devices.iter().map(device).collect();
        cells.push(Cell::Long(html! { (shown.join("; ")) }));
    }
    cells
}

fn device(memory: &DeviceMemory) -> String {
    let shown = |value: Option<u64>| value.map_or_else(|| "unknown".to_owned(), bytes);
    format!(
        "{} {} in use, peak {}",
        memory.device,
        shown(memory.in_use_bytes),
        shown(memory.peak_bytes)
    )
}
