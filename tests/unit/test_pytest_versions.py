"""The marker for versions of vLLM; each test runs a pytest of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support import packages, plugin_runs, pytests
from support.plugin_runs import MARKED, Runs, vllm

if TYPE_CHECKING:
    from support.packages import World

run = plugin_runs.run
world = packages.world
pytests = pytests.pytests


@pytest.mark.processes
@pytest.mark.parametrize(
    ("version", "way", "passed"),
    [
        ("0.10.2", "installed", {"old", "ten", "any", "plain"}),
        ("0.9.2+cpu", "VLLM_VERSION", {"old", "any", "plain"}),
        ("0.11.0rc2.dev3+cu128", "installed", {"new", "range", "any", "plain"}),
        ("0.13.0.dev1", "VLLM_VERSION", {"new", "any", "plain"}),
    ],
)
def test_versions_count_as_patchkit_counts_them(
    run: Runs, world: World, version: str, way: str, passed: set[str]
) -> None:
    """A pre-release is its release, a local part is none; skips name version and source."""
    vllm(world, version if way == "installed" else "0.1.0")
    said = run(MARKED, **({"VLLM_VERSION": version} if way == "VLLM_VERSION" else {}))
    names = ("new", "range", "old", "ten", "any", "plain")
    found = {
        name for name in names if f"test_{name}\n" in said.partition("short test")[2]
    }
    assert (run.status, found) == (0, passed), said
    source = "distribution vllm" if way == "installed" else "VLLM_VERSION"
    skips = [line for line in said.splitlines() if line.startswith("SKIPPED")]
    assert skips
    assert all(
        "test_it.py" in line and f"vllm {version} is outside" in line for line in skips
    )
    assert all(f"(version from {source})" in line for line in skips)


def test_without_vllm(run: Runs) -> None:
    """Marked tests are skipped for that reason; with `--patchkit-strict` they fail for it."""
    said = run(MARKED)
    assert (run.status, "1 passed, 5 skipped" in said) == (0, True), said
    assert "vllm is not installed" in said
    said = run(MARKED, "--patchkit-strict")
    assert (run.status, "1 passed, 5 errors" in said) == (1, True), said
    assert "vllm is not installed, and --patchkit-strict asks for it" in said


def test_a_version_that_says_nothing(run: Runs, world: World) -> None:
    """Tests with bounds fail and ask for VLLM_VERSION; the others run."""
    vllm(world, "0.1.dev16577+g123")
    said = run(MARKED)
    assert (run.status, "2 passed, 4 errors" in said) == (1, True), said
    assert "Set VLLM_VERSION to the release that runs here" in said
    said = run(MARKED, VLLM_VERSION="eleven")
    assert "found 'eleven' in VLLM_VERSION, which is no version" in said


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ('"0.11"', "found '0.11', expected bounds"),
        ("\">=0.11; python_version<'4'\"", "expected bounds"),
        ('"[extra]>=1"', "expected bounds"),
        ('">=0.11", "<0.13"', "found vllm('>=0.11', '<0.13'), expected bounds"),
        ('version=">=1"', "found vllm(version), expected bounds"),
    ],
)
def test_malformed_bounds_are_a_usage_error(run: Runs, given: str, found: str) -> None:
    """The run does not begin; the error names the test."""
    said = run(
        f"@pytest.mark.vllm({given})\ndef test_one(): ...\ndef test_two(): ...\n"
    )
    assert run.status == pytest.ExitCode.USAGE_ERROR, said
    errors = [
        line
        for line in said.splitlines()
        if line.startswith("ERROR: test_it.py::test_one")
    ]
    assert len(errors) == 1, said
    assert found in errors[0]


def test_malformed_settings(run: Runs) -> None:
    """A variable that patchkit cannot read is one line, in the header and for marked tests."""
    said = run(MARKED, PATCHKIT_ON_FAILURE="maybe")
    assert run.status == pytest.ExitCode.USAGE_ERROR
    assert (
        said.count("PATCHKIT_ON_FAILURE: found 'maybe', expected one of 'stop', 'warn'")
        == 2
    )
