//! Compares results of the commands with goldens that pyhf computed.

use std::path::Path;

use serde_json::Value;

use crate::support::Sandbox;

/// A golden of the library's twins.
fn golden(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../histfactory/goldens");
    let text = std::fs::read_to_string(folder.join(name).with_extension("json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn close(ours: &Value, theirs: &Value, tolerance: f64) {
    let (ours, theirs) = (ours.as_f64().unwrap(), theirs.as_f64().unwrap());
    assert!((ours - theirs).abs() <= tolerance * theirs.abs().max(1.0), "{ours} {theirs}");
}

#[test]
fn inspect_shows_all_parts() {
    let sandbox = Sandbox::new();
    let finished = sandbox.run(&["inspect", "small.json"]);
    assert_eq!(finished.code, 0);
    insta::assert_snapshot!(finished.stdout, @r#"
        channels  2
         samples  2
      parameters  6
       modifiers  6

    channel  bins
    CR          2
    SR          2

    sample
    background
    signal

    parameter         constraint             modifiers
    background_shape  constrained_by_normal  histosys
    lumi              constrained_by_normal  lumi
    mu                unconstrained          normfactor
    shape_CR          unconstrained          shapefactor
    signal_theory     constrained_by_normal  normsys
    staterror_SR      constrained_by_normal  staterror

    measurement      poi  parameters
    (*) measurement  mu   lumi
    "#);
}

#[test]
fn fit_names_parameters_held_at_a_kink() {
    let sandbox = Sandbox::new();
    let command = ["fit", "search.json", "--normsys", "code1", "--histosys", "code0"];
    let document = sandbox.document(&command);
    assert_eq!(document["converged"], true);
    let held = document["at_kink"].as_array().unwrap();
    assert!(!held.is_empty());
    for name in held.iter().map(|name| name.as_str().unwrap()) {
        assert_eq!(document["mle_parameters"][name][0], 0.0);
        assert_eq!(document["uncertainties"][name][0], Value::Null);
    }
    let printed = sandbox.run(&command).stdout;
    assert_eq!(printed.matches("at a kink of its interpolation").count(), held.len());
}

#[test]
fn fit_finds_the_minimum_of_pyhf() {
    let sandbox = Sandbox::new();
    for name in ["small", "search"] {
        let document = sandbox.document(&["fit", &format!("{name}.json")]);
        let golden = golden(name);
        close(&document["mle_parameters"]["mu"][0], &golden["muhat"], 1e-8);
        let nll = document["twice_nll"].as_f64().unwrap() / 2.0;
        close(&nll.into(), &golden["fit_free"]["nll"], 1e-11);
        assert_eq!(document["converged"], true);
        let held = sandbox.document(&["fit", &format!("{name}.json"), "--fix", "mu=0"]);
        let nll = held["twice_nll"].as_f64().unwrap() / 2.0;
        close(&nll.into(), &golden["fit_mu0"]["nll"], 1e-11);
        assert!(held["fixed"].as_array().unwrap().contains(&"mu".into()));
    }
}

#[test]
fn fit_prints_parameters_and_pulls() {
    let sandbox = Sandbox::new();
    let finished = sandbox.run(&["fit", "small.json", "--value", "--minos", "mu"]);
    assert_eq!(finished.code, 0);
    let text: String = finished
        .stdout
        .lines()
        .filter(|line| !line.contains("converged"))
        .map(|line| line.to_owned() + "\n")
        .collect();
    insta::assert_snapshot!(text, @r#"
    parameter          fitted        ±   pull
    background_shape  0.04591  0.99670  +0.05
    lumi              1.00014  0.01999  +0.01
    mu                1.56206  0.73583
    signal_theory           0  1.00000  +0.00
    shape_CR[0]       1.02213  0.05395
    shape_CR[1]       0.96489  0.05270
    staterror_SR[0]   0.99655  0.05341  -0.06
    staterror_SR[1]   1.00496  0.05444  +0.08

    mu: from 0.83943 to 2.31183 (likelihood ratio)

    −2 log L: 18.729523
    "#);
}

#[test]
fn cls_matches_pyhf() {
    let sandbox = Sandbox::new();
    for name in ["small", "search"] {
        let document = sandbox.document(&["cls", &format!("{name}.json"), "--test-poi", "1"]);
        let golden = &golden(name)["qtilde_mu1"];
        close(&document["CLs_obs"], &golden["CLs_obs"], 1e-8);
        for band in 0..5 {
            close(&document["CLs_exp"][band], &golden["CLs_exp"][band], 1e-8);
        }
    }
}

#[test]
fn a_workspace_can_be_read_from_a_pipe() {
    let sandbox = Sandbox::new();
    let piped = sandbox.fed("small.json", &["cls", "--format", "json"]);
    let named = sandbox.run(&["cls", "small.json", "--format", "json"]);
    assert_eq!(piped.code, 0, "{}", piped.stderr);
    assert_eq!(piped.stdout, named.stdout);
}

#[test]
fn an_output_file_holds_the_document_and_nothing_is_printed() {
    let sandbox = Sandbox::new();
    let finished = sandbox.run(&["cls", "small.json", "--output-file", "cls.json"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (0, ""));
    let document: Value = serde_json::from_str(&sandbox.read("cls.json")).unwrap();
    assert_eq!(document["schema"]["name"], "histfactory-cls");
}

#[test]
fn cls_at_the_upper_limit_equals_the_requested_level() {
    let sandbox = Sandbox::new();
    let limit = sandbox.document(&["upper-limit", "search.json"]);
    let observed = limit["observed"].as_f64().unwrap();
    let at = sandbox.document(&["cls", "search.json", "--test-poi", &observed.to_string()]);
    close(&at["CLs_obs"], &0.05.into(), 1e-6);
    let median = limit["expected"][2].as_f64().unwrap();
    let at = sandbox.document(&["cls", "search.json", "--test-poi", &median.to_string()]);
    close(&at["CLs_exp"][2], &0.05.into(), 1e-6);
}

#[test]
fn the_significance_is_the_root_of_q0_from_pyhf() {
    let sandbox = Sandbox::new();
    for name in ["small", "search"] {
        let document = sandbox.document(&["significance", &format!("{name}.json")]);
        close(&document["q0"], &golden(name)["q0"], 1e-8);
        let z = document["significance"].as_f64().unwrap();
        close(&(z * z).into(), &document["q0"], 1e-12);
    }
    let expected = sandbox.document(&["significance", "small.json", "--asimov", "--yields"]);
    assert!(expected["significance"].as_f64().unwrap() > 0.0);
    assert_eq!(expected["yields"]["derivatives"].as_array().unwrap().len(), 3);
}

#[test]
fn a_scan_is_zero_at_the_best_fit() {
    let sandbox = Sandbox::new();
    let arguments = ["scan", "small.json", "--range", "0", "2", "--points", "5"];
    let document = sandbox.document(&arguments);
    let points = document["points"].as_array().unwrap();
    assert_eq!(points.len(), 5);
    close(&points[0]["delta_twice_nll"], &golden("small")["t0"], 1e-8);
    assert!(points.iter().all(|point| point["delta_twice_nll"].as_f64().unwrap() >= 0.0));
}

#[test]
fn the_ranking_descends() {
    let sandbox = Sandbox::new();
    let document = sandbox.document(&["rank", "search.json"]);
    let sizes: Vec<f64> = document["ranking"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let side = |index: usize| row["impact_postfit"][index].as_f64().unwrap().abs();
            side(0).max(side(1))
        })
        .collect();
    assert!(sizes.len() > 50 && sizes.is_sorted_by(|a, b| a >= b));
}

#[test]
fn plots_are_drawings_with_a_title_and_a_description() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["fit", "small.json"][..],
        &["scan", "small.json", "--points", "5"],
        &["rank", "small.json"],
        &["upper-limit", "small.json", "--points", "5"],
        &["toys", "small.json", "--toys", "20"],
    ] {
        let finished = sandbox.run(&[arguments, &["--plot", "plot.svg"]].concat());
        assert_eq!(finished.code, 0, "{}", finished.stderr);
        assert!(finished.stderr.ends_with("plot: plot.svg\n"));
        let svg = sandbox.read("plot.svg");
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("<title>") && svg.contains("<desc>"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}

#[test]
fn toys_depend_only_on_their_seed() {
    let sandbox = Sandbox::new();
    let toys = |seed: &str| {
        sandbox.document(&["toys", "small.json", "--toys", "60", "--seed", seed, "--test-poi", "1"])
    };
    let (one, again, other) = (toys("1"), toys("1"), toys("2"));
    assert_eq!(one, again);
    assert_ne!(one["fits"], other["fits"]);
    assert_eq!(one["fits"].as_array().unwrap().len() as u64 + one["failed"].as_u64().unwrap(), 60);
    close(&one["drawn_at"], &1.0.into(), 1e-12);
    let width = one["pull_width"].as_f64().unwrap();
    assert!((0.5..1.5).contains(&width), "{width}");
}

#[test]
fn toys_and_formulae_agree_on_cls() {
    let sandbox = Sandbox::new();
    let formula = sandbox.document(&["cls", "small.json", "--test-poi", "2"]);
    let arguments =
        ["cls", "small.json", "--test-poi", "2", "--calctype", "toybased", "--toys", "1000"];
    let toys = sandbox.document(&arguments);
    let (one, two) = (formula["CLs_obs"].as_f64().unwrap(), toys["CLs_obs"].as_f64().unwrap());
    assert!((one - two).abs() < 0.08, "{one} {two}");
    let medians = [&formula, &toys].map(|document| document["CLs_exp"][2].as_f64().unwrap());
    assert!((medians[0] - medians[1]).abs() < 0.08, "{medians:?}");
}
