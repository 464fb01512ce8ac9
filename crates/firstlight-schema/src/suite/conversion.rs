//! Converts a suite to JSON and back, for validation with its schema.

use serde_json::Value;

/// A suite's text as JSON.
pub fn suite_as_json(text: &str) -> Result<Value, String> {
    toml::from_str(text).map_err(|error| error.to_string())
}

/// The TOML text of a suite given as JSON: a line for each key, all tables inline.
pub fn suite_from_json(suite: &Value) -> String {
    let fields = suite.as_object().into_iter().flatten();
    let lines: Vec<String> =
        fields.map(|(key, value)| format!("{} = {}", quoted(key), inline(value))).collect();
    lines.join("\n")
}

/// A JSON string is a basic string of TOML.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn inline(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(inline).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (quoted(key), inline(value)));
            let fields: Vec<String> =
                fields.map(|(key, value)| format!("{key} = {value}")).collect();
            format!("{{ {} }}", fields.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{suite_as_json, suite_from_json};

    #[test]
    fn a_suite_survives_its_json_form() {
        let text = "name = \"a \\\"b\\\"\"\nmargin = 0.5\n[warm]\nwithin = \"1s\"\n\
                    [[case]]\nname = \"c\"\nparameters = { n = 3, on = true }\n[[case]]\nname = \"d\"\n";
        let json = suite_as_json(text).unwrap();
        assert_eq!(suite_as_json(&suite_from_json(&json)).unwrap(), json);
    }
}
