//! Pages that quote published results: every table and figure between `<!-- firstlight: KIND SNAPSHOT … -->`
//! and `<!-- end -->` is generated from `snapshots/`.

mod beside;
mod captions;
mod claims;
mod conditions;
mod figures;

use std::collections::BTreeMap;
use std::fs;

use firstlight_analysis::rebuild::rebuild;
use firstlight_engine::EngineError;
use firstlight_engine::snapshot::{Files, raw_lines, read_manifest, read_suite};
use firstlight_report::svg::figure;
use firstlight_report::words::tables::{self, Table, beyond_reference};
use firstlight_schema::comparison::SweepResult;
use firstlight_schema::reading::RawRecord;
use firstlight_schema::run::{CaseResult, RunDocument};
use firstlight_schema::snapshot::TRACE;
use firstlight_schema::suite::{Regime, SuiteFile};
use firstlight_schema::suite_trace::SuiteTraceDocument;

use beside::beside;
use captions::caption;
use claims::claim;
use conditions::conditions;

use xtask::shell::{Result, root};

const GUIDE: &str = "docs/guide";
const BEGIN: &str = "<!-- firstlight: ";
const END: &str = "<!-- end -->";

/// The pages with their blocks filled, and their figures.
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
    paths.push(root().join("README.md"));
    let mut made = Vec::new();
    let mut known = BTreeMap::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(problem)?;
        if text.contains(BEGIN) {
            let name = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
            let page =
                filled(&text, &mut known, &mut made).map_err(|why| format!("{name}: {why}"))?;
            made.push((name, page));
        }
    }
    Ok(made)
}

type Snapshots = BTreeMap<String, Option<Published>>;

/// A snapshot's result, and its suite as it was selected.
struct Published {
    document: RunDocument,
    suite: SuiteFile,
    /// The cost of recording its arms.
    traced: Option<SuiteTraceDocument>,
}

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
    if *kind == "dependence" {
        return dependence(&words[1..], known);
    }
    learn(known, snapshot)?;
    let of_a_case = !["beside", "recording", "wrappers"].contains(kind);
    let case = more.first().filter(|_| of_a_case);
    let published = match find(known, snapshot, case) {
        Ok(published) => published,
        Err(missing) => return Ok(missing),
    };
    let document = &published.document;
    if let Some(drawn) = kind.strip_prefix("figure-") {
        let Some(svg) = drawing(drawn, document, more)? else { return Ok(nothing(snapshot)) };
        let name = [&[*snapshot, drawn], more].concat().join("-");
        made.push((format!("docs/images/{name}.svg"), svg));
        return Ok(format!("![{}](../images/{name}.svg)", more.join(", ")));
    }
    if let Some(kind) = kind.strip_prefix("claim-") {
        return claim(kind, document, more);
    }
    if *kind == "conditions" {
        return Ok(caption(kind, more)? + &conditions(snapshot, published));
    }
    if *kind == "wrappers" {
        let text = published.traced.as_ref().map(wrappers).filter(|text| !text.is_empty());
        return Ok(text.unwrap_or_else(|| nothing(snapshot)));
    }
    let table = match *kind {
        "beside" => beside(document, more)?,
        "recording" => published.traced.as_ref().and_then(tables::recording),
        kind => table(kind, document, more)?,
    };
    match table {
        Some(table) => Ok(caption(kind, more)? + &table.markdown()),
        None => Ok(nothing(snapshot)),
    }
}

/// The phases of every wrapper that is recognised by its frames.
fn wrappers(document: &SuiteTraceDocument) -> String {
    let traces = document.arms.iter().filter_map(|arm| arm.trace.as_ref());
    let all = traces.flat_map(|trace| tables::wrappers(trace, "– "));
    let text: Vec<_> =
        all.map(|(title, document)| format!("*{title}.*\n\n{}", document.markdown())).collect();
    text.join("\n")
}

/// The text for a case that was begun but has too few measurements.
fn nothing(snapshot: &str) -> String {
    format!("*Not measured yet: `snapshots/{snapshot}.tar.zst` has nothing of this.*")
}

/// `None` if the file does not exist: a page may be written before its snapshot.
fn open(snapshot: &str) -> Result<Option<Published>> {
    let path = root().join("snapshots").join(format!("{snapshot}.tar.zst"));
    if !path.exists() {
        return Ok(None);
    }
    // Recomputed from the raw readings, because an older firstlight may not have computed some numbers.
    let published = || {
        let files = Files::read(&path)?;
        let manifest = read_manifest(&files, &path)?;
        let suite = read_suite(&files, &path, &manifest)?;
        let records = raw_lines(&files, &path)?
            .into_iter()
            .map(serde_json::from_slice)
            .collect::<std::result::Result<Vec<RawRecord>, _>>()
            .map_err(|error| EngineError::NotAResult {
                path: path.clone(),
                reason: error.to_string(),
            })?;
        let document = rebuild(&manifest.origin, &suite, manifest.after.clone(), records);
        let traced = files.get(TRACE).and_then(|content| serde_json::from_slice(content).ok());
        Ok(Published { document, suite, traced })
    };
    published().map(Some).map_err(|error: EngineError| format!("{}: {error}", path.display()))
}

fn has(document: &RunDocument, name: &str) -> bool {
    document.cases.iter().any(|case| case.name == name)
        || document.sweeps.iter().any(|sweep| sweep.case == name)
}

/// Opens a snapshot unless it is already open.
fn learn(known: &mut Snapshots, snapshot: &str) -> Result {
    if !known.contains_key(snapshot) {
        known.insert(snapshot.to_owned(), open(snapshot)?);
    }
    Ok(())
}

/// A snapshot with the case, otherwise the text for the page: a snapshot may contain only part of its suite.
fn find<'a>(
    known: &'a Snapshots,
    snapshot: &str,
    case: Option<&&str>,
) -> std::result::Result<&'a Published, String> {
    let path = format!("snapshots/{snapshot}.tar.zst");
    let Some(published) = known.get(snapshot).and_then(Option::as_ref) else {
        return Err(format!("*Not measured yet: there is no `{path}`.*"));
    };
    match case {
        Some(name) if !has(&published.document, name) => {
            Err(format!("*Not measured yet: `{path}` has no case `{name}`.*"))
        }
        _ => Ok(published),
    }
}

/// The dependence of the overhead, sentence by sentence: two sweeps, each with its snapshot.
fn dependence(words: &[&str], known: &mut Snapshots) -> Result<String> {
    let &[first, one, second, other] = words else {
        return Err("two snapshots are needed, each with a sweep".to_owned());
    };
    learn(known, first)?;
    learn(known, second)?;
    let (first, second) = match (find(known, first, Some(&one)), find(known, second, Some(&other)))
    {
        (Ok(first), Ok(second)) => (&first.document, &second.document),
        (Err(missing), _) | (_, Err(missing)) => return Ok(missing),
    };
    let select = |document: &RunDocument, name| {
        Ok::<_, String>(beyond_reference(&document.cases, sweep(document, name)?))
    };
    let sentences = tables::dependence(&select(first, one)?, &select(second, other)?);
    if sentences.is_empty() {
        return Ok("*Not measured yet: no arm has an overhead in both sweeps.*".to_owned());
    }
    let items: Vec<String> = sentences.iter().map(|said| format!("- {said}")).collect();
    Ok(items.join("\n"))
}

fn table(kind: &str, document: &RunDocument, more: &[&str]) -> Result<Option<Table>> {
    let name = more.first().copied().ok_or("no case is named")?;
    let cold = || regime(more);
    Ok(match kind {
        "times" => Some(tables::times(case(document, name)?)),
        "verdicts" => tables::cold_verdicts(case(document, name)?),
        "phases" => tables::phases(case(document, name)?, cold()?),
        "programs" => tables::programs(case(document, name)?),
        "memory" => tables::memory(case(document, name)?),
        "planted" => tables::planted(case(document, name)?),
        "overhead" => tables::overheads(case(document, name)?),
        "cheapest" => tables::cheapest(case(document, name)?, cold()?),
        "break-evens" => {
            let arm = more.get(2).ok_or("no arm is named")?;
            tables::break_evens(case(document, name)?, cold()?, arm)
        }
        "totals" => {
            let calls: Vec<f64> = more[2..].iter().filter_map(|word| word.parse().ok()).collect();
            tables::totals(case(document, name)?, cold()?, &calls)
        }
        "sweep" => tables::sweep_times(sweep(document, name)?, cold()?),
        "slopes" => tables::slopes(sweep(document, name)?),
        "slopes-beyond" => {
            tables::slopes(&beyond_reference(&document.cases, sweep(document, name)?))
        }
        _ => return Err("nothing of this kind can be shown".to_owned()),
    })
}

fn drawing(kind: &str, document: &RunDocument, more: &[&str]) -> Result<Option<String>> {
    let name = more.first().copied().ok_or("no case is named")?;
    Ok(match kind {
        "totals" => figure::totals(case(document, name)?, regime(more)?),
        "phases" => figure::phases(case(document, name)?, regime(more)?),
        "beyond" => {
            let one = beyond_reference(&document.cases, sweep(document, name)?);
            let reference = document.cases.first().map_or("", |case| &case.reference);
            figure::overheads(&one, reference)
        }
        "sweep" => figure::sweep(sweep(document, name)?, regime(more)?),
        "planted" => figures::planted(case(document, name)?),
        "overhead" => figures::overheads(case(document, name)?),
        _ => return Err("there is no such figure".to_owned()),
    })
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

#[cfg(test)]
mod tests {
    use super::{beyond_reference, conditions, filled, open};

    fn page(block: &str) -> Result<String, String> {
        let text = format!("a\n\n<!-- firstlight: {block} -->\nold\n<!-- end -->\n\nb\n");
        filled(&text, &mut super::Snapshots::new(), &mut Vec::new())
    }

    #[test]
    fn missing_results_are_reported_and_impossible_blocks_are_errors() {
        let missing = "*Not measured yet: there is no `snapshots/none.tar.zst`.*";
        for block in ["times none case", "figure-totals none case cold-clean", "conditions none"] {
            let expected =
                format!("a\n\n<!-- firstlight: {block} -->\n\n{missing}\n\n<!-- end -->\n\nb\n");
            assert_eq!(page(block), Ok(expected));
        }
        assert!(page("dependence none a none b").unwrap().contains(missing));
        let known = "quickstart-cpu";
        assert!(page(&format!("times {known} none")).unwrap().contains("has no case `none`"));
        let case = open(known).unwrap().unwrap().document.cases[0].name.clone();
        let error = page(&format!("break-evens {known} {case} cold-clean")).unwrap_err();
        assert!(error.ends_with("no arm is named"), "{error}");
        let error = page(&format!("tmies {known} {case}")).unwrap_err();
        assert!(error.ends_with("nothing of this kind can be shown"), "{error}");
    }

    #[test]
    fn overhead_beyond_the_reference_does_not_depend_on_the_call_of_the_baseline() {
        let mut document = open("jit-overhead-cpu").unwrap().unwrap().document;
        let sweep = document.sweeps[0].clone();
        let before = beyond_reference(&document.cases, &sweep);
        let arms = document.cases.iter_mut().flat_map(|case| &mut case.arms);
        let samples = arms.flat_map(|arm| &mut arm.regimes).flat_map(|regime| &mut regime.samples);
        for overhead in samples.filter_map(|one| one.window.as_mut()?.overhead.as_mut()) {
            overhead.mean_ns = overhead.mean_ns.map(|mean| mean - 1e6);
        }
        let after = beyond_reference(&document.cases, &sweep);
        assert_eq!(before.overheads.len(), sweep.overheads.len() - 1, "all but the reference");
        for (before, after) in before.overheads.iter().zip(&after.overheads) {
            let (was, is) = (before.slope.unwrap(), after.slope.unwrap());
            assert!(was.n >= 2 && (is.point - was.point).abs() < 1e-6, "{was:?} {is:?}");
            for (was, is) in before.rows.iter().zip(&after.rows) {
                assert!((is.time.unwrap().point - was.time.unwrap().point).abs() < 1e-3);
            }
        }
        let filter = before.overheads.iter().find(|line| line.arm == "filter-jit").unwrap();
        assert!(filter.slope.unwrap().interval.unwrap().low > 0.0, "{filter:?}");
    }

    #[test]
    fn an_arm_is_compared_with_the_others_and_with_published_figures() {
        let document = open("quickstart-cpu").unwrap().unwrap().document;
        let case = &document.cases[0];
        let arm = &case.arms[0].name;
        let text = page(&format!("break-evens quickstart-cpu {} cold-clean {arm}", case.name));
        let text = text.unwrap();
        for other in &case.arms {
            assert!(text.contains(&format!("\n| {} | ", other.name)), "{text}");
        }
        assert!(text.contains("pays off"), "{text}");
        let figures = format!("beside quickstart-cpu {arm} {}=3_ms none=4_ms", case.name);
        let text = page(&figures).unwrap();
        assert!(text.contains(&format!("\n| {} | ", case.name)), "{text}");
        assert!(text.contains(" per ") && text.contains("| 3 ms |"), "{text}");
        assert!(text.contains("\n| none | – | 4 ms |"), "{text}");
        for block in ["recording quickstart-cpu", "wrappers quickstart-cpu"] {
            assert!(page(block).unwrap().contains("has nothing of this"));
        }
        assert!(page("recording jit-overhead-cpu").unwrap().contains("\n| pytrees | step | "));
        let text = page("wrappers jit-overhead-cpu").unwrap();
        assert!(
            text.contains("*equinox.filter_jit: ") && text.contains("\n| – combine | "),
            "{text}"
        );
        let nobody = page(&format!("break-evens quickstart-cpu {} cold-clean no", case.name));
        assert!(nobody.unwrap().contains("has nothing of this"));
    }

    #[test]
    fn a_run_that_ended_early_and_its_control_are_among_the_conditions() {
        let mut published = open("quickstart-cpu").unwrap().unwrap();
        published.document.complete = true;
        assert!(!conditions("q", &published).contains("ended early"));
        assert!(conditions("q", &published).contains("| the A/A control was inconclusive: "));
        published.document.control = None;
        assert!(
            conditions("q", &published).contains("| the A/A control was not part of the run |")
        );
        published.document.complete = false;
        let text = conditions("q", &published);
        assert!(text.contains("| ended early | the run was stopped before"), "{text}");
    }
}
