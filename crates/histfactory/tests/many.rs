//! Compares many rows at once with the functions for one row.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

use histfactory::inference::{Dataset, TestKind, TestOptions};
use histfactory::model::YieldChange;
use histfactory::synthetic::Twin;
use histfactory::{Data, FitOptions, Model, ModelOptions, Workspace};

fn model() -> Model {
    Model::new(&Twin::Small.workspace(1), &ModelOptions::default()).unwrap()
}

/// Toys, with data of another model in the middle.
fn rows(model: &Model) -> Vec<Data> {
    let workspace = Workspace::from_slice(include_bytes!("data/two_bins.json")).unwrap();
    let other = Model::new(&workspace, &ModelOptions::default()).unwrap();
    let mut rows = model.toys(model.init(), 24, 5).unwrap();
    rows[7] = other.observed().clone();
    rows
}

#[test]
fn many_fits_equal_single_fits_and_a_bad_row_fails_alone() {
    let model = model();
    let (rows, options) = (rows(&model), FitOptions::default());
    let found = model.fit_many(&rows, &options);
    let single: Vec<_> = rows.iter().map(|data| model.fit(data, &options)).collect();
    assert_eq!(found, single);
    for (row, fit) in found.iter().enumerate() {
        assert_eq!(fit.is_err(), row == 7, "{row}");
    }
}

#[test]
fn many_tests_equal_single_tests_and_a_bad_row_fails_alone() {
    let model = model();
    let (rows, options) = (rows(&model), TestOptions::default());
    let found = model.hypotest_many(&rows, 1.0, TestKind::QTilde, &options);
    for (row, (data, found)) in rows.iter().zip(&found).enumerate() {
        let single = model.hypotest_with(data, 1.0, TestKind::QTilde, &options);
        assert_eq!(found.as_ref().ok(), single.as_ref().ok(), "{row}");
        assert_eq!(found.is_err(), row == 7, "{row}");
    }
}

#[test]
fn many_significances_equal_single_ones_and_a_bad_row_fails_alone() {
    let workspace = Workspace::from_slice(include_bytes!("data/two_bins.json")).unwrap();
    let model = Model::new(&workspace, &ModelOptions::default()).unwrap();
    let change = |nominal: Vec<f64>| {
        vec![YieldChange {
            channel: "singlechannel".to_owned(),
            sample: "signal".to_owned(),
            nominal: Some(nominal),
            ..YieldChange::default()
        }]
    };
    let mut rows: Vec<_> =
        (1..20).map(|row| change(vec![f64::from(row), 0.5 * f64::from(row)])).collect();
    rows[3] = change(vec![1.0]);
    let (dataset, options) = (Dataset::Asimov { mu: 1.0 }, TestOptions::default());
    let found = model.significance_many(&rows, dataset, &options);
    for (row, (changes, found)) in rows.iter().zip(&found).enumerate() {
        let changed = model.with_yields(changes).ok();
        let single = changed.map(|model| model.significance_with(dataset, &options).unwrap());
        assert_eq!(found.as_ref().ok(), single.as_ref(), "{row}");
        assert_eq!(found.is_err(), row == 3, "{row}");
    }
}
