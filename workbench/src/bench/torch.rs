//! The same command on a torch.compile script: Dynamo, Inductor and their caches. PyTorch needs gigabytes, so
//! this bench only runs on request.

use firstlight_schema::cache::Layer;
use firstlight_schema::phase::Phase;
use firstlight_schema::summary::Summary;

use super::{Workshop, judge};
use xtask::shell::Result;

pub(super) fn bench(workshop: &Workshop) -> Result {
    let python = xtask::wheel::torch()?.display().to_string();
    let script = Workshop::script("compiled.py");
    for policy in ["clean", "primed"] {
        println!("── bench torch: torch.compile, caches {policy}");
        let options = ["--runs", "3", "--cache", policy, "--bytecode", "primed"];
        let document = workshop.cold(&options, &[&python, &script])?;
        let summary = document.summary.ok_or("no valid sample")?;
        for row in &summary.phases {
            let parts: Vec<_> = row.parts.iter().take(3).map(|part| part.name.as_str()).collect();
            println!("   {:<13} {:>8.0} ms  {}", row.name, row.mean_ns / 1e6, parts.join(", "));
        }
        check(&summary, policy);
    }
    Ok(())
}

fn check(summary: &Summary, policy: &str) {
    let part = |phase: Phase, name: &str| {
        let row = summary.phases.iter().find(|row| row.name == phase);
        row.is_some_and(|row| row.parts.iter().any(|part| part.name.contains(name)))
    };
    let seen = part(Phase::Trace, "dynamo") && part(Phase::Lower, "inductor");
    judge("phases", &format!("{seen}"), "Dynamo and Inductor are distinguished", seen);
    for layer in [Layer::InductorFxGraph, Layer::InductorAotAutograd] {
        let Some(found) = summary.caches.iter().find(|known| known.layer == layer) else {
            judge(layer.name(), "not seen", "counted", false);
            continue;
        };
        let (hits, requests) = (found.hits.unwrap_or(0), found.requests.unwrap_or(0));
        let wanted = if policy == "primed" { requests } else { 0 };
        let figure = format!("{hits} of {requests} requests served");
        judge(layer.name(), &figure, "the declared state", requests > 0 && hits == wanted);
    }
}
