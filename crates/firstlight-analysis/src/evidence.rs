//! Whether a sample's evidence confirms the declared cache states.

use std::collections::BTreeMap;

use firstlight_schema::cache::{CachePolicy, Layer, LayerEvidence, Policy};
use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::message::{CacheAnswer, CacheConfig, Event, Message};
use firstlight_schema::reading::RawSample;
use firstlight_schema::sample::Compile;

/// A process that started without its files in memory ends with many times as much in memory as at its start.
const MOSTLY_READ: u64 = 4;

/// The number of requests to a cache, and of hits.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    requests: u64,
    hits: u64,
}

/// Inventories and counts, layer by layer, for every layer with evidence.
pub(crate) fn layers(
    raw: &RawSample,
    policy: CachePolicy,
    compiles: &[Compile],
) -> Vec<LayerEvidence> {
    let counts = counts(raw, compiles);
    let mut layers: BTreeMap<Layer, LayerEvidence> = BTreeMap::new();
    for reading in &raw.caches {
        layers.insert(
            reading.layer,
            LayerEvidence {
                layer: reading.layer,
                policy: reading.policy,
                before: Some(reading.before),
                after: Some(reading.after),
                requests: None,
                hits: None,
                enabled: None,
            },
        );
    }
    for (layer, counts) in counts {
        let evidence = layers.entry(layer).or_insert_with(|| LayerEvidence {
            layer,
            policy: policy.for_layer(layer),
            before: None,
            after: None,
            requests: None,
            hits: None,
            enabled: None,
        });
        evidence.requests = Some(counts.requests);
        evidence.hits = Some(counts.hits);
    }
    for (layer, on) in switches(raw, compiles) {
        if let Some(evidence) = layers.get_mut(&layer) {
            evidence.enabled = Some(on);
        }
    }
    layers.into_values().collect()
}

/// The caches that frameworks had switched on, if observed.
fn switches(raw: &RawSample, compiles: &[Compile]) -> BTreeMap<Layer, bool> {
    let mut switches: BTreeMap<Layer, bool> = BTreeMap::new();
    for compile in compiles {
        let layer = match compile.framework.as_deref() {
            Some("jax") => Layer::Jax,
            Some("torch") => Layer::Inductor,
            Some("numba") => Layer::Numba,
            _ => continue,
        };
        let on = compile.cache.is_some_and(|answer| answer != CacheAnswer::Off);
        *switches.entry(layer).or_default() |= on;
    }
    switches.extend(cache_configs(raw).map(|config| (config.layer, config.enabled)));
    switches
}

fn counts(raw: &RawSample, compiles: &[Compile]) -> BTreeMap<Layer, Counts> {
    let mut layers: BTreeMap<Layer, Counts> = BTreeMap::new();
    for compile in compiles {
        let layer = match compile.framework.as_deref() {
            Some("jax") => Layer::Jax,
            Some("numba") => Layer::Numba,
            _ => continue,
        };
        let counts = layers.entry(layer).or_default();
        match compile.cache {
            Some(CacheAnswer::Hit) => {
                counts.requests += 1;
                counts.hits += 1;
            }
            Some(CacheAnswer::Miss) => counts.requests += 1,
            Some(CacheAnswer::Off) | None => {}
        }
    }
    for message in &raw.messages {
        match message {
            Message::Event(event) => {
                if let Event::CacheCounts(counted) = &event.event {
                    let counts = layers.entry(counted.layer).or_default();
                    counts.requests += counted.hits + counted.misses;
                    counts.hits += counted.hits;
                }
            }
            Message::Imports(imports) => {
                layers.entry(Layer::Bytecode).or_default().requests += imports.sources;
            }
            _ => {}
        }
    }
    layers
}

/// Contradictions between the declared and the observed state.
pub(crate) fn contradictions(
    raw: &RawSample,
    layers: &[LayerEvidence],
    compiles: &[Compile],
) -> Vec<Reason> {
    let mut reasons: Vec<Reason> =
        layers.iter().filter_map(|layer| contradiction(layer, compiles)).collect();
    let policy =
        |name: Layer| layers.iter().find(|known| known.layer == name).map(|one| one.policy);
    reasons.extend(cache_configs(raw).filter_map(|config| elsewhere(config, raw, policy)));
    reasons
}

/// A contradiction that every process of the command will have: the program configures a cache itself.
pub(crate) fn structural(raw: &RawSample, policy: CachePolicy) -> Option<Reason> {
    cache_configs(raw)
        .find_map(|config| elsewhere(config, raw, |layer| Some(policy.for_layer(layer))))
}

fn contradiction(layer: &LayerEvidence, compiles: &[Compile]) -> Option<Reason> {
    let (name, before) = (layer.layer, layer.before.unwrap_or_default());
    let (requests, hits) = (layer.requests.unwrap_or(0), layer.hits.unwrap_or(0));
    let reason = |finding, text: String| Some(Reason::new(finding, text));
    match layer.policy {
        Policy::Clean if layer.layer == Layer::PageCache => {
            let after = layer.after.unwrap_or_default();
            if before.bytes.saturating_mul(MOSTLY_READ) <= after.bytes {
                return None;
            }
            let text = format!("{} bytes of the files were still in memory", before.bytes);
            reason(Finding::CacheNotClean, text)
        }
        Policy::Clean | Policy::Disabled | Policy::AsConfigured if before.entries > 0 => reason(
            Finding::CacheNotClean,
            format!(
                "the {name} cache held {} before the process started",
                match before.entries {
                    1 => "1 file".to_owned(),
                    files => format!("{files} files"),
                }
            ),
        ),
        Policy::Disabled if name != Layer::Bytecode && hits > 0 => reason(
            Finding::CacheNotClean,
            format!("the {name} cache is disabled and served {hits} of {requests} requests"),
        ),
        Policy::Primed if name == Layer::Bytecode && requests > 0 => reason(
            Finding::CacheNeverHit,
            match requests {
                1 => "1 module was compiled from source though byte code was primed".to_owned(),
                n => format!("{n} modules were compiled from source though byte code was primed"),
            },
        ),
        // An entry of this cache is written when a backward pass is compiled; without one it has no hits. The
        // layer of Inductor's graphs counts the rest of Inductor's compilations.
        Policy::Primed if name == Layer::InductorAotAutograd && !has_backward(compiles) => None,
        Policy::Primed if name != Layer::Bytecode && hits < requests => reason(
            Finding::CacheNeverHit,
            format!(
                "{} of {requests} programs missed the primed {name} cache{}",
                requests - hits,
                missed(name, compiles),
            ),
        ),
        Policy::Clean
        | Policy::Disabled
        | Policy::Primed
        | Policy::AsFound
        | Policy::AsConfigured => None,
    }
}

fn has_backward(compiles: &[Compile]) -> bool {
    compiles.iter().any(|compile| compile.function.ends_with(" (backward)"))
}

/// Names the first few programs that missed the cache.
fn missed(layer: Layer, compiles: &[Compile]) -> String {
    const SHOWN: usize = 3;
    let names: Vec<&str> = compiles
        .iter()
        .filter(|compile| compile.framework.as_deref() == Some(layer.name()))
        .filter(|compile| compile.cache == Some(CacheAnswer::Miss))
        .map(|compile| compile.function.as_str())
        .collect();
    match names.len() {
        0 => String::new(),
        n if n <= SHOWN => format!(": {}", names.join(", ")),
        _ => format!(": {}, …", names[..SHOWN].join(", ")),
    }
}

fn cache_configs(raw: &RawSample) -> impl Iterator<Item = &CacheConfig> {
    raw.messages.iter().filter_map(|message| match message {
        Message::Event(event) => match &event.event {
            Event::CacheConfig(config) => Some(config),
            _ => None,
        },
        _ => None,
    })
}

/// A program may set its own cache directory; then the declared states do not apply.
fn elsewhere(
    config: &CacheConfig,
    raw: &RawSample,
    policy: impl Fn(Layer) -> Option<Policy>,
) -> Option<Reason> {
    let name = config.layer;
    let policy = policy(name)?;
    let given = raw.caches.iter().find(|reading| reading.layer == name)?.directory.as_deref();
    let own_directory = config.enabled && config.directory.as_deref() != given;
    match policy {
        Policy::Clean | Policy::Primed if !config.enabled => Some(Reason::new(
            Finding::CacheNeverHit,
            format!("the program switched the {name} cache off, which was declared {policy}"),
        )),
        Policy::Clean | Policy::Primed | Policy::AsConfigured if own_directory => {
            Some(Reason::new(
                Finding::CacheNotClean,
                format!(
                    "the program keeps its {name} cache in `{}`, not in the directory that \
                     firstlight provided; `--cache as-found` measures it as it is",
                    config.directory.as_deref().unwrap_or("?"),
                ),
            ))
        }
        Policy::Disabled if config.enabled => Some(Reason::new(
            Finding::CacheNotClean,
            format!("the program switched the {name} cache on, which was declared disabled"),
        )),
        Policy::Clean
        | Policy::Primed
        | Policy::Disabled
        | Policy::AsFound
        | Policy::AsConfigured => None,
    }
}
