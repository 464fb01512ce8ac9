//! The pictures: every process and every call is in them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod made;

use firstlight_report::html::{Around, page};
use firstlight_report::model::{Drawn, Mark, Model};
use firstlight_schema::message::{Edge, Message, Part, PhaseEdge};
use firstlight_schema::nanos::Moment;
use firstlight_schema::phase::Phase;
use firstlight_schema::run::RunDocument;
use firstlight_schema::suite::Regime;

use made::{MS, run, swept};

/// The pictures of a class, with their whole content.
fn charts<'a>(page: &'a str, class: &str) -> Vec<&'a str> {
    let start = format!("<svg class=\"chart {class}");
    page.match_indices(&start).map(|(from, _)| &page[from..from + length(&page[from..])]).collect()
}

/// The length of a picture that may contain others.
fn length(picture: &str) -> usize {
    let mut depth = 0;
    let mut ends = picture.match_indices("svg").filter_map(|(at, _)| {
        let before = &picture[..at];
        match (before.ends_with("</"), before.ends_with('<')) {
            (true, _) => depth -= 1,
            (false, true) => depth += 1,
            (false, false) => return None,
        }
        (depth == 0).then_some(at + "svg>".len())
    });
    ends.next().unwrap()
}

/// The messages of the first warm process, and its measured calls.
fn first_warm(document: &mut RunDocument) -> &mut Vec<Message> {
    let regimes = &mut document.cases[0].arms[0].regimes;
    let warm = regimes.iter_mut().find(|result| result.regime == Regime::Warm).unwrap();
    &mut warm.samples[0].raw.messages
}

#[test]
fn every_process_is_a_point_and_the_invalid_ones_are_crosses() {
    let mut document = run();
    let case = &mut document.cases[0];
    for regime in case.arms.iter_mut().chain(&mut case.again).flat_map(|arm| &mut arm.regimes) {
        if let Some(sample) = regime.samples.last_mut() {
            sample.valid = false;
        }
    }
    let model = Model::new(&document);
    let page = page(&document, Around::default());
    let arms: Vec<_> = model.cases[0].points.iter().flat_map(|(_, arms)| arms).collect();
    let charts = charts(&page, "above points");
    assert_eq!(charts.len(), arms.len());
    for (chart, result) in charts.iter().zip(arms) {
        assert_eq!(result.points.len(), 7);
        assert_eq!(chart.matches("class=\"point\"").count(), 6);
        assert_eq!(chart.matches("class=\"cross\"").count(), 1);
    }
}

#[test]
fn the_typical_process_and_those_that_stand_out_are_drawn() {
    let mut document = run();
    let typical = |document: &RunDocument| {
        let model = Model::new(document);
        model.cases[0].warm[0].shown().typical.map(|result| result.sample.number)
    };
    let first = typical(&document);
    assert!(first.is_some());
    let warm = |document: &mut RunDocument, place: usize, factor: f64| {
        let regimes = &mut document.cases[0].arms[0].regimes;
        let warm = regimes.iter_mut().find(|result| result.regime == Regime::Warm).unwrap();
        let steady = warm.samples[place].window.as_mut().unwrap().steady.as_mut().unwrap();
        steady.mean_ns *= factor;
    };
    warm(&mut document, 1, 3.0);
    document.cases[0].arms[0].regimes.last_mut().unwrap().samples[2].valid = false;
    let model = Model::new(&document);
    let shown = model.cases[0].warm[0].shown();
    let words: Vec<&str> = shown.standing_out.iter().map(|(_, what)| *what).collect();
    assert_eq!(words, ["slower than the others", "invalid"]);
    assert_eq!((shown.more, shown.alike), (0, 4), "seven processes, one of them typical");
    assert_eq!(charts(&page(&document, Around::default()), "beside series").len(), 3 + 1);
}

#[test]
fn every_call_of_a_short_series_is_drawn() {
    let document = run();
    let model = Model::new(&document);
    let page = page(&document, Around::default());
    let arms = &model.cases[0].warm;
    let processes: Vec<_> = arms.iter().filter_map(|arm| arm.shown().typical).collect();
    let charts = charts(&page, "beside series");
    assert_eq!(charts.len(), processes.len());
    for (chart, one) in charts.iter().zip(processes) {
        let Drawn::Calls(calls) = &one.drawn else { panic!("a short series") };
        assert_eq!(calls.len(), 120);
        assert_eq!(chart.matches("h0").count(), 120);
        assert!(chart.contains("data-points=\"120\""));
    }
    assert_eq!(page.matches("data-calls=\"840\"").count(), 2, "all calls of seven processes");
}

#[test]
fn a_long_series_keeps_its_extremes() {
    let mut document = run();
    let span = |n: u64| (Moment(n * MS), Moment(n * MS + 1_000 + 77_000 * u64::from(n == 3_333)));
    for message in first_warm(&mut document) {
        if let Message::Iterations(block) = message
            && block.part == Part::Window
        {
            block.spans = (0..5_000).map(span).collect();
        }
    }
    let regimes = &mut document.cases[0].arms[0].regimes;
    let warm = regimes.iter_mut().find(|result| result.regime == Regime::Warm).unwrap();
    warm.samples[0].valid = false;
    assert!(page(&document, Around::default()).contains("data-columns=\"200\""));
    let model = Model::new(&document);
    let series = &model.cases[0].warm[0].processes[0];
    assert_eq!((series.low, series.high), (1_000.0, 78_000.0));
    let Drawn::Envelope(columns) = &series.drawn else { panic!("a long series") };
    assert_eq!(columns.iter().filter(|column| column.high > 1_000.0).count(), 1);
}

#[test]
fn what_was_compiled_in_a_window_is_marked_at_its_call() {
    let mut document = run();
    let messages = first_warm(&mut document);
    let window = |message: &Message| match message {
        Message::Iterations(block) if block.part == Part::Window => Some(block.spans[41].0),
        _ => None,
    };
    let at = messages.iter().find_map(window).unwrap();
    for name in [Phase::Trace, Phase::Compile, Phase::Run] {
        messages.push(Message::Phase(PhaseEdge {
            edge: Edge::Begin,
            name,
            label: Some("late".to_owned()),
            at,
            thread: 0,
            detail: None,
        }));
    }
    let model = Model::new(&document);
    let marks = &model.cases[0].warm[0].processes[0].marks;
    assert_eq!(*marks, [Mark { call: 41, what: "trace late, compile late".to_owned() }]);
    assert!(
        page(&document, Around::default())
            .contains("<title>call 42: trace late, compile late</title>")
    );
}

#[test]
fn the_distribution_of_calls_ends_at_all_of_them() {
    let document = run();
    let calls = Model::new(&document).cases.remove(0).calls.unwrap();
    for (arm, n, counts) in calls.arms {
        assert!(counts.is_sorted(), "{arm}");
        assert_eq!((n, counts.last()), (840, Some(&840)));
    }
}

#[test]
fn the_phases_of_a_bar_reach_as_far_as_their_ledger() {
    let document = run();
    let page = page(&document, Around::default());
    let model = Model::new(&document);
    let bars = charts(&page, "ledger");
    assert_eq!(bars.len(), model.cases[0].ledgers.len());
    for (bar, ledger) in bars.iter().zip(&model.cases[0].ledgers) {
        assert_eq!(bar.matches("<rect").count(), ledger.phases.len());
    }
}

#[test]
fn a_point_chart_as_svg() {
    let page = page(&run(), Around::default());
    insta::assert_snapshot!(charts(&page, "above points")[0].replace("><", ">\n<"));
}

#[test]
fn a_forest_row_and_a_break_even_as_svg() {
    let page = page(&run(), Around::default());
    let pictures =
        [charts(&page, "forest")[0], charts(&page, "beside labelled break-even")[0]].join("\n");
    insta::assert_snapshot!(pictures.replace("><", ">\n<"));
}

#[test]
fn a_sweep_has_a_point_for_each_value_and_a_line() {
    let page = page(&swept(), Around::default());
    let charts = charts(&page, "beside labelled sweep");
    assert_eq!(charts.len(), 1);
    assert_eq!(charts[0].matches("class=\"point\"").count(), 3);
    assert!(charts[0].contains("class=\"fitted\" d=\"M"));
}
