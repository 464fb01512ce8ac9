//! The captions of tables: a table of numbers needs its units, its intervals and its regime to be understood.

use xtask::shell::Result;

/// The caption of a block's table; `name` is its case or sweep.
pub(super) fn caption(kind: &str, more: &[&str]) -> Result<String> {
    let name = more.first().copied().unwrap_or_default();
    let regime = more.get(1).copied().unwrap_or_default();
    let words = match kind {
        "conditions" => "Conditions of the measurement".to_owned(),
        "times" => format!(
            "`{name}`: time to the first result of a cold start and time per warm call, with 95 % intervals"
        ),
        "verdicts" => format!("`{name}`: verdicts on cold starts, against the reference arm"),
        "phases" => format!("`{name}`, {regime}: mean time of each phase up to the first result"),
        "programs" => format!("`{name}`: compiled programs per process"),
        "memory" => format!("`{name}`: peak memory of the process and of its devices"),
        "planted" => {
            format!("`{name}`: the planted mistake beside the right value, with 95 % intervals")
        }
        "overhead" => {
            format!("`{name}`: host time per call beyond the compiled program, with 95 % intervals")
        }
        "cheapest" => {
            format!("`{name}`, {regime}: the fastest arm by number of calls, start-up included")
        }
        "break-evens" => {
            let arm = more.get(2).copied().unwrap_or_default();
            format!(
                "`{name}`, {regime}: break-even of `{arm}` with each other arm, with 95 % intervals"
            )
        }
        "totals" => {
            format!(
                "`{name}`, {regime}: total time by number of calls, start-up included; fastest in bold"
            )
        }
        "sweep" => format!("`{name}`, {regime}: time by parameter value, with 95 % intervals"),
        "slopes" => format!(
            "`{name}`: overhead per call by parameter value, and its slope with a 95 % interval"
        ),
        "slopes-beyond" => format!(
            "`{name}`: overhead beyond the reference arm by parameter value, and its slope with a 95 % interval"
        ),
        "beside" => "Measured times beside published ones".to_owned(),
        "recording" => {
            "Time per step without and with recording, and the factor between them".to_owned()
        }
        _ => return Err("there is no such table".to_owned()),
    };
    Ok(format!("*{words}.*\n\n"))
}

#[cfg(test)]
mod tests {
    use super::caption;

    #[test]
    fn a_caption_names_its_case_and_a_table_without_one_is_an_error() {
        let words = caption("totals", &["step", "cold-clean"]).unwrap();
        assert!(words.starts_with("*`step`, cold-clean: ") && words.ends_with(".*\n\n"), "{words}");
        assert!(caption("tmies", &["step"]).is_err());
    }
}
