"""Two networks on the same events: one trained to classify, one trained on the significance.

Signal and background are two blobs in a plane. The background's position is uncertain along one
axis, its amount by ten per cent, and its simulation is finite. A network trained by cross-entropy
does not know these uncertainties. A network trained on the significance of the whole analysis, with
every uncertainty profiled, learns to avoid the uncertain direction.

    python two_blobs.py --output figures
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import svg
import torch
from torch import Tensor, nn

import histfactory
from histfactory.torch import SignificanceLoss, SoftHistogram

BINS = 8
SIGNAL, BACKGROUND = 30.0, 400.0
SHIFT = torch.tensor([0.9, 0.0])
NAMES = [
    "signal",
    "background",
    "SR/background/shift:hi",
    "SR/background/shift:lo",
    "SR/background/stat",
]


@dataclass
class Events:
    """Simulated events: signal, background, and shifted background."""

    signal: Tensor
    background: Tensor
    high: Tensor
    low: Tensor


def simulate(count: int, seed: int) -> Events:
    generator = torch.Generator().manual_seed(seed)
    blob = torch.randn(count, 2, generator=generator)
    signal = torch.randn(count, 2, generator=generator) * 0.8 + torch.tensor([1.2, 1.2])
    background = blob * 1.1 - 0.3
    return Events(signal, background, background + SHIFT, background - SHIFT)


def workspace() -> dict[str, Any]:
    """The analysis; each training step replaces these yields."""
    flat = [BACKGROUND / BINS] * BINS
    return {
        "channels": [
            {
                "name": "SR",
                "samples": [
                    {
                        "name": "signal",
                        "data": [SIGNAL / BINS] * BINS,
                        "modifiers": [{"name": "mu", "type": "normfactor", "data": None}],
                    },
                    {
                        "name": "background",
                        "data": flat,
                        "modifiers": [
                            {"name": "norm", "type": "normsys", "data": {"hi": 1.1, "lo": 0.9}},
                            {
                                "name": "shift",
                                "type": "histosys",
                                "data": {"hi_data": flat, "lo_data": flat},
                            },
                            {"name": "stat", "type": "staterror", "data": [1.0] * BINS},
                        ],
                    },
                ],
            }
        ],
        "observations": [{"name": "SR", "data": flat}],
        "measurements": [{"name": "discovery", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0",
    }


def network(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1), nn.Sigmoid()
    )


def yields(
    scores: nn.Module, events: Events, histogram: SoftHistogram, total: int | None = None
) -> list[Tensor]:
    """The inputs of the analysis, for events binned by the network.

    If the events are part of ``total`` simulated ones, each represents several: yields are scaled
    accordingly, and the sum of squared weights is scaled back to that of all events.
    """
    one = BACKGROUND / len(events.background)
    share = 1.0 if total is None else (len(events.background) / total) ** 0.5
    background, errors = histogram.with_errors(scores(events.background))
    # An empty bin would cause a division by zero.
    floor = 1e-2
    return [
        histogram(scores(events.signal)) * (SIGNAL / len(events.signal)),
        background * one + floor,
        histogram(scores(events.high)) * one + floor,
        histogram(scores(events.low)) * one + floor,
        errors * (one * share) + 1e-3,
    ]


def plain() -> SoftHistogram:
    return SoftHistogram(torch.linspace(0.0, 1.0, BINS + 1), 0.0, flow="merge")


def significance(model: histfactory.Model, scores: nn.Module, events: Events) -> float:
    """The expected significance with the plain histogram."""
    with torch.no_grad():
        binned = yields(scores, events, plain())
    changed = {name: values.double().numpy() for name, values in zip(NAMES, binned, strict=True)}
    return model.with_yields(changed).significance().z


@dataclass
class Training:
    scores: nn.Module
    steps: list[int]
    significances: list[float]


def train(
    kind: str, model: histfactory.Model, events: Events, test: Events, steps: int, seed: int
) -> Training:
    """Trains on cross-entropy or on the significance; everything else is the same."""
    scores = network(seed)
    optimiser = torch.optim.Adam(scores.parameters(), lr=0.02)
    loss = SignificanceLoss(model, NAMES, smooth=1e-3)
    histogram = SoftHistogram(plain().edges, 0.15, flow="merge")
    entropy = nn.BCELoss()
    labels = torch.cat([torch.ones(len(events.signal), 1), torch.zeros(len(events.background), 1)])
    both = torch.cat([events.signal, events.background])
    done = Training(scores, [], [])
    for step in range(steps + 1):
        if step % max(steps // 20, 1) == 0:
            done.steps.append(step)
            done.significances.append(significance(model, scores, test))
        optimiser.zero_grad()
        if kind == "cross-entropy":
            value = entropy(scores(both), labels)
        else:
            value = loss(*yields(scores, events, histogram))
            histogram.anneal(0.985, floor=0.02)
        value.backward()
        optimiser.step()
    return done


def figures(folder: Path, found: dict[str, Training], test: Events) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    colours = {"cross-entropy": "orange", "significance": "blue"}
    last = max(training.steps[-1] for training in found.values())
    most = max(max(training.significances) for training in found.values())
    axes = (0.0, float(last), "step"), (0.0, most, "expected significance, plain histogram")
    panel = svg.Panel("significance while training", *axes)
    for kind, training in found.items():
        x = [float(step) for step in training.steps]
        panel.curve(kind, x, training.significances, colours[kind])
    svg.write(folder / "histfactory-training.svg", [panel])
    panels = []
    for kind, training in found.items():
        with torch.no_grad():
            signal, nominal, high, low, _ = yields(training.scores, test, plain())
        most = max(float(values.max()) for values in (nominal, high, low))
        panel = svg.Panel(f"trained on {kind}", (0.0, 1.0, "score"), (0.0, most, "events"))
        edges = plain().edges.tolist()
        panel.steps("background", edges, nominal.tolist(), "grey")
        panel.steps("shifted up", edges, high.tolist(), "grey", "4 3")
        panel.steps("shifted down", edges, low.tolist(), "grey", "1 3")
        panel.steps("signal × 5", edges, (5 * signal).tolist(), colours[kind])
        panels.append(panel)
    svg.write(folder / "histfactory-scores.svg", panels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("."), help="where the figures go")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--events", type=int, default=2000, help="simulated events of each kind")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = histfactory.Model.from_workspace(workspace())
    events, test = (
        simulate(options.events, options.seed),
        simulate(options.events, options.seed + 1),
    )
    found = {
        kind: train(kind, model, events, test, options.steps, options.seed)
        for kind in ("cross-entropy", "significance")
    }
    figures(options.output, found, test)
    print(json.dumps({kind: training.significances[-1] for kind, training in found.items()}))


if __name__ == "__main__":
    main()
