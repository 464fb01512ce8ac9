"""Compare histfactory with pyhf 0.7.6, on arbitrary workspaces.

The example ``oracle`` of the crate prints its view of a workspace; pyhf computes the same here.
"""

from __future__ import annotations

import copy
import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyhf
import pyhf_tightly
import pytest
from pyhf.workspace import Workspace

ROOT = Path(__file__).parents[2]
ORACLE = ROOT / "target" / "debug" / "examples" / "oracle"
COUNT = int(os.environ.get("HISTFACTORY_PYHF_COUNT", "150"))
MODES = {
    "code4_code4p": {"normsys": {"interpcode": "code4"}, "histosys": {"interpcode": "code4p"}},
    "code1_code0": {"normsys": {"interpcode": "code1"}, "histosys": {"interpcode": "code0"}},
}

Document = dict[str, Any]


def oracle(*arguments: str, lines: list[str] | None = None) -> list[Document]:
    text = None if lines is None else "\n".join(lines) + "\n"
    finished = subprocess.run(
        [str(ORACLE), *arguments], input=text, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in finished.stdout.splitlines()]


@pytest.fixture(scope="module", autouse=True)
def numpy_backend() -> None:
    pyhf.set_backend("numpy", precision="64b")


@pytest.fixture(scope="module")
def answers() -> list[Document]:
    return oracle("any", str(COUNT), "1")


def test_the_layout_is_pyhfs(answers: list[Document]) -> None:
    for answer in answers:
        workspace = Workspace(answer["workspace"])
        model = workspace.model()
        config, layout = model.config, answer["layout"]
        assert layout["par_names"] == config.par_names
        assert layout["init"] == config.suggested_init()
        assert layout["bounds"] == [list(pair) for pair in config.suggested_bounds()]
        assert layout["fixed"] == config.suggested_fixed()
        assert layout["poi_index"] == config.poi_index
        np.testing.assert_allclose(layout["data"], workspace.data(model), rtol=1e-13)


@pytest.mark.parametrize("mode", MODES)
def test_values_are_pyhfs_at_every_point(answers: list[Document], mode: str) -> None:
    compared = 0
    for answer in answers:
        workspace = Workspace(answer["workspace"])
        model = workspace.model(modifier_settings=MODES[mode])
        data = np.array(workspace.data(model))
        for point in answer["points"]:
            ours, pars = point[mode], np.array(point["pars"])
            with np.errstate(all="ignore"):
                theirs = -float(model.logpdf(pars, data)[0])
            if "error" in ours:
                assert np.isnan(theirs), (ours, theirs)
            elif ours["nll"] is None:  # infinite
                assert np.isposinf(theirs)
            else:
                assert ours["nll"] == pytest.approx(theirs, rel=1e-12, abs=1e-12)
                expected = model.expected_data(pars)
                np.testing.assert_allclose(ours["expected"], expected, rtol=1e-12, atol=1e-12)
                compared += 1
    assert compared > 2 * COUNT, "nearly all points have a value"


# Errors that pyhf accepts, or detects only later, and histfactory rejects when reading: in our
# words.
STRICTER = [
    "there are two",
    "is there twice",
    "there is no observation of this channel",
    "the observation has",
    "is not a pair of numbers",
    "are not an interval",
    "is not positive",
    "has no `",
    "a luminosity needs",
    "its bounds are",
]


def damaged(workspace: Document, dice: random.Random) -> Document:
    """Return the workspace with one probable mistake."""
    broken = copy.deepcopy(workspace)
    channel = dice.choice(broken["channels"])
    sample = dice.choice(channel["samples"])
    modifiers = sample["modifiers"]
    measurement = broken["measurements"][0]
    config = measurement["config"]

    def one_modifier() -> Document:
        modifier: Document = dice.choice(modifiers) if modifiers else {}
        return modifier

    def drop(where: Document) -> None:
        if where:
            where.pop(dice.choice(sorted(where)))

    def twice(where: list[Any]) -> None:
        if where:
            where.append(copy.deepcopy(dice.choice(where)))

    def mu(kind: str, data: Any) -> None:
        modifiers.append({"name": "mu", "type": kind, "data": data})

    changes = [
        lambda: drop(broken),
        lambda: drop(channel),
        lambda: drop(sample),
        lambda: drop(one_modifier()),
        lambda: drop(measurement),
        lambda: drop(config),
        lambda: sample["data"].append(1.0),
        lambda: sample.update(data=[]),
        lambda: sample.update(surplus=1),
        lambda: sample.update(data="many"),
        lambda: channel.update(name=3),
        lambda: one_modifier().update(type="normfacto"),
        lambda: one_modifier().update(data=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        lambda: one_modifier().update(data=None),
        lambda: one_modifier().update(name="mu"),
        lambda: twice(modifiers),
        lambda: twice(channel["samples"]),
        lambda: twice(broken["channels"]),
        lambda: twice(broken["observations"]),
        lambda: twice(broken["measurements"]),
        lambda: broken.update(version="2.0.0"),
        lambda: broken.update(observations=broken["observations"][1:]),
        lambda: broken["observations"][0]["data"].append(1),
        lambda: config.update(poi="nothing"),
        lambda: config["parameters"].append({"name": "mu", "inits": [1.0, 2.0]}),
        lambda: config["parameters"].append({"name": "mu", "fixed": "yes"}),
        lambda: config["parameters"].append({"name": "mu", "sigmas": [1.0]}),
        lambda: config["parameters"].append({"name": "elsewhere", "inits": [1.0]}),
        lambda: config["parameters"].append({"name": "mu", "inits": [1.0], "bounds": [[0, 5]]}),
        lambda: mu("normsys", {"lo": 0.9, "hi": 1.1}),
        lambda: mu("shapefactor", None),
        lambda: mu("lumi", None),
        lambda: sample.update(data=[-value for value in sample["data"]]),
    ]
    dice.choice(changes)()
    return broken


def accepted_by_pyhf(document: Document) -> bool:
    try:
        workspace = Workspace(document)
        workspace.data(workspace.model())
    except Exception:
        return False
    return True


def test_what_pyhf_refuses_is_refused(answers: list[Document]) -> None:
    """Errors that only histfactory rejects have a known reason."""
    dice = random.Random(1)
    documents = [damaged(dice.choice(answers)["workspace"], dice) for _ in range(2 * COUNT)]
    judged = oracle("read", lines=[json.dumps(document) for document in documents])
    assert len(judged) == len(documents)
    refused = 0
    for document, ours in zip(documents, judged):
        if accepted_by_pyhf(document):
            error = ours.get("error", "")
            assert not error or any(words in error for words in STRICTER), error
        else:
            assert "error" in ours, json.dumps(document)
            refused += 1
    assert refused > COUNT // 2


@pytest.mark.parametrize("join", ["none", "outer", "left outer", "right outer"])
def test_combining_is_pyhfs(answers: list[Document], join: str, tmp_path: Path) -> None:
    binary = ROOT / "target" / "debug" / "histfactory"
    dice = random.Random(join)
    for index in range(6):
        left, right = dice.choice(answers)["workspace"], dice.choice(answers)["workspace"]
        paths = [tmp_path / f"{side}{index}.json" for side in ("left", "right")]
        for path, document in zip(paths, (left, right)):
            path.write_text(json.dumps(document))
        command = [str(binary), "combine", *map(str, paths), "--join", join, "--quiet"]
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
        try:
            theirs = Workspace.combine(Workspace(left), Workspace(right), join=join)
        except Exception:
            assert finished.returncode == 2, (join, finished.stdout[:200])
            continue
        if finished.returncode == 0:
            assert json.loads(finished.stdout) == dict(theirs)
        else:
            known = any(words in finished.stderr for words in STRICTER)
            assert known or not accepted_by_pyhf(dict(theirs)), finished.stderr


def made(tmp_path: Path, document: Document, *arguments: str) -> Document | None:
    """Return the result of a histfactory command; None if it rejects the input."""
    path = tmp_path / "workspace.json"
    path.write_text(json.dumps(document))
    command = [str(ROOT / "target" / "debug" / "histfactory"), arguments[0], str(path)]
    finished = subprocess.run(
        [*command, *arguments[1:]], capture_output=True, text=True, check=False
    )
    assert finished.returncode in {0, 2}, finished.stderr
    result: Document | None = json.loads(finished.stdout) if finished.returncode == 0 else None
    return result


def test_pruning_and_renaming_are_pyhfs(answers: list[Document], tmp_path: Path) -> None:
    dice = random.Random(2)
    for answer in dice.sample(answers, 20):
        document = answer["workspace"]
        workspace = Workspace(document)
        channel, sample = dice.choice(workspace.channels), dice.choice(workspace.samples)
        modifier, kind = dice.choice(workspace.modifiers)
        ways = {
            ("prune", "--channel", channel): lambda ws, c=channel: ws.prune(channels=[c]),
            ("prune", "--sample", sample): lambda ws, s=sample: ws.prune(samples=[s]),
            ("prune", "--modifier", modifier): lambda ws, m=modifier: ws.prune(modifiers=[m]),
            ("rename", "-c", channel, "x"): lambda ws, c=channel: ws.rename(channels={c: "x"}),
            ("rename", "-s", sample, "x"): lambda ws, s=sample: ws.rename(samples={s: "x"}),
        }
        # Of a name with several types pyhf only keeps the last one.
        if kind in dict(workspace.modifiers).values():
            ways["prune", "-t", kind] = lambda ws, k=kind: ws.prune(modifier_types=[k])
        if kind != "lumi":
            rename = ("rename", "-m", modifier, "x")
            ways[rename] = lambda ws, m=modifier: ws.rename(modifiers={m: "x"})
        for arguments, way in ways.items():
            ours = made(tmp_path, document, *arguments)
            try:
                theirs = dict(way(workspace))
            except Exception:
                assert ours is None, arguments
            else:
                assert ours is None or ours == theirs, arguments
                assert ours is not None or not accepted_by_pyhf(theirs), arguments


def test_digests_are_pyhfs(answers: list[Document], tmp_path: Path) -> None:
    path = tmp_path / "workspace.json"
    for answer in answers[:5]:
        path.write_text(json.dumps(answer["workspace"], indent=3))
        binary = str(ROOT / "target" / "debug" / "histfactory")
        printed = subprocess.check_output([binary, "digest", str(path)], text=True).strip()
        assert printed == "sha256:" + pyhf.utils.digest(Workspace(answer["workspace"]))


def test_gradients_are_the_differences_of_pyhfs_values(answers: list[Document]) -> None:
    step, compared = 1e-5, 0
    chosen = answers[:: max(1, COUNT // 50)]
    for answer in chosen:
        workspace = Workspace(answer["workspace"])
        model = workspace.model()
        data = np.array(workspace.data(model))
        for point in answer["points"][1:3]:
            ours, pars = point["code4_code4p"], np.array(point["pars"])
            if ours.get("nll") is None:
                continue
            gradient = np.array(ours["grad_nll"])
            assert np.all(np.isfinite(gradient))
            for index in range(len(pars)):
                moved = [pars.copy() for _ in range(2)]
                moved[0][index] += step
                moved[1][index] -= step
                with np.errstate(all="ignore"):
                    up, down = (-float(model.logpdf(place, data)[0]) for place in moved)
                if not np.isfinite(up - down):
                    continue
                slope = (up - down) / (2 * step)
                scale = 1 + abs(slope) + 1e-2 * abs(ours["nll"])
                assert abs(gradient[index] - slope) < 1e-5 * scale, (gradient[index], slope)
                compared += 1
    assert compared > 10 * len(chosen)


def test_cls_are_pyhfs(answers: list[Document], tmp_path: Path) -> None:
    """With the same minima, because pyhf's own fits are less precise than this comparison."""
    binary = str(ROOT / "target" / "debug" / "histfactory")
    path, compared = tmp_path / "workspace.json", 0
    wanted = COUNT // 15
    pyhf.set_backend("jax", precision="64b")
    try:
        for answer in answers:
            path.write_text(json.dumps(answer["workspace"]))
            command = [binary, "cls", str(path), "--format", "json"]
            finished = subprocess.run(command, capture_output=True, text=True, check=False)
            if finished.returncode != 0:
                continue  # no signal strength, or the background alone, explains the counts
            workspace = Workspace(answer["workspace"])
            model = workspace.model()
            try:
                observed, expected = pyhf_tightly.cls(model, workspace.data(model), 1.0)
            except pyhf_tightly.NotTight:
                continue
            ours = json.loads(finished.stdout)
            assert ours["CLs_exp"][2] == pytest.approx(expected, abs=1e-6)
            assert ours["CLs_obs"] == pytest.approx(observed, abs=1e-6)
            compared += 1
            if compared == wanted:
                break
    finally:
        pyhf.set_backend("numpy", precision="64b")
    assert compared == wanted
