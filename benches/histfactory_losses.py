"""Times of the losses, in microseconds, as one JSON object."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from typing import Any, Callable

import histfactory
import numpy as np
import torch
from histfactory.torch import SignificanceLoss, SoftHistogram

torch.set_num_threads(1)


def median(call: Callable[[], Any], seconds: float = 0.5) -> float:
    """Return the median time of a call."""
    for _ in range(20):
        call()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times)


def importing() -> float:
    """Return the import time of histfactory beyond that of NumPy, in fresh processes."""
    program = (
        "import time, numpy; start = time.perf_counter(); import histfactory; "
        "print(time.perf_counter() - start)"
    )

    def once() -> float:
        found = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        return float(found.stdout)

    return 1e6 * statistics.median(once() for _ in range(15))


def forward_and_backward(name: str) -> tuple[float, float]:
    """Time SignificanceLoss, and the core alone."""
    model = histfactory.Model.synthetic(name)
    names = [sample for sample in model.samples if "signal" in sample] or model.samples[:1]
    objective = histfactory.Objective(model, "significance", names)
    x = objective.current
    loss = SignificanceLoss(model, names)
    parts = np.split(x, np.cumsum(objective.lengths)[:-1])
    yields = [torch.tensor(part, requires_grad=True) for part in parts]

    def whole() -> None:
        for tensor in yields:
            tensor.grad = None
        loss(*yields).backward()

    return median(whole), median(lambda: objective.value_and_gradient(x))


def workspace(bins: int = 8) -> dict[str, Any]:
    """A signal and a background with a shape, a normalisation and a statistical uncertainty."""
    signal = [float(value) for value in np.linspace(2.0, 12.0, bins)]
    background = [float(value) for value in np.linspace(90.0, 25.0, bins)]
    shape = {
        "hi_data": [1.05 * value for value in background],
        "lo_data": [0.96 * value for value in background],
    }
    return {
        "channels": [
            {
                "name": "SR",
                "samples": [
                    {
                        "name": "signal",
                        "data": signal,
                        "modifiers": [{"name": "mu", "type": "normfactor", "data": None}],
                    },
                    {
                        "name": "background",
                        "data": background,
                        "modifiers": [
                            {"name": "norm", "type": "normsys", "data": {"hi": 1.1, "lo": 0.9}},
                            {"name": "shape", "type": "histosys", "data": shape},
                            {"name": "stat", "type": "staterror", "data": [3.0] * bins},
                        ],
                    },
                ],
            }
        ],
        "observations": [{"name": "SR", "data": background}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0",
    }


def training(steps: int = 20) -> float:
    """Time a step of a loop with a small network, 1,000 events and 8 bins, everything included."""
    model = histfactory.Model.from_workspace(workspace())
    loss = SignificanceLoss(model, ["signal", "background"], templates="ride")
    histogram = SoftHistogram(torch.linspace(0, 1, 9), 0.05, flow="merge")
    generator = torch.Generator().manual_seed(1)
    signal = torch.randn(500, 2, generator=generator) + 1.0
    background = torch.randn(500, 2, generator=generator) - 0.5

    def loop() -> None:
        torch.manual_seed(2)
        network = torch.nn.Sequential(
            torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1), torch.nn.Sigmoid()
        )
        optimiser = torch.optim.SGD(network.parameters(), lr=0.01)
        for _ in range(steps):
            optimiser.zero_grad()
            of_signal = histogram(network(signal)) * 0.1
            of_background = histogram(network(background)) + 1.0
            loss(of_signal, of_background).backward()
            optimiser.step()

    return median(loop, 2.0) / steps


def observed() -> float:
    """Time SignificanceLoss on observed data, which is the same work as nextstat's."""
    model = histfactory.Model.synthetic("small")
    loss = SignificanceLoss(model, ["SR/signal"], data="observed")
    objective = histfactory.Objective(model, "q0", ["SR/signal"])
    signal = torch.tensor(objective.current, requires_grad=True)
    return median(lambda: loss(signal).backward())


def nextstat() -> str | float:
    """Time nextstat's significance for PyTorch on the CPU; its SignificanceLoss requires CUDA or
    Metal.
    """
    try:
        import nextstat as package
        from nextstat.torch import NextStatZ0
    except ImportError as error:
        return f"not run: {error}"
    workspace = histfactory.synthetic_workspace("small")
    [region] = [channel for channel in workspace["channels"] if channel["name"] == "SR"]
    [sample] = [sample for sample in region["samples"] if sample["name"] == "signal"]
    signal = torch.tensor(sample["data"], dtype=torch.float64, requires_grad=True)
    try:
        model = package.from_pyhf(json.dumps(workspace))
        place = {"channel": "SR", "sample": "signal"}
        fitter = package.MaximumLikelihoodEstimator()
        return median(lambda: NextStatZ0.apply(signal, mle=fitter, model=model, **place).backward())
    except Exception as error:  # any error becomes the answer
        return f"does not run here: {type(error).__name__}: {str(error).splitlines()[0]}"


def main() -> None:
    whole, core = forward_and_backward("small")
    large, large_core = forward_and_backward("combination")
    figures = {
        "beyond_core": whole - core,
        "training_step": training(),
        "import": importing(),
        "others": {
            "SignificanceLoss forward and backward, 8 parameters": whole,
            "the core alone": core,
            "SignificanceLoss forward and backward, 184 parameters": large,
            "the core alone, 184 parameters": large_core,
            "the same on observed data, 8 parameters": observed(),
            "nextstat on the CPU, observed data, 8 parameters": nextstat(),
        },
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
