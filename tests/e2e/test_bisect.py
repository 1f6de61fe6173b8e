"""`patchkit bisect` on a real engine: which of two patches changes the tokens.

Only in `make e2e-all`.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from patchkit_lab import processes, scenario

if TYPE_CHECKING:
    from pathlib import Path

ROWS = """
from patchkit import Patch, Role, Wrap

def row(name, by, method):
    return Patch(
        name=name, body="patch_scheduler", requires=("vllm>=0.11",), roles={Role.ENGINE_CORE},
        changes=(Wrap(f"vllm.v1.core.sched.scheduler:Scheduler.{method}", by=by),),
    )

PATCHES = (
    row("other-token", "other_token", "update_from_output"),
    row("log-steps", "log_step", "schedule"),
)
"""

BODY = """
def other_token(wrapped, instance, args, kwargs):
    scheduled, output = args
    ids = output.sampled_token_ids
    output.sampled_token_ids = [[int(token) ^ 1 for token in each] for each in ids]
    return wrapped(scheduled, output)

def log_step(wrapped, instance, args, kwargs):
    print("a step")
    return wrapped(*args, **kwargs)
"""

COMPARE = """
import json, subprocess, sys
expected, *words = sys.argv[1:]
done = subprocess.run([sys.executable, *words], stdout=subprocess.PIPE, text=True)
print(done.stdout)
if done.returncode:
    sys.exit(125)  # no tokens: this says nothing of them
sys.exit(json.loads(done.stdout.splitlines()[-1])["tokens"] != json.loads(expected))
"""


@pytest.mark.every_cell
def test_the_patch_that_changes_the_tokens(
    python: Path,
    model: Path,
    baseline: list[int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is found by engines that run with sets of patches; the harmless one is not named."""
    monkeypatch.chdir(tmp_path)
    pack = tmp_path / "suspects"
    pack.mkdir()
    (pack / "__init__.py").write_text(ROWS)
    (pack / "patch_scheduler.py").write_text(BODY)
    (tmp_path / "compare.py").write_text(COMPARE)
    generate = [str(scenario.HERE / "generate.py"), str(model), "--executor", "uni"]
    command = [
        str(python),
        str(tmp_path / "compare.py"),
        json.dumps(baseline),
        *generate,
    ]
    names = ("--patch", "other-token", "--patch", "log-steps")
    words = [
        "-m",
        "patchkit",
        "bisect",
        "--patches",
        "suspects",
        *names,
        "--format",
        "json",
    ]
    environ = {**scenario.SINGLE, "PYTHONPATH": str(tmp_path)}
    outcome = processes.run(
        [sys.executable, *words, "--", *command],
        processes.environment(environ),
        580,
        tmp_path / "bisect.log",
    )
    told = json.loads(outcome.output[outcome.output.index("{\n") :])
    assert outcome.status == 1
    assert told["culprits"] == [["other-token"]]
    exits = [(run["patches"], run["exit"]) for run in told["runs"]]
    assert exits == [([], 0), (["other-token"], 1)]
