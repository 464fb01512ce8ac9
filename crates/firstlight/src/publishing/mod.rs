//! Builds a site from snapshots: reads new ones, rewrites affected pages, keeps the others.

mod reading;
mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use firstlight_analysis::history::steps;
use firstlight_engine::store::write_changed;
use firstlight_report::site::{COMPARE, INDEX, Site, TABLE, case_path, snapshot_path};
use firstlight_schema::site::{self, Published, STATE, SiteDocument, Source, Standing};
use firstlight_schema::snapshot::{MANIFEST, ORIGIN, RAW};
use serde::Serialize;

use crate::error::Error;
use crate::harness::build;
use crate::verification::on_all_cores;
use reading::{Read, read};
use sources::Found;

/// The summary of a build.
pub(crate) struct Publication {
    /// Pages, by their path in the site.
    pub(crate) written: Vec<String>,
    pub(crate) regressions: usize,
    pub(crate) refused: Vec<Refused>,
}

/// A source that is not shown.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Refused {
    pub(crate) name: String,
    pub(crate) reason: String,
}

/// The absolute path, with links resolved as far as it exists.
fn absolute(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let known = whole.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, real)) = known else { return whole };
    whole.strip_prefix(above).map_or(real.clone(), |rest| real.join(rest))
}

pub(crate) fn publish(folder: &Path, site: &Path) -> Result<(SiteDocument, Publication), Error> {
    let found = sources::find(folder)?;
    if found.is_empty() {
        return Err(Error::Usage(format!("no snapshots in `{}`", folder.display())));
    }
    let place = absolute(site);
    let snapshot = [MANIFEST, ORIGIN, RAW]
        .map(|name| place.ancestors().find(|above| above.join(name).exists()));
    if let Some(above) = snapshot.into_iter().flatten().next() {
        let words = format!("`{}` is a snapshot: a site inside it would break it", above.display());
        return Err(Error::Usage(words));
    }
    let old = remembered(site)?;
    let known: BTreeMap<&str, &Source> =
        old.iter().flat_map(|old| &old.sources).map(|one| (one.name.as_str(), one)).collect();
    let is_known = |one: &&Found| {
        known.get(one.name.as_str()).is_some_and(|source| {
            source.stamp == one.stamp
                && match &source.standing {
                    Standing::Published { id } => site.join(snapshot_path(id)).is_file(),
                    Standing::Refused { .. } => true,
                }
        })
    };
    let (unchanged, new): (Vec<&Found>, Vec<&Found>) = found.iter().partition(is_known);
    let mut written = Vec::new();
    let mut snapshots: BTreeMap<String, Published> = BTreeMap::new();
    let mut sources: Vec<Source> =
        unchanged.iter().map(|one| known[one.name.as_str()].clone()).collect();
    for Read { source, published, page } in on_all_cores(&new, |_, one| read(one, site)) {
        sources.push(source);
        written.extend(page?);
        snapshots.extend(published.map(|published| (published.id.clone(), published)));
    }
    sources.sort_by(|a, b| a.name.cmp(&b.name));
    let wanted: BTreeSet<&str> = sources.iter().filter_map(id).collect();
    let before = old.map(|old| old.snapshots).unwrap_or_default();
    let mut touched = suites(&before, |one| !wanted.contains(one.id.as_str()));
    let ids: BTreeSet<String> = before.iter().map(|one| one.id.clone()).collect();
    touched.extend(suites(snapshots.values(), |one| !ids.contains(&one.id)));
    for one in before.into_iter().filter(|one| wanted.contains(one.id.as_str())) {
        snapshots.entry(one.id.clone()).or_insert(one);
    }
    let mut snapshots: Vec<Published> = snapshots.into_values().collect();
    snapshots.sort_by(|a, b| a.at.total_cmp(&b.at).then_with(|| a.id.cmp(&b.id)));
    let state =
        SiteDocument { schema: SiteDocument::schema_id(), firstlight: build(), sources, snapshots };
    let regressions = draw(&state, site, &touched, &mut written)?;
    let refused = refused(&state)
        .map(|(name, reason)| Refused { name: name.to_owned(), reason: reason.to_owned() })
        .collect();
    Ok((state, Publication { written, regressions, refused }))
}

/// Draws the index and the cases of the changed suites; returns the number of regressions.
fn draw(
    state: &SiteDocument,
    folder: &Path,
    touched: &BTreeSet<String>,
    written: &mut Vec<String>,
) -> Result<usize, Error> {
    let steps = steps(&state.snapshots);
    let refused = refused(state).collect();
    let site = Site::new(&state.snapshots, &steps, refused, &state.firstlight.version);
    let outdated: Vec<(&str, &str)> = site
        .cases()
        .into_iter()
        .filter(|(suite, case)| {
            touched.contains(*suite) || !folder.join(case_path(suite, case)).is_file()
        })
        .collect();
    let drawn = on_all_cores(&outdated, |_, (suite, case)| {
        let path = case_path(suite, case);
        write_changed(&folder.join(&path), &site.case(suite, case)).map(|new| new.then_some(path))
    });
    for path in drawn {
        written.extend(path?);
    }
    for (path, page) in [(INDEX, site.index()), (TABLE, site.table()), (COMPARE, site.compare())] {
        if write_changed(&folder.join(path), &page)? {
            written.push(path.to_owned());
        }
    }
    Ok(site.regressions().count())
}

/// The state stored by an earlier run of the same firstlight, if any.
fn remembered(site: &Path) -> Result<Option<SiteDocument>, Error> {
    let path = site.join(STATE);
    let Ok(content) = fs::read(&path) else { return Ok(None) };
    let version = firstlight_engine::snapshot::check_version(&content, site::NAME, site::VERSION);
    if let Err(reason) = version {
        let place = path.display();
        return Err(Error::Usage(format!("`{place}` {reason}; left unchanged")));
    }
    let state: Option<SiteDocument> = serde_json::from_slice(&content).ok();
    Ok(state.filter(|state| state.firstlight == build()))
}

fn id(of: &Source) -> Option<&str> {
    match &of.standing {
        Standing::Published { id } => Some(id),
        Standing::Refused { .. } => None,
    }
}

fn refused(state: &SiteDocument) -> impl Iterator<Item = (&str, &str)> {
    state.sources.iter().filter_map(|one| match &one.standing {
        Standing::Published { .. } => None,
        Standing::Refused { reason } => Some((one.name.as_str(), reason.as_str())),
    })
}

fn suites<'a>(
    of: impl IntoIterator<Item = &'a Published>,
    wanted: impl Fn(&Published) -> bool,
) -> BTreeSet<String> {
    of.into_iter().filter(|one| wanted(one)).map(|one| one.suite.clone()).collect()
}
