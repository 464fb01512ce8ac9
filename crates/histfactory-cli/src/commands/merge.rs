//! `histfactory merge`: joins shards, and shows the result as the command in one piece does.

use std::path::{Path, PathBuf};

use super::{limits, toys};
use crate::error::Error;
use crate::exit::Exit;
use crate::output;
use crate::printer::Printer;
use crate::settings::{Destination, MergeSettings};
use crate::shard::{self, Answers, Joined, Question, ShardDocument};

pub(crate) fn merge(settings: &MergeSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let MergeSettings { shards, destination, plot } = settings;
    merge_files(shards, destination, plot.as_deref(), printer)
}

/// Joins the shards in these files and shows the whole.
pub(crate) fn merge_files(
    paths: &[PathBuf],
    destination: &Destination,
    plot: Option<&Path>,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    let read = |path: &PathBuf| Ok((path.clone(), shard::read(path)?));
    let Joined { whole, notes } =
        shard::join(paths.iter().map(read).collect::<Result<_, Error>>()?)?;
    report(&whole, &notes, destination, plot, printer)
}

/// Shows everything that was computed, whether in one piece or in shards.
pub(crate) fn report(
    whole: &ShardDocument,
    notes: &[String],
    destination: &Destination,
    plot: Option<&Path>,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    match (&whole.question, &whole.answers) {
        (Question::Fits(question), Answers::Fits(answers)) => {
            for note in notes {
                printer.warning(note);
            }
            toys::show_fits(whole, (question, answers), destination, plot, printer)
        }
        (Question::Test(question), Answers::Test(answers)) => {
            toys::show_test(whole, (question, answers), notes, destination, plot, printer)
        }
        (Question::Limits(question), Answers::Limits(rows)) => {
            if plot.is_some() {
                return Err(Error::Usage("--plot draws toys, and these are limits".to_owned()));
            }
            limits::show(whole, question, rows, destination, printer)
        }
        (Question::Fits(_) | Question::Test(_) | Question::Limits(_), _) => {
            unreachable!("a shard is read or computed with the answers to its question")
        }
    }
}

/// Writes one shard, sealed.
pub(crate) fn write_shard(
    shard: ShardDocument,
    destination: &Destination,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    let shard = shard::seal(shard)?;
    output::show(&shard, String::new, destination, printer)?;
    Ok(Exit::Ok)
}
