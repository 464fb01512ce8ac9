//! Cuts tasks into arrays that a scheduler accepts.

/// A job array: the tasks in it have their index minus the offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    pub offset: u32,
    /// Such as `0-3,7`.
    pub list: String,
    pub tasks: Vec<u32>,
}

/// The arrays for these tasks, where an index within an array is smaller than `largest`.
pub fn arrays(tasks: &[u32], largest: u32) -> Vec<Array> {
    let largest = largest.max(1);
    let mut arrays: Vec<Array> = Vec::new();
    let mut sorted = tasks.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    for task in sorted {
        let offset = task / largest * largest;
        match arrays.last_mut().filter(|array| array.offset == offset) {
            Some(array) => array.tasks.push(task),
            None => arrays.push(Array { offset, list: String::new(), tasks: vec![task] }),
        }
    }
    for array in &mut arrays {
        array.list = ranges(&array.tasks, array.offset);
    }
    arrays
}

fn ranges(tasks: &[u32], offset: u32) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for index in tasks.iter().map(|task| task - offset) {
        match parts.last_mut().filter(|(_, last)| *last + 1 == index) {
            Some((_, last)) => *last = index,
            None => parts.push((index, index)),
        }
    }
    let text = |(first, last): (u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    parts.into_iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_stay_below_the_largest_index_and_name_every_task_once() {
        let found = arrays(&[5, 0, 1, 2, 11, 12, 25], 10);
        let listed: Vec<_> = found.iter().map(|one| (one.offset, one.list.as_str())).collect();
        assert_eq!(listed, [(0, "0-2,5"), (10, "1-2"), (20, "5")]);
        assert_eq!(arrays(&[], 10), []);
        let all: Vec<u32> = (0..2_500).collect();
        let found = arrays(&all, 1_001);
        assert_eq!(found.len(), 3);
        assert_eq!(found.iter().map(|one| one.tasks.len()).sum::<usize>(), 2_500);
        assert_eq!(found[2].list, "0-497");
    }
}
