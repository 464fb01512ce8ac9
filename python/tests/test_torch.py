"""The adapter of torch.compile, in a real process with a real PyTorch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

from conftest import start

Document = dict[str, Any]

SCRIPT = """
import torch

class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        return torch.relu(self.linear(x)) * x.shape[0]

model = torch.compile(Encoder(), backend="aot_eager", dynamic=False)
with torch.no_grad():
    model(torch.ones(4, 8))
    model(torch.ones(6, 8))
"""


def test_a_module_compiled_twice_is_named_with_its_shapes_and_the_reason(
    cold: Callable[..., Document], torch_python: Path
) -> None:
    document = cold(SCRIPT, "--runs", "1", python=str(torch_python))
    [sample] = document["samples"]
    programs = [one for one in sample["compiles"] if one["function"] == "Encoder.forward"]
    assert [one["signature"] for one in programs] == ["float32[4,8]", "float32[6,8]"]
    first, second = programs
    assert first.get("cause") is None
    assert "size mismatch at index 0" in second["cause"], second
    assert second["source"].startswith("script.py:")
    assert all(one["trace-ns"] > 0 for one in programs)


def test_a_script_that_compiles_nothing_has_no_programs(
    cold: Callable[..., Document], torch_python: Path
) -> None:
    script = "import torch; torch.ones(3).sum()"
    document = cold(script, "--runs", "1", python=str(torch_python))
    [sample] = document["samples"]
    assert sample["compiles"] == []
    assert "torch" in {package["name"] for package in sample["packages"]}


SUITE = """
name = "sizes"

[[arm]]
name = "compiled"
workload = "work.py"

[[case]]
name = "encode"
"""
WORKLOAD = """
import torch
import firstlight

def setup(case):
    model = torch.nn.Linear(8, 4).to(torch.bfloat16)
    model.register_buffer("mask", torch.ones(4, dtype=torch.int8))
    compiled = torch.compile(model, backend="eager")
    free = torch.ones(3, requires_grad=True)
    def step(x):
        with torch.no_grad():
            return compiled(x) * free[0]
    return firstlight.Workload(step, (torch.ones(2, 8, dtype=torch.bfloat16),))
"""


def test_parameters_of_a_compiled_module_are_distinguished_from_its_inputs(
    tmp_path: Path, torch_python: Path
) -> None:
    (tmp_path / "suite.toml").write_text(SUITE)
    (tmp_path / "work.py").write_text(WORKLOAD)
    options = ["--processes", "2", "--regime", "cold-clean", "--format", "json"]
    ran = start(tmp_path, "run", ".", "--python", str(torch_python), *options)
    assert ran.stdout, ran.stderr
    document = json.loads(ran.stdout)
    [arm] = document["cases"][0]["arms"]
    samples = [sample for regime in arm["regimes"] for sample in regime["samples"]]
    said = [message for sample in samples for message in sample["raw"]["messages"]]
    output = next(message for message in said if message["type"] == "output")
    assert output["parameters"] == [
        {"dtype": "bfloat16", "arrays": 2, "elements": 36},
        {"dtype": "float32", "arrays": 1, "elements": 3},
    ]
    assert output["inputs"] == [
        {"dtype": "bfloat16", "arrays": 1, "elements": 16},
        {"dtype": "int8", "arrays": 1, "elements": 4},
    ]
    [run] = (tmp_path / "runs").iterdir()
    words = start(tmp_path, "report", str(run), "--markdown").stdout
    counted = "compiled: 39 parameters (bfloat16 and float32), inputs of 20 numbers in 2 arrays"
    assert counted in words
    assert "results bfloat16" in words
    assert "39 parameters" in start(tmp_path, "show", str(run), "--full").stdout
    cited = (run / "CITATION.cff").read_text()
    assert "computing with bfloat16 and float32 and int8 arrays and up to 39 parameters" in cited
