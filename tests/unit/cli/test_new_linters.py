"""What ruff and mypy say of what `patchkit new` writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from analysis.check.released import write_wheels

from cli.new_project import new, project, world
from cli.new_samples import MOD, TYPES

__all__ = ["project", "world"]


@pytest.mark.processes
def test_what_is_written_suits_linters(tmp_path: Path) -> None:
    """ruff, its formatter and mypy --strict find nothing in what is written, whatever the kind."""
    long_name = "SchedulerOfEverythingOnAccelerator"
    module = MOD + f"class {long_name}:\n    SIZE = 1\n    def m(self): ...\n"
    module += "TABLE = {'it\"s': 1, 'plain': 2}\n"
    write_wheels(tmp_path / "wheels", {"1.2": {"mod": module, "types": TYPES}})
    targets_and_kinds = (
        [f"{long_name}.SIZE"],
        [f"{long_name}.m"],
        ["TABLE['it\"s']"],
        ["TABLE['plain']"],
        ["LIMIT", "--target", "up.mod:C", "--target", f"up.mod:{long_name}"],
        ["f", "--target", "up.mod:LIMIT", "--target", "up.mod:C.p"],
        ["fresh", "--kind", "add"],
        ["f"],
        ["plain", "--kind", "replace"],
        ["C"],
        ["C.p"],
        ["LIMIT"],
        ["f", "--kind", "edit"],
        ["plain", "--kind", "decorate"],
    )
    for number, (target, *kind) in enumerate(targets_and_kinds):
        words = ["--target", f"up.mod:{target}", *kind, "--body", f"patch_{number}"]
        assert new(f"p{number}", *words) == 0
    tools = Path(sys.executable).parent
    ruff = str(tools / "ruff")
    mypy = str(tools / "mypy")
    select = ["--isolated", "--select", "D1,E,F,I,UP,B,RUF", "--line-length", "100"]
    wide = ["--isolated", "--line-length", "100"]
    strict = ["--strict", "--ignore-missing-imports", "--cache-dir", str(tmp_path)]
    for command in (
        [ruff, "check", "--isolated", "."],
        [ruff, "check", *select, "."],
        [ruff, "format", "--isolated", "--check", "."],
        [ruff, "format", *wide, "--check", "."],
        [mypy, *strict, "."],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
