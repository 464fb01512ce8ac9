"""The wheel lists its components."""

import importlib.metadata
import json


def test_the_wheel_lists_its_crates_with_their_licences():
    files = importlib.metadata.files("histfactory") or []
    bills = [file for file in files if "sboms" in file.parts]
    assert len(bills) == 1, files
    components = json.loads(bills[0].read_text())["components"]
    names = {component["name"] for component in components}
    assert {"histfactory", "pyo3", "rayon", "serde_json"} <= names
    unlicensed = [component["name"] for component in components if not component.get("licenses")]
    assert unlicensed == []
