//! `histfactory rank`: the impact of each parameter on the parameter of interest.

use histfactory::Model;
use histfactory::inference::Impact;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Error;
use crate::exit::Exit;
use crate::output::{self, Schema, show};
use crate::printer::Printer;
use crate::progress::Progress;
use crate::settings::RankSettings;
use crate::table::{Align, Table, number};
use crate::{opening, plot};

#[derive(Serialize, JsonSchema)]
pub(crate) struct RankDocument<'a> {
    schema: Schema,
    poi: &'a str,
    /// The largest first.
    ranking: Vec<Ranked<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct Ranked<'a> {
    parameter: &'a str,
    /// Changes of the parameter of interest with the parameter down and up, by its width after …
    impact_postfit: [f64; 2],
    /// … and before the fit; null without a constraint, like the pull and the constraint.
    impact_prefit: Option<[f64; 2]>,
    pull: Option<f64>,
    constraint: Option<f64>,
}

pub(crate) fn rank(settings: &RankSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let model = opening::model(&settings.model, printer)?;
    let progress = Progress::new(model.observed().auxiliary().len(), "parameters", printer);
    let impacts = model.ranking_with(model.observed(), &|| progress.advance(1))?;
    drop(progress);
    let document = document(&model, &impacts);
    show(&document, || render(&document, settings.top), &settings.model.destination, printer)?;
    if let Some(path) = &settings.plot {
        let rows: Vec<plot::Impact> =
            document.ranking.iter().take(settings.top).map(drawn).collect();
        output::plot(path, &plot::ranking(document.poi, &rows), printer)?;
    }
    Ok(Exit::Ok)
}

fn document<'a>(model: &'a Model, impacts: &[Impact]) -> RankDocument<'a> {
    let ranked = |impact: &Impact| Ranked {
        parameter: &model.parameter_names()[impact.parameter],
        impact_postfit: impact.after,
        impact_prefit: Some(impact.before).filter(|before| before[0].is_finite()),
        pull: Some(impact.pull.pull).filter(|pull| pull.is_finite()),
        constraint: Some(impact.pull.constraint).filter(|constraint| constraint.is_finite()),
    };
    RankDocument {
        schema: Schema::new("histfactory-rank"),
        poi: model.poi().map_or("", |index| &model.parameter_names()[index]),
        ranking: impacts.iter().map(ranked).collect(),
    }
}

fn drawn(ranked: &Ranked<'_>) -> plot::Impact {
    let [down, up] = ranked.impact_postfit;
    let [before_down, before_up] = ranked.impact_prefit.unwrap_or([0.0; 2]);
    plot::Impact {
        name: ranked.parameter.to_owned(),
        up,
        down,
        prefit: [before_up, before_down],
        pull: ranked.pull.zip(ranked.constraint).map(|(pull, constraint)| [pull, constraint]),
    }
}

fn render(document: &RankDocument<'_>, top: usize) -> String {
    let mut table = Table::new(&[
        ("", Align::Right),
        ("parameter", Align::Left),
        ("down", Align::Right),
        ("up", Align::Right),
        ("down before", Align::Right),
        ("up before", Align::Right),
        ("pull", Align::Right),
    ]);
    for (index, ranked) in document.ranking.iter().take(top).enumerate() {
        let [down, up] = ranked.impact_postfit.map(number);
        let [before_down, before_up] = ranked
            .impact_prefit
            .map_or([String::new(), String::new()], |before| before.map(number));
        let pull = ranked.pull.zip(ranked.constraint);
        let pull = pull.map_or_else(
            || "free".to_owned(),
            |(pull, constraint)| format!("{pull:+.2} ± {constraint:.2}"),
        );
        let place = (index + 1).to_string();
        table.row([place, ranked.parameter.to_owned(), down, up, before_down, before_up, pull]);
    }
    let more = document.ranking.len().saturating_sub(top);
    let rest =
        if more > 0 { format!("\nand {more} more; --top shows them\n") } else { String::new() };
    format!(
        "change of {} with each parameter, one width down and up\n\n{}{rest}",
        document.poi,
        table.render()
    )
}
