"""The adapter of torch.compile, in a real process with a real PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

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
