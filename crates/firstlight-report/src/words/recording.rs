//! The software of a recording, as text.

use firstlight_schema::trace::Recording;

/// Names and versions, those of CUDA in the usual form. A platform that only repeats its name is left out.
pub(crate) fn versions(recording: &Recording) -> Vec<String> {
    let known = |name: &str| recording.versions.iter().find(|version| version.name == name);
    let cuda = known("cuda").map(|version| release(&version.version));
    let words = recording.versions.iter().filter_map(|version| {
        let (name, number) = (version.name.as_str(), release(&version.version));
        match name {
            "cpu" | "gpu" => None,
            "cuda" => Some(format!("CUDA {number}")),
            "cuda-driver" | "cuda-runtime" if cuda.as_ref() == Some(&number) => None,
            "cuda-driver" => Some(format!("CUDA driver {number}")),
            "cuda-runtime" => Some(format!("CUDA runtime {number}")),
            _ => Some(format!("{name} {number}")),
        }
    });
    words.collect()
}

/// CUDA counts 1000 for a major and 10 for a minor version.
fn release(version: &str) -> String {
    match version.parse::<u32>() {
        Ok(number @ 1_000..) => format!("{}.{}", number / 1_000, number % 1_000 / 10),
        _ => version.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::release;

    #[test]
    fn a_version_of_cuda_has_a_point() {
        assert_eq!(release("13000"), "13.0");
        assert_eq!(release("12090"), "12.9");
        assert_eq!(release("0.11.2"), "0.11.2");
    }
}
