//! Executions on devices.

use super::{Known, Launched};
use crate::intervals::{Set, Span};
use crate::model::{Detail, Place, Trace};
use crate::names::Category;

/// Executions on devices, by origin: compiled, eager, tried by the compiler, transfers for these trials,
/// other transfers.
pub(super) fn kernels(
    piece: &Trace,
    known: &Known,
    compiling: &Set,
    region: &Set,
) -> [Vec<Span>; 5] {
    let (mut compiled, mut eager, mut tried) = (vec![], vec![], vec![]);
    let (mut tried_moves, mut moved) = (vec![], vec![]);
    for line in piece.lines.iter().filter(|line| line.place == Place::Device) {
        let events = &line.events;
        for index in 0..events.len() {
            let span = (events.start[index], events.end(index));
            let launched = match *piece.detail(line, index) {
                Detail::Correlation(id) => known.launches.get(&id).map(|launch| launch.place),
                _ => None,
            };
            let launched = || launched.unwrap_or_else(|| Launched::at(span.0, compiling, region));
            match piece.names.category(events.name[index]) {
                Category::Memcpy | Category::Memset => match launched() {
                    Launched::Compiling => tried_moves.push(span),
                    Launched::Region | Launched::Outside => moved.push(span),
                },
                Category::Kernel => match launched() {
                    Launched::Compiling => tried.push(span),
                    Launched::Region => compiled.push(span),
                    Launched::Outside => eager.push(span),
                },
                Category::None
                | Category::CpuOp
                | Category::UserAnnotation
                | Category::GpuUserAnnotation
                | Category::PythonFunction
                | Category::DeviceSync
                | Category::CudaRuntime
                | Category::Overhead
                | Category::Other => {}
            }
        }
    }
    [compiled, eager, tried, tried_moves, moved]
}
