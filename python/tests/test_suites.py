"""Each built-in suite in its smallest size: one command runs it, and the result has the expected
findings. The environment is the tests' own, without PyTorch."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, start

Document = dict[str, Any]


def run(folder: Path, suite: str, *arguments: str, busy: str | None = None) -> Document:
    """`busy` names the only reason for which a machine without an idle core may reject a sample."""
    options = ["run", suite, "--profile", "tiny", "--python", sys.executable, "--format", "json"]
    finished = start(folder, *options, *arguments)
    document: Document = json.loads(finished.stdout)
    refused = {reason["finding"] for reason in reasons(document)}
    assert refused <= {busy}, refused
    assert finished.returncode == (5 if refused else 0), finished.stderr
    [snapshot] = (folder / "runs").iterdir()
    checked = start(folder, "verify", str(snapshot))
    assert checked.returncode == 0, checked.stdout
    return document


def reasons(document: Document) -> list[dict[str, str]]:
    """Return the reasons for invalid samples, except those of planted mistakes."""
    regimes = [
        regime
        for one in document["cases"]
        if not one.get("planted")
        for of in one["arms"]
        for regime in of["regimes"]
    ]
    return [why for regime in regimes for one in regime["samples"] for why in one["reasons"]]


def case(document: Document, name: str) -> Document:
    [found] = [one for one in document["cases"] if one["name"] == name]
    return dict(found)


def arm(of: Document, name: str) -> Document:
    [found] = [one for one in of["arms"] if one["name"] == name]
    return dict(found)


def sample(of: Document, regime: str) -> Document:
    [found] = [one for one in of["regimes"] if one["regime"] == regime]
    return dict(found["samples"][0])


def signatures(of: Document, function: str) -> set[str]:
    """Return the signatures for which a function was compiled; a program only shows part of its
    own.
    """
    phases = [message for message in of["raw"]["messages"] if message["type"] == "phase"]
    details = [
        phase["detail"] for phase in phases if phase["label"] == function and "detail" in phase
    ]
    return {detail["digest"] or detail["signature"] for detail in details}


@pytest.fixture(scope="module")
def generate(tmp_path_factory: pytest.TempPathFactory) -> Document:
    folder = tmp_path_factory.mktemp("generate")
    arms = ["--arm", "growing", "--arm", "growing-cache", "--arm", "static-cache", "--arm", "int8"]
    cases = ["--case", "text", "--case", "warm-up-of-5-test-of-15"]
    return run(folder, "generate", *arms, *cases)


def test_growing_shapes_are_compiled_exactly_once_each(generate: Document) -> None:
    text = case(generate, "text")
    tokens = text["parameters"]["tokens"]
    cold = sample(arm(text, "growing"), "cold-clean")
    programs = [program["function"] for program in cold["compiles"]]
    assert programs == ["jit(append_token)"] * tokens
    assert len(signatures(cold, "jit(append_token)")) == tokens
    # The prompt has a separate program; every token after the first meets a longer cache.
    cold = sample(arm(text, "growing-cache"), "cold-clean")
    programs = [program["function"] for program in cold["compiles"]]
    assert programs.count("jit(prefill)") == 1
    assert programs.count("jit(next_token)") == tokens - 1


def test_the_static_cache_compiles_twice_and_never_after_its_warm_up(generate: Document) -> None:
    for name in ("static-cache", "int8"):
        of = arm(case(generate, "text"), name)
        for regime in ("cold-clean", "warm"):
            programs = [program["function"] for program in sample(of, regime)["compiles"]]
            assert programs == ["jit(prefill)", "jit(next_token)"]
        assert sample(of, "warm")["valid"]


def test_all_arms_make_the_same_text(generate: Document) -> None:
    agreed = {one["name"]: one["agreement"]["kind"] for one in case(generate, "text")["arms"]}
    assert agreed.pop("growing") == "reference"
    assert set(agreed.values()) == {"equal"}


def test_a_warm_up_of_5_before_a_test_of_15_is_refused_and_both_speed_ups_are_reported(
    generate: Document,
) -> None:
    planted = case(generate, "warm-up-of-5-test-of-15")["planted"]
    assert planted["refused"]
    rows = {row["arm"]: row for row in planted["rows"]}
    assert "warmup-shorter-than-test" in rows["growing"]["findings"]
    assert rows["static-cache"]["findings"] == []
    speed_up = rows["static-cache"]["speed-up"]
    text = case(generate, "text")
    windows = [sample(arm(text, name), "warm")["window"] for name in ("growing", "static-cache")]
    if not all(window["steady"] for window in windows):
        # One short window on a busy machine may never become steady; then no value is called right.
        assert speed_up["right"] is None
        assert speed_up["factor"] is None
        return
    wrong, right, factor = (speed_up[name]["point"] for name in ("wrong", "right", "factor"))
    assert factor == pytest.approx(wrong / right)
    assert factor > 1


def test_a_sweep_over_shapes_compiles_once_per_width_and_under_vmap_once(tmp_path: Path) -> None:
    names = ["jax-jit", "jax-buckets", "jax-vmap", "jax-exported", "numpy"]
    arms = [word for name in names for word in ("--arm", name)]
    document = run(tmp_path, "short-runs", "--case", "hyperparameters", *arms)
    of = case(document, "hyperparameters")
    assert {one["agreement"]["kind"] for one in of["arms"]} <= {"reference", "close", "equal"}
    programs = {name: len(sample(arm(of, name), "cold-clean")["compiles"]) for name in names[:3]}
    # Widths of 8, 12 and 16: three shapes, two buckets, one batch.
    assert programs == {"jax-jit": 3, "jax-buckets": 2, "jax-vmap": 1}
    exported = sample(arm(of, "jax-exported"), "cold-clean")
    assert exported["valid"], exported["reasons"]


def test_overhead_is_told_beside_the_baseline_and_the_profiler_is_refused(tmp_path: Path) -> None:
    arms = ["--arm", "pytrees", "--arm", "filter-jit"]
    cases = ["--case", "step", "--case", "structure", "--case", "traced"]
    document = run(tmp_path, "jit-overhead", *arms, *cases, busy="async-not-synchronised")
    right = [one for one in document["cases"] if not one.get("planted")]
    windows = [sample(of, "warm")["window"] for one in right for of in one["arms"]]
    # One short window on a busy machine may never become steady; then it has no overhead either.
    overheads = [window["overhead"] for window in windows if window["steady"]]
    assert overheads
    assert all(of["pairs"] > 0 and of["baseline-ns"] > 0 for of in overheads)
    assert all("overhead" not in window for window in windows if not window["steady"])
    [sweep] = document["sweeps"]
    points = [one for one in right if one["name"].startswith("structure")]
    samples = {name: [sample(arm(one, name), "warm") for one in points] for name in arms[1::2]}
    settled = [
        name
        for name, of in samples.items()
        if any(a["valid"] and a["window"]["steady"] for a in of)
    ]
    assert [line["arm"] for line in sweep["overheads"]] == settled
    planted = case(document, "traced")["planted"]
    assert planted["refused"]
    assert all("tracer-inflated" in row["findings"] for row in planted["rows"])


def test_arms_of_an_extra_are_left_out_and_said_to_be(tmp_path: Path) -> None:
    arguments = ["--case", "step", "--arm", "numpy", "--regime", "warm"]
    options = ["run", "short-runs", "--profile", "tiny", "--python", sys.executable]
    finished = start(tmp_path, *options, *arguments)
    assert finished.returncode == 0, finished.stderr
    assert "skipped: torch-eager, torch-compile; `--extra torch`" in finished.stderr
    refused = start(tmp_path, *options, "--arm", "torch-eager")
    assert refused.returncode == 2
    assert "add `--extra torch`" in refused.stderr


def test_an_arm_that_cannot_be_imported_does_not_stop_the_others(tmp_path: Path) -> None:
    """A module in place of PyTorch raises, as PyTorch does without its libraries."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "torch.py").write_text("raise ImportError('libcudart.so: no such file')\n")
    arguments = ["--case", "step", "--regime", "warm", "--extra", "torch", "--format", "json"]
    arms = ["--arm", "torch-eager", "--arm", "numpy"]
    options = ["run", "short-runs", "--profile", "tiny", "--python", sys.executable]
    finished = start(tmp_path, *options, *arguments, *arms, PYTHONPATH=str(broken))
    assert finished.returncode == 5, finished.stderr
    of = case(json.loads(finished.stdout), "step")
    assert sample(arm(of, "numpy"), "warm")["valid"]
    # It fails before anything is measured, in the process that fills the caches.
    assert "libcudart.so: no such file" in json.dumps(arm(of, "torch-eager")["stopped"])


GENERATE = ROOT / "suites" / "generate"


class Sizes(dict[str, Any]):
    """The smallest possible case of the generation suite."""

    def __init__(self) -> None:
        super().__init__(
            layers=2, width=32, heads=4, vocabulary=64, positions=16, seed=3, weights=""
        )


@pytest.fixture
def suite_modules(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    monkeypatch.syspath_prepend(str(GENERATE))
    import convert
    import gpt2

    return gpt2, convert


def test_weights_travel_to_pytorchs_names_and_back(
    suite_modules: tuple[Any, Any], tmp_path: Path
) -> None:
    import jax
    import jax.numpy as jnp
    import numpy as np
    from safetensors.numpy import save_file

    gpt2, convert = suite_modules
    weights = gpt2.build(Sizes())
    path = tmp_path / "model.safetensors"
    save_file({f"transformer.{n}": v for n, v in convert.to_torch(weights).items()}, str(path))
    again = convert.load(str(path))
    assert jax.tree.structure(again) == jax.tree.structure(weights)
    assert all(map(np.array_equal, jax.tree.leaves(weights), jax.tree.leaves(again)))
    tokens = np.arange(9) % 64
    found = gpt2.logits(jnp, jax.device_put(again), tokens, 4)
    np.testing.assert_allclose(found, gpt2.logits(np, weights, tokens, 4), atol=1e-5)


def test_weights_of_a_file_are_loaded_and_all_arms_make_the_same_text_of_them(
    suite_modules: tuple[Any, Any], tmp_path: Path
) -> None:
    from safetensors.numpy import save_file

    gpt2, convert = suite_modules
    # The sizes of the profile, and weights that prefer one token whatever was read.
    tiny = Sizes() | {"width": 64, "vocabulary": 512, "positions": 128, "seed": 11}
    weights = gpt2.build(tiny)
    weights["ln_f"]["bias"] = 1000 * weights["wte"][7]
    path = tmp_path / "model.safetensors"
    save_file(convert.to_torch(weights), str(path))
    chosen = ["--case", "first-token", "--arm", "growing", "--arm", "static-cache"]
    folders = [tmp_path / name for name in ("seed", "file")]
    texts = []
    for folder, more in zip(folders, ([], ["--set", f"weights={path}"]), strict=True):
        folder.mkdir()
        of = case(run(folder, "generate", *chosen, *more), "first-token")
        assert [one["agreement"]["kind"] for one in of["arms"]] == ["reference", "equal"]
        messages = sample(arm(of, "growing"), "cold-clean")["raw"]["messages"]
        texts.append([one for one in messages if one["type"] == "output"])
    assert texts[0] != texts[1]
    assert texts[1][0]["leaves"][0]["norm"] == 7


def test_the_published_size_has_124_million_parameters(suite_modules: tuple[Any, Any]) -> None:
    """Counted from the shapes, without creating the numbers."""
    width, layers, vocabulary, positions = 768, 12, 50257, 1024
    gpt2, _ = suite_modules
    small = Sizes()
    block = gpt2.parameters(gpt2.build(small)["blocks"][0])
    assert block == 12 * 32**2 + 13 * 32
    in_all = layers * (12 * width**2 + 13 * width) + (vocabulary + positions) * width + 2 * width
    assert in_all == 124_439_808


def test_logits_agree_with_pytorchs_own_layers(
    suite_modules: tuple[Any, Any], torch_python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GPT-2 written with PyTorch's layers, its state dict converted: the same logits."""
    [packages] = torch_python.parents[1].glob("lib/python3.*/site-packages")
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages)])
    torch: Any = importlib.import_module("torch")
    import jax.numpy as jnp
    import numpy as np

    gpt2, convert = suite_modules
    sizes = Sizes()
    nn = torch.nn
    torch.manual_seed(0)

    class Linear(nn.Module):  # stored as (in, out), like GPT-2's
        def __init__(self, rows: int, columns: int) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(rows, columns) * 0.1)
            self.bias = nn.Parameter(torch.randn(columns) * 0.1)

        def forward(self, x: Any) -> Any:
            return x @ self.weight + self.bias

    class Block(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attn = nn.ModuleDict(
                {"c_attn": Linear(width, 3 * width), "c_proj": Linear(width, width)}
            )
            self.mlp = nn.ModuleDict(
                {"c_fc": Linear(width, 4 * width), "c_proj": Linear(4 * width, width)}
            )

        def forward(self, x: Any) -> Any:
            length, width = x.shape
            parts = self.attn["c_attn"](self.ln_1(x)).chunk(3, dim=-1)
            shape = (length, sizes["heads"], width // sizes["heads"])
            heads = (part.reshape(shape).transpose(0, 1)[None] for part in parts)
            mixed = nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
            x = x + self.attn["c_proj"](mixed[0].transpose(0, 1).reshape(length, width))
            hidden = nn.functional.gelu(self.mlp["c_fc"](self.ln_2(x)), approximate="tanh")
            return x + self.mlp["c_proj"](hidden)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wte = nn.Embedding(sizes["vocabulary"], sizes["width"])
            self.wpe = nn.Embedding(sizes["positions"], sizes["width"])
            self.h = nn.ModuleList([Block(sizes["width"]) for _ in range(sizes["layers"])])
            self.ln_f = nn.LayerNorm(sizes["width"])

        def forward(self, tokens: Any) -> Any:
            x = self.wte(tokens) + self.wpe(torch.arange(len(tokens)))
            for block in self.h:
                x = block(x)
            return self.ln_f(x) @ self.wte.weight.T

    model = Model()
    tokens = np.arange(11) % sizes["vocabulary"]
    with torch.no_grad():
        expected = model(torch.tensor(tokens)).numpy()
    weights = convert.from_torch(model.state_dict())
    for xp in (np, jnp):
        found = gpt2.logits(xp, weights, tokens, sizes["heads"])
        np.testing.assert_allclose(found, expected, atol=2e-4, rtol=1e-4)
