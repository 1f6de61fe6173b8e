"""What nobody has reviewed, in a real engine: told, stopped or left out, by policy.

Takes about 80 s.
"""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from packs import Pack
from patchkit_lab import processes, scenario

if TYPE_CHECKING:
    from pathlib import Path

ENV = {**scenario.VLLM, "VLLM_PLUGINS": ""}
OLD = "vllm==0.28.0"
"""A release whose scheduler is another; the index has it."""


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    """A fresh pack, that nothing has run yet and nobody has reviewed."""
    return Pack(tmp_path)


def command(python: Path, pack: Pack, *words: str) -> dict[str, Any]:
    """Run patchkit beside the pack, and return what it says in JSON."""
    done = subprocess.run(
        [str(python), "-m", "patchkit", *words, "--format", "json"],
        env=processes.environment(ENV, pack.settings),
        cwd=pack.directory,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def review(python: Path, pack: Pack, *words: str) -> list[str]:
    """Review the targets of the pack's rows; the lock lies in the pack."""
    rows = ("main-seen", "helper-seen", "core-seen", "worker-seen")
    found = command(python, pack, "lock", *rows, *words)
    return [span["patch"] for span in found["spans"]]


def generate(python: Path, model: Path, pack: Pack, policy: str) -> processes.Outcome:
    """Generate with an engine core and a worker beside the main process."""
    env = {**ENV, **pack.settings, "PATCHKIT_ON_DRIFT": policy}
    log = pack.directory / f"{policy}.log"
    return scenario.generate(
        python, model, log, "--executor", "mp", "--patchkit", env=env
    )


def told(outcome: processes.Outcome) -> set[str]:
    """The patches that processes warned of."""
    return set(
        re.findall(
            r"warning: ([a-z-]+): vllm\S+ differs from the source", outcome.output
        )
    )


def test_what_was_reviewed_here_runs_in_silence(
    python: Path, model: Path, baseline: list[int], pack: Pack
) -> None:
    """The installed vLLM, reviewed as it lies here, though its distribution is another one."""
    assert set(review(python, pack)) == {
        "main-seen",
        "helper-seen",
        "core-seen",
        "worker-seen",
    }
    outcome = generate(python, model, pack, "stop")
    report = scenario.report(outcome)
    assert report.tokens == baseline
    assert "reviewed" not in outcome.output
    assert set(pack.seen()) >= {"main", "core", "worker"}


@pytest.mark.every_cell
def test_another_source_is_told_by_the_process_that_runs_it(
    python: Path, model: Path, baseline: list[int], pack: Pack
) -> None:
    """What was reviewed is 0.28.0; the patches apply all the same."""
    review(python, pack, "--releases", OLD)
    outcome = generate(python, model, pack, "warn")
    assert scenario.report(outcome).tokens == baseline
    assert {"core-seen", "worker-seen"} <= told(outcome)
    assert set(pack.seen()) >= {"main", "core", "worker"}


def test_stop_keeps_the_engine_from_starting(
    python: Path, model: Path, pack: Pack
) -> None:
    """No request is answered by a source that nobody knows."""
    review(python, pack, "--releases", OLD)
    outcome = generate(python, model, pack, "stop")
    assert outcome.status not in (0, None)
    assert "DriftError: vllm." in outcome.output
    assert not pack.seen()


def test_skip_leaves_the_patch_out_everywhere(
    python: Path, model: Path, baseline: list[int], pack: Pack
) -> None:
    """The engine runs without it, and its processes agree that they do."""
    review(python, pack, "--releases", OLD)
    outcome = generate(python, model, pack, "skip")
    assert scenario.report(outcome).tokens == baseline
    assert "AgreementError" not in outcome.output
    assert not {"core", "worker"} & set(pack.seen())
