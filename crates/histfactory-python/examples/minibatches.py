"""Training on the significance with 256 events of each kind at a time.

The events and the analysis are those of ``two_blobs.py``. A significance is not a mean over events:
the loss of a minibatch fluctuates, and is below that of all events on average. Three measures make
training work: yields are scaled to all events, the sum of squared weights is scaled back, and the
learning rate falls so that the fluctuations average out.

    python minibatches.py --batch 256
"""

from __future__ import annotations

import argparse
import json

import torch
from torch import nn
from two_blobs import (
    NAMES,
    Events,
    network,
    plain,
    significance,
    simulate,
    train,
    workspace,
    yields,
)

import histfactory
from histfactory.torch import SignificanceLoss, SoftHistogram


def minibatch(events: Events, count: int, generator: torch.Generator) -> Events:
    """This many events of each kind; shifted background stays with its nominal counterpart."""
    signal = torch.randperm(len(events.signal), generator=generator)[:count]
    background = torch.randperm(len(events.background), generator=generator)[:count]
    return Events(
        events.signal[signal],
        events.background[background],
        events.high[background],
        events.low[background],
    )


def train_in_batches(
    model: histfactory.Model, events: Events, count: int, steps: int, seed: int
) -> nn.Module:
    scores = network(seed)
    optimiser = torch.optim.Adam(scores.parameters(), lr=0.02)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    loss = SignificanceLoss(model, NAMES, smooth=1e-3)
    histogram = SoftHistogram(plain().edges, 0.15, flow="merge")
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        optimiser.zero_grad()
        batch = minibatch(events, count, generator)
        loss(*yields(scores, batch, histogram, len(events.background))).backward()
        # A narrow kernel would make the gradient depend on single events.
        histogram.anneal(0.99, floor=0.06)
        optimiser.step()
        schedule.step()
    return scores


def spread(
    model: histfactory.Model, scores: nn.Module, events: Events, count: int, seed: int
) -> dict[str, float]:
    """Mean and standard deviation of the loss over minibatches of one size."""
    loss = SignificanceLoss(model, NAMES, smooth=1e-3)
    histogram = SoftHistogram(plain().edges, 0.06, flow="merge")
    generator = torch.Generator().manual_seed(seed)
    total = len(events.background)
    with torch.no_grad():
        found = [
            float(loss(*yields(scores, minibatch(events, count, generator), histogram, total)))
            for _ in range(100)
        ]
    values = torch.tensor(found)
    return {"mean": float(values.mean()), "standard deviation": float(values.std())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=256, help="events of each kind at a time")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--events", type=int, default=4000, help="simulated events of each kind")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = histfactory.Model.from_workspace(workspace())
    events = simulate(options.events, options.seed)
    test = simulate(options.events, options.seed + 1)
    scores = train_in_batches(model, events, options.batch, options.steps, options.seed)
    classifier = train("cross-entropy", model, events, test, options.steps // 2, options.seed)
    sizes = [options.batch, 4 * options.batch, options.events]
    document = {
        "cross-entropy": significance(model, classifier.scores, test),
        "minibatches": significance(model, scores, test),
        "loss": {str(count): spread(model, scores, events, count, options.seed) for count in sizes},
    }
    print(json.dumps(document))


if __name__ == "__main__":
    main()
