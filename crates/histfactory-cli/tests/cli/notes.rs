//! Notes that the commands print with their numbers.

use serde_json::{Value, json};

use crate::support::Sandbox;

fn write(sandbox: &Sandbox, samples: &[Value], counts: &[f64]) {
    let document = json!({
        "channels": [{"name": "c", "samples": samples}],
        "observations": [{"name": "c", "data": counts}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0",
    });
    sandbox.file("model.json", &document.to_string());
}

fn sample(name: &str, data: &[f64], factors: &[&str]) -> Value {
    let modifiers: Vec<Value> = factors
        .iter()
        .map(|factor| json!({"name": factor, "type": "normfactor", "data": null}))
        .collect();
    json!({"name": name, "data": data, "modifiers": modifiers})
}

fn texts(notes: &Value) -> Vec<&str> {
    notes.as_array().unwrap().iter().map(|note| note.as_str().unwrap()).collect()
}

#[test]
fn a_parameter_at_its_bound_has_a_null_uncertainty() {
    let sandbox = Sandbox::new();
    let samples = [sample("signal", &[5.0, 1.0], &["mu"]), sample("one", &[20.0, 30.0], &["k"])];
    write(&sandbox, &samples, &[10.0, 32.0]);
    let document = sandbox.document(&["fit", "model.json"]);
    assert_eq!(document["uncertainties"]["mu"], json!([null]));
    assert!(document["uncertainties"]["k"][0].as_f64().unwrap() > 0.0);
    let fixed = sandbox.document(&["fit", "model.json", "--fix", "mu=0"]);
    assert_eq!(fixed["uncertainties"]["mu"], json!([0.0]));
    let scan = sandbox.document(&["scan", "model.json", "--points", "3"]);
    assert_eq!(scan["uncertainty"], Value::Null);
    let toys = sandbox.document(&["toys", "model.json", "--toys", "40"]);
    let at_bound = |row: &&Value| row["poi"] == 0.0;
    let rows = toys["fits"].as_array().unwrap();
    assert!(rows.iter().filter(at_bound).count() > 0);
    assert!(rows.iter().filter(at_bound).all(|row| row["uncertainty"].is_null()));
}

#[test]
fn a_fit_shows_a_flat_direction() {
    let sandbox = Sandbox::new();
    let samples = [
        sample("signal", &[5.0, 1.0], &["mu"]),
        sample("one", &[20.0, 30.0], &["k1"]),
        sample("two", &[40.0, 60.0], &["k2"]),
    ];
    write(&sandbox, &samples, &[66.0, 92.0]);
    let document = sandbox.document(&["fit", "model.json"]);
    assert!((document["flat"]["k2"].as_f64().unwrap() + 0.5).abs() < 1e-6, "{document}");
    let text = sandbox.run(&["fit", "model.json"]).stdout;
    let expected = "note: the data do not determine the combination +1.000 k1 -0.500 k2";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_fit_shows_empty_bins_at_the_boundary_and_a_negative_background() {
    let sandbox = Sandbox::new();
    let template = json!({"name": "a", "type": "histosys", "data": {"hi_data": [0.2, 10.3], "lo_data": [3.8, 9.7]}});
    let mut background = sample("background", &[2.0, 10.0], &[]);
    background["modifiers"] = json!([template]);
    write(&sandbox, &[sample("signal", &[0.2, 6.0], &["mu"]), background], &[0.0, 18.0]);
    let document = sandbox.document(&["fit", "model.json", "--fix", "mu=0"]);
    assert_eq!(document["at_border"], json!([0]));
    assert!(texts(&document["notes"])[0].contains("a rate of zero in the empty bins [0]"));
    let down = json!({"name": "a", "type": "histosys", "data": {"hi_data": [-4.0, 31.0], "lo_data": [8.0, 29.0]}});
    let mut one = sample("one", &[2.0, 30.0], &[]);
    one["modifiers"] = json!([down]);
    write(&sandbox, &[sample("signal", &[5.0, 0.5], &["mu"]), one], &[3.0, 60.0]);
    for command in ["fit", "cls", "significance", "upper-limit"] {
        let document = sandbox.document(&[command, "model.json"]);
        let printed = texts(&document["notes"]).join("\n");
        assert!(
            printed.contains("the background is negative in the bins [0]"),
            "{command}: {printed}"
        );
    }
}

/// Templates that lower the signal in both directions give a minimum for either sign.
#[test]
fn several_minima_are_shown_and_a_search_can_be_chosen() {
    let sandbox = Sandbox::new();
    let template = |name: &str, hi: [f64; 3], lo: [f64; 3]| json!({"name": name, "type": "histosys", "data": {"hi_data": hi, "lo_data": lo}});
    let mut signal = sample("signal", &[6.0, 8.0, 4.0], &["mu"]);
    let templates = [
        template("a", [5.2, 6.9, 3.6], [5.3, 7.1, 3.5]),
        template("b", [5.4, 7.0, 3.3], [5.5, 7.2, 3.4]),
        template("d", [5.6, 7.3, 3.5], [5.5, 7.4, 3.6]),
    ];
    signal["modifiers"].as_array_mut().unwrap().extend(templates);
    let normsys = json!({"name": "n", "type": "normsys", "data": {"hi": 1.2, "lo": 0.8}});
    let mut one = sample("one", &[12.0, 9.0, 5.0], &[]);
    one["modifiers"] = json!([normsys]);
    write(&sandbox, &[signal, one], &[11.0, 8.0, 4.0]);
    let fixed = ["fit", "model.json", "--fix", "mu=5"];
    let document = sandbox.document(&fixed);
    let others = document["other_minima"].as_array().unwrap();
    assert!(!others.is_empty() && others[0].as_f64() > document["twice_nll"].as_f64());
    assert!(sandbox.run(&fixed).stdout.contains("has several minima at a signal strength of 5"));
    let descent = sandbox.document(&[&fixed[..], &["--search", "descent"]].concat());
    assert_eq!(descent["other_minima"], json!([]));
    let global = sandbox.document(&[&fixed[..], &["--search", "global"]].concat());
    assert!(global["twice_nll"].as_f64().unwrap() <= document["twice_nll"].as_f64().unwrap());
    for command in ["cls", "upper-limit", "scan", "significance"] {
        sandbox.document(&[command, "model.json", "--search", "global"]);
    }
    let cls = sandbox.document(&["cls", "model.json", "--test-poi", "5"]);
    assert!(texts(&cls["notes"]).iter().any(|note| note.contains("several minima")), "{cls}");
}

#[test]
fn an_active_bound_is_reported_and_can_be_extended() {
    let sandbox = Sandbox::new();
    let samples = [sample("signal", &[2.0, 1.0], &["mu"]), sample("one", &[20.0, 30.0], &[])];
    write(&sandbox, &samples, &[60.0, 50.0]);
    for command in ["significance", "cls", "upper-limit", "fit"] {
        let text = sandbox.run(&[command, "model.json"]).stdout;
        let expected = "note: the best fit is at the upper bound of the parameter of interest, 10";
        assert!(text.contains(expected), "{command}: {text}");
    }
    let bounded = sandbox.document(&["significance", "model.json"]);
    let extended = sandbox.document(&["significance", "model.json", "--extend-bound"]);
    let z = |document: &Value| document["significance"].as_f64().unwrap();
    assert!(z(&extended) > z(&bounded) + 0.5);
    assert!(texts(&extended["notes"])[0].contains("was raised from 10 to 100"));
    let limit = sandbox.document(&["upper-limit", "model.json", "--extend-bound"]);
    let observed = limit["observed"].as_f64().unwrap();
    assert!(observed > 20.0 && limit["fits"].as_f64().unwrap() > 5.0, "{limit}");
    // A test at the limit gives the level, even above the bound of the workspace.
    let tested = observed.to_string();
    let command = ["cls", "model.json", "--test-poi", &tested, "--extend-bound"];
    let cls = sandbox.document(&command);
    assert!((cls["CLs_obs"].as_f64().unwrap() - 0.05).abs() < 1e-8, "{cls}");
    let printed = sandbox.run(&command).stderr;
    assert!(printed.contains("is above the upper bound of `mu`, 10"), "{printed}");
}
