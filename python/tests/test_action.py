"""The composite action and GitLab's job, step by step, with fakes of what only they have."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT

BINARY = os.environ.get("FIRSTLIGHT_BINARY", str(ROOT / "target" / "debug" / "firstlight"))

WORKLOAD = """
import time
import firstlight

def setup(case):
    return firstlight.Workload(lambda: time.sleep({sleep}))
"""

SUITE = """
name = "mlp"
environment = "as-found"
regimes = ["cold-clean"]
[sampling]
processes = 6
[comparison]
outputs = "unchecked"
margin = 0.3
[[case]]
name = "mlp"
[[arm]]
name = "python"
workload = "step.py"
"""

# The comments of a pull request in a file, and a line for every call.
GH = """#!{python}
import json, os, sys
from pathlib import Path

folder = Path({folder!r})
words = sys.argv[1:]
with (folder / "gh.jsonl").open("a") as log:
    log.write(json.dumps(words) + "\\n")
if (folder / "forbidden").exists():
    sys.exit("HTTP 403: Resource not accessible by integration")
assert os.environ["GH_TOKEN"] == "secret"
path = folder / "comments.json"
comments = json.loads(path.read_text()) if path.exists() else []
bodies = [Path(word[6:]).read_text() for word in words if word.startswith("body=@")]
if not bodies:
    marker = os.environ["MARKER"]
    for comment in comments:
        if comment["user"]["type"] == "Bot" and comment["body"].startswith(marker):
            print(comment["id"])
elif "PATCH" in words:
    known = int(words[words.index("PATCH") + 1].rpartition("/")[2])
    for comment in comments:
        if comment["id"] == known:
            comment["body"] = bodies[0]
else:
    comments.append({{"id": 70 + len(comments), "user": {{"type": "Bot"}}, "body": bodies[0]}})
path.write_text(json.dumps(comments))
"""


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


class Job:
    """A checkout of a pull request on a runner."""

    def __init__(self, folder: Path, sleep: float) -> None:
        self.folder = folder
        self.checkout = folder / "checkout"
        self.checkout.mkdir()
        git(self.checkout, "init", "--quiet", "--initial-branch=main")
        self.base = self.commit("base", 0.03)
        self.head = self.commit("head", sleep)
        tools = folder / "tools"
        tools.mkdir()
        self.program(tools / "gh", GH.format(python=sys.executable, folder=str(folder)))
        (tools / "firstlight").symlink_to(BINARY)
        (folder / "temporary").mkdir()
        event = {"pull_request": {"number": 7, "base": {"sha": self.base}}}
        (folder / "event.json").write_text(json.dumps(event))
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("GITHUB_", "PYTHON", "FIRSTLIGHT_"))
        } | {
            "PATH": f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "FIRSTLIGHT_RUNS": str(folder / "runs"),
            "FIRSTLIGHT_CACHE": str(ROOT / "target" / "tmp" / "python-cache"),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_ACTION": "firstlight",
            "GITHUB_EVENT_PATH": str(folder / "event.json"),
            "GITHUB_REPOSITORY": "someone/project",
            "GITHUB_SERVER_URL": "https://github.example",
            "GITHUB_RUN_ID": "42",
            "RUNNER_TEMP": str(folder / "temporary"),
        }
        for name in ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_PATH"]:
            (folder / name).touch()
            self.environment[name] = str(folder / name)

    def program(self, path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o755)

    def commit(self, message: str, sleep: float) -> str:
        suite = self.checkout / "bench"
        suite.mkdir(exist_ok=True)
        (suite / "suite.toml").write_text(SUITE)
        (suite / "step.py").write_text(WORKLOAD.format(sleep=sleep))
        git(self.checkout, "add", "--all")
        git(self.checkout, "commit", "--quiet", "--allow-empty", "-m", message)
        return git(self.checkout, "rev-parse", "HEAD")

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()

    def bash(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """As GitHub starts a step with `shell: bash`."""
        path = self.folder / "step.sh"
        path.write_text(script)
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(path)],
            cwd=self.checkout,
            env=self.environment | variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )

    def calls(self) -> list[list[str]]:
        return [json.loads(line) for line in self.read("gh.jsonl").splitlines()]


class Action:
    """The steps of action.yml, with the values that GitHub would fill in."""

    def __init__(self, job: Job, **inputs: str) -> None:
        self.job = job
        self.document: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
        self.values = {
            "github.event.pull_request.base.sha || github.event.before": job.base,
            "github.token": "secret",
            "github.event_name": "pull_request",
            "github.job": "bench",
            "strategy.job-index": "0",
        }
        assert set(inputs) <= set(self.document["inputs"])
        for name, declared in self.document["inputs"].items():
            value = inputs.get(name, self.filled(declared["default"]))
            self.values[f"inputs.{name}"] = value
        self.kept: list[Path] = []
        self.log = ""

    def filled(self, text: str) -> str:
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: self.values[found[1]], str(text))

    def holds(self, condition: str) -> bool:
        parts = [re.fullmatch(r"(\S+) == '(.*)'", part) for part in condition.split(" && ")]
        assert all(parts), condition
        return all(self.values[part[1]] == part[2] for part in parts if part)

    def run(self) -> int:
        """Every step in order until one fails."""
        for step in self.document["runs"]["steps"]:
            if "if" in step and not self.holds(step["if"]):
                continue
            if "uses" in step:
                assert step["uses"].startswith("actions/upload-artifact@v")
                self.filled(step["with"]["name"])
                self.kept.append(Path(self.filled(step["with"]["path"])))
                continue
            assert step["shell"] == "bash"
            variables = {name: self.filled(value) for name, value in step["env"].items()}
            done = self.job.bash(self.filled(step["run"]), **variables)
            self.log += done.stdout + done.stderr
            self.take_outputs(step.get("id"))
            if done.returncode != 0:
                return done.returncode
        return 0

    def take_outputs(self, step: str | None) -> None:
        path = self.job.folder / "GITHUB_OUTPUT"
        for line in path.read_text().splitlines():
            name, _, value = line.partition("=")
            self.values[f"steps.{step}.outputs.{name}"] = value
        path.write_text("")


def test_the_action_fails_comments_once_and_updates_its_comment(tmp_path: Path) -> None:
    job = Job(tmp_path, sleep=0.3)
    first = Action(job, suite="bench")
    assert first.run() == 3, first.log
    assert "::error title=firstlight%3A slower::mlp, python, cold-clean: +" in first.log
    [folder] = first.kept
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["comment.md", "gate.json", "report.html", "run.tar.zst"]
    gate = json.loads((folder / "gate.json").read_text())
    assert (gate["decision"], gate["base"]["commit"]) == ("failed", job.base)
    assert first.values["steps.gate.outputs.decision"] == "failed"
    assert "| mlp, python, cold-clean | slower |" in job.read("GITHUB_STEP_SUMMARY")
    link = "https://github.example/someone/project/actions/runs/42#artifacts"
    [comment] = json.loads(job.read("comments.json"))
    assert comment["body"].startswith("<!-- firstlight gate: bench -->\n### ❌ head is slower")
    assert f"[Report]({link})" in comment["body"]
    # The next push is as fast as base: the same comment says so.
    job.head = job.commit("faster again", 0.03)
    second = Action(job, suite="bench", margin="90%", arguments="--seed\n5\n")
    assert second.run() == 0, second.log
    [comment] = json.loads(job.read("comments.json"))
    assert comment["body"].startswith("<!-- firstlight gate: bench -->\n### ✅ head is not slower")
    body = f"body=@{folder}/comment.md"
    issues = "repos/someone/project/issues"
    query = '.[] | select(.user.type == "Bot" and (.body | startswith(env.MARKER))) | .id'
    listed = ["api", "--paginate", f"{issues}/7/comments", "--jq", query]
    assert job.calls() == [
        listed,
        ["api", "--silent", "--method", "POST", f"{issues}/7/comments", "--field", body],
        listed,
        ["api", "--silent", "--method", "PATCH", f"{issues}/comments/70", "--field", body],
    ]


def test_a_command_is_inconclusive_or_not_run_as_the_inputs_say(tmp_path: Path) -> None:
    job = Job(tmp_path, sleep=0.03)
    (tmp_path / "forbidden").touch()
    command = "python3 -c 'import time; time.sleep(0.01)'"
    few = {"command": command, "processes": "2"}
    lenient = Action(job, **few)
    assert lenient.run() == 0, lenient.log
    assert lenient.values["steps.gate.outputs.decision"] == "inconclusive"
    assert "::warning::no comment was written" in lenient.log
    strict = Action(job, **few, **{"fail-on-inconclusive": "true", "comment": "false"})
    assert strict.run() == 4, strict.log
    broken = Action(job, command="python3 -c 'raise SystemExit(3)'", comment="false")
    assert broken.run() == 5, broken.log
    assert len(job.calls()) == 1


def test_wrong_inputs_end_the_action_before_anything_is_measured(tmp_path: Path) -> None:
    job = Job(tmp_path, sleep=0.03)
    for inputs, words in [
        ({}, "set either `suite` or `command`"),
        ({"suite": "bench", "command": "true"}, "set either `suite` or `command`"),
        ({"suite": "bench", "base": ""}, "set `base`"),
        ({"suite": "elsewhere"}, "no suite `elsewhere` in"),
    ]:
        action = Action(job, **inputs)
        assert action.run() == 2, action.log
        assert words in action.log


def test_a_shallow_checkout_fetches_the_base(tmp_path: Path) -> None:
    job = Job(tmp_path, sleep=0.03)
    origin = tmp_path / "origin"
    job.checkout.rename(origin)
    git(origin, "config", "uploadpack.allowAnySHA1InWant", "true")
    subprocess.run(
        ["git", "clone", "--quiet", "--depth=1", f"file://{origin}", str(job.checkout)], check=True
    )
    action = Action(job, suite="bench", margin="90%", comment="false")
    assert action.run() == 0, action.log


CURL = """#!{python}
import json, os, sys
from pathlib import Path

folder = Path({folder!r})
words = sys.argv[1:]
with (folder / "curl.jsonl").open("a") as log:
    log.write(json.dumps(words) + "\\n")
if "--data-urlencode" not in words:
    path = folder / "notes.json"
    print(path.read_text() if path.exists() else "[]")
"""


def test_the_job_of_gitlab_measures_and_updates_its_note(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "guide" / "ci.md").read_text()
    block = re.search(r"```yaml\n# \.gitlab-ci\.yml\n(.*?)```", page, re.DOTALL)
    assert block
    declared = yaml.safe_load(block[1])["gate"]
    assert declared["allow_failure"] == {"exit_codes": [4]}
    job = Job(tmp_path, sleep=0.3)
    job.program(
        tmp_path / "tools" / "curl", CURL.format(python=sys.executable, folder=str(tmp_path))
    )
    job.program(tmp_path / "tools" / "pip", "#!/bin/sh\n")
    job.environment |= {
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": job.base,
        "CI_API_V4_URL": "https://gitlab.example/api/v4",
        "CI_PROJECT_ID": "3",
        "CI_MERGE_REQUEST_IID": "9",
        "CI_JOB_URL": "https://gitlab.example/jobs/1",
        "GITLAB_TOKEN": "secret",
    }
    script = "\n".join(declared["script"])
    (tmp_path / "notes.json").write_text("[]")
    assert job.bash(script).returncode == 3
    found = [{"id": 1, "body": "hello"}, {"id": 5, "body": "<!-- firstlight gate: bench -->\nold"}]
    (tmp_path / "notes.json").write_text(json.dumps(found))
    assert job.bash(script).returncode == 3
    calls = [json.loads(line) for line in job.read("curl.jsonl").splitlines()]
    notes = "https://gitlab.example/api/v4/projects/3/merge_requests/9/notes"
    written = [call for call in calls if "--data-urlencode" in call]
    assert [(call[call.index("--request") + 1], call[-1]) for call in written] == [
        ("POST", notes),
        ("PUT", f"{notes}/5"),
    ]
    for path in declared["artifacts"]["paths"]:
        assert (job.checkout / path).exists(), path


@pytest.mark.parametrize("name", ["install", "gate", "comment", "decide"])
def test_every_script_is_a_program_of_bash(name: str) -> None:
    path = ROOT / ".github" / "action" / f"{name}.sh"
    assert os.access(path, os.X_OK)
    subprocess.run(["bash", "-n", str(path)], check=True)
