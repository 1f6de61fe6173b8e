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
    """A pre-release counts as its release, without a local part; skips name version and source."""
    vllm(world, version if way == "installed" else "0.1.0")
    environ = {"VLLM_VERSION": version} if way == "VLLM_VERSION" else {}
    output = run(MARKED, **environ)
    names = ("new", "range", "old", "ten", "any", "plain")
    summary = output.partition("short test")[2]
    passed_names = {name for name in names if f"test_{name}\n" in summary}
    assert (run.status, passed_names) == (0, passed), output
    source = "distribution vllm" if way == "installed" else "VLLM_VERSION"
    skips = [line for line in output.splitlines() if line.startswith("SKIPPED")]
    assert skips
    for line in skips:
        assert "test_it.py" in line
        assert f"vllm {version} is outside" in line
        assert f"(version from {source})" in line


def test_without_vllm_marked_tests_are_skipped(run: Runs) -> None:
    """Without vLLM, marked tests are skipped; with `--patchkit-strict` they are errors."""
    output = run(MARKED)
    assert run.status == 0, output
    assert "1 passed, 5 skipped" in output
    assert "vllm is not installed" in output
    output = run(MARKED, "--patchkit-strict")
    assert run.status == 1, output
    assert "1 passed, 5 errors" in output
    assert "vllm is not installed, and --patchkit-strict asks for it" in output


def test_a_version_that_names_no_release(run: Runs, world: World) -> None:
    """Tests with bounds are errors that ask for VLLM_VERSION; the others run."""
    vllm(world, "0.1.dev16577+g123")
    output = run(MARKED)
    assert run.status == 1, output
    assert "2 passed, 4 errors" in output
    assert "Set VLLM_VERSION to the release that runs here" in output
    output = run(MARKED, VLLM_VERSION="eleven")
    assert "found 'eleven' in VLLM_VERSION, which is no version" in output


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ('"0.11"', "found '0.11', expected bounds"),
        ("\">=0.11; python_version<'4'\"", "expected bounds"),
        ('"[extra]>=1"', "expected bounds"),
        ('">=0.11", "<0.13"', "found vllm('>=0.11', '<0.13'), expected bounds"),
        ('version=">=1"', "found vllm(version), expected bounds"),
    ],
)
def test_malformed_bounds_are_a_usage_error(
    run: Runs, bounds: str, message: str
) -> None:
    """A marker with malformed bounds stops the run with one error, which names the test."""
    output = run(
        f"@pytest.mark.vllm({bounds})\ndef test_one(): ...\ndef test_two(): ...\n"
    )
    assert run.status == pytest.ExitCode.USAGE_ERROR, output
    errors = [
        line
        for line in output.splitlines()
        if line.startswith("ERROR: test_it.py::test_one")
    ]
    assert len(errors) == 1, output
    assert message in errors[0]


def test_a_malformed_setting_is_a_usage_error(run: Runs) -> None:
    """A variable that patchkit cannot read is one line in the header, and one for marked tests."""
    output = run(MARKED, PATCHKIT_ON_FAILURE="maybe")
    assert run.status == pytest.ExitCode.USAGE_ERROR
    assert (
        output.count(
            "PATCHKIT_ON_FAILURE: found 'maybe', expected one of 'stop', 'warn'"
        )
        == 2
    )
