"""A journal that cannot be written changes nothing of what a real engine does.

Takes about 30 s.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from patchkit_lab import processes, scenario

if TYPE_CHECKING:
    from pathlib import Path

ENV = {**scenario.VLLM, "VLLM_PLUGINS": ""}
ARGUMENTS = ("--executor", "mp", "--patchkit")

# Mounts of the test's own, which are gone with its last process: as root, or as a user who may
# make user namespaces.
UNSHARE = ("unshare", "--mount", *(("--map-root-user",) if os.geteuid() else ()))
# A small process has kept its journal on the disk before the engine starts.
BEGIN = 'mount -t tmpfs -o size=64k none "$1" && "$3" -c "import patchkit.auto" &&'
# Two pages are left: the main process's journal takes them until after it has told of its child.
FULL = '{ head -c 65536 /dev/zero > "$1/fill"; truncate -s 53248 "$1/fill"; }'
READ_ONLY = 'mount -o remount,ro "$1"'
# The disk is to be seen from in here only.
END = """|| exit 99
disk=$1 said=$2 python=$3; shift 2
"$@"; status=$?
"$python" -m patchkit status "$disk" --format json > "$said"; echo $? > "$said.exit"
exit $status
"""


@dataclass(frozen=True)
class Run:
    """An engine that kept its journals on a disk of its own.

    Args:
        report: of the engine.
        warned: what its processes said of their journals.
        code: the exit code of `patchkit status` afterwards.
        status: what it printed.
    """

    report: scenario.Report
    warned: list[str]
    code: int
    status: dict[str, Any]

    @property
    def roles(self) -> dict[int, list[str]]:
        """What the journals say, by pid."""
        return {
            one["pid"]: one["roles"]
            for one in self.status["processes"]
            if one["reached"]
        }


def generate_on(disk: str, python: Path, model: Path, directory: Path) -> Run:
    """Run the engine, with an engine core and a worker beside the main process."""
    journal, said = directory / "journal", directory / "status"
    journal.mkdir()
    script = ("sh", "-c", f"{BEGIN} {disk} {END}", "sh", str(journal), str(said))
    command = [
        *UNSHARE,
        *script,
        str(python),
        str(scenario.HERE / "generate.py"),
        str(model),
    ]
    env = processes.environment(ENV, {"PATCHKIT_JOURNAL": str(journal)})
    outcome = processes.run([*command, *ARGUMENTS], env, 600, directory / "log")
    assert said.exists(), outcome.tail()
    code = int(said.with_suffix(".exit").read_text())
    assert list(journal.iterdir()) == [], "the mount was the run's own"
    return Run(
        scenario.report(outcome),
        warnings(outcome, journal),
        code,
        json.loads(said.read_text()),
    )


def warnings(outcome: processes.Outcome, journal: Path | str) -> list[str]:
    """What patchkit said of a journal that it cannot write."""
    lines = outcome.output.splitlines()
    return [
        line
        for line in lines
        if f"PATCHKIT_JOURNAL={journal}: cannot be written" in line
    ]


def test_on_a_full_disk_the_engine_generates(
    python: Path, model: Path, baseline: list[int], tmp_path: Path
) -> None:
    """What was written before it was full is read, and whose journal is missing is named."""
    run = generate_on(FULL, python, model, tmp_path)
    assert run.report.tokens == baseline
    (worker,) = run.report.workers
    mute = {int(line.partition("[")[2].partition("]")[0]) for line in run.warned}
    # The main process may just fit.
    assert len(run.warned) == len(mute) in (2, 3), run.warned
    assert all(line.endswith("No space left on device") for line in run.warned)
    (core,) = mute - {worker.pid, run.report.main}
    # Whose first page it is, is a race: the process that looks at the model may win one.
    assert len(run.roles) in (2, 3), run.roles
    assert all(roles == ["main"] for roles in run.roles.values())
    assert run.report.main in run.roles
    assert run.roles.keys() & mute <= {run.report.main}
    # A main process that did not fit may have been cut off before it told of its child.
    missing = [(one["kind"], one["pid"]) for one in run.status["findings"]]
    assert missing == [("not-reached", core)] or (
        not missing and run.report.main in mute
    )
    assert run.code == len(missing)


@pytest.mark.every_cell
def test_on_a_read_only_disk_the_engine_generates(
    python: Path, model: Path, baseline: list[int], tmp_path: Path
) -> None:
    """Every process says once that it cannot write; the journal of an earlier one is read."""
    run = generate_on(READ_ONLY, python, model, tmp_path)
    assert run.report.tokens == baseline
    assert 3 <= len(run.warned) <= 6, run.warned
    assert all("Read-only file system" in line for line in run.warned), run.warned
    assert list(run.roles.values()) == [["main"]]
    assert run.report.main not in run.roles
    assert (run.code, run.status["findings"]) == (0, [])


@pytest.mark.every_cell
@pytest.mark.parametrize("place", ["/proc/no-such-place", "/dev/full/journal"])
def test_without_a_journal_the_engine_generates(
    place: str, python: Path, model: Path, baseline: list[int], tmp_path: Path
) -> None:
    """Tokens are the baseline's, and each armed process says once that it cannot write."""
    env = {**ENV, "PATCHKIT_JOURNAL": place}
    outcome = scenario.generate(python, model, tmp_path / "log", *ARGUMENTS, env=env)
    report = scenario.report(outcome)
    assert report.tokens == baseline
    warned = warnings(outcome, place)
    assert 3 <= len(warned) <= 6, warned
