"""Which rows for an old Ray are selected where; that they work is in tests/e2e/test_old_ray.py."""

from __future__ import annotations

import json

import pytest

from patchkit.cli import main

CHECK = "version-check"
TRANSPORT = "tensor-transport"
COMMUNICATOR = "pipeline-communicator"
OVERLAP = "overlap-keyword"
REFERENCES = "list-of-references"
TIMES = "time-outs"
PREFIX = "ray-v1-"
SELECTED = [
    ("0.32.0", "2.35.0", {CHECK, TRANSPORT, COMMUNICATOR, OVERLAP, REFERENCES, TIMES}),
    ("0.32.0", "2.37.0", {CHECK, TRANSPORT, COMMUNICATOR, OVERLAP, TIMES}),
    ("0.32.0", "2.39.0", {CHECK, TRANSPORT, COMMUNICATOR, TIMES}),
    ("0.32.0", "2.41.0", {CHECK, TRANSPORT, COMMUNICATOR}),
    ("0.32.0", "2.42.1", {CHECK, COMMUNICATOR}),
    ("0.32.0", "2.47.1", {COMMUNICATOR}),
    ("0.32.0", "2.48.0", set()),
    ("0.32.0", "2.60.0", set()),
    ("0.33.0", "2.35.0", set()),
    ("0.10.0", "2.35.0", {CHECK, TRANSPORT, OVERLAP, REFERENCES, TIMES}),
    ("0.8.1", "2.35.0", {CHECK, TRANSPORT, OVERLAP, REFERENCES}),
    ("0.7.3", "2.35.0", {f"{CHECK}-adag", OVERLAP, REFERENCES}),
    ("0.7.3", "2.40.0", set()),
]


@pytest.mark.parametrize(("vllm", "ray", "expected"), SELECTED)
def test_each_pair_of_releases_gets_the_rows_that_it_needs(
    vllm: str,
    ray: str,
    expected: set[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A row ends with the Ray that can do it by itself, and with the last vLLM that asks for it."""
    monkeypatch.setenv("PATCHKIT_VERSIONS", f"ray={ray}")
    monkeypatch.setenv("VLLM_VERSION", vllm)
    assert main(["list", "--all", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["patches"]
    selected = {row["name"] for row in rows if row["selected"]}
    for_old_ray = {name for name in selected if name.startswith(PREFIX)}
    assert {name.removeprefix(PREFIX) for name in for_old_ray} == expected
