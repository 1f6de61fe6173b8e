"""Kills rebases at each of their steps, and runs them again; for `rebased_rows.py`."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from exported_rows import run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from drawn_rows import DrawnRow
    from exported_rows import Faults


def kill_each(faults: Faults, row: DrawnRow, new: str) -> None:
    """Kill a rebase before each thing that it does to a file; compare what the next one leaves.

    The pack is then as it was before.
    """
    pack = Path(row.name)
    words = ["rebase", row.patch, "--patches", row.name, "--to", new]
    before = contents(pack)
    run(*words)
    after = contents(pack)
    number = 0
    is_killed = True
    while is_killed:
        give_back(pack, before)
        number += 1
        is_killed = killed_at(number, pack.resolve(), words)
        run(*words)
        if contents(pack) != after:
            faults.add(row, f"killed at {number}: {sorted(contents(pack))}")
    give_back(pack, before)
    faults.counts["kills"] += number - 1
    faults.tell(row, f"killed at each of {number - 1} steps")


def contents(pack: Path) -> dict[str, bytes]:
    """The files of a pack."""
    return {file.name: file.read_bytes() for file in pack.iterdir() if file.is_file()}


def give_back(pack: Path, before: Mapping[str, bytes]) -> None:
    """Make a pack what it was."""
    shutil.rmtree(pack)
    pack.mkdir()
    for name, content in before.items():
        (pack / name).write_bytes(content)


def killed_at(number: int, pack: Path, words: Sequence[str]) -> bool:
    """Rebase in a child that is killed before the nth thing that it does to a file of the pack."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return os.WIFSIGNALED(status)
    steps = 0

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal steps
        is_write = event == "open" and re.search("[wxa+]", str(arguments[1]))
        is_step = is_write or event in ("os.rename", "os.remove", "os.chmod")
        if is_step and str(arguments[0]).startswith(str(pack)):
            steps += 1
            if steps == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    run(*words)
    os._exit(0)
