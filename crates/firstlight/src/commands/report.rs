//! `firstlight report`: a stored result as one HTML file, or as Markdown for a pull request.

use firstlight_engine::store::write_whole;
use firstlight_report::export::markdown;
use firstlight_report::html::{Around, Seal, page};
use firstlight_schema::exit_code::Exit;

use crate::error::Error;
use crate::opening;
use crate::printer::Printer;
use crate::settings::{ReportSettings, Wanted};

pub(crate) fn report(settings: &ReportSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let document = opening::current(&settings.result)?;
    let traced = opening::traced(&settings.result)?;
    let declared = opening::declared(&settings.result);
    let sealed = opening::seal(&settings.result);
    let seal = sealed.as_ref().map(|(id, verified)| Seal { id, verified: *verified });
    let around = Around {
        home: None,
        question: declared.question.as_deref(),
        traced: traced.as_ref(),
        declared: &declared.arms,
        seal,
    };
    let page = || page(&document, around);
    match &settings.wanted {
        Wanted::Markdown => printer.data(&markdown(&document)),
        Wanted::PrintedPage => printer.data(&page()),
        Wanted::Page(path) => {
            write_whole(path, &page())?;
            printer.aside(&format!("report: {}", path.display()));
        }
    }
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use firstlight_report::html::{Around, page};

    use crate::opening;

    const LARGEST_PAGE: usize = 1_400_000;

    #[test]
    fn the_page_of_every_published_snapshot_is_small_enough_to_open_at_once() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../snapshots");
        let mut largest = (0, String::new());
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|end| end != "zst") {
                continue;
            }
            let document = opening::current(&path).unwrap();
            let traced = opening::traced(&path).unwrap();
            let around = Around { traced: traced.as_ref(), ..Around::default() };
            let size = page(&document, around).len();
            largest = largest.max((size, path.display().to_string()));
        }
        println!("largest page: {} bytes, {}", largest.0, largest.1);
        assert!(0 < largest.0 && largest.0 <= LARGEST_PAGE, "{largest:?}");
    }

    #[test]
    fn an_older_snapshot_is_recomputed_so_that_curves_cross_where_the_sentence_says() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../snapshots");
        let path = folder.join("quickstart-cpu.tar.zst");
        assert!(opening::run(&path).unwrap().analysis < opening::current(&path).unwrap().analysis);
        let document = opening::current(&path).unwrap();
        for even in document.cases.iter().flat_map(|case| &case.break_evens) {
            let Some(crossing) = even.calls else { continue };
            let order = |total: &firstlight_schema::comparison::Total| {
                total.arm_ns.total_cmp(&total.against_ns)
            };
            let first = order(&even.curve[0]);
            let [before, after] = even
                .curve
                .windows(2)
                .find(|pair| order(&pair[1]) != first)
                .map(|pair| [pair[0].calls, pair[1].calls])
                .unwrap();
            let place = crossing.point;
            assert!(before <= 1.02 * place && place <= 1.02 * after, "{before} {place} {after}");
        }
    }
}
