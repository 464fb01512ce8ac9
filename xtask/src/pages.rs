//! Pages that quote published results: every table and figure between
//! `<!-- firstlight: KIND SNAPSHOT … -->` and `<!-- end -->` is made from `snapshots/`.

use std::collections::BTreeMap;
use std::fs;

use firstlight_engine::snapshot::{Files, read_result};
use firstlight_report::figure;
use firstlight_report::format::bytes;
use firstlight_report::tables::{self, Table};
use firstlight_schema::comparison::SweepResult;
use firstlight_schema::run::{CaseResult, RunDocument};
use firstlight_schema::suite::Regime;

use crate::shell::{Result, root};

const GUIDE: &str = "docs/guide";
const BEGIN: &str = "<!-- firstlight: ";
const END: &str = "<!-- end -->";

/// The pages with their blocks filled, and the figures they show.
pub(crate) fn files() -> Result<Vec<(String, String)>> {
    let folder = root().join(GUIDE);
    let problem = |error: std::io::Error| format!("{GUIDE}: {error}");
    let mut paths: Vec<_> = fs::read_dir(&folder)
        .map_err(problem)?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    paths.sort();
    let mut made = Vec::new();
    let mut known = BTreeMap::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(problem)?;
        if text.contains(BEGIN) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let name = format!("{GUIDE}/{name}");
            let page =
                filled(&text, &mut known, &mut made).map_err(|why| format!("{name}: {why}"))?;
            made.push((name, page));
        }
    }
    Ok(made)
}

type Snapshots = BTreeMap<String, Option<RunDocument>>;

fn filled(text: &str, known: &mut Snapshots, made: &mut Vec<(String, String)>) -> Result<String> {
    let mut page = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find(BEGIN) {
        let (before, block) = rest.split_at(begin);
        let (line, after) =
            block.split_once(" -->\n").ok_or("a block without the end of its first line")?;
        let (_, after) = after.split_once(END).ok_or(format!("`{line}` has no {END}"))?;
        let words: Vec<&str> = line[BEGIN.len()..].split_whitespace().collect();
        let content = content(&words, known, made).map_err(|why| format!("`{line}`: {why}"))?;
        page.extend([before, line, " -->\n\n", content.trim_end(), "\n\n", END]);
        rest = after;
    }
    page.push_str(rest);
    Ok(page)
}

fn content(
    words: &[&str],
    known: &mut Snapshots,
    made: &mut Vec<(String, String)>,
) -> Result<String> {
    let [kind, snapshot, more @ ..] = words else {
        return Err("a block names what it shows and a snapshot".to_owned());
    };
    if !known.contains_key(*snapshot) {
        known.insert((*snapshot).to_owned(), open(snapshot)?);
    }
    let Some(document) = known.get(*snapshot).and_then(Option::as_ref) else {
        return Ok(format!("*Not measured yet: there is no `snapshots/{snapshot}.tar.zst`.*"));
    };
    // A snapshot may hold part of its suite only.
    if let Some(name) = more.first()
        && !document.cases.iter().any(|case| case.name == *name)
        && !document.sweeps.iter().any(|sweep| sweep.case == *name)
    {
        let path = format!("snapshots/{snapshot}.tar.zst");
        return Ok(format!("*Not measured yet: `{path}` has no case `{name}`.*"));
    }
    if let Some(drawn) = kind.strip_prefix("figure-") {
        let svg = drawing(drawn, document, more)?;
        let name = [&[*snapshot, drawn], more].concat().join("-");
        made.push((format!("docs/images/{name}.svg"), svg));
        return Ok(format!("![{}](../images/{name}.svg)", more.join(", ")));
    }
    match *kind {
        "conditions" => Ok(conditions(snapshot, document)),
        _ => table(kind, document, more)?
            .map(|table| table.markdown())
            .ok_or_else(|| "the snapshot has nothing of this".to_owned()),
    }
}

/// None where there is no such file: a page may wait for one.
fn open(snapshot: &str) -> Result<Option<RunDocument>> {
    let path = root().join("snapshots").join(format!("{snapshot}.tar.zst"));
    if !path.exists() {
        return Ok(None);
    }
    let problem = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let files = Files::read(&path).map_err(|error| problem(&error))?;
    read_result(&files, &path).map(Some).map_err(|error| problem(&error))
}

fn table(kind: &str, document: &RunDocument, more: &[&str]) -> Result<Option<Table>> {
    let name = more.first().copied().ok_or("no case is named")?;
    let cold = || regime(more);
    Ok(match kind {
        "times" => Some(tables::times(case(document, name)?)),
        "phases" => tables::phases(case(document, name)?, cold()?),
        "programs" => tables::programs(case(document, name)?),
        "memory" => tables::memory(case(document, name)?),
        "planted" => tables::planted(case(document, name)?),
        "overhead" => tables::overheads(case(document, name)?),
        "cheapest" => tables::cheapest(case(document, name)?, cold()?),
        "totals" => {
            let calls: Vec<f64> = more[2..].iter().filter_map(|word| word.parse().ok()).collect();
            tables::totals(case(document, name)?, cold()?, &calls)
        }
        "sweep" => tables::sweep_times(sweep(document, name)?, cold()?),
        "slopes" => tables::slopes(sweep(document, name)?),
        _ => return Err("nothing of this kind can be shown".to_owned()),
    })
}

fn drawing(kind: &str, document: &RunDocument, more: &[&str]) -> Result<String> {
    let name = more.first().copied().ok_or("no case is named")?;
    let svg = match kind {
        "totals" => figure::totals(case(document, name)?, regime(more)?),
        "overhead" => figure::overheads(sweep(document, name)?),
        "sweep" => figure::sweep(sweep(document, name)?, regime(more)?),
        _ => return Err("there is no such figure".to_owned()),
    };
    svg.ok_or_else(|| "there is nothing to draw".to_owned())
}

fn regime(more: &[&str]) -> Result<Regime> {
    more.get(1).ok_or("no regime is named")?.parse()
}

fn case<'a>(document: &'a RunDocument, name: &str) -> Result<&'a CaseResult> {
    let found = document.cases.iter().find(|case| case.name == name);
    found.ok_or_else(|| format!("the snapshot has no case `{name}`"))
}

fn sweep<'a>(document: &'a RunDocument, name: &str) -> Result<&'a SweepResult> {
    let found = document.sweeps.iter().find(|sweep| sweep.case == name);
    found.ok_or_else(|| format!("the snapshot has no sweep `{name}`"))
}

/// Where, when and with what a snapshot was taken.
fn conditions(snapshot: &str, document: &RunDocument) -> String {
    let machine = &document.machine;
    let frameworks = ["jax", "jaxlib", "equinox", "flax", "optax", "numpy", "torch"];
    let packages: Vec<String> = frameworks
        .iter()
        .filter_map(|name| Some(format!("{name} {}", document.environment.packages.get(*name)?)))
        .collect();
    let parameters = document.cases.first().map(|case| {
        let of = |(name, value): (&String, &firstlight_schema::suite::Scalar)| {
            format!("{name} = {value}")
        };
        case.parameters.iter().map(of).collect::<Vec<_>>().join(", ")
    });
    let control = match document.control.as_ref().and_then(|control| control.passed) {
        Some(true) => "is not told from itself",
        Some(false) => "differs from itself: no verdict of those regimes counts",
        None => "was not measured",
    };
    let gpus = document.before.gpus.iter().flatten().map(|gpu| gpu.name.as_str());
    let devices: String = gpus.flat_map(|name| [", ", name]).collect();
    let mut table = Table {
        head: vec!["snapshot".to_owned(), format!("`snapshots/{snapshot}.tar.zst`")],
        rows: Vec::new(),
    };
    let mut row = |name: &str, value: String| table.rows.push(vec![name.to_owned(), value]);
    row("measured", document.created.clone());
    row(
        "machine",
        format!(
            "{}, {} CPUs, {}{devices}",
            machine.cpu.as_deref().unwrap_or("unknown processor"),
            machine.cores.unwrap_or(0),
            bytes(machine.memory_bytes.unwrap_or(0)),
        ),
    );
    row(
        "with",
        format!(
            "{}; {}",
            document.environment.python.as_deref().unwrap_or("no Python"),
            packages.join(", ")
        ),
    );
    row("parameters", parameters.unwrap_or_default());
    row(
        "processes",
        format!(
            "{} per arm and cold regime, {} to {} warm",
            document.options.processes,
            document.options.warm_processes,
            document.options.most_warm_processes
        ),
    );
    row("control", format!("the reference arm {control}"));
    table.markdown()
}
