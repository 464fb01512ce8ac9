//! Cuts a suite into tasks of whole rounds.

/// Equal tasks, each on a separate node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskPlan {
    pub tasks: u32,
    /// Processes per arm and regime in each task.
    pub processes: u32,
}

/// Rounds come in blocks of two; the second has the reverse order of the first.
const BLOCK: u32 = 2;

/// Splits the total number of processes per arm over the nodes: every task gets the same number of whole
/// blocks.
pub fn plan(processes: u32, nodes: u32) -> TaskPlan {
    let blocks = processes.max(1).div_ceil(BLOCK);
    let tasks = nodes.clamp(1, blocks);
    TaskPlan { tasks, processes: blocks.div_ceil(tasks) * BLOCK }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_has_whole_blocks_and_together_they_are_enough() {
        assert_eq!(plan(20, 4), TaskPlan { tasks: 4, processes: 6 });
        assert_eq!(plan(18, 3), TaskPlan { tasks: 3, processes: 6 });
        assert_eq!(plan(5, 100), TaskPlan { tasks: 3, processes: 2 });
        assert_eq!(plan(0, 0), TaskPlan { tasks: 1, processes: 2 });
        for processes in 1..60 {
            for nodes in 1..20 {
                let found = plan(processes, nodes);
                assert!(
                    found.tasks * found.processes >= processes && found.processes.is_multiple_of(2)
                );
                assert!(found.tasks <= nodes);
            }
        }
    }
}
